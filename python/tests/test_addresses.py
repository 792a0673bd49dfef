"""Addresses of the shapes in ``address_shapes``: found without a run, and used by a recording."""

from __future__ import annotations

import inspect
from typing import Any

import flowscope as fs
import keras
import numpy as np
import pytest
from address_shapes import ROWS, SHAPES, Shape, WithAttributes, dense
from flowscope import _kinds, _search
from flowscope.addresses import (
    Discovery,
    address_for_new,
    discover,
    is_inner_graph,
    refresh,
)

shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
SMOKE = {"list_with_reuse", "functional_over_sequential", "tf_module_containers"}
smoke_shapes = pytest.mark.parametrize(
    "shape",
    [pytest.param(s, id=s.name, marks=[pytest.mark.smoke] * (s.name in SMOKE)) for s in SHAPES],
)


def aliases_of(found: Discovery) -> dict[str, str]:
    return {alias: o.address for o in (*found.modules, *found.variables) for alias in o.aliases}


def addresses_of(found: Discovery) -> list[str]:
    return [o.address for o in (*found.modules, *found.variables)]


def without_created(shape: Shape) -> list[str]:
    return [a for a in shape.addresses if a not in shape.created]


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 40
    assert len({s.name for s in SHAPES}) == len(SHAPES)


@smoke_shapes
def test_discovery(shape: Shape) -> None:
    keras.utils.clear_session()  # Keras' own names count what the process has built
    root, _ = shape.build()
    found = discover(root)
    assert [m.address for m in found.modules] == ["self", *shape.addresses]
    if shape.variables is not None:
        assert [v.address for v in found.variables] == list(shape.variables)
    aliases = aliases_of(found)
    assert {a: aliases.get(a) for a in shape.aliases} == shape.aliases
    assert not set(shape.no_aliases) & set(aliases)


@shapes
def test_two_builds_agree(shape: Shape) -> None:
    first, second = discover(shape.build()[0]), discover(shape.build()[0])
    assert addresses_of(first) == addresses_of(second)


@shapes
def test_records_are_sound(shape: Shape) -> None:
    found = discover(shape.build()[0])
    addresses = addresses_of(found)
    assert len(set(addresses)) == len(addresses)
    assert found.modules[0].parent == -1
    for i, module in enumerate(found.modules[1:], 1):
        assert 0 <= module.parent < i
        assert len(module.aliases) <= 2 * _search.MAX_ALIASES + 2
        assert not set(module.aliases) & set(addresses)
    for variable in found.variables:
        owner = found.modules[variable.module].address
        assert owner == "self" or variable.address.startswith(owner + ".")
    assert not found.truncated


@shapes
def test_calls_per_address(shape: Shape) -> None:
    root, args = shape.build()
    trace = fs.trace(root, args)
    for address in shape.addresses:
        if address in shape.uncounted:
            continue
        expected = shape.calls.get(address, 0)
        calls = len(trace.modules[address].calls) if address in trace.modules else 0
        assert calls == expected, f"{address}: {calls} calls, {expected} expected"
    for address in shape.created:
        assert len(trace.modules[address].calls) == shape.calls[address]
    known = {"self", *shape.addresses, *shape.created}
    others = {m.address for m in trace.modules if m.calls} - known
    assert not others, "modules that the model does not have"


@shapes
def test_parameter_counts_are_those_of_keras(shape: Shape) -> None:
    root, _ = shape.build()
    for module in discover(root).modules:
        if isinstance(module.obj, keras.Layer) and not contains_foreign_state(module.obj):
            sizes = {id(w): int(np.prod(w.shape)) for w in module.obj.weights}
            assert module.num_params == sum(sizes.values()), module.address


def contains_foreign_state(layer: keras.Layer) -> bool:
    """State that Keras does not count as its own: tf.Modules, plain objects, closures."""
    weights = {id(w.value) for w in layer.weights}
    return any(id(v.resource) not in weights for v in discover(layer).variables if v.trainable)


def test_frozen_layers_are_not_trainable() -> None:
    model = keras.Sequential([keras.Input((3,)), dense("a"), dense("b")])
    model.get_layer("a").trainable = False
    found = discover(model)
    assert {v.address: v.trainable for v in found.variables} == {
        "a.kernel": False,
        "b.kernel": True,
    }
    assert (found.modules[0].num_params, found.modules[0].num_trainable) == (18, 9)


