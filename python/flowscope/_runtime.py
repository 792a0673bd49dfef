"""TensorFlow as this process has it: found, loaded into the engine, and tested once."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import sysconfig
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from . import _core
from .errors import FlowScopeError, UnavailableError

OLDEST_TENSORFLOW = (2, 16)


@functools.cache
def tensorflow() -> Any:
    """The user's TensorFlow, with its C API loaded into the engine."""
    try:
        import tensorflow as tf
    except ImportError as error:
        raise UnavailableError(
            "recording needs TensorFlow, which cannot be imported here "
            f'({error}); install it with: pip install "flowscope[tf]"'
        ) from error
    version = tuple(int(part) for part in tf.__version__.split(".")[:2])
    if version < OLDEST_TENSORFLOW:
        raise UnavailableError(
            f"TensorFlow {tf.__version__} is too old to be recorded; FlowScope needs 2.16 or "
            'newer: pip install -U "tensorflow>=2.16"'
        )
    _core.load_tensorflow(os.path.dirname(tf.__file__))
    return tf


def keras() -> Any:
    """Keras if it can be imported, on TensorFlow's backend; None without Keras."""
    if "keras" not in sys.modules:
        try:
            import keras as module
        except ImportError:
            return None
    else:
        module = sys.modules["keras"]
    backend = module.backend.backend() if hasattr(module, "backend") else "tensorflow"
    if backend != "tensorflow":
        raise UnavailableError(
            f"Keras runs on the {backend!r} backend here; FlowScope records TensorFlow. "
            "Set KERAS_BACKEND=tensorflow before Keras is imported"
        )
    return module


@functools.cache
def library_prefixes() -> list[str]:
    """Path prefixes of code that is not the user's: TensorFlow, Keras, FlowScope, the stdlib."""
    prefixes = [os.path.dirname(os.path.abspath(__file__)) + os.sep, "<frozen "]
    for name in ("tensorflow", "keras", "tf_keras"):
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if file is not None:
            prefixes.append(os.path.dirname(os.path.abspath(file)) + os.sep)
    stdlib = sysconfig.get_paths()["stdlib"]
    prefixes += [os.path.join(stdlib, name) for name in ("contextlib.py", "functools.py")]
    return prefixes


@functools.cache
def recorder_kind() -> str:
    """``"hook"`` where the execute hook works here, else ``"callbacks"``.

    ``FLOWSCOPE_RECORDER=callbacks`` asks for op callbacks.
    """
    asked = os.environ.get("FLOWSCOPE_RECORDER", "hook")
    if asked == "callbacks":
        return "callbacks"
    if asked != "hook":
        raise UnavailableError(
            f"FLOWSCOPE_RECORDER={asked!r} is not known; expected 'hook' or 'callbacks'"
        )
    return "hook" if hook_self_test() is None else "callbacks"


def hook_self_test() -> str | None:
    """Records one op through the hook; None where that works, else what went wrong."""
    tf = tensorflow()
    try:
        session = new_session({})
        value = tf.constant([1.0, 2.0])
        session.start()
        try:
            tf.raw_ops.Neg(x=value)
        finally:
            trace = session.stop("")
    except FlowScopeError as error:
        return str(error)
    counts = trace.op_counts()
    return None if counts == {"Neg": 1} else f"one Neg ran and {counts} was recorded"


@contextlib.contextmanager
def fresh_tensor_caches() -> Iterator[None]:
    """TensorFlow's caches of zeros and of shapes of ones, of this thread, as in a new process.

    Backward passes fill them: without this the second recording of a train step would have fewer
    ops than the first, and other labels.
    """
    from tensorflow.python.eager import context

    names = ("_ones_rank_cache", "_zeros_cache")
    caches = getattr(context, "_tensor_caches_map", {}).get(getattr(context.context(), "_id", None))
    if caches is None or not all(hasattr(caches, name) for name in names):
        yield
        return
    before = [getattr(caches, name) for name in names]
    for name in names:
        setattr(caches, name, None)
    try:
        yield
    finally:
        for name, held in zip(names, before, strict=True):
            setattr(caches, name, held)


def new_session(
    options: dict[str, Any],
    new_module: Any = None,
    callbacks: bool = False,
    bodies: Any = None,
) -> _core.Session:
    """An engine session with the given options over the defaults."""
    from tensorflow.python.eager import context

    return _core.Session(
        session_options(options),
        library_prefixes(),
        callbacks,
        new_module,
        context.executing_eagerly,
        bodies,
    )


def session_options(options: dict[str, Any]) -> dict[str, Any]:
    """All options that the engine reads: the given ones over the defaults."""
    defaults: dict[str, Any] = {
        "name": "",
        "root_kind": "block",
        "root_class": "",
        "keras_version": "",
        "keep_values": True,
        "code_context": True,
        "raise_on_nan": False,
        "save_budget": -1,
        "save": "all",
        "halt": None,
        "functions": "inside",
        "random": "compiled",
        "draws": None,
        "storage": None,
        "compare_compiled": False,
        "keep_steps": -1,
        "warn": lambda message: None,
    }
    return {**defaults, **options}


def weak(value: Any) -> Callable[[], Any]:
    """A reference that does not keep the object alive, where the object allows one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None
