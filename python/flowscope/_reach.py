"""What one object reaches in one step: the edges that ``addresses`` searches.

Looking runs none of the object's code (see ``_kinds``). What is a framework's bookkeeping is told
by how the framework itself declares it:

* a list that a Keras ``Tracker`` fills is an index of what attributes already hold;
* TensorFlow reserves the prefix ``_self_`` for its own tracking state;
* what the ``__init__`` of ``keras.Layer`` and of its bases set is not the user's;
* what ``keras.Function`` and ``keras.Sequential`` set in ``__init__`` is their graph, whose nodes
  go by the user's names instead;
* an instance attribute that shadows a method of the class (``build``) is a wrapper of that method;
* an optimizer's or a metric's variables are those in its own store: others are references;
* a Keras object that is not ``KerasSaveable``, and a TensorFlow one that is not ``AutoTrackable``,
  has no state of its own.
"""

from __future__ import annotations

import dis
import enum
import functools
import types
from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from . import _kinds, _restored
from ._kinds import (
    CONCRETE,
    FUNCTION,
    HOLDER,
    LEAF,
    MAPPING,
    METHOD,
    MODULE,
    NAMED_TUPLE,
    PARTIAL,
    PROXY,
    SEQUENCE,
    SET,
    STORED,
    TF_FUNCTION,
    VARIABLE,
    attributes_of,
    name_of,
    user_name,
)

REAL = 0  # a path that a person would write
EXTRA = 1  # another spelling of a real path: an alias, never an address
LAST = 2  # only where nothing else leads there

_MAX_NESTING = 32
_LOADS_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
_LOADS_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))


class Edge(NamedTuple):
    """One step: the path segments that it adds, and what it leads to."""

    segments: tuple[str, ...]
    kind: int
    value: Any
    rank: int = REAL
    propagates: bool = True