def test_looking_runs_no_code_of_the_user() -> None:
    touched: list[str] = []

    class Trap:
        def __getattribute__(self, name: str) -> Any:
            touched.append(name)
            return object.__getattribute__(self, name)

        @property
        def layer(self) -> Any:
            touched.append("property")
            return None

    class Box(dict):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            touched.append("iteration")
            return super().__iter__()

        def items(self) -> Any:
            touched.append("items")
            return super().items()

    class Holder(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.trap = Trap()
            self.trap.inner = dense("inner")  # type: ignore[attr-defined]
            self.__dict__["box"] = Box(key=dense("boxed"))

    holder = Holder()
    touched.clear()
    assert [m.address for m in discover(holder).modules] == ["self", "trap.inner", "box.key"]
    assert touched == []


def test_discovery_builds_nothing() -> None:
    model = keras.Sequential([dense("a"), dense("b")])
    before = set(vars(model)) | set(vars(model.layers[0]))
    assert discover(model).variables == []
    assert not model.built
    assert set(vars(model)) | set(vars(model.layers[0])) == before
    following = dense().name  # Keras' counter of names did not move
    discover(model)
    numbers = [int(name.rpartition("_")[2]) for name in (following, dense().name)]
    assert numbers[1] == numbers[0] + 1


def test_refresh_finds_what_a_call_built() -> None:
    model = keras.Sequential([keras.layers.MultiHeadAttention(2, 2, name="att")])
    model.layers[0].call = lambda x: x  # not built: it has no sub-layers yet
    found = discover(model)
    assert [m.address for m in found.modules] == ["self", "att"]
    model.layers[0].build((2, 4, 3), (2, 4, 3))
    before = list(found.modules)
    modules, variables = refresh(found, model)
    assert "att._query_dense" in [m.address for m in modules]
    assert all(found.modules[m.parent].address == "att" for m in modules)
    assert {v.address for v in variables} >= {"att._query_dense.kernel"}
    assert found.modules[: len(before)] == before
    assert refresh(found, model) == ([], [])


def test_the_graph_inside_a_sequential_is_told() -> None:
    model = keras.Sequential([dense("a")])
    assert not is_inner_graph(model, model.layers[0])
    model.build((None, 3))
    assert is_inner_graph(model, model._functional)
    assert not is_inner_graph(model, model.layers[0])
    assert not is_inner_graph(model.layers[0], model._functional)
    assert not is_inner_graph(model, None)


def test_addresses_for_new_modules() -> None:
    assert address_for_new("self", dense(), set()) == "created.0"
    assert address_for_new("enc", dense(), {"enc.created.0"}) == "enc.created.1"
    assert address_for_new("enc", dense("probe"), set()) == "enc.probe"
    assert address_for_new("enc", dense("probe"), {"enc.probe"}) == "enc.created.0"


def test_many_paths_are_bounded() -> None:
    layer = dense("only")
    lists = [[layer] * 40 for _ in range(40)]

    def run(x: Any) -> Any:
        return lists[0][0](x)

    found = discover(run)
    assert [m.address for m in found.modules] == ["self", "lists.0.0"]
    assert found.modules[1].aliases == (
        *(f"lists.0.{i}" for i in range(1, _search.MAX_ALIASES + 1)),
        "only",
    )


def test_a_container_may_hold_itself() -> None:
    loop: list[Any] = [dense("only")]
    loop.append(loop)

    def run(x: Any) -> Any:
        return loop[0](x)

    assert [m.address for m in discover(run).modules] == ["self", "loop.0"]


def test_too_many_objects_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_search, "MAX_OBJECTS", 3)
    model = keras.Sequential([dense() for _ in range(5)])
    found = discover(model)
    assert found.truncated
    assert len(found.modules) == 3


def test_generated_names_are_recognised_for_every_keras_layer() -> None:
    from keras.src.utils.naming import to_snake_case

    classes = [c for _, c in inspect.getmembers(keras.layers, inspect.isclass)]
    assert len(classes) > 100
    for cls in classes:
        assert _kinds.snake_case(cls.__name__) == to_snake_case(cls.__name__)


def test_configuration_is_json_and_short_for_models() -> None:
    import json

    found = discover(WithAttributes())
    by_address = {m.address: m for m in found.modules}
    assert json.loads(by_address["head"].config_json)["units"] == 3
    assert set(json.loads(by_address["self"].config_json)) == {"name", "trainable"}
    assert ROWS.shape == (2, 3)


def test_a_savedmodel_signature_names_its_variables(tmp_path: Any) -> None:
    import tensorflow as tf

    class Source(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(2.0, name="w")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def serve(self, x: Any) -> Any:
            return x * self.w

    tf.saved_model.save(Source(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert [v.address for v in discover(loaded).variables] == ["w"]
    signature = loaded.signatures["serving_default"]
    assert [v.address for v in discover(signature).variables] == ["w"]
    source = Source()
    assert [v.address for v in discover(source.serve).variables] == ["w"]


class Comparing(type):
    """Classes that are no keys: equality without a hash."""

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("asked")

    __hash__ = None  # type: ignore[assignment]


class Hashing(type):
    def __hash__(cls) -> int:
        raise RuntimeError("asked")


class Checking(type):
    def __instancecheck__(cls, instance: object) -> bool:
        raise RuntimeError("asked")

    def __subclasscheck__(cls, subclass: type) -> bool:
        raise RuntimeError("asked")


@pytest.mark.parametrize("meta", [Comparing, Hashing, Checking])
def test_a_metaclass_with_a_will_of_its_own_is_not_asked(meta: type) -> None:
    thing_class = meta("Thing", (), {})
    thing = thing_class()
    thing.inner = dense("inner")

    def model(x: Any, held: Any = thing) -> Any:
        return held.inner(x)

    x = np.ones((1, 2), "float32")
    model(x)
    for _ in range(2):
        trace = fs.trace(model, x)
        assert [m.address for m in trace.modules] == ["self", "held.inner"]
        assert [v.address for v in trace.variables] == ["held.inner.kernel"]
