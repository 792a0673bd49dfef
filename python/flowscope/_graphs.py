"""Graphs by the name of the function that TensorFlow made of them."""

from __future__ import annotations

import gc
import sys
import weakref
from types import FrameType
from typing import Any

# What TensorFlow knows a function by -> the graph that it was made from, for as long as that lives.
_graph_of: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
# Functions whose graph is nowhere to be found: TensorFlow gives a name only once.
_unknown: set[str] = set()


def context() -> Any:
    """TensorFlow's eager context, as the engine takes it."""
    from tensorflow.python.eager import context as eager_context

    owner = eager_context.context()
    owner.ensure_initialized()
    return owner._handle


def register(name: Any, graph: Any) -> None:
    """A function of TensorFlow's context was made from ``graph``."""
    text = name.decode() if isinstance(name, bytes) else str(name)
    _graph_of[text] = graph


def graph_of(name: str) -> Any:
    """The graph behind a function's name; None where Python has none."""
    graph = _graph_of.get(name)
    if graph is None and name not in _unknown:
        graph = _find(name)
        if graph is None:
            _unknown.add(name)
    return graph


def _find(name: str) -> Any:
    """The graph of a function that was made before; TensorFlow keeps no list of those.

    The one that Python has just called stands on its stack, and with it all that it calls. Only
    where it is none of these, and is there at all, every object of the process is looked at.
    """
    from tensorflow.python.eager.polymorphic_function import atomic_function

    kind = atomic_function.AtomicFunction
    _register_all(_called_functions(kind))
    known = _graph_of.get(name)
    names = getattr(atomic_function, "RUNTIME_FUNCTION_REFS", None)
    if known is not None or (names is not None and name not in _texts(names)):
        return known
    _register_all([item for item in gc.get_objects() if type(item) is kind])
    return _graph_of.get(name)


def _texts(names: Any) -> set[str]:
    """Function names of a table whose keys are names, or end with one."""
    last = [key[-1] if isinstance(key, tuple) else key for key in names]
    return {key.decode() if isinstance(key, bytes) else str(key) for key in last}


def _called_functions(kind: type) -> list[Any]:
    """Functions of TensorFlow's that stand on this thread's stack.

    A frame keeps what its ``f_locals`` held, so those of others are not asked for theirs.
    """
    file = sys.modules[kind.__module__].__file__
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        called = frame.f_locals.get("self") if frame.f_code.co_filename == file else None
        if type(called) is kind:
            found.append(called)
        frame = frame.f_back
    return found


def _register_all(functions: list[Any]) -> None:
    """Registers functions and all that their graphs call."""
    unseen = list(functions)
    seen: set[int] = set()
    while unseen:
        function = unseen.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        unseen += getattr(function, "children", None) or ()
        graph = getattr(function, "_cached_graph", None)
        if graph is not None:
            register(function.name, graph)
            unseen += (getattr(graph, "_functions", None) or {}).values()
