"""What tf.saved_model.load gives has the modules that the SavedModel has by its path."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import flowscope as fs
import keras
import numpy as np
import pytest
import tensorflow as tf
from saved_models import MODELS, SavedCase, save

COMPAT = Path(__file__).resolve().parents[2] / "tests/compat/saved_model_2_16"
CALLS = ("StatefulPartitionedCall", "PartitionedCall")


def modules(trace: Any) -> dict[str, tuple[int, int]]:
    return {m.address: (m.num_params, m.num_trainable_params) for m in trace.modules}


def places(trace: Any) -> list[tuple[str, str]]:
    """Every op that is no call of a function, with its innermost module."""
    return [
        (op.type, op.modules[-1].rpartition(":")[0] if op.modules else "")
        for op in trace
        if op.kind not in ("call", "input") and op.type not in CALLS
    ]


def calls(trace: Any) -> dict[str, list[tuple[str, int, int]]]:
    return {
        m.address: [(c.method, len(c.inputs), len(c.outputs)) for c in m.calls]
        for m in trace.modules
        if m.address != "self"
    }


def below(prefix: str, of: dict[str, Any]) -> dict[str, Any]:
    """What is below a module, as it would be were the module the root."""
    return {
        "self" if address == prefix else address.removeprefix(prefix + "."): value
        for address, value in of.items()
        if address == prefix or address.startswith(prefix + ".")
    }


def tensors(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: tf.constant(value) for name, value in inputs.items()}


@pytest.fixture(scope="module", params=sorted(MODELS))
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SavedCase:
    return save(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def lstm(tmp_path_factory: pytest.TempPathFactory) -> SavedCase:
    return save("lstm", tmp_path_factory.mktemp("lstm"))


def same(path: Any, restored: Any) -> None:
    """Modules, their calls, and who has each op."""
    assert modules(restored) == modules(path)
    assert calls(restored) == calls(path)
    assert places(restored) == places(path)
    assert list(restored.lint()) == []
    told = [note for note in path.notes if "by name" in note]
    assert [note for note in restored.notes if "by name" in note] == told


@pytest.mark.parametrize("whole", [True, False], ids=["object", "signature"])
def test_modules_are_those_of_the_path(saved: SavedCase, whole: bool) -> None:
    loaded = tf.saved_model.load(saved.path)
    path = fs.trace(saved.path, saved.inputs, signature=saved.signature)
    inputs = tensors(saved.inputs)
    if whole:
        restored = fs.trace(loaded, inputs, signature=saved.signature)
        assert restored.root_kind == "saved_model"
    else:
        restored = fs.trace(loaded.signatures[saved.signature], input_kwargs=inputs)
        assert restored.root_kind == "concrete_function"
    same(path, restored)
    used = {v.address for v in path.variables}
    assert used <= {v.address for v in restored.variables}


@pytest.mark.parametrize("endpoint", ["serve", "serving_default"])
@pytest.mark.parametrize("name", ["lstm", "text", "mobilenet"])
def test_a_layer_has_the_modules_of_what_it_loads(name: str, endpoint: str, tmp_path: Path) -> None:
    case = save(name, tmp_path)
    path = fs.trace(case.path, case.inputs)
    (value,) = tensors(case.inputs).values()
    layer = keras.layers.TFSMLayer(case.path, call_endpoint=endpoint)
    alone = fs.trace(layer, value)
    assert alone["self"].class_name == "TFSMLayer"
    assert modules(alone).keys() == modules(path).keys()
    assert places(alone) == places(path)
    assert calls(alone) == calls(path)
    assert {v.address for v in path.variables} <= {v.address for v in alone.variables}
    inputs = keras.Input(value.shape[1:], dtype=value.dtype.name)
    outputs = layer(inputs)
    outputs = next(iter(outputs.values())) if isinstance(outputs, dict) else outputs
    outer = keras.Model(inputs, keras.layers.Rescaling(2.0, name="twice")(outputs))
    trace = fs.trace(outer, value)
    (address,) = [m.address for m in trace.modules if m.class_name == "TFSMLayer"]
    assert below(address, modules(trace)).keys() == modules(path).keys()
    assert {f"{address}.{v.address}" for v in path.variables} <= {
        v.address for v in trace.variables
    }
    inner = [place for place in places(trace) if place[1].startswith(address)]
    wanted = [(kind, f"{address}.{m}" if m != "self" else address) for kind, m in places(path) if m]
    assert inner == wanted
    assert list(trace.lint()) == []


def test_several_restored_models_are_told_apart(lstm: SavedCase, tmp_path: Path) -> None:
    other = save("mobilenet", tmp_path)

    class Both(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = tf.saved_model.load(lstm.path)
            self.again = tf.saved_model.load(lstm.path)
            self.images = tf.saved_model.load(other.path)

        def __call__(self, x: Any, image: Any) -> Any:
            y = self.first.serve(x) + next(iter(self.again.signatures["serve"](x).values()))
            return y, self.images.serve(image)

    (x,), (image,) = tensors(lstm.inputs).values(), tensors(other.inputs).values()
    trace = fs.trace(Both(), (x, image))
    for name, case in (("first", lstm), ("again", lstm), ("images", other)):
        path = fs.trace(case.path, case.inputs)
        assert below(name, modules(trace)) == modules(path)
        inner = below(name, calls(trace))
        assert inner.pop("self")[0][0] == "by name"
        assert inner == calls(path)
    assert trace["images.Conv1:1"].parent.call_label == "images:1"
    assert list(trace.lint()) == []


@pytest.mark.parametrize("traced_before", [True, False])
def test_a_restored_function_in_a_function(lstm: SavedCase, traced_before: bool) -> None:
    loaded = tf.saved_model.load(lstm.path)
    serve = loaded.signatures["serving_default"]

    @tf.function
    def twice(x: Any) -> Any:
        (first,) = serve(x).values()
        return first + loaded.serve(x)

    (x,) = tensors(lstm.inputs).values()
    if traced_before:
        twice(x)
    trace = fs.trace(twice, x)
    assert below("loaded", modules(trace)) == modules(fs.trace(lstm.path, lstm.inputs))
    # A tf.function is no module, though the root is one and its class is watched.
    assert {m.address.partition(".")[0] for m in trace.modules} == {"self", "loaded"}
    assert [c.method for c in trace["loaded.head"].calls] == ["by name"] * 2
    kinds = {op.type for op in trace["loaded.head"].calls[1].ops}
    assert {"MatMul", "ReadVariableOp"} <= kinds
    assert list(trace.lint()) == []


def test_a_restored_model_under_a_tape(lstm: SavedCase) -> None:
    loaded = tf.saved_model.load(lstm.path)
    (x,) = tensors(lstm.inputs).values()

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(loaded.serve(x))
        return tape.gradient(loss, loaded.trainable_variables)

    trace = fs.trace(step, x)
    assert trace["loaded.head:1"].method == "by name"
    assert "MatMul" in {op.type for op in trace["loaded.head:1"].ops}


def test_the_structure_has_the_same_modules(lstm: SavedCase) -> None:
    loaded = tf.saved_model.load(lstm.path)
    path = fs.trace(lstm.path, structure_only=True)
    for root in (loaded, loaded.signatures["serving_default"]):
        structure = fs.trace(root, tensors(lstm.inputs), structure_only=True)
        assert modules(structure) == modules(path)
        assert places(structure) == places(path)


def test_a_model_of_tensorflow_2_16_is_the_same() -> None:
    facts = json.loads((COMPAT / "facts.json").read_text())
    x = np.array(facts["x"], "f")
    loaded = tf.saved_model.load(str(COMPAT / "model"))
    path = fs.trace(str(COMPAT / "model"), x)
    same(path, fs.trace(loaded, {"x": tf.constant(x)}))
    same(path, fs.trace(loaded.signatures["serving_default"], input_kwargs={"x": tf.constant(x)}))


def test_inputs_go_by_the_names_of_the_file(tmp_path: Path) -> None:
    x = keras.Input((4,), name="in.put-1")
    model = keras.Model(
        x, keras.layers.Dense(2, name="while")(keras.layers.Dense(3, name="a.b")(x))
    )
    model.export(str(tmp_path / "m"), verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    path = fs.trace(str(tmp_path / "m"), {"in.put-1": np.ones((1, 4), "f")})
    assert modules(path).keys() == {"self", "a.b", "while"}
    for name in ("in.put-1", "in_put_1"):
        same(path, fs.trace(loaded.signatures["serving_default"], {name: tf.ones((1, 4))}))


def test_nothing_keeps_a_restored_model_alive(lstm: SavedCase) -> None:
    loaded = tf.saved_model.load(lstm.path)
    fs.trace(loaded, tensors(lstm.inputs))
    fs.trace(loaded.signatures["serving_default"], input_kwargs=tensors(lstm.inputs))
    alive = weakref.ref(loaded)
    del loaded
    gc.collect()
    assert alive() is None


def test_what_is_stripped_of_debug_info_is_told(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head")])
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", model.__call__, [tf.TensorSpec((None, 3))])
    options = tf.saved_model.SaveOptions(save_debug_info=False)
    archive.write_out(str(tmp_path / "m"), options=options, verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    trace = fs.trace(loaded.serve, tf.ones((1, 3)))
    assert "MatMul" in {op.type for op in trace["head:1"].ops}


# --- models of other shapes ---------------------------------------------------


def shared() -> Any:
    x = keras.Input((4,), name="x")
    dense = keras.layers.Dense(4, name="both")
    y = dense(keras.layers.ReLU(name="act")(dense(x)))
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="both")], name="inner")
    return keras.Model(x, keras.layers.Dense(2, name="out")(inner(y)))


@keras.saving.register_keras_serializable("flowscope")
class Block(keras.layers.Layer):  # type: ignore[misc]
    """A layer with a function of its own and a layer without variables."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = keras.layers.Dense(3, name="inner")
        self.drop = keras.layers.Dropout(0.5, name="drop")

    def build(self, shape: Any) -> None:
        self.inner.build(shape)

    @tf.function
    def doubled(self, x: Any) -> Any:
        return tf.nn.relu(x) * 2.0

    def call(self, x: Any) -> Any:
        return self.doubled(self.drop(self.inner(x)))


