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
* A module first seen during a call is ``<parent>.<user's name>``, else ``<parent>.created.<i>``.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Collection
from typing import Any

from . import _kinds

ROOT_ADDRESS = "self"
MAX_ALIASES = 8


@dataclasses.dataclass(eq=False)
class FoundModule:
    """A module (or the root) with its place: ``parent`` is an index into ``Discovery.modules``."""

    obj: Any
    address: str
    aliases: tuple[str, ...]
    parent: int
    class_name: str
    name: str
    num_params: int = 0
    num_trainable: int = 0

    @property
    def config_json(self) -> str:
        """The configuration as JSON. Asks a Keras object for ``get_config()``: its own code."""
        return config_json(self.obj)


@dataclasses.dataclass(eq=False)
class FoundVariable:
    """A variable with its place: ``module`` is the index of the module that holds it."""

    obj: Any
    address: str
    aliases: tuple[str, ...]
    module: int
    name: str
    trainable: bool

    @property
    def resource(self) -> Any:
        """The ``tf.Variable`` behind ``obj``."""
        return _kinds.resource_of(self.obj)


@dataclasses.dataclass(eq=False)
class Discovery:
    """What ``discover`` found, the root first. ``truncated``: there were too many objects."""

    modules: list[FoundModule]
    variables: list[FoundVariable]
    truncated: bool = False

    def refresh(self, root: object) -> tuple[list[FoundModule], list[FoundVariable]]:
        """Look again, append what is new and return just that.

        Layers and weights that a first call built appear this way; nothing found before moves.
        """
        again = discover(root)
        index = {id(m.obj): i for i, m in enumerate(self.modules)}
        known = {id(v.resource) for v in self.variables}
        new_modules: list[FoundModule] = []
        for module in again.modules:
            old = index.get(id(module.obj))
            if old is not None:
                self.modules[old].num_params = module.num_params
                self.modules[old].num_trainable = module.num_trainable
                continue
            module.parent = index[id(again.modules[module.parent].obj)]
            index[id(module.obj)] = len(self.modules)
            self.modules.append(module)
            new_modules.append(module)
        new_variables = [v for v in again.variables if id(v.resource) not in known]
        for variable in new_variables:
            variable.module = index[id(again.modules[variable.module].obj)]
        self.variables.extend(new_variables)
        self.truncated |= again.truncated
        return new_modules, new_variables


def discover(root: object) -> Discovery:
    """Find every module and variable that ``root`` reaches, without running any of their code.

    >>> model = keras.Sequential([keras.layers.Dense(2, name="head")])
    >>> [m.address for m in discover(model).modules]
    ['self', 'head']
    """
    from . import _known  # it builds the records above

    return _known.discover(root)


def config_json(module: object) -> str:
    """The configuration of a module as JSON; asks a Keras object for ``get_config()``."""
    return json.dumps(_config(module), default=_plain, sort_keys=True)


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


def _config(obj: Any) -> Any:
    fw = _kinds.frameworks()
    attributes = _kinds.attributes_of(obj)
    short = {"name": _kinds.name_of(obj), "trainable": attributes.get("_trainable", True)}
    if issubclass(type(obj), (*fw.graphs, *fw.sequentials)):
        return short  # its children are modules of their own, with their own configuration
    if issubclass(type(obj), fw.layers):
        try:
            return obj.get_config()
        except Exception:  # a layer whose configuration cannot be had: say what is known
            return short
    return {
        name: value
        for name, value in attributes.items()
        if not name.startswith("_") and isinstance(value, (bool, int, float, str))
    }


def _plain(value: Any) -> Any:
    """A stand-in for what JSON does not know, the same in every run."""
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if getattr(value, "size", 0) == 1 and hasattr(value, "item"):
        return value.item()
    return type(value).__name__
