"""Models that many tests record, and what one plain and one recorded call of each showed."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import keras
import numpy as np
import tensorflow as tf

# Side of the square input image; each is small, and the smallest that the architecture takes.
ARCHITECTURES = {
    "MobileNet": 32,
    "MobileNetV2": 32,
    "MobileNetV3Small": 32,
    "ResNet50": 32,
    "ResNet50V2": 32,
    "DenseNet121": 32,
    "EfficientNetB0": 32,
    "EfficientNetV2B0": 32,
    "Xception": 71,
    "NASNetMobile": 32,
    "ConvNeXtTiny": 32,
    "VGG16": 32,
}


def architecture(name: str, side: int) -> Any:
    make = getattr(keras.applications, name)
    return make(weights=None, classes=10, input_shape=(side, side, 3))


def transformer(layers: int = 4, width: int = 8) -> Any:
    """Token and position embeddings, then attention and feed-forward blocks with residuals."""
    tokens = keras.Input((6,), dtype="int32", name="tokens")
    places = keras.ops.arange(6)
    x = keras.layers.Embedding(20, width, name="token")(tokens)
    x = x + keras.layers.Embedding(6, width, name="place")(places)
    for i in range(layers):
        heads = keras.layers.MultiHeadAttention(2, width // 2, name=f"attention{i}")(x, x)
        x = keras.layers.LayerNormalization(name=f"norm{i}a")(x + heads)
        inner = keras.layers.Dense(2 * width, activation="gelu", name=f"wide{i}")(x)
        inner = keras.layers.Dense(width, name=f"narrow{i}")(inner)
        x = keras.layers.LayerNormalization(name=f"norm{i}b")(x + inner)
    return keras.Model(tokens, keras.layers.Dense(3, name="head")(x), name="transformer")


class Branching(keras.Model):
    """Asks its tensors which way to go, and how often."""

    def __init__(self) -> None:
        super().__init__()
        self.positive = keras.layers.Dense(4, activation="relu")
        self.negative = keras.layers.Dense(4, activation="tanh")
        self.ends = {"head": keras.layers.Dense(2)}

    def call(self, x: Any) -> Any:
        y = self.positive(x) if tf.reduce_sum(x) > 0 else self.negative(x)
        for i in tf.range(3):
            y = y + tf.cast(i, tf.float32)
        while tf.reduce_max(y) < 50.0:
            y = y * 2.0 + 1.0
        return self.ends["head"](y)


class Mixer(tf.Module):
    """A ``tf.Module`` with modules in a list, and a counter that each call moves."""

    def __init__(self) -> None:
        super().__init__(name="mixer")
        self.steps = [Affine(4), Affine(4)]
        self.calls = tf.Variable(0, trainable=False)

    def __call__(self, x: Any) -> Any:
        self.calls.assign_add(1)
        for step in self.steps:
            x = tf.nn.relu(step(x))
        return x


class Affine(tf.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = tf.Variable(tf.random.normal((width, width)))
        self.bias = tf.Variable(tf.zeros(width))

    def __call__(self, x: Any) -> Any:
        return x @ self.weight + self.bias


def _sequence() -> Any:
    return tf.reshape(tf.range(24, dtype=tf.float32), (2, 3, 4)) / 10.0


def _rows() -> Any:
    return tf.constant([[1.0, 2.0, 0.5, -1.0], [0.0, 1.0, -2.0, 3.0]])


def recurrent(layer: Any) -> Any:
    return keras.Sequential([keras.Input((3, 4)), layer, keras.layers.Dense(2)], name="recurrent")


# Name -> (what makes the model, what makes its one argument).
OTHERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "transformer": (transformer, lambda: tf.reshape(tf.range(12) % 20, (2, 6))),
    "LSTM": (lambda: recurrent(keras.layers.LSTM(5, return_sequences=True)), _sequence),
    "GRU": (lambda: recurrent(keras.layers.GRU(5)), _sequence),
    "branching": (Branching, _rows),
    "tf.Module": (Mixer, _rows),
}
NAMES = [*ARCHITECTURES, *OTHERS]


@dataclasses.dataclass
class Facts:
    """What is left of the two calls, so that the model and its values can go."""

    kind: str  # root_kind
    problems: list[str]
    recorded: Counter[str]  # executed ops by type, of the recorded call
    witnessed: Counter[str]  # the same, of the plain call, as op callbacks saw it
    at_root: list[str]  # executed ops in no layer below the root: "type of label"
    wrong_variables: list[str]
    num_ops: int
    notes: list[str]


def build(name: str) -> tuple[Any, Any]:
    if name in OTHERS:
        model, argument = OTHERS[name]
        return model(), argument()
    side = ARCHITECTURES[name]
    return architecture(name, side), tf.random.uniform((1, side, side, 3))


@functools.cache
def facts_of(name: str) -> Facts:
    """The facts of a model of this file, found once."""
    return facts(lambda: build(name), fresh=name in OTHERS, options=options_of(name))


def options_of(name: str) -> dict[str, Any]:
    """ConvNeXt convolves in functions compiled by XLA, whose rounding an opened body has not."""
    return {"functions": "call"} if name.startswith("ConvNeXt") else {}


def facts(
    make: Callable[[], tuple[Any, Any]],
    fresh: bool = True,
    kwargs: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Facts:
    """One plain call with the witness beside it, one recorded call from the same state.

    ``make`` gives the model and its one argument. With ``fresh`` the recorded call has a model of
    its own; without, the plain call must have left the model as it was.
    """
    model, argument = _seeded(make)
    before = checks.state_of(model)
    with checks.witness() as witnessed:
        plain = model(argument, **(kwargs or {}))
    after = checks.state_of(model)
    if fresh:
        model, argument = _seeded(make)
    else:
        checks.assert_same_bits(before, after, "variables after the plain call")
    keras.utils.set_random_seed(9)
    trace = fs.trace(model, argument, kwargs, **(options or {}))
    problems = [f"lint: {finding}" for finding in trace.lint()]
    problems += _differences(plain, trace.output, "output")
    problems += _differences(after, checks.state_of(model), "variables afterwards")
    if trace.completeness["unexplained"]:
        problems.append(f"unexplained inputs: {trace.completeness['unexplained']}")
    return Facts(
        kind=trace.root_kind,
        problems=problems,
        recorded=checks.types_of(trace),
        witnessed=witnessed,
        at_root=ops_at_root(trace),
        wrong_variables=wrong_variables(trace, model),
        num_ops=trace.num_ops,
        notes=trace.notes,
    )


def _seeded(make: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    keras.utils.set_random_seed(3)
    made = make()
    keras.utils.set_random_seed(9)
    return made


def _differences(left: Any, right: Any, what: str) -> list[str]:
    try:
        checks.assert_same_bits(left, right, what)
    except AssertionError as error:
        return [str(error)[:300]]
    return []


def ops_at_root(trace: Any) -> list[str]:
    return [
        f"{op.type} {op.label}"
        for op in trace
        if op.kind not in checks.SOURCE_KINDS and (op.module is None or op.module == trace["self"])
    ]


def wrong_variables(trace: Any, model: Any) -> list[str]:
    """What is not as it must be: each variable of the model once, where its address leads."""
    wrong = []
    declared = {id(resource(at_address(model, v.address))): v for v in trace.variables}
    for variable in model.variables:
        found = declared.get(id(resource(variable)))
        name = getattr(variable, "path", variable.name)
        if found is None:
            wrong.append(f"{name}: no address leads to it")
            continue
        if (found.shape, found.dtype) != (tuple(variable.shape), tf.as_dtype(variable.dtype).name):
            wrong.append(f"{name}: {found.dtype} {found.shape}")
        if found.trainable != bool(variable.trainable):
            wrong.append(f"{name}: trainable is {found.trainable}")
        if found.reads and not np.array_equal(found.value_at(-1), variable.numpy()):
            wrong.append(f"{name}: another value")
    if len(trace.variables) != len(model.variables):
        wrong.append(f"{len(trace.variables)} variables, the model has {len(model.variables)}")
    return wrong


def resource(variable: Any) -> Any:
    """The ``tf.Variable`` behind a Keras variable."""
    return getattr(variable, "value", variable) if hasattr(variable, "_value") else variable


def at_address(root: Any, address: str) -> Any:
    """What an address leads to, step by step, as a person would follow it; None if nowhere."""
    at = root
    for part in address.split("."):
        at = _step(at, part)
    return at


def _step(at: Any, part: str) -> Any:
    if isinstance(at, dict):
        return at.get(part)
    if isinstance(at, (list, tuple)):
        return at[int(part)]
    if isinstance(at, (keras.Sequential, keras.src.models.functional.Functional)):
        if part == "layers":
            return list(at.layers)
        named = [layer for layer in at.layers if layer.name == part]
        if named:
            return named[0]
    return getattr(at, part, None)
