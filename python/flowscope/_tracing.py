"""fs.trace and fs.capture."""

from __future__ import annotations

import contextvars
import dataclasses
import difflib
import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

from . import (
    _autograph,
    _core,
    _live_structure,
    _options,
    _outputs,
    _recording,
    _roots,
    _runtime,
    _saved_model,
    _structure,
)
from ._recording import Recording
from .errors import FlowScopeError, InvalidArgumentError, LookupFailedError, UnsupportedError

_SOURCES = ("input", "constant", "from_python")


# The trace whose draws come back in the recording that starts; see _rerun.run.
recorded_draws: contextvars.ContextVar[_core.Trace | None] = contextvars.ContextVar(
    "recorded_draws", default=None
)


@_autograph.left_alone
def trace(
    model: Any,
    input_args: Any = None,
    input_kwargs: dict[str, Any] | None = None,
    *,
    save: Any = "all",
    keep: str = "values",
    functions: Any = "inside",
    structure_only: bool = False,
    intervene: Any = None,
    halt: Any = None,
    backward: Any = None,
    storage: Any = None,
    save_budget: Any = "auto",
    code_context: bool = True,
    random_seed: int | None = None,
    random: str = "compiled",
    compare_compiled: bool = False,
    raise_on_nan: bool = False,
    validate: bool = False,
    name: str | None = None,
    signature: str | None = None,
    backend: str = "tf",
    **unknown: Any,
) -> _core.Trace:
    """Record one real call of ``model``: every op with its value, its parents, layer and line.

    The model runs once, as it would without recording.

    Args:
        model: a Keras model or layer, a ``tf.Module``, a ``tf.function``, or any callable; what
            ``tf.saved_model.load`` gives; the path of a SavedModel's folder or of a ``.keras``
            file.
        input_args: a tuple is the positional arguments, anything else is the one argument. A
            functional Keras model with several inputs takes a tuple of them as its inputs. NumPy
            arrays are accepted. ``None``: inputs are made from the model's input spec, and a note
            of the trace says so.
        input_kwargs: keyword arguments of the call.
        save: which ops keep a value: ``"all"``, ``"none"``, an address, label or glob, a selector
            of ``fs.sites``, a list of those, or a predicate on the live op.
        keep: ``"values"``, or ``"stats"`` for statistics in place of values.
        functions: compiled functions are opened and run op by op (``"inside"``), kept as one op
            each (``"call"``), or opened where a selector matches the call.
        random: ``"interpret"`` opens functions with stateful random ops too; their draws are then
            not those of a plain run.
        compare_compiled: runs every function that is opened compiled as well and tells the
            difference in ``trace.compiled_differences``; refused where a function has an effect.
        save_budget: bytes of values after which statistics are kept, ``"auto"`` for 40 % of free
            memory, ``None`` for no bound.
        halt: a selector; the run ends after the first op that matches.
        code_context: whether the user's line is found for every op.
        random_seed: seeds Python, NumPy, TensorFlow and Keras before the run.
        raise_on_nan: stop at the first op that makes a NaN or an infinity, with a report.
        validate: run the record again at once, as ``trace.validate()`` does; warns where it is not
            proved. The report is ``trace.validation_replay_status``.
        storage: ``fs.to_disk("NAME.flow")`` writes the recording there while the model runs.
        name: a name for the trace.
        structure_only: what would run; no kernel runs and no value is held. The program runs once,
            on tensors without values; of a SavedModel's path the file is read, and the input is not
            looked at. ``input_args`` may be ``tf.TensorSpec``, ``keras.KerasTensor`` or
            ``keras.Input`` as well; sizes that are not known stay ``None``. A compiled loop stands
            as its condition and one iteration, all branches of a compiled branch are listed.
            Nothing changes in the model: one that is not built is refused.
        signature: of a SavedModel, which one runs; ``None`` is ``"serving_default"`` or the only
            one. Its inputs go by name: a dict, ``input_kwargs``, or the one value where there is
            one input.

    Returns:
        The trace. ``trace.output`` is what the model returned.

    Raises:
        FlowScopeError: the arguments cannot be used, or recording is not possible here.
        UnsupportedError: ``compare_compiled`` with a function that must not be run twice;
            ``structure_only`` where the program asks a tensor for its value (with the line) or
            would make a variable.
        NonFiniteError: with ``raise_on_nan``.
        Exception: what the model itself raises, unchanged, with ``exc.flowscope_trace``.

    Example:
        >>> trace = fs.trace(model, x)
        >>> trace["relu_1"].out.shape
        (1, 4)
    """
    # TensorFlow looks up the line of every frame at every op, so this is the only one between the
    # user's and the model's.
    request = _Request.of(locals())
    return _checked(request, *_prepared(request)())


