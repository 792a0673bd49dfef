"""The structure of a model in memory: its program runs once, on tensors that have no values."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from . import _core, _kinds, _roots, _runtime, _structure
from ._recording import Recording
from .errors import (
    FlowScopeError,
    InvalidArgumentError,
    RecordingStateError,
    UnsupportedError,
)

# Graphs that models are traced into now; there TensorFlow's Python goes as it would eagerly.
_graphs: weakref.WeakSet[Any] = weakref.WeakSet()
# Why this thread's model was refused: AutoGraph puts errors of its own around ours.
_thread = threading.local()
_KEPT = ("built", "_called", "_losses", "_loss_ids")


def structure(
    root: _roots.Root,
    input_args: Any,
    input_kwargs: dict[str, Any] | None,
    options: dict[str, Any],
) -> _core.Trace:
    """What a call of the root would run, as ``fs.trace(structure_only=True)`` gives it."""
    if not _runtime.tensorflow().executing_eagerly():
        raise RecordingStateError(
            "structure_only= was asked for while a graph is built; ask outside of tf.function"
        )
    args, kwargs, note = _arguments(root, input_args, input_kwargs)
    graph = _new_graph()
    named = _structure.named_arguments(root.signature_of, args, kwargs)
    recording = Recording(root.searched, {**options, "save": "none", "storage": None}, named)
    recording.start()
    recording.bodies.hold_all()
    _thread.refused = None
    try:
        call = _trace_call(recording, root, graph, args, kwargs)
        origins = _origins(recording, graph, call.graph_def)
    except BaseException as error:
        recording.finish(f"{type(error).__name__}: {error}")
        refused = getattr(_thread, "refused", None)
        if refused is not None and refused is not error:
            raise refused from None
        if _asks_for_a_value(error):
            _raise_value_needed(error)
        raise
    ran = recording.finish()
    facts = _facts(recording, root, graph, call, ran, options)
    facts["notes"] = [*([note] if note else []), *_notes(ran)]
    trace = _core.live_structure(call.graph_def.SerializeToString(), facts, origins)
    trace._set_config_source(recording.config_source)  # type: ignore[attr-defined]
    trace._set_output(_specs_of_output(call.output))  # type: ignore[attr-defined]
    return trace


@dataclasses.dataclass
class _Call:
    """The traced call: placeholders by path, and what it returned."""

    inputs: list[tuple[str, Any]]
    output: Any
    outputs: list[tuple[str, Any]]
    graph_def: Any


def _new_graph() -> Any:
    from tensorflow.python.framework import func_graph

    return func_graph.FuncGraph("structure")


# --- arguments ---------------------------------------------------------------


def _arguments(
    root: _roots.Root, input_args: Any, input_kwargs: dict[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any], str]:
    """The arguments with a spec in place of every tensor."""
    if input_args is None and not input_kwargs and _roots.needs_input(root):
        args, kwargs = _roots.input_specs(root)
        note = "no input was given: its type is the model's input spec"
    else:
        args, kwargs, note = _roots.arguments(root, input_args, input_kwargs)
    nest = _runtime.tensorflow().nest
    return nest.map_structure(_spec_of, args), nest.map_structure(_spec_of, kwargs), note


def _spec_of(value: Any) -> Any:
    tf, keras = _runtime.tensorflow(), _runtime.keras()
    if isinstance(value, (tf.TypeSpec, tf.Variable)):
        return value
    if keras is not None and isinstance(value, keras.KerasTensor):
        return _spec_of_keras(value)
    if keras is not None and isinstance(value, keras.layers.InputSpec):
        return _spec_of_input(value)
    if isinstance(value, (np.ndarray, np.generic)):
        kept = np.asarray(value)
        dtype = "string" if kept.dtype.kind in "SU" else kept.dtype
        return tf.TensorSpec(kept.shape, tf.as_dtype(dtype))
    if tf.is_tensor(value):
        return tf.type_spec_from_value(value)
    return value


def _spec_of_keras(value: Any) -> Any:
    tf = _runtime.tensorflow()
    if getattr(value, "sparse", False):
        return tf.SparseTensorSpec(value.shape, value.dtype)
    if getattr(value, "ragged", False):
        return tf.RaggedTensorSpec(value.shape, value.dtype, ragged_rank=value.ragged_rank or 1)
    return tf.TensorSpec(value.shape, value.dtype)


def _spec_of_input(value: Any) -> Any:
    shape = value.shape
    if shape is None and value.ndim is not None:
        axes = value.axes or {}
        shape = [axes.get(axis) for axis in range(value.ndim)]
    return _runtime.tensorflow().TensorSpec(shape, value.dtype or "float32")


def _placeholders(value: Any, path: str) -> Any:
    """A tensor of the graph for every spec in a structure."""
    from tensorflow.python.eager import graph_only_ops

    tf = _runtime.tensorflow()
    name = re.sub(r"[^A-Za-z0-9_.]+", "_", path).strip("_.") or "input"

    def make(leaf: Any) -> Any:
        if not isinstance(leaf, tf.TensorSpec):
            return leaf
        return graph_only_ops.graph_placeholder(leaf.dtype, leaf.shape, name=name)

    return tf.nest.map_structure(make, value, expand_composites=True)


def _tensors(value: Any, path: str, graph: Any) -> Iterator[tuple[str, Any]]:
    """Tensors of the graph in a structure, with their paths, as a recording names them."""
    tf = _runtime.tensorflow()
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(item, f"{path}[{key!r}]", graph)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _tensors(item, f"{path}[{i}]", graph)
    elif isinstance(value, tf.Tensor):
        if getattr(value, "graph", None) is graph:
            yield path, value
        elif not hasattr(value, "graph"):
            yield path, graph.capture(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _tensors(getattr(value, field.name), f"{path}.{field.name}", graph)
    elif hasattr(value, "_type_spec"):
        for name, part in _structure.composite_parts(value):
            yield from _tensors(part, f"{path}.{name}", graph)


# --- the call ----------------------------------------------------------------


def _trace_call(
    recording: Recording, root: _roots.Root, graph: Any, args: Any, kwargs: Any
) -> _Call:
    named = _structure.named_arguments(root.signature_of, args, kwargs)
    with _kept_state(recording), _held_off(recording, graph), graph.as_default():
        made = {name: _placeholders(value, name) for name, value in named}
        names = iter(made.values())
        given = tuple(next(names) for _ in args)
        inputs = [pair for name, value in made.items() for pair in _tensors(value, name, graph)]
        output = recording.root_call(root.obj)(*given, **dict(zip(kwargs, names, strict=True)))
        outputs = list(_tensors(output, "output", graph))
    graph.outputs = [tensor for _, tensor in outputs]
    return _Call(inputs, output, outputs, _graph_def(graph))


def _graph_def(graph: Any) -> Any:
    try:
        return graph.as_graph_def(add_shapes=True)
    except (ValueError, _runtime.tensorflow().errors.OpError) as error:
        raise FlowScopeError(
            "the graph of the model cannot be written down; constants of the program may be too "
            f"large for it: {error}"
        ) from error


@contextlib.contextmanager
def _held_off(recording: Recording, graph: Any) -> Iterator[None]:
    """While the program runs no variable is made, and TensorFlow goes as it would eagerly."""
    from tensorflow.python.framework import ops
    from tensorflow.python.ops import array_ops, custom_gradient

    for module in (array_ops, custom_gradient):
        recording.hold(module, "context", _EagerBranches)
    keras = _runtime.keras()
    if keras is not None and "_maybe_build" in vars(keras.Layer):
        recording.hold(keras.Layer, "_maybe_build", _without_building)
    scope = ops.get_default_graph()._variable_creator_scope
    _graphs.add(graph)
    try:
        with scope(_refuse_variable, priority=1000):
            yield
    finally:
        _graphs.discard(graph)


class _EagerBranches:
    """TensorFlow's ``context`` module for code that makes other ops in graphs than eagerly.

    There the shape of a tensor and small zeros become constants, and a custom gradient an op.
    """

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def executing_eagerly(self) -> bool:
        from tensorflow.python.framework import ops

        return bool(self._module.executing_eagerly()) or ops.get_default_graph() in _graphs


def _is_ours() -> bool:
    """Whether this thread traces a model for its structure, in whatever graph inside of it."""
    from tensorflow.python.framework import ops

    graph = ops.get_default_graph()
    while graph not in _graphs:
        graph = getattr(graph, "outer_graph", None)
        if graph is None:
            return False
    return True


def _refuse_variable(next_creator: Callable[..., Any], **options: Any) -> NoReturn:
    name = options.get("name") or "a variable"
    _refuse(
        f"structure_only= changes nothing, and the program makes a variable ({name}) while it "
        "runs: call it once before"
    )


def _refuse(message: str) -> NoReturn:
    _thread.refused = UnsupportedError(message)
    raise _thread.refused


def _without_building(original: Any) -> Any:
    @functools.wraps(original)
    def _maybe_build(self: Any, call_spec: Any) -> None:
        if self.built or not _is_ours():
            original(self, call_spec)
            return
        # A container whose layers are built, and what has no state, come to no variable.
        is_default = hasattr(type(self).build, "_is_default")
        if is_default and all(layer.built for layer in self._flatten_layers(include_self=False)):
            return
        _refuse(
            f"structure_only= changes nothing, and {type(self).__name__} {self.name!r} is not "
            "built yet: it has no variables to speak of. Call the model once, or "
            "model.build(input_shape)"
        )

    return _maybe_build


@contextlib.contextmanager
def _kept_state(recording: Recording) -> Iterator[None]:
    """Keras notes in its layers that they were called and what they lost; as before, afterwards."""
    found = recording.found.modules if recording.found is not None else []
    before = []
    for module in found:
        attributes = getattr(module.obj, "__dict__", {})
        before.append((attributes, {key: attributes[key] for key in _KEPT if key in attributes}))
    copies = [
        (held, type(held)(held))
        for _, values in before
        for held in values.values()
        if isinstance(held, (list, set))
    ]
    try:
        yield
    finally:
        for attributes, values in before:
            attributes.update(values)
        for held, copy in copies:
            held.clear()
            held.extend(copy) if isinstance(held, list) else held.update(copy)


# --- errors ------------------------------------------------------------------


def _asks_for_a_value(error: BaseException) -> bool:
    tf = _runtime.tensorflow()
    if isinstance(error, FlowScopeError) or not isinstance(error, Exception):
        return False
    if isinstance(error, tf.errors.OperatorNotAllowedInGraphError):
        return True
    if isinstance(error, AttributeError):
        return isinstance(error.obj, tf.Tensor)
    text = str(error)
    if "SymbolicTensor" in text or "symbolic tf.Tensor" in text or "symbolic tensor" in text:
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.endswith("tensorflow/python/framework/tensor.py")


def _raise_value_needed(error: BaseException) -> NoReturn:
    where = _user_line(error)
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    raise UnsupportedError(
        f"structure_only= cannot go on where the program asks a tensor for its value: {where}. "
        "No kernel runs, so there is none. Record a real run, or have tf.function convert this "
        f"code ({type(error).__name__}: {reason})"
    ) from error


def _user_line(error: BaseException) -> str:
    """The innermost line that is the user's, in code that AutoGraph converted as well."""
    prefixes = tuple(_runtime.library_prefixes())
    metadata = getattr(error, "ag_error_metadata", None)
    for frame in reversed(getattr(metadata, "translated_stack", None) or ()):
        if not frame.filename.startswith(prefixes):
            return _line_text(frame.filename, frame.lineno, frame.function_name)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(prefixes):
            return _line_text(frame.filename, frame.lineno or 0, frame.name)
    return "in a library"


