"""Addresses of modules and variables: where each is found from the object that is recorded.

    >>> found = discover(model)
    >>> found.modules[3].address, found.modules[3].aliases
    ('encoder.blocks.0', ('attention', 'net/encoder/attention'))

Rules:

* The root is ``self``; an address is the path from the root through attributes, dictionary keys,
  list and tuple indices, named tuple and dataclass fields.
* In functional and sequential models a child is called by the name that the user gave it, else
  ``layers.<i>`` with its index in ``model.layers``. A Keras operation that is no layer
  (``keras.ops.abs`` on a symbolic tensor) is ``operations.<i>``, its index in ``model.operations``.
* Of several paths the one with the fewest private steps (``_x``) is the address, then the one with
  the fewest steps, then the first found. The others are aliases, at most ``MAX_ALIASES`` of them.
* A variable in a private attribute is called by its public name where that is its own name or a
  property of the class: ``dense.kernel``, not ``dense._kernel``.
* Keras' layer names and paths (``dense_7``, ``net/dense_7``) are aliases where only one object has
  them, never addresses.
* A raw callable is ``self``; what its code can reach is called by the name that the code uses: free
  variables, function attributes, defaults, globals that it names, attributes of a bound object.
  A bound method of a module has that module as its root.
* Items of a set are called by the user's name, else by their place in the order of creation.
* Two objects that would share an address get it in the order found: ``a.b``, then ``a.b~2``.
* A module that is an argument of the call is called by the parameter that takes it.
* A module first seen during a call is ``<parent>.<user's name>``, else ``<parent>.created.<i>``;
  what it holds goes by attributes below that.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from . import _kinds, _known
from ._found import (
    MAX_ALIASES,
    ROOT_ADDRESS,
    Discovery,
    FoundModule,
    FoundVariable,
    config_json,
)
from ._search import unique

__all__ = [
    "MAX_ALIASES",
    "ROOT_ADDRESS",
    "Discovery",
    "FoundModule",
    "FoundVariable",
    "address_for_new",
    "below",
    "config_json",
    "discover",
    "is_inner_graph",
    "refresh",
    "unique",
]

Arguments = Sequence[tuple[str, Any]]  # a parameter's name and the value that it takes


def discover(root: object, arguments: Arguments = ()) -> Discovery:
    """Find every module and variable that ``root`` reaches, without running any of their code.

    So are those in the ``arguments`` of a call, by name, as if each were an attribute of the root.

    >>> model = keras.Sequential([keras.layers.Dense(2, name="head")])
    >>> [m.address for m in discover(model).modules]
    ['self', 'head']
    """
    return _known.discover(root, arguments)


def refresh(
    found: Discovery, root: object, arguments: Arguments = ()
) -> tuple[list[FoundModule], list[FoundVariable]]:
    """Look again from ``root``, add what is new to ``found`` and return just that.

    >>> late = keras.Sequential([keras.layers.Dense(2, name="head")])
    >>> found = discover(late)
    >>> late.build((None, 3))
    >>> [v.address for v in refresh(found, late)[1]]
    ['head.kernel', 'head.bias']
    """
    if _known.is_current(found, root, arguments):
        return [], []
    return found.extend(discover(root, arguments))


def address_for_new(parent_address: str, obj: object, siblings: Collection[str]) -> str:
    """The address of a module that was first seen in a call of the module at ``parent_address``.

    ``siblings`` are the addresses that are taken: those that ``discover`` gave, and those given to
    other new modules in the *same* call of the parent. A parent that makes a layer anew in each
    call so gives it the same address each time, and the calls are passes of one module.

    >>> address_for_new("encoder", keras.layers.Dense(2), set())
    'encoder.created.0'
    """
    prefix = "" if parent_address == ROOT_ADDRESS else parent_address + "."
    is_layer = issubclass(type(obj), _kinds.frameworks().layers)
    name = _kinds.user_name(obj) if is_layer else None
    candidates = itertools.chain(
        [prefix + name] if name else [],
        (f"{prefix}created.{i}" for i in itertools.count()),
    )
    return next(c for c in candidates if c not in siblings)


def below(module: object, address_of: Callable[[object], str | None], taken: set[str]) -> Discovery:
    """What a module holds that was first seen in a call, with addresses below its own.

    ``address_of`` gives the address that a module goes by already, ``module`` among them; None
    where it has none. Variables get addresses that are not in ``taken``, which then has them.

    >>> layer = keras.layers.Dense(2)
    >>> layer.build((None, 3))
    >>> [v.address for v in below(layer, {layer: "created.0"}.get, set()).variables]
    ['created.0.kernel', 'created.0.bias']
    """
    found = discover(module)
    old = [one.address for one in found.modules]
    for one in found.modules:
        above = found.modules[one.parent] if one.parent >= 0 else one
        moved = _moved(one.address, old[max(one.parent, 0)], above.address)
        one.address = address_of(one.obj) or moved
        one.aliases = tuple(
            alias if alias == one.name or "/" in alias else f"{found.modules[0].address}.{alias}"
            for alias in one.aliases
        )
    for variable in found.variables:
        holder = found.modules[variable.module].address
        moved = _moved(variable.address, old[variable.module], holder)
        variable.address = unique(moved, taken)
        variable.aliases = tuple(alias for alias in variable.aliases if "/" in alias)
    return found


def _moved(address: str, old: str, new: str) -> str:
    """An address below ``old`` as one below ``new``."""
    rest = address if old == ROOT_ADDRESS else address[len(old) + 1 :]
    return f"{new}.{rest}"


def is_inner_graph(parent: object, obj: object) -> bool:
    """Whether ``obj`` is the graph that a ``keras.Sequential`` keeps and runs in its own call.

    Such a graph is no module of its own: a call of it is the body of the parent's call. It can be
    made anew while the parent is called, so it is told when it is met.

    >>> is_inner_graph(sequential, sequential._functional)
    True
    """
    attributes = _kinds.attributes_of(parent)
    for base in _kinds.frameworks().sequentials:
        if issubclass(type(parent), base):
            held = (attributes.get(name) for name in _kinds.set_in_init(base))
            return obj is not None and any(one is obj for one in held)
    return False
