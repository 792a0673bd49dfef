"""The search behind ``addresses.discover``: the few shortest paths from one root to each object."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from . import _kinds
from ._found import MAX_ALIASES, ROOT_ADDRESS, Discovery, FoundModule, FoundVariable
from ._reach import Edge, Reach

MAX_OBJECTS = 100_000
MAX_HOLDERS = 10_000  # objects that are neither modules nor variables
MAX_DEPTH = 64

_PRIVATE_COST = 1_000
_RANK_COST = 1_000_000


@dataclasses.dataclass(slots=True, eq=False)
class SearchNode:
    """An object on the way: a module, a variable, or a holder of such."""

    obj: Any
    kind: int
    order: int
    steps: list[tuple[Edge, SearchNode, int]] | None = None  # edge, target, cost
    paths: list[_Path] = dataclasses.field(default_factory=list)
    spellings: list[tuple[SearchNode, Edge]] = dataclasses.field(default_factory=list)
    address: str = ""
    module: int = -1
    found: FoundModule | FoundVariable | None = None


class _Path:
    """One way from the root to ``node``."""

    __slots__ = ("cost", "depth", "edge", "node", "parent")

    def __init__(self, parent: _Path | None, node: SearchNode, edge: Edge, cost: int) -> None:
        self.parent, self.node, self.edge, self.cost = parent, node, edge, cost
        self.depth: int = parent.depth + 1 if parent is not None else 0

    def contains(self, node: SearchNode) -> bool:
        step: _Path | None = self
        while step is not None:
            if step.node is node:
                return True
            step = step.parent
        return False

    def text(self) -> str:
        parts: list[str] = []
        step: _Path | None = self
        while step is not None:
            parts[:0] = step.edge.segments
            step = step.parent
        return ".".join(parts)


def _cost(edge: Edge) -> int:
    private = sum([segment[:1] == "_" for segment in edge.segments])
    return edge.rank * _RANK_COST + private * _PRIVATE_COST + len(edge.segments)


class Search:
    """One discovery. Paths are popped cheapest first, so an object's first path is its address."""

    def __init__(self, root: object, more: Iterable[Edge] = ()) -> None:
        """Prepare the search from ``root``, which has ``more`` edges beside its own."""
        self.reach = Reach()
        self._nodes: dict[int, SearchNode] = {}
        self._heap: list[tuple[int, int, _Path]] = []
        self._order = itertools.count()
        self._truncated = False
        self._holders = 0
        obj, edges = self._peel(root)
        kind = self.reach.kind(obj)
        edges = [*self.reach.edges(obj, kind), *edges, *more]
        if kind == _kinds.METHOD:  # the attributes of its object are the root's own
            edges = [e._replace(segments=()) if e.segments == ("__self__",) else e for e in edges]
        self._root = SearchNode(obj, kind, 0)
        self._nodes[id(obj)] = self._root
        self._root.steps = self._steps(self._root, edges)

    def run(self) -> Discovery:
        """Search, then describe what was found in reading order."""
        root = self._root
        self._push(None, root, Edge((), root.kind, root.obj), 0)
        self._drain()
        while self._push_unreached():
            self._drain()
        found = Discovery([], [])
        self._describe(found)
        self._set_aliases()
        self._count_parameters()
        found.truncated = self._truncated
        return found

    @property
    def root(self) -> object:
        """The object that addresses start from: not that given, where a method was given."""
        return self._root.obj

    def reached(self) -> list[SearchNode]:
        """Every object that the search has found a path to."""
        return [node for node in self._nodes.values() if node.paths]

    def _peel(self, root: Any) -> tuple[Any, list[Edge]]:
        """The module that a method, partial or ``tf.function`` belongs to is the root itself."""
        extra: list[Edge] = []
        value = root
        for _ in range(16):
            kind = self.reach.kind(value)
            if kind == _kinds.MODULE:
                return value, extra
            inner = _inner_callable(value, kind)
            if inner is None:
                break
            extra += self.reach.edges(value, kind)
            value = inner
        return root, []

    def _steps(self, owner: SearchNode, edges: list[Edge]) -> list[tuple[Edge, SearchNode, int]]:
        steps: list[tuple[Edge, SearchNode, int]] = []
        for edge in edges:
            value = edge.value
            if edge.kind == _kinds.VARIABLE:
                value = _kinds.resource_of(value)
            node = self._nodes.get(id(value))
            if node is None:
                self._holders += edge.kind not in (_kinds.MODULE, _kinds.VARIABLE)
                if len(self._nodes) >= MAX_OBJECTS or self._holders > MAX_HOLDERS:
                    self._truncated = True
                    continue
                node = self._nodes[id(value)] = SearchNode(edge.value, edge.kind, len(self._nodes))
            if edge.propagates:
                steps.append((edge, node, _cost(edge)))
            else:
                node.spellings.append((owner, edge))
        return steps

    def _push(self, parent: _Path | None, node: SearchNode, edge: Edge, cost: int) -> None:
        total = cost if parent is None else parent.cost + cost
        heapq.heappush(self._heap, (total, next(self._order), _Path(parent, node, edge, total)))

    def _drain(self) -> None:
        while self._heap:
            _, _, path = heapq.heappop(self._heap)
            node, parent = path.node, path.parent
            if len(node.paths) > MAX_ALIASES or (parent is not None and parent.contains(node)):
                continue
            node.paths.append(path)
            if node.kind == _kinds.VARIABLE:
                continue
            if path.depth >= MAX_DEPTH:
                self._truncated = True
                continue
            if node.steps is None:
                node.steps = self._steps(node, self.reach.edges(node.obj, node.kind))
            for edge, child, cost in node.steps:
                if len(child.paths) <= MAX_ALIASES:
                    self._push(path, child, edge, cost)

    def _push_unreached(self) -> bool:
        """What only a Keras tracker knows: a weight that no attribute holds, a replaced layer."""
        pushed = False
        for node in list(self._nodes.values()):
            if node.kind not in (_kinds.MODULE, _kinds.HOLDER) or node.steps is None:
                continue
            steps = self._steps(node, self.reach.fallback(node.obj, self._nodes))
            node.steps.extend(steps)
            for edge, child, cost in steps:
                self._push(node.paths[0], child, edge, cost)
                pushed = True
        return pushed

    def _in_order(self) -> Iterator[tuple[SearchNode, int]]:
        """Every node below the parent of its address, in the order found, with its module."""
        stack: list[tuple[SearchNode, int]] = [(self._root, -1)]
        while stack:
            node, owner = stack.pop()
            yield node, owner
            children: dict[int, SearchNode] = {}
            for edge, child, _ in node.steps or ():
                path = child.paths[0] if child.paths else None
                if path and path.edge is edge and path.parent and path.parent.node is node:
                    children[id(child)] = child
            stack.extend((child, node.module) for child in reversed(children.values()))

    def _describe(self, found: Discovery) -> None:
        taken: set[str] = {ROOT_ADDRESS}
        frozen: list[bool] = []
        for node, owner in self._in_order():
            path = node.paths[0]
            above = path.parent.node.address if path.parent else ""
            node.address = ".".join((above, *path.edge.segments) if above else path.edge.segments)
            node.module = owner
            if node is self._root or node.kind == _kinds.MODULE:
                node.address = unique(node.address, taken)
                node.module = len(found.modules)
                node.found = _found_module(node, owner, self.reach)
                frozen.append(_is_frozen(node.obj) or (owner >= 0 and frozen[owner]))
                found.modules.append(node.found)
            elif node.kind == _kinds.VARIABLE:
                node.address = unique(node.address, taken)
                node.found = _found_variable(node, owner, frozen[owner])
                found.variables.append(node.found)

    def _set_aliases(self) -> None:
        """Other paths, then names that no path spells; what two objects would share is neither."""
        slots = self._slot_names()
        kept = [node for node in self._nodes.values() if node.found is not None]
        taken = {node.found.address for node in kept if node.found is not None}
        paths = {node.order: _other_paths(node) for node in kept}
        names = {node.order: _names(node, slots) for node in kept}
        path_uses = Counter(p for mine in paths.values() for p in mine)
        name_uses = Counter(n for mine in names.values() for n in mine)
        for node in kept:
            assert node.found is not None
            mine = paths[node.order]
            aliases = [p for p in mine if path_uses[p] == 1 and p not in taken]
            for name in names[node.order]:
                free = name not in path_uses and name not in taken
                if free and name_uses[name] == 1:
                    aliases.append(name)
            node.found.aliases = tuple(aliases)

    def _slot_names(self) -> dict[int, str]:
        """Optimizer slots by the parameter they belong to: ``optimizer.momentums.head.kernel``."""
        names: dict[int, str] = {}
        for node in self._nodes.values():
            if node.kind != _kinds.HOLDER or not node.paths:
                continue
            for slot_name, slot, parameter in self.reach.slot_references(node.obj):
                slot_node = self._nodes.get(id(_kinds.resource_of(slot)))
                target = self._nodes.get(id(_kinds.resource_of(parameter)))
                if slot_node is not None and target is not None and target.address:
                    names[slot_node.order] = ".".join((node.address, slot_name, target.address))
        return names

    def _count_parameters(self) -> None:
        sizes: dict[int, int] = {}
        for node in self._nodes.values():
            if node.kind == _kinds.VARIABLE:
                sizes[id(node.found)] = _size(node.obj)
        for node in self._nodes.values():
            if isinstance(node.found, FoundModule):
                counted = self.reach.restored.parameters(node.obj)
                if counted is not None:
                    node.found.num_params, node.found.num_trainable = counted
                    continue
                for variable in self._weights(node):
                    node.found.num_params += sizes[id(variable)]
                    node.found.num_trainable += sizes[id(variable)] * variable.trainable

    def _weights(self, node: SearchNode) -> list[FoundVariable]:
        """Variables of a module and of those below it; not metrics, seeds or optimizer slots."""
        path = node.paths[0]
        seen = {node.order}
        while path.parent is not None:  # a way back up leads to what is not the module's own
            path = path.parent
            seen.add(path.node.order)
        stack, weights = [node], []
        while stack:
            for _, child, _ in stack.pop().steps or ():
                if child.order in seen:
                    continue
                seen.add(child.order)
                if isinstance(child.found, FoundVariable):
                    weights.append(child.found)
                elif child.steps and not self._is_side_state(child):
                    stack.append(child)
        return weights

    def _is_side_state(self, node: SearchNode) -> bool:
        if node.kind != _kinds.HOLDER:
            return False
        return issubclass(type(node.obj), self.reach.frameworks.keras_state)