class Reach:
    """Gives the edges of objects; one instance serves one discovery."""

    def __init__(self) -> None:
        """Start with what every discovery knows."""
        self.frameworks = _kinds.frameworks()
        self.kinds: dict[type, int] = dict.fromkeys(_kinds.ATOMS, LEAF)
        self._odd: dict[int, tuple[type, int]] = {}  # classes that are no keys, by their id
        self._slots: dict[int, tuple[type, list[tuple[str, types.MemberDescriptorType]]]] = {}
        self._active: set[int] = set()
        self.restored = _restored.View()

    def kind(self, value: object) -> int:
        """The kind of a value."""
        cls = type(value)
        try:
            kind = self.kinds.get(cls)
            if kind is None:
                kind = self.kinds[cls] = _kind_of_class(cls)
        except Exception:  # a metaclass that compares or hashes in its own way
            if id(cls) not in self._odd:
                self._odd[id(cls)] = cls, _kind_of_class(cls)
            kind = self._odd[id(cls)][1]
        return kind

    def edges(self, value: Any, kind: int) -> list[Edge]:
        """Every step from ``value``, in the order in which it was found."""
        out: list[Edge] = []
        if kind in (MODULE, CONCRETE, TF_FUNCTION):
            steps = self.restored.steps(value, kind)
            if steps is not None:
                self._steps_of(steps, out)
                if kind == MODULE and issubclass(type(value), self.frameworks.layers):
                    self._module(value, out, _restored.OF_LAYER)
                return out
        if kind == MODULE:
            self._module(value, out)
        elif kind == HOLDER:
            self._attributes(value, out)
        elif kind == FUNCTION:
            self._function(value, out)
        elif kind == METHOD:
            self._callee(value.__func__, (), out)
            self._emit(_kinds.method_self(value), ("__self__",), out)
        elif kind == PARTIAL:
            self._partial(value, out)
        elif kind == TF_FUNCTION:
            self._callee(attributes_of(value).get("_python_function"), (), out)
        elif kind == CONCRETE:
            self._attributes(value, out)
            for i, variable in enumerate(_kinds.variables_of(value.graph)):
                self._emit(variable, (name_of(variable) or f"variables.{i}",), out)
        elif kind >= SEQUENCE:
            self._emit(value, (), out)
        return out

    def of_arguments(self, arguments: Iterable[tuple[str, Any]]) -> list[Edge]:
        """To modules and variables in a call's arguments, and to what has them at hand."""
        out: list[Edge] = []
        for name, value in arguments:
            segments = tuple(name.replace("[", ".").replace("]", "").split("."))
            self._emit(value, segments, out)
        return [edge for edge in out if edge.kind != HOLDER or self._has_state(edge.value)]

    def _has_state(self, holder: Any) -> bool:
        return any(edge.kind in (MODULE, VARIABLE) for edge in self.edges(holder, HOLDER))

    def has_slots(self, value: object) -> bool:
        """Whether a value keeps attributes outside of its instance dictionary."""
        return bool(self._slots_of(type(value)))

    def fallback(self, value: Any, reached: Container[int]) -> list[Edge]:
        """Edges to what the Keras tracker of ``value`` knows and no other path has reached."""
        out: list[Edge] = []
        if issubclass(type(value), self.frameworks.sequentials):
            return out  # its store keeps input layers and models of earlier builds
        for store, members in self._stores(value):
            for i, member in enumerate(_raw_items(members, self.kind(members))):
                if id(member) in reached:
                    continue
                kind = self.kind(member)
                if kind == VARIABLE and id(_kinds.resource_of(member)) in reached:
                    continue
                name = name_of(member) if kind == VARIABLE else user_name(member)
                segments = (name,) if name else (f"_{store}", str(i))
                if kind != LEAF:
                    out.append(Edge(segments, kind, member, LAST))
        return out

    def slot_references(self, value: Any) -> list[tuple[str, Any, Any]]:
        """``(slot name, slot, parameter)`` for each per-parameter list of a Keras optimizer."""
        if not issubclass(type(value), self.frameworks.optimizers):
            return []
        attributes = attributes_of(value)
        parameters = list(self._flat(attributes.get("_trainable_variables", ())))
        out: list[tuple[str, Any, Any]] = []
        for name, held in attributes.items():
            slots = list(self._flat(held)) if self.kind(held) >= SEQUENCE else []
            if not parameters or len(slots) != len(parameters) or name == "_trainable_variables":
                continue
            for slot, parameter in zip(slots, parameters, strict=True):
                if self.kind(slot) == VARIABLE and slot is not parameter:
                    out.append((name.lstrip("_"), slot, parameter))
        return out

    def _emit(
        self,
        value: Any,
        segments: tuple[str, ...],
        out: list[Edge],
        rank: int = REAL,
        propagates: bool = True,
    ) -> None:
        kind = self.kind(value)
        if kind == LEAF or (kind == FUNCTION and not _kinds.holds_something(value)):
            return
        if kind < SEQUENCE:
            out.append(Edge(segments, kind, value, rank, propagates))
            return
        if id(value) in self._active or len(self._active) >= _MAX_NESTING:
            return  # a container that holds itself
        self._active.add(id(value))
        try:
            for segment, item in self._items(value, kind):
                if self.kind(item) != LEAF:
                    inner = (*segments, segment) if segment else segments
                    self._emit(item, inner, out, rank, propagates)
        finally:
            self._active.discard(id(value))

    def _items(self, value: Any, kind: int) -> Iterable[tuple[str, Any]]:
        """The items of a container with their segments, past the wrappers of TensorFlow."""
        if kind == PROXY:
            return (("", value.__wrapped__),)
        if kind == NAMED_TUPLE:
            return zip(type(value)._fields, tuple.__iter__(value), strict=False)
        if kind == MAPPING:
            pairs = dict.items(value) if isinstance(value, dict) else value.items()
            return [(_key_segment(key, i), item) for i, (key, item) in enumerate(pairs)]
        if kind == SET:
            return _set_items(_raw_items(value, kind))
        return ((str(i), item) for i, item in enumerate(_raw_items(value, kind)))

    def _flat(self, value: Any) -> Iterator[Any]:
        kind = self.kind(value)
        if kind == PROXY:
            yield from self._flat(value.__wrapped__)
        elif kind >= SEQUENCE:
            yield from _raw_items(value, kind)

    def _may_lead_on(self, value: Any, kind: int) -> bool:
        """Whether a container has an item that is not a plain value: most have none."""
        if kind == PROXY:
            value = value.__wrapped__
            kind = self.kind(value)
            if kind < SEQUENCE:
                return kind != LEAF
        known = self.kinds
        for item in _raw_items(value, kind):
            try:
                if known.get(type(item)) != LEAF and self.kind(item) != LEAF:
                    return True
            except Exception:  # see kind()
                return True
        return False

    def _stores(self, value: object) -> list[tuple[str, Any]]:
        tracker = attributes_of(value).get("_tracker")
        config = attributes_of(tracker).get("config") if tracker is not None else None
        if not isinstance(config, dict):
            return []
        return [(name, entry[1]) for name, entry in config.items() if isinstance(entry, tuple)]

    def _steps_of(self, steps: Iterable[_restored.Step], out: list[Edge]) -> None:
        for segments, value, is_alias in steps:
            rank = EXTRA if is_alias else REAL
            out.append(Edge(segments, self.kind(value), value, rank, not is_alias))

    def passed_over(self, value: object) -> frozenset[str]:
        """Names of attributes that are the framework's own: they lead on to nothing."""
        skip: frozenset[str] = frozenset()
        for base in (b for b in self.frameworks.layers if issubclass(type(value), b)):
            skip |= _kinds.layer_bookkeeping(base)
        for base in self._graph_bases(value):
            skip |= _kinds.set_in_init(base)
        return skip

    def _graph_bases(self, value: object) -> list[type]:
        fw = self.frameworks
        return [b for b in (*fw.sequentials, *fw.graphs) if issubclass(type(value), b)]

    def _module(self, value: Any, out: list[Edge], skip: frozenset[str] = frozenset()) -> None:
        fw, attributes = self.frameworks, attributes_of(value)
        for base in self._graph_bases(value):
            stored = "_layers" if base in fw.sequentials else "_operations"
            self._graph(list(self._flat(attributes.get(stored, ()))), base in fw.sequentials, out)
        self._attributes(value, out, skip | self.passed_over(value))

    def _graph(self, nodes: list[Any], sequential: bool, out: list[Edge]) -> None:
        """Children of a graph model: by the user's name, else by place in ``layers``."""
        fw = self.frameworks
        if sequential and nodes and issubclass(type(nodes[0]), fw.input_layers):
            nodes = nodes[1:]  # as model.layers does
        named: set[str] = set()
        layer_index = 0
        for operation_index, node in enumerate(nodes):
            place = ("operations", str(operation_index))
            if issubclass(type(node), fw.layers):
                place = ("layers", str(layer_index))
                layer_index += 1
            name = user_name(node)
            if name and name not in named:
                named.add(name)
                out.append(Edge((name,), MODULE, node))
                out.append(Edge(place, MODULE, node, EXTRA, False))
            else:
                out.append(Edge(place, MODULE, node))

    def _attributes(self, value: Any, out: list[Edge], skip: frozenset[str] = frozenset()) -> None:
        cls = type(value)
        attributes = attributes_of(value)
        stores = self._stores(value) if "_tracker" in attributes else []
        indexes = {id(store) for _, store in stores}
        first, kinds = len(out), self.kinds
        for name, item in [pair for pair in attributes.items() if pair[0] not in skip]:
            try:
                kind = kinds.get(type(item))
            except Exception:  # see kind()
                kind = None
            if kind is None:
                kind = self.kind(item)
            if kind == LEAF or name[:6] == "_self_" or id(item) in indexes:
                continue
            if kind >= SEQUENCE and not self._may_lead_on(item, kind):
                continue
            if kind in (FUNCTION, METHOD) and _kinds.defines(cls, name):
                continue
            self._attribute(cls, name, item, kind, out)
        for name, descriptor in self._slots_of(cls):
            try:
                self._emit(descriptor.__get__(value), (name,), out)
            except AttributeError:
                continue  # a slot that was never set
        self._drop_references(stores, first, out)

    def _attribute(self, cls: type, name: str, item: Any, kind: int, out: list[Edge]) -> None:
        public = name.lstrip("_")
        if public == name or kind not in (VARIABLE, MODULE):
            self._emit(item, (name,), out)
        elif kind == MODULE:
            self._emit(item, (name,), out)
            if _kinds.is_property(cls, public):
                self._emit(item, (public,), out, EXTRA)
        elif name_of(item) == public or _kinds.is_property(cls, public):
            self._emit(item, (public,), out)
            self._emit(item, (name,), out, EXTRA, False)
        else:
            self._emit(item, (name,), out)

    def _drop_references(self, stores: list[tuple[str, Any]], first: int, out: list[Edge]) -> None:
        """Of a metric or an optimizer only its own variables count."""
        for name, members in stores:
            if name == "variables":
                own = {id(member) for member in _raw_items(members, self.kind(members))}
                out[first:] = [e for e in out[first:] if e.kind != VARIABLE or id(e.value) in own]

    def _slots_of(self, cls: type) -> list[tuple[str, types.MemberDescriptorType]]:
        _, found = self._slots.get(id(cls), (cls, None))
        if found is None:
            found = [
                (name, member)
                for base in cls.__mro__
                if "__slots__" in base.__dict__
                for name, member in base.__dict__.items()
                if isinstance(member, types.MemberDescriptorType)
            ]
            self._slots[id(cls)] = cls, found
        return found

    def _function(self, function: types.FunctionType, out: list[Edge]) -> None:
        code, attributes = function.__code__, attributes_of(function)
        self._callee(attributes.get("__wrapped__"), (), out)
        if _kinds.is_framework_module(str(function.__globals__.get("__name__"))):
            return
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                self._callee(cell.cell_contents, (name,), out)
            except ValueError:
                continue  # not assigned yet
        for name, item in list(attributes.items()):
            if not name.startswith("__"):
                self._callee(item, (name,), out)
        positional = code.co_varnames[: code.co_argcount]
        defaults = function.__defaults__ or ()
        with_default = positional[len(positional) - len(defaults) :]
        for name, item in zip(with_default, defaults, strict=False):
            self._callee(item, (name,), out)
        for name, item in (function.__kwdefaults__ or {}).items():
            self._callee(item, (name,), out)
        self._globals(function, out)

    def _globals(self, function: types.FunctionType, out: list[Edge]) -> None:
        """Globals that the code loads: models, variables, containers of them, user functions."""
        scope = function.__globals__
        for name, attributes in _global_names(function.__code__):
            item: Any = scope.get(name)
            if isinstance(item, types.ModuleType):
                if _kinds.is_framework_module(item.__name__):
                    continue
                for inner in attributes:
                    held = item.__dict__.get(inner)
                    if self.kind(held) in (MODULE, VARIABLE):
                        self._emit(held, (name, inner), out)
            elif self.kind(item) != FUNCTION or not _kinds.is_library(item, function):
                self._callee(item, (name,), out)

    def _callee(self, value: Any, segments: tuple[str, ...], out: list[Edge]) -> None:
        """Like ``_emit``, but also follows a function that holds nothing itself: it has globals."""
        if self.kind(value) == FUNCTION:
            out.append(Edge(segments, FUNCTION, value))
        else:
            self._emit(value, segments, out)

    def _partial(self, value: functools.partial[Any], out: list[Edge]) -> None:
        self._callee(value.func, (), out)
        code = getattr(value.func, "__code__", None)
        names = code.co_varnames[: code.co_argcount] if isinstance(code, types.CodeType) else ()
        for i, item in enumerate(value.args):
            self._callee(item, (names[i],) if i < len(names) else ("args", str(i)), out)
        for name, item in value.keywords.items():
            self._callee(item, (name,), out)


