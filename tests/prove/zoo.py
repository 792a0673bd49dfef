"""Architectures, layers and training modes: recorded equals plain to the bit, no op missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _shared

ITERATIONS = 46
SAMPLE = 1
CHUNK = 1

# Name in keras.applications -> side of the image.
LARGE = {
    "VGG19": 32,
    "ResNet101": 32,
    "ResNet152": 32,
    "ResNet101V2": 32,
    "ResNet152V2": 32,
    "InceptionV3": 75,
    "InceptionResNetV2": 75,
    "DenseNet169": 32,
    "DenseNet201": 32,
    "EfficientNetB1": 32,
    "EfficientNetB2": 32,
    "EfficientNetB3": 32,
    "EfficientNetB4": 32,
    "EfficientNetV2B1": 32,
    "EfficientNetV2B2": 32,
    "EfficientNetV2B3": 32,
    "EfficientNetV2S": 32,
    "MobileNetV3Large": 32,
    "ConvNeXtSmall": 32,
    "ConvNeXtBase": 32,
    "NASNetLarge": 32,
}
TRAINED = ["MobileNetV2", "ResNet50", "EfficientNetB0", "DenseNet121", "ConvNeXtTiny"]
FAST_PATH = {"ReadVariableOp", "Cast"}


def layer_models() -> dict[str, tuple[Callable[[], Any], tuple[int, ...]]]:
    """Name -> (what makes a layer, the shape of its input)."""
    from keras import layers

    return {
        "Conv1D": (lambda: layers.Conv1D(3, 3, dilation_rate=2), (2, 12, 4)),
        "Conv3D": (lambda: layers.Conv3D(2, 2), (1, 4, 4, 4, 2)),
        "Conv2DTranspose": (lambda: layers.Conv2DTranspose(3, 3, strides=2), (1, 5, 5, 2)),
        "SeparableConv2D": (lambda: layers.SeparableConv2D(3, 3), (1, 6, 6, 2)),
        "DepthwiseConv2D": (lambda: layers.DepthwiseConv2D(3), (1, 6, 6, 2)),
        "ConvLSTM2D": (lambda: layers.ConvLSTM2D(2, 3), (1, 3, 5, 5, 2)),
        "SimpleRNN": (lambda: layers.SimpleRNN(3), (2, 4, 3)),
        "Bidirectional": (lambda: layers.Bidirectional(layers.GRU(3)), (2, 4, 3)),
        "StackedRNN": (lambda: layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)]), (2, 4, 3)),
        "TimeDistributed": (lambda: layers.TimeDistributed(layers.Dense(3)), (2, 4, 3)),
        "GroupNormalization": (lambda: layers.GroupNormalization(2), (2, 4, 4)),
        "UnitNormalization": (lambda: layers.UnitNormalization(), (2, 4)),
        "SpectralNormalization": (
            lambda: layers.SpectralNormalization(layers.Dense(3)),
            (2, 4),
        ),
        "PReLU": (lambda: layers.PReLU(), (2, 4)),
        "GaussianNoise": (lambda: layers.GaussianNoise(0.3), (2, 4)),
        "AlphaDropout": (lambda: layers.AlphaDropout(0.3), (2, 4)),
        "SpatialDropout1D": (lambda: layers.SpatialDropout1D(0.3), (2, 4, 3)),
        "GlobalMaxPooling2D": (lambda: layers.GlobalMaxPooling2D(), (1, 5, 5, 2)),
        "Resizing": (lambda: layers.Resizing(7, 7), (1, 5, 5, 3)),
        "EinsumDense": (lambda: layers.EinsumDense("abc,cd->abd", (4, 5)), (2, 4, 3)),
    }


def run(iterations: int, seed: int) -> dict[str, int]:
    counts = {"models": 0, "ops": 0}
    jobs = all_jobs()
    assert len(jobs) == ITERATIONS, f"ITERATIONS should be {len(jobs)}"
    for number in range(seed - 1, seed - 1 + iterations):
        name, job = jobs[number % len(jobs)]
        facts = job()
        assert facts.problems == [], (name, facts.problems)
        assert facts.wrong_variables == [], (name, facts.wrong_variables)
        assert not facts.witnessed - facts.recorded, (name, facts.witnessed - facts.recorded)
        extra = set(facts.recorded - facts.witnessed)
        assert extra <= FAST_PATH, (name, extra)
        assert not any("could not be recorded" in note for note in facts.notes), (name, facts.notes)
        counts["models"] += 1
        counts["ops"] += facts.num_ops
    return counts


def all_jobs() -> list[tuple[str, Callable[[], Any]]]:
    import model_zoo

    jobs: list[tuple[str, Callable[[], Any]]] = []
    for name, side in LARGE.items():
        jobs.append((name, lambda n=name, s=side: untrained(n, s)))
    for name in TRAINED:
        jobs.append((name, lambda n=name: trained(n)))
    for name in layer_models():
        jobs.append(
            (name, lambda n=name: model_zoo.facts(layer_model(n), kwargs={"training": True}))
        )
    return jobs


def untrained(name: str, side: int) -> Any:
    import model_zoo

    options = model_zoo.options_of(name)
    return model_zoo.facts(image_model(name, side), fresh=False, options=options)


def trained(name: str) -> Any:
    import model_zoo

    options = model_zoo.options_of(name)
    return model_zoo.facts(image_model(name, 32), kwargs={"training": True}, options=options)


def image_model(name: str, side: int) -> Callable[[], tuple[Any, Any]]:
    import model_zoo
    import tensorflow as tf

    return lambda: (model_zoo.architecture(name, side), tf.random.uniform((2, side, side, 3)))


def layer_model(name: str) -> Callable[[], tuple[Any, Any]]:
    import keras
    import tensorflow as tf

    build, shape = layer_models()[name]
    return lambda: (
        keras.Sequential([keras.Input(shape[1:]), build()]),
        tf.random.uniform(shape),
    )


assert _shared.TESTS.is_dir()
