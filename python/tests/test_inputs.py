"""Arguments of the recorded call by their path, however they are packed."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


@dataclasses.dataclass
class Batch:
    image: Any
    extra: Any = None


Pair = collections.namedtuple("Pair", ["left", "right"])


def row(start: float = 1.0) -> Any:
    return tf.constant([start, start + 1.0])


def names(trace: Any) -> list[str | None]:
    return [op.name for op in trace.inputs]


@pytest.mark.smoke
@pytest.mark.asan
def test_nested_structures() -> None:
    def model(d: Any, items: Any, *, batch: Any) -> Any:
        return d["p"]["q"] + items[0][1] + batch.image + batch.extra[0]

    given = {"p": {"q": row(1.0)}}, [(row(2.0), row(3.0))]
    keywords = {"batch": Batch(row(4.0), [row(5.0)])}
    trace = fs.trace(model, given, keywords)
    checks.assert_sound(trace)
    assert names(trace) == [
        "d['p']['q']",
        "items[0][0]",
        "items[0][1]",
        "batch.image",
        "batch.extra[0]",
    ]
    assert [float(op.out[0]) for op in trace.inputs] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [len(op.children) for op in trace.inputs] == [1, 0, 1, 1, 1]
    checks.assert_same_bits(model(*given, **keywords), trace.output)


def test_variadic_arguments() -> None:
    def model(first: Any, *rest: Any, **named: Any) -> Any:
        return first + rest[1] + named["last"]

    trace = fs.trace(model, (row(), row(), row()), {"last": row()})
    assert names(trace) == ["first", "rest[0]", "rest[1]", "last"]


def test_composite_tensors() -> None:
    ragged = tf.ragged.constant([[1.0, 2.0], [3.0]])
    sparse = tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]])

    def model(r: Any, s: Any) -> Any:
        return tf.reduce_sum(r * 2.0) + tf.sparse.reduce_sum(s)

    trace = fs.trace(model, (ragged, sparse))
    checks.assert_sound(trace)
    assert names(trace) == ["r.values", "r.row_splits", "s.indices", "s.values", "s.dense_shape"]
    assert trace.inputs[0].children and trace.inputs[3].children
    assert trace.completeness["edges"]["constant"] == 2, "the axes"


def test_namedtuple() -> None:
    trace = fs.trace(lambda pair: pair.left * pair.right, (Pair(row(1.0), row(5.0)),))
    checks.assert_sound(trace)
    assert len(trace.inputs) == 2 and all(op.children for op in trace.inputs)


def test_numpy_arguments() -> None:
    a, b = np.ones((2, 2), "f4"), {"k": np.full((2, 2), 3.0, "f4")}
    trace = fs.trace(lambda a, b: tf.matmul(a, b["k"]), (a, b))
    checks.assert_sound(trace)
    assert names(trace) == ["a", "b['k']"]
    assert trace.outputs[0].parents == trace.inputs


def test_numpy_into_a_keras_model() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    x = np.arange(6, dtype="f4").reshape(2, 3)
    trace = fs.trace(model, x)
    checks.assert_sound(trace)
    checks.assert_same_bits(model(x), trace.output)
    assert len(trace.inputs) == 1 and np.array_equal(trace.inputs[0].out, x)
    assert trace.inputs[0].children and trace.completeness["edges"]["constant"] == 0


@pytest.mark.parametrize("dtype", ["f8", "i4", "u1"])
def test_numpy_of_another_dtype_is_one_input(dtype: str) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    trace = fs.trace(model, x)
    checks.assert_same_bits(model(x), trace.output)
    assert trace.completeness["edges"]["constant"] == 0
    assert len(trace.inputs) == 1 and trace.inputs[0].children


def test_several_inputs_of_a_functional_model() -> None:
    left, right = keras.Input((2,), name="left"), keras.Input((2,), name="right")
    model = keras.Model([left, right], keras.layers.Add()([left, right]))
    for given in ((row()[None], row(4.0)[None]), [row()[None], row(4.0)[None]]):
        trace = fs.trace(model, given)
        checks.assert_sound(trace)
        assert len(trace.inputs) == 2 and np.array_equal(trace.output, [[5.0, 7.0]])
    named = keras.Model({"left": left, "right": right}, keras.layers.Add()([left, right]))
    trace = fs.trace(named, {"left": row()[None], "right": row(4.0)[None]})
    assert names(trace) == ["inputs['left']", "inputs['right']"]


def test_keyword_arguments_of_a_keras_layer() -> None:
    attention = keras.layers.MultiHeadAttention(2, 3)
    x, mask = tf.random.uniform((1, 4, 6)), tf.ones((1, 4, 4), "bool")
    attention(x, x)
    trace = fs.trace(attention, (x, x), {"attention_mask": mask, "return_attention_scores": True})
    checks.assert_sound(trace)
    assert names(trace) == ["query", "attention_mask"], "one tensor passed twice is one input"
    checks.assert_same_bits(
        attention(x, x, attention_mask=mask, return_attention_scores=True), trace.output
    )


def test_none_among_the_arguments() -> None:
    trace = fs.trace(lambda x, mask=None: x * 2.0, (row(), None))
    checks.assert_sound(trace)
    assert names(trace) == ["x"]


def test_scalars_and_texts_among_the_arguments() -> None:
    trace = fs.trace(lambda x, n, how: x * n if how == "times" else x, (row(), 3.0, "times"))
    assert names(trace) == ["x"] and trace.outputs[0].literals == {1: 3.0}


def test_a_model_that_returns_nothing() -> None:
    seen: list[Any] = []
    trace = fs.trace(lambda x: seen.append(x * 2.0), row())
    assert trace.output is None and trace.outputs == [] and trace.op_counts() == {"Mul": 1}


@pytest.mark.parametrize("value", [7, "text", (), {}, [1.0, "a"]])
def test_outputs_that_are_no_tensors(value: Any) -> None:
    trace = fs.trace(lambda x: value, row())
    assert trace.output == value and trace.outputs == [] and trace.lint() == []


def test_structured_outputs() -> None:
    def model(x: Any) -> Any:
        y = tf.nn.relu(x)
        return {"y": y, "pair": (x, [y * 2.0])}

    trace = fs.trace(model, row())
    checks.assert_sound(trace)
    assert sorted(trace.output) == ["pair", "y"] and trace.output["pair"][0] is not None
    assert {op.type for op in trace.outputs} == {"Relu", "input", "Mul"}


def test_variables_as_arguments_and_outputs() -> None:
    variable = tf.Variable([1.0, 2.0])
    trace = fs.trace(lambda v: v * 2.0, (variable,))
    checks.assert_sound(trace)
    assert trace.op_counts() == {"Mul": 1, "ReadVariableOp": 1}
    trace = fs.trace(lambda: variable)
    assert trace.output is variable and trace.lint() == []


def functional() -> Any:
    given = keras.Input((3,), dtype="int32")
    return keras.Model(given, keras.layers.Embedding(4, 2)(given))


def sequential() -> Any:
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])


def layer() -> Any:
    made = keras.layers.Dense(2)
    made.build((None, 3))
    return made


class Scaled(keras.Model):
    """Built by its first call; keras keeps the shape."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.dense(x)


