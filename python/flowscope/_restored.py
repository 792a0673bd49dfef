"""What TensorFlow restored from a SavedModel: the modules and variables that the file has.

The engine tells them as it tells those of a file (``src/savedmodel/variable_names.h``): from the
attributes of the restored objects, and, of a model that Keras exported, from the names of nodes and
variables. For a layer that only names tell, a ``Layer`` stands in.

Nothing here keeps a restored object alive.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from . import _core, _graphs, _kinds, _runtime

_MAX_OBJECTS = 100_000
_COPIES = "_all_variables."
_LISTS = {list: "trackable_list_wrapper", dict: "trackable_dict_wrapper"}
_HELD_BY_LAYER = "_reloaded_obj"  # of keras.layers.TFSMLayer
OF_LAYER = frozenset((_HELD_BY_LAYER, "call_endpoint_fn", "call_training_endpoint_fn"))

_Reference = weakref.ref[Any]


class Layer(_kinds.StandIn):
    """A layer that the names of a restored model's nodes tell."""

    def __init__(self, name: str, model: Restored, number: int) -> None:
        """Module ``number`` of ``model``."""
        self.name = name
        self.model = model
        self.number = number


class Step(NamedTuple):
    """From a module of a restored model to what it holds."""

    segments: tuple[str, ...]
    value: Any
    is_alias: bool


class Restored:
    """One restored model.

    ``modules``: address, name, class, number of the one above, object, parameters, trainable ones.
    """

    def __init__(self, held: _Held) -> None:
        """Ask the engine for the modules of what was found."""
        self.held = held.key()
        _runtime.tensorflow()  # the engine asks it for the functions
        self.names = _core.RestoredNames(_graphs.context(), held.rows, held.function_rows())
        self.modules = self.names.modules
        self._layers: dict[int, Layer] = {}
        self._objects: dict[int, _Reference] = {}
        self._functions = [weakref.ref(function) for function in held.functions]
        self._graphs: weakref.WeakSet[Any] | None = None
        for number, (_, name, _, _, which, *_) in enumerate(self.modules):
            if number > 0 and which >= 0:
                self._objects[number] = weakref.ref(held.objects[which])
            elif number > 0:
                self._layers[number] = Layer(name, self, number)
        self._variables = list(self._placed(held))

    def members(self) -> Iterator[tuple[int, Any]]:
        """Objects that are modules below the root, with their numbers."""
        for number, reference in self._objects.items():
            yield number, reference()

    def steps(self, number: int) -> Iterator[Step]:
        """From one module to the modules and variables right below it."""
        above = self.modules[number][0] if number else ""
        for below, (address, _, _, parent, *_) in enumerate(self.modules):
            reference = self._objects.get(below)
            value = reference() if reference is not None else self._layers.get(below)
            if parent == number and value is not None:
                yield Step(_below(address, above), value, False)
        for owner, address, aliases, reference in self._variables:
            variable = reference()
            if variable is None:
                continue
            if owner == number:
                yield Step(_below(address, above), variable, False)
            if number == 0:
                for alias in aliases:
                    yield Step(tuple(alias.split(".")), variable, True)

    def has(self, function: str) -> bool:
        """Whether a function of TensorFlow's context is one of these, or was made of one."""
        if self.names.has(function):
            return True
        graph = _graphs.graph_of(function)
        if graph is None:
            return False
        if self._graphs is None:
            alive = [reference() for reference in self._functions]
            self._graphs = weakref.WeakSet(_graphs_of([one for one in alive if one is not None]))
        return graph in self._graphs

    def _placed(self, held: _Held) -> Iterator[tuple[int, str, list[str], _Reference]]:
        """Variables: number of the module, address, other addresses."""
        read = {id(given) for function in held.functions for given in function.captured_inputs}
        found = []
        for which, variable in enumerate(held.objects):
            if held.rows[which][0] == "variable":
                addresses, name, owner = self.names.variable(which)
                is_read = id(getattr(variable, "handle", None)) in read
                found.append((variable, addresses, name, owner, is_read))
        names_read = {name for _, _, name, _, is_read in found if is_read}
        for variable, addresses, name, owner, is_read in found:
            # What Keras exports has a second copy of each variable, which no function reads.
            is_copy = name in names_read and any(a.startswith(_COPIES) for a in addresses)
            if is_read or (owner >= 0 and not is_copy):
                yield max(owner, 0), addresses[0], addresses[1:], weakref.ref(variable)


