"""Recordings that are written while they run: whole at the end, readable when cut off."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

import checks
import flowscope as fs
import model_zoo
import numpy as np
import pytest
from alike import assert_alike

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


@pytest.mark.smoke
@pytest.mark.parametrize("retain", [False, True])
def test_streamed_is_whole(tmp_path: Path, retain: bool) -> None:
    model = model_zoo.architecture("MobileNetV2", 32)
    x = tf.random.normal((1, 32, 32, 3))
    plain = fs.trace(model, x)
    trace = fs.trace(model, x, storage=fs.to_disk(tmp_path / "s.flow", retain_in_memory=retain))
    checks.assert_sound(trace)
    assert trace.num_ops == plain.num_ops and trace.num_kept == plain.num_kept
    assert [op.label for op in trace] == [op.label for op in plain]
    assert trace.edges == plain.edges
    for one, other in zip(trace, plain, strict=True):
        checks.assert_same_bits(one.outs, other.outs, one.label)
    loaded = fs.load(tmp_path / "s.flow")
    assert not loaded.interrupted and loaded.degraded is None
    # A live trace asks the layers for their configuration, a file cannot.
    assert [m.config for m in loaded.modules] == [m.config for m in trace.modules]
    assert loaded.modules["self"].config
    assert sorted(os.listdir(tmp_path / "s.flow")) == ["tensors-00000.safetensors", "trace.sqlite"]
    trace.save(tmp_path / "again.flow")
    assert_alike(trace, fs.load(tmp_path / "again.flow"))


def test_functions_loops_and_selection(tmp_path: Path) -> None:
    @tf.function
    def loop(x: Any) -> Any:
        for _ in tf.range(5):
            x = tf.tanh(x) * 2.0
        return x

    x = tf.constant([1.0, 2.0])
    trace = fs.trace(lambda a: loop(a) + 1.0, x, storage=fs.to_disk(tmp_path / "f.flow"))
    checks.assert_sound(trace)
    assert [op.iteration for op in trace.find_sites(fs.func("tanh"))] == [0, 1, 2, 3, 4]
    assert_alike(trace, fs.load(tmp_path / "f.flow"))
    trace = fs.trace(
        lambda a: loop(a) + 1.0, x, save=fs.func("tanh"), storage=fs.to_disk(tmp_path / "t.flow")
    )
    kept = fs.load(tmp_path / "t.flow").find_sites(fs.func("tanh"))
    assert all(np.isfinite(op.out).all() for op in kept) and len(kept) == 5


def test_training_keeps_memory_bounded(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.01)
    x, y = tf.random.normal((32, 64)), tf.random.normal((32, 1))
    with fs.capture(model, storage=fs.to_disk(tmp_path / "fit.flow", max_pending="1MB")) as run:
        for _ in range(5):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    loaded = fs.load(tmp_path / "fit.flow")
    assert loaded.num_ops == run.trace.num_ops
    kernel = loaded.variables["layers.0.kernel"]
    assert len(kernel.versions) == 6
    assert checks.same_bits(kernel.value_at(5), model.layers[0].kernel.numpy())


CHILD = """
    import sys
    import numpy as np
    import tensorflow as tf
    import flowscope as fs

    x = tf.constant(np.arange(4096.0, dtype="f4"))
    with fs.capture(storage=fs.to_disk(sys.argv[1])):
        print("ready", flush=True)
        for i in range(100000):
            x = tf.math.floormod(x * 3.0 + 1.0, 1000.0)
