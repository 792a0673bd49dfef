"""Reads the facts of ``cases/`` (their ``EXPECT``) and checks each against a trace of one call.

``facts(case)`` gives one ``Fact`` for every entry of ``EXPECT``; ``check(fact)`` raises
AssertionError where the trace does not hold it. The README of the cases tells what the keys mean.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import flowscope as fs
import numpy as np
from case_runs import Run, assert_anywhere, at, equal, module_of, operation, ops_of, run_of
from flowscope.addresses import discover

# Entries that explain a case and state nothing that a recorder could get wrong.
REMARKS = {"trap", "traps", "note", "tol", "random_output", "no_python_source"}


@dataclasses.dataclass(frozen=True)
class Fact:
    """One entry of ``EXPECT``, or one item of an entry that is a list or a dict."""

    case: str
    key: str
    item: str = ""

    @property
    def id(self) -> str:
        """``case01:tensors:layer:blk0#1``."""
        number = self.case.partition("_")[0]
        return ":".join(p for p in (number, self.key, self.item) if p)


def facts(case: str) -> Iterator[Fact]:
    for key, value in module_of(case).EXPECT.items():
        if key in REMARKS:
            continue
        if key in BY_ITEM:
            for i, entry in enumerate(value.items() if isinstance(value, dict) else value):
                yield Fact(case, key, _item_name(i, entry))
        else:
            yield Fact(case, key)


