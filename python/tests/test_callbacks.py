"""What must hold for both recorders: run a second time with FLOWSCOPE_RECORDER=callbacks."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import model_zoo  # noqa: E402 - needs the two above

RECORDER = os.environ.get("FLOWSCOPE_RECORDER", "hook")
CALLBACKS = RECORDER == "callbacks"
pytestmark = pytest.mark.callbacks


def dense() -> Any:
    hidden = keras.layers.Dense(4, activation="relu", name="hidden")
    return keras.Sequential([keras.Input((3,)), hidden, keras.layers.Dense(2, name="head")])


def test_the_trace_says_who_recorded() -> None:
    trace = fs.trace(tf.abs, tf.ones(2))
    assert trace.recorder == trace.completeness["recorder"] == RECORDER
    assert RECORDER in trace.summary()
    told = [note for note in trace.completeness["notes"] if "op callbacks" in note]
    assert bool(told) == CALLBACKS
    if CALLBACKS:
        for what in ("variable reads", "attributes", "variable writes", "handle copies"):
            assert what in told[0]


def test_a_keras_model() -> None:
    trace = checks.recorded_equals_plain(dense, (tf.ones((5, 3)),))
    assert trace.op_counts() == {"BiasAdd": 2, "MatMul": 2, "ReadVariableOp": 4, "Relu": 1}
    assert trace["relu_1"].parents == [trace["biasadd_1"]]
    assert [call.call_label for call in trace.module_calls] == ["self:1", "hidden:1", "head:1"]
    assert trace["hidden.kernel"].value.shape == (3, 4)
    assert np.array_equal(trace["head"].out, trace.output)


@pytest.mark.parametrize("name", model_zoo.OTHERS)
def test_larger_models(name: str) -> None:
    facts = model_zoo.facts_of(name)
    assert facts.problems == [] and facts.wrong_variables == []
    assert facts.witnessed - facts.recorded == type(facts.recorded)()


def test_edges() -> None:
    weight = tf.constant([1.0, 2.0])

    def model(x: Any) -> Any:
        y = tf.exp(x)
        return y * weight, tf.identity(y) + 1.0

    trace = fs.trace(model, tf.ones(2))
    checks.assert_sound(trace)
    exp = trace["exp_1"]
    assert trace["mul_1"].parents[0] == exp and trace["mul_1"].parents[1].kind == "constant"
    assert trace["identity_1"].parents == [exp] and trace["addv2_1"].literals == {1: 1.0}
    assert exp.parents == trace.inputs and len(trace.outputs) == 2


def test_values_do_not_change_the_run() -> None:
    def model(x: Any) -> Any:
        return tf.nn.dropout(x, 0.5) + tf.random.uniform((4,))

    trace = checks.recorded_equals_plain(lambda: model, (tf.ones(4),))
    assert [op.kind for op in trace if op.type == "RandomUniform"] == ["random", "random"]


def test_source_lines() -> None:
    trace = fs.trace(lambda x: tf.exp(x), tf.ones(2))
    (place,) = trace["exp_1"].code_context
    assert place.file == __file__ and "tf.exp(x)" in place.code


def test_selection_statistics_and_budget() -> None:
    def model(x: Any) -> Any:
        return tf.exp(tf.abs(x)) * 2.0

    x = tf.constant([1.0, -1.0])
    whole = fs.trace(model, x)
    for options, kept in (
        ({"save": "none"}, 0),
        ({"keep": "stats"}, 0),
        ({"save": fs.sites.func("exp")}, 1),
        ({"save_budget": 8}, 1),
    ):
        with pytest.warns(RuntimeWarning) if "save_budget" in options else nullcontext():
            trace = fs.trace(model, x, **options)
        checks.assert_sound(trace)
        assert trace.edges == whole.edges and trace.num_kept == kept


def test_edges_without_values() -> None:
    def model(x: Any) -> Any:
        for _ in range(50):
            y = tf.exp(x)
            z = y * 2.0
            del y, z
            x = x + np.float32([1.0, 2.0])
            x = tf.concat([x[:1], x[1:]], 0)
        return x

    whole, none = fs.trace(model, tf.ones(2)), fs.trace(model, tf.ones(2), save="none")
    assert none.edges == whole.edges and len(whole.edges) > 500


def test_the_models_own_error() -> None:
    def model(x: Any) -> Any:
        raise KeyError(float(tf.reduce_sum(tf.abs(x))))

    with pytest.raises(KeyError) as caught:
        fs.trace(model, tf.ones(2))
    trace = caught.value.flowscope_trace  # type: ignore[attr-defined]
    assert trace.op_counts() == {"Abs": 1, "Sum": 1} and trace.recorder == RECORDER


@pytest.mark.parametrize("option", [{"halt": fs.sites.func("Log")}, {"raise_on_nan": True}])
def test_a_stop_happens_or_is_refused(option: dict[str, Any]) -> None:
    try:
        trace = fs.trace(lambda x: tf.math.log(x) + 1.0, tf.zeros(2), **option)
    except fs.FlowScopeError:
        return
    assert trace.halted and trace.op_counts() == {"Log": 1}


def test_a_compiled_function_is_a_call() -> None:
    function = tf.function(lambda x: x * 2.0)
    function(tf.ones(2))
    trace = fs.trace(lambda x: function(x) + 1.0, tf.ones(2))
    checks.assert_sound(trace)
    (call,) = [op for op in trace if "inference" in op.type]
    assert call.kind == "call" and call.parents == trace.inputs
    if CALLBACKS:
        assert call.opaque and [e["label"] for e in trace.completeness["opaque"]] == [call.label]


def test_a_block() -> None:
    with fs.capture() as recording:
        tf.nn.relu(tf.ones(2)) * 3.0
    assert recording.trace.op_counts() == {"Fill": 1, "Mul": 1, "Relu": 1}
    assert recording.trace.recorder == RECORDER
    with fs.capture() as recording:
        pass
    assert len(recording.trace) == 0


def test_refused_while_recording() -> None:
    def model(x: Any) -> Any:
        with pytest.raises(fs.errors.RecordingStateError):
            fs.trace(tf.abs, x)
        return x + 1.0

    assert fs.trace(model, tf.ones(2)).op_counts() == {"AddV2": 1}


def test_op_callbacks_of_the_user_go_on() -> None:
    x = tf.ones(2)
    with checks.witness() as seen:
        trace = fs.trace(lambda a: tf.exp(a) * 2.0, x)
        tf.abs(x)
    assert seen["Exp"] == seen["Mul"] == seen["Abs"] == 1
    assert trace.op_counts() == {"Exp": 1, "Mul": 1}


def test_a_true_record_is_never_called_wrong() -> None:
    """Callbacks tell no attributes: an op that does not come back without them is unverified."""
    model = keras.Sequential(
        [keras.Input((5, 3)), keras.layers.LSTM(4), keras.layers.BatchNormalization()]
    )
    trace = fs.trace(model, tf.ones((2, 5, 3)), {"training": True})
    report = trace.validate()
    assert report.failures == [] and report.state == ("unverified" if CALLBACKS else "passed")
    if CALLBACKS:
        assert any("do not tell the attributes" in str(finding) for finding in report.unverified)
