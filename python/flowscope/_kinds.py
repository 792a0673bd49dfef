"""What a Python object is to a recorder, told by its type and its instance dictionary alone.

No property, no ``__getattr__`` and no method of a user's class runs here, and nothing is imported:
Keras and TensorFlow count only where the process has them already.
"""

from __future__ import annotations

import collections
import dis
import enum
import functools
import re
import sys
import sysconfig
import types
import weakref
from typing import Any, NamedTuple

LEAF = 0
MODULE = 1  # a Keras layer or operation, a tf.Module
VARIABLE = 2
HOLDER = 3  # any other object with attributes: a plain object, an optimizer, a metric
FUNCTION = 4
METHOD = 5
PARTIAL = 6
TF_FUNCTION = 7
CONCRETE = 8
SEQUENCE = 9  # containers from here on
NAMED_TUPLE = 10
MAPPING = 11
SET = 12
STORED = 13  # TensorFlow's list wrapper, which keeps its items in ``_storage``
PROXY = 14  # a wrapt proxy: TensorFlow's dict and tuple wrappers

_RESTORES = "tensorflow.python.saved_model.load"

ATOMS = (bool, int, float, complex, str, bytes, bytearray, type(None), type, slice, range)


class StandIn:
    """What stands for a module where no Python object is one."""


class Frameworks(NamedTuple):
    """The classes that tell kinds apart; empty for a framework that is not imported."""

    modules: tuple[type, ...]
    layers: tuple[type, ...]
    variables: tuple[type, ...]
    keras_state: tuple[type, ...]
    tf_state: tuple[type, ...]
    graphs: tuple[type, ...]
    sequentials: tuple[type, ...]
    input_layers: tuple[type, ...]
    optimizers: tuple[type, ...]
    tf_functions: tuple[type, ...]
    concretes: tuple[type, ...]
    tf_lists: tuple[type, ...]
    proxies: tuple[type, ...]


def _look_up(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part, None)
        if root is None:
            return None
    return root


def _classes(*candidates: Any) -> tuple[type, ...]:
    return tuple(c for c in candidates if isinstance(c, type))


@functools.lru_cache(maxsize=4)
def _frameworks(keras: Any, tf: Any, wrapt: Any) -> Frameworks:
    loaded = sys.modules.get
    function = _look_up(loaded("keras.src.ops.function"), "Function")
    saveable = _look_up(loaded("keras.src.saving.keras_saveable"), "KerasSaveable")
    structures = loaded("tensorflow.python.trackable.data_structures")
    state = ("Metric", "Loss", "optimizers.Optimizer", "random.SeedGenerator")
    return Frameworks(
        modules=_classes(StandIn, _look_up(keras, "Operation"), _look_up(tf, "Module")),
        layers=_classes(_look_up(keras, "Layer")),
        variables=_classes(
            _look_up(keras, "Variable"),
            _look_up(tf, "Variable"),
            # Keras 3.0 exports a subclass of what its layers make.
            _look_up(loaded("keras.src.backend.common.variables"), "KerasVariable"),
        ),
        keras_state=_classes(saveable, *(_look_up(keras, name) for name in state)),
        tf_state=_classes(_look_up(tf, "__internal__.tracking.AutoTrackable")),
        graphs=_classes(_look_up(keras, "Function") or function),
        sequentials=_classes(_look_up(keras, "Sequential")),
        input_layers=_classes(_look_up(keras, "layers.InputLayer")),
        optimizers=_classes(_look_up(keras, "optimizers.Optimizer")),
        tf_functions=_classes(_look_up(tf, "types.experimental.PolymorphicFunction")),
        concretes=_classes(_look_up(tf, "types.experimental.ConcreteFunction")),
        tf_lists=_classes(_look_up(structures, "List")),
        proxies=_classes(_look_up(wrapt, "ObjectProxy")),
    )


def frameworks() -> Frameworks:
    """Those of Keras and TensorFlow that this process has imported."""
    loaded = sys.modules.get
    return _frameworks(loaded("keras"), loaded("tensorflow"), loaded("wrapt"))


def classify(cls: type) -> int:
    """The kind of the instances of ``cls``."""
    fw = frameworks()
    if issubclass(cls, tuple):
        return NAMED_TUPLE if hasattr(cls, "_fields") else SEQUENCE
    by_base: tuple[tuple[tuple[type, ...], int], ...] = (
        (fw.proxies, PROXY),
        (fw.tf_lists, STORED),
        (fw.variables, VARIABLE),
        (fw.modules, MODULE),
        ((cls,) if is_restored(cls) else (), MODULE),
        (fw.tf_functions, TF_FUNCTION),
        (fw.concretes, CONCRETE),
        ((dict, types.MappingProxyType), MAPPING),
        ((list, collections.deque), SEQUENCE),
        ((set, frozenset), SET),
        ((types.FunctionType,), FUNCTION),
        ((types.MethodType,), METHOD),
        ((functools.partial,), PARTIAL),
        ((types.SimpleNamespace,), HOLDER),
        ((type, enum.Enum, *ATOMS), LEAF),
    )
    for bases, kind in by_base:
        if issubclass(cls, bases):
            return kind
    package = package_of(cls.__module__)
    if package == "keras":
        return HOLDER if issubclass(cls, fw.keras_state) else LEAF
    if package == "tensorflow":
        return HOLDER if issubclass(cls, fw.tf_state) else LEAF
    return LEAF if is_stateless_module(str(cls.__module__)) else HOLDER


