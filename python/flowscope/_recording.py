"""One recording from start to end, as ``fs.trace`` and ``fs.capture`` use it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from . import _core, _kinds, _runtime, _structure, addresses
from ._bodies import Bodies
from ._modules import DeclaredModules
from ._patches import Patches, hold_autograph, hold_function_names, hold_parts, hold_tracing_regions
from ._steps import hold_steps
from .errors import InvalidArgumentError, NonFiniteError, RecordingStateError

_AUTO_BUDGET_SHARE = 0.4
_MEM_AVAILABLE = re.compile(rb"^MemAvailable:\s*(\d+)", re.MULTILINE)
_MEMINFO_HEAD = 512  # bytes; the line is the third


class Recording:
    """Holds everything that is in place while one thread records; ``finish`` takes it down."""

    def __init__(
        self, root: Any, options: dict[str, Any], arguments: addresses.Arguments = ()
    ) -> None:
        """``arguments`` of the root's call, by name: modules among them are found as the root's."""
        self._root = root
        self._arguments = arguments
        self._patches = Patches()
        self._found: addresses.Discovery | None = None
        self._refreshed_in = -1
        self._asked: dict[Any, int] = {}  # calls in bodies, by what tells them apart
        self._callback: Any = None
        self._caches = contextlib.ExitStack()
        self._streams = options.get("storage") is not None
        callbacks = _runtime.recorder_kind() == "callbacks"
        # Weak: the session would hold this object, which holds the session.
        owner = weakref.ref(self)
        self._bodies = Bodies(
            _weak_method(self._number_of), lambda: getattr(owner(), "_found", None)
        )
        self.session = _runtime.new_session(
            options, _weak_method(self._new_module), callbacks, self._bodies
        )
        self._modules = DeclaredModules(self.session, self._patches)
        self.config_source: Callable[[int], str] = lambda _: ""  # once the recording has ended
        self._callbacks = callbacks
        self.num_selected = 0  # ops that save= matched, once the recording has ended

    def start(self) -> None:
        """Raises RecordingStateError where this thread records already, or builds a graph."""
        if not _runtime.tensorflow().executing_eagerly():
            raise RecordingStateError(
                "a graph is built here (TensorFlow traces a tf.function, or in tf.Graph()): no op "
                "runs that could be recorded; record a call of the function from outside"
            )
        if self._root is not None:
            self._found = addresses.discover(self._root, self._arguments)
        # A predicate's error is kept by thread; one that an earlier run left is not this run's.
        with contextlib.suppress(Exception):
            _core.raise_predicate_error()
        self.session.start()
        try:
            self._caches.enter_context(_runtime.fresh_tensor_caches())
            self._patch()
            if self._found is not None:
                self._declare(self._found)
            if self._callbacks:
                self._start_callbacks()
        except BaseException:
            self._take_down()
            self.session.stop("the recording could not start")
            raise

    @property
    def found(self) -> addresses.Discovery | None:
        """What discovery knows of the root, once the recording has started."""
        return self._found

    @property
    def bodies(self) -> Bodies:
        """Who asked for the ops of functions."""
        return self._bodies

    def root_call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a restored root as it is to be called: the call is one of the root."""
        root = self._found.modules[0].obj if self._found is not None else function
        if root is function or not _kinds.is_restored(type(root)):
            return function

        def call(_root: Any, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        wrapper: Any = _core.make_call_wrapper(call, False, -1, None)
        return functools.partial(wrapper, root)

    def hold(self, owner: Any, name: str, replacement: Callable[[Any], Any]) -> None:
        """Sets ``owner.name`` to ``replacement(original)`` until the recording ends."""
        self._patches.hold(owner, name, replacement)

    def finish(self, error: str = "") -> _core.Trace:
        """The trace of what ran. Always takes everything down."""
        self._take_down()
        if self.session.num_unnamed_variables > 0:
            self._declare_late()
        self._modules.update_params()
        if self._streams:
            config = self._modules.config_source()
            self.session.set_stream_configs([config(i) for i in range(len(self._modules))])
        if self._bodies.by_name:
            self.session.add_note(
                "a function was traced before this recording: its module calls are told from name "
                "scopes, their method is 'by name'"
            )
        if self._bodies.by_nodes:
            self.session.add_note(_core.SCOPES_NOTE)
        self.num_selected = self.session.num_selected
        trace = self.session.stop(error)
        # Asks for code of the program, which is no part of what was recorded.
        self.config_source = self._modules.config_source()
        trace._set_config_source(self.config_source)  # type: ignore[attr-defined]
        return trace

    def __del__(self) -> None:
        # A block that never ended, such as an abandoned generator's: nothing stays replaced.
        with contextlib.suppress(Exception):
            self._take_down()

    def _take_down(self) -> None:
        if self._callback is not None:
            from tensorflow.python.framework import op_callbacks

            op_callbacks.remove_op_callback(self._callback)
            self._callback = None
        self._patches.release()
        self._caches.close()

    def _declare(self, found: addresses.Discovery) -> None:
        self._modules.declare(found)
        if found.truncated:
            self.session.add_note("the root holds more objects than discovery looks at")

    def _refresh(self) -> None:
        if self._found is not None:
            self._modules.refresh(self._found, self._root, self._arguments)

    def _declare_late(self) -> None:
        """Names variables that calls have made: in layers found, and in those met."""
        self._refresh()
        self._modules.look_below_all()

    def _patch(self) -> None:
        keras = _runtime.keras()
        if keras is not None:
            self._patches.hold_module(keras.Operation)
            self._patches.hold_module(keras.Layer)
        hold_tracing_regions(self._patches)
        hold_function_names(self._patches)
        hold_autograph(self._patches)
        if keras is not None:
            hold_parts(self._patches, keras)
            hold_steps(self._patches, keras)

    def _new_module(self, module: Any, parent: int, call: int) -> int:
        """A module that is first seen when it is called; the engine asks for its number.

        Negative: no module of its own (the graph inside a sequential model; a ``tf.function``,
        whose class is wrapped where the root is one).

        One made in ``build`` stands in an attribute by now and is found there. One made in ``call``
        is named after its parent.
        """
        frameworks = _kinds.frameworks()
        if issubclass(type(module), (*frameworks.tf_functions, *frameworks.concretes)):
            return -1
        if addresses.is_inner_graph(self._modules.object(parent), module):
            return -1
        if (known := self._find_again(module, parent, call)) >= 0:
            return known
        return self._modules.meet(module, parent, call)

    def _find_again(self, module: Any, parent: int, call: int) -> int:
        """The number of a module that was built since the start; negative where nobody holds it."""
        if call == self._refreshed_in:
            return -1
        made = self._found.made_in_calls if self._found is not None else set()
        kind = self._modules.address(parent), type(module)
        if kind in made:
            return -1
        self._refreshed_in = call
        if not self._modules.look_below(parent):
            self._refresh()
        number = self._modules.number_of(module)
        if number < 0:
            made.add(kind)
        return number

    def _number_of(self, module: Any, parent: int, call: Any) -> int:
        """The number of a module that a function's body calls; -1 where it has none."""
        number = self._modules.number_of(module)
        if number >= 0:
            return number
        return self._new_module(module, parent, self._asked.setdefault(call, -2 - len(self._asked)))

    def _start_callbacks(self) -> None:
        from tensorflow.python.framework import op_callbacks

        session = self.session

        def callback(
            op_type: str,
            inputs: Any,
            attrs: Any,
            outputs: Any,
            op_name: Any = None,
            graph: Any = None,
        ) -> None:
            if graph is None and session.recording:
                # TensorFlow's fast path gives the type as bytes.
                name = op_type.decode() if isinstance(op_type, bytes) else op_type
                if stop := session.record_callback(name, inputs, outputs):
                    raise _stopped(session.halted, stop)

        self.session.add_note(
            "recorded through op callbacks: variable reads of TensorFlow's fast path, attributes, "
            "variable writes, handle copies and values read into Python are not seen"
        )
        op_callbacks.add_op_callback(callback)
        self._callback = callback


def _weak_method(method: Any) -> Callable[..., int]:
    reference = weakref.WeakMethod(method)

    def call(*args: Any) -> int:
        bound = reference()
        return -1 if bound is None else bound(*args)

    return call


def _stopped(halted: bool, why: str) -> Exception:
    """What the hook makes of a stop: the error that TensorFlow raises for a failed op."""
    errors = _runtime.tensorflow().errors
    kind = errors.CancelledError if halted else errors.InvalidArgumentError
    error: Exception = kind(None, None, why)
    return error


def declare_arguments(session: _core.Session, arguments: addresses.Arguments) -> None:
    """Tells the recorder which tensors and arrays are the call's inputs, by parameter name."""
    tf = _runtime.tensorflow()
    for name, value in arguments:
        session.declare_inputs(value, name)
        for path, array in _structure.arrays_in(value, name):
            session.declare_array_input(_wrapped_forms(tf, array), path)


def _wrapped_forms(tf: Any, array: Any) -> list[Any]:
    """The tensors that an array argument can become: its own dtype, and Keras' float types.

    Keras casts an array with NumPy, so no op shows that cast.
    """
    try:
        forms = [tf.convert_to_tensor(array)]
    except (TypeError, ValueError):
        return []
    keras = _runtime.keras()
    if keras is None or array.dtype.kind not in "fiub":
        return forms
    for dtype in {keras.config.floatx(), keras.config.dtype_policy().compute_dtype}:
        if dtype is not None and dtype != forms[0].dtype.name:
            with contextlib.suppress(TypeError, ValueError):
                forms.append(tf.convert_to_tensor(array, dtype=dtype))
    return forms


def budget_bytes(save_budget: Any) -> int:
    """``"auto"`` is 40 % of the memory that is free now; None is no bound; a number is bytes."""
    if save_budget is None:
        return -1
    if save_budget == "auto":
        return int(_AUTO_BUDGET_SHARE * available_memory())
    if isinstance(save_budget, (int, float)) and save_budget >= 0:
        return int(save_budget)
    raise InvalidArgumentError(
        f"save_budget={save_budget!r} cannot be used; expected 'auto', None, or bytes as a number"
    )


def available_memory() -> int:
    """Bytes that can be used without swapping."""
    try:
        with open("/proc/meminfo", "rb", buffering=0) as file:
            found = _MEM_AVAILABLE.search(file.read(_MEMINFO_HEAD))
    except OSError:
        found = None
    if found is not None:
        return int(found[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def warn(message: str) -> None:
    """Warns at the user's line, from wherever in TensorFlow or Keras this was called."""
    prefixes = tuple(_runtime.library_prefixes())
    level = 1
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(prefixes):
        frame = frame.f_back
        level += 1
    warnings.warn(f"flowscope: {message}", RuntimeWarning, stacklevel=level if frame else 2)


def nonfinite_error(trace: Any) -> NonFiniteError:
    report = trace.first_nonfinite()
    return NonFiniteError(str(report), report, trace)


def attach(error: BaseException, trace: _core.Trace) -> None:
    try:
        error.flowscope_trace = trace  # type: ignore[attr-defined]
    except Exception:
        # A class with slots or with a will of its own: the exception passes through all the same.
        with contextlib.suppress(Exception):
            note = "flowscope: this exception cannot carry the trace of what ran"
            error.add_note(note)  # type: ignore[attr-defined]
