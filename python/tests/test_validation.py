"""Validation: what is proved, what is not, and that the program does not notice."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import model_zoo  # noqa: E402 - needs the two above
from case_runs import CASES, run_of  # noqa: E402

MODELS = ("transformer", "LSTM", "GRU", "branching", "tf.Module")
LONG = ("NASNetMobile", "ConvNeXtTiny", "Xception", "DenseNet121")


def assert_passed(trace: Any) -> Any:
    report = trace.validate()
    assert report.state == "passed", (report.reason, report.failures[:3], report.unverified[:3])
    assert report and not report.failures and not report.unverified
    counted = sum(
        n for proof, n in report.coverage.items() if ":" not in proof or "source" in proof
    )
    counted -= report.coverage["checks"]
    assert counted == len(trace)
    return report


def small() -> Any:
    return keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(2)]
    )


def lstm() -> Any:
    return keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4), keras.layers.Dense(2)])


class TestPassed:
    @pytest.mark.smoke
    def test_the_tutorial(self) -> None:
        trace = fs.trace(small(), tf.ones((2, 4)))
        assert trace.validation_replay_status.state == "passed"
        assert trace.validation_replay_status is trace.validation_replay_status
        assert trace.validate().coverage["replayed"] == 5
        assert trace.validate().coverage["version_history"] == 4

    @pytest.mark.parametrize("name", MODELS)
    def test_models(self, name: str) -> None:
        model, x = model_zoo.build(name)
        assert_passed(fs.trace(model, x))

    def test_training_mode(self) -> None:
        model = keras.Sequential(
            [
                keras.Input((4,)),
                keras.layers.Dense(3),
                keras.layers.BatchNormalization(),
                keras.layers.Dropout(0.5, seed=1),
            ]
        )
        report = assert_passed(fs.trace(model, tf.ones((8, 4)), {"training": True}))
        assert report.coverage["private_variable"] >= 2

    def test_train_step_eager(self) -> None:
        assert_passed(record_step(train_step()))

    def test_train_step_compiled(self) -> None:
        trace = record_step(tf.function(train_step()))
        report = assert_passed(trace)
        assert report.coverage["opened_call"] >= 1

    def test_saved_model(self, tmp_path: Any) -> None:
        model = small()
        model.export(str(tmp_path / "model"), verbose=False)
        x = np.ones((2, 4), "float32")
        assert_passed(fs.trace(tmp_path / "model", x))

    def test_fit_and_predict(self) -> None:
        model = small()
        model.compile("adam", "mse")
        with fs.capture(model) as fitting:
            model.fit(np.ones((8, 4), "f4"), np.ones((8, 2), "f4"), verbose=0)
        report = assert_passed(fitting.trace)
        assert report.coverage["private_variable"] > 4 and report.coverage["dataset"] > 2
        with fs.capture(model) as predicting:
            model.predict(np.ones((8, 4), "f4"), verbose=0)
        assert assert_passed(predicting.trace).coverage["source:iterator"] >= 1

    def test_several_steps_in_one_function(self) -> None:
        """Elements come as optionals, and the loop asks each whether it holds one."""
        model = small()
        model.compile("sgd", "mse", steps_per_execution=2, jit_compile=False)
        with fs.capture(model, keep_steps=None) as recording:
            model.fit(np.ones((8, 4), "f4"), np.ones((8, 2), "f4"), batch_size=2, verbose=0)
        report = assert_passed(recording.trace)
        assert report.coverage["source:iterator"] >= 4
        assert any("OptionalGetValue" in str(finding) for finding in report.declared)

    def test_steps_that_were_let_go_are_unavailable(self) -> None:
        model = small()
        model.compile("sgd", "mse", jit_compile=False)
        with fs.capture(model, keep_steps=1) as recording:
            model.fit(np.ones((4, 4), "f4"), np.ones((4, 2), "f4"), batch_size=2, verbose=0)
        report = recording.trace.validate()
        assert report.state == "unavailable" and report.failures == []
        assert report.reason.endswith("keep_steps=None for all steps of a training run")

    def test_ops_that_fail_in_the_model(self) -> None:
        def model(x: Any) -> Any:
            for attempt in (lambda: tf.matmul(x, x), lambda: tf.unstack(x, num=9)):
                with contextlib.suppress(tf.errors.InvalidArgumentError):
                    attempt()
            return x + 1.0

        trace = fs.trace(model, tf.ones((2, 3)))
        assert sum(op.error is not None for op in trace) == 2
        assert_passed(trace)

    def test_function_kept_whole(self) -> None:
        @tf.function
        def double(x: Any) -> Any:
            return x * 2.0 + tf.reduce_sum(x)

        trace = fs.trace(double, tf.ones((3,)), functions="call")
        assert assert_passed(trace).coverage["replayed_whole"] == 1

    def test_loop_of_a_function(self) -> None:
        @tf.function
        def count(x: Any) -> Any:
            for _ in tf.range(3):
                x = x * 2.0
            return x

        assert_passed(fs.trace(count, tf.ones((2,))))


def train_step() -> Any:
    model = small()
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step


def record_step(step: Any) -> Any:
    return fs.trace(step, (tf.ones((2, 4)), tf.zeros((2, 2))))


# Cases whose op is unverified, and what the reason says.
UNPROVED_CASES: dict[str, str] = {}


@pytest.mark.parametrize("case", CASES)
def test_every_case(case: str) -> None:
    report = run_of(case).trace.validate()
    if case in UNPROVED_CASES:
        assert report.state == "unverified" and UNPROVED_CASES[case] in report.reason
    else:
        assert_passed(run_of(case).trace)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG))
        for name in model_zoo.NAMES
        if name not in MODELS
    ],
)
def test_every_architecture(name: str) -> None:
    model, x = model_zoo.build(name)
    assert_passed(fs.trace(model, x))


class TestPerturb:
    @pytest.mark.parametrize("name", MODELS)
    def test_models(self, name: str) -> None:
        model, x = model_zoo.build(name)
        report = fs.trace(model, x).validate(perturb=True)
        assert report.state == "passed", (report.reason, report.unverified[:5])
        assert report.coverage["perturb:moved"] > 5

    def test_saturation_is_seen_from_the_values(self) -> None:
        report = fs.validate(tf.nn.relu, tf.constant([-1.0, -2.0]), perturb=True)
        assert report and report.coverage["perturb:saturated"] == 1

    def test_hidden_by_the_other_input(self) -> None:
        report = fs.validate(
            lambda x: tf.where(tf.constant([False, False]), x, 2 * x), tf.ones(2), perturb=True
        )
        assert report and report.coverage["perturb:hidden"] == 1

    def test_shape_only(self) -> None:
        report = fs.validate(lambda x: tf.shape(x), tf.ones(2), perturb=True)
        assert report and report.coverage["perturb:unread"] == 1

    def test_an_input_that_nothing_moves_is_unverified(self) -> None:
        report = fs.validate(
            lambda x: tf.raw_ops.Slice(input=x, begin=[0], size=[1])[:0], tf.ones(2), perturb=True
        )
        assert report  # the slice moves, and what is empty is told as such
        assert report.coverage["perturb:empty"] >= 1


class TestOptions:
    def test_validate_while_tracing(self) -> None:
        trace = fs.trace(small(), tf.ones((2, 4)), validate=True)
        assert trace.validation_replay_status
        with pytest.warns(RuntimeWarning, match="validation unverified"):
            fs.trace(lambda x: tf.py_function(abs, [x], tf.float32), tf.ones(2), validate=True)

    def test_progress_and_interruption(self) -> None:
        seen: list[tuple[int, int]] = []
        trace = fs.trace(small(), tf.ones((2, 4)))
        trace.validate(progress=lambda done, total: seen.append((done, total)))
        assert seen[0] == (0, len(trace)) and seen[-1] == (len(trace), len(trace))

        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            trace.validate(progress=stop)

    def test_progress_bar(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert fs.trace(small(), tf.ones((2, 4))).validate(progress=True)
        assert "validate" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "options",
        [
            {"tolerance": "loose"},
            {"tolerance": {"float32": 1}},
            {"tolerance": -1e-3},
            {"tolerance": float("nan")},
            {"tolerance": {"flot32": (1e-3, 1e-3)}},
            {"tolerance": {"float32": (1e-3, -1.0)}},
            {"progress": 3},
        ],
    )
    def test_bad_options_are_named(self, options: dict[str, Any]) -> None:
        with pytest.raises(fs.FlowScopeError, match=next(iter(options))):
            fs.trace(tf.abs, tf.ones(2)).validate(**options)


class TestNotPassed:
    def test_stateful_random_draws_are_declared(self) -> None:
        trace = fs.trace(lambda x: x + tf.random.uniform((3,)), tf.ones(3))
        assert assert_passed(trace).coverage["source:random"] == 1

    def test_python_code_is_unverified(self) -> None:
        calls = []

        def body(x: Any) -> Any:
            calls.append(1)
            return x

        trace = fs.trace(lambda x: tf.py_function(body, [x], tf.float32) * 2.0, tf.ones(3))
        ran = len(calls)
        report = trace.validate()
        assert report.state == "unverified" and "runs Python code" in report.reason
        assert len(calls) == ran, "validation must not run the user's Python"

    def test_values_that_were_not_kept(self) -> None:
        report = fs.trace(small(), tf.ones((2, 4)), save="none").validate()
        assert report.state == "unavailable" and 'save="all"' in report.reason

    def test_statistics_only(self) -> None:
        report = fs.trace(small(), tf.ones((2, 4)), keep="stats").validate()
        assert report.state == "unavailable"

    def test_by_nature_different(self) -> None:
        rng = np.random.default_rng(0)
        values = tf.constant(rng.integers(0, 4, 400_000), tf.int32)
        weights = tf.constant(rng.normal(size=400_000), tf.float32)
        trace = fs.trace(
            lambda v, w: tf.raw_ops.DenseBincount(
                input=v, size=tf.constant(4), weights=w, binary_output=False
            ),
            (values, weights),
        )
        with busy_processors():
            reports = [trace.validate() for _ in range(4)]
        for report in reports:
            assert report.state != "failed", report.reason
            if report.state == "unverified":
                assert [finding.check for finding in report.unverified] == ["deterministic"]

    def test_detour_through_numpy_is_a_source(self) -> None:
        trace = fs.trace(lambda x: tf.constant((x + 1.0).numpy()) * 2.0, tf.ones(3))
        assert assert_passed(trace).coverage["source:from_python"] == 1


@contextlib.contextmanager
def busy_processors() -> Iterator[None]:
    """Other work on every processor: the threads of a kernel then take turns as they can."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range((os.cpu_count() or 1) + 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


