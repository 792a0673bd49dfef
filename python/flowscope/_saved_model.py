"""SavedModels by path, and what TensorFlow restored from one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _core, _graphs, _kinds, _outputs, _recording, _runtime
from .errors import FlowScopeError, InvalidArgumentError, LookupFailedError

_FILES = (".keras", ".h5", ".hdf5")

# Inputs of a signature: name, number of the dtype, sizes (negative: unknown; None: of any rank).
Specs = list[tuple[str, int, list[int] | None]]


def load_keras_file(path: str) -> Any | None:
    """The Keras model in a file of that name; None where the path is no such file."""
    if not path.endswith(_FILES) or not os.path.isfile(path):
        return None
    keras = _runtime.keras()
    if keras is None:
        raise InvalidArgumentError(f"{path} holds a Keras model, and Keras cannot be imported here")
    try:
        return keras.models.load_model(path)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InvalidArgumentError(
            f"Keras cannot load {path}: {type(error).__name__}: {reason}. Where its layers are of "
            "your own, register them or load it inside keras.saving.custom_object_scope; or load "
            "the model as you do elsewhere, and give that"
        ) from error


def is_restored(model: Any) -> bool:
    """True for an object that ``tf.saved_model.load`` made; not for its functions."""
    return _kinds.is_restored(type(model))


def callable_of(restored: Any, signature: str | None) -> Any:
    """What a restored object is called by: a signature, or the object itself."""
    signatures = getattr(restored, "signatures", None) or {}
    if signature is None and callable(restored):
        return restored
    key = signature or "serving_default"
    if key in signatures:
        return signatures[key]
    if signature is None and len(signatures) == 1:
        return next(iter(signatures.values()))
    raise LookupFailedError(
        f"the restored object has no signature {key!r}; it has: "
        + (", ".join(map(repr, sorted(signatures))) or "none")
    )


def trace(
    path: str,
    signature: str | None,
    input_args: Any,
    input_kwargs: dict[str, Any] | None,
    options: dict[str, Any],
) -> _core.Trace:
    """Records one call of a signature of the SavedModel at ``path``."""
    model = _core.SavedModel(path)
    key = model.find_signature(signature or "")
    specs = model.inputs(key)
    inputs, note = _inputs(key, specs, input_args, input_kwargs)
    if why_not := model.why_not_node_by_node(key):
        return _by_session(path, key, inputs, options, [note, why_not])
    defaults = {"root_kind": "saved_model", "root_class": "SavedModel"}
    settings = _runtime.session_options({**options, **defaults})
    try:
        model.load(_graphs.context())
        recorded, outputs, error, nonfinite = model.record(key, inputs, settings, note)
    finally:
        model.close()
    if nonfinite:
        raise _recording.nonfinite_error(recorded)
    if error:
        failure = FlowScopeError(f"the SavedModel {path} failed: {error}")
        failure.flowscope_trace = recorded  # type: ignore[attr-defined]
        raise failure
    recorded._set_output(outputs)  # type: ignore[attr-defined]
    _core.raise_predicate_error()
    return recorded


def structure(
    path: str,
    signature: str | None,
    input_args: Any,
    input_kwargs: dict[str, Any] | None,
    name: str | None,
) -> _core.Trace:
    """What a signature would run, from the file alone. Inputs may be given; they have to fit."""
    model = _core.SavedModel(path)
    key = model.find_signature(signature or "")
    specs = model.inputs(key)
    for given, value in _named(key, specs, input_args, input_kwargs).items():
        _check_fits(key, specs, given, value)
    return model.structure(key, name or "")


def _check_fits(key: str, specs: Specs, name: str, value: Any) -> None:
    tf = _runtime.tensorflow()
    wanted = {spec[0]: spec for spec in specs}.get(name)
    takes = f"signature {key!r} takes {_describe(specs)}"
    if wanted is None:
        raise InvalidArgumentError(f"there is no input {name!r}; {takes}")
    if not (hasattr(value, "shape") and hasattr(value, "dtype")) or isinstance(value, np.ndarray):
        value = _tensor(name, value, wanted[1])
    dims = None if wanted[2] is None else [None if dim < 0 else dim for dim in wanted[2]]
    dtype = tf.as_dtype(value.dtype)
    if dtype == wanted[1] and tf.TensorShape(dims).is_compatible_with(value.shape):
        return
    shape = tf.TensorShape(value.shape)
    text = "any shape" if shape.rank is None else tuple(shape.as_list())
    raise InvalidArgumentError(
        f"input {name!r} does not fit: it was given {dtype.name} {text}; {takes}"
    )


def _by_session(
    path: str, key: str, inputs: dict[str, Any], options: dict[str, Any], notes: list[str]
) -> _core.Trace:
    """The signature as TensorFlow's own loader runs it: one op, which says why."""
    tf = _runtime.tensorflow()
    loaded = tf.saved_model.load(path)
    function = loaded.signatures[key]
    settings = {**options, "root_kind": "saved_model", "root_class": "SavedModel"}
    recording = _recording.Recording(None, settings)
    recording.start()
    session = recording.session
    session.add_note(
        f"{notes[1]}: TensorFlow's session ran the signature as one op. "
        "structure_only=True lists what is in it"
    )
    if notes[0]:
        session.add_note(notes[0])
    try:
        _recording.declare_arguments(session, list(inputs.items()))
        output = function(**inputs)
        session.declare_outputs(output, _outputs.describe(output))
    except BaseException as error:
        recording.finish(f"{type(error).__name__}: {error}")
        raise
    recorded = recording.finish()
    recorded._set_output(output)  # type: ignore[attr-defined]
    return recorded


