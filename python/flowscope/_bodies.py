"""Who asked for the ops of a compiled function: module calls, parts, source lines.

While a recording traces a function, ``Bodies.enter`` and ``exit`` note which ops of the graph each
module call made. The notes stay with the graph, so that later recordings of the same function know
as much. For a function that was traced before any recording, name scopes and the variables that ops
read are matched to the model's layers (``_scopes``); such calls are marked "by name".
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _autograph, _graphs, _restored, _runtime, _scopes
from ._traced import TracedCall, Value, num_ops

# Nodes for which the interpreter runs no op.
_NEVER_RUN = ("Const", "Placeholder", "NoOp")
_GRADIENT = "gradient_tape/"

_notes: weakref.WeakKeyDictionary[Any, GraphNotes] = weakref.WeakKeyDictionary()
# By the outermost graph: those below it that have notes; and what _related_notes made of them.
_noted_below: weakref.WeakKeyDictionary[Any, weakref.WeakSet[Any]] = weakref.WeakKeyDictionary()
_related: weakref.WeakKeyDictionary[Any, tuple[int, list[dict[str, TracedCall]]]] = (
    weakref.WeakKeyDictionary()
)
_bodies: weakref.WeakKeyDictionary[Any, tuple[Callable[[], Any], Body]] = (
    weakref.WeakKeyDictionary()
)

Line = tuple[str, int, str]  # file, line, function
_OUTSIDE = "id:"  # in place of a node: an eager tensor that the graph may have taken in


class GraphNotes:
    """The calls that were traced into one graph, in the order in which they began."""

    def __init__(self) -> None:
        self.calls: list[TracedCall] = []


class Body(NamedTuple):
    """What is known of one graph, for every recording: rows as ``body_origins.cc`` takes them."""

    calls: list[tuple[TracedCall | None, int, list[tuple[str, int]], list[tuple[str, int]]]]
    nodes: list[tuple[str, int, int, int, bool]]
    values: list[Value]
    lines: list[Line]
    silent: list[tuple[str, int]]
    by_name: bool


def enter_part(session: Any, name: str) -> Callable[[], None]:
    """A part of a step with a name of its own begins, run or traced; call the result at its end."""
    from tensorflow.python.eager import context

    if context.executing_eagerly():
        region = session.open_region("function", name)
        return lambda: session.close_region(region)
    bodies = session.bodies
    call = bodies.enter_part(name) if bodies is not None else None
    return lambda: None if call is None else bodies.exit(call, None)


class Bodies:
    """What one recording asks and notes about functions."""

    def __init__(self, number_of: Callable[[Any, int, Any], int], found: Callable[[], Any]) -> None:
        """``number_of`` gives a module's number; its last argument tells the call around it.

        ``found`` gives what discovery knows of the root.
        """
        self._number_of = number_of
        self._found = found
        self._open: list[TracedCall] = []
        self._held: list[Any] | None = None
        self._described = 0
        self.by_name = False
        self.by_nodes = False  # calls of a restored model
        self._restored: tuple[int, _restored.Numbered] = (0, [])  # by the number of modules

    def hold_all(self) -> None:
        """From now on modules and eager tensors that calls meet live as long as this does.

        For a graph that is described only once: modules made in a call are still there then, and
        arguments from outside of the graph are told by what the graph makes of them.
        """
        self._held = []

    # While a function is traced.

    def enter(self, module: Any, args: Any, kwargs: Any, method: str, text: str) -> Any:
        """A module call begins while a graph is built; None where there is no such graph."""
        call = self._begin(method, text)
        if call is not None:
            call.module = _runtime.weak(module)
            if self._held is not None:
                self._held.append(module)
            for i, value in enumerate(args):
                _add_values(value, f"args[{i}]", call, call.inputs, self._held)
            for key, value in kwargs.items():
                _add_values(value, key, call, call.inputs, self._held)
        return call

    def enter_part(self, name: str) -> TracedCall | None:
        """A part of a step with a name of its own begins: the optimizer, the metrics."""
        call = self._begin("", "")
        if call is not None:
            call.part = name
        return call

    def _begin(self, method: str, text: str) -> TracedCall | None:
        graph = _default_graph()
        if graph is None:
            return None
        call = TracedCall(graph, self._open[-1] if self._open else None, method, text)
        notes = _notes.get(graph)
        if notes is None:
            notes = _notes[graph] = GraphNotes()
            _noted_below.setdefault(_root_of(graph), weakref.WeakSet()).add(graph)
        notes.calls.append(call)
        self._open.append(call)
        return call

    def converted(self, module: Any, method: Any) -> Any:
        """A module's method as it is to be called while a graph is built."""
        return _autograph.converted(module, method)

    def exit(self, call: TracedCall, result: Any) -> None:
        """The call has ended; ``result`` None where it failed or gave nothing."""
        while self._open and self._open.pop() is not call:
            pass
        graph = call.graph()
        if graph is not None:
            call.end = num_ops(graph)
            _add_values(result, "output", call, call.outputs, self._held)

    # While a function runs.

    def describe(self, function: str) -> Any:
        """Calls, nodes, values and lines of a function's body; None where nothing is known."""
        known = _restored.origins(self._restored_models(), function)
        if known is not None:
            self.by_nodes = True
            return known
        graph = _graphs.graph_of(function)
        if graph is None:
            return None
        return self.describe_graph(graph)

    def _restored_models(self) -> _restored.Numbered:
        found = self._found()
        modules = found.modules if found is not None else []
        if self._restored[0] != len(modules):
            numbers = _restored.numbered(modules, lambda one: self._number_of(one, -1, None))
            self._restored = len(modules), numbers
        return self._restored[1]

    def describe_graph(self, graph: Any) -> Any:
        """The same for a graph at hand, of which no function need have been made."""
        body = self._body(graph)
        self.by_name = self.by_name or body.by_name
        return self._call_rows(body), body.nodes, body.values, body.lines, body.silent

    def _body(self, graph: Any) -> Body:
        found = self._found()
        root = found.modules[0].obj if found is not None and found.modules else None
        known = _bodies.get(graph)
        if known is not None and (known[0]() is root or not known[1].by_name):
            return known[1]
        body = _Description(graph, found).body()
        _bodies[graph] = (_runtime.weak(root), body)
        return body

    def _call_rows(self, body: Body) -> list[Any]:
        rows: list[Any] = []
        self._described += 1
        for call, above, inputs, outputs in body.calls:
            if call is None:
                rows.append((-1, "backward", "gradient_tape", -1, "", "", "", [], []))
                continue
            module = call.module()
            number = -1
            if module is not None:
                outer = rows[above][0] if above >= 0 else -1
                number = self._number_of(module, outer, (self._described, above))
            texts = (call.method, call.training, call.kwargs)
            rows.append((number, "function", call.part, above, *texts, inputs, outputs))
        return rows


