"""Errors: the model's own pass through with what ran; bad input is named with its remedy."""

from __future__ import annotations

import dataclasses
import inspect
import os
import traceback
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

OURS = os.path.dirname(fs.__file__)
MUL = fs.sites.func("Mul")


class Trouble(Exception):
    pass


class Fails(keras.layers.Layer):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def call(self, x: Any) -> Any:
        tf.nn.relu(x)
        raise self.error


class FailsInModule(tf.Module):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def __call__(self, x: Any) -> Any:
        tf.nn.relu(x)
        raise self.error


def fails(error: BaseException) -> Any:
    def model(x: Any) -> Any:
        tf.nn.relu(x)
        raise error

    return model


def frames(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


# --- the model's own errors ----------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.asan
@pytest.mark.parametrize("build", [fails, FailsInModule])
@pytest.mark.parametrize(
    "error", [Trouble("here"), KeyError(1), KeyboardInterrupt(), SystemExit(3), StopIteration()]
)
def test_the_same_exception_object_with_what_ran(build: Any, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        fs.trace(build(error), tf.ones(2))
    assert caught.value is error and checks.left_behind() == []
    trace = error.flowscope_trace  # type: ignore[union-attr]
    assert trace.op_counts() == {"Relu": 1} and trace.lint() == []
    assert type(error).__name__ in trace.error and trace.output is None


class Closed(Exception):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "flowscope_trace":
            raise AttributeError(name)
        super().__setattr__(name, value)


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    reason: str


def test_an_exception_that_carries_nothing() -> None:
    error = Closed("x")
    with pytest.raises(Closed) as caught:
        fs.trace(fails(error), tf.ones(2))
    assert caught.value is error and any("flowscope" in note for note in error.__notes__)


def test_an_exception_that_takes_no_note() -> None:
    error = Frozen("x")
    try:
        fs.trace(fails(error), tf.ones(2))
    except Exception as caught:
        assert caught is error


def test_a_layer_that_raises_gives_what_a_plain_call_gives() -> None:
    layer, x = Fails(Trouble("here")), tf.ones((1, 3))
    with pytest.raises(Trouble) as plain:
        layer(x)
    with pytest.raises(Trouble) as recorded:
        fs.trace(layer, x)
    assert str(recorded.value) == str(plain.value)
    (call,) = recorded.value.flowscope_trace.module_calls  # type: ignore[attr-defined]
    assert call.failed and [op.type for op in call.ops] == ["Relu"]


def test_tracebacks_hold_no_frame_of_ours_inside_the_model() -> None:
    outer = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3)])

    class Inner(tf.Module):
        def __call__(self, x: Any) -> Any:
            raise Trouble("deep")

    inner = Inner()

    def model(x: Any) -> Any:
        return inner(outer(x))

    with pytest.raises(Trouble) as plain:
        model(tf.ones((1, 3)))
    with pytest.raises(Trouble) as recorded:
        fs.trace(model, tf.ones((1, 3)))
    files = frames(recorded.value)
    last_of_ours = max(i for i, file in enumerate(files) if file.startswith(OURS))
    assert files[last_of_ours + 1 :] == frames(plain.value)[1:]
    assert not any(file.startswith(OURS) for file in files[last_of_ours + 1 :])


def test_an_op_that_fails() -> None:
    x = tf.ones((2, 3))
    with pytest.raises(tf.errors.InvalidArgumentError) as plain:
        tf.matmul(x, x)
    with pytest.raises(tf.errors.InvalidArgumentError) as recorded:
        fs.trace(lambda a: tf.matmul(tf.abs(a), a), x)
    assert str(recorded.value) == str(plain.value)
    trace = recorded.value.flowscope_trace  # type: ignore[attr-defined]
    assert [op.type for op in trace if op.error] == ["MatMul"] and trace.lint() == []
    assert "failed" in repr(trace["matmul_1"]) and trace["matmul_1"].parents == [
        trace["abs_1"],
        trace["input_1"],
    ]


