"""Recordings on several threads at once, and threads that nobody records."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
pytest.importorskip("keras")

import threaded  # noqa: E402

Reference, run_threads = threaded.Reference, threaded.run_threads
deep, dense = threaded.deep, threaded.dense

ROUNDS = 25


def test_eight_threads_and_a_ninth_that_nobody_records() -> None:
    counts = threaded.eight_and_a_ninth(ROUNDS)
    assert counts["recordings"] == 8 * ROUNDS and counts["unrecorded_calls"] > 0


def test_the_same_model_on_all_threads() -> None:
    reference = Reference(1, deep)
    run_threads([lambda: [reference.check() for _ in range(5)]] * 8)


def test_patches_stay_while_one_thread_still_records() -> None:
    model, x = dense(), tf.ones((3, 4))
    inside, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def waits(value: Any) -> Any:
        inside.set()
        leave.wait(60)
        return model(value)

    def long() -> None:
        seen.append(fs.trace(waits, x))

    thread = threading.Thread(target=long)
    thread.start()
    assert inside.wait(60)
    fs.trace(model, x)
    assert checks.left_behind() != []
    leave.set()
    thread.join(60)
    assert [call.module.class_name for call in seen[0].module_calls] == ["Sequential", "Dense"]
    assert checks.left_behind() == []


def test_another_thread_adds_nothing() -> None:
    def model(x: Any) -> Any:
        y = x + 1.0
        others = [threading.Thread(target=lambda: tf.exp(tf.ones(3))) for _ in range(3)]
        for thread in others:
            thread.start()
            thread.join()
        return y * 2.0

    trace = fs.trace(model, tf.ones(2))
    assert trace.op_counts() == {"AddV2": 1, "Mul": 1}
    (note,) = trace.notes
    assert "ops ran meanwhile on threads that are not recorded" in note


@pytest.mark.asan
def test_handles_deleted_by_other_threads_and_the_collector() -> None:
    """Unheld handles: their addresses come back while another thread drops the references."""
    grave: list[Any] = []
    done = threading.Event()

    def digger() -> None:
        while not done.is_set():
            grave.clear()
            gc.collect(0)
            time.sleep(0)

    def model(x: Any) -> Any:
        for i in range(150):
            y = x + 1.0
            ring: list[Any] = [tf.exp(y) if i % 2 else y]
            ring.append(ring)
            grave.append(ring)
            x = y * 0.5
        return x

    x = tf.ones(4)
    expected, edges = model(x), None
    grave.clear()
    threads = [threading.Thread(target=digger) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for save in ("all", "none", "none", "none"):
            trace = fs.trace(model, x, save=save)
            checks.assert_sound(trace)
            checks.assert_same_bits(expected, trace.output)
            assert edges in (None, trace.edges)
            edges = trace.edges
    finally:
        done.set()
        for thread in threads:
            thread.join(60)


def test_a_trace_is_read_from_many_threads() -> None:
    model, x = deep(), tf.ones((3, 4))
    trace = fs.trace(model, x)
    expected = [op.out.copy() for op in trace]
    text = trace.summary()

    def read() -> None:
        for _ in range(5):
            assert all(np.array_equal(op.out, e) for op, e in zip(trace, expected, strict=True))
            assert trace.summary() == text and trace.first_nonfinite() is None

    run_threads([read] * 6)


@pytest.mark.asan
def test_a_trace_outlives_its_thread() -> None:
    made: list[Any] = []
    run_threads([lambda: made.append(fs.trace(dense(), tf.ones((3, 4))))])
    gc.collect()
    assert made[0].lint() == [] and made[0]["relu_1"].out.shape == (3, 4)


def test_a_thread_that_raises_leaves_the_others_recording() -> None:
    reference = Reference(2, dense)

    def fails() -> None:
        def model(x: Any) -> Any:
            raise KeyError(x)

        for _ in range(10):
            with pytest.raises(KeyError):
                fs.trace(model, tf.ones(2))

    run_threads([fails, *[lambda: [reference.check() for _ in range(10)]] * 3])


def test_predicates_run_on_the_thread_that_records() -> None:
    threads: set[int] = set()

    def predicate(op: Any) -> bool:
        threads.add(threading.get_ident())
        return True

    fs.trace(deep(), tf.ones((3, 4)), save=predicate)
    assert threads == {threading.get_ident()}


def test_a_recording_that_nobody_ends() -> None:
    recording = fs.capture()
    recording.__enter__()
    tf.abs(tf.ones(3))
    del recording
    gc.collect()
    assert checks.left_behind() == []
    assert fs.trace(tf.exp, tf.ones(3)).op_counts() == {"Exp": 1}
