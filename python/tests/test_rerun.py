"""trace.run with recorded draws, and check_determinism."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


def dropout_model() -> Any:
    keras.utils.set_random_seed(5)
    return keras.Sequential(
        [keras.Input((6,)), keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.Dense(2)]
    )


def augment() -> Any:
    return keras.Sequential(
        [keras.Input((8, 8, 3)), keras.layers.RandomFlip(), keras.layers.RandomRotation(0.2)]
    )


@tf.function
def sample(x: Any) -> Any:
    return x + tf.random.normal((3,)) * tf.random.uniform((), 1, 2)


def stateless(x: Any) -> Any:
    return tf.nn.dropout(x, 0.5) + tf.random.normal(x.shape)


class TestRecordedDraws:
    @pytest.mark.parametrize(
        ("build", "x", "kwargs"),
        [
            (dropout_model, np.ones((4, 6), "float32"), {"training": True}),
            (augment, np.random.default_rng(0).random((2, 8, 8, 3), "float32"), {"training": True}),
            (lambda: stateless, tf.ones((3, 4)), {}),
        ],
        ids=["dropout", "augmentation", "stateful ops"],
    )
    def test_same_bits(self, build: Any, x: Any, kwargs: Any) -> None:
        model = build()
        trace = fs.trace(model, x, kwargs)
        assert any(op.kind == "random" for op in trace)
        again = trace.run(model, x, kwargs)
        checks.assert_same_bits(trace.output, again.output)
        fresh = trace.run(model, x, kwargs, rng="fresh")
        assert not checks.same_bits(trace.output, fresh.output)

    def test_inside_a_compiled_function(self) -> None:
        trace = fs.trace(sample, tf.zeros(3), random="interpret")
        assert any(op.kind == "random" and checks.inside_function(op.region) for op in trace)
        assert any("draw other numbers than a run without" in note for note in trace.notes)
        assert fs.trace(sample, tf.zeros(3)).notes == []
        checks.assert_same_bits(trace.output, trace.run(sample, tf.zeros(3)).output)

    def test_draws_that_were_not_recorded_are_named(self) -> None:
        trace = fs.trace(sample, tf.zeros(3))
        with pytest.raises(fs.FlowScopeError, match="random='interpret'"):
            trace.run(sample, tf.zeros(3))

    def test_gradients_go_through(self) -> None:
        model, x = dropout_model(), tf.ones((4, 6))

        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(x, training=True) ** 2)
            return tape.gradient(loss, model.trainable_variables)

        trace = fs.trace(step)
        checks.assert_same_bits(trace.output, trace.run(step).output)

    def test_other_shapes_are_refused(self) -> None:
        model = dropout_model()
        trace = fs.trace(model, tf.ones((4, 6)), {"training": True})
        with pytest.raises(tf.errors.InvalidArgumentError, match="draws shape"):
            trace.run(model, tf.ones((5, 6)), {"training": True})

    def test_the_next_draws_are_those_after_a_plain_run(self) -> None:
        def after(run_recorded: bool) -> Any:
            tf.random.set_seed(1)
            random.seed(1)
            np.random.seed(1)
            trace = fs.trace(stateless, tf.ones((2, 2)))
            if run_recorded:
                trace.run(stateless, tf.ones((2, 2)))
            else:
                stateless(tf.ones((2, 2)))
            return checks.random_draws()

        checks.assert_same_bits(after(True)[2:3], after(False)[2:3])
        checks.assert_same_bits(after(True)[:2], after(False)[:2])

    @pytest.mark.parametrize("eager", [True, False])
    def test_a_generator_in_a_variable(self, eager: bool, tmp_path: Path) -> None:
        made: list[Any] = []

        def model(x: Any) -> Any:
            if not made:  # as libraries do: the first call makes it
                made.append(tf.random.Generator.from_non_deterministic_state())
            return x + made[0].normal((3,)) + made[0].uniform((3,))

        call = model if eager else tf.function(model)
        trace = fs.trace(call, tf.zeros(3))
        assert next(op for op in trace if op.type == "NonDeterministicInts").kind == "random"
        trace.save(tmp_path / "run.flow")
        for recorded in (trace, fs.load(tmp_path / "run.flow")):
            again = recorded.run(call, tf.zeros(3))
            checks.assert_same_bits(trace.output, again.output)
            assert any("1 of" in note and "nondeterministic" in note for note in again.notes)
        assert not checks.same_bits(trace.output, trace.run(call, tf.zeros(3), rng="fresh").output)

    def test_a_changed_model_differs_by_the_change_alone(self) -> None:
        first, second = keras.layers.Dropout(0.5, seed=1), keras.layers.Dropout(0.3, seed=2)

        def model(x: Any) -> Any:
            return second(first(x, training=True), training=True)

        def changed(x: Any) -> Any:
            return second(first(tf.exp(x) * 2.0, training=True), training=True)

        x = tf.ones((4, 6))
        trace = fs.trace(model, x)
        again = trace.run(changed, x)
        assert again.notes == []
        np.testing.assert_array_equal(again.output.numpy() != 0, trace.output.numpy() != 0)
        (note,) = trace.run(lambda x: first(x, training=True), x).notes
        assert note.startswith("2 of 4 recorded draws were not put in place")

    def test_an_unknown_rng_is_refused(self) -> None:
        trace = fs.trace(tf.abs, tf.ones(2))
        with pytest.raises(fs.FlowScopeError, match="'recorded'"):
            trace.run(tf.abs, tf.ones(2), rng="same")


class Sampler(tf.Module):
    """Draws in a function, from a kernel's generator and from a seed."""

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        drawn = tf.random.normal(tf.shape(x)) + tf.random.uniform(tf.shape(x))
        for _ in tf.range(2):
            drawn += tf.random.stateless_normal(tf.shape(x), (1, 2)) + tf.random.normal((3,))
        return {"y": x + drawn}


