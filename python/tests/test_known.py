"""A discovery is given again only while a new search would find the same."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import flowscope as fs
import keras
import pytest
import tensorflow as tf
from address_shapes import SHAPES, Shape
from flowscope import _known, _runtime
from flowscope._search import Search
from flowscope.addresses import Discovery, discover


class Part(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = keras.layers.Dense(2)
        self.count = 0
        self.sizes = (1, 2)
        self.history = [1.0]


class Model(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [Part(), Part()]
        self.by_name = {"a": Part()}
        self.scale = tf.Variable(1.0)
        self.head = keras.layers.Dense(2, name="head")
        self.helper = Plain()
        self.activation = make_activation(keras.layers.ReLU())

    def call(self, x: Any) -> Any:
        for part in (*self.parts, self.by_name["a"]):
            part.count += 1
            part.history.append(0.5)
            x = part.inner(x)
        return self.head(x) * self.scale


class Plain:
    def __init__(self) -> None:
        self.child = keras.layers.Dense(2)


def make_activation(layer: Any) -> Callable[[Any], Any]:
    held = [layer]
    return lambda x: held[0](x)


def built() -> Model:
    model = Model()
    model(tf.ones((1, 2)))
    return model


def contents(found: Discovery) -> list[Any]:
    modules = [
        (id(m.obj), m.address, m.aliases, m.parent, m.name, m.num_params, m.num_trainable)
        for m in found.modules
    ]
    variables = [
        (id(v.obj), v.address, v.aliases, v.module, v.name, v.trainable) for v in found.variables
    ]
    return [modules, variables]


def is_known(root: object) -> bool:
    known = _known._known.get(id(root))
    return known is not None and known.holds(root, [])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_again_is_the_same(shape: Shape) -> None:
    root, args = shape.build()
    for _ in range(2):
        assert contents(discover(root)) == contents(Search(root).run())
        assert contents(discover(root)) == contents(Search(root).run())
        root(*args)


def test_most_shapes_are_known_again() -> None:
    roots = [shape.build()[0] for shape in SHAPES]
    for root in roots:
        discover(root)
    assert sum(map(is_known, roots)) >= 0.8 * len(roots)


def test_a_run_and_what_it_counts_change_nothing() -> None:
    model = built()
    fs.trace(model, tf.ones((1, 2)))
    discover(model)
    for _ in range(3):
        trace = fs.trace(model, tf.ones((1, 2)))
        assert is_known(model) and "parts.1.inner" in trace


def replace_in_list(model: Model) -> None:
    model.parts[0].inner = keras.layers.Dense(2)


def reorder(model: Model) -> None:
    first, second = model.parts[0].inner, model.parts[1].inner
    model.parts[0].inner, model.parts[1].inner = second, first


def new_attribute(model: Model) -> None:
    object.__setattr__(model, "_extra", tf.Module())
    model.__dict__["later"] = keras.layers.Dense(2)


def new_key(model: Model) -> None:
    model.by_name["b"] = Part()


def layer_among_numbers(model: Model) -> None:
    model.parts[0].history.append(keras.layers.Dense(2))


def number_becomes_layer(model: Model) -> None:
    model.parts[0].count = keras.layers.Dense(2)


def numbers_become_layers(model: Model) -> None:
    model.parts[0].sizes = (2, keras.layers.Dense(2))


def freeze(model: Model) -> None:
    model.head.trainable = False


def rename(model: Model) -> None:
    model.head.name = "tail"


def held_by_a_plain_object(model: Model) -> None:
    model.helper.child = keras.layers.Dense(3)


def held_by_a_closure(model: Model) -> None:
    model.activation.__closure__[0].cell_contents[0] = keras.layers.Softmax()


def other_class(model: Model) -> None:
    model.helper.__class__ = type("Other", (Plain,), {})
    model.helper.child = keras.layers.Dense(3)


def new_weight(model: Model) -> None:
    model.head._tracker.unlock()
    model.head.add_weight(shape=(2,), name="late")


CHANGES = [
    replace_in_list,
    reorder,
    new_attribute,
    new_key,
    layer_among_numbers,
    number_becomes_layer,
    numbers_become_layers,
    freeze,
    rename,
    held_by_a_plain_object,
    held_by_a_closure,
    other_class,
    new_weight,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_is_seen(change: Callable[[Model], None]) -> None:
    model = built()
    before = contents(discover(model))
    for part in model.parts:
        part.count += 1  # a number may move, and the rest is then looked at item by item
    assert is_known(model) and contents(discover(model)) == before
    model._tracker.unlock()
    for layer in model._flatten_layers():
        layer._tracker.unlock()
    change(model)
    after = contents(discover(model))
    assert after == contents(Search(model).run()) and after != before


def test_a_root_that_is_gone_is_forgotten() -> None:
    model = built()
    discover(model)
    gone, key = weakref.ref(model), id(model)
    del model
    gc.collect()
    assert gone() is None and key not in _known._known


def test_what_cannot_be_watched_is_searched_anew() -> None:
    class Slotted:
        __slots__ = ("__weakref__", "layer")

    root = tf.Module()
    root.slotted = Slotted()
    root.slotted.layer = keras.layers.Dense(2, name="held")
    assert [m.address for m in discover(root).modules] == ["self", "slotted.layer"]
    root.slotted.layer = keras.layers.Dense(2)
    assert not is_known(root) and discover(root).modules[1].obj is root.slotted.layer


def test_a_known_variable_with_another_handle_is_still_named() -> None:
    class Scale(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable([1.0, 2.0])

        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return x * self.factor

    root, x, other = Scale(), tf.ones(2), tf.Variable([5.0, 6.0])
    for handle, value in ((root.factor.handle, [1.0, 2.0]), (other.handle, [5.0, 6.0])):
        root.factor._handle = handle
        trace = fs.trace(root, x)
        assert [v.address for v in trace.variables] == ["factor"]
        assert trace.variables[0].versions[0].value.tolist() == value


def test_declared_objects_are_as_many_as_modules() -> None:
    found = discover(built())
    session = _runtime.new_session({})
    session.start()
    try:
        with pytest.raises(ValueError, match="one object is needed for each module"):
            found.declarations.declare_to(session, [])
    finally:
        session.stop("")