def test_wrong_arguments_to_the_model() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        fs.trace(lambda x, y: x, tf.ones(2))
    sequential = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    wrong = [
        (sequential, (tf.ones((1, 4)),), {}),
        (sequential.layers[0], (tf.ones((1, 3)),), {"a": 1}),
    ]
    for model, args, kwargs in wrong:
        with pytest.raises((ValueError, TypeError)) as plain:
            model(*args, **kwargs)
        with pytest.raises(type(plain.value)) as recorded:
            fs.trace(model, args, kwargs)
        assert type(recorded.value) is type(plain.value)
        assert not isinstance(recorded.value, fs.FlowScopeError)
        assert str(recorded.value) == str(plain.value)


def test_a_block_that_raises() -> None:
    with pytest.raises(Trouble) as caught:
        with fs.capture() as recording:
            tf.nn.relu(tf.ones(2))
            raise Trouble("in the block")
    assert recording.trace.op_counts()["Relu"] == 1
    assert caught.value.flowscope_trace is recording.trace  # type: ignore[attr-defined]
    assert "Trouble" in recording.trace.error


def test_an_error_that_the_model_handles_is_none_of_the_trace() -> None:
    def model(x: Any) -> Any:
        try:
            tf.matmul(x, x)
        except tf.errors.InvalidArgumentError:
            return tf.nn.relu(x)
        return x

    trace = fs.trace(model, tf.ones((2, 3)))
    checks.assert_sound(trace)
    assert trace.error is None and trace["matmul_1"].error and trace.outputs == [trace["relu_1"]]


def test_a_predicate_that_raises() -> None:
    def predicate(op: Any) -> bool:
        raise Trouble(op.type)

    with pytest.raises(Trouble, match="Exp"):
        fs.trace(tf.exp, tf.ones(2), save=predicate)
    assert fs.trace(tf.exp, tf.ones(2)).num_ops == 1


# --- stops ---------------------------------------------------------------------------------------


@pytest.mark.asan
def test_raise_on_nan() -> None:
    def model(x: Any) -> Any:
        return tf.exp(tf.math.log(x) * 2.0)

    with pytest.raises(fs.errors.NonFiniteError, match="log of 0") as caught:
        fs.trace(model, tf.constant([1.0, 0.0]), raise_on_nan=True)
    error = caught.value
    assert error.report.op == error.trace["log_1"] and error.report.element == (1,)
    assert error.trace.op_counts() == {"Log": 1} and error.trace.lint() == []
    trace = fs.trace(model, tf.constant([1.0, 2.0]), raise_on_nan=True)
    checks.assert_same_bits(model(tf.constant([1.0, 2.0])), trace.output)


def test_raise_on_nan_in_a_block() -> None:
    with pytest.raises(fs.errors.NonFiniteError) as caught:
        with fs.capture(raise_on_nan=True):
            tf.math.log(tf.zeros(2))
    assert caught.value.trace.op_counts()["Log"] == 1


@pytest.mark.parametrize("option", [{"save": "none"}, {"keep": "stats"}, {"save_budget": 0}])
@pytest.mark.filterwarnings("ignore:flowscope")
def test_raise_on_nan_whatever_is_kept(option: dict[str, Any]) -> None:
    with pytest.raises(fs.errors.NonFiniteError) as caught:
        fs.trace(lambda x: tf.math.log(x) + 1.0, tf.zeros(2), raise_on_nan=True, **option)
    assert str(caught.value).startswith("first non-finite value: -inf")
    assert caught.value.report.op.type == "Log"


def careful(x: Any) -> Any:
    """A model that answers every error of an op with another way."""
    try:
        y = tf.exp(x) * 2.0
    except tf.errors.OpError:
        y = x
    return y + 5.0


def test_raise_on_nan_in_a_model_that_handles_errors() -> None:
    with pytest.raises(fs.errors.NonFiniteError):
        fs.trace(careful, tf.constant([1000.0]), raise_on_nan=True)


def test_halt_in_a_model_that_handles_errors() -> None:
    trace = fs.trace(careful, tf.ones(2), halt=MUL)
    assert trace.halted and trace.op_counts() == {"Exp": 1, "Mul": 1} and trace.output is None


