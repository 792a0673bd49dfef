"""SavedModels that several test files record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class SavedCase:
    """A saved model and one call of it."""

    path: str
    signature: str
    inputs: dict[str, np.ndarray[Any, Any]]
    least_ops: int
    num_variables: int


class TwoSignatures(tf.Module):
    """A module with containers and two signatures."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[2.0], [3.0]], name="w")
        self.parts = [tf.Variable(1.0, name="b")]

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def serve(self, x: Any) -> Any:
        return {"y": tf.matmul(x, self.w) + self.parts[0]}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32, name="x"),
            tf.TensorSpec([], tf.float32, name="k"),
        ]
    )
    def scale(self, x: Any, k: Any) -> Any:
        return {"a": x * k, "b": tf.reduce_sum(x)}


class Table(tf.Module):
    """A lookup table that is filled from a file among the assets."""

    def __init__(self, vocabulary: Path) -> None:
        super().__init__()
        vocabulary.write_text("cat\ndog\n", encoding="utf-8")
        initializer = tf.lookup.TextFileInitializer(
            str(vocabulary),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.table = tf.lookup.StaticHashTable(initializer, -1)
        self.w = tf.Variable([2.0])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="s")])
    def serve(self, s: Any) -> Any:
        return {"y": tf.cast(self.table.lookup(s), tf.float32) * self.w}


def _two(folder: Path, signature: str) -> SavedCase:
    module = TwoSignatures()
    signatures = {"serving_default": module.serve, "other": module.scale}
    tf.saved_model.save(module, str(folder / "m"), signatures=signatures)
    inputs = {"x": np.random.RandomState(1).randn(3, 2).astype("f")}
    if signature == "other":
        inputs["k"] = np.array(0.25, "f")
    return SavedCase(
        str(folder / "m"), signature, inputs, 3, 2 if signature == "serving_default" else 0
    )


def _table(folder: Path) -> SavedCase:
    module = Table(folder / "words.txt")
    tf.saved_model.save(module, str(folder / "m"), signatures=module.serve)
    words = np.array([b"cat", b"dog", b"fish"], dtype="S")
    return SavedCase(str(folder / "m"), "serving_default", {"s": words}, 4, 1)


def _keras(folder: Path, model: Any, value: np.ndarray[Any, Any], ops: int) -> SavedCase:
    model.export(str(folder / "m"), verbose=False)
    loaded = tf.saved_model.load(str(folder / "m"))  # keeps the variables alive
    signature = loaded.signatures["serving_default"]
    (name,) = signature.structured_input_signature[1]
    used = len({v.ref() for v in signature.variables})
    return SavedCase(str(folder / "m"), "serving_default", {name: value}, ops, used)


def _lstm(folder: Path) -> SavedCase:
    keras.utils.set_random_seed(3)
    layers = [
        keras.Input((10, 4)),
        keras.layers.LSTM(8, name="lstm"),
        keras.layers.Dense(2, name="head"),
    ]
    value = np.random.RandomState(2).randn(2, 10, 4).astype("f")
    return _keras(folder, keras.Sequential(layers), value, 100)


def _text(folder: Path) -> SavedCase:
    keras.utils.set_random_seed(4)
    words = keras.layers.TextVectorization(max_tokens=50, output_sequence_length=6)
    words.adapt(["the cat sat", "a dog ran far", "cat and dog"])
    model = keras.Sequential(
        [
            keras.Input((), dtype="string"),
            words,
            keras.layers.Embedding(50, 4),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
    )
    return _keras(folder, model, np.array([b"the cat sat", b"dog zzz"], dtype="S"), 15)


def _convolutions(folder: Path) -> SavedCase:
    keras.utils.set_random_seed(5)
    model = keras.applications.MobileNetV2(
        weights=None, input_shape=(64, 64, 3), alpha=0.35, classes=10
    )
    value = np.random.RandomState(3).randn(1, 64, 64, 3).astype("f")
    return _keras(folder, model, value, 200)


MODELS: dict[str, Callable[[Path], SavedCase]] = {
    "two": lambda folder: _two(folder, "serving_default"),
    "other": lambda folder: _two(folder, "other"),
    "table": _table,
    "lstm": _lstm,
    "text": _text,
    "mobilenet": _convolutions,
}


def save(name: str, folder: Path) -> SavedCase:
    """Makes and saves the model of that name below `folder`."""
    return MODELS[name](folder)