def custom() -> Any:
    x = keras.Input((4,), name="x")
    return keras.Model(x, keras.layers.Dense(2, name="head")(Block(name="block")(x)))


def one_layer() -> Any:
    return keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="only")])


def attention() -> Any:
    """Ops of attention stand in scopes of their own, beside those of its layers."""
    x = keras.Input((4,), name="x")
    rows = keras.layers.Reshape((2, 2), name="rows")(x)
    y = keras.layers.MultiHeadAttention(2, 4, name="mha")(rows, rows)
    return keras.Model(x, keras.layers.Dense(2, name="out")(y))


def nested() -> Any:
    """The names of inner variables do not tell that their model is a part of another."""
    x = keras.Input((4,), name="x")
    inner = keras.Model(x, keras.layers.Dense(4, name="p")(x), name="inner")
    z = keras.Input((4,), name="z")
    return keras.Model(z, keras.layers.Dense(2, name="out")(inner(z)))


def namesake() -> Any:
    x = keras.Input((4,), name="x")
    y = keras.layers.Dense(2, name="out")(keras.layers.Dense(2, name="net")(x))
    return keras.Model(x, y, name="net")


class OnFirstCall(keras.Model):  # type: ignore[misc]
    """Variables of layers that were made in a call are named after the model alone."""

    def __init__(self) -> None:
        super().__init__(name="sub")
        self.a = keras.layers.Dense(4, name="a")
        self.b = keras.layers.Dense(4, name="b")

    def call(self, x: Any) -> Any:
        return self.b(self.a(x))