@pytest.mark.asan
def test_halt() -> None:
    reached = []

    def model(x: Any) -> Any:
        y = tf.exp(x) * 2.0
        reached.append(y)
        return y + 1.0

    trace = fs.trace(model, tf.ones(2), halt=MUL)
    assert trace.halted and trace.error is None and trace.output is None and reached == []
    assert trace.op_counts() == {"Exp": 1, "Mul": 1} and trace.lint() == []
    assert np.array_equal(trace["mul_1"].out, 2.0 * tf.exp(tf.ones(2)).numpy())
    with fs.capture(halt=MUL) as recording:
        model(tf.ones(2))
        reached.append("not reached")
    assert recording.trace.halted and reached == []
    assert not fs.trace(model, tf.ones(2)).halted


# --- one recording at a time ---------------------------------------------------------------------


def test_a_recording_inside_a_recording_is_refused_and_the_outer_goes_on() -> None:
    refused: list[str] = []

    def model(x: Any) -> Any:
        y = x * 2.0
        for inner in (lambda: fs.trace(tf.abs, y), lambda: fs.capture().__enter__()):
            try:
                inner()
            except fs.errors.RecordingStateError as error:
                refused.append(str(error))
        return y + 1.0

    trace = fs.trace(model, tf.ones(2))
    checks.assert_sound(trace)
    assert len(refused) == 2 and all("being recorded already" in text for text in refused)
    assert trace.op_counts() == {"AddV2": 1, "Mul": 1} and trace.error is None


def test_a_block_has_no_trace_before_its_end() -> None:
    recording = fs.capture()
    with pytest.raises(fs.FlowScopeError, match="has ended"):
        _ = recording.trace
    with recording, pytest.raises(fs.FlowScopeError, match="has ended"):
        _ = recording.trace


# --- bad input -----------------------------------------------------------------------------------

BAD_OPTIONS = {
    "keep": "value",
    "random": "fixed",
    "backend": "jax",
    "intervene": {"relu_1": None},
    "storage": "x.flow",
    "backward": True,
    "save": object(),
    "halt": object(),
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_an_option_that_cannot_be_used_is_named(option: str) -> None:
    with pytest.raises(fs.FlowScopeError) as caught:
        fs.trace(tf.abs, tf.ones(2), **{option: BAD_OPTIONS[option]})
    assert isinstance(caught.value, ValueError) and len(str(caught.value)) > 20
    assert option in str(caught.value) or option in ("save", "halt")


def test_functions_is_checked() -> None:
    with pytest.raises(fs.FlowScopeError, match="functions"):
        fs.trace(tf.abs, tf.ones(2), functions="outside")


def test_an_unknown_option_is_a_flowscope_error() -> None:
    with pytest.raises(fs.FlowScopeError, match="save"):
        fs.trace(tf.abs, tf.ones(2), saved="all")


@pytest.mark.parametrize("root", [3, None, object(), [tf.abs]])
def test_not_callable(root: Any) -> None:
    with pytest.raises(fs.errors.InvalidArgumentError, match="not callable; expected a Keras"):
        fs.trace(root, tf.ones(2))


def test_a_path_and_wrong_keywords() -> None:
    with pytest.raises(fs.errors.LookupFailedError, match=r"model\.keras does not exist"):
        fs.trace("model.keras", tf.ones(2))
    with pytest.raises(fs.errors.InvalidArgumentError, match="expected a dict"):
        fs.trace(tf.abs, tf.ones(2), [1])  # type: ignore[arg-type]


def test_unknown_keys_come_with_the_nearest_names() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="hidden")])
    trace = fs.trace(model, tf.ones((1, 3)))
    for key, near in (
        ("hiden", "hidden"),
        ("hidden.kernal", "hidden.kernel"),
        ("matmull_1", "matmul_1"),
    ):
        with pytest.raises(fs.errors.LookupFailedError, match=f"Did you mean .*{near}"):
            trace[key]
    with pytest.raises(fs.errors.LookupFailedError, match="this trace has"):
        trace[99]
    with pytest.raises(fs.errors.LookupFailedError, match="hidden"):
        fs.trace(model, tf.ones((1, 3)), save="hiden")
    with pytest.raises(fs.errors.LookupFailedError, match="hidden"):
        fs.pluck(model, tf.ones((1, 3)), "hiden")


def test_every_error_is_of_one_hierarchy() -> None:
    found = [cls for _, cls in inspect.getmembers(fs.errors, inspect.isclass)]
    ours = [cls for cls in found if cls.__module__ == fs.errors.__name__]
    assert len(ours) >= 10 and all(issubclass(cls, fs.FlowScopeError) for cls in ours)
    assert fs.FlowScopeError is fs.errors.FlowScopeError