def _line_text(file: str, line: int, function: str) -> str:
    import linecache

    code = linecache.getline(file, line).strip()
    return f"{file}:{line} in {function}" + (f": {code}" if code else "")


# --- what the engine is told -------------------------------------------------


def _origins(recording: Recording, graph: Any, graph_def: Any) -> dict[str, Any]:
    """Who asked for the ops of the graph and of each function in it, by function."""
    bodies = recording.bodies
    answers = {"": bodies.describe_graph(graph)}
    for function in graph_def.library.function:
        answer = bodies.describe(function.signature.name)
        if answer is not None:
            answers[function.signature.name] = answer
    return answers


def _facts(
    recording: Recording,
    root: _roots.Root,
    graph: Any,
    call: _Call,
    ran: _core.Trace,
    options: dict[str, Any],
) -> dict[str, Any]:
    variables, captured = _captures(recording, graph)
    return {
        "name": options["name"],
        "root_kind": root.kind,
        "root_class": root.class_name,
        "keras_version": options["keras_version"],
        "open_functions": options.get("functions") != "call",
        "modules": _module_rows(ran),
        "variables": variables,
        "inputs": [(t.op.name, path, *_type_of(t)) for path, t in call.inputs],
        "captured": captured,
        "outputs": [(path, t.op.name, t.value_index) for path, t in call.outputs],
    }