def subclassed() -> Any:
    model = OnFirstCall()
    model(tf.ones((1, 4)))
    return model


class Shape(NamedTuple):
    """``layers``: calls of each by its address; ``silent``: without variables, in model.__call__"""

    build: Callable[[], Any]
    layers: dict[str, int]
    silent: frozenset[str] = frozenset()


ATTENTION = ("key", "query", "value", "attention_output")
SHAPES = {
    "attention": Shape(
        attention,
        {"mha": 1, "out": 1} | {f"mha.{name}": 1 for name in ATTENTION},
        frozenset({"rows"}),
    ),
    "custom": Shape(custom, {"block": 1, "block.inner": 1, "head": 1}),
    "namesake": Shape(namesake, {"net": 1, "out": 1}),
    "nested": Shape(nested, {"out": 1}, frozenset({"inner"})),
    "one": Shape(one_layer, {"only": 1}),
    "shared": Shape(shared, {"both": 2, "inner": 1, "inner.both": 1, "out": 1}, frozenset({"act"})),
    "subclassed": Shape(subclassed, {}),
}


@pytest.mark.parametrize("own_scope", [True, False], ids=["model", "model.call"])
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_layers_of_an_endpoint(name: str, own_scope: bool, tmp_path: Path) -> None:
    """An endpoint that is model.call has no scope of the model around the layers'."""
    keras.utils.set_random_seed(0)
    shape = SHAPES[name]
    model = shape.build()
    archive = keras.export.ExportArchive()
    archive.track(model)
    function = model.__call__ if own_scope else model.call
    archive.add_endpoint("serve", function, [tf.TensorSpec((None, 4), name="x")])
    archive.write_out(str(tmp_path / "m"), verbose=False)
    x = np.ones((2, 4), "f")
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    (key,) = loaded.signatures["serve"].structured_input_signature[1]
    path = fs.trace(str(tmp_path / "m"), {key: x}, signature="serve")
    counts = {m.address: len(m.calls) for m in path.modules if m.address != "self"}
    assert counts.keys() - shape.layers.keys() <= shape.silent
    assert {address: counts.get(address) for address in shape.layers} == shape.layers
    assert not own_scope or counts.keys() >= shape.silent
    assert path["self"].num_params == model.count_params()
    for root in (loaded, loaded.signatures["serve"]):
        options = {"signature": "serve"} if root is loaded else {}
        same(path, fs.trace(root, input_kwargs={key: tf.constant(x)}, **options))
    trace = fs.trace(loaded.serve, tf.constant(x))
    assert modules(trace) == modules(path) and calls(trace) == calls(path)
    structure = fs.trace(str(tmp_path / "m"), signature="serve", structure_only=True)
    assert modules(structure) == modules(path) and places(structure) == places(path)