def saved_sampler(folder: Path) -> str:
    module = Sampler()
    tf.saved_model.save(module, str(folder / "m"), signatures=module.__call__)
    return str(folder / "m")


def inside_a_branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) >= 0.0, lambda: x + tf.random.normal((3,)), lambda: x)


class TestEverywhere:
    """Recorded draws come back live and from a file, wherever the op stands."""

    @pytest.mark.parametrize("kind", ["path", "restored", "function", "branch", "eager"])
    def test_same_bits(self, kind: str, tmp_path: Path) -> None:
        model, x = self.model(kind, tmp_path), np.zeros(3, "f4")
        trace = fs.trace(model, x, random="interpret")
        draws = [op for op in trace if op.kind == "random"]
        assert len(draws) >= (1 if kind in ("branch", "eager") else 5)
        trace.save(tmp_path / "run.flow")
        for recorded in (trace, fs.load(tmp_path / "run.flow")):
            again = recorded.run(model, x)
            checks.assert_same_bits(trace.output, again.output)
            drawn = [op for op in again if op.kind == "random"]
            checks.assert_same_bits([op.out for op in draws], [op.out for op in drawn])
            assert again.validate()
            fresh = recorded.run(model, x, rng="fresh", random="interpret")
            assert not checks.same_bits(leaf(trace.output), leaf(fresh.output))

    def model(self, kind: str, folder: Path) -> Any:
        if kind in ("path", "restored"):
            path = saved_sampler(folder)
            return path if kind == "path" else tf.saved_model.load(path)
        return {
            "function": sample_much,
            "branch": tf.function(inside_a_branch),
            "eager": stateless,
        }[kind]

    def test_compiled_draws_of_a_saved_model_are_named(self, tmp_path: Path) -> None:
        path = saved_sampler(tmp_path)
        trace = fs.trace(path, np.zeros(3, "f4"))
        trace.save(tmp_path / "run.flow")
        for recorded in (trace, fs.load(tmp_path / "run.flow")):
            with pytest.raises(fs.FlowScopeError, match="random='interpret'"):
                recorded.run(path, np.zeros(3, "f4"))


@tf.function
def sample_much(x: Any) -> Any:
    for _ in tf.range(5):
        x = x + tf.random.normal((3,))
    return x


def noise(x: Any) -> Any:
    return x + tf.random.normal((2, 3))


def leaf(output: Any) -> Any:
    return checks.leaves(output)[0]


class TestDeterminism:
    def test_a_deterministic_model(self) -> None:
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        found = fs.check_determinism(model, tf.ones((2, 4)))
        assert found and found.first is None and "same bits twice" in found.message

    def test_the_first_op_that_differs(self) -> None:
        found = fs.check_determinism(lambda x: tf.abs(x + tf.random.normal((3,))), tf.ones(3))
        assert not found and found.first.kind == "random" and "draws" in found.message

    def test_seeded(self) -> None:
        def model(x: Any) -> Any:
            return x + tf.random.normal((3,)) + np.random.rand() + random.random()

        assert fs.check_determinism(model, tf.ones(3), random_seed=4)

    def test_a_first_call_that_builds_and_traces(self) -> None:
        model = keras.Sequential([keras.layers.Dense(3)])
        found = fs.check_determinism(model, tf.ones((2, 4)))
        assert found and found.first is None and "after a first run" in found.message

        @tf.function
        def function(x: Any) -> Any:
            with tf.init_scope():
                made = tf.range(3) * 2
            return x + tf.cast(made, tf.float32)

        assert fs.check_determinism(function, tf.ones(3))
        drawing = keras.Sequential([keras.layers.Dense(3), keras.layers.Lambda(noise)])
        found = fs.check_determinism(drawing, tf.ones((2, 4)))
        assert not found and found.first.kind == "random"

    def test_variables_are_put_back(self) -> None:
        model = dropout_model()
        model(tf.ones((4, 6)), training=True)
        before = checks.state_of(model)
        found = fs.check_determinism(model, tf.ones((4, 6)), {"training": True})
        assert found, found.message
        checks.assert_same_bits(before, checks.state_of(model))

    def test_python_that_takes_turns(self) -> None:
        turns: list[int] = []

        def model(x: Any) -> Any:
            turns.append(1)
            return tf.abs(x) if len(turns) % 2 else tf.exp(x)

        found = fs.check_determinism(model, tf.ones(3))
        assert not found and "abs_1" in found.message and "exp_1" in found.message
