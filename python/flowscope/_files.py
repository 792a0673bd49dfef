"""Saved traces and traces that are written while they are recorded.

Nothing here needs TensorFlow or Keras.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import re
from typing import Any

from . import _core
from .errors import InvalidArgumentError, TraceIOError, UnavailableError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclasses.dataclass(frozen=True)
class ToDisk:
    """Where a recording is written while it runs; made by ``fs.to_disk``."""

    path: str
    max_pending: int
    retain_in_memory: bool
    overwrite: bool

    def options(self) -> dict[str, Any]:
        """As the engine takes it."""
        return dataclasses.asdict(self)


def to_disk(
    path: str | os.PathLike[str],
    max_pending: str | int = "256MB",
    retain_in_memory: bool = False,
    overwrite: bool = False,
) -> ToDisk:
    """For ``storage=``: write the recording to ``path`` while the model runs.

    A thread writes values as they come and lets each go when it is written, so memory does not grow
    with what is recorded. A process that is killed leaves a folder that ``fs.load`` opens, with
    everything that was committed (every 64 ops or 0.1 s), and ``trace.interrupted``. Where the disk
    fails, the model goes on; one warning and ``trace.degraded`` say so.

    Args:
        path: a folder ``NAME.flow`` that does not exist yet.
        max_pending: bytes of values that may wait to be written, as a number or ``"256MB"``; above
            it the model waits for the disk.
        retain_in_memory: keep the values in memory as well.
        overwrite: replace a trace that is there.

    Raises:
        InvalidArgumentError: ``max_pending`` is no amount of bytes, or the path is no text.

    Example:
        >>> trace = fs.trace(model, x, storage=fs.to_disk("live.flow", overwrite=True))
        >>> fs.load("live.flow").num_ops == trace.num_ops
        True
    """
    name = os.fsdecode(path)
    if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InvalidArgumentError(
            f"path={name!r} is no name in UTF-8: stream to another name and rename the folder"
        )
    return ToDisk(name, _bytes(max_pending), retain_in_memory, overwrite)


def _bytes(amount: str | int) -> int:
    if isinstance(amount, int) and not isinstance(amount, bool) and amount > 0:
        return amount
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(amount))
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or float(match[1]) * unit < 1:
        raise InvalidArgumentError(
            f"max_pending={amount!r} is no amount of bytes; expected a number above 0 or a text "
            "such as '256MB'"
        )
    return int(float(match[1]) * unit)


def storage_options(storage: Any) -> dict[str, Any] | None:
    """What ``storage=`` means to the engine."""
    if storage is None or isinstance(storage, ToDisk):
        return None if storage is None else storage.options()
    raise InvalidArgumentError(
        f"storage={storage!r} is not known; expected fs.to_disk('NAME.flow')"
    )


def load(path: str | os.PathLike[str]) -> _core.Trace:
    """Open a trace that ``trace.save`` or a streaming recording wrote.

    The structure is read at once; a value is mapped from the file when it is asked for, so loading
    takes about as long for a large trace as for a small one with as many ops. Nothing in the file
    is executed and nothing is written, also where the recording was cut off: such a trace holds
    what was committed and says ``trace.interrupted``.

    Args:
        path: a folder ``NAME.flow`` or a file ``NAME.flow.zip``.

    Returns:
        A trace that answers as the one that was saved. ``trace.output`` has the structure of what
        the model returned, with NumPy arrays in place of tensors.

    Raises:
        LookupFailedError: nothing is there.
        CorruptTraceError: the file contradicts itself.
        UnsupportedError: a newer version of FlowScope wrote it.

    Example:
        >>> trace.save("run.flow", overwrite=True)
        >>> fs.load("run.flow").num_ops == trace.num_ops
        True
    """
    return _core.load(path)


def write_parquet(table: _core.Table, beside: str, path: str) -> None:
    """Rows of a table through pyarrow, to a file that gets the name ``path`` afterwards."""
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UnavailableError(
            "parquet needs pyarrow, which is not installed: pip install pyarrow, or take "
            "format='csv'"
        ) from None
    try:
        parquet.write_table(arrow.table(table), beside)
    except OSError as error:
        raise TraceIOError(f"{path} cannot be written: {error}") from error


def repair(path: str | os.PathLike[str]) -> None:
    """Finish a folder that a recording left when it was cut off.

    What was committed stays, in files that every safetensors reader takes; ``interrupted`` stays
    true. A folder that is finished is left as it is. ``fs.load`` needs no repair: this is for other
    readers, and for a folder that is to be kept.

    Args:
        path: a folder ``NAME.flow`` that nobody is writing.

    Raises:
        LookupFailedError: nothing is there.
        CorruptTraceError: the folder contradicts itself.

    Example:
        >>> trace.save("run.flow", overwrite=True)
        >>> fs.repair("run.flow")
    """
    _core.repair(path)
