"""A witness that is not the hook: TensorFlow's op callbacks count the ops of the same models."""

from __future__ import annotations

from collections import Counter

import checks
import flowscope as fs
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import model_zoo  # noqa: E402 - needs the two above

# What TensorFlow's C fast path runs by itself, without telling op callbacks.
FAST_PATH = {"ReadVariableOp", "Cast"}


@pytest.mark.parametrize("name", model_zoo.NAMES)
def test_no_op_type_and_no_count_is_missing(name: str) -> None:
    facts = model_zoo.facts_of(name)
    assert facts.witnessed - facts.recorded == Counter(), "seen by the witness, not in the trace"
    extra = facts.recorded - facts.witnessed
    assert set(extra) <= FAST_PATH, extra


@pytest.mark.parametrize("name", ["transformer", "LSTM", "GRU", "branching", "tf.Module"])
def test_on_the_very_run_that_is_recorded(name: str) -> None:
    model, argument = model_zoo.build(name)
    with checks.witness() as seen:
        trace = fs.trace(model, argument)
    recorded = checks.types_of(trace)
    assert sum(seen.values()) > 10
    assert seen - recorded == Counter() and set(recorded - seen) <= FAST_PATH
    checks.assert_sound(trace)


def test_first_call_with_initializers() -> None:
    layer, x = keras.layers.LSTM(3), tf.ones((1, 2, 4))
    with checks.witness() as seen:
        trace = fs.trace(layer, x)
    assert seen["VarHandleOp"] == 3 and seen - checks.types_of(trace) == Counter()


def test_reads_of_the_fast_path() -> None:
    variable, x = tf.Variable([1.0, 2.0]), tf.ones(2)
    with checks.witness() as seen:
        trace = fs.trace(lambda x: tf.raw_ops.Mul(x=x, y=variable), x)
    assert trace.op_counts()["ReadVariableOp"] == 1 == trace.op_counts()["Mul"]
    assert set(checks.types_of(trace) - seen) <= FAST_PATH and seen["Mul"] == 1


def test_training_step() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    x, y = tf.ones((2, 4)), tf.ones((2, 1))

    def step() -> object:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    with checks.witness() as seen:
        trace = fs.trace(step)
    checks.assert_sound(trace)
    assert seen - checks.types_of(trace) == Counter()
    assert set(checks.types_of(trace) - seen) <= FAST_PATH
    assert seen["AssignAddVariableOp"] + seen["AssignSubVariableOp"] > 4


def test_the_witness_sees_what_it_should() -> None:
    with checks.witness() as seen:
        tf.nn.relu(tf.ones(3) * 2.0)
    assert seen["Relu"] == seen["Mul"] == seen["Fill"] == 1
    before = Counter(seen)
    tf.nn.relu(tf.ones(3))
    assert seen == before