class Parts(tf.Module):
    """Modules in containers, one of them twice."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Part("e")
        self.blocks = [Part("b"), self.encoder]
        self.named = {"x": Part("x")}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        for part in (self.encoder, *self.blocks, *self.named.values()):
            x = part(x)
        return {"y": x}


class Part(tf.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.w = tf.Variable(2.0, name=name)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        return x * self.w


def test_modules_of_restored_objects(tmp_path: Path) -> None:
    path, x = str(tmp_path / "m"), np.ones(2, "f")
    module = Parts()
    tf.saved_model.save(module, path, signatures=module.__call__)
    loaded = tf.saved_model.load(path)
    by_path = fs.trace(path, x)
    assert modules(by_path).keys() == {"self", "encoder", "blocks.0", "named.x"}
    same(by_path, fs.trace(loaded, {"x": tf.constant(x)}, signature="serving_default"))
    called = fs.trace(loaded, tf.constant(x))
    assert modules(called) == modules(by_path)
    assert called["self:1"].method == "__call__"
    part = fs.trace(loaded.encoder, tf.constant(x))
    assert [v.address for v in part.variables] == ["w"]
    assert [m.address for m in part.modules] == ["self"]


def test_a_signature_whose_object_is_gone_has_no_layers(lstm: SavedCase) -> None:
    signature = tf.saved_model.load(lstm.path).signatures["serving_default"]
    trace = fs.trace(signature, input_kwargs=tensors(lstm.inputs))
    assert [m.address for m in trace.modules] == ["self"]
    assert {place[1] for place in places(trace)} == {"", "self"}
