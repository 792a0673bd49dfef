"""Running a model again: with the recorded draws, and twice to see whether it gives the same."""

from __future__ import annotations

import contextlib
import dataclasses
import random as python_random
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _autograph, _core, _runtime, addresses
from ._tracing import recorded_draws
from ._tracing import trace as record
from .errors import InvalidArgumentError, UnavailableError

_DRAWS_INSIDE = ("draws from a random op", "draws other random numbers")


def run(
    trace: _core.Trace,
    model: Any,
    input_args: Any = None,
    input_kwargs: dict[str, Any] | None = None,
    rng: str = "recorded",
    **options: Any,
) -> _core.Trace:
    """``Trace.run``."""
    if rng == "fresh":
        return record(model, input_args, input_kwargs, **options)
    if rng != "recorded":
        raise InvalidArgumentError(
            f"rng={rng!r} is not known; expected 'recorded', which puts the recorded draws in "
            "place of new ones, or 'fresh'"
        )
    _refuse_unrecorded_draws(trace)
    # A function that draws has to be opened for its draws to be exchanged.
    options = {"random": "interpret"} | options
    token = recorded_draws.set(trace)
    try:
        return record(model, input_args, input_kwargs, **options)
    finally:
        recorded_draws.reset(token)


def _refuse_unrecorded_draws(trace: _core.Trace) -> None:
    for op in trace.completeness["opaque"]:
        if any(words in op["reason"] for words in _DRAWS_INSIDE):
            raise UnavailableError(
                f"the draws inside {op['label']} were not recorded, since the function ran "
                f"compiled: {op['reason']}. Record with random='interpret', or run with "
                "rng='fresh'"
            )


@dataclasses.dataclass(frozen=True)
class Determinism:
    """What ``fs.check_determinism`` found; true where both runs gave the same bits.

    ``first`` is the first op of the first run whose value the second run did not give again, None
    where there is none. ``message`` says it in one sentence.
    """

    deterministic: bool
    message: str
    first: Any = None

    def __bool__(self) -> bool:
        return self.deterministic


@_autograph.left_alone
def check_determinism(
    model: Any,
    input_args: Any = None,
    input_kwargs: dict[str, Any] | None = None,
    *,
    random_seed: int | None = None,
) -> Determinism:
    """Run a model twice from the same state and compare every value to the bit.

    Where the second run has other ops than the first, which may have built layers and traced
    functions, a third one is compared with the second.

    Variables, and the states of Python's and NumPy's generators, are the same before both runs and
    afterwards what they were before. The state that TensorFlow's stateful random kernels keep
    cannot be read or put back: a model that draws from them differs, unless ``random_seed`` seeds
    it, which stays set.

    Args:
        model: what ``fs.trace`` takes.
        input_args: as in ``fs.trace``.
        input_kwargs: as in ``fs.trace``.
        random_seed: seeds Python, NumPy, TensorFlow and Keras before each run.

    Returns:
        A ``Determinism``, which is true where both runs gave the same bits.

    Raises:
        FlowScopeError: recording is not possible here.

    Example:
        >>> bool(fs.check_determinism(model, x))
        True
    """

    def run() -> _core.Trace:
        with _variables_restored(model), _generators_restored():
            return record(model, input_args, input_kwargs, random_seed=random_seed)

    first, second = run(), run()
    if [op.label for op in first] == [op.label for op in second]:
        return _compare(first, second)
    # A first call builds layers and traces functions, which later ones do not.
    found = _compare(second, run())
    before = _compare(first, second).message
    return dataclasses.replace(found, message=f"{found.message} (after a first run: {before})")


@contextlib.contextmanager
def _variables_restored(model: Any) -> Iterator[None]:
    _runtime.tensorflow()
    found = addresses.discover(model).variables
    held = [
        (variable.resource, np.array(variable.resource.numpy()))
        for variable in found
        if hasattr(variable.resource, "assign") and hasattr(variable.resource, "numpy")
    ]
    try:
        yield
    finally:
        for variable, value in held:
            variable.assign(value)


@contextlib.contextmanager
def _generators_restored() -> Iterator[None]:
    python, numpy = python_random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        python_random.setstate(python)
        np.random.set_state(numpy)


def _compare(first: _core.Trace, second: _core.Trace) -> Determinism:
    for op, other in zip(first, second, strict=False):
        if op.label != other.label:
            return Determinism(
                False, f"{op.label} ran in the first run, {other.label} in the second", op
            )
        for output in range(op.num_outputs):
            problem = _difference(op, other, output)
            if problem:
                return Determinism(False, problem, op)
    if len(first) != len(second):
        return Determinism(
            False, f"{len(first)} rows in the first run, {len(second)} in the second"
        )
    return Determinism(True, f"all {first.num_ops} ops gave the same bits twice")


def _difference(op: Any, other: Any, output: int) -> str:
    try:
        a, b = op.outs[output], other.outs[output]
    except UnavailableError:
        return ""
    same = a.dtype == b.dtype and a.shape == b.shape
    if same and (a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes()):
        return ""
    why = "it draws random numbers" if op.kind == "random" else "its inputs were the same"
    return f"output {output} of {op.label} ({op.type}) differs between two runs; {why}"
