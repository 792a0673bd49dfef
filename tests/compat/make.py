"""Writes the file of the present format number; run once per number, and keep what it wrote.

    python tests/compat/make.py tests/compat NAME

NAME is "format_" and the number, and what else sets the file apart: format_1_tf216. The file names
the place of this script as the source of its ops, so run a copy from a neutral folder.

A file that stands there is never written again: old files are what the reader is tested with.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import flowscope as fs
import keras
import tensorflow as tf


def first_values(op: Any) -> list[float] | None:
    """The first elements of an op's first output; None where it has no value."""
    try:
        return op.out.astype("f8").ravel()[:4].tolist() if op.outs else None
    except fs.errors.UnavailableError:
        return None


def main(folder: Path, name: str) -> None:
    keras.utils.set_random_seed(1)
    layers = [keras.Input((2,)), keras.layers.Dense(2, "relu", name="hidden")]
    model = keras.Sequential(layers, name="small")

    @tf.function
    def loop(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            x = x * 2.0
        return x

    with fs.capture(model) as recording:
        loop(model(tf.constant([[1.0, 2.0]])))
        model.layers[0].kernel.assign_add(tf.ones((2, 2)))
    trace = recording.trace
    trace.save(folder / f"{name}.flow.zip", compress="zstd")
    values = {op.label: first_values(op) for op in trace}
    (folder / f"{name}.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