class View:
    """Restored models as one search meets them."""

    def __init__(self) -> None:
        """Nothing has been met."""
        self._met: dict[int, tuple[Restored, int]] = {}  # by the id of an object that is a module

    def steps(self, value: Any, kind: int) -> Iterable[Step] | None:
        """From a module or a function of a restored model; None for all else."""
        place = self._place(value, kind)
        return None if place is None else place[0].steps(place[1])

    def described(self, value: Any) -> tuple[str, str] | None:
        """The class and the name of a module of a restored model; None for all else."""
        row = self._row(value)
        return None if row is None else (row[2], row[1] or row[2])

    def parameters(self, value: Any) -> tuple[int, int] | None:
        """How many parameters such a module has, and how many are trainable."""
        row = self._row(value)
        return None if row is None else (row[5], row[6])

    def _row(self, value: Any) -> tuple[Any, ...] | None:
        if isinstance(value, Layer):
            return value.model.modules[value.number]
        if id(value) in self._met and not _is_layer(value):
            model, number = self._met[id(value)]
            return model.modules[number]
        return None

    def _place(self, value: Any, kind: int) -> tuple[Restored, int] | None:
        if isinstance(value, Layer):
            return value.model, value.number
        known = self._met.get(id(value))
        if known is not None:
            return known
        model = model_of(value, kind)
        if model is None:
            return None
        self._met[id(value)] = model, 0
        for number, member in model.members():
            self._met.setdefault(id(member), (model, number))
        return model, 0


# By the restored object, or by a function or a layer that stands for one.
_models: weakref.WeakKeyDictionary[Any, Restored] = weakref.WeakKeyDictionary()


def model_of(value: Any, kind: int) -> Restored | None:
    """The restored model that an object, a function or a Keras layer is; None for all else."""
    if kind == _kinds.MODULE:
        root = _kinds.attributes_of(value).get(_HELD_BY_LAYER) if _is_layer(value) else value
        if not _kinds.is_restored(type(root)):
            return None
        model = _models[value] = _known(root, _Held.below(root))
        return model
    if kind in (_kinds.CONCRETE, _kinds.TF_FUNCTION) and _is_restored_function(value):
        known = _models.get(value)
        if known is not None:
            return known
        owner = _owner_of(value)
        held = _Held.of_function(value) if owner is None else _Held.below(owner)
        model = _models[value] = _known(value if owner is None else owner, held)
        return model
    return None


def _known(root: Any, held: _Held) -> Restored:
    """The model of an object, made once as long as the object holds the same."""
    model = _models.get(root)
    if model is None or model.held != held.key():
        model = _models[root] = Restored(held)
    return model


Numbered = list[tuple[Restored, list[int]]]


def numbered(modules: list[Any], number_of: Callable[[Any], int]) -> Numbered:
    """The restored models of a discovery, with what a recording calls the modules of each."""
    found: dict[Restored, list[int]] = {}
    for module in modules:
        model = _of_found(module.obj)
        if model is not None and model.names.by_scopes:
            numbers = found.setdefault(model, [-1] * len(model.modules))
            at = module.obj.number if isinstance(module.obj, Layer) else 0
            numbers[at] = number_of(module.obj)
    return list(found.items())


def origins(models: Numbered, function: str) -> Any:
    """Who asked for the ops of a restored function; None where nothing is known."""
    for model, numbers in models:
        if model.has(function):
            return model.names.origins(_graphs.context(), function, numbers)
    return None


def _of_found(value: Any) -> Restored | None:
    if isinstance(value, Layer):
        return value.model
    is_restored = _kinds.is_restored(type(value)) or _is_layer(value)
    return _models.get(value) if is_restored or _is_function(value) else None


