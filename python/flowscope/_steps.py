"""Steps of ``fit``, ``evaluate`` and ``predict`` as regions of the trace.

Keras asks its epoch iterator for every batch, in every version in a place of its own: through
``__next__``, or the generator ``enumerate_epoch``. A step lasts from one such request to the next.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from . import _core
from ._patches import Patches
from .errors import InvalidArgumentError

_METHODS = ("fit", "evaluate", "predict")


class _Loop:
    """A ``fit`` that runs now, with the step that it is in."""

    def __init__(self, session: Any, name: str) -> None:
        self.session = session
        self.region = session.open_region("function", name)
        self.step: int | None = None
        self.count = 0
        self.bounded = name != "predict"  # whose values are what was asked for

    def next_step(self) -> None:
        self.end_step()
        if self.session.recording:
            self.step = self.session.open_step("step", self.count, self.bounded)
            self.count += 1

    def end_step(self) -> None:
        if self.step is not None and self.session.recording:
            self.session.close_step(self.step)
        self.step = None

    def end(self) -> None:
        self.end_step()
        if self.session.recording:
            self.session.close_region(self.region)


class _Loops:
    """The loops of one session, innermost last."""

    def __init__(self) -> None:
        self.open: list[_Loop] = []

    def current(self) -> _Loop | None:
        session = _core.current_session()
        if session is None or not session.recording:
            return None
        return next((loop for loop in reversed(self.open) if loop.session is session), None)


_loops = _Loops()


def steps_to_keep(keep_steps: Any) -> int:
    """As the engine takes it: -1 for all. InvalidArgumentError where it is no count."""
    if keep_steps is None:
        return -1
    if isinstance(keep_steps, int) and not isinstance(keep_steps, bool) and keep_steps >= 0:
        return keep_steps
    raise InvalidArgumentError(
        f"keep_steps={keep_steps!r} cannot be used; expected a number of steps from 0, or None "
        "for all"
    )


def hold_steps(patches: Patches, keras: Any) -> None:
    """Every step of a training, evaluation or prediction loop stands in a region of its own."""
    for name in _METHODS:
        owner = _owner(keras.Model, name)
        if owner is not None:
            patches.hold(owner, name, functools.partial(_in_loop, name))
    iterator = _epoch_iterator()
    if iterator is None:
        return
    if (owner := _owner(iterator, "__next__")) is not None:
        patches.hold(owner, "__next__", _next_in_step)
    elif (owner := _owner(iterator, "enumerate_epoch")) is not None:
        patches.hold(owner, "enumerate_epoch", _epoch_in_steps)


def _owner(cls: type, name: str) -> type | None:
    return next((base for base in cls.__mro__ if name in base.__dict__), None)


def _epoch_iterator() -> type | None:
    try:
        from keras.src.backend.tensorflow import trainer
    except ImportError:
        return None
    return getattr(trainer, "TFEpochIterator", None)


@functools.cache
def _in_loop(name: str, original: Any) -> Any:
    @functools.wraps(original)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        session = _core.current_session()
        if session is None or not session.recording:
            return original(*args, **kwargs)
        loop = _Loop(session, name)
        _loops.open.append(loop)
        try:
            return original(*args, **kwargs)
        finally:
            loop.end()
            _loops.open.remove(loop)

    return recorded


@functools.cache
def _next_in_step(original: Any) -> Any:
    @functools.wraps(original)
    def __next__(self: Any) -> Any:
        loop = _loops.current()
        if loop is None:
            return original(self)
        loop.end_step()
        batch = original(self)
        loop.next_step()
        return batch

    return __next__


@functools.cache
def _epoch_in_steps(original: Any) -> Any:
    @functools.wraps(original)
    def enumerate_epoch(self: Any) -> Iterator[Any]:
        for batch in original(self):
            loop = _loops.current()
            if loop is not None:
                loop.next_step()
            yield batch
        if loop := _loops.current():
            loop.end_step()

    return enumerate_epoch
