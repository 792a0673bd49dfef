"""fs.record, fs.extract, fs.pluck: values at named places."""

from __future__ import annotations

from typing import Any

from . import _autograph, _core, addresses
from ._tracing import trace
from .errors import AmbiguousLookupError, LookupFailedError


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
        sites: an address, label, glob, selector or layer of the model, or a list of them, or
            ``{name: site}``; of several matches of a name each is ``name/label``.

    Example:
        >>> sorted(fs.extract(model, x, ["hidden", "head"]))
        ['head', 'hidden']
    """
    given = sites.values() if isinstance(sites, dict) else _as_list(sites)
    wanted = [_address(model, site) for site in given]
    keys = list(sites) if isinstance(sites, dict) else wanted
    recorded = trace(model, x, save=wanted, code_context=False)
    values: dict[str, Any] = {}
    for key, site in zip(keys, wanted, strict=True):
        found = recorded.values_at(site)
        if len(found) == 1:
            values[str(key)] = next(iter(found.values()))
        else:
            prefix = f"{key}/" if isinstance(sites, dict) else ""
            values.update({prefix + name: value for name, value in found.items()})
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
    site = _address(model, site)
    found = trace(model, x, save=[site], code_context=False).values_at(site)
    if len(found) != 1:
        raise AmbiguousLookupError(
            f"{site!r} has {len(found)} values: {', '.join(found)}; name one, or use fs.extract"
        )
    return next(iter(found.values()))


def _address(model: Any, site: Any) -> Any:
    """The address of a layer of the model; any other site as it is."""
    if not hasattr(site, "trainable_variables"):
        return site
    found = [module.address for module in addresses.discover(model).modules if module.obj is site]
    if not found:
        raise LookupFailedError(
            f"{type(site).__name__} {getattr(site, 'name', '')!r} is no layer that the model "
            "reaches; give its address, or record the model that holds it"
        )
    return found[0]


def _as_list(sites: Any) -> list[Any]:
    return list(sites) if isinstance(sites, (list, tuple, set)) else [sites]