class _Held:
    """The objects that a restored one holds, in the rows that the engine takes."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.rows: list[tuple[Any, ...]] = []
        self.functions: list[Any] = []
        self._numbers: dict[int, int] = {}

    @classmethod
    def below(cls, root: Any) -> _Held:
        held = cls()
        held._number(root)
        at = 0
        while at < len(held.objects):
            held._add(held.objects[at])
            at += 1
        return held

    @classmethod
    def of_function(cls, function: Any) -> _Held:
        """Of a function whose object is gone: the variables that it takes and that still live."""
        held = cls()
        held.functions = _concrete(function)
        graphs = [concrete.graph for concrete in held.functions]
        variables = {id(v): v for graph in graphs for v in _kinds.variables_of(graph)}
        held.objects = [function, None, *variables.values()]
        below = [(str(i), i + 2) for i in range(len(variables))]
        held.rows = [
            ("user", [("variables", 1)], "", "", None, False),
            ("user", below, _LISTS[list], "", None, False),
        ]
        held.rows += map(_variable_row, variables.values())
        return held

    def function_rows(self) -> list[tuple[str, list[int]]]:
        """Functions by name, with the numbers of the variables that are their last arguments."""
        handles = {
            id(getattr(variable, "handle", None)): number
            for number, variable in enumerate(self.objects)
            if self.rows[number][0] == "variable"
        }
        return [
            (_name_of(one), [handles.get(id(given), -1) for given in one.captured_inputs])
            for one in self.functions
        ]

    def key(self) -> list[int]:
        """The same as long as the same objects are held."""
        return [id(one) for one in self.objects]

    def _number(self, value: Any) -> int:
        known = self._numbers.get(id(value))
        if known is None:
            known = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return known

    def _add(self, value: Any) -> None:
        kind = _kinds.classify(type(value))
        if kind == _kinds.VARIABLE:
            self.rows.append(_variable_row(value))
        elif kind in (_kinds.CONCRETE, _kinds.TF_FUNCTION):
            self.functions += _concrete(value)
            self.rows.append(("function", [], "", "", None, False))
        else:
            identifier, items = _items(value, kind)
            room = len(self.objects) < _MAX_OBJECTS
            below = [(name, self._number(item)) for name, item in items if room]
            self.rows.append(("user" if below else "other", below, identifier, "", None, False))


def _items(value: Any, kind: int) -> tuple[str, list[tuple[str, Any]]]:
    """What the file calls this kind of object, and what it holds."""
    attributes = _kinds.attributes_of(value)
    if _kinds.is_restored(type(value)):
        children = value._trackable_children().items()
        return "", [(name, child) for name, child in children if name[:6] != "_self_"]
    if kind == _kinds.STORED:
        return _LISTS[list], [(str(i), item) for i, item in enumerate(attributes["_storage"])]
    if kind == _kinds.PROXY:
        value = value.__wrapped__
        if isinstance(value, dict):
            return _LISTS[dict], [(str(key), item) for key, item in value.items()]
        return "trackable_tuple_wrapper", [(str(i), item) for i, item in enumerate(value)]
    if isinstance(attributes.get("_signatures"), dict):
        return "signature_map", list(attributes["_signatures"].items())
    return "", []


def _variable_row(variable: Any) -> tuple[Any, ...]:
    dims = None if variable.shape.rank is None else [-1 if d is None else d for d in variable.shape]
    trainable = bool(getattr(variable, "trainable", False))
    return ("variable", [], "", variable.name.removesuffix(":0"), dims, trainable)


def _is_layer(value: Any) -> bool:
    """Whether a Keras layer runs a restored model that is its own."""
    held = _kinds.attributes_of(value).get(_HELD_BY_LAYER)
    return held is not None and _kinds.is_restored(type(held))


def _is_function(value: Any) -> bool:
    fw = _kinds.frameworks()
    return issubclass(type(value), (*fw.tf_functions, *fw.concretes))


def _is_restored_function(value: Any) -> bool:
    return any(_kinds.is_restored_function(type(concrete)) for concrete in _concrete(value))


def _concrete(function: Any) -> list[Any]:
    listed = getattr(function, "concrete_functions", None)
    if isinstance(listed, list):  # what calls any of several
        return listed
    return [function] if hasattr(function, "captured_inputs") else []


def _name_of(function: Any) -> str:
    name = function.name
    return name.decode() if isinstance(name, bytes) else str(name)


def _graphs_of(functions: list[Any]) -> list[Any]:
    """The graphs of functions and of all that they call."""
    graphs: list[Any] = []
    unseen = [function.graph for function in functions]
    while unseen:
        graph = unseen.pop()
        if graph is not None and not any(graph is one for one in graphs):
            graphs.append(graph)
            inner = (getattr(graph, "_functions", None) or {}).values()
            unseen += [getattr(function, "_cached_graph", None) for function in inner]
    return graphs


def _owner_of(function: Any) -> Any:
    """The restored object that has this function; None where it is gone.

    A function does not know its object: every object of the process is looked at.
    """
    wanted = {_name_of(concrete) for concrete in _concrete(function)}
    for value in gc.get_objects():
        # Only what a load gave as a whole says by which TensorFlow it was written.
        is_whole = _kinds.is_restored(type(value)) and "tensorflow_version" in value.__dict__
        if is_whole and not wanted.isdisjoint(map(_name_of, _Held.below(value).functions)):
            return value
    return None


def _below(address: str, above: str) -> tuple[str, ...]:
    return tuple((address[len(above) + 1 :] if above else address).split("."))