class _Description:
    """Makes the ``Body`` of one graph."""

    def __init__(self, graph: Any, found: Any) -> None:
        self._graph = graph
        self._found = found
        self._ops = graph.get_operations()
        self._numbers: dict[int, int] = {}  # by id of the call; 0: the backward part
        self._calls: list[Any] = []
        self._values: dict[Value, int] = {}
        self._arguments = {given.op.name: i for i, given in enumerate(graph.inputs)}
        self._captured = {id(outer): inner.op.name for outer, inner in graph.captures}
        self._related = _related_notes(_root_of(graph))
        self._lines = _lines_of(self._ops)
        self._by_name = False

    def body(self) -> Body:
        sites: dict[Line, int] = {}
        nodes = []
        for op, owner in zip(self._ops, self._owners(), strict=True):
            name = op.name
            backward = _GRADIENT in name
            gradient_of = self._forward_owner(_forward_name(name)) if backward else -1
            line = self._lines.get(name)
            if line is None and backward:
                line = self._forward_line(_forward_name(name))
            site = -1 if line is None else sites.setdefault(line, len(sites))
            call = self._backward_part() if backward else self._number(owner)
            nodes.append((name, call, site, gradient_of, backward))
        silent = self._silent_calls()
        return Body(self._calls, nodes, list(self._values), list(sites), silent, self._by_name)

    def _silent_calls(self) -> list[tuple[str, int]]:
        """Calls that make no op that runs, such as dropout in inference, before the next that does.

        The empty name stands for the end of the body.
        """
        notes = _notes.get(self._graph)
        if notes is None:
            return []
        owners = _by_interval(notes.calls, len(self._ops))
        runs = [op.type not in _NEVER_RUN for op in self._ops]
        heard: set[int] = set()
        for owner, does_run in zip(owners, runs, strict=True):
            while does_run and owner is not None and id(owner) not in heard:
                heard.add(id(owner))
                owner = owner.above
        found = []
        for call in notes.calls:
            if id(call) not in heard and call.module() is not None:
                after = range(call.first, len(self._ops))
                name = next((self._ops[i].name for i in after if runs[i]), "")
                found.append((name, self._number(call)))
        return found

    def _owners(self) -> list[Any]:
        notes = _notes.get(self._graph)
        if notes is not None:
            return _by_interval(notes.calls, len(self._ops))
        if self._related:
            return [self._by_related_name(op.name) for op in self._ops]
        owners = _scopes.match(self._graph, self._found) if self._found is not None else None
        if owners is None:
            return [None] * len(self._ops)
        self._by_name = True
        names = {op.name: owner for op, owner in zip(self._ops, owners, strict=True) if owner}
        self._related = [names | {owner.scope: owner for owner in names.values()}]
        return owners

    def _by_related_name(self, name: str) -> TracedCall | None:
        """A copy of a traced graph, as gradients of loops make, keeps the names of its nodes."""
        for prefix in _prefixes(name):
            for names in self._related:
                if prefix in names:
                    return names[prefix]
        return None

    def _forward_owner(self, forward: str) -> int:
        owner = self._by_related_name(forward)
        while owner is not None and owner.part:
            owner = owner.above
        return self._number(owner)

    def _forward_line(self, forward: str) -> Line | None:
        for prefix in _prefixes(forward):
            if prefix in self._lines:
                return self._lines[prefix]
        return None

    def _backward_part(self) -> int:
        number = self._numbers.setdefault(0, len(self._calls))
        if number == len(self._calls):
            self._calls.append((None, -1, [], []))
        return number

    def _number(self, call: TracedCall | None) -> int:
        if call is None:
            return -1
        known = self._numbers.get(id(call))
        if known is not None:
            return known
        above = self._number(call.above)
        inside = call.graph() is self._graph
        inputs = self._numbered(call.inputs) if inside else []
        outputs = self._numbered(call.outputs) if inside else []
        number = self._numbers[id(call)] = len(self._calls)
        self._calls.append((call, above, inputs, outputs))
        return number

    def _numbered(self, values: list[tuple[str, Value]]) -> list[tuple[str, int]]:
        numbers = self._values
        known = [(path, self._value(value)) for path, value in values]
        return [
            (path, numbers.setdefault(value, len(numbers)))
            for path, value in known
            if value is not None
        ]

    def _value(self, value: Value) -> Value | None:
        if value[0].startswith(_OUTSIDE):
            node = self._captured.get(int(value[0].removeprefix(_OUTSIDE)))
            return None if node is None else (node, 0)
        argument = self._arguments.get(value[0])
        return value if argument is None else ("", argument)


