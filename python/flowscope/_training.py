"""``training`` of module calls that nobody watched being traced, told from the ops of their graph.

Keras' own ``train_step``, ``test_step`` and ``predict_step`` stand in the stack traces of ops and
say what the model was called with; batch normalization and the draws of Keras' layers say it of the
calls that they stand in. What is said of a call holds for those inside of it that say nothing.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from typing import Any

from ._traced import TracedCall

_STEPS = {"train_step": True, "test_step": False, "predict_step": False}


def tell(ops: list[Any], owners: list[TracedCall | None], calls: Iterable[TracedCall]) -> None:
    """Sets ``training`` of ``calls``, outer ones first, where the ops leave no doubt."""
    said = _evidence(ops, owners)
    of_step = _of_step(ops, owners)
    known: dict[int, bool | None] = {}
    for call in calls:
        above = of_step if call.above is None else known.get(id(call.above))
        heard = said.get(id(call), set())
        value = above if not heard else next(iter(heard)) if len(heard) == 1 else None
        known[id(call)] = value
        if value is not None and _takes_training(call.module()):
            call.training = repr(value)


def _evidence(ops: list[Any], owners: list[TracedCall | None]) -> dict[int, set[bool]]:
    """What the ops of each call, and of those inside of it, say; by the id of the call."""
    types: dict[int, set[str]] = {}
    calls: dict[int, TracedCall] = {}
    for op, owner in zip(ops, owners, strict=True):
        if owner is not None:
            types.setdefault(id(owner), set()).add(op.type)
            calls[id(owner)] = owner
    said: dict[int, set[bool]] = {}
    for number, owner in calls.items():
        word = _says(types[number], owner.module())
        above: TracedCall | None = owner
        while word is not None and above is not None:
            said.setdefault(id(above), set()).add(word)
            above = above.above
    return said


def _says(types: set[str], module: Any) -> bool | None:
    """Whether a layer that ran these ops was in training; None where it would run them either way.

    A layer of the user's may draw or write whenever it likes.
    """
    if not type(module).__module__.startswith("keras."):
        return None
    if any(name.startswith(("StatelessRandom", "Random")) for name in types):
        return True
    if not hasattr(module, "moving_mean"):
        return None
    writes = any(name.startswith("Assign") for name in types)
    return True if writes else False if getattr(module, "trainable", True) else None


def _of_step(ops: list[Any], owners: list[TracedCall | None]) -> bool | None:
    """What Keras' own step called the model with; None where none of those made the calls."""
    folders = tuple(getattr(sys.modules.get("keras"), "__path__", ()))
    first = next((op for op, owner in zip(ops, owners, strict=True) if owner is not None), None)
    for frame in list(getattr(first, "traceback", None) or ()):
        if frame[2] in _STEPS and frame[0].startswith(folders):
            return _STEPS[frame[2]]
    return None


def _takes_training(module: Any) -> bool:
    call = getattr(type(module), "call", None)
    try:
        return call is not None and "training" in inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False
