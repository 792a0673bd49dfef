"""Structures of tensors: arguments by name, composite tensors by part."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def composite_parts(value: Any) -> list[tuple[str, Any]]:
    """The component tensors of a ragged, sparse or other composite tensor, with their names."""
    names = _PART_NAMES.get(type(value).__name__)
    if names is not None:
        return [(name, part) for name in names if (part := getattr(value, name, None)) is not None]
    try:
        import tensorflow as tf

        parts = tf.nest.flatten(value, expand_composites=True)
    except (ImportError, TypeError, ValueError):
        return []
    if len(parts) == 1 and parts[0] is value:
        return []
    return [(f"component[{i}]", part) for i, part in enumerate(parts)]


_PART_NAMES = {
    "SparseTensor": ("indices", "values", "dense_shape"),
    "RaggedTensor": ("values", "row_splits"),
    "IndexedSlices": ("values", "indices", "dense_shape"),
}


def named_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, Any]]:
    """Arguments with the names of the parameters that take them.

    >>> named_arguments(lambda x, *rest: None, (1, 2), {})
    [('x', 1), ('rest[0]', 2)]
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    return list(_positional(parameters, args)) + list(kwargs.items())


def _positional(
    parameters: list[inspect.Parameter], args: tuple[Any, ...]
) -> Iterator[tuple[str, Any]]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [p.name for p in parameters if p.kind not in variadic]
    rest = next((p.name for p in parameters if p.kind is variadic[0]), "args")
    for i, value in enumerate(args):
        yield (names[i] if i < len(names) else f"{rest}[{i - len(names)}]"), value


def arrays_in(value: Any, path: str) -> Iterator[tuple[str, np.ndarray]]:
    """NumPy arrays in a nested structure, with their paths; data frames and series as arrays."""
    if isinstance(value, np.ndarray):
        yield path, value
    elif (array := _as_array(value)) is not None:
        yield path, array
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays_in(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from arrays_in(item, f"{path}[{i}]")


def _as_array(value: Any) -> np.ndarray | None:
    """Of what another library can make an array of; tensors, variables and numbers are none."""
    cls = type(value)
    library = str(cls.__module__).partition(".")[0]
    if library in ("builtins", "numpy", "tensorflow", "keras") or not hasattr(cls, "__array__"):
        return None
    try:
        return np.asarray(value)
    except Exception:  # its own code: what it is to the model the model will tell
        return None