def _inputs(
    key: str, specs: Specs, input_args: Any, input_kwargs: dict[str, Any] | None
) -> tuple[dict[str, Any], str]:
    """Tensors by input name, and a note where they had to be made."""
    named = _named(key, specs, input_args, input_kwargs)
    if not named and specs:
        made = {name: _made(dtype, dims) for name, dtype, dims in specs}
        return made, "no input was given: one was made from the signature"
    dtypes = {name: dtype for name, dtype, _ in specs}
    return {name: _tensor(name, value, dtypes.get(name)) for name, value in named.items()}, ""


def _named(
    key: str, specs: Specs, input_args: Any, input_kwargs: dict[str, Any] | None
) -> dict[str, Any]:
    """What was given, by input name."""
    named = dict(input_kwargs or {})
    if isinstance(input_args, dict):
        named.update(input_args)
    elif isinstance(input_args, tuple) and len(input_args) != 1:
        if input_args:
            raise InvalidArgumentError(
                f"signature {key!r} takes its inputs by name; pass a dict or input_kwargs: "
                f"{_describe(specs)}"
            )
    elif input_args is not None:
        (value,) = input_args if isinstance(input_args, tuple) else (input_args,)
        free = [name for name, _, _ in specs if name not in named]
        if len(free) != 1:
            raise InvalidArgumentError(
                f"one value was given without a name; signature {key!r} takes {_describe(specs)}"
            )
        named[free[0]] = value
    return named


def _tensor(name: str, value: Any, dtype: int | None) -> Any:
    tf = _runtime.tensorflow()
    if tf.is_tensor(value):
        return value
    try:
        return tf.convert_to_tensor(value, dtype=dtype)
    except (TypeError, ValueError) as error:
        wanted = f" of {tf.as_dtype(dtype).name}" if dtype else ""
        raise InvalidArgumentError(f"input {name!r} is no tensor{wanted}: {error}") from error


def _made(dtype: int, dims: list[int] | None) -> Any:
    tf = _runtime.tensorflow()
    shape = [max(dim, 1) for dim in dims or []]
    kind = tf.as_dtype(dtype)
    if kind.is_floating:
        return tf.cast(tf.constant(np.random.default_rng(0).random(shape)), kind)
    return tf.zeros(shape, kind)


def _describe(specs: Specs) -> str:
    tf = _runtime.tensorflow()
    parts = []
    for name, dtype, dims in specs:
        shape = "any shape" if dims is None else str(tuple(None if d < 0 else d for d in dims))
        parts.append(f"{name}: {tf.as_dtype(dtype).name} {shape}")
    return ", ".join(parts) or "nothing"