def _kind_of_class(cls: type) -> int:
    try:
        return _kinds.classify(cls)
    except Exception:  # a metaclass with code of its own: nothing is known of the class
        return HOLDER


def _raw_items(value: Any, kind: int) -> Iterable[Any]:
    """The items of a container, by the built-in type's own iteration."""
    if kind == SEQUENCE:
        if isinstance(value, list):
            return list.__iter__(value)
        return tuple.__iter__(value) if isinstance(value, tuple) else iter(value)
    if kind == MAPPING:
        return dict.values(value) if isinstance(value, dict) else value.values()
    if kind == SET:
        return set.__iter__(value) if isinstance(value, set) else iter(value)
    if kind == STORED:
        stored = attributes_of(value).get("_storage")
        return stored if isinstance(stored, list) else ()
    return tuple.__iter__(value)


def _set_items(items: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Sets have no order: the user's names, else the order of creation as Keras numbers it."""

    def order(item: Any) -> tuple[str, int]:
        name = name_of(item) or ""
        stem, _, number = name.rpartition("_")
        return (stem, int(number)) if number.isdigit() else (name, -1)

    for i, item in enumerate(sorted(items, key=order)):
        yield user_name(item) or str(i), item


def _key_segment(key: object, position: int) -> str:
    """A dictionary key as a path segment; a key without a stable text gives its position."""
    if isinstance(key, enum.Enum):
        return key.name
    if key is None or type(key) in (str, bool, int, float):
        return str(key)
    if type(key) is tuple and all(type(k) in (str, bool, int, float) for k in key):
        return ",".join(map(str, key))
    return f"#{position}"


@functools.lru_cache(maxsize=4096)
def _global_names(code: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Globals that the code loads, each with the attributes that it asks them for.

    ``code.co_names`` holds attributes of anything too: ``box.head`` is not the global ``head``.
    """
    found: dict[str, dict[str, None]] = {}
    asked: dict[str, None] | None = None  # the attributes of the global on the stack
    for step in dis.get_instructions(code):
        if step.opname in _LOADS_GLOBAL:
            asked = found.setdefault(step.argval, {})
        elif asked is not None and step.opname in _LOADS_ATTRIBUTE:
            asked[step.argval] = None
            asked = None
        elif step.opname != "EXTENDED_ARG":
            asked = None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for name, attributes in _global_names(constant):
                found.setdefault(name, {}).update(dict.fromkeys(attributes))
    return tuple((name, tuple(attributes)) for name, attributes in found.items())
