"""The modules of one recording by their numbers: found from the root, or met in a call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from . import _core, _found, _runtime, addresses
from ._patches import Patches


@dataclasses.dataclass(eq=False)
class _Met:
    """A module that no search had found; what it holds goes by addresses below its own."""

    obj: Any
    address: str
    parent: int
    number: int = -1


class DeclaredModules:
    """What is declared to a session. A module's number is the engine's, and its place here."""

    def __init__(self, session: _core.Session, patches: Patches) -> None:
        self._session = session
        self._patches = patches
        self._objects: list[Any] = []
        self._addresses: list[str] = []
        self._params: list[tuple[int, int]] = []
        self._has_built = False  # parameters, since they were told
        self._of_root: set[str] = set()  # addresses
        self._met: list[_Met] = []
        self._met_numbers: dict[str, int] = {}  # by address
        self._met_above: dict[int, _Met] = {}  # by number
        self._met_in: dict[int, set[str]] = {}  # addresses, by the call
        self._variables: dict[int, Any] = {}  # of met modules, by id
        self._variable_addresses: set[str] = set()

    def __len__(self) -> int:
        return len(self._objects)

    def number_of(self, module: Any) -> int:
        """Negative where the module is not declared."""
        return int(self._session.module_id(module))

    def object(self, number: int) -> Any:
        """The module of a number; None where there is none."""
        return self._objects[number] if 0 <= number < len(self._objects) else None

    def address(self, number: int) -> str:
        """The address of a module by number; that of the root where there is none."""
        return self._addresses[number] if 0 <= number < len(self) else addresses.ROOT_ADDRESS

    def declare(self, found: addresses.Discovery) -> None:
        """Declares the first search, and readies its classes."""
        for cls in {type(module.obj) for module in found.modules}:
            self._patches.hold_module(cls)
        for module in found.modules:
            self._keep(module)
        self._of_root.update(self._addresses)
        found.declarations.declare_to(self._session, self._objects)

    def refresh(self, found: addresses.Discovery, root: Any, arguments: Any) -> None:
        """Declares what calls have built since: layers, and the variables in them."""
        modules, variables = addresses.refresh(found, root, arguments)
        self._of_root.update(module.address for module in modules)
        unknown = [module for module in modules if self.number_of(module.obj) < 0]
        self._declare_new(found.modules, unknown, variables, -1)
        self._count(found.modules)

    def look_below(self, number: int) -> bool:
        """Declares what was built below the met module that has or holds this one.

        False where nobody met it.
        """
        met = self._met_above.get(number)
        if met is not None:
            self._declare_below(met)
        return met is not None

    def look_below_all(self) -> None:
        """Declares what was built below every module that was met."""
        for met in self._met:
            self._declare_below(met)

    def meet(self, module: Any, parent: int, call: int) -> int:
        """The number of a module that was first seen in a call; it and what it holds are declared.

        The same one made again in a later call is the same module.
        """
        siblings = self._met_in.setdefault(call, set())
        address = addresses.address_for_new(self.address(parent), module, self._of_root | siblings)
        siblings.add(address)
        met = _Met(module, address, parent)
        self._met.append(met)
        self._declare_below(met)
        met.number = self.number_of(module)
        return met.number

    def update_params(self) -> None:
        """Tells the session the numbers of parameters where calls have built some."""
        if self._has_built:
            self._session.update_params(self._params)

    def config_source(self) -> Callable[[int], str]:
        """Gives the JSON configuration of a module by number; empty where the module is gone."""
        owners = [_runtime.weak(module) for module in self._objects]
        # One that a call has made is mostly gone when somebody asks.
        first = {met.number: met.obj for met in reversed(self._met)}
        made = {number: addresses.config_json(module) for number, module in first.items()}

        def config(number: int) -> str:
            if number in made:
                return made[number]
            owner = owners[number]() if number < len(owners) else None
            return addresses.config_json(owner) if owner is not None else ""

        return config

    def _declare_below(self, met: _Met) -> None:
        def address_of(module: Any) -> str | None:
            if module is met.obj:
                return met.address
            number = self.number_of(module)
            return self._addresses[number] if number >= 0 else None

        found = addresses.below(met.obj, address_of, set())
        new = []
        for module in found.modules:
            if self.number_of(module.obj) >= 0:
                continue
            known = self._met_numbers.get(module.address)
            if known is None:
                new.append(module)
                continue
            self._session.alias_module(module.obj, known)
            self._met_above[known] = met
        variables = [v for v in found.variables if id(v.resource) not in self._variables]
        for variable in variables:
            variable.address = addresses.unique(variable.address, self._variable_addresses)
            self._variables[id(variable.resource)] = variable.resource
        self._declare_new(found.modules, new, variables, met.parent)
        self._count(found.modules)
        for module in new:
            number = self.number_of(module.obj)
            self._met_numbers[module.address] = number
            self._met_above[number] = met

    def _declare_new(
        self,
        around: list[addresses.FoundModule],
        modules: list[addresses.FoundModule],
        variables: list[addresses.FoundVariable],
        parent: int,
    ) -> None:
        """``around`` is what the places in the records count; ``parent`` that of the first."""
        for one in modules:
            self._patches.hold_module(type(one.obj))
            above = self.number_of(around[one.parent].obj) if one.parent >= 0 else parent
            self._session.declare_module(
                one.obj,
                [one.address, *one.aliases],
                one.class_name,
                one.name,
                "",
                above,
                one.num_params,
                one.num_trainable,
            )
            self._keep(one)
        named = _core.Declarations()
        placed = [
            dataclasses.replace(one, module=self.number_of(around[one.module].obj))
            for one in variables
        ]
        _found.declare(named, [], placed)
        named.declare_to(self._session, [])

    def _keep(self, module: addresses.FoundModule) -> None:
        self._objects.append(module.obj)
        self._addresses.append(module.address)
        self._params.append((module.num_params, module.num_trainable))

    def _count(self, modules: list[addresses.FoundModule]) -> None:
        for module in modules:
            number, params = self.number_of(module.obj), (module.num_params, module.num_trainable)
            self._has_built |= self._params[number] != params
            self._params[number] = params
