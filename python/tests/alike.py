"""Whether two traces answer alike: every public attribute and method of every record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flowscope as fs
import numpy as np
from flowscope import _structure

# Not answers about the record: where it is written, drawn or run again.
ACTIONS = {"save", "export", "draw", "show", "validate", "fork", "run", "backward"}
ACTIONS |= {"validation_replay_status"}  # runs the record again
# Questions with arguments, of a trace and of any record that has the method.
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "to_pandas": [(kind,) for kind in ("ops", "layers", "modules", "variables", "regions")],
    "find_sites": [("*",), ("nothing of that name",)],
    "values_at": [("*",), ("nothing of that name",)],
    "stack": [("*",)],
    "value_at": [(0,), (-1,), (99,)],
}
TABLES = ("ops", "layers", "modules", "module_calls", "variables", "regions")
RECORDS = {"Op", "Layer", "Module", "ModuleCall", "Variable", "Region", "Input"}


def public_names(value: Any) -> list[str]:
    return [n for n in dir(type(value)) if not n.startswith("_") and n not in ACTIONS]


def plain(value: Any, depth: int = 0) -> Any:
    """An answer as values that can be compared: records by what they print, arrays by bytes."""
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        items = value.tolist() if value.dtype.kind == "O" else value.tobytes()
        return "array", str(value.dtype), value.shape, items
    if isinstance(value, dict):
        return {str(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return kind, [plain(v, depth + 1) for v in value]
    if isinstance(value, float):
        return repr(value)
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return value
    if isinstance(value, np.generic):
        return str(value.dtype), value.tobytes()
    if kind in RECORDS:
        return kind, repr(value)
    if kind == "EagerTensor":
        text = object if value.dtype == "string" else None
        return HANDLE if value.dtype in HANDLES else plain(np.asarray(value.numpy(), text))
    if kind == "Described":
        return HANDLE if value.type == "tensorflow.Tensor" else value.type.rpartition(".")[2]
    if (parts := parts_of(value)) is not None:
        return "parts", {name: plain(part, depth + 1) for name, part in parts.items()}
    if kind == "Accessor":
        return kind, [repr(item) for item in value]
    if kind == "DataFrame":
        return kind, list(value.columns), [[plain(c) for c in row] for row in value.values.tolist()]
    if type(value).__module__.startswith("flowscope") and depth < 3:
        return kind, {n: answer(value, n, depth + 1) for n in public_names(value)}
    return kind


HANDLES = ("resource", "variant")
HANDLE = "a handle"


def parts_of(value: Any) -> dict[str, Any] | None:
    """A composite value by part, live as TensorFlow's object and loaded as ``fs.Parts``."""
    if isinstance(value, fs.Parts):
        return {name: part for name, part in vars(value).items() if name != "type"}
    if hasattr(value, "_type_spec"):
        return dict(_structure.composite_parts(value))
    return None


def answer(value: Any, name: str, depth: int = 0) -> Any:
    """What an attribute gives, or a method with each of its arguments: a value or an error."""
    if name in ARGUMENTS:
        return [ask(value, name, depth, arguments) for arguments in ARGUMENTS[name]]
    return ask(value, name, depth)


def ask(value: Any, name: str, depth: int, arguments: tuple[Any, ...] = ()) -> Any:
    try:
        found = getattr(value, name)
        if callable(found):
            found = found(*arguments)
        return plain(found, depth)
    except TypeError:
        return "needs arguments"
    except Exception as error:
        return type(error).__name__, str(error)


def is_error(found: Any, kind: str) -> bool:
    return isinstance(found, tuple) and found[0] == kind


def records(trace: Any) -> Iterator[Any]:
    for table in TABLES:
        yield from getattr(trace, table)
    for op in trace.ops:
        yield from op.inputs


def assert_alike(live: Any, loaded: Any) -> None:
    """Raises at the first question that the two answer differently."""
    seen = 0
    for name in public_names(live):
        left, right = answer(live, name), answer(loaded, name)
        # The live object holds what it returned, whether or not its value was kept.
        if name != "output" or not is_error(right, "UnavailableError"):
            assert left == right, f"trace.{name}"
    assert str(live) == str(loaded) and repr(live) == repr(loaded) and len(live) == len(loaded)
    assert live.summary(level="op", max_rows=None) == loaded.summary(level="op", max_rows=None)
    assert loaded.lint() == live.lint()
    for one, other in zip(records(live), records(loaded), strict=True):
        assert repr(one) == repr(other) and str(one) == str(other)
        for name in public_names(one):
            left, right = answer(one, name), answer(other, name)
            assert left == right, f"{one!r}.{name}: {left!r} is not {right!r}"
            seen += left != "needs arguments"
    assert seen > 10 * len(live), "hardly anything was compared"
