"""Selectors: which ops are meant. Combine with ``&``, ``|``, ``~`` and ``-``.

>>> fs.trace(model, x, save=fs.sites.in_module("encoder") & fs.sites.func("MatMul"))
"""

from __future__ import annotations

from ._core import (
    Selector,
    attr,
    contains,
    followed_by,
    func,
    in_module,
    iteration,
    label,
    line,
    module,
    output,
    passes,
    preceded_by,
    regex,
    where,
)

__all__ = [
    "Selector",
    "attr",
    "contains",
    "followed_by",
    "func",
    "in_module",
    "iteration",
    "label",
    "line",
    "module",
    "output",
    "passes",
    "preceded_by",
    "regex",
    "where",
]
