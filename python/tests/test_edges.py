"""Where a value comes from: copies of handles, ways through Python, constants, literals."""

from __future__ import annotations

from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


def matrix() -> Any:
    return tf.constant([[1.0, 2.0], [3.0, -4.0]])


def only(trace: Any, op_type: str) -> Any:
    (op,) = [op for op in trace if op.type == op_type]
    return op


def classes(op: Any) -> list[str]:
    return [found.edge_class for found in op.inputs]


def record(model: Any, *args: Any, **options: Any) -> Any:
    trace = fs.trace(model, args, **options)
    checks.assert_sound(trace)
    return trace


# --- handle copies -------------------------------------------------------------------------------


def dlpack_round_trip(value: Any) -> Any:
    return tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(value))


def shared_copy(value: Any) -> Any:
    return tf.constant(value)


def on_device(value: Any) -> Any:
    with tf.device("/CPU:0"):
        return value.cpu()


COPIES = {
    "cpu": lambda value: value.cpu(),
    "device": on_device,
    "constant": shared_copy,
    "convert": tf.convert_to_tensor,
    "dlpack": dlpack_round_trip,
    "dlpack twice": lambda value: dlpack_round_trip(dlpack_round_trip(value)),
    "copy.copy": lambda value: __import__("copy").copy(value),
}


@pytest.mark.asan
@pytest.mark.parametrize("name", COPIES)
def test_copies_of_a_handle_keep_the_edge(name: str) -> None:
    def model(x: Any) -> Any:
        return COPIES[name](tf.nn.relu(x)) * 2.0

    trace = record(model, matrix())
    relu, product = only(trace, "Relu"), only(trace, "Mul")
    between = trace.ancestors(product)
    assert relu in between and {op.type for op in between} <= {"input", "Relu", "Identity"}
    assert product.inputs[0].edge_class == "op" and trace.completeness["edges"]["constant"] == 0


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_an_input_are_the_input(name: str) -> None:
    trace = record(lambda x: COPIES[name](x) * 2.0, matrix())
    assert trace["input_1"] in trace.ancestors(only(trace, "Mul"))
    assert trace.completeness["edges"]["constant"] == 0 and len(trace.inputs) == 1


def test_dlpack_of_a_reshaped_value() -> None:
    """A reshape shares its input's memory: what comes back is the reshape, not its parent."""
    trace = record(lambda x: dlpack_round_trip(tf.reshape(tf.nn.relu(x), (4,))) * 2.0, matrix())
    assert only(trace, "Mul").parents == [only(trace, "Reshape")]


def test_the_address_of_a_copy_comes_back() -> None:
    def model(x: Any) -> Any:
        for _ in range(40):
            y = tf.exp(x)
            x = tf.tanh(y.cpu() * 2.0) + tf.abs(tf.identity(y))
        return x

    assert fs.trace(model, matrix()).lint() == []


@pytest.mark.parametrize("save", ["none", "mul*", "exp*"])
def test_dlpack_of_a_value_that_is_not_kept(save: str) -> None:
    def model(x: Any) -> Any:
        y = dlpack_round_trip(tf.exp(tf.nn.relu(x)))
        for _ in range(20):  # memory that could be used again
            x = tf.tanh(x)
        return y * dlpack_round_trip(x)

    trace = fs.trace(model, matrix(), save=save)
    assert trace.lint() == []
    assert [parent.type for parent in only(trace, "Mul").parents] == ["Exp", "Tanh"]
    assert trace.completeness["unexplained"] == 0


def test_identity_is_an_op() -> None:
    trace = record(lambda x: tf.identity(tf.nn.relu(x)) + 1.0, matrix())
    assert only(trace, "Identity").parents == [only(trace, "Relu")]
    assert only(trace, "AddV2").parents == [only(trace, "Identity")]


@pytest.mark.asan
def test_copies_outlive_the_original() -> None:
    def model(x: Any) -> Any:
        y = tf.nn.relu(x)
        copy = tf.experimental.dlpack.to_dlpack(y.cpu())
        del y
        return tf.experimental.dlpack.from_dlpack(copy) * 2.0

    assert only(record(model, matrix()), "Mul").parents[0].type == "Relu"


