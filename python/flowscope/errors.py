"""Every error that FlowScope raises, one hierarchy.

The engine reports failures as a status; ``python/src/errors.cc`` maps each kind to one of these
classes. A model's own exception is never replaced: it passes through with what was recorded as
``exc.flowscope_trace``.
"""

from __future__ import annotations

from typing import Any


class FlowScopeError(Exception):
    """Base of all errors of this package."""


class InvalidArgumentError(FlowScopeError, ValueError):
    """An argument cannot be used; the message says what is expected."""


class LookupFailedError(FlowScopeError, LookupError):
    """A key, op, layer or file is not there; the message lists the nearest ones."""


class AmbiguousLookupError(LookupFailedError):
    """A key matches more than one thing; the message lists them."""


class RecordingStateError(FlowScopeError, RuntimeError):
    """The right call at the wrong time, such as a recording inside a recording."""


class UnavailableError(FlowScopeError, RuntimeError):
    """What is needed is not here: no TensorFlow, or a value that was not kept."""


class UnsupportedError(FlowScopeError, NotImplementedError):
    """Known and refused, with the reason."""


class CorruptTraceError(FlowScopeError, ValueError):
    """A record or file contradicts itself."""


class TraceIOError(FlowScopeError, OSError):
    """The operating system refused a file operation."""


class InternalError(FlowScopeError):
    """A broken invariant of FlowScope; please report it."""


class NonFiniteError(FlowScopeError, ArithmeticError):
    """``raise_on_nan=True`` met a NaN or an infinity.

    ``report`` is what ``trace.first_nonfinite()`` gives, ``trace`` the record up to there, which
    ``flowscope_trace`` is too, as of every exception of a recorded model.
    """

    def __init__(  # noqa: D107 - told in the class docstring
        self, message: str, report: Any = None, trace: Any = None
    ) -> None:
        super().__init__(message)
        self.report = report
        self.trace = trace
        self.flowscope_trace = trace
