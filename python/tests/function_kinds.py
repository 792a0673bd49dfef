"""Functions of many kinds, in ``kinds_*.py``: each a program with state, called three times.

``KINDS`` maps a name to a factory. What it makes is called with the number of the call and gives
back values; whatever it keeps (variables, tables, queues, iterators, generators) is its own, so
that two fresh ones do the same. ``STATE`` are those whose point is what they keep between calls.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

Call = Callable[[int], Any]
KINDS: dict[str, Callable[[], Call]] = {}
STATE: dict[str, Callable[[], Call]] = {}
# Closed by the refuse-list, by name of the kind: a part of the reason.
CLOSED: dict[str, str] = {}
# Of float ops that TensorFlow's rewriting of a graph changes in the last bits.
CLOSE: set[str] = set()


def kind(
    table: dict[str, Callable[[], Call]] = KINDS, closed: str = "", close: bool = False
) -> Callable[[Callable[[], Call]], Callable[[], Call]]:
    """Puts a factory into a table; ``closed``: part of the reason why its function stays so."""

    def add(factory: Callable[[], Call]) -> Callable[[], Call]:
        name = factory.__name__
        table[name] = factory
        if closed:
            CLOSED[name] = closed
        if close:
            CLOSE.add(name)
        return factory

    return add


def vector(n: int) -> Any:
    return tf.constant([1.0 + n, -2.0, 3.0, 0.5 * n])


def error_of(call: Callable[[], Any]) -> Any:
    """The class of the exception, and whether it is TensorFlow's with a message."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def results(
    call: Call, around: Callable[[int], contextlib.AbstractContextManager[Any]]
) -> list[Any]:
    """What three calls give, each inside of ``around(number)``."""
    found = []
    for number in range(3):
        with around(number):
            found.append(call(number))
    return found