def _inner_callable(value: Any, kind: int) -> Any:
    if kind == _kinds.METHOD:
        return _kinds.method_self(value)
    if kind == _kinds.PARTIAL:
        return value.func
    if kind == _kinds.TF_FUNCTION:
        return _kinds.attributes_of(value).get("_python_function")
    if kind == _kinds.FUNCTION:
        return _kinds.attributes_of(value).get("__wrapped__")
    return None


def unique(address: str, taken: set[str]) -> str:
    """``address``, or with a number where a dictionary key spells the path of another object."""
    if not address:
        return ""  # the root
    unique, number = address, 2
    while unique in taken:
        unique, number = f"{address}~{number}", number + 1
    taken.add(unique)
    return unique


def _found_module(node: SearchNode, parent: int, reach: Reach) -> FoundModule:
    described = reach.restored.described(node.obj)
    if described is not None:
        return FoundModule(node.obj, node.address or ROOT_ADDRESS, (), parent, *described)
    class_name = type(node.obj).__name__
    attributes = _kinds.attributes_of(node.obj)
    name = _kinds.name_of(node.obj) or attributes.get("__name__")
    if node.kind == _kinds.FUNCTION:
        name = node.obj.__name__
    address = node.address or ROOT_ADDRESS
    return FoundModule(node.obj, address, (), parent, class_name, str(name or class_name))


