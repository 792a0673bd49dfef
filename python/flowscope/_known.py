"""What earlier searches found, given again while everything that they looked at is the same.

A search asks every object on its way for what it holds; asking whether that has changed is a tenth
of the work. Kept are weak references alone, so that a model lives as long as without us.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from . import _core, _kinds
from ._found import Discovery, FoundModule, FoundVariable
from ._reach import Edge, Reach
from ._search import Search, SearchNode

# A record of a module or a variable is made from these; a watch compares the values themselves.
_NAMED = frozenset(
    (
        "name",
        "_name",
        "__name__",
        "_handle_name",
        "_path",
        "path",
        "_shape",
        "_trainable",
        "trainable",
    )
)
# Bookkeeping of layers and models that a search reads all the same.
_READ = frozenset(("_layers", "_operations", "_tracker"))
_WATCHED = (_kinds.MODULE, _kinds.HOLDER, _kinds.VARIABLE)
_Reference = weakref.ref[Any]


def discover(root: object, arguments: Sequence[tuple[str, Any]] = ()) -> Discovery:
    """What ``addresses.discover`` promises."""
    edges = Reach().of_arguments(arguments) if arguments else []
    known = _known.get(id(root))
    if known is not None and known.holds(root, edges):
        return known.again()
    search = Search(root, edges)
    found = search.run()
    _known.pop(id(root), None)
    watch = None if found.truncated or search.root is not root else _watch(search)
    if watch is not None:
        _remember(root, edges, watch, found)
    return found


def is_current(found: Discovery, root: object, arguments: Sequence[tuple[str, Any]] = ()) -> bool:
    """Whether a search now would find what ``found`` holds, nothing less and nothing more."""
    edges = Reach().of_arguments(arguments) if arguments else []
    known = _known.get(id(root))
    return known is not None and known.declarations is found.declared and known.holds(root, edges)


def _remember(root: object, edges: list[Edge], watch: _Watch, found: Discovery) -> None:
    key = id(root)
    reference = weakref.ref(root, lambda _: _known.pop(key, None))
    _known[key] = _Known(
        reference,
        _signature(edges),
        _kinds.frameworks(),
        watch,
        [_weakly(module) for module in found.modules],
        [_weakly(variable) for variable in found.variables],
        found.declarations,
        found.made_in_calls,
    )


def _weakly(record: Any) -> tuple[type, _Reference, tuple[Any, ...]]:
    values = [getattr(record, field.name) for field in dataclasses.fields(record)]
    return type(record), weakref.ref(values[0]), tuple(values[1:])


@dataclasses.dataclass(eq=False)
class _Watch:
    """``callables``: functions and the like with the edges that led on from them."""

    objects: _core.StructureWatch
    callables: list[tuple[_Reference, int, list[tuple[Any, ...]]]]

    def unchanged(self) -> bool:
        if not self.objects.unchanged():
            return False
        reach = Reach()
        for reference, kind, edges in self.callables:
            value = reference()
            if value is None or _signature(reach.edges(value, kind)) != edges:
                return False
        return True


@dataclasses.dataclass(eq=False)
class _Known:
    root: _Reference
    arguments: list[tuple[Any, ...]]
    frameworks: _kinds.Frameworks
    watch: _Watch
    modules: list[tuple[type, _Reference, tuple[Any, ...]]]
    variables: list[tuple[type, _Reference, tuple[Any, ...]]]
    declarations: _core.Declarations
    made_in_calls: set[tuple[str, type]]

    def holds(self, root: object, arguments: list[Edge]) -> bool:
        same = self.root() is root and self.arguments == _signature(arguments)
        return same and self.frameworks is _kinds.frameworks() and self.watch.unchanged()

    def again(self) -> Discovery:
        modules: list[FoundModule] = [cls(ref(), *rest) for cls, ref, rest in self.modules]
        found = Discovery(modules, self._variables_again, declarations=self.declarations)
        found.made_in_calls = self.made_in_calls
        return found

    def _variables_again(self) -> list[FoundVariable]:
        return [cls(ref(), *rest) for cls, ref, rest in self.variables]


_known: dict[int, _Known] = {}  # by the id of the root, for as long as that lives


def _watch(search: Search) -> _Watch | None:
    """None where something on the way cannot be watched."""
    reach = search.reach
    objects = _core.StructureWatch(reach.kinds, _NAMED, _kinds.LEAF, _kinds.SEQUENCE, _kinds.STORED)
    callables: list[tuple[_Reference, int, list[tuple[Any, ...]]]] = []
    for node in search.reached():
        if node.kind in _WATCHED:
            if reach.has_slots(node.obj):
                return None
            if not all(objects.add(*looked) for looked in _looked_at(node, reach)):
                return None
        else:
            try:
                reference = weakref.ref(node.obj)
            except TypeError:
                return None
            edges = _signature(reach.edges(node.obj, node.kind))
            callables.append((reference, node.kind, edges))
    return _Watch(objects, callables)


def _looked_at(node: SearchNode, reach: Reach) -> Iterator[tuple[object, frozenset[str], bool]]:
    """The objects whose attributes a search reads at one node.

    Each with the names that it passes over, and whether it looks into containers.
    """
    attributes = _kinds.attributes_of(node.obj)
    if node.kind == _kinds.VARIABLE:
        yield node.obj, frozenset(), False
        resource = _kinds.resource_of(node.obj)
        if resource is not node.obj:
            yield resource, frozenset(), False
        return
    passed = reach.passed_over(node.obj) if node.kind == _kinds.MODULE else frozenset()
    yield node.obj, passed - _NAMED - _READ, True
    tracker = attributes.get("_tracker")
    if tracker is not None:
        yield tracker, frozenset(_kinds.attributes_of(tracker)) - {"config"}, True


def _signature(edges: list[Edge]) -> list[tuple[Any, ...]]:
    return [(e.segments, e.kind, id(e.value), e.rank, e.propagates) for e in edges]
