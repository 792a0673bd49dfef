"""The programs of ``cases/``, each recorded once, and the values at the places that they name."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import flowscope as fs
import numpy as np

CASES = sorted(p.stem for p in (Path(__file__).parent / "cases").glob("case*.py"))


@dataclasses.dataclass
class Run:
    """A case with the trace of its one call."""

    case: str
    expect: dict[str, Any]
    root: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    trace: Any

    @property
    def tol(self) -> float:
        return float(self.expect.get("tol", 1e-4))


@functools.cache
def module_of(case: str) -> ModuleType:
    path = Path(__file__).parent / "cases" / f"{case}.py"
    spec = importlib.util.spec_from_file_location(case, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[case] = module  # where AutoGraph looks for the source of its functions
    spec.loader.exec_module(module)
    return module


@functools.cache
def _attempt(case: str) -> Run | Exception:
    module = module_of(case)
    root, args, kwargs = module.build()
    try:
        trace = fs.trace(root, args, kwargs)
    except Exception as error:
        return error
    return Run(case, module.EXPECT, root, args, kwargs, trace)


def run_of(case: str) -> Run:
    """The trace of the case's one call, made once however many facts ask."""
    run = _attempt(case)
    if isinstance(run, Exception):
        raise run
    return run


def equal(got: Any, want: Any, tol: float) -> bool:
    """Same shape, same kind of data, close numbers (NaN and infinities at the same places)."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if want.dtype.kind in "SUO" or got.dtype.kind in "SUO":
        return got.dtype.kind in "SUO" and want.dtype.kind in "SUO" and _texts(got) == _texts(want)
    return bool(np.allclose(got.astype("f8"), want.astype("f8"), tol, tol, equal_nan=True))


def _texts(array: Any) -> list[bytes]:
    return [t if isinstance(t, bytes) else str(t).encode() for t in array.ravel().tolist()]


def values(trace: Any) -> Iterator[Any]:
    for op in trace.ops:
        yield from (out for out in op.outs if out is not None)


def ops_of(trace: Any, op_type: str) -> list[Any]:
    return [op for op in trace.ops if op.type == op_type]


def at(run: Run, where: str) -> Any:
    """The value at ``layer:NAME#k``, ``layer:NAME`` or ``op:Type#k``."""
    kind, _, name = where.partition(":")
    name, _, number = name.partition("#")
    if kind == "op":
        return operation(run, where).out
    calls = run.trace.modules[name].calls
    if number:
        assert len(calls) >= int(number), f"{name} has {len(calls)} calls"
        return calls[int(number) - 1].out
    return np.concatenate([np.asarray(call.out) for call in calls])


def operation(run: Run, where: str) -> Any:
    op_type, _, number = where.removeprefix("op:").partition("#")
    ops = ops_of(run.trace, op_type)
    assert len(ops) >= int(number), f"{len(ops)} {op_type} ops"
    return ops[int(number) - 1]


def assert_anywhere(run: Run, want: Any) -> None:
    assert any(equal(value, want, run.tol) for value in values(run.trace)), (
        f"no recorded tensor equals {np.asarray(want)}"
    )
