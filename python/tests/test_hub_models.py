"""Exported models of keras_hub, by path: in Python and by the command, beside TensorFlow's loader.

TensorFlow rewrites some of their graphs before it runs them (docs/saved_models.md): what comes out
then is close; with the rewriting off it is the same to the bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import causal_model
import flowscope as fs
import keras
import numpy as np
import pytest
import tensorflow as tf
from test_command_line import run
from test_restored import same

pytestmark = pytest.mark.skipif(not causal_model.available(), reason=causal_model.WHERE)

WORDS, LENGTH = 30, 9
TEXT = {
    "vocabulary_size": WORDS,
    "num_layers": 2,
    "num_heads": 4,
    "hidden_dim": 64,
    "intermediate_dim": 128,
    "max_sequence_length": LENGTH,
}


class Hub(NamedTuple):
    """A backbone with random weights, and how far the rewritten graph may be from the graph."""

    build: Callable[[Any], Any]
    layer: str
    distance: float


MODELS = {
    "resnet": Hub(
        lambda models: models.ResNetBackbone(
            input_conv_filters=[64],
            input_conv_kernel_sizes=[7],
            stackwise_num_filters=[64, 128],
            stackwise_num_blocks=[1, 1],
            stackwise_num_strides=[1, 2],
            block_type="basic_block",
            image_shape=(32, 32, 3),
        ),
        "conv1_conv",
        0.0,
    ),
    "vit": Hub(
        lambda models: models.ViTBackbone(
            image_shape=(16, 16, 3),
            patch_size=(4, 4),
            num_layers=2,
            num_heads=2,
            hidden_dim=8,
            mlp_dim=16,
        ),
        "vit_encoder",
        0.0,
    ),
    "bert": Hub(lambda models: models.BertBackbone(**TEXT), "pooled_dense", 1e-6),
    "gpt2": Hub(lambda models: models.GPT2Backbone(**TEXT), "layer_norm", 1e-6),
}


class Exported(NamedTuple):
    path: str
    inputs: dict[str, np.ndarray[Any, Any]]
    hub: Hub
    num_variables: int


def value_for(name: str, spec: Any) -> np.ndarray[Any, Any]:
    random = np.random.RandomState(0)
    shape = [2, *(size or LENGTH for size in spec.shape[1:])]
    if spec.dtype.is_floating:
        return random.rand(*shape).astype(spec.dtype.as_numpy_dtype)
    if "mask" in name:
        return np.ones(shape, spec.dtype.as_numpy_dtype)
    return random.randint(0, 2 if "segment" in name else WORDS, shape).astype("i4")


@pytest.fixture(scope="module", params=sorted(MODELS))
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    keras.utils.set_random_seed(1)
    hub = MODELS[request.param]
    model = hub.build(causal_model.keras_hub().models)
    path = str(tmp_path_factory.mktemp(request.param) / "m")
    model.export(path, verbose=False)
    loaded = tf.saved_model.load(path)
    specs = loaded.signatures["serving_default"].structured_input_signature[1]
    inputs = {name: value_for(name, spec) for name, spec in specs.items()}
    return Exported(path, inputs, hub, len(model.variables))


@contextlib.contextmanager
def rewriting(on: bool) -> Iterator[None]:
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": not on})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


def as_tensorflow_gives(exported: Exported, rewritten: bool) -> dict[str, np.ndarray[Any, Any]]:
    with rewriting(rewritten):
        loaded = tf.saved_model.load(exported.path)
        inputs = {name: tf.constant(value) for name, value in exported.inputs.items()}
        outputs = loaded.signatures["serving_default"](**inputs)
    return {name: value.numpy() for name, value in outputs.items()}


def test_outputs_are_those_of_tensorflows_loader(exported: Exported) -> None:
    trace = fs.trace(exported.path, exported.inputs)
    assert list(trace.lint()) == [] and not any(op.opaque_reason for op in trace)
    graph, rewritten = (as_tensorflow_gives(exported, on) for on in (False, True))
    assert set(trace.output) == set(graph) == set(rewritten)
    for name, value in trace.output.items():
        assert value.numpy().tobytes() == graph[name].tobytes()
        np.testing.assert_allclose(value, rewritten[name], rtol=0, atol=exported.hub.distance)


def test_layers_and_variables_are_named(exported: Exported) -> None:
    trace = fs.trace(exported.path, exported.inputs)
    assert trace[exported.hub.layer].calls[0].method == "by name"
    assert trace[exported.hub.layer].out.size > 0
    assert 0 < len([v for v in trace.variables if v.address]) <= exported.num_variables


def test_what_is_restored_has_the_same_modules(exported: Exported) -> None:
    inputs = {name: tf.constant(value) for name, value in exported.inputs.items()}
    loaded = tf.saved_model.load(exported.path)
    path = fs.trace(exported.path, exported.inputs)
    same(path, fs.trace(loaded, inputs, signature="serving_default"))
    same(path, fs.trace(loaded.signatures["serving_default"], input_kwargs=inputs))


def test_the_command_gives_the_same_bits(exported: Exported, tmp_path: Path) -> None:
    flags = []
    for name, value in exported.inputs.items():
        np.save(tmp_path / f"{name}.npy", value)
        flags += ["--input", f"{name}={tmp_path / name}.npy"]
    run("trace", exported.path, *flags, "--outputs-to", tmp_path / "out")
    for name, value in fs.trace(exported.path, exported.inputs).output.items():
        got = np.load(tmp_path / "out" / f"{name}.npy")
        assert got.dtype == value.dtype and got.tobytes() == value.numpy().tobytes()