def test_a_predicates_error_does_not_reach_the_next_run() -> None:
    def broken(op: Any) -> bool:
        raise LookupError("of the predicate")

    def failing(x: Any) -> Any:
        raise KeyError(str(tf.exp(x)))

    with pytest.raises(KeyError):
        fs.trace(failing, tf.ones(2), save=broken)
    assert fs.trace(tf.exp, tf.ones(2)).op_counts() == {"Exp": 1}


@pytest.mark.parametrize("option", ["save", "halt"])
def test_a_predicates_error_inside_of_a_py_function(option: str) -> None:
    """Its ops run on a thread of their own; the error belongs to the recording all the same."""

    def broken(op: Any) -> bool:
        if op.type == "Sinh":
            raise LookupError("of the predicate")
        return option == "save"

    @tf.function
    def f(x: Any) -> Any:
        return tf.py_function(lambda v: tf.sinh(v), [x], tf.float32) + 1.0

    with pytest.raises(LookupError, match="of the predicate"):
        fs.trace(f, tf.ones(2), **{option: broken})
    with pytest.raises(LookupError, match="of the predicate"), fs.capture(**{option: broken}):
        f(tf.ones(2))
    assert fs.trace(tf.exp, tf.ones(2)).op_counts() == {"Exp": 1}


def test_a_module_whose_init_did_not_call_its_base() -> None:
    class Bare(tf.Module):
        def __init__(self) -> None:
            pass

        def __call__(self, x: Any) -> Any:
            return tf.exp(x)

    trace = fs.trace(Bare(), tf.ones(2))
    assert trace.name == "Bare" and trace.op_counts() == {"Exp": 1}


def nothing(x: Any) -> Any:
    return x


FLAGS = ("structure_only", "code_context", "compare_compiled", "raise_on_nan", "validate")
WRONG = {
    **{flag: [3, "yes", None, [True]] for flag in FLAGS},
    "name": [3, b"x", ["name"]],
    "signature": [3, b"x"],
    "random_seed": ["a", 1.5, -1, 2**32, True, [1]],
    "save": [3, 1.5, object()],
    "halt": [object()],
    "functions": ["closed"],
    "keep": ["some", None],
    "random": ["fresh", None],
    "backend": ["torch", None],
    "save_budget": ["lots", -1, float("nan")],
    "storage": [3, True],
}


@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, values in WRONG.items() for value in values]
)
def test_an_option_of_a_wrong_kind_is_named(option: str, value: Any) -> None:
    with pytest.raises(fs.FlowScopeError) as caught:
        fs.trace(nothing, tf.ones(2), **{option: value})
    assert option in str(caught.value) or option in ("save", "halt", "storage", "functions")
    assert checks.left_behind() == []


@pytest.mark.parametrize("option", ["code_context", "compare_compiled", "raise_on_nan", "name"])
def test_an_option_of_a_block_of_a_wrong_kind_is_named(option: str) -> None:
    with pytest.raises(fs.FlowScopeError, match=option):
        fs.capture(**{option: 3})


def test_a_seed_of_numpy_is_a_seed() -> None:
    draws = [
        fs.trace(tf.random.normal, ((3,),), random_seed=seed).output.numpy()
        for seed in (7, np.int64(7))
    ]
    assert (draws[0] == draws[1]).all()


@pytest.mark.parametrize(
    "record",
    [
        lambda y: fs.trace(nothing, y),
        lambda y: fs.extract(nothing, y, "relu_1"),
        lambda y: fs.capture().__enter__(),
        lambda y: fs.validate(nothing, y),
        lambda y: fs.trace(nothing, y, structure_only=True),
    ],
)
def test_a_recording_where_a_graph_is_built_is_refused(record: Any) -> None:
    compiled = tf.function(record)
    with pytest.raises(fs.errors.RecordingStateError, match="graph is built"):
        compiled(tf.ones(2))
    with tf.Graph().as_default(), pytest.raises(fs.errors.RecordingStateError):
        record(tf.zeros(2))
    assert checks.left_behind() == []
