"""Checks of options whose kind does not depend on the model."""

from __future__ import annotations

import numbers
from typing import Any

from .errors import InvalidArgumentError

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