@dataclasses.dataclass
class _Request:
    """The arguments of one ``fs.trace``."""

    model: Any
    input_args: Any
    input_kwargs: dict[str, Any] | None
    save: Any
    keep: str
    functions: Any
    structure_only: bool
    intervene: Any
    halt: Any
    backward: Any
    storage: Any
    save_budget: Any
    code_context: bool
    random_seed: int | None
    random: str
    compare_compiled: bool
    raise_on_nan: bool
    validate: bool
    name: str | None
    signature: str | None
    backend: str
    unknown: dict[str, Any]

    @classmethod
    def of(cls, given: dict[str, Any]) -> _Request:
        """AutoGraph, where it converts the caller, adds names of its own to ``given``."""
        return cls(*(given[name] for name in cls.__match_args__))

    def options(self, root: _roots.Root, code_context: bool) -> dict[str, Any]:
        return _options.of_recording(
            root,
            self.save,
            self.keep,
            self.halt,
            self.save_budget,
            code_context,
            self.raise_on_nan,
            self.name,
        ) | {
            "functions": self.functions,
            "random": self.random,
            "draws": recorded_draws.get(),
        }


# What is ready to run, and how many ops save= matched in it.
_Ready = Callable[[], tuple[_core.Trace, int]]


def _prepared(request: _Request) -> _Ready:
    _refuse_unknown(request.unknown)
    later = {"intervene": request.intervene, "backward": request.backward}
    _options.check_choices(later, request.keep, request.functions, request.random, request.backend)
    _options.check_flags(
        structure_only=request.structure_only,
        code_context=request.code_context,
        compare_compiled=request.compare_compiled,
        raise_on_nan=request.raise_on_nan,
        validate=request.validate,
    )
    _options.check_name("name", request.name)
    _options.check_name("signature", request.signature)
    _options.check_seed(request.random_seed)
    if request.structure_only:
        _live_structure.check_options(
            {
                "save": (request.save, "all"),
                "halt": (request.halt, None),
                "storage": (request.storage, None),
                "compare_compiled": (request.compare_compiled, False),
                "raise_on_nan": (request.raise_on_nan, False),
                "validate": (request.validate, False),
            }
        )
    _runtime.tensorflow()
    model = request.model
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        model = _saved_model.load_keras_file(path)
        if model is None:
            return _ready_file(request, path)
    return _ready_model(request, model)


def _ready_file(request: _Request, path: str) -> _Ready:
    if request.structure_only:
        args = (path, request.signature, request.input_args, request.input_kwargs, request.name)
        return lambda: (_saved_model.structure(*args), -1)
    options = request.options(_roots.saved_model(path), code_context=False)
    if request.random_seed is not None:
        _roots.set_seeds(request.random_seed)

    def run() -> tuple[_core.Trace, int]:
        trace = _saved_model.trace(
            path, request.signature, request.input_args, request.input_kwargs, options
        )
        return trace, _num_with_values(trace)

    return run