# --- through Python and back ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [lambda t: t.numpy(), np.asarray, lambda t: np.array(t, copy=True), lambda t: t.cpu().numpy()],
)
def test_through_numpy_unchanged(read: Any) -> None:
    def model(x: Any) -> Any:
        y = tf.nn.relu(x)
        return tf.constant(read(y)) * y

    trace = record(model, matrix())
    (source,) = [op for op in trace if op.kind == "from_python"]
    relu, product = only(trace, "Relu"), only(trace, "Mul")
    assert source.possible_origins == [relu] and source.parents == []
    assert product.parents == [source, relu] and source not in relu.children
    assert classes(product) == ["from_python", "op"]
    assert trace.completeness["possible_origins"] == 1
    assert not any(edge[:2] == (relu.label, source.label) for edge in trace.edges)


@pytest.mark.asan
def test_through_numpy_changed() -> None:
    def model(x: Any) -> Any:
        return tf.constant(np.tanh(tf.nn.relu(x).numpy())) + 1.0

    trace = record(model, matrix())
    (source,) = [op for op in trace if op.kind == "from_python"]
    assert source.possible_origins == [] and trace.completeness["possible_origins"] == 0
    assert np.array_equal(source.out, np.tanh(np.maximum(matrix().numpy(), 0)))
    assert trace.outputs[0].parents == [source] and only(trace, "Relu").children == []


def test_possible_origins_need_the_same_bytes_shape_and_type() -> None:
    def model(x: Any) -> Any:
        y = tf.nn.relu(x)
        flat = y.numpy().reshape(-1)
        return tf.constant(flat) * 1.0, tf.constant(y.numpy().astype("f8")) * 1.0

    sources = [op for op in record(model, matrix()) if op.kind == "from_python"]
    assert len(sources) == 2 and [op.possible_origins for op in sources] == [[], []]


def test_two_readers_of_the_same_value() -> None:
    def model(x: Any) -> Any:
        a, b = tf.nn.relu(x), tf.abs(tf.nn.relu(x))
        a.numpy()
        return tf.constant(b.numpy()) * 2.0

    (source,) = [op for op in record(model, matrix()) if op.kind == "from_python"]
    assert {op.type for op in source.possible_origins} == {"Relu", "Abs"}


def test_numpy_function_run_eagerly_is_no_op() -> None:
    def model(x: Any) -> Any:
        return tf.numpy_function(lambda a: a * 2, [tf.nn.relu(x)], tf.float32) + 1.0

    trace = record(model, matrix())
    (source,) = [op for op in trace if op.kind == "from_python"]
    assert only(trace, "AddV2").parents == [source] and only(trace, "Relu").children == []
    assert sorted(trace.op_counts()) == ["AddV2", "Relu"]


def test_py_function_run_eagerly() -> None:
    trace = record(
        lambda x: tf.py_function(lambda a: tf.abs(a) * 2, [x], tf.float32) + 1.0, matrix()
    )
    outer, inner = only(trace, "EagerPyFunc"), only(trace, "Abs")
    assert only(trace, "AddV2").parents == [outer]
    assert inner.parents == [trace["input_1"]] and outer.run_counter < inner.run_counter
    assert inner.start >= outer.start


def test_a_scalar_from_python_is_a_literal() -> None:
    def model(x: Any) -> Any:
        return x * float(tf.reduce_max(x).numpy())

    product = only(record(model, matrix()), "Mul")
    assert classes(product) == ["input", "literal"] and product.literals[1] == 3.0


# --- constants, literals, producers --------------------------------------------------------------


def test_constants_from_before_the_run() -> None:
    weight, scale = tf.constant([1.0, 2.0]), tf.constant(3.0)
    trace = record(lambda x: x * weight + scale, matrix())
    (constant,) = [op for op in trace if op.kind == "constant"]
    assert np.array_equal(constant.out, [1.0, 2.0]) and constant.parents == []
    assert classes(only(trace, "Mul")) == ["input", "constant"]
    assert classes(only(trace, "AddV2")) == ["op", "literal"]
    assert only(trace, "AddV2").literals[1] == 3.0