"""


def interrupted(folder: Path, seconds: float) -> Path:
    """A folder whose recording was killed."""
    code = textwrap.dedent(CHILD)
    path = folder / "killed.flow"
    with checks.running([sys.executable, "-c", code, str(path)]):
        time.sleep(seconds)
    return path


def check_interrupted(trace: Any) -> int:
    """Every value that the trace has is the one that was computed."""
    x = np.arange(4096.0, dtype="f4")
    count = 0
    for op in trace.find_sites(fs.func("floormod")):
        x = np.mod(x * np.float32(3) + np.float32(1), np.float32(1000))
        try:
            value = op.out
        except fs.errors.UnavailableError:  # the row was there before the bytes were
            continue
        np.testing.assert_array_equal(value, x)
        count += 1
    return count


def test_killed_and_repaired(tmp_path: Path) -> None:
    path = interrupted(tmp_path, 1.5)
    before = {p.name: p.stat().st_mtime_ns for p in path.iterdir()}
    trace = fs.load(path)
    assert trace.interrupted and len(trace) > 64 and trace.lint() == []
    assert "never ended" in trace.notes[-1]
    assert trace.ops[-1].code_context[0].line_number > 1  # the lines of what was killed, too
    assert check_interrupted(trace) > 10
    assert {p.name: p.stat().st_mtime_ns for p in path.iterdir()} == before
    shutil.copytree(path, tmp_path / "copy.flow")
    fs.repair(tmp_path / "copy.flow")
    repaired = fs.load(tmp_path / "copy.flow")
    assert repaired.interrupted and len(repaired) == len(trace)
    assert check_interrupted(repaired) == check_interrupted(trace)
    assert {p.suffix for p in (tmp_path / "copy.flow").iterdir()} == {".safetensors", ".sqlite"}


GIVEN_UP = {
    "an error of the model": """
        with fs.capture(storage=fs.to_disk(path)):
            work()
            raise ValueError("of the model")
    """,
    "an interrupt": """
        import _thread, signal, threading
        # A process in the background of a shell may have been started with interrupts ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with fs.capture(storage=fs.to_disk(path)):
            threading.Timer(0.1, _thread.interrupt_main).start()
            while True:
                work()
    """,
    "an exit": """
        with fs.capture(storage=fs.to_disk(path)):
            work()
            sys.exit(3)
    """,
    "collected while values wait": """
        block = fs.capture(storage=fs.to_disk(path)).__enter__()
        work()
        del block
        work()
    """,
    "left to the interpreter": """
        block = fs.capture(storage=fs.to_disk(path))
        block.__enter__()
        work()
    """,
    "a generator": """
        import gc
        def steps():
            with fs.capture(storage=fs.to_disk(path)):
                while True:
                    work()
                    yield
        going = steps()
        next(going)
        del going
        gc.collect()
        work()
    """,
    "an exit at once": """
        block = fs.capture(storage=fs.to_disk(path)).__enter__()
        work()
        os._exit(0)
    """,
    "another thread": """
        import threading
        def record():
            block = fs.capture(storage=fs.to_disk(path)).__enter__()
            work()
        thread = threading.Thread(target=record)
        thread.start()
        thread.join()
    """,
}


@pytest.mark.parametrize("how", GIVEN_UP)
def test_a_recording_that_is_given_up(how: str, tmp_path: Path) -> None:
    """What waits to be written outlives it; nothing crashes or hangs, and what is there is read."""
    code = """
        import os, sys
        import numpy as np
        import tensorflow as tf
        import flowscope as fs

        path = sys.argv[1]

        def work():
            x = tf.constant(np.arange(4096.0, dtype="f4"))
            for i in range(500):
                x = tf.math.floormod(x * 3.0 + 1.0, 1000.0, name=f"number_{i}")
    """
    code = textwrap.dedent(code) + textwrap.dedent(GIVEN_UP[how])
    path = tmp_path / "given_up.flow"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, 1, 3, -signal.SIGINT), done.stderr
    trace = fs.load(path)
    assert trace.lint() == []
    if how not in ("an interrupt", "an exit at once"):
        assert len(trace) >= 1400  # a last batch may be missing
    for op in trace.find_sites(fs.func("floormod")):
        assert np.isfinite(op.out).all()


def test_the_disk_fails(tmp_path: Path) -> None:
    x = tf.constant(np.arange(1000.0, dtype="f4"))
    with pytest.raises(fs.errors.TraceIOError, match="missing"):
        fs.trace(tf.tanh, x, storage=fs.to_disk(tmp_path / "missing" / "a.flow"))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fs.capture(storage=fs.to_disk(tmp_path / "gone.flow", max_pending=100_000)) as run:
            for i in range(300):
                x = tf.tanh(x) * 1.01
                if i == 100:
                    shutil.rmtree(tmp_path / "gone.flow")
    assert x.shape == (1000,) and run.trace.num_ops == 600
    messages = [str(w.message) for w in seen if "streaming to" in str(w.message)]
    assert len(messages) == 1 and "gone.flow" in messages[0] and run.trace.lint() == []
    assert run.trace.degraded == messages[0].removeprefix("flowscope: ")


def test_bad_arguments(tmp_path: Path) -> None:
    for wrong in ("many", "-1MB", 0, True, "5 apples"):
        with pytest.raises(fs.errors.InvalidArgumentError, match="max_pending"):
            fs.to_disk(tmp_path / "a.flow", max_pending=wrong)
    x = tf.ones(2)
    with pytest.raises(fs.errors.InvalidArgumentError, match=r"fs\.to_disk"):
        fs.trace(tf.tanh, x, storage="a.flow")
    for name in ("a", "a.flow.zip"):
        with pytest.raises(fs.errors.InvalidArgumentError, match=r"\.flow"):
            fs.trace(tf.tanh, x, storage=fs.to_disk(tmp_path / name))
    fs.trace(tf.tanh, x, storage=fs.to_disk(tmp_path / "a.flow"))
    with pytest.raises(fs.errors.InvalidArgumentError, match="exists"):
        fs.trace(tf.tanh, x, storage=fs.to_disk(tmp_path / "a.flow"))
    fs.trace(tf.tanh, x, storage=fs.to_disk(tmp_path / "a.flow", overwrite=True))