def _ready_model(request: _Request, model: Any) -> _Ready:
    owner = None  # of a restored object's variables; the caller may have kept nothing else
    if _saved_model.is_restored(model):
        owner = model
        model = _saved_model.callable_of(model, request.signature)
    elif request.signature is not None:
        raise InvalidArgumentError("signature= names a signature of a SavedModel; this is none")
    root = _roots.resolve(model, owner)
    if request.structure_only:
        options = request.options(root, request.code_context)
        args = (root, request.input_args, request.input_kwargs, options)
        return lambda: (_live_structure.structure(*args), -1)
    args, kwargs, note = _roots.arguments(root, request.input_args, request.input_kwargs)
    if request.random_seed is not None:
        _roots.set_seeds(request.random_seed)
    options = request.options(root, request.code_context)
    options["compare_compiled"] = request.compare_compiled
    named = _structure.named_arguments(root.signature_of, args, kwargs)
    recording = Recording(root.searched, options | _options.of_storage(request.storage), named)
    recording.start()
    try:
        if note:
            recording.session.add_note(note)
        _recording.declare_arguments(recording.session, named)
    except BaseException:
        recording.finish("the recording could not start")
        raise
    run: Any = _core.run_model
    return functools.partial(
        run,
        functools.partial(recording.root_call(root.obj), *args, **kwargs),
        functools.partial(_run_that_returned, recording, owner),
        functools.partial(_run_that_raised, recording),
    )


def _checked(request: _Request, trace: _core.Trace, num_selected: int) -> _core.Trace:
    if request.structure_only:
        return trace
    _check_selection(trace, request.save, num_selected)
    _check_halt(trace, request.halt)
    if request.validate:
        _warn_unless_passed(trace.validate())
    return trace


def _warn_unless_passed(report: _core.ValidationReport) -> None:
    """The caller may not look at the report."""
    if not report:
        _recording.warn(f"validation {report.state}: {report.reason}")


def _run_that_returned(recording: Recording, _owner: Any, output: Any) -> tuple[_core.Trace, int]:
    try:
        recording.session.declare_outputs(output, _outputs.describe(output))
    except BaseException as error:
        return _run_that_raised(recording, error)
    trace = recording.finish()
    trace._set_output(output)  # type: ignore[attr-defined]
    _core.raise_predicate_error()
    return trace, recording.num_selected


def _run_that_raised(recording: Recording, error: BaseException) -> tuple[_core.Trace, int]:
    """The trace of a run that we halted; raises what the caller is to see of any other."""
    session = recording.session
    halted, bad, refused = session.halted, session.stopped_by_nonfinite, session.refused
    trace = recording.finish("" if halted or bad else f"{type(error).__name__}: {error}")
    if refused:
        raise UnsupportedError(refused) from None
    if halted:
        return trace, recording.num_selected
    if bad:
        raise _recording.nonfinite_error(trace) from None
    _recording.attach(error, trace)
    raise error


def _refuse_unknown(unknown: dict[str, Any]) -> None:
    for option in unknown:
        known = [name for name in inspect.signature(trace).parameters if name != "unknown"]
        near = difflib.get_close_matches(option, known, 1)
        hint = f"did you mean {near[0]}=?" if near else f"options are {', '.join(known[1:])}."
        raise InvalidArgumentError(
            f"fs.trace has no option {option}=; {hint} Keyword arguments of the model go into "
            "input_kwargs"
        )


def _check_halt(trace: _core.Trace, halt: Any) -> None:
    """A run that went on to its end though it should have halted says so, with the near misses."""
    if halt is None or trace.halted:
        return
    near = ""
    try:
        trace.find_sites(halt)
    except FlowScopeError as error:
        near = f": {error}"
    _recording.warn(f"halt={halt!r} matched no op, so the run went on to its end{near}")


def _num_with_values(trace: _core.Trace) -> int:
    """Ops with a value or statistics of one, for a recording that did not count its matches."""
    return trace.num_kept or sum(_has_stats(op) for op in trace if op.kind not in _SOURCES)


def _has_stats(op: _core.Op) -> bool:
    try:
        return bool(op.stats)
    except FlowScopeError:
        return False


def _check_selection(trace: _core.Trace, save: Any, num_selected: int) -> None:
    """A selection that matched nothing is an error, not an empty trace."""
    if save is None or (isinstance(save, str) and save in ("all", "none")):
        return
    if isinstance(save, (list, tuple)) and not save:
        return
    if num_selected == 0:
        trace.find_sites(save)  # raises with the near misses where nothing has that name
        raise LookupFailedError(
            f"save={save!r} matched no op while the model ran; the trace has "
            f"{trace.num_ops} ops in {trace.num_modules} modules: see trace.summary()"
        )
