"""Options of a recording: checked, and as the engine takes them."""

from __future__ import annotations

import numbers
from typing import Any

from . import _files, _recording, _roots, _runtime
from .errors import InvalidArgumentError

_BUILT_LATER = {
    "intervene": "changing values while recording",
    "backward": "recording a backward pass",
}
_SEEDS = 2**32


def check_flags(**flags: Any) -> None:
    """Raises InvalidArgumentError for an option that is neither true nor false.

    Example:
        >>> check_flags(code_context=True)
    """
    for option, value in flags.items():
        if not isinstance(value, bool) and type(value).__name__ != "bool_":
            raise InvalidArgumentError(f"{option}={value!r} cannot be used; expected True or False")


def check_name(option: str, value: Any) -> None:
    """Raises InvalidArgumentError for what is neither a text nor None."""
    if value is not None and not isinstance(value, str):
        raise InvalidArgumentError(f"{option}={value!r} cannot be used; expected a text or None")


def check_seed(seed: Any) -> None:
    """Raises InvalidArgumentError for what NumPy and Keras cannot be seeded with."""
    if seed is None:
        return
    is_number = isinstance(seed, numbers.Integral) and not isinstance(seed, bool)
    if not is_number or not 0 <= seed < _SEEDS:
        raise InvalidArgumentError(
            f"random_seed={seed!r} cannot be used; expected None or a whole number from 0 to "
            f"{_SEEDS - 1}"
        )


def check_choices(
    given: dict[str, Any], keep: str, functions: Any, random: str, backend: str
) -> None:
    if isinstance(functions, str) and functions not in ("inside", "call"):
        raise InvalidArgumentError(
            f"functions={functions!r} is not known; expected 'inside', 'call' or a selector of "
            "fs.sites that matches the calls to open"
        )
    for option, what in _BUILT_LATER.items():
        if given.get(option) not in (None, False):
            raise InvalidArgumentError(
                f"{option}= is not available in this version: {what} is not built yet"
            )
    choices = {
        "keep": (keep, ("values", "stats")),
        "random": (random, ("compiled", "interpret")),
        "backend": (backend, ("tf", "tensorflow")),
    }
    for option, (value, valid) in choices.items():
        if value not in valid:
            raise InvalidArgumentError(
                f"{option}={value!r} is not known; expected one of {', '.join(map(repr, valid))}"
            )


def of_recording(
    root: _roots.Root,
    save: Any,
    keep: str,
    halt: Any,
    save_budget: Any,
    code_context: bool,
    raise_on_nan: bool,
    name: str | None,
) -> dict[str, Any]:
    keras = _runtime.keras()
    return {
        "name": name or root.name,
        "root_kind": root.kind,
        "root_class": root.class_name,
        "keras_version": keras.__version__ if keras is not None else "",
        "keep_values": keep == "values",
        "code_context": code_context,
        "raise_on_nan": raise_on_nan,
        "save_budget": _recording.budget_bytes(save_budget),
        "save": save,
        "halt": halt,
        "warn": _recording.warn,
    }


def of_storage(storage: Any) -> dict[str, Any]:
    stream = _files.storage_options(storage)
    options: dict[str, Any] = {"storage": stream}
    if stream is not None and not stream["retain_in_memory"]:
        options["save_budget"] = -1  # values are let go as they are written
    return options
