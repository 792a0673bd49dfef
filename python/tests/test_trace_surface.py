"""What a Trace itself answers: facts, counts, text, values by site, the first NaN, lifetimes."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import weakref
from types import SimpleNamespace
from typing import Any

import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


@pytest.fixture(scope="module")
def dense() -> SimpleNamespace:
    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(4, activation="relu", name="hidden")
    head = keras.layers.Dense(4, name="head")
    model = keras.Sequential([keras.Input((3,)), hidden, head], name="small")
    x = tf.ones((5, 3))
    return SimpleNamespace(model=model, x=x, trace=fs.trace(model, x))


def test_facts(dense: SimpleNamespace) -> None:
    trace = dense.trace
    assert (trace.name, trace.root_kind, trace.root_class) == ("small", "keras", "Sequential")
    assert trace.recorder in ("hook", "callbacks") and trace.duration > 0
    assert trace.tensorflow_version == tf.__version__ and trace.keras_version == keras.__version__
    assert trace.started_at.startswith("20") and trace.started_at.endswith("Z")
    assert (trace.degraded, trace.error, trace.halted, trace.interrupted) == (
        None,
        None,
        False,
        False,
    )
    assert trace.notes == []


def test_counts(dense: SimpleNamespace) -> None:
    trace = dense.trace
    assert len(trace) == 10 and trace.num_ops == 9 and trace.num_layers == 10
    assert trace.num_modules == 3
    assert trace.num_params == trace.num_trainable_params == dense.model.count_params()
    assert trace.total_activation_memory == 5 * 4 * 4 * 5
    assert trace.op_counts() == {"BiasAdd": 2, "MatMul": 2, "ReadVariableOp": 4, "Relu": 1}


def test_ends(dense: SimpleNamespace) -> None:
    trace = dense.trace
    assert trace.inputs == [trace["input_1"]] and trace.outputs == [trace["biasadd_2"]]
    assert np.array_equal(trace.output, trace.outputs[0].out)
    assert [op.kind for op in trace.sources] == ["input"] + ["variable_read"] * 4
    assert trace.interrupted is False


def test_edges(dense: SimpleNamespace) -> None:
    edges = dense.trace.edges
    assert ("input_1_1:1", "matmul_1_3:1", 0, "input") in edges
    assert ("readvariableop_1_2:1", "matmul_1_3:1", 1, "op") in edges
    assert (None, "readvariableop_1_2:1", 0, "variable") in edges
    assert len(edges) == sum(len(op.inputs) for op in dense.trace)


def test_completeness(dense: SimpleNamespace) -> None:
    facts = dense.trace.completeness
    assert facts["unexplained"] == facts["edges"]["unexplained"] == 0
    assert sum(facts["edges"].values()) == len(dense.trace.edges)
    assert facts["executed"] == dense.trace.num_ops and facts["recorder"] == dense.trace.recorder
    assert (facts["opaque"], facts["possible_origins"], facts["notes"]) == ([], 0, [])


def test_opaque_calls_are_named() -> None:
    function = tf.function(lambda x: x * 2.0)
    function(tf.ones(2))
    trace = fs.trace(lambda x: function(x) + 1.0, tf.ones(2))
    for entry in trace.completeness["opaque"]:
        op = trace[entry["label"]]
        assert op.opaque and op.opaque_reason == entry["reason"] and op.type == entry["type"]
    assert [op.opaque for op in trace].count(True) == len(trace.completeness["opaque"])


def test_container(dense: SimpleNamespace) -> None:
    trace = dense.trace
    ops = list(trace)
    assert [trace[i] for i in range(len(trace))] == ops and trace[-1] == ops[-1]
    assert trace[2:4] == ops[2:4] and trace[::3] == ops[::3]
    assert type(trace["hidden"]).__name__ == "Module"
    assert type(trace["hidden:1"]).__name__ == "ModuleCall"
    assert type(trace["hidden.kernel"]).__name__ == "Variable"
    assert trace["relu"] == trace["relu_1"] == trace["relu_1_6"] == trace["relu_1_6:1"]
    assert {"hidden", "relu_1", "relu_1_6"} <= set(trace._ipython_key_completions_())
    with pytest.raises(fs.errors.LookupFailedError, match="Did you mean hidden"):
        trace["hiden"]
    with pytest.raises(fs.errors.LookupFailedError, match="10 ops"):
        trace[10]
    with pytest.raises(fs.errors.InvalidArgumentError, match="no key of a trace"):
        trace[1.5]


def test_text(dense: SimpleNamespace) -> None:
    trace = dense.trace
    assert "\n" not in repr(trace) and "small" in repr(trace)
    text = str(trace)
    assert text == trace.summary() and "hidden (Dense)" in text
    assert "relu_1_6" not in text and "relu_1_6" in trace.summary(level="op")
    assert len(trace.summary(level="op", max_rows=4)) < len(trace.summary(level="op"))
    assert trace.summary(max_rows=None, depth=None, fold_repeats=False)
    for wrong in ({"level": "deep"}, {"view": "all"}, {"max_rows": -1}, {"depth": -1}):
        with pytest.raises(fs.errors.InvalidArgumentError):
            trace.summary(**wrong)


def test_stack(dense: SimpleNamespace) -> None:
    trace = dense.trace
    stacked = trace.stack(["hidden", "head"])
    assert stacked.shape == (2, 5, 4)
    assert np.array_equal(stacked[0], trace["hidden"].out)
    assert np.array_equal(stacked[1], trace["head"].out)
    with pytest.raises(fs.errors.InvalidArgumentError) as error:
        trace.stack(["hidden", "input_1"])
    assert "relu_1_6:1 (5, 4)" in str(error.value) and "input_1_1:1 (5, 3)" in str(error.value)
    with pytest.raises(fs.errors.LookupFailedError):
        trace.stack("nothing of this name")


def test_values_at(dense: SimpleNamespace) -> None:
    trace = dense.trace
    assert list(trace.values_at("h*")) == ["hidden", "head"]
    assert np.array_equal(trace.values_at("hidden")["hidden"], trace["hidden"].out)
    assert list(trace.values_at("relu_1")) == ["relu_1_6"]
    assert list(trace.values_at(fs.sites.func("matmul"))) == ["matmul_1_3", "matmul_2_8"]
    assert list(trace.values_at([trace["head"], "relu_1"])) == ["head", "relu_1_6"]
    twice = fs.trace(lambda x: dense.model(dense.model(x)[:, :3]), dense.x)
    address = next(c.module.address for c in twice.module_calls if c.module.name == "hidden")
    assert list(twice.values_at(address)) == [f"{address}:1", f"{address}:2"]
    assert list(twice.values_at(f"{address}:2")) == [f"{address}:2"]
    with pytest.raises(fs.errors.LookupFailedError):
        trace.values_at("nothing of this name")


def test_ancestors(dense: SimpleNamespace) -> None:
    trace = dense.trace
    found = trace.ancestors(trace["relu_1"])
    assert [op.type for op in found] == [
        "input",
        "ReadVariableOp",
        "MatMul",
        "ReadVariableOp",
        "BiasAdd",
    ]
    assert trace.ancestors("relu_1") == found and trace.ancestors(trace["input_1"]) == []
    assert len(trace.ancestors(trace[-1])) == len(trace) - 1
    other = fs.trace(dense.model, dense.x)
    with pytest.raises(fs.errors.InvalidArgumentError, match="another trace"):
        trace.ancestors(other["relu_1"])
    with pytest.raises(fs.errors.InvalidArgumentError, match="needed here"):
        trace.ancestors(7)


def test_cost(dense: SimpleNamespace) -> None:
    cost = dense.trace.cost()
    modules = cost["modules"]
    assert cost["flops"] == modules["self"]["flops"] == 2 * 5 * (3 * 4 + 4 * 4) + 20 * 3
    assert modules["hidden"]["flops"] + modules["head"]["flops"] == cost["flops"]
    assert cost["ops"] == dense.trace.num_ops and cost["bytes_read"] > cost["bytes_written"] > 0
    assert cost["ops_without_formula"] == len(cost["types_without_formula"]) == 0


def test_lint(dense: SimpleNamespace) -> None:
    assert dense.trace.lint() == []


def test_first_nonfinite() -> None:
    def model(x: Any) -> Any:
        return tf.exp(tf.math.log(x) * 0.0) + 1.0

    trace = fs.trace(model, tf.constant([[1.0, 2.0, 0.0]]))
    found = trace.first_nonfinite()
    assert found.op == trace["log_1"] and found.element == (0, 2)
    assert found.value == -np.inf and (found.nan, found.pos_inf, found.neg_inf) == (0, 0, 1)
    assert "log of 0" in found.cause
    (parent,) = found.parents
    assert parent.op == trace["input_1"] and parent.element == "0" and "f32" in parent.glance
    assert [op.type for op in found.chain] == ["Mul", "Exp", "AddV2"]
    assert found.first_nan == trace["mul_1"] and found.nan_cause != found.cause
    assert found.scanned > 0 and found.skipped == 0
    assert str(found).startswith(repr(found)) and "log_1" in str(found)


def test_first_nonfinite_finds_none(dense: SimpleNamespace) -> None:
    assert dense.trace.first_nonfinite() is None
    stats = fs.trace(tf.math.log, tf.constant([0.0, 1.0]), keep="stats").first_nonfinite()
    assert stats.op.type == "Log" and stats.value == -np.inf


def test_own_attributes_and_output(dense: SimpleNamespace) -> None:
    trace = fs.trace(lambda: None)
    assert trace.output is None
    trace.note_of_mine = "kept"
    assert trace.note_of_mine == "kept"
    trace._set_output([1])
    assert trace.output == [1]


def test_records_outlive_the_trace_object(dense: SimpleNamespace) -> None:
    op = fs.trace(dense.model, dense.x)["relu_1"]
    gc.collect()
    assert np.array_equal(op.out, dense.trace["relu_1"].out) and op.children


def test_values_outlive_everything(dense: SimpleNamespace) -> None:
    value = fs.trace(dense.model, dense.x)["relu_1"].out
    gc.collect()
    assert np.array_equal(value, dense.trace["relu_1"].out)


def test_cycles_through_the_trace_are_collected() -> None:
    class Output:
        pass

    output = Output()
    trace = fs.trace(lambda x: x + 1.0, tf.ones(2))
    trace._set_output(output)
    trace.op = trace[1]
    trace.table = trace.ops
    output.trace = trace  # type: ignore[attr-defined]
    gone = weakref.ref(trace)
    del trace, output
    gc.collect()
    assert gone() is None


def test_quiet_at_exit() -> None:
    program = """
        import flowscope as fs, tensorflow as tf
        trace = fs.trace(lambda x: tf.nn.relu(x) * 2.0, tf.ones(3))
        trace.again = trace
        op, layer, table = trace[1], trace.layers[0], trace.ops
        value, sel = op.out, fs.sites.where(lambda op: True)
        try:
            trace["nothing"]
        except fs.FlowScopeError as caught:
            error = caught
        print(len(trace), trace.first_nonfinite())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**__import__("os").environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert done.returncode == 0 and done.stdout.split() == ["3", "None"]
    assert "nanobind" not in done.stderr and "leak" not in done.stderr
