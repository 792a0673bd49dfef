"""Validation as Python drives it: the user's TensorFlow, bounds, and a progress bar."""

from __future__ import annotations

import contextlib
import importlib
import numbers
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import _autograph, _core, _runtime, _tracing
from .errors import InvalidArgumentError, UnavailableError

_FLOATS = (
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"),
    "float4_e2m1fn",
)


def run(trace: _core.Trace, perturb: bool, tolerance: Any, progress: Any) -> _core.ValidationReport:
    """``trace.validate``."""
    bounds = _bounds(tolerance)
    validate: Callable[..., _core.ValidationReport] = trace._validate  # type: ignore[attr-defined]
    with _reporting(progress) as report:
        return validate(_user_context(), bool(perturb), bounds, report)


@_autograph.left_alone
def validate(
    model: Any,
    input_args: Any = None,
    input_kwargs: dict[str, Any] | None = None,
    *,
    perturb: bool = False,
    tolerance: Any = None,
    progress: Any = None,
    **options: Any,
) -> _core.ValidationReport:
    """Record one real call of ``model`` and prove the record.

    Args:
        model: what ``fs.trace`` takes; ``input_args``, ``input_kwargs`` and ``options`` too.
        input_args: as in ``fs.trace``.
        input_kwargs: as in ``fs.trace``.
        perturb: see ``Trace.validate``; ``tolerance`` and ``progress`` too.
        tolerance: as in ``Trace.validate``.
        progress: as in ``Trace.validate``.
        **options: of ``fs.trace``.

    Returns:
        The report; it is true where everything was proved.

    Raises:
        FlowScopeError: recording or validating is not possible here.

    Example:
        >>> fs.validate(model, x).state
        'passed'
    """
    recorded = _tracing.trace(model, input_args, input_kwargs, **options)
    return recorded.validate(perturb=perturb, tolerance=tolerance, progress=progress)


def _user_context() -> tuple[bytes, Any] | None:
    """Settings of the user's TensorFlow context and the context; None without TensorFlow."""
    try:
        _runtime.tensorflow()
    except UnavailableError:
        return None
    from tensorflow.python.eager import context

    user = context.context()
    user.ensure_initialized()
    return user.config.SerializeToString(), user._handle


def _bounds(tolerance: Any) -> dict[str, list[float]] | None:
    if tolerance is None:
        return None
    if isinstance(tolerance, numbers.Real) and float(tolerance) >= 0:
        return {dtype: [float(tolerance), 0.0] for dtype in _FLOATS}
    if not isinstance(tolerance, dict):
        raise InvalidArgumentError(
            f"tolerance={tolerance!r} cannot be used; expected None, a relative difference such as "
            "1e-5, or a dict from dtype to (relative, absolute)"
        )
    bounds = {}
    for dtype, pair in tolerance.items():
        if dtype not in _FLOATS:
            raise InvalidArgumentError(
                f"tolerance= has no bounds for dtype {dtype!r}; expected one of "
                f"{', '.join(_FLOATS)}: all else is equal to the bit or not at all"
            )
        bounds[dtype] = _pair(dtype, pair)
    return bounds


def _pair(dtype: str, pair: Any) -> list[float]:
    try:
        relative, absolute = (float(bound) for bound in pair)
        if relative >= 0 and absolute >= 0:
            return [relative, absolute]
    except (TypeError, ValueError):
        pass
    raise InvalidArgumentError(
        f"tolerance[{dtype!r}]={pair!r} cannot be used; expected (relative, absolute), both >= 0"
    )


@contextlib.contextmanager
def _reporting(progress: Any) -> Iterator[Callable[[int, int], None] | None]:
    """What the engine calls with the ops done and all."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif progress is True:
        with _bar() as update:
            yield update
    else:
        raise InvalidArgumentError(
            f"progress={progress!r} cannot be used; expected True, False or a callable that takes "
            "the ops done and all ops"
        )


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    """A bar of tqdm where it is installed, else one line that is written over."""
    try:
        tqdm: Any = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        with _line() as update:
            yield update
        return
    with tqdm(desc="validate", unit="op") as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield update


@contextlib.contextmanager
def _line() -> Iterator[Callable[[int, int], None]]:
    def update(done: int, total: int) -> None:
        sys.stderr.write(f"\rvalidate: {done} of {total} ops")
        sys.stderr.flush()

    try:
        yield update
    finally:
        sys.stderr.write("\n")
