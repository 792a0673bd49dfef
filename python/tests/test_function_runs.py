"""Opened functions: errors, depth, threads, steps on disk, what is known of calls told by name."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import checks
import flowscope as fs
import keras
import numpy as np
import pytest
import tensorflow as tf


def inside(trace: Any) -> list[Any]:
    return [op for op in trace if checks.inside_function(op.region)]


# Errors.


def test_an_error_inside_names_where_and_which_line() -> None:
    @tf.function
    def inner(x: Any, i: Any) -> Any:
        tf.debugging.assert_less(i, 2, message="too far")
        return x * 2.0

    @tf.function
    def outer(x: Any) -> Any:
        for i in tf.range(5):
            x = x + 1.0
            x = inner(x, i) - x
        return x

    x = tf.ones((2,))
    with pytest.raises(tf.errors.InvalidArgumentError) as plain:
        outer(x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="too far") as raised:
        fs.trace(outer, x)
    text = str(raised.value)
    assert type(raised.value) is type(plain.value)
    assert "in function '" in text and "inner" in text and "(Assert)" in text
    assert "iteration 2" in text
    assert (
        f"asked for in {__file__}, line {inner.python_function.__code__.co_firstlineno + 2}" in text
    )
    trace = raised.value.flowscope_trace
    sums = [op for op in inside(trace) if op.type == "AddV2" and op.shape == (2,)]
    assert [op.out.tolist() for op in sums] == [[2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]
    assert trace.lint() == []


def test_lines_can_be_selected_inside() -> None:
    @tf.function
    def body(x: Any) -> Any:
        y = tf.sin(x)
        return tf.cos(y)

    x = tf.ones((2,))
    body(x)
    line = body.python_function.__code__.co_firstlineno + 2
    trace = fs.trace(body, x, save=fs.line(line, Path(__file__).name))
    kept = [op.type for op in inside(trace) if checks.same_bits(op.shape, (2,)) and has_value(op)]
    assert kept == ["Sin"]
    lines = {op.type: op.code_context[0].line_number for op in inside(trace)}
    assert (lines["Sin"], lines["Cos"]) == (line, line + 1)


def has_value(op: Any) -> bool:
    try:
        return op.out is not None
    except fs.errors.UnavailableError:
        return False


# Depth, threads.


def calls_itself(depth_spec: Any) -> Any:
    """n + (n - 1) + ... + 0 by a function that calls itself, which tf.function cannot write."""
    from tensorflow.python.eager import context

    stub = tf.function(lambda n: n).get_concrete_function(depth_spec)
    outer = tf.function(
        lambda n: tf.cond(n > 0, lambda: n + stub(n - 1), lambda: n), autograph=False
    ).get_concrete_function(depth_spec)
    ctx = context.context()
    found = [_text(function.name) for function in (outer, *outer.graph._functions.values())]
    renamed = [text for text in found if text != _text(stub.name)]
    names = {text: f"mine_{i}_{text}" for i, text in enumerate(renamed)}
    names[_text(stub.name)] = names[_text(outer.name)]
    for text in renamed:
        definition = ctx.get_function_def(text)
        definition.signature.name = names[text]
        for node in definition.node_def:
            for attr in node.attr.values():
                if attr.HasField("func") and attr.func.name in names:
                    attr.func.name = names[attr.func.name]
        ctx.add_function_def(definition)
    made = names[_text(outer.name)].encode()
    return lambda n: ctx.call_function(made, [n], 1)[0]


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def test_five_thousand_calls_deep() -> None:
    call = calls_itself(tf.TensorSpec((), tf.int32))
    with fs.capture(code_context=False) as recording:
        result = call(tf.constant(5000))
    assert int(result) == 5000 * 5001 // 2
    trace = recording.trace
    sums = [op for op in inside(trace) if op.type == "AddV2"]
    assert len(sums) == 5000
    assert len([region for region in trace.regions if region.kind == "branch"]) == 5001
    assert max(region.path.count("/") for region in trace.regions) == 64


def test_one_function_recorded_on_many_threads() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 20, lambda i, y: (i + 1, y * 1.5 + x), [0, x])[1]

    given = [tf.constant([float(n), 2.0]) for n in range(4)]
    plain = [f(x).numpy() for x in given]
    found: list[Any] = [None] * len(given)

    def record(n: int) -> None:
        traces = [fs.trace(f, given[n]) for _ in range(5)]
        found[n] = traces

    threads = [threading.Thread(target=record, args=(n,)) for n in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, traces in enumerate(found):
        for trace in traces:
            assert checks.same_bits(trace.output, plain[n])
            assert len([op for op in inside(trace) if op.type == "Mul"]) == 20
            checks.assert_sound(trace)


def test_a_function_called_on_a_thread_of_the_model_is_not_of_the_trace() -> None:
    f = tf.function(lambda x: x * 2.0)
    f(tf.ones(()))
    values: list[Any] = []

    def model(x: Any) -> Any:
        thread = threading.Thread(target=lambda: values.append(f(x).numpy()))
        thread.start()
        thread.join()
        return f(x)

    trace = fs.trace(model, tf.constant(3.0))
    assert values == [6.0] and float(trace.output) == 6.0
    assert len([op for op in inside(trace) if op.type == "Mul"]) == 1


GENERATOR = """
    import gc
    import flowscope as fs, numpy as np, tensorflow as tf

    def numbers():
        for i in range(50):
            yield np.float32(i)

    for _ in range(3):
        data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([]))
        iterator = iter(data.map(lambda x: tf.py_function(lambda v: v * 2.0, [x], tf.float32)))
        f = tf.function(lambda: next(iterator) + 1.0)
        trace = fs.trace(f, ())
        assert float(trace.output) == 1.0
        del f, iterator, data
        gc.collect()
        del trace  # holds the last reference to the iterator, whose end calls Python
        gc.collect()
    print("done")
