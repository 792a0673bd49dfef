"""fs.record, fs.extract, fs.pluck: values at named places."""

from __future__ import annotations

from typing import Any

from . import _core
from ._tracing import trace
from .errors import AmbiguousLookupError


def record(model: Any, x: Any, save: Any, **kwargs: Any) -> _core.Trace:
    """Record keeping only the selected ops' values; for repeated use. Shapes as the ops made them.

    Example:
        >>> fs.record(model, x, save="head").num_kept
        1
    """
    return trace(model, x, save=save, code_context=False, **kwargs)


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
        found = values_at(recorded, site)
        if len(found) == 1:
            values[str(key)] = next(iter(found.values()))
        else:
            values.update(found)
    return values


def pluck(model: Any, x: Any, site: Any) -> Any:
    """The value at one site.

    Raises:
        LookupFailedError: nothing has that name; the message lists the nearest names.
        AmbiguousLookupError: several values match; the message lists them.

    Example:
        >>> fs.pluck(model, x, "hidden").shape
        (1, 4)
    """
    found = values_at(trace(model, x, save=[site], code_context=False), site)
    if len(found) != 1:
        raise AmbiguousLookupError(
            f"{site!r} has {len(found)} values: {', '.join(found)}; name one, or use fs.extract"
        )
    return next(iter(found.values()))


def values_at(recorded: _core.Trace, site: Any) -> dict[str, Any]:
    """Kept values by address or label. A module gives its output, one entry for each call."""
    if not isinstance(site, str):
        return {op.label: op.out for op in recorded.find_sites(site)}
    if any(mark in site for mark in "*?["):
        modules = recorded.modules.find(site)
        called = {m.address: m for m in modules if m.num_calls > 0}
        if called:
            return {k: v for m in called.values() for k, v in _of_module(m).items()}
        return {op.label: op.out for op in recorded.find_sites(site)}
    return _of_record(recorded[site])


def _of_record(record: Any) -> dict[str, Any]:
    if isinstance(record, _core.Module):
        return _of_module(record)
    if isinstance(record, _core.ModuleCall):
        return {record.call_label: _value(record)}
    if isinstance(record, _core.Layer):
        return {op.label: op.out for op in record.ops}
    if isinstance(record, _core.Variable):
        return {record.address: record.value}
    return {record.label: record.out}


def _of_module(module: _core.Module) -> dict[str, Any]:
    if module.num_calls == 1:
        return {module.address: _value(module.calls[0])}
    return {call.call_label: _value(call) for call in module.calls}


def _value(call: _core.ModuleCall) -> Any:
    """The call's output: an array, or a tuple of arrays where it gave several."""
    return call.out if len(call.outs) == 1 else tuple(call.outs)


def _as_list(sites: Any) -> list[Any]:
    return list(sites) if isinstance(sites, (list, tuple, set)) else [sites]