def _by_interval(calls: list[TracedCall], count: int) -> list[TracedCall | None]:
    owners: list[TracedCall | None] = [None] * count
    for call in calls:  # those inside began later
        end = min(call.end, count)
        owners[call.first : end] = [call] * max(end - call.first, 0)
    return owners


def _related_notes(root: Any) -> list[dict[str, TracedCall]]:
    """Owners by node name and by scope, for each graph traced below the same outermost one."""
    graphs = list(_noted_below.get(root, ()))
    calls = sum(len(_notes[graph].calls) for graph in graphs)
    known = _related.get(root)
    if known is not None and known[0] == calls:
        return known[1]
    related = []
    for graph in graphs:
        traced, ops = _notes[graph].calls, graph.get_operations()
        owners = zip(ops, _by_interval(traced, len(ops)), strict=True)
        names = {op.name: owner for op, owner in owners if owner is not None}
        related.append(names | {call.scope: call for call in traced if call.scope})
    _related[root] = (calls, related)
    return related


def _root_of(graph: Any) -> Any:
    while True:
        outer = getattr(graph, "outer_graph", None)
        if outer is None or not hasattr(outer, "outer_graph"):
            return graph
        graph = outer


def _prefixes(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]


def _forward_name(name: str) -> str:
    """``gradient_tape/dense/MatMul/MatMul_1`` was made for ``dense/MatMul``."""
    name = name.rpartition(_GRADIENT)[2]
    return name.rpartition("gradients/")[2]


def _default_graph() -> Any:
    from tensorflow.python.framework import ops

    graph = ops.get_default_graph()
    return graph if hasattr(graph, "outer_graph") else None


def _add_values(
    value: Any, path: str, call: TracedCall, out: list[tuple[str, Value]], held: list[Any] | None
) -> None:
    """Tensors of the call's graph in a nested structure, with their paths."""
    if isinstance(value, dict):
        for key, item in value.items():
            _add_values(item, f"{path}[{key!r}]", call, out, held)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _add_values(item, f"{path}[{i}]", call, out, held)
    else:
        graph = call.graph()
        op = getattr(value, "op", None) if getattr(value, "graph", None) is graph else None
        if op is not None and graph is not None:
            out.append((path, (op.name, value.value_index)))
        elif held is not None and hasattr(value, "_numpy_internal"):  # an eager tensor
            held.append(value)
            out.append((path, (f"{_OUTSIDE}{id(value)}", 0)))


def _lines_of(ops: list[Any]) -> dict[str, Line]:
    """The user's line by op name, from the graph's stack traces."""
    prefixes = tuple(_runtime.library_prefixes())
    library: dict[str, bool] = {}
    lines = {}
    for op in ops:
        line = _user_line(op.traceback, prefixes, library)
        if line is not None:
            lines[op.name] = line
    return lines


def _user_line(frames: Any, prefixes: tuple[str, ...], library: dict[str, bool]) -> Line | None:
    """The innermost frame that is the user's; None where the graph was read from a file."""
    for frame in reversed(list(frames or ())):
        file, number, function = frame[0], frame[1], frame[2]
        known = library.get(file)
        if known is None:
            known = library[file] = file.startswith(prefixes)
        if known:
            if file.endswith("function_def_to_graph.py"):
                return None
            continue
        return (file, int(number), function)
    return None
