"""Writes a SavedModel as an older TensorFlow writes it, and what that TensorFlow says it gives.

    .venv-tf216/bin/python tests/compat/make_saved_model.py tests/compat/saved_model_2_16

Needs nothing but the TensorFlow and Keras that are to write it. A folder that stands there is never
written again: old files are what the reader is tested with.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf


class Model(tf.Module):
    """A small Keras model, a table filled from a file, and a loop; two signatures."""

    def __init__(self, vocabulary: Path) -> None:
        super().__init__()
        vocabulary.write_text("cat\ndog\n", encoding="utf-8")
        self.layers = keras.Sequential(
            [
                keras.Input((4,)),
                keras.layers.Dense(3, "relu", name="hidden"),
                keras.layers.BatchNormalization(name="norm"),
                keras.layers.Dense(2, name="head"),
            ],
            name="small",
        )
        initializer = tf.lookup.TextFileInitializer(
            str(vocabulary),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.table = tf.lookup.StaticHashTable(initializer, -1)
        self.step = tf.Variable(0.5)

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def score(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """The layers, then a loop."""
        y = self.layers(x)
        for _ in tf.range(3):
            y = y * self.step + 1.0
        return {"y": y}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def look_up(self, words: tf.Tensor) -> dict[str, tf.Tensor]:
        """Numbers of words."""
        return {"ids": self.table.lookup(words)}


def main(folder: Path) -> None:
    keras.utils.set_random_seed(1)
    folder.mkdir(parents=True)
    model = Model(folder / "words.txt")
    signatures = {"serving_default": model.score, "look_up": model.look_up}
    tf.saved_model.save(model, str(folder / "model"), signatures=signatures)
    (folder / "words.txt").unlink()
    x = (np.arange(8, dtype="f4").reshape(2, 4) - 3.0) / 4.0
    y = model.score(tf.constant(x))["y"].numpy()
    facts = {
        "tensorflow": tf.__version__,
        "x": x.tolist(),
        "y": y.tolist(),
        "words": ["dog", "cat", "fish"],
        "ids": model.look_up(tf.constant(["dog", "cat", "fish"]))["ids"].numpy().tolist(),
    }
    (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