class TestNothingChanges:
    def test_a_training_loop_with_a_validation_in_the_middle(self) -> None:
        plain, validated = training_loop(False), training_loop(True)
        for left, right in zip(plain, validated, strict=True):
            checks.assert_same_bits(left, right)

    def test_nothing_is_recorded(self) -> None:
        trace = fs.trace(small(), tf.ones((2, 4)))
        with fs.capture() as recording:
            assert trace.validate()
        assert len(recording.trace) == 0


def training_loop(validate: bool) -> list[Any]:
    """What a loop over a dataset leaves: weights, seeds, the next elements and draws."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, "relu"),
            keras.layers.Dropout(0.3),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    generator = tf.random.get_global_generator()
    generator.reset_from_seed(11)
    data = iter(tf.data.Dataset.range(100).shuffle(10, seed=1).batch(4))

    def step() -> Any:
        batch = tf.cast(next(data), tf.float32)[:, tf.newaxis]
        noise = tf.random.normal((4, 4)) + generator.normal((4, 4)) + keras.random.normal((4, 4))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch + noise, training=True) - batch) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    losses = [step() for _ in range(2)]
    trace = fs.trace(step)
    if validate:
        report = trace.validate()
        assert not report.failures, report.failures
    losses += [step() for _ in range(3)]
    return [
        losses,
        [v.numpy() for v in model.variables],
        [v.numpy() for v in optimizer.variables],
        generator.state.numpy(),
        next(data),
        checks.random_draws(),
    ]
