"""fs.capture."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from . import _core, _options, _recording, _roots, _runtime, _steps
from ._recording import Recording
from .errors import FlowScopeError, UnsupportedError


class capture:
    """Record what this thread runs in a block: a train step, ``predict``, ``generate``, anything.

    ``model`` gives addresses to its layers and variables; without it modules are named as they are
    met. ``trace`` holds the record after the block, also when the block raised.

    ``fit``, ``evaluate`` and ``predict`` have a region for every step: ``fit/step[2]``. Of the
    steps of ``fit`` and ``evaluate`` the last ``keep_steps`` keep their values (``None``: all),
    beside the first and the newest value of every variable; those before keep all else.

    Example:
        >>> with fs.capture(model) as recording:
        ...     y = model(x)
        >>> recording.trace.root_kind
        'block'
    """

    def __init__(
        self,
        model: Any = None,
        *,
        save: Any = "all",
        keep: str = "values",
        functions: Any = "inside",
        halt: Any = None,
        save_budget: Any = "auto",
        code_context: bool = True,
        random: str = "compiled",
        compare_compiled: bool = False,
        keep_steps: int | None = 3,
        raise_on_nan: bool = False,
        storage: Any = None,
        name: str | None = None,
    ) -> None:
        _options.check_choices({}, keep, functions, random, "tf")
        _options.check_flags(
            code_context=code_context, compare_compiled=compare_compiled, raise_on_nan=raise_on_nan
        )
        _options.check_name("name", name)
        _runtime.tensorflow()
        root = _roots.block(model)
        self._recording = Recording(
            model,
            _options.of_recording(
                root, save, keep, halt, save_budget, code_context, raise_on_nan, name
            )
            | {
                "functions": functions,
                "random": random,
                "compare_compiled": compare_compiled,
                "keep_steps": _steps.steps_to_keep(keep_steps),
            }
            | _options.of_storage(storage),
        )
        self._trace: _core.Trace | None = None

    @property
    def trace(self) -> _core.Trace:
        """The record, once the block has ended."""
        if self._trace is None:
            raise FlowScopeError("the trace is there when the `with` block has ended")
        return self._trace

    def __enter__(self) -> capture:
        self._recording.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        session = self._recording.session
        halted, bad, refused = session.halted, session.stopped_by_nonfinite, session.refused
        text = "" if error is None or halted or bad else f"{type(error).__name__}: {error}"
        self._trace = self._recording.finish(text)
        if refused and error is not None:
            raise UnsupportedError(refused) from None
        if bad and error is not None:
            raise _recording.nonfinite_error(self._trace) from None
        if error is None:
            _core.raise_predicate_error()
        elif not halted:
            _recording.attach(error, self._trace)
        return bool(halted)
