"""What is measured: models built the same way in every process, and the budgets of the design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

IMAGE = (1, 224, 224, 3)


class Workload(NamedTuple):
    """``build`` gives a model and its input; both are warmed up before anything is timed."""

    name: str
    build: Callable[[], tuple[Any, Any]]


class Row(NamedTuple):
    """One way to record a workload; the ratio to a plain call is to stay within ``budget``."""

    workload: str
    what: str
    budget: float
    options: dict[str, Any]  # of fs.trace
    compiled: bool = False  # what is recorded is a tf.function around the model; plain is eager
    validated: dict[str, Any] | None = None  # of trace.validate: that is timed, not the recording


def resnet50() -> tuple[Any, Any]:
    import keras
    import tensorflow as tf

    return keras.applications.ResNet50(weights=None), tf.random.uniform(IMAGE)


def mobilenetv2() -> tuple[Any, Any]:
    import keras
    import tensorflow as tf

    return keras.applications.MobileNetV2(weights=None), tf.random.uniform(IMAGE)


def transformer() -> tuple[Any, Any]:
    """4 layers of width 128 with 4 heads, 8 sequences of 64 tokens."""
    import keras
    import tensorflow as tf

    layers = keras.layers
    tokens = keras.Input((64,), dtype="int32")
    x = layers.Embedding(1000, 128)(tokens)
    for _ in range(4):
        normed = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 32)(normed, normed)])
        inner = layers.Dense(512, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(128)(inner)])
    model = keras.Model(tokens, layers.Dense(1000)(x))
    return model, tf.random.uniform((8, 64), maxval=1000, dtype=tf.int32)


def lstm() -> tuple[Any, Any]:
    """64 units, unrolled over 100 steps, batch 8."""
    import keras
    import tensorflow as tf

    model = keras.Sequential([keras.Input((100, 16)), keras.layers.LSTM(64, unroll=True)])
    return model, tf.random.normal((8, 100, 16))


def dense100() -> tuple[Any, Any]:
    import keras
    import tensorflow as tf

    layers = [keras.layers.Dense(8, activation="relu") for _ in range(100)]
    return keras.Sequential([keras.Input((8,)), *layers]), tf.ones((1, 8))


def matmul500() -> tuple[Any, Any]:
    import tensorflow as tf

    weight, _ = tf.linalg.qr(tf.random.normal((8, 8)))  # keeps the numbers in range

    def multiply(x: Any) -> Any:
        for _ in range(500):
            x = tf.matmul(x, weight)
        return x

    return multiply, tf.ones((8, 8))


def nodes20000() -> tuple[Any, Any]:
    """20,000 ops of one number each: what is left is the cost of an op."""
    import tensorflow as tf

    one = tf.constant([1.0])

    def add(x: Any) -> Any:
        for _ in range(20_000):
            x = tf.raw_ops.AddV2(x=x, y=one)
        return x

    return add, tf.ones((1,))


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("resnet50", resnet50),
        Workload("mobilenetv2", mobilenetv2),
        Workload("transformer", transformer),
        Workload("lstm", lstm),
        Workload("dense100", dense100),
        Workload("matmul500", matmul500),
        Workload("nodes20000", nodes20000),
    )
}

FULL: dict[str, Any] = {}
NO_LINES = {"code_context": False}
ROWS = (
    Row("resnet50", "everything", 1.10, FULL),
    Row("mobilenetv2", "everything", 1.10, FULL),
    Row("transformer", "everything", 1.10, FULL),
    Row("transformer", "in a compiled function", 1.20, FULL, compiled=True),
    Row("lstm", "everything", 1.10, FULL),
    Row("dense100", "without source lines", 1.20, NO_LINES),
    Row("dense100", "everything", 1.40, FULL),
    Row("matmul500", "without source lines", 1.20, NO_LINES),
    Row("matmul500", "everything", 1.40, FULL),
    Row("matmul500", "in a compiled function", 1.20, FULL, compiled=True),
    Row("lstm", "in a compiled function", 1.20, FULL, compiled=True),
    Row("nodes20000", "in a compiled function", 1.20, {"save": "none"}, compiled=True),
    Row("resnet50", "armed, nothing selected", 1.02, {"save": "none", **NO_LINES}),
    Row("resnet50", "one layer selected", 1.02, {"save": "conv4_block3_out", **NO_LINES}),
    Row("resnet50", "validated", 2.00, FULL, validated={}),
    Row("resnet50", "validated and perturbed", 6.00, FULL, validated={"perturb": True}),
)
