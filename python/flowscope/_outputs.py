"""What a recorded call returned, as a file keeps it.

``describe`` turns the object into JSON, ``rebuild`` makes it again with NumPy arrays in place of
tensors. docs/trace_format.md has the grammar.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import json
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ._structure import composite_parts
from .errors import CorruptTraceError

_MAX_DEPTH = 64  # deeper than the engine looks for tensors
_MAX_ARRAY_BYTES = 16 * 2**20  # of an array that is no tensor of the run


@dataclasses.dataclass(frozen=True)
class Described:
    """Stands in the output of a loaded trace for an object that has no value there.

    ``type`` is the class, ``reason`` says why there is no value.

    Example:
        >>> print(fs.Described("tensorflow.Variable", "a handle has no value"))
        <tensorflow.Variable: a handle has no value>
    """

    type: str
    reason: str

    def __str__(self) -> str:
        return f"<{self.type}: {self.reason}>"


class Parts(types.SimpleNamespace):
    """A ragged, sparse or other composite value in the output of a loaded trace.

    ``type`` is the class; the parts are attributes: ``values`` and ``row_splits`` of a ragged
    tensor, the fields of a dataclass.

    Example:
        >>> fs.Parts(type="RaggedTensor", values=[1.0], row_splits=[0, 1]).row_splits
        [0, 1]
    """


def describe(output: Any) -> str:
    """The structure of ``output`` as JSON; its tensors by the path that the engine gives them.

    An object that does not let itself be looked at is told by its class: the run has succeeded.
    """
    try:
        node = _node(output, "output", 0)
        return json.dumps(node, separators=(",", ":"))
    except Exception:
        return json.dumps(_object(type(output)))


def _node(value: Any, path: str, depth: int) -> dict[str, Any]:
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return {"value": value}
    if kind is float:
        return {"value": value} if math.isfinite(value) else {"float": str(value)}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if kind.__name__ == "EagerTensor":
        return {"tensor": path}
    if depth > _MAX_DEPTH:
        return _object(kind)
    if isinstance(value, (np.ndarray, np.generic)):
        return _array(np.asarray(value), isinstance(value, np.generic))
    return _container(value, path, depth + 1)


def _container(value: Any, path: str, depth: int) -> dict[str, Any]:
    if isinstance(value, (list, tuple)):
        items = [_node(item, f"{path}[{i}]", depth) for i, item in enumerate(value)]
        fields = getattr(value, "_fields", None)
        if isinstance(value, tuple) and fields is not None:
            pairs = [list(pair) for pair in zip(fields, items, strict=False)]
            return {"named": type(value).__name__, "fields": pairs}
        return {"tuple" if isinstance(value, tuple) else "list": items}
    if isinstance(value, dict):
        pairs = [
            [_node(key, "", _MAX_DEPTH), _node(item, f"{path}[{key!r}]", depth)]
            for key, item in value.items()
        ]
        return {"dict": pairs}
    parts = _parts_of(value)
    if parts is None:
        return _object(type(value))
    pairs = [[name, _node(part, f"{path}.{name}", depth)] for name, part in parts]
    return {"parts": type(value).__name__, "fields": pairs}


def _parts_of(value: Any) -> list[tuple[str, Any]] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = type(value).__dataclass_fields__
        return [(name, getattr(value, name, None)) for name in names]
    if hasattr(value, "_type_spec"):
        return composite_parts(value) or None
    return None


def _array(array: np.ndarray, scalar: bool) -> dict[str, Any]:
    if array.dtype.kind in "OVM" or array.nbytes > _MAX_ARRAY_BYTES:
        return _object(type(array))
    node = {
        "array": array.dtype.str,
        "shape": list(array.shape),
        "bytes": base64.b64encode(array.tobytes()).decode(),
    }
    return node | {"scalar": True} if scalar else node


def _object(kind: type) -> dict[str, Any]:
    return {"object": f"{kind.__module__}.{kind.__qualname__}"}


def rebuild(trace: Any) -> Any:
    """What the recorded call returned, from the record alone.

    Raises:
        CorruptTraceError: the structure is not as docs/trace_format.md has it.
        UnavailableError: the value of a tensor in it was not kept.
    """
    try:
        return _made(json.loads(trace._output_structure), trace)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, CorruptTraceError):
            raise
        raise CorruptTraceError(
            f"the trace does not say what its output was: {type(error).__name__}: {error}"
        ) from None


def _made(node: dict[str, Any], trace: Any) -> Any:
    kind = next(iter(node))
    made = _MAKERS.get(kind)
    if made is None:
        raise CorruptTraceError(f"the trace's output holds a {kind!r}, which is not known")
    return made(node, trace)


def _tensor(node: dict[str, Any], trace: Any) -> Any:
    value = trace._read_output(node["tensor"])
    if value is None:
        return Described("tensorflow.Tensor", "a handle, or a tensor that no recorded op made")
    return value


def _made_array(node: dict[str, Any], trace: Any) -> Any:
    data = base64.b64decode(node["bytes"])
    array = np.frombuffer(data, dtype=np.dtype(node["array"])).reshape(node["shape"])
    return array[()] if node.get("scalar") else array


def _made_fields(node: dict[str, Any], trace: Any) -> list[tuple[str, Any]]:
    return [(str(name), _made(part, trace)) for name, part in node["fields"]]


def _made_named(node: dict[str, Any], trace: Any) -> Any:
    fields = _made_fields(node, trace)
    name = str(node["named"])
    if not name.isidentifier():
        raise CorruptTraceError(f"the trace's output has a class {name!r}, which is no name")
    # `rename` keeps a field that is no name out of the source that namedtuple makes.
    made = collections.namedtuple(name, [name for name, _ in fields], rename=True)  # type: ignore[misc]
    return made(*(value for _, value in fields))


def _made_parts(node: dict[str, Any], trace: Any) -> Any:
    return Parts(**{"type": str(node["parts"])} | dict(_made_fields(node, trace)))


_MAKERS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "value": lambda node, trace: node["value"],
    "float": lambda node, trace: float(node["float"]),
    "bytes": lambda node, trace: base64.b64decode(node["bytes"]),
    "tensor": _tensor,
    "array": _made_array,
    "list": lambda node, trace: [_made(item, trace) for item in node["list"]],
    "tuple": lambda node, trace: tuple(_made(item, trace) for item in node["tuple"]),
    "dict": lambda node, trace: {
        _made(key, trace): _made(item, trace) for key, item in node["dict"]
    },
    "named": _made_named,
    "parts": _made_parts,
    "object": lambda node, trace: Described(str(node["object"]), "its value is not in the file"),
}
