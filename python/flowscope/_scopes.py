"""Module calls of a graph that nobody watched being traced, told from its name scopes.

Keras opens a scope with the layer's name around every call: ``model/conv1/convolution``. TensorFlow
adds ``_1``, ``_2`` where a name is taken, and Keras' own names end so too, so that a scope
``dense_1`` can be the second use of ``dense``. The variables that ops of the scope read decide; a
scope without variables is read as the others of its graph are.
"""

from __future__ import annotations

import re
from typing import Any

from . import _restored, _runtime, _training
from ._found import Discovery
from ._traced import BY_NAME, TracedCall

_NUMBER = re.compile(r"_\d+$")


def match(graph: Any, found: Discovery) -> list[TracedCall | None] | None:
    """The innermost call of each op of the graph; None where no scope is a module's."""
    return _Matcher(graph, found).owners()


class _Matcher:
    def __init__(self, graph: Any, found: Discovery) -> None:
        self._graph = graph
        self._ops = graph.get_operations()
        self._modules = found.modules
        self._by_name: dict[str, list[int]] = {}
        for number, module in enumerate(found.modules):
            name = str(getattr(module.obj, "name", "") or "")
            if name and not isinstance(module.obj, _restored.Layer):
                self._by_name.setdefault(name, []).append(number)
        self._read = self._modules_read(found)
        self._stripped = self._names_are_numbered()
        self._calls: dict[str, TracedCall] = {}

    def owners(self) -> list[TracedCall | None] | None:
        if not self._by_name:
            return None
        owners = [self._call(op.name.rpartition("/")[0]) for op in self._ops]
        if not self._calls:
            return None
        self._connect(owners)
        _training.tell(self._ops, owners, self._calls.values())
        return owners

    def _modules_read(self, found: Discovery) -> dict[str, set[int]]:
        """The modules whose variables the ops below each scope read."""
        owners = {
            id(handle): variable.module
            for variable in found.variables
            if (handle := getattr(variable.resource, "handle", None)) is not None
        }
        outside = {id(inner): outer for outer, inner in self._graph.captures}
        read: dict[str, set[int]] = {}
        for op in self._ops:
            for given in op.inputs:
                if id(given) not in outside:
                    continue
                module = owners.get(id(_outermost(outside[id(given)])))
                if module is None:
                    continue
                for scope in _scopes_of(op.name):
                    read.setdefault(scope, set()).add(module)
        return read

    def _candidates(self, component: str, stripped: bool) -> list[int]:
        return self._by_name.get(_NUMBER.sub("", component) if stripped else component, [])

    def _holds(self, module: int, others: set[int]) -> bool:
        return all(module in self._above(other) for other in others)

    def _above(self, module: int) -> list[int]:
        line = []
        while module >= 0:
            line.append(module)
            module = self._modules[module].parent
        return line

    def _names_are_numbered(self) -> bool:
        """Whether scopes stand for the names without the number at their end."""
        votes = 0
        for scope, modules in self._read.items():
            component = scope.rpartition("/")[2]
            for stripped, weight in ((True, 1), (False, -1)):
                if any(self._holds(m, modules) for m in self._candidates(component, stripped)):
                    votes += weight
        return votes > 0

    def _call(self, scope: str) -> TracedCall | None:
        """The innermost call that a scope is in."""
        if not scope or "gradient_tape" in scope:
            return None
        if scope in self._calls:
            return self._calls[scope]
        above, _, component = scope.rpartition("/")
        outer = self._call(above)
        module = self._module(scope, component, outer)
        if module is None:
            return outer
        call = TracedCall(self._graph, outer, BY_NAME, "")
        call.module = _runtime.weak(self._modules[module].obj)
        call.scope = scope
        self._calls[scope] = call
        return call

    def _module(self, scope: str, component: str, outer: TracedCall | None) -> int | None:
        read = self._read.get(scope, set())
        around = outer.module() if outer is not None else None
        for stripped in (self._stripped, not self._stripped):
            for number in self._candidates(component, stripped):
                if self._holds(number, read) and self._is_below(number, around):
                    return number
        return None

    def _is_below(self, number: int, around: Any) -> bool:
        if around is None:
            return True
        return any(self._modules[m].obj is around for m in self._above(number)[1:])

    def _connect(self, owners: list[TracedCall | None]) -> None:
        """Inputs and outputs of calls by what passes their borders."""
        chains = {op.name: _chain(owner) for op, owner in zip(self._ops, owners, strict=True)}
        seen: set[tuple[int, bool, str, int]] = set()
        for op in self._ops:
            for tensor in op.inputs:
                _pass(tensor, chains[tensor.op.name], chains[op.name], seen)
        for tensor in self._graph.outputs:
            _pass(tensor, chains.get(tensor.op.name, []), [], seen)


def _pass(
    tensor: Any,
    source: list[TracedCall],
    target: list[TracedCall],
    seen: set[tuple[int, bool, str, int]],
) -> None:
    if tensor.dtype.name in ("resource", "variant") or tensor.op.type == "Const":
        return
    value = (tensor.op.name, tensor.value_index)
    for calls, others, is_output in ((source, target, True), (target, source, False)):
        for call in calls:
            key = (id(call), is_output, *value)
            if call in others or key in seen:
                continue
            seen.add(key)
            values, name = (call.outputs, "output") if is_output else (call.inputs, "args")
            values.append((f"{name}[{len(values)}]", value))


def _chain(call: TracedCall | None) -> list[TracedCall]:
    line = []
    while call is not None:
        line.append(call)
        call = call.above
    return line


def _scopes_of(name: str) -> list[str]:
    parts = name.split("/")[:-1]
    return ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]


def _outermost(tensor: Any) -> Any:
    """The eager handle behind a placeholder that functions inside each other pass on."""
    while True:
        graph = getattr(tensor, "graph", None) if hasattr(tensor, "op") else None
        captures = getattr(graph, "captures", None) or ()
        outer = next((o for o, inner in captures if inner is tensor), None)
        if outer is None:
            return tensor
        tensor = outer
