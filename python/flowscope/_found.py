"""What a search for modules and variables finds: records with addresses; see ``addresses``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from . import _core, _kinds

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


class Discovery:
    """What a search found, the root first. ``truncated``: there were too many objects."""

    def __init__(
        self,
        modules: list[FoundModule],
        variables: list[FoundVariable] | Callable[[], list[FoundVariable]],
        truncated: bool = False,
        declarations: _core.Declarations | None = None,
    ) -> None:
        self.modules = modules
        self._variables = variables
        self.truncated = truncated
        self._declarations = declarations or _core.Declarations()
        self._extended = False
        # What calls have made that no search finds: (address of the module that was called, class).
        # Known of a root for as long as nothing that it holds has changed.
        self.made_in_calls: set[tuple[str, type]] = set()

    @property
    def variables(self) -> list[FoundVariable]:
        if callable(self._variables):
            self._variables = self._variables()
        return self._variables

    @property
    def declarations(self) -> _core.Declarations:
        """What the first search found, in the engine's form; the same for every later one."""
        if self._declarations.empty:
            declare(self._declarations, self.modules, self.variables)
        return self._declarations

    @property
    def declared(self) -> _core.Declarations | None:
        """The declarations of the first search; None where a later one has added to this."""
        return None if self._extended else self._declarations

    def extend(self, again: Discovery) -> tuple[list[FoundModule], list[FoundVariable]]:
        """Append what is new in a later search of the same root and return just that.

        Layers and weights that a first call built appear this way; nothing found before moves.
        """
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
        self._extended |= bool(new_modules or new_variables)
        return new_modules, new_variables


def declare(
    declarations: _core.Declarations, modules: list[FoundModule], variables: list[FoundVariable]
) -> None:
    for module in modules:
        declarations.add_module(
            [module.address, *module.aliases],
            module.class_name,
            module.name,
            module.parent,
            module.num_params,
            module.num_trainable,
        )
    for variable in variables:
        declarations.add_variable(
            variable.resource,
            [variable.address, *variable.aliases],
            variable.name,
            variable.trainable,
            variable.module,
        )


def config_json(module: object) -> str:
    """The configuration of a module as JSON; asks a Keras object for ``get_config()``."""
    return json.dumps(_config(module), default=_plain, sort_keys=True)


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
