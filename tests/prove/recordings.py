"""Recordings leave nothing: memory flat after warm-up, hook gone, TensorFlow's functions back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _shared

ITERATIONS = 10_000
SAMPLE = 300

ALLOWED_BYTES = 8 * 2**20  # between the second and the last fifth of the run
ALLOWED_OBJECTS = 500
CHECKPOINTS = 20


def run(iterations: int, seed: int) -> dict[str, int]:
    import checks

    originals = replaced_while_recording()
    programs = make_programs(seed)
    memory: list[int] = []
    objects: list[int] = []
    for i in range(iterations):
        programs[i % len(programs)]()
        if i % max(1, iterations // CHECKPOINTS) == 0:
            assert checks.left_behind() == [], checks.left_behind()
            assert replaced_while_recording() == originals
            memory.append(_shared.resident_bytes())
            objects.append(_shared.live_objects())
    grown = growth(memory)
    assert grown < ALLOWED_BYTES, f"resident memory grew by {grown} bytes: {memory}"
    more = growth(objects)
    assert more < ALLOWED_OBJECTS, f"{more} more Python objects live: {objects}"
    return {"recordings": iterations, "checkpoints": len(memory)}


def growth(values: list[int]) -> int:
    """From the second fifth, when everything is warm, to the last; medians, against noise."""
    fifth = len(values) // 5
    return _shared.median(values[-fifth:]) - _shared.median(values[fifth : 2 * fifth])


def replaced_while_recording() -> dict[str, int]:
    """Identities of what a recording replaces."""
    import keras
    from tensorflow.python.framework import func_graph

    found = {"func_graph": id(func_graph.func_graph_from_py_func)}
    for cls in (keras.Layer, keras.Operation, keras.Model, keras.layers.Dense, keras.layers.LSTM):
        for name in ("__call__", "call"):
            if name in vars(cls):
                found[f"{cls.__name__}.{name}"] = id(vars(cls)[name])
    return found


def make_programs(seed: int) -> list[Callable[[], Any]]:
    """One recording each: models, options, errors and stops in turn."""
    import flowscope as fs
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(seed)
    dense = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, activation="relu")])
    norm = keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization()])
    lstm = keras.Sequential([keras.Input((2, 4)), keras.layers.LSTM(3)])
    variable = tf.Variable(tf.zeros(64))
    x, sequence = tf.ones((2, 4)), tf.ones((1, 2, 4))

    def fails(value: Any) -> Any:
        raise KeyError(tf.nn.relu(value))

    def failing() -> None:
        try:
            fs.trace(fails, x)
        except KeyError as error:
            assert len(error.flowscope_trace) == 2  # type: ignore[attr-defined]

    def stopped() -> None:
        try:
            fs.trace(tf.math.log, tf.zeros(3), raise_on_nan=True)
        except fs.errors.NonFiniteError as error:
            assert error.report.op.type == "Log"

    def block() -> None:
        with fs.capture(dense) as recording:
            dense(x)
        assert recording.trace["relu_1"].out.shape == (2, 4)

    def inspected() -> None:
        trace = fs.trace(dense, x)
        trace.mine = trace  # a cycle through the trace
        assert trace.summary() and trace.lint() == [] and trace["relu_1"].parents

    return [
        lambda: fs.trace(dense, x),
        lambda: fs.trace(norm, x, {"training": True}),
        lambda: fs.trace(lstm, sequence),
        lambda: fs.trace(lambda: variable.assign_add(tf.ones(64))),
        lambda: fs.trace(dense, x, save="none"),
        lambda: fs.trace(dense, x, keep="stats"),
        lambda: fs.trace(dense, x, save=lambda op: op.type == "MatMul"),
        lambda: fs.trace(dense, x, halt=fs.sites.func("MatMul")),
        lambda: fs.pluck(dense, x, "relu_1"),
        failing,
        stopped,
        block,
        inspected,
    ]
