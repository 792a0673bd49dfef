"""What can be recorded: kinds of root, their inputs and their names."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import random as python_random
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _kinds, _runtime
from .errors import InvalidArgumentError


@dataclasses.dataclass(frozen=True)
class Root:
    """A callable with its kind; ``signature_of`` is where its parameter names are read.

    ``owner``: the restored object that it is a function of, which has the modules.
    """

    obj: Any
    kind: str
    name: str
    class_name: str
    signature_of: Callable[..., Any]
    owner: Any = None

    @property
    def searched(self) -> Any:
        """The object that modules and variables are looked for in."""
        return self.obj if self.owner is None else self.owner


def resolve(model: Any, owner: Any = None) -> Root:
    """The root for a model; InvalidArgumentError where it cannot be called."""
    if owner is not None:
        return Root(model, "saved_model", "SavedModel", "SavedModel", model, owner)
    if not callable(model):
        raise InvalidArgumentError(
            f"{type(model).__name__} object is not callable; expected a Keras model or layer, a "
            "tf.Module with __call__, a tf.function or a Python callable"
        )
    tf = _runtime.tensorflow()
    keras = _runtime.keras()
    if keras is not None and isinstance(model, keras.Operation):
        return Root(model, "keras", model.name, type(model).__name__, model.call)
    class_name = type(model).__name__
    if isinstance(model, tf.Module):
        # A module whose __init__ did not call its base has no name.
        name = str(getattr(model, "name", class_name))
        return Root(model, "tf_module", name, class_name, model)
    concrete = isinstance(model, tf.types.experimental.ConcreteFunction)
    kind = "concrete_function" if concrete else "function"
    inner = getattr(model, "python_function", model)
    return Root(model, kind, _name_of(inner), class_name, inner)


def saved_model(path: str) -> Root:
    """The root of a SavedModel that is run from its folder."""
    name = os.path.basename(os.path.normpath(path))
    return Root(None, "saved_model", name, "SavedModel", lambda: None)


def block(model: Any) -> Root:
    """The root of a ``fs.capture`` block: no call of its own."""
    name = getattr(model, "name", None) or (_name_of(model) if model is not None else "block")
    return Root(None, "block", str(name), type(model).__name__ if model else "", lambda: None)


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def arguments(
    root: Root, input_args: Any, input_kwargs: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any], str]:
    """Positional arguments, keyword arguments, and a note where inputs had to be made."""
    if input_kwargs is not None and not isinstance(input_kwargs, dict):
        raise InvalidArgumentError(
            f"input_kwargs is a {type(input_kwargs).__name__}; expected a dict of keyword arguments"
        )
    kwargs = dict(input_kwargs or {})
    if input_args is None:
        if kwargs or not needs_input(root):
            return (), kwargs, ""
        args, kwargs = made_inputs(root)
        return args, kwargs, "no input was given: one was made from the model's input spec"
    if (named := _by_name(root.obj, input_args)) is not None:
        return (), named | kwargs, ""
    if not isinstance(input_args, tuple):
        return (input_args,), kwargs, ""
    if _num_model_inputs(root.obj) == len(input_args) > 1:
        return (list(input_args),), kwargs, ""
    return input_args, kwargs, ""


def _by_name(obj: Any, given: Any) -> dict[str, Any] | None:
    """What a function that takes its inputs by name is given; None where that cannot be told.

    A restored signature is one: a dict is its inputs, and one value its only input.
    """
    if getattr(obj, "structured_input_signature", None) is None:
        return None
    args, kwargs = _signature(obj)
    if args or not kwargs:
        return None
    if isinstance(given, dict):
        # The file's names, which TensorFlow changes where they are no names of Python's.
        known = {*kwargs, *(getattr(obj, "_arg_keywords", None) or ())}
        return dict(given) if given.keys() <= known else None
    values = given if isinstance(given, tuple) else (given,)
    return dict(zip(kwargs, values, strict=True)) if len(values) == len(kwargs) == 1 else None


def _num_model_inputs(obj: Any) -> int:
    """Inputs of a functional model; 0 for everything else."""
    keras = _runtime.keras()
    if keras is None or not isinstance(obj, keras.Model):
        return 0
    inputs = getattr(obj, "_inputs", None)
    return len(inputs) if isinstance(inputs, (list, tuple)) else 0


def needs_input(root: Root) -> bool:
    """Whether a call without arguments can be told to lack some."""
    if root.kind == "keras":
        return True
    args, kwargs = _signature(root.obj)
    return bool(args or kwargs)


Specs = tuple[tuple[Any, ...], dict[str, Any]]


def input_specs(root: Root) -> Specs:
    """What the root says that it takes, positional and by name.

    Raises:
        InvalidArgumentError: the root does not say what it takes.
    """
    tf = _runtime.tensorflow()
    specs = _keras_specs(root.obj) if root.kind == "keras" else _signature(root.obj)
    leaves = tf.nest.flatten(specs)
    known = leaves and all(_dims(leaf) is not None for leaf in leaves)
    if not known or not _binds(root.signature_of, specs):
        raise InvalidArgumentError(
            f"{root.class_name} {root.name!r} does not say what input it takes; pass input_args"
        )
    return specs


def made_inputs(root: Root) -> Specs:
    """Arguments as the root says it takes them, positional and by name.

    Unknown dimensions are 1, floats uniform in [0, 1), everything else is zero.

    Raises:
        InvalidArgumentError: the root does not say what it takes.
    """
    generator = np.random.default_rng(0)
    specs = input_specs(root)
    args, kwargs = _runtime.tensorflow().nest.map_structure(
        lambda leaf: _made_input(leaf, generator), specs
    )
    return args, kwargs


def _binds(function: Callable[..., Any], specs: Specs) -> bool:
    """Whether these are all the arguments that the function needs."""
    try:
        inspect.signature(function).bind(*specs[0], **specs[1])
    except TypeError:
        return False
    except ValueError:
        return True  # it has no signature to check
    return True


def _signature(obj: Any) -> Specs:
    """What a concrete function, or a ``tf.function`` with an input signature, takes."""
    structured = getattr(obj, "structured_input_signature", None)
    if structured is not None:
        return tuple(structured[0]), dict(structured[1])
    given = getattr(obj, "input_signature", None)
    return (tuple(given), {}) if isinstance(given, (list, tuple)) else ((), {})


def _keras_specs(layer: Any) -> Specs:
    """What a Keras layer takes: its graph's inputs, the shapes that built it, or its input spec."""
    attributes = _kinds.attributes_of(layer)
    for graph in (attributes, _kinds.attributes_of(attributes.get("_functional"))):
        if graph.get("_inputs_struct") is not None:
            return (graph["_inputs_struct"],), {}
    shapes = _built_with(layer)
    dtype = getattr(layer, "input_dtype", None)
    specs = {name: _specs_of(shape, dtype) for name, shape in shapes.items()}
    if len(specs) > 1:
        return (), {name.removesuffix("_shape"): spec for name, spec in specs.items()}
    if specs:
        return tuple(specs.values()), {}
    spec = getattr(layer, "input_spec", None)
    return ((spec,) if spec is not None else ()), {}