def is_restored(cls: type) -> bool:
    """Whether instances of ``cls`` are objects that ``tf.saved_model.load`` made."""
    return cls.__module__ == _RESTORES and cls.__name__ == "_UserObject"


def is_restored_function(cls: type) -> bool:
    """Whether instances of ``cls`` are concrete functions that ``tf.saved_model.load`` made."""
    return cls.__module__ == _RESTORES and cls.__name__ == "_WrapperFunction"


def package_of(module: object) -> str:
    """The top-level package of a module's name."""
    return module.partition(".")[0] if isinstance(module, str) else ""


@functools.lru_cache(maxsize=512)
def is_stateless_module(module: str) -> bool:
    """Whether a module belongs to Python itself or to NumPy, whose objects hold no model state."""
    package = package_of(module)
    if package in ("builtins", "numpy"):
        return True
    if package not in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or file.startswith(sysconfig.get_paths()["stdlib"])


def is_framework_module(module: str) -> bool:
    """Whether a module is Keras, TensorFlow, NumPy or Python itself."""
    return package_of(module) in ("keras", "tensorflow") or is_stateless_module(module)


def is_library(function: types.FunctionType, user: types.FunctionType) -> bool:
    """Whether ``function`` is installed code that the user's function merely calls."""
    module = str(function.__globals__.get("__name__"))
    if is_framework_module(module):
        return True
    installed = re.search(r"(site|dist)-packages", function.__code__.co_filename)
    return bool(installed) and package_of(module) != package_of(user.__globals__.get("__name__"))


def attributes_of(value: object) -> dict[str, Any]:
    """The instance dictionary, or an empty one."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def name_of(value: object) -> str | None:
    """The ``name`` that a Keras or TensorFlow object stores, without asking its class."""
    attributes = attributes_of(value)
    name = attributes.get("name") or attributes.get("_name")
    if isinstance(name, str):
        return name
    handle_name = attributes.get("_handle_name")  # a tf.Variable
    return handle_name.removesuffix(":0") if isinstance(handle_name, str) else None


@functools.lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """The stem of the names that Keras generates: ``MaxPooling2D`` gives ``max_pooling2d``."""
    split = re.sub(r"(?<!^)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", re.sub(r"\W+", "", name))
    return split.lower()


def user_name(value: object) -> str | None:
    """The name that the user gave to a Keras object; None where Keras generated it."""
    name = name_of(value)
    if not name:
        return None
    stem = snake_case(type(value).__name__)
    if not name.startswith(stem):
        return name
    number = name[len(stem) :]
    return None if not number or (number[0] == "_" and number[1:].isdigit()) else name


def resource_of(variable: Any) -> Any:
    """The tf.Variable behind a Keras variable; any other value itself."""
    inner = attributes_of(variable).get("_value")
    if inner is not None and issubclass(type(variable), frameworks().variables):
        return inner
    return variable


def method_self(method: types.MethodType) -> object:
    """The object that a method is bound to, also through the weak target of a ``tf.function``."""
    target = method.__self__
    reference = getattr(type(target), "weakrefself_target__", None)
    if isinstance(reference, types.MemberDescriptorType):
        weak = reference.__get__(target)
        return weak() if isinstance(weak, weakref.ref) else target
    return target


@functools.lru_cache(maxsize=16)
def set_in_init(cls: type) -> frozenset[str]:
    """Names of the attributes that the ``__init__`` of ``cls`` itself assigns."""
    init = cls.__dict__.get("__init__")
    if not isinstance(init, types.FunctionType):
        return frozenset()
    return frozenset(i.argval for i in dis.get_instructions(init) if i.opname == "STORE_ATTR")


@functools.lru_cache(maxsize=64)
def layer_bookkeeping(layer: type) -> frozenset[str]:
    """What the ``__init__`` of ``keras.Layer`` and of its bases set: nothing of the user's."""
    return frozenset().union(*(set_in_init(base) for base in layer.__mro__))


def is_property(cls: type, name: str) -> bool:
    """Whether instances of ``cls`` show a property of that name."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return isinstance(base.__dict__[name], property)
    return False


def defines(cls: type, name: str) -> bool:
    """Whether ``cls`` or a base has a class attribute of that name."""
    return any(name in base.__dict__ for base in cls.__mro__)


def holds_something(function: types.FunctionType) -> bool:
    """Whether a function carries objects of its own, apart from its globals."""
    closure, defaults = function.__closure__, function.__defaults__
    return bool(closure or defaults or function.__kwdefaults__ or attributes_of(function))


def variables_of(graph: Any) -> list[Any]:
    """Variables of a function's graph that still live.

    The graph of a function that was restored alone, without the object that held its variables,
    remembers them weakly and raises for the dead ones; a call needs their handles only.
    """
    try:
        return list(graph.variables)
    except AssertionError:
        found = [reference() for reference in getattr(graph, "_weak_variables", ())]
        return [variable for variable in found if variable is not None]
