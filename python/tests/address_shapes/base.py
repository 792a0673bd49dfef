"""What a row of the table of shapes is, and what its builders share.

Every builder returns ``(root, args)``; models are built, so that one call of the root shows the
whole structure. ``calls`` counts the real calls of each module in one call of the root; a module
that is listed nowhere there has none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

L = keras.layers
ROWS = np.ones((2, 3), "float32")
STEPS = np.ones((2, 4, 3), "float32")


@dataclasses.dataclass(frozen=True)
class Shape:
    """One row: what ``build`` makes and where its parts are."""

    name: str
    build: Callable[[], tuple[Any, tuple[Any, ...]]]
    addresses: tuple[str, ...]
    aliases: dict[str, str] = dataclasses.field(default_factory=dict)
    no_aliases: tuple[str, ...] = ()
    variables: tuple[str, ...] | None = None
    calls: dict[str, int] = dataclasses.field(default_factory=dict)
    uncounted: tuple[str, ...] = ()  # how often Keras calls it is its own affair
    created: tuple[str, ...] = ()  # not there before the call


SHAPES: list[Shape] = []


def shape(
    addresses: str, calls: str = "", created: str = "", uncounted: str = "", **more: Any
) -> Any:
    """Decorate a builder with its row. ``calls`` reads ``"blocks.0*2 head"``."""
    counted = {}
    for item in calls.split():
        address, _, count = item.partition("*")
        counted[address] = int(count or 1)
    if isinstance(more.get("variables"), str):
        more["variables"] = tuple(more["variables"].split())

    def add(build: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Any:
        row = Shape(
            build.__name__,
            build,
            tuple(addresses.split()),
            calls=counted,
            created=tuple(created.split()),
            uncounted=tuple(uncounted.split()),
            **more,
        )
        SHAPES.append(row)
        return build

    return add


def dense(name: str | None = None, units: int = 3) -> keras.layers.Layer:
    return L.Dense(units, use_bias=False, name=name)


def built(model: Any, x: Any = ROWS) -> tuple[Any, tuple[Any, ...]]:
    model(x)
    return model, (x,)


class Chain(keras.Model):
    """A subclassed model that calls what ``order`` lists."""

    def order(self) -> list[Any]:
        raise NotImplementedError

    def call(self, x: Any) -> Any:
        for step in self.order():
            x = step(x)
        return x


class Scale(tf.Module):
    def __init__(self, by: float = 2.0) -> None:
        super().__init__()
        self.w = tf.Variable(by, name="w")

    def __call__(self, x: Any) -> Any:
        return x * self.w
