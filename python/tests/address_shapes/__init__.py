"""Model shapes with the addresses that each must give: the table of ``test_addresses``."""

from address_shapes import callables, graphs, modules, subclassed, wrappers
from address_shapes.base import ROWS, SHAPES, Shape, dense
from address_shapes.graphs import WithAttributes

__all__ = [
    "ROWS",
    "SHAPES",
    "Shape",
    "WithAttributes",
    "callables",
    "dense",
    "graphs",
    "modules",
    "subclassed",
    "wrappers",
]