def _notes(ran: _core.Trace) -> list[str]:
    """What the recording around the tracing saw: ops that ran all the same, and its own notes."""
    notes = [note for note in ran.notes if "by name" in note]
    if ran.num_ops:
        kinds = ", ".join(f"{count} {kind}" for kind, count in ran.op_counts().items())
        notes.append(f"the program ran ops of its own while it was traced: {kinds}")
    return notes


def _type_of(tensor: Any) -> tuple[int, list[int] | None]:
    return tensor.dtype.as_datatype_enum, _dims(tensor.shape)


def _dims(shape: Any) -> list[int] | None:
    if shape.rank is None:
        return None
    return [-1 if dim is None else int(dim) for dim in shape]


def _module_rows(ran: _core.Trace) -> list[Any]:
    numbers = {module.address: i for i, module in enumerate(ran.modules)}
    return [
        (
            module.addresses,
            module.class_name,
            module.name,
            "",
            numbers[module.parent.address] if module.parent is not None else -1,
            module.num_params,
            module.num_trainable_params,
        )
        for module in ran.modules
    ]


def _captures(recording: Recording, graph: Any) -> tuple[list[Any], list[Any]]:
    """Variables, those of the root first, and other tensors that the graph takes from outside."""
    nodes = {id(outer): inner for outer, inner in graph.captures}
    variables = []
    for variable in recording.found.variables if recording.found is not None else []:
        resource = variable.resource
        handle = getattr(resource, "handle", None)
        if handle is None:
            continue
        node = nodes.pop(id(handle), None)
        names = [variable.address, *variable.aliases]
        row = (variable.name, variable.trainable, variable.module)
        variables.append(_variable_row(node, names, row, resource))
    for resource in _kinds.variables_of(graph):
        node = nodes.pop(id(resource.handle), None)
        if node is not None:
            name = resource.name.partition(":")[0]
            variables.append(_variable_row(node, [name], (name, resource.trainable, -1), resource))
    return variables, [(inner.op.name, "", *_type_of(inner)) for inner in nodes.values()]


def _variable_row(node: Any, names: list[str], row: tuple[str, bool, int], resource: Any) -> Any:
    name, trainable, module = row
    at = node.op.name if node is not None else ""
    dtype = resource.dtype.as_datatype_enum
    return (at, names, name, bool(trainable), module, dtype, _dims(resource.shape))


def _specs_of_output(output: Any) -> Any:
    """What the model returned, with a spec in place of every tensor."""
    tf = _runtime.tensorflow()

    def to_spec(value: Any) -> Any:
        is_value = tf.is_tensor(value) and not isinstance(value, tf.Variable)
        return tf.type_spec_from_value(value) if is_value else value

    return tf.nest.map_structure(to_spec, output)


def check_options(options: dict[str, Any]) -> None:
    """InvalidArgumentError for options that ask for values."""
    for name, (value, plain) in options.items():
        if value is not plain and value != plain:
            raise InvalidArgumentError(
                f"{name}= asks for values, and structure_only=True has none; leave it out"
            )
