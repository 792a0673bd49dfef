"""Real architectures: the recorded call equals the plain one, and the record is whole."""

from __future__ import annotations

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
pytest.importorskip("keras")

import model_zoo  # noqa: E402 - needs the two above

QUICK = ("MobileNetV2", "transformer", "LSTM", "branching", "tf.Module")
LONG = ("NASNetMobile", "ConvNeXtTiny", "Xception", "DenseNet121")


def _parameters() -> list:
    marks = [
        [pytest.mark.smoke] * (name in QUICK) + [pytest.mark.slow] * (name in LONG)
        for name in model_zoo.NAMES
    ]
    return [
        pytest.param(name, marks=mark) for name, mark in zip(model_zoo.NAMES, marks, strict=True)
    ]


@pytest.mark.parametrize("name", _parameters())
class TestEach:
    def test_equals_the_plain_call(self, name: str) -> None:
        assert model_zoo.facts_of(name).problems == []

    def test_every_module_call_is_recorded(self, name: str) -> None:
        assert model_zoo.facts_of(name).notes == []

    def test_every_variable_is_where_its_address_leads(self, name: str) -> None:
        assert model_zoo.facts_of(name).wrong_variables == []

    def test_ops_outside_every_layer(self, name: str) -> None:
        facts = model_zoo.facts_of(name)
        if name in ("branching", "tf.Module"):
            assert facts.at_root, "the model's own code runs ops"
        else:
            assert [op for op in facts.at_root if not op.startswith("Cast ")] == []
            assert len(facts.at_root) <= 1, "one input, at most one cast of it"

    def test_there_is_a_record_to_speak_of(self, name: str) -> None:
        facts = model_zoo.facts_of(name)
        assert facts.num_ops >= facts.recorded.total() >= 10
        assert facts.kind == ("tf_module" if name == "tf.Module" else "keras")


def test_training_mode_equals_the_plain_call() -> None:
    def build() -> object:
        return model_zoo.architecture("MobileNetV2", 32)

    x = tf.reshape(tf.range(2 * 32 * 32 * 3, dtype=tf.float32), (2, 32, 32, 3)) / 6000.0
    trace = checks.recorded_equals_plain(build, (x,), {"training": True})
    norms = [m for m in trace.modules if m.class_name == "BatchNormalization"]
    assert len(norms) > 40 and all(m.calls[0].training is True for m in norms)
    for norm in norms:
        moving = [v for v in norm.own_variables if v.name.startswith("moving_")]
        assert [len(v.writes) for v in moving] == [1, 1]
    written = {v.address for v in trace.variables if v.writes}
    assert len(written) == 2 * len(norms) + sum("seed" in address for address in written)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("MobileNet", "VGG16")))
        for name in model_zoo.ARCHITECTURES
    ],
)
def test_every_write_of_a_training_call(name: str) -> None:
    """Told from outside: what is another value after the call was written in it, and the record
    ends with the value that is there now."""
    side = model_zoo.ARCHITECTURES[name]
    model = model_zoo.architecture(name, side)
    before = {v.path: np.array(v.numpy()) for v in model.variables}
    trace = fs.trace(model, tf.random.uniform((2, side, side, 3)), {"training": True})
    by_path = {path: v for v in trace.variables for path in v.addresses if "/" in path}
    assert set(before) <= set(by_path), "every variable has its Keras path as an alias"
    for variable in model.variables:
        record, now = by_path[variable.path], variable.numpy()
        if not np.array_equal(before[variable.path], now):
            assert record.writes, record.address
        if record.reads or record.writes:
            assert len(record.versions) == 1 + len(record.writes)
            assert np.array_equal(record.value_at(-1), now), record.address


@pytest.mark.slow
def test_opened_functions_of_xla_differ_by_rounding_only() -> None:
    model, x = model_zoo.build("ConvNeXtTiny")
    trace = fs.trace(model, x)
    checks.assert_sound(trace)
    calls = [op for op in trace if op.kind == "call"]
    inside = [op for op in trace if checks.inside_function(op.region)]
    assert len(calls) == 18 and not any(op.opaque for op in calls)
    assert {op.type for op in inside} >= {"Conv2D", "ReadVariableOp"}
    assert np.allclose(model(x), trace.output, rtol=1e-4, atol=1e-5)


def test_ten_times_the_same_ops() -> None:
    model, argument = model_zoo.build("transformer")
    first = fs.trace(model, argument)
    labels = [op.label for op in first]
    for _ in range(9):
        again = fs.trace(model, argument)
        assert [op.label for op in again] == labels
        checks.assert_same_bits(first.output, again.output)