def _item_name(index: int, entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    if isinstance(entry, tuple) and isinstance(entry[0], str):
        numbered = entry[0] == "any" or (len(entry) > 1 and isinstance(entry[1], str))
        return f"{entry[0]}@{index}" if numbered else entry[0]
    return str(index)


def check(fact: Fact) -> None:
    """Raises AssertionError where the trace does not hold the fact."""
    checker = CHECKS.get(fact.key)
    assert checker is not None, f"no check for the entry {fact.key!r} of {fact.case}"
    value = module_of(fact.case).EXPECT[fact.key]
    run = run_of(fact.case)
    if fact.key not in BY_ITEM:
        checker(run, value)
        return
    entries = list(value.items() if isinstance(value, dict) else value)
    entry = next(e for i, e in enumerate(entries) if _item_name(i, e) == fact.item)
    checker(run, entry)


# checks, one for each key


def check_output(run: Run, want: Any, got: Any = None) -> None:
    got = run.trace.output if got is None else got
    if isinstance(want, dict):
        assert sorted(got) == sorted(want)
        for key in want:
            check_output(run, want[key], got[key])
    elif isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            check_output(run, w, g)
    else:
        assert equal(got, want, run.tol), f"{np.asarray(got)} is not {np.asarray(want)}"


def check_output_relation(run: Run, text: str) -> None:
    found = re.fullmatch(r"every element of (\w+#\d+) is 0 or twice (\w+#\d+)", text)
    assert found is not None, f"a relation that this check does not know: {text}"
    got, twice = (np.asarray(at(run, f"layer:{name}")) for name in found.groups())
    assert np.all(np.isclose(got, 0) | np.isclose(got, 2 * twice, rtol=1e-3, atol=1e-4))
    assert np.any(got == 0)


def check_tensor(run: Run, entry: tuple[str, Any]) -> None:
    where, want = entry
    if where == "any":
        assert_anywhere(run, want)
        return
    got = at(run, where)
    assert equal(got, want, run.tol), f"at {where}: {np.asarray(got)} is not {np.asarray(want)}"


def check_values_anywhere(run: Run, wanted: Any) -> None:
    for want in wanted:
        assert_anywhere(run, want)


def check_calls(run: Run, entry: tuple[str, int]) -> None:
    name, want = entry
    assert len(run.trace.modules[name].calls) == want


def check_layer_path(run: Run, entry: tuple[str, str]) -> None:
    name, address = entry
    assert run.trace.modules[name].address == address


def check_module_path(run: Run, address: str) -> None:
    assert run.trace.modules[address].address == address


def check_variable(run: Run, address: str) -> None:
    assert run.trace.variables[address].address == address


def check_op_count(run: Run, entry: tuple[str, int]) -> None:
    op_type, want = entry
    assert len(ops_of(run.trace, op_type)) == want


def check_op_ran(run: Run, op_type: str) -> None:
    assert ops_of(run.trace, op_type), f"no {op_type} among {_types(run)}"


def check_op_did_not_run(run: Run, op_type: str) -> None:
    assert not ops_of(run.trace, op_type)


def check_op_order(run: Run, wanted: list[str]) -> None:
    assert [op.type for op in run.trace.ops if op.type in wanted] == wanted


def _types(run: Run) -> set[str]:
    return {op.type for op in run.trace.ops}


def check_dtype_seen(run: Run, dtype: str) -> None:
    assert dtype in {str(op.dtype) for op in run.trace.ops}


def check_state_after(run: Run, entry: tuple[str, Any]) -> None:
    """The state after the one recorded call: a recorder that ran twice is two steps away."""
    address, want = entry
    actual = {v.address: v.resource for v in discover(run.root).variables}
    assert equal(actual[address].numpy(), want, run.tol)
    assert len(list(run.trace.variables[address].writes)) == 1


def check_first_nonfinite(run: Run, entry: tuple[str, str]) -> None:
    where, value = entry
    report = run.trace.first_nonfinite()
    assert report is not None
    label = getattr(report.op, "label", report.op)
    assert label == operation(run, where).label
    assert value in str(report.value)


def check_bad_index(run: Run, index: tuple[int, ...]) -> None:
    if run.expect.get("forward_all_finite"):
        check_backward(run, index)
    assert tuple(run.trace.first_nonfinite().element) == tuple(index)


def check_first_nan(run: Run, where: str) -> None:
    bad = [
        op
        for op in run.trace.ops
        if any(np.asarray(o).dtype.kind == "f" and np.isnan(o).any() for o in op.outs)
    ]
    assert bad[0].label == operation(run, where).label


def check_bad_counts(run: Run, entry: tuple[str, dict[str, int]]) -> None:
    where, wanted = entry
    value = np.asarray(at(run, where))
    got = {"nan": np.isnan(value).sum(), "neg_inf": np.isneginf(value).sum()}
    assert {key: int(got[key]) for key in wanted} == wanted


def check_finite_row(run: Run, row: int) -> None:
    assert np.isfinite(np.asarray(run.trace.output)[row])


def check_all_finite(run: Run, finite: bool) -> None:
    assert (run.trace.first_nonfinite() is None) == finite


def check_timesteps(run: Run, steps: int) -> None:
    """Keras runs a cell once more than there are steps, to learn the shape of its output."""
    cells = [m for m in run.trace.modules if m.address.endswith("cell")]
    assert len(cells) == 1
    assert len(cells[0].calls) in (steps, steps + 1)


def check_iterations(run: Run, count: int) -> None:
    loops = [r for r in run.trace.regions if r.kind == "iteration"]
    assert len(loops) == count


def check_scores_shape(run: Run, shape: tuple[int, ...]) -> None:
    assert any(np.shape(op.out) == shape for op in ops_of(run.trace, "Softmax"))


def check_infer_output(run: Run, want: Any) -> None:
    root, args, _ = module_of(run.case).build()
    assert equal(fs.trace(root, args).output, want, run.tol)


def check_retake(run: Run, entry: tuple[str, Any]) -> None:
    key, wanted = entry
    trace = fs.trace(run.root, run.expect["retake"]["args"])
    ran = {op.type for op in trace.ops}
    if key == "ops_must":
        assert set(wanted) <= ran
    elif key == "ops_must_not":
        assert not set(wanted) & ran


def check_function_calls(run: Run, count: int) -> None:
    assert sum(op.kind == "call" for op in run.trace.ops) == count


def check_captures_per_function(run: Run, count: int) -> None:
    """Every call of a one-argument function takes its captures beside the argument."""
    calls = [op for op in run.trace.ops if op.kind == "call"]
    assert calls
    assert all(len(op.inputs) == count + 1 for op in calls)


def check_captured_constants(run: Run, constants: list[float]) -> None:
    for constant in constants:
        assert_anywhere(run, np.float32([constant, constant]))


def check_shared_variable(run: Run, value: float) -> None:
    assert any(equal(v.value_at(0), np.float32(value), run.tol) for v in run.trace.variables)


def check_signature_outputs(run: Run, names: list[str]) -> None:
    assert sorted(run.trace.output) == names


def check_signature_inputs(run: Run, names: list[str]) -> None:
    assert sorted(op.name for op in run.trace.inputs) == names


def check_taken(run: Run, names: list[str]) -> None:
    """One branch region for each of the names, which the case gives to its true branches."""
    taken = [r for r in run.trace.regions if r.kind == "branch"]
    assert len(taken) == len(names)
    for region in taken:
        assert region.path.endswith(":then_branch") and region.index == 0
        assert bool(region.predicate) and region.ops


def check_untaken(run: Run, names: list[str]) -> None:
    """Nothing is claimed of the other branches, whose functions are in the graph."""
    graph = graph_of(run)
    branches = [op.get_attr("else_branch").name for op in graph.get_operations() if is_if(op)]
    assert len(branches) == len(names)
    assert not [r for r in run.trace.regions if r.path.endswith(":else_branch")]


def is_if(op: Any) -> bool:
    return op.type in ("If", "StatelessIf")


def graph_of(run: Run) -> Any:
    """The graph of the function that the case calls."""
    concrete = getattr(run.root, "get_concrete_function", None)
    return run.root.graph if concrete is None else concrete(*run.args, **run.kwargs).graph


def check_loop_op_types(run: Run, wanted: list[str]) -> None:
    """Every iteration is one of a node of the graph with such a type."""
    nodes = {op.name: op.type for op in graph_of(run).get_operations()}
    turns = [r.path.rpartition("/")[2] for r in run.trace.regions if r.kind == "iteration"]
    types = {nodes[turn.partition("[")[0]] for turn in turns}
    assert types and types <= set(wanted)


def check_top_level_call_ops(run: Run, wanted: list[str]) -> None:
    """The graph's calls of such types are opened, each as a function right below the graph's."""
    calls = [op for op in graph_of(run).get_operations() if op.type in wanted]
    inside = [r for r in run.trace.regions if r.kind == "function" and r.path.count("/") == 1]
    assert calls and len(inside) == len(calls)
    assert all(list(region.ops) for region in inside)


def check_backward(run: Run, entry: Any) -> None:
    """Backward facts need ``backward=``; when that is there, their checks are to be written."""
    fs.trace(run.root, run.args, run.kwargs, backward=True)
    raise NotImplementedError(f"write the check of {entry!r} against trace.gradients()")


Check = Callable[[Run, Any], None]

# Entries whose items are facts of their own.
BY_ITEM: dict[str, Check] = {
    "tensors": check_tensor,
    "per_iteration": lambda run, want: assert_anywhere(run, want),
    "layer_calls": check_calls,
    "path_calls": check_calls,
    "module_calls": check_calls,
    "layer_paths": check_layer_path,
    "module_paths": check_module_path,
    "variables": check_variable,
    "op_counts": check_op_count,
    "ops_must": check_op_ran,
    "ops_must_not": check_op_did_not_run,
    "ops_in_graph": check_op_ran,
    "dtypes_seen": check_dtype_seen,
    "state_after": check_state_after,
    "counts": check_bad_counts,
    "finite_rows": check_finite_row,
    "retake": check_retake,
    "grads": check_backward,
}

CHECKS: dict[str, Check] = {
    **BY_ITEM,
    "output": check_output,
    "output_relation": check_output_relation,
    "infer_output": check_infer_output,
    "last_states": check_values_anywhere,
    "top_level_call_ops": check_top_level_call_ops,
    "loop_op_types": check_loop_op_types,
    "op_order": check_op_order,
    "first_nonfinite": check_first_nonfinite,
    "first_nan": check_first_nan,
    "bad_index": check_bad_index,
    "forward_all_finite": check_all_finite,
    "timesteps": check_timesteps,
    "iterations": check_iterations,
    "scores_shape": check_scores_shape,
    "function_calls": check_function_calls,
    "captures_per_function": check_captures_per_function,
    "captured_constants": check_captured_constants,
    "shared_variable": check_shared_variable,
    "signature_inputs": check_signature_inputs,
    "signature_outputs": check_signature_outputs,
    "taken": check_taken,
    "untaken": check_untaken,
    "first_backward_bad": check_backward,
    "safe_grad": check_backward,
    "where_log_grad": check_backward,
    "where_sqrt_grad": check_backward,
}
