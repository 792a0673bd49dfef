"""Wrapping of module calls, only while something records, and undone exactly.

A class's ``__call__`` and ``call`` are replaced by a callable of the engine that opens and closes a
module call when the calling thread records, and passes straight through otherwise. Patches are
counted, so that recordings on several threads share them.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
import weakref
from collections.abc import Iterable
from typing import Any

from . import _autograph, _bodies, _core, _graphs, _runtime

_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: classes written in C

# Where Keras says that a layer needs a call of its own.
_ABSTRACT = ("keras.src.layers.layer", "keras.src.ops.operation")

_MISSING = object()

_lock = threading.RLock()
# (owner, attribute name) -> [how many recordings hold it, what it held before]
_held: dict[tuple[Any, str], list[Any]] = {}


class Patches:
    """Patches of one recording. ``release`` undoes those that no other recording holds."""

    def __init__(self) -> None:
        self._mine: set[tuple[Any, str]] = set()

    def hold(self, owner: Any, name: str, replacement: Any) -> None:
        """Sets ``owner.name`` to ``replacement(original)`` unless a recording did so already."""
        key = (owner, name)
        with _lock:
            if key in self._mine:
                return
            entry = _held.get(key)
            if entry is None:
                original = owner.__dict__[name]
                setattr(owner, name, replacement(original))
                entry = _held[key] = [0, original]
            entry[0] += 1
            self._mine.add(key)

    def release(self) -> None:
        with _lock:
            for key in self._mine:
                entry = _held[key]
                entry[0] -= 1
                if entry[0] == 0:
                    owner, name = key
                    if entry[1] is _MISSING:
                        delattr(owner, name)
                    else:
                        setattr(owner, name, entry[1])
                    del _held[key]
            self._mine.clear()

    def add(self, owner: Any, name: str, value: Any) -> None:
        """Sets ``owner.name``, which ``owner`` does not have itself, until the release."""
        key = (owner, name)
        with _lock:
            if key in self._mine or (key not in _held and name in vars(owner)):
                return
            entry = _held.get(key)
            if entry is None:
                setattr(owner, name, value)
                entry = _held[key] = [0, _MISSING]
            entry[0] += 1
            self._mine.add(key)

    def hold_module(self, cls: type) -> None:
        """Wraps what runs when a module of this class is called, in ``cls`` and its bases."""
        keras = _runtime.keras()
        of_keras = keras is not None and issubclass(cls, keras.Operation)
        self._hold_class(cls, ("__call__", "call") if of_keras else ("__call__",))

    def _hold_class(self, cls: type, methods: Iterable[str]) -> None:
        # To set an attribute of a class costs by the number of its subclasses, and Python forgets
        # what it knows of them all: no more is set than is needed.
        shown = any((base, _autograph.NAME) in self._mine for base in cls.__mro__)
        if not shown and not cls.__flags__ & _IMMUTABLE:
            self.add(cls, _autograph.NAME, _autograph.Artifact())
        for base in cls.__mro__:
            if base.__flags__ & _IMMUTABLE:
                continue
            for name in methods:
                if name in base.__dict__ and _wrappable(base.__dict__[name], name):
                    self.hold(base, name, _wrapper_of(name))


def held_patches() -> int:
    """How many attributes are replaced now; zero when nothing records."""
    with _lock:
        return len(_held)


def _wrappable(attribute: Any, name: str) -> bool:
    if isinstance(attribute, (staticmethod, classmethod, property)):
        return False
    if name == "call" and getattr(attribute, "__module__", None) in _ABSTRACT:
        return False
    return callable(attribute) or hasattr(attribute, "__get__")


def _wrapper_of(name: str) -> Any:
    is_body = name == "call"

    def wrap(original: Any) -> Any:
        position, default = _training_parameter_of(original) if is_body else (-1, None)
        return _core.make_call_wrapper(original, is_body, position, default)

    return wrap


_training_parameters: weakref.WeakKeyDictionary[Any, tuple[int, Any]] = weakref.WeakKeyDictionary()


def _training_parameter_of(function: Any) -> tuple[int, Any]:
    # Other callables may be equal without being the same.
    if not isinstance(function, types.FunctionType):
        return _training_parameter(function)
    found = _training_parameters.get(function)
    if found is None:
        found = _training_parameters[function] = _training_parameter(function)
    return found


def _training_parameter(function: Any) -> tuple[int, Any]:
    """Position after self and default of the ``training`` parameter; -1 where there is none."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return -1, None
    for i, parameter in enumerate(parameters):
        if parameter.name == "training":
            default = parameter.default
            return i - 1, None if default is inspect.Parameter.empty else default
    return -1, None


def hold_tracing_regions(patches: Patches) -> None:
    """Eager ops that run while TensorFlow traces a function go into a region of their own."""
    from tensorflow.python.framework import func_graph

    patches.hold(func_graph, "func_graph_from_py_func", _traced_in_region)


@functools.cache
def _traced_in_region(original: Any) -> Any:
    @functools.wraps(original)
    def func_graph_from_py_func(name: str, *args: Any, **kwargs: Any) -> Any:
        session = _core.current_session()
        if session is None or not session.recording:
            return original(name, *args, **kwargs)
        region = session.open_region("tracing", str(name))
        try:
            return original(name, *args, **kwargs)
        finally:
            if session.recording:
                session.close_region(region)

    return func_graph_from_py_func


def hold_autograph(patches: Patches) -> None:
    """AutoGraph forgets what it was shown of wrapped classes; see ``_autograph``."""
    from tensorflow.python.autograph.impl import conversion

    patches.hold(conversion, "cache_allowlisted", _autograph.without_cache)


def hold_function_names(patches: Patches) -> None:
    """Which graph a function of TensorFlow's context was made from."""
    from tensorflow.python.eager.polymorphic_function import atomic_function

    if "from_func_graph" in vars(atomic_function):
        patches.hold(atomic_function, "from_func_graph", _registered)


@functools.cache
def _registered(original: Any) -> Any:
    @functools.wraps(original)
    def from_func_graph(name: Any, graph: Any, *args: Any, **kwargs: Any) -> Any:
        function = original(name, graph, *args, **kwargs)
        _graphs.register(name, graph)
        return function

    return from_func_graph


def hold_parts(patches: Patches, keras: Any) -> None:
    """Parts of a train step that are no layers stand in regions: loss, optimizer, metrics."""
    for cls, method, part in (
        (keras.Optimizer, "apply", "optimizer"),
        (keras.Model, "compute_loss", "loss"),
        (keras.Model, "compute_metrics", "metrics"),
    ):
        owner = next((base for base in cls.__mro__ if method in base.__dict__), None)
        if owner is not None:
            patches.hold(owner, method, functools.partial(_in_part, part))


@functools.cache
def _in_part(part: str, original: Any) -> Any:
    @functools.wraps(original)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        session = _core.current_session()
        if session is None or not session.recording:
            return original(*args, **kwargs)
        leave = _bodies.enter_part(session, part)
        try:
            return original(*args, **kwargs)
        finally:
            if session.recording:
                leave()

    return recorded
