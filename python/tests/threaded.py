"""Models for many threads at once, and what the trace of each must be."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import keras
import numpy as np
import tensorflow as tf


def dense() -> Any:
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, activation="relu")])


def deep() -> Any:
    return keras.Sequential([keras.Input((4,)), *[keras.layers.Dense(4) for _ in range(6)]])


def normed() -> Any:
    return keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization()])


def shared() -> Any:
    layer, given = keras.layers.Dense(4, name="shared"), keras.Input((4,))
    return keras.Model(given, layer(layer(given)))


class Scaled(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = tf.Variable(3.0)

    def __call__(self, x: Any) -> Any:
        return tf.exp(x * 0.1) * self.scale.read_value()


def arithmetic() -> Callable[[Any], Any]:
    return lambda x: tf.sin(x) @ tf.transpose(tf.cos(x))


def chain() -> Callable[[Any], Any]:
    def model(x: Any) -> Any:
        for _ in range(30):
            x = tf.tanh(x) + 1.0
        return x

    return model


def through_python() -> Callable[[Any], Any]:
    return lambda x: tf.constant(tf.square(x).numpy()) * 2.0


BUILDERS: list[Callable[[], Any]] = [
    dense,
    deep,
    normed,
    shared,
    Scaled,
    arithmetic,
    chain,
    through_python,
]


def run_threads(bodies: list[Callable[[], Any]], timeout: float = 300) -> None:
    """All bodies at once; the first error of any of them is raised here."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(bodies))

    def run(body: Callable[[], Any]) -> None:
        try:
            start.wait(60)
            body()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(body,), daemon=True) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


class Reference:
    """What a model's trace must be, from one recording on one thread."""

    def __init__(self, number: int, build: Callable[[], Any]) -> None:
        keras.utils.set_random_seed(number)
        self.model = build()
        self.x = tf.constant(np.random.default_rng(number).normal(size=(3, 4)), tf.float32)
        self.plain = self.model(self.x)
        trace = fs.trace(self.model, self.x)
        self.labels, self.edges = [op.label for op in trace], trace.edges
        self.calls = [call.call_label for call in trace.module_calls]

    def check(self, **options: Any) -> None:
        trace = fs.trace(self.model, self.x, **options)
        assert [op.label for op in trace] == self.labels
        assert trace.edges == self.edges
        assert [call.call_label for call in trace.module_calls] == self.calls
        assert len({op.thread for op in trace if op.kind != "input"}) <= 1
        checks.assert_sound(trace)
        checks.assert_same_bits(self.plain, trace.output)


def eight_and_a_ninth(rounds: int, first_seed: int = 0) -> dict[str, int]:
    """Eight threads record different models, `rounds` times each; a ninth runs unrecorded."""
    references = [Reference(first_seed + i, build) for i, build in enumerate(BUILDERS)]
    done = threading.Event()
    unrecorded: list[int] = [0]
    wrong: list[str] = []

    def recorded(reference: Reference) -> Callable[[], None]:
        def body() -> None:
            for i in range(rounds):
                reference.check(**({"save": "none"} if i % 3 == 2 else {}))

        return body

    def plain() -> None:
        model, x = dense(), tf.ones((3, 4))
        expected = model(x).numpy()
        while not done.is_set():
            if not np.array_equal(model(x).numpy(), expected):
                wrong.append("the ninth thread got another result")
            unrecorded[0] += 1

    bystander = threading.Thread(target=plain, daemon=True)
    bystander.start()
    try:
        run_threads([recorded(reference) for reference in references], timeout=3600)
    finally:
        done.set()
        bystander.join(60)
    assert wrong == [] and unrecorded[0] > 0 and checks.left_behind() == []
    return {"recordings": rounds * len(references), "unrecorded_calls": unrecorded[0]}
