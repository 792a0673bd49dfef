"""Records real Keras models, shows what a record holds, and proves that recording changed nothing.

Run by `./dev demo`. Exit code 1 where the output of a recorded run differs from a plain call.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import flowscope as fs
import keras
import numpy as np
import tensorflow as tf


def title(text: str) -> None:
    print(f"\n=== {text}\n")


def small_model() -> tuple[Any, Any]:
    hidden = keras.layers.Dense(4, activation="relu", name="hidden")
    head = keras.layers.Dense(2, name="head")
    return keras.Sequential([keras.Input((3,)), hidden, head], name="small"), tf.ones((1, 3))


def mobilenet() -> tuple[Any, Any]:
    model = keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3), alpha=0.35)
    return model, tf.random.uniform((1, 96, 96, 3))


def show_small(model: Any, x: Any) -> fs.Trace:
    title("a small model: the whole record")
    trace = fs.trace(model, x)
    print(trace.summary())
    print('trace["relu_1"] is one op:\n')
    print(trace["relu_1"])
    return trace


def show_mobilenet(model: Any, x: Any) -> fs.Trace:
    title("MobileNetV2: any inner layer, by its address")
    trace = fs.trace(model, x)
    print(trace.summary(max_rows=12))
    address = "block_6_expand_relu"
    print(f'trace["{address}"] is a layer, .out[0, 0, 0, :5] of it')
    print(f"{trace[address].out[0, 0, 0, :5]}\n")
    print(trace[address])
    print("\nits op, and the computation above it:\n")
    for op in chain_above(trace[address].ops[-1], length=5):
        place = op.modules[-1] if op.modules else "self"
        print(f"  {op.label:<24} {op.shape!s:<18} in {place}")
    return trace


def chain_above(op: Any, length: int) -> Iterator[Any]:
    """The op, its first computed parent, that one's, and so on."""
    for _ in range(length):
        yield op
        above = [parent for parent in op.parents if parent.kind == "compute"]
        if not above:
            return
        op = above[0]


def show_nonfinite() -> None:
    title("where does the NaN come from?")

    def entropy(p: Any) -> Any:
        return -tf.reduce_sum(p * tf.math.log(p), axis=-1)

    print(fs.trace(entropy, tf.constant([[0.5, 0.5], [1.0, 0.0]])).first_nonfinite())


def same_bits(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def prove(name: str, trace: fs.Trace, model: Any, x: Any, plain: np.ndarray) -> bool:
    """Compares with a plain call from before the recording, and with one after it."""
    recorded, afterwards = trace.output.numpy(), model(x).numpy()
    checks = {
        "np.array_equal(recorded, plain)": np.array_equal(recorded, plain),
        "same bytes": same_bits(recorded, plain),
        "a plain call afterwards has the same bytes": same_bits(afterwards, plain),
        "inputs of ops that nobody can explain are 0": trace.completeness["unexplained"] == 0,
        "trace.lint() finds nothing": trace.lint() == [],
    }
    print(f"{name}, {trace.num_ops} ops")
    for what, holds in checks.items():
        print(f"  {'yes' if holds else 'NO '}  {what}")
    return all(checks.values())


def main() -> int:
    keras.utils.set_random_seed(0)
    models = {"small": small_model(), "MobileNetV2": mobilenet()}
    plain = {name: model(x).numpy() for name, (model, x) in models.items()}
    traces = {
        "small": show_small(*models["small"]),
        "MobileNetV2": show_mobilenet(*models["MobileNetV2"]),
    }
    show_nonfinite()
    title("the proof: recording changed nothing, to the bit")
    results = [prove(name, traces[name], *models[name], plain[name]) for name in models]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
