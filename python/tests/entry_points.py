"""Every way into compiled code, each run three times from the same state.

Plain and eager, opened by a recording, plain and compiled: what is promised is that the first two
are equal to the bit. How far the third is from them `tools/distances.py` tells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import keras
import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class EntryPoint:
    """``run(how)`` gives all values that count: outputs, weights, slots, metrics, seeds."""

    name: str
    what: str
    run: Callable[[str], list[np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Distance:
    values: int
    eager_equal: bool
    largest: float
    different: int
    elements: int


EAGER, OPENED, COMPILED = "eager", "opened", "compiled"
FEATURES, CLASSES, STEPS = 8, 3, 3


def measure(entry: EntryPoint) -> Distance:
    eager, opened, compiled = (entry.run(how) for how in (EAGER, OPENED, COMPILED))
    equal = len(eager) == len(opened) and all(
        checks.same_bits(a, b) for a, b in zip(eager, opened, strict=True)
    )
    largest, different, elements = 0.0, 0, 0
    for a, b in zip(opened, compiled, strict=True):
        elements += a.size
        if a.dtype.kind == "f":
            different += int((a != b).sum())
            if a.size:
                largest = max(largest, float(np.abs(a.astype("f8") - b.astype("f8")).max()))
        else:
            different += int((a != b).sum())
    return Distance(len(eager), equal, largest, different, elements)


def arrays(value: Any) -> list[np.ndarray]:
    return [np.array(leaf) for leaf in checks.leaves(value)]


# Models.


def cnn() -> Any:
    inputs = keras.Input((FEATURES, FEATURES, 2))
    x = keras.layers.Conv2D(4, 3, padding="same", name="conv")(inputs)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.ReLU()(x)
    x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Dropout(0.3, seed=11, name="drop")(x)
    x = keras.layers.Flatten()(x)
    return keras.Model(inputs, keras.layers.Dense(CLASSES, name="head")(x))


def plain_cnn() -> Any:
    """Without dropout: XLA draws other numbers, and what draws stays closed under XLA."""
    inputs = keras.Input((FEATURES, FEATURES, 2))
    x = keras.layers.Conv2D(4, 3, padding="same", activation="relu", name="conv")(inputs)
    x = keras.layers.Flatten()(keras.layers.MaxPooling2D()(x))
    return keras.Model(inputs, keras.layers.Dense(CLASSES, name="head")(x))


def lstm() -> Any:
    inputs = keras.Input((6, FEATURES))
    x = keras.layers.LSTM(5, return_sequences=True)(inputs)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.Dropout(0.3, seed=11)(x)
    x = keras.layers.LSTM(4)(x)
    return keras.Model(inputs, keras.layers.Dense(CLASSES, name="head")(x))


def recurrent() -> Any:
    """Every recurrent layer of Keras that is no LSTM, each compiled as a loop of its own."""
    inputs = keras.Input((6, FEATURES))
    x = keras.layers.Bidirectional(keras.layers.GRU(4, return_sequences=True))(inputs)
    x = keras.layers.SimpleRNN(5, return_sequences=True)(x)
    x = keras.layers.RNN([keras.layers.LSTMCell(4), keras.layers.GRUCell(3)])(x)
    return keras.Model(inputs, keras.layers.Dense(CLASSES, name="head")(x))


def transformer() -> Any:
    inputs = keras.Input((6, FEATURES))
    a = keras.layers.MultiHeadAttention(2, 4, dropout=0.2, seed=13, name="attn")(inputs, inputs)
    x = keras.layers.LayerNormalization()(inputs + a)
    y = keras.layers.Dense(16, activation="gelu")(x)
    y = keras.layers.Dropout(0.3, seed=11)(y)
    x = keras.layers.LayerNormalization()(x + keras.layers.Dense(FEATURES)(y))
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, keras.layers.Dense(CLASSES, name="head")(x))


MODELS: dict[str, Callable[[], Any]] = {
    "cnn": cnn,
    "lstm": lstm,
    "transformer": transformer,
    "recurrent": recurrent,
    "plain_cnn": plain_cnn,
}


def data(model: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(count, *model.input_shape[1:])).astype("f4")
    return x, generator.integers(0, CLASSES, size=(count,)).astype("i4")


def compiled_model(name: str, how: str, jit_compile: bool = False) -> Any:
    keras.utils.set_random_seed(5)
    model = MODELS[name]()
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        run_eagerly=how == EAGER,
        jit_compile=jit_compile and how != EAGER,
    )
    return model


def all_state(model: Any) -> list[np.ndarray]:
    """Weights, seeds, optimizer slots, metrics."""
    found = [*model.variables, *model.optimizer.variables]
    for metric in model.metrics:
        found += metric.variables
    return [np.array(v.numpy()) for v in found]


def recorded(how: str, root: Any, call: Callable[[], Any]) -> Any:
    if how != OPENED:
        return call()
    with fs.capture(root) as recording:
        result = call()
    closed = {op.opaque_reason for op in recording.trace if op.kind == "call" and op.opaque}
    assert closed == set(), closed
    return result


def train_steps(name: str, jit_compile: bool = False) -> Callable[[str], list[np.ndarray]]:
    def run(how: str) -> list[np.ndarray]:
        model = compiled_model(name, how, jit_compile)
        x, y = data(model, 4 * STEPS)
        results = []
        for i in range(STEPS):
            part = slice(4 * i, 4 * i + 4)
            results += arrays(
                recorded(how, model, lambda part=part: model.train_on_batch(x[part], y[part]))
            )
        return results + all_state(model)

    return run


def keras_method(name: str, method: str) -> Callable[[str], list[np.ndarray]]:
    def run(how: str) -> list[np.ndarray]:
        model = compiled_model(name, how)
        x, y = data(model, 8)
        calls: dict[str, Callable[[], Any]] = {
            "predict": lambda: model.predict(x, batch_size=4, verbose=0),
            "predict_on_batch": lambda: model.predict_on_batch(x),
            "evaluate": lambda: model.evaluate(x, y, batch_size=4, verbose=0),
            "fit": lambda: model.fit(x, y, 4, epochs=2, shuffle=False, verbose=0).history,
        }
        return arrays(recorded(how, model, calls[method])) + all_state(model)

    return run


# Functions.


def function_entry(
    body: Callable[..., Any], *args: Any, **options: Any
) -> Callable[[str], list[np.ndarray]]:
    def run(how: str) -> list[np.ndarray]:
        keras.utils.set_random_seed(5)
        function = tf.function(body, **options)
        if how != EAGER:
            return arrays(recorded(how, None, lambda: function(*args)))
        tf.config.run_functions_eagerly(True)
        try:
            return arrays(function(*args))
        finally:
            tf.config.run_functions_eagerly(False)

    return run


def concrete_entry(body: Callable[..., Any], *args: Any, within: bool) -> Any:
    """A ConcreteFunction: called by itself, or from another function."""

    def run(how: str) -> list[np.ndarray]:
        keras.utils.set_random_seed(5)
        if how == EAGER:
            return arrays(body(*args))
        called = tf.function(body).get_concrete_function(*args)
        if within:
            called = tf.function(lambda *given, inner=called: inner(*given))
        return arrays(recorded(how, None, lambda: called(*args)))

    return run


def sample(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(3).normal(size=shape).astype("f4"))


def newton(x: Any) -> Any:
    return tf.while_loop(
        lambda i, _: i < 6, lambda i, g: (i + 1, (g + x / g) / 2.0), [tf.constant(0), x]
    )[1]


def choose(x: Any) -> Any:
    y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tanh(x), lambda: x * 2.0)
    return tf.switch_case(tf.constant(1), [lambda: y, lambda: tf.exp(y), lambda: -y])


def autograph(x: Any) -> Any:
    total = tf.zeros_like(x[0])
    for row in x:
        if tf.reduce_sum(row) > 0.0:
            total += tf.sin(row)
        else:
            total -= row
    return total


def dense_net(x: Any) -> Any:
    return tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(x, sample(8, 16))), sample(16, 4)))


def saved_model_layer(folder: str) -> Callable[[str], list[np.ndarray]]:
    def run(how: str) -> list[np.ndarray]:
        keras.utils.set_random_seed(5)
        model = cnn()
        x = tf.constant(data(model, 4)[0])
        if how == EAGER:
            return arrays(model(x, training=False))
        model.export(folder, verbose=False)
        layer = keras.layers.TFSMLayer(folder, call_endpoint="serve")
        return arrays(recorded(how, layer, lambda: layer(x)))

    return run


def generate(how: str) -> list[np.ndarray]:
    """A tiny causal language model of keras_hub: its cache, and one iteration for every token."""
    import causal_model

    model = causal_model.build("greedy", run_eagerly=how == EAGER)
    result = recorded(
        how, model, lambda: model.generate(causal_model.prompt(), stop_token_ids=None)
    )
    logits = model(causal_model.prompt())  # the weights are what they were
    return [*arrays(result), np.asarray(logits)]


def entry_points(folder: str) -> list[EntryPoint]:
    """All of them; ``folder`` is where a SavedModel may be written."""
    found = [
        EntryPoint(f"train_on_batch, {name}", f"{STEPS} steps, Adam", train_steps(name))
        for name in ("cnn", "lstm", "transformer")
    ]
    found.append(
        EntryPoint(
            "train_on_batch, plain_cnn, jit_compile",
            f"{STEPS} steps, Adam",
            train_steps("plain_cnn", True),
        )
    )
    found += [
        EntryPoint(f"{method}, {name}", "2 batches", keras_method(name, method))
        for method in ("predict", "predict_on_batch", "evaluate", "fit")
        for name in ("cnn", "lstm", "transformer")
    ]
    found.append(EntryPoint("predict, recurrent", "", keras_method("recurrent", "predict")))
    found.append(EntryPoint("generate, keras_hub GPT-2", "", generate))
    x = sample(4, 8)
    found += [
        EntryPoint("ConcreteFunction, as root", "", concrete_entry(dense_net, x, within=False)),
        EntryPoint(
            "ConcreteFunction, called within", "", concrete_entry(dense_net, x, within=True)
        ),
        EntryPoint("tf.function, dense layers", "", function_entry(dense_net, x)),
        EntryPoint("jit_compile=True", "", function_entry(dense_net, x, jit_compile=True)),
        EntryPoint("tf.while_loop", "", function_entry(newton, tf.abs(x) + 1.0)),
        EntryPoint("tf.cond, tf.switch_case", "", function_entry(choose, x)),
        EntryPoint("autograph loop and branch", "", function_entry(autograph, x)),
        EntryPoint(
            "tf.map_fn", "", function_entry(lambda v: tf.map_fn(lambda r: tf.tanh(r) * r, v), x)
        ),
        EntryPoint(
            "tf.scan", "", function_entry(lambda v: tf.scan(lambda a, b: a * 0.5 + b, v), x)
        ),
        EntryPoint(
            "tf.vectorized_map",
            "",
            function_entry(lambda v: tf.vectorized_map(lambda r: tf.exp(r) + 1.0, v), x),
        ),
        EntryPoint("keras.layers.TFSMLayer", "", saved_model_layer(folder)),
    ]
    return found
