"""What can be recorded: kinds of root, their inputs and their names."""

from __future__ import annotations

import dataclasses
import functools
import random as python_random
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _runtime
from .errors import InvalidArgumentError, UnsupportedError


@dataclasses.dataclass(frozen=True)
class Root:
    """A callable with its kind; ``signature_of`` is where its parameter names are read."""

    obj: Any
    kind: str
    name: str
    class_name: str
    signature_of: Callable[..., Any]


def resolve(model: Any) -> Root:
    """The root for a model; InvalidArgumentError where it cannot be called."""
    if isinstance(model, str):
        raise UnsupportedError(
            f"a path ({model!r}) cannot be recorded in this version; load it first with "
            "tf.saved_model.load or keras.models.load_model"
        )
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
        if kwargs or not _needs_input(root):
            return (), kwargs, ""
        made = made_inputs(root)
        return (made,), kwargs, "no input was given: one was made from the model's input spec"
    if not isinstance(input_args, tuple):
        return (input_args,), kwargs, ""
    if _num_model_inputs(root.obj) == len(input_args) > 1:
        return (list(input_args),), kwargs, ""
    return input_args, kwargs, ""


def _num_model_inputs(obj: Any) -> int:
    """Inputs of a functional model; 0 for everything else."""
    keras = _runtime.keras()
    if keras is None or not isinstance(obj, keras.Model):
        return 0
    inputs = getattr(obj, "_inputs", None)
    return len(inputs) if isinstance(inputs, (list, tuple)) else 0


def _needs_input(root: Root) -> bool:
    return root.kind == "keras"


def made_inputs(root: Root) -> Any:
    """Inputs for a built Keras model: batch 1, unknown dimensions 1, uniform floats, zero integers.

    Raises:
        InvalidArgumentError: the model does not say what it takes.
    """
    keras = _runtime.keras()
    assert keras is not None
    structure = getattr(root.obj, "_inputs_struct", None)
    if structure is None:
        structure = getattr(root.obj, "input_spec", None)
    leaves = keras.tree.flatten(structure) if structure is not None else []
    if not leaves or any(getattr(leaf, "shape", None) is None for leaf in leaves):
        raise InvalidArgumentError(
            f"{root.class_name} {root.name!r} does not say what input it takes; pass input_args"
        )
    generator = np.random.default_rng(0)
    return keras.tree.map_structure(lambda leaf: _made_input(leaf, generator), structure)


def _made_input(leaf: Any, generator: np.random.Generator) -> Any:
    tf = _runtime.tensorflow()
    shape = [1 if dim is None else dim for dim in leaf.shape]
    dtype = tf.as_dtype(leaf.dtype or "float32")
    if dtype.is_floating:
        return tf.cast(tf.constant(generator.random(shape)), dtype)
    return tf.zeros(shape, dtype)


def set_seeds(seed: int) -> None:
    """Seeds Python, NumPy, TensorFlow and Keras."""
    keras = _runtime.keras()
    if keras is not None:
        keras.utils.set_random_seed(seed)
        return
    python_random.seed(seed)
    np.random.seed(seed)
    _runtime.tensorflow().random.set_seed(seed)
