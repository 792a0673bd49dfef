"""Plain, recorded, plain gives what plain gives three times, for functions of every kind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import function_kinds
import keras
import kinds_control
import kinds_library
import kinds_programs
import kinds_state
import kinds_values
import numpy as np
import pytest
from function_kinds import CLOSE, CLOSED, KINDS, STATE, Call

MODULES = (
    kinds_control,
    kinds_values,
    kinds_state,
    kinds_library,
    kinds_programs,
)  # which fill the tables
ALL = KINDS | STATE


def three(factory: Callable[[], Call], recorded: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
    """What three calls of a fresh program give, and the traces of those that are recorded."""
    keras.utils.set_random_seed(11)
    call = factory()
    traces = []

    @contextlib.contextmanager
    def around(number: int) -> Any:
        if number not in recorded:
            yield
            return
        with fs.capture() as recording:
            yield
        traces.append(recording.trace)

    return function_kinds.results(call, around), traces


def as_values(value: Any) -> list[Any]:
    return [None if leaf is None else np.asarray(leaf) for leaf in checks.leaves(value)]


def alike(left: Any, right: Any) -> bool:
    if left.dtype.kind not in "fc" or left.shape != right.shape:
        return checks.same_bits(left, right)
    return bool(np.allclose(left, right, 1e-4, 1e-6))


def assert_equal(found: list[Any], plain: list[Any], what: str, same: Any) -> None:
    for number, (one, other) in enumerate(zip(found, plain, strict=True)):
        a, b = as_values(one), as_values(other)
        assert len(a) == len(b), (what, number)
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            equal = left is right is None or same(left, right)
            assert equal, f"{what}, call {number}, value {i}: {left} is not {right}"


@pytest.mark.parametrize("name", ALL)
def test_plain_recorded_plain(name: str) -> None:
    same = alike if name in CLOSE else checks.same_bits
    plain, _ = three(ALL[name], ())
    mixed, traces = three(ALL[name], (1,))
    assert_equal(mixed, plain, "plain, recorded, plain", same)
    recorded, more = three(ALL[name], (0, 1, 2))
    assert_equal(recorded, plain, "recorded three times", same)
    for trace in [*traces, *more]:
        checks.assert_sound(trace)
        reasons = [op.opaque_reason for op in trace if op.kind == "call" and op.opaque]
        if name in CLOSED:
            assert reasons and all(CLOSED[name] in reason for reason in reasons), reasons
        else:
            assert reasons == []
            calls = [op for op in trace if op.kind == "call"]
            inside = [op for op in trace if checks.inside_function(op.region)]
            assert inside or not calls, "a call that is open has ops"