"""


def test_a_trace_that_holds_an_iterator_of_python_ends() -> None:
    done = checks.run_program(GENERATOR, timeout=120)
    checks.assert_quiet_exit(done)
    assert "done" in done.stdout


ABANDONED = """
    import gc
    import flowscope as fs, numpy as np, tensorflow as tf

    def numbers():
        for i in range(50):
            yield np.float32(i)

    for _ in range(3):
        data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([]))
        data = data.map(lambda x: tf.py_function(lambda v: v * 2.0, [x], tf.float32))
        recording = fs.capture()
        recording.__enter__()  # lets go of what the recording before holds
        iterator = iter(data.prefetch(4))
        assert float(next(iterator)) == 0.0
        del iterator, data, recording  # never ended
        gc.collect()
    assert fs.trace(lambda: tf.constant([1.0]) + 1.0, ()).num_ops == 1
    print("done")
"""


def test_an_abandoned_recording_that_holds_an_iterator_of_python_ends() -> None:
    done = checks.run_program(ABANDONED, timeout=120)
    checks.assert_quiet_exit(done)
    assert "done" in done.stdout


# Steps.


@pytest.mark.parametrize("retain", [False, True])
def test_steps_that_are_let_go_stay_in_the_file(retain: bool, tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head")])
    model.compile("sgd", "mse", jit_compile=False)
    x, y = np.arange(18, dtype="f4").reshape(6, 3), np.ones((6, 2), "f4")
    plain = keras.models.clone_model(model)
    plain.set_weights(model.get_weights())
    plain.compile("sgd", "mse", run_eagerly=True)
    outputs = []
    for start in range(0, 6, 2):
        outputs.append(plain(x[start : start + 2]).numpy())
        plain.train_on_batch(x[start : start + 2], y[start : start + 2])
    storage = fs.to_disk(tmp_path / "fit.flow", retain_in_memory=retain)
    with fs.capture(model, keep_steps=1, storage=storage) as recording:
        model.fit(x, y, batch_size=2, shuffle=False, verbose=0)
    for trace in (recording.trace, fs.load(tmp_path / "fit.flow")):
        calls = trace.modules["head"].calls
        assert len(calls) == 3
        for call, expected in zip(calls, outputs, strict=True):
            assert checks.same_bits(call.out, expected)
        assert trace.lint() == []
    assert any("in the file" in note for note in recording.trace.notes)


# Calls told by name.


class Frozen(keras.Model):
    """Calls a part of itself with a flag of its own, as fine tuning does."""

    def __init__(self) -> None:
        super().__init__()
        layers = keras.layers
        self.base = keras.Sequential(
            [layers.Conv2D(3, 3, name="conv"), layers.BatchNormalization(name="frozen")],
            name="base",
        )
        self.norm = layers.BatchNormalization(name="norm")
        self.flat = layers.Flatten(name="flat")
        self.drop = layers.Dropout(0.5, name="drop", seed=2)
        self.head = layers.Dense(1, name="head")

    def call(self, x: Any, training: bool = False) -> Any:
        x = self.norm(self.base(x, training=False), training=training)
        return self.head(self.drop(self.flat(x), training=training))


def told_by_name(train: bool) -> Any:
    """A step that was traced before anything recorded, recorded."""
    keras.utils.set_random_seed(5)
    model = Frozen()
    model.compile("sgd", "mse", jit_compile=False)
    x, y = np.ones((4, 6, 6, 2), "f4"), np.zeros((4, 1), "f4")

    def step() -> None:
        if train:
            model.train_on_batch(x, y)
        else:
            model.predict(x, verbose=0)

    step()
    with fs.capture(model) as recording:
        step()
    return recording.trace


def test_training_of_calls_told_by_name() -> None:
    trace = told_by_name(train=True)
    assert trace["norm:1"].method == "by name"
    assert trace["norm:1"].training is True
    assert trace["drop:1"].training is True
    assert trace["base:1"].training is False
    assert trace["base.frozen:1"].training is False
    assert trace["flat:1"].training is None  # which takes no such flag
    assert trace["self:1"].training is None  # its parts contradict each other
    trace = told_by_name(train=False)
    assert trace["self:1"].training is False and trace["norm:1"].training is False


def test_training_is_not_claimed_where_nothing_tells_it() -> None:
    layer = keras.layers.LSTM(3, name="rnn")
    model = keras.Sequential([keras.Input((4, 2)), layer])
    function = tf.function(lambda x: model(x, training=True))
    function(tf.ones((1, 4, 2)))
    with fs.capture(model) as recording:
        function(tf.ones((1, 4, 2)))
    assert recording.trace["rnn:1"].method == "by name"
    assert recording.trace["rnn:1"].training is None


# Where predict and a bare call part.


def first_that_differs(one: Any, other: Any) -> Any:
    """The first module call of ``one``, by its end, whose outputs are others in ``other``."""
    for call in sorted(one.module_calls, key=lambda call: call.start + call.duration):
        if not checks.same_bits(call.out, other[call.call_label].out):
            return call
    return None


AUGMENTATION: dict[str, Any] = {
    "flip": lambda: keras.layers.RandomFlip(name="aug", seed=1),
    "rotation": lambda: keras.layers.RandomRotation(0.3, name="aug", seed=1),
    "contrast": lambda: keras.layers.RandomContrast(0.5, name="aug", seed=1),
    "translation": lambda: keras.layers.RandomTranslation(0.4, 0.4, name="aug", seed=1),
    "nested": lambda: keras.Sequential(
        [keras.layers.RandomZoom(0.5, name="zoom", seed=1)], name="aug"
    ),
}


@pytest.mark.parametrize("layer", AUGMENTATION)
def test_the_layer_where_predict_and_a_bare_call_part(layer: str) -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            keras.layers.Rescaling(0.5, name="rescale"),
            AUGMENTATION[layer](),
            keras.layers.Flatten(name="flat"),
            keras.layers.Dense(1, name="head"),
        ]
    )
    images = np.arange(72, dtype="f4").reshape(2, 6, 6, 1)
    bare = fs.trace(model, images)
    with fs.capture(model) as recording:
        predicted = model.predict(images, verbose=0)
    found = first_that_differs(bare, recording.trace)
    assert found.module.address == ("aug.zoom" if layer == "nested" else "aug")
    assert found.training is not recording.trace[found.call_label].training
    # Where the flag is the same nothing differs.
    same = fs.trace(model, images, {"training": False})
    assert first_that_differs(same, recording.trace) is None
    np.testing.assert_allclose(same.output, predicted, rtol=1e-6)


def test_loops_and_branches_that_a_program_runs_as_ops() -> None:
    counter, vector = tf.TensorSpec([], tf.int32), tf.TensorSpec([2], tf.float32)
    cond = tf.function(lambda i, x: i < 3).get_concrete_function(counter, vector)
    body = tf.function(lambda i, x: (i + 1, x * 2.0)).get_concrete_function(counter, vector)
    double = tf.function(lambda x: x * 2.0).get_concrete_function(vector)
    negate = tf.function(lambda x: -x).get_concrete_function(vector)

    def program(x: Any) -> Any:
        _, y = tf.raw_ops.While(input=[tf.constant(0), x], cond=cond, body=body)
        given = {"input": [y], "Tout": [tf.float32]}
        (y,) = tf.raw_ops.If(
            cond=tf.constant(False), then_branch=double, else_branch=negate, **given
        )
        return y

    trace = fs.trace(program, tf.constant([1.0, 3.0]))
    assert checks.same_bits(trace.output, np.float32([-8.0, -24.0]))
    assert trace.op_counts()["Mul"] == 3 and trace["mul_1:3"].iteration == 2
    assert [r.path for r in trace.regions if r.kind in ("iteration", "branch")] == [
        "while[0]", "while[1]", "while[2]", "cond:else_branch",
    ]  # fmt: skip
    assert [op.type for op in trace if op.kind == "call"] == ["While", "If"]
    assert trace.validate().state == "passed"
    closed = fs.trace(program, tf.constant([1.0, 3.0]), functions="call")
    assert closed.op_counts() == {"While": 1, "If": 1}
    assert closed["while_1"].opaque_reason and closed.validate().state == "passed"
