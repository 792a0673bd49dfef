"""Validation of traces that come from a file: the verdict and the counts of the live one.

Each is recorded once and validated live, from a folder and from a zip; a process that never had
the models validates all files of this module together.
"""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest
from test_validation import LONG, assert_passed, lstm, record_step, small, train_step

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import model_zoo  # noqa: E402 - needs the two above
from case_runs import CASES, run_of  # noqa: E402


def of_model(name: str) -> Any:
    model, x = model_zoo.build(name)
    return fs.trace(model, x)


def saved_model() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model_zoo.architecture("MobileNetV2", 32).export(folder, verbose=False)
        return fs.trace(folder, np.ones((1, 32, 32, 3), "f4"))


@tf.function
def double(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: inner(x), lambda: x)


@tf.function
def inner(x: Any) -> Any:
    return x * 2.0


def repeated() -> Any:
    return tf.raw_ops.StatelessWhile(
        input=[tf.constant(0), tf.constant(1.5)],
        cond=tf.function(lambda i, x: i < 3).get_concrete_function(*WHILE_ARGS),
        body=tf.function(lambda i, x: (i + 1, x * x)).get_concrete_function(*WHILE_ARGS),
    )


WHILE_ARGS = (tf.TensorSpec((), tf.int32), tf.TensorSpec((), tf.float32))

# What is recorded, by name.
GALLERY: dict[str, Callable[[], Any]] = {
    "tutorial": lambda: fs.trace(small(), tf.ones((2, 4))),
    "a recurrent layer": lambda: fs.trace(lstm(), tf.ones((2, 5, 3))),
    "an eager train step": lambda: record_step(train_step()),
    "a compiled train step": lambda: record_step(tf.function(train_step())),
    "a SavedModel": saved_model,
    "a function as one op": lambda: fs.trace(double, tf.ones(3), functions="call"),
    "a loop inside of a kernel": lambda: fs.trace(repeated),
    **{name: functools.partial(of_model, name) for name in model_zoo.NAMES},
}
# Too large to be written twice in a quick run; validated live and from files in a long one.
SLOW = {*LONG, "VGG16", "ResNet50", "ResNet50V2", "EfficientNetB0", "EfficientNetV2B0"}


def params(names: Any, slow: Any = ()) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in slow)) for name in names]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Path -> (state, coverage) of what was validated live."""
    expected: dict[str, Any] = {}
    yield expected
    for path in expected:
        shutil.rmtree(path, ignore_errors=True)


def facts(report: Any) -> Any:
    return report.state, dict(report.coverage), sorted(str(f) for f in report.unverified)


def assert_files_agree(trace: Any, folder: Path, files: dict[str, Any]) -> None:
    live = facts(trace.validate())
    for suffix in (".flow", ".flow.zip"):
        path = str(folder / f"run{suffix}")
        trace.save(path)
        assert facts(fs.load(path).validate()) == live, path
    (folder / "run.flow.zip").unlink()
    files[str(folder / "run.flow")] = live


@pytest.mark.parametrize("name", params(GALLERY, SLOW))
def test_a_loaded_trace_is_proved_as_the_live_one(
    name: str, tmp_path: Path, files: dict[str, Any]
) -> None:
    trace = GALLERY[name]()
    assert_passed(trace)
    assert_files_agree(trace, tmp_path, files)


@pytest.mark.parametrize("case", CASES)
def test_shared_cases(case: str, tmp_path: Path, files: dict[str, Any]) -> None:
    assert_files_agree(run_of(case).trace, tmp_path, files)


NEW_PROCESS = """
import json, sys
import flowscope as fs
for path in json.load(open(sys.argv[1])):
    report = fs.load(path).validate()
    found = sorted(str(f) for f in report.unverified)
    print(json.dumps([path, report.state, dict(report.coverage), found]))
"""


def test_in_a_process_that_never_had_the_models(tmp_path: Path, files: dict[str, Any]) -> None:
    """Last: it takes what the tests before it have left."""
    if not files:
        GALLERY["tutorial"]().save(str(tmp_path / "one.flow"))
        files[str(tmp_path / "one.flow")] = facts(fs.load(tmp_path / "one.flow").validate())
    (tmp_path / "paths.json").write_text(json.dumps(list(files)), encoding="utf-8")
    program = f"import sys\nsys.argv = ['', {str(tmp_path / 'paths.json')!r}]\n{NEW_PROCESS}"
    done = checks.run_program(program, timeout=580)
    assert done.returncode == 0, done.stderr[-2000:]
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(seen) == len(files)
    for path, state, coverage, found in seen:
        assert (state, coverage, found) == files[path], path


COMPAT = sorted((Path(__file__).parents[2] / "tests" / "compat").glob("*.flow.zip"))


@pytest.mark.smoke
@pytest.mark.parametrize("path", COMPAT, ids=lambda path: path.name)
def test_files_of_other_versions_and_machines(path: Path) -> None:
    """Within the tolerance of docs/validation.md: kernels differ by version and processor."""
    trace = fs.load(path)
    other = trace.tensorflow_version != tf.__version__
    report = trace.validate(tolerance=None if other else 1e-4)
    assert report.state == "passed", (report.reason, report.unverified[:3])
    assert (report.first_difference is None) == ("within_tolerance" not in report.coverage)
    assert report.coverage["replayed"] + report.coverage.get("within_tolerance", 0) > 3


class TestBodies:
    def test_perturbed(self, tmp_path: Path) -> None:
        fs.trace(small(), tf.ones((2, 4))).save(tmp_path / "x.flow")
        assert fs.load(tmp_path / "x.flow").validate(perturb=True)

    def test_a_function_that_is_gone(self) -> None:
        """What the program drops, the record keeps."""

        def model(x: Any) -> Any:
            return tf.function(lambda y: y * 3.0)(x)

        trace = fs.trace(model, tf.ones(3), functions="call")
        assert assert_passed(trace).coverage["replayed_whole"] == 1

    def test_another_function_of_that_name(self, tmp_path: Path) -> None:
        """Names are counted anew in every process: the record's own body counts."""
        program = """
            import flowscope as fs, tensorflow as tf
            f = tf.function(lambda x: x {})
            trace = fs.trace(f, tf.ones(3), functions="call")
            print(trace[-1].type)
            {}
        """
        path = str(tmp_path / "x.flow")
        first = checks.run_program(program.format("* 2.0", f"trace.save({path!r})"))
        second = checks.run_program(
            program.format("- 7.0", f"print(fs.load({path!r}).validate().state)")
        )
        assert second.stdout.split() == [first.stdout.strip(), "passed"], second.stderr[-500:]

    def test_a_function_that_acts_stays_unverified(self, tmp_path: Path) -> None:
        trace = fs.trace(
            tf.function(lambda x: x + tf.random.normal((3,))), tf.ones(3), functions="call"
        )
        trace.save(tmp_path / "x.flow")
        for report in (trace.validate(), fs.load(tmp_path / "x.flow").validate()):
            assert report.state == "unverified" and "random generator" in report.reason


class TestStreamed:
    def test_as_the_live_one(self, tmp_path: Path) -> None:
        storage = fs.to_disk(tmp_path / "x.flow")
        trace = fs.trace(double, tf.ones(3), functions="call", storage=storage)
        assert facts(trace.validate()) == facts(fs.load(tmp_path / "x.flow").validate())
        assert fs.load(tmp_path / "x.flow").validate()
