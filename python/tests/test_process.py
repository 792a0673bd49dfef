"""Exit, fork and a new context with live traces; nothing is left to be told about at exit."""

from __future__ import annotations

import functools

import pytest
from checks import assert_quiet_exit, run_program

START = """
    import gc, os, sys
    import keras, tensorflow as tf
    import flowscope as fs
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu")])
    x = tf.ones((2, 3))
"""


@functools.cache
def run(program: str) -> str:
    """What the program prints; it must end well and quietly. Each program runs once."""
    done = run_program(START + program)
    assert_quiet_exit(done)
    return done.stdout


@pytest.mark.smoke
def test_exit_with_live_traces_and_errors() -> None:
    out = run("""
    trace = fs.trace(model, x)
    model.trace = trace                     # in a cycle through the model
    sys.modules["kept"] = trace             # alive until the very end
    table, op, value = trace.ops, trace[2], trace["relu_1"].out
    view = memoryview(value)
    with fs.capture(model) as recording:
        model(x)
    with fs.capture() as second:
        model(x)
    live = fs.trace(keras.Sequential([keras.layers.LSTM(2)]), tf.ones((1, 2, 2)))
    selector = fs.sites.where(lambda op: op in trace)

    def fails(x):
        raise KeyError(tf.nn.relu(x))

    for attempt in range(3):
        try:
            fs.trace(fails, x)
        except KeyError as error:
            kept = error
    try:
        fs.trace(tf.math.log, tf.zeros(2), raise_on_nan=True)
    except fs.errors.NonFiniteError as error:
        report = error
    try:
        fs.trace(model, x, save="nothing of this name")
    except fs.FlowScopeError as error:
        missed = error
    halted = fs.trace(model, x, halt=fs.sites.func("MatMul"))
    print(value.shape, len(recording.trace), live.lint(), second.trace.lint())
    print(len(kept.flowscope_trace), report.report.op.type, halted.halted)
    """)
    assert out.splitlines() == ["(2, 4) 6 [] []", "2 Log True"]


def test_recordings_that_never_began_leave_nothing() -> None:
    run("""
    def nests(x):
        try:
            fs.trace(tf.abs, x)
        except fs.errors.RecordingStateError:
            return x * 2.0

    fs.trace(nests, x)
    unused = fs.capture(model)
    del unused
    gc.collect()
    """)


def test_a_recording_that_another_thread_lets_go_blocks_nobody() -> None:
    """Python may close a generator, and so the block in it, on any thread."""
    done = run_program(
        START
        + """
    import threading
    from flowscope import _core

    def records():
        with fs.capture():
            yield tf.nn.relu(x)
            yield tf.abs(x)

    box = [records()]
    next(box[0])
    thread = threading.Thread(target=lambda: (box.clear(), gc.collect()))
    thread.start()
    thread.join()
    tf.abs(x)
    print(_core.hook_lease_count(), _core.living_recorders(), _core.current_session())
    print(fs.trace(tf.exp, x).op_counts())
    """
    )
    assert "must be ended on the thread that started it" in done.stderr
    assert (done.returncode, done.stdout.splitlines()) == (0, ["0 0 None", "{'Exp': 1}"])


def test_exit_in_the_middle_of_a_recording() -> None:
    done = run_program(
        START
        + """
    def leaves(x):
        y = tf.nn.relu(x)
        sys.exit(7)
    fs.trace(leaves, x)
    """
    )
    assert done.returncode == 7, done.stderr[-2000:]
    assert "Fatal" not in done.stderr and "nanobind" not in done.stderr


def test_exit_while_another_thread_records() -> None:
    out = run("""
    import threading
    started = threading.Event()

    def forever(x):
        while True:
            x = tf.tanh(x)
            started.set()

    threading.Thread(target=lambda: fs.trace(forever, x, save="none"), daemon=True).start()
    assert started.wait(60)
    print("left", flush=True)
    os._exit(0)
    """)
    assert out.split() == ["left"]


def test_fork() -> None:
    """A child of a process with a live trace reads it and ends; one forked in a run ends too."""
    out = run("""
    trace = fs.trace(model, x)
    value = trace["relu_1"].out
    child = os.fork()
    if child == 0:
        ok = value.shape == (2, 4) and len(trace) == len(list(trace)) and not trace.lint()
        del trace, value
        gc.collect()
        sys.exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), trace["relu_1"].out.shape, fs.trace(model, x).lint())

    def forks(x):
        y = tf.nn.relu(x)
        child = os.fork()
        if child == 0:
            os._exit(5)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status))
        return y + 1.0

    print(fs.trace(forks, x).op_counts())
    """)
    assert out.splitlines() == ["0 (2, 4) []", "5", "{'AddV2': 1, 'Relu': 1}"]


CONTEXT_RESETS = """
    from tensorflow.python.eager import context
    trace = fs.trace(model, x)
    small = fs.trace(lambda a: tf.nn.relu(a) + 1.0, x, save="none")
    expected = trace["relu_1"].out.copy()
    context._reset_context()
    assert (trace["relu_1"].out == expected).all() and trace.lint() == []
    assert trace["relu_1"].stats["count"] == 8 and "relu_1" in trace.summary(level="op")
    after = fs.trace(lambda a: tf.nn.relu(a) * 2.0, tf.ones(3))
    assert after.op_counts() == {"Mul": 1, "Relu": 1} and after.lint() == []
    del trace, small
    gc.collect()
    print(after.output.numpy().tolist())

    def resets(a):
        y = tf.nn.relu(a)
        context._reset_context()
        return tf.ones(3) * 2.0

    trace = fs.trace(resets, tf.ones((2, 3)))
    assert trace.lint() == [] and trace.completeness["unexplained"] == 0
    assert trace["relu_1"].out.shape == (2, 3) and trace["mul_1"].out.tolist() == [2.0] * 3
    del trace
    gc.collect()
    trace = fs.trace(resets, tf.ones((2, 3)))
    print(trace.op_counts())
    print(trace.notes)
"""


def test_a_new_context_with_a_live_trace_and_in_a_run() -> None:
    first, second, _ = run(CONTEXT_RESETS).splitlines()
    assert first == "[2.0, 2.0, 2.0]" and "'Mul': 1, 'Relu': 1" in second


def test_a_new_context_in_a_run_is_said() -> None:
    assert "context" in run(CONTEXT_RESETS).splitlines()[2]
