"""fs.record, fs.extract, fs.pluck: values at named places."""

from __future__ import annotations

from typing import Any

from . import _autograph, _core
from ._tracing import trace
from .errors import AmbiguousLookupError


def record(model: Any, x: Any, save: Any, **kwargs: Any) -> _core.Trace:
    """Record keeping only the selected ops' values; for repeated use. Shapes as the ops made them.

    Example:
        >>> fs.record(model, x, save="head").num_kept
        1
    """
    return trace(model, x, save=save, code_context=False, **kwargs)


@_autograph.left_alone
def extract(model: Any, x: Any, sites: Any) -> dict[str, Any]:
    """Values at sites, ``{site: array}``; what matches several places gives one entry for each.

    The model runs to its end: a site may be reached again, and each time counts.

    Args:
        sites: an address, label, glob or selector, or a list of them, or ``{name: site}``.

    Example:
        >>> sorted(fs.extract(model, x, ["hidden", "head"]))
        ['head', 'hidden']
    """
    named = sites if isinstance(sites, dict) else {site: site for site in _as_list(sites)}
    recorded = trace(model, x, save=list(named.values()), code_context=False)
    values: dict[str, Any] = {}
    for key, site in named.items():
        found = recorded.values_at(site)
        if len(found) == 1:
            values[str(key)] = next(iter(found.values()))
        else:
            values.update(found)
    return values


@_autograph.left_alone
def pluck(model: Any, x: Any, site: Any) -> Any:
    """The value at one site.

    Raises:
        LookupFailedError: nothing has that name; the message lists the nearest names.
        AmbiguousLookupError: several values match; the message lists them.

    Example:
        >>> fs.pluck(model, x, "hidden").shape
        (1, 4)
    """
    found = trace(model, x, save=[site], code_context=False).values_at(site)
    if len(found) != 1:
        raise AmbiguousLookupError(
            f"{site!r} has {len(found)} values: {', '.join(found)}; name one, or use fs.extract"
        )
    return next(iter(found.values()))


def _as_list(sites: Any) -> list[Any]:
    return list(sites) if isinstance(sites, (list, tuple, set)) else [sites]