def _built_with(layer: Any) -> dict[str, Any]:
    """The shapes that Keras keeps of a layer's build, by argument; empty before it is built."""
    config = layer.get_build_config() if hasattr(layer, "get_build_config") else None
    config = config or {}
    return config.get("shapes_dict") or config


def _specs_of(shape: Any, dtype: Any) -> Any:
    """Tensor specs for a shape, or for the structure of shapes that a layer was built with."""
    if isinstance(shape, dict):
        return {key: _specs_of(item, dtype) for key, item in shape.items()}
    if all(item is None or isinstance(item, int) for item in shape):
        return _runtime.tensorflow().TensorSpec(shape, dtype or "float32")
    return type(shape)(_specs_of(item, dtype) for item in shape)


def _dims(leaf: Any) -> list[int] | None:
    """The dimensions, 1 where open; None where the spec names a rank at most.

    An input of made-up size would build a layer for it for good.
    """
    shape = getattr(leaf, "shape", None)
    if shape is None or getattr(shape, "rank", 0) is None:
        return None
    return [1 if dim is None else dim for dim in shape]


def _made_input(leaf: Any, generator: np.random.Generator) -> Any:
    tf = _runtime.tensorflow()
    shape = _dims(leaf)
    dtype = tf.as_dtype(leaf.dtype or "float32")
    if dtype.is_floating:
        return tf.cast(tf.constant(generator.random(shape)), dtype)
    return tf.zeros(shape, dtype)


def set_seeds(seed: int) -> None:
    """Seeds Python, NumPy, TensorFlow and Keras."""
    keras = _runtime.keras()
    if keras is not None:
        keras.utils.set_random_seed(int(seed))
        return
    python_random.seed(seed)
    np.random.seed(seed)
    _runtime.tensorflow().random.set_seed(seed)