def _is_frozen(obj: Any) -> bool:
    return _kinds.attributes_of(obj).get("_trainable") is False


def _found_variable(node: SearchNode, owner: int, frozen: bool) -> FoundVariable:
    """A variable is trainable where neither it nor any module above it is frozen."""
    trainable = _kinds.attributes_of(node.obj).get("_trainable")
    if trainable is None:  # a wrapper, as the variables of a distribution strategy are
        trainable = getattr(node.obj, "trainable", False)
    name = _kinds.name_of(node.obj) or node.address.rpartition(".")[2]
    return FoundVariable(node.obj, node.address, (), owner, name, bool(trainable) and not frozen)


def _other_paths(node: SearchNode) -> dict[str, None]:
    paths = dict.fromkeys([path.text() for path in node.paths[1:]])
    for owner, edge in node.spellings:
        segments = edge.segments
        paths[".".join((owner.address, *segments) if owner.address else segments)] = None
    return paths


def _names(node: SearchNode, slots: dict[int, str]) -> dict[str, None]:
    """What Keras and TensorFlow call it; an optimizer slot also goes by its parameter."""
    names: dict[str, None] = {}
    name = _kinds.name_of(node.obj)
    parent = node.paths[0].parent
    if name and node.kind != _kinds.VARIABLE:
        names[name] = None
    elif name and parent is not None:
        above = parent.node.address
        names[f"{above}.{name}" if above else name] = None
    if node.order in slots:
        names[slots[node.order]] = None
    attributes = _kinds.attributes_of(node.obj)
    path = attributes.get("_path") or attributes.get("path")
    if isinstance(path, str) and path:
        names[path] = None
    return names


def _size(variable: Any) -> int:
    """Number of elements by the static shape that is stored; 0 where none is known yet."""
    shape = _kinds.attributes_of(variable).get("_shape")
    if shape is None:
        shape = getattr(_kinds.resource_of(variable), "shape", None)
    if shape is None or getattr(shape, "rank", 0) is None:
        return 0
    sizes = list(shape)
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else 0
