"""Every fact that the programs in ``cases/`` state, against a trace of their one call."""

from __future__ import annotations

import fnmatch
from typing import Any

import flowscope as fs
import numpy as np
import pytest
from case_facts import Fact, check, facts
from case_runs import CASES, module_of, run_of

BACKWARD = "needs a recorded backward pass"

# Facts that wait for a later step, by the id of the fact. A fact that comes true is reported as a
# failure (strict), so that its line here goes.
WAITING = {
    "case??:grads:*": BACKWARD,
    "case22:bad_index": BACKWARD,
    "case22:first_backward_bad": BACKWARD,
    "case22:safe_grad": BACKWARD,
    "case22:where_*_grad": BACKWARD,
}
# Entries that state no fact of a trace.
EMPTY = {
    "case11:retake:args": "the arguments of the retake, no fact",
}
SMOKE = ("case01:*", "case03:tensors:*", "case09:path_calls:*", "case18:*", "case21:*")


def reason(fact: Fact, table: dict[str, str]) -> str | None:
    return next((why for glob, why in table.items() if fnmatch.fnmatch(fact.id, glob)), None)


def marks(fact: Fact) -> list[Any]:
    found: list[Any] = []
    waits = reason(fact, WAITING)
    if waits is not None:
        found.append(pytest.mark.xfail(strict=True, raises=fs.FlowScopeError, reason=waits))
    if any(fnmatch.fnmatch(fact.id, glob) for glob in SMOKE) and waits is None:
        found.append(pytest.mark.smoke)
    return found


ALL = [fact for case in CASES for fact in facts(case)]
CHECKED = [fact for fact in ALL if reason(fact, EMPTY) is None]


@pytest.mark.parametrize(
    "fact", [pytest.param(fact, id=fact.id, marks=marks(fact)) for fact in CHECKED]
)
def test_fact(fact: Fact) -> None:
    check(fact)


def test_no_case_is_missing() -> None:
    assert len(CASES) == 15
    assert len(ALL) > 150
    assert len({fact.id for fact in ALL}) == len(ALL)


@pytest.mark.parametrize("glob", [*WAITING, *EMPTY])
def test_every_exception_names_a_fact(glob: str) -> None:
    assert any(fnmatch.fnmatch(fact.id, glob) for fact in ALL)


@pytest.mark.parametrize("case", CASES)
def test_the_record_is_whole(case: str) -> None:
    trace = run_of(case).trace
    assert list(trace.lint()) == []
    assert trace.completeness["unexplained"] == 0


@pytest.mark.parametrize("case", CASES)
def test_no_op_is_opaque(case: str) -> None:
    """The case's own call, and every function that it reaches, is open."""
    trace = run_of(case).trace
    assert [(op.label, op.opaque_reason) for op in trace if op.opaque or op.opaque_reason] == []


@pytest.mark.parametrize("case", CASES)
def test_recording_changes_no_result(case: str) -> None:
    """A fresh build's plain call, bit for bit (random layers are seeded by the case)."""
    root, args, kwargs = module_of(case).build()
    plain, recorded = root(*args, **kwargs), run_of(case).trace.output
    for a, b in zip(_leaves(plain), _leaves(recorded), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]