def test_one_constant_used_twice_is_one_source() -> None:
    weight = tf.constant([1.0, 2.0])
    trace = record(lambda x: (x * weight) * weight, matrix())
    (constant,) = [op for op in trace if op.kind == "constant"]
    assert len(constant.children) == 2


def test_arrays_written_in_the_call() -> None:
    trace = record(lambda x: x * np.float32([1, 5]) + [2.0, 3.0], matrix())
    constants = [op for op in trace if op.kind == "constant"]
    assert [op.out.tolist() for op in constants] == [[1.0, 5.0], [2.0, 3.0]]
    assert sum(trace.op_counts().values()) == 2, "wrapping an array is no op"


@pytest.mark.parametrize("value", [2, 2.5, True, np.float32(2), np.int32(7)])
def test_scalars_are_literals_never_ops(value: Any) -> None:
    dtype = {bool: tf.bool, int: tf.int32}.get(type(value), tf.as_dtype(np.asarray(value).dtype))
    dtype = tf.float32 if dtype == tf.float64 else dtype
    operation = tf.math.logical_and if dtype == tf.bool else tf.add
    trace = record(lambda x: operation(x, value), tf.cast(tf.constant([[1, 0]]), dtype))
    (op,) = [op for op in trace if op.kind == "compute"]
    assert trace.num_ops == 1 and op.literals == {1: value} and op.inputs[1].op is None


PRODUCERS = {
    "ones": lambda: tf.ones((2, 2)),
    "zeros": lambda: tf.zeros((2, 2)),
    "fill": lambda: tf.fill((2, 2), 4.0),
    "range": lambda: tf.range(4),
    "eye via diag": lambda: tf.raw_ops.LinSpace(start=0.0, stop=1.0, num=3),
}


@pytest.mark.parametrize("name", PRODUCERS)
def test_literal_producers(name: str) -> None:
    trace = record(lambda: PRODUCERS[name]() * 1)
    (producer,) = [op for op in trace if op.kind == "literal_producer"]
    assert producer.parents == [] and set(classes(producer)) == {"literal"}
    assert np.array_equal(producer.out, PRODUCERS[name]().numpy())
    assert trace.outputs[0].parents == [producer] and producer in trace.sources


def test_random_ops() -> None:
    def model() -> Any:
        return tf.random.uniform((2,)) + tf.random.stateless_uniform((2,), seed=(1, 2))

    kinds = {op.type: op.kind for op in record(model)}
    assert kinds["RandomUniform"] == kinds["StatelessRandomUniformV2"] == "random"
    assert kinds["AddV2"] == "compute"


def test_iterator_elements() -> None:
    data = tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]])

    def model(x: Any) -> Any:
        for element in data:
            x = x + element
        return x

    trace = record(model, tf.zeros(2))
    elements = [op for op in trace if op.kind == "iterator" and op.error is None]
    assert [op.out.tolist() for op in elements] == [[1.0, 2.0], [3.0, 4.0]]
    assert all(op.children[0].type == "AddV2" for op in elements)
    assert trace.completeness["edges"]["literal"] == 0


def test_an_iterator_from_before_the_run() -> None:
    steps = iter(tf.data.Dataset.range(5))
    trace = record(lambda: next(steps) + 1)
    (element,) = [op for op in trace if op.kind == "iterator"]
    assert int(element.out) == 0 and int(trace.output) == 1
    assert int(next(steps)) == 1, "one element was taken, not more"


def test_parents_and_edges_agree() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    trace = record(model, tf.ones((1, 3)))
    for op in trace:
        named = [found.op for found in op.inputs if found.op is not None]
        assert op.parents == list(dict.fromkeys(named))
        assert all(op in parent.children for parent in op.parents)
    assert len(trace.edges) == sum(len(op.inputs) for op in trace)