def subclassed() -> Any:
    made = Scaled()
    made(tf.ones((1, 3)))
    return made


def recurrent() -> Any:
    made = keras.layers.LSTM(2)
    made.build((None, 5, 3))  # its input spec alone says three dimensions of any size
    return made


def signed() -> Any:
    return tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec((None, 3))])


def concrete() -> Any:
    return signed().get_concrete_function()


@pytest.mark.parametrize(
    "build",
    [functional, sequential, layer, subclassed, recurrent, signed, concrete],
    ids=lambda f: f.__name__,
)
def test_an_input_is_made_from_the_spec(build: Any) -> None:
    trace = fs.trace(build())
    checks.assert_sound(trace)
    assert trace.output.shape[0] == 1 and len(trace.inputs) == 1
    assert any("no input was given" in note for note in trace.notes)


def test_several_inputs_are_made() -> None:
    attention = keras.layers.MultiHeadAttention(2, 3)
    attention(tf.ones((1, 4, 8)), tf.ones((1, 6, 8)))
    trace = fs.trace(attention)
    assert {op.name: op.shape for op in trace.inputs} == {"query": (1, 4, 8), "value": (1, 6, 8)}
    left, right = keras.Input((2,)), keras.Input((2,), dtype="int32")
    cast = keras.ops.cast(right, "float32")
    trace = fs.trace(keras.Model([left, right], keras.layers.Add()([left, cast])))
    assert [op.dtype for op in trace.inputs] == ["float32", "int32"]


class TwoArguments(Scaled):
    def call(self, x: Any, y: Any) -> Any:
        return self.dense(x) + y


def test_an_input_that_cannot_be_made() -> None:
    two = TwoArguments()
    two(tf.ones((1, 3)), tf.ones((1, 2)))
    unbuilt = keras.Sequential([keras.layers.Dense(2)])
    for model in (keras.layers.Dense(2), keras.layers.ReLU(), Scaled(), unbuilt, two):
        with pytest.raises(fs.errors.InvalidArgumentError, match="pass input_args"):
            fs.trace(model)
    assert fs.trace(lambda: tf.ones(2)).notes == []
