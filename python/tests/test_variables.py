"""The history of every variable: who read which version, who wrote the next, and the values."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


def record(model: Any, *args: Any, **options: Any) -> Any:
    trace = fs.trace(model, args, **options)
    checks.assert_sound(trace)
    return trace


def history(variable: Any) -> list[tuple[str | None, Any]]:
    """(type of the writer, value) of every version."""
    return [(v.writer and v.writer.type, v.value.tolist()) for v in variable.versions]


def vector(*values: float) -> Any:
    return tf.Variable(list(values))


WRITES: dict[str, Callable[[Any], Any]] = {
    "AssignVariableOp": lambda v: v.assign([4.0, 5.0, 6.0]),
    "AssignAddVariableOp": lambda v: v.assign_add([1.0, 1.0, 1.0]),
    "AssignSubVariableOp": lambda v: v.assign_sub([1.0, 0.0, 1.0]),
    "ResourceScatterUpdate": lambda v: tf.raw_ops.ResourceScatterUpdate(
        resource=v.handle, indices=[0], updates=[9.0]
    ),
    "ResourceScatterAdd": lambda v: v.scatter_add(tf.IndexedSlices([5.0], [2])),
    "ResourceScatterNdUpdate": lambda v: v.scatter_nd_update([[1]], [7.0]),
    "ResourceScatterNdAdd": lambda v: v.scatter_nd_add([[1]], [7.0]),
    "ResourceStridedSliceAssign": lambda v: v[1:].assign([0.5, 0.25]),
    "ResourceApplyGradientDescent": lambda v: tf.raw_ops.ResourceApplyGradientDescent(
        var=v.handle, alpha=0.5, delta=[1.0, 1.0, 1.0]
    ),
}


@pytest.mark.smoke
@pytest.mark.asan
@pytest.mark.parametrize("op_type", WRITES)
def test_a_write_makes_a_version(op_type: str) -> None:
    expected = vector(1.0, 2.0, 3.0)
    WRITES[op_type](expected)
    variable = vector(1.0, 2.0, 3.0)

    def model() -> Any:
        WRITES[op_type](variable)
        return variable.read_value() * 1.0

    trace = record(model)
    (found,) = trace.variables
    assert history(found) == [(None, [1.0, 2.0, 3.0]), (op_type, expected.numpy().tolist())]
    (write,) = [op for op in trace if op.type == op_type]
    assert write.kind == "variable_write" and found.writes == [write]
    assert write.variables == [found] and write in found.versions[1].writer.layer.ops
    reader = found.reads[-1]
    assert reader.kind == "variable_read" and reader.run_counter > write.run_counter
    assert checks.same_bits(found.value_at(1), expected.numpy())
    assert checks.same_bits(found.value, variable.numpy())


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
def test_writing_the_same_value_is_a_write(value: list[float]) -> None:
    variable = tf.Variable(value)
    trace = record(lambda: variable.assign(value))
    assert history(trace.variables[0]) == [(None, value), ("AssignVariableOp", value)]


def test_a_variable_assigned_to_itself() -> None:
    variable = vector(1.0, 2.0)
    trace = record(lambda: variable.assign(variable))
    (found,) = trace.variables
    assert history(found) == [(None, [1.0, 2.0]), ("AssignVariableOp", [1.0, 2.0])]
    (read,), (write,) = found.reads, found.writes
    assert write.parents == [read] and read.run_counter < write.run_counter


def test_many_writes_in_order() -> None:
    variable = tf.Variable(0.0)

    def model() -> Any:
        for i in range(5):
            variable.assign_add(float(i))
            variable.assign(variable * 2.0)
        return variable.read_value()

    (found,) = record(model).variables
    assert len(found.versions) == 11 and len(found.writes) == 10
    expected, values = 0.0, [0.0]
    for i in range(5):
        expected += i
        values.append(expected)
        expected *= 2.0
        values.append(expected)
    assert [float(found.value_at(i)) for i in range(11)] == values
    assert [v.index for v in found.versions] == list(range(11))
    counters = [op.run_counter for op in found.writes]
    assert counters == sorted(counters) and float(found.value_at(-1)) == float(variable.numpy())


@pytest.mark.parametrize(
    "read",
    [
        lambda v: v.sparse_read([0, 2]),
        lambda v: tf.gather(v, [0, 1]),
        lambda v: v.gather_nd([[1]]),
        lambda v: v.read_value(),
        lambda v: v + 0.0,
        lambda v: tf.nn.embedding_lookup(v, [1]),
    ],
)
def test_reads_make_no_version(read: Any) -> None:
    variable = vector(1.0, 2.0, 3.0)
    (found,) = record(lambda: (read(variable), read(variable))).variables
    assert history(found) == [(None, [1.0, 2.0, 3.0])]
    assert len(found.reads) == 2 and found.writes == [] and found.initial_value.size == 3


def test_a_sparse_read_between_writes() -> None:
    """Sparse reads turn on copying at reads: the version must still be told by its bytes."""
    variable = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    def model() -> Any:
        first = tf.gather(variable, [0])
        variable.scatter_update(tf.IndexedSlices([[7.0, 7.0]], [0]))
        second = tf.gather(variable, [0])
        variable.scatter_add(tf.IndexedSlices([[1.0, 1.0]], [1]))
        return first, second, variable.read_value(), variable.read_value()

    (found,) = record(model).variables
    assert [writer for writer, _ in history(found)] == [
        None,
        "ResourceScatterUpdate",
        "ResourceScatterAdd",
    ]
    assert history(found)[2][1] == [[7.0, 7.0], [4.0, 5.0]] == variable.numpy().tolist()
    assert len(found.reads) == 4 and len(found.writes) == 2


def test_a_write_from_outside_the_recording() -> None:
    variable = vector(1.0, 2.0)

    def model() -> Any:
        first = variable * 1.0
        other = threading.Thread(target=lambda: variable.assign([5.0, 5.0]))
        other.start()
        other.join()
        return first + variable

    (found,) = record(model).variables
    assert history(found) == [(None, [1.0, 2.0]), (None, [5.0, 5.0])] and found.writes == []


def test_one_op_with_two_variables() -> None:
    weight, momentum = vector(1.0, 2.0), vector(0.5, 0.5)

    def model() -> Any:
        tf.raw_ops.ResourceApplyMomentum(
            var=weight.handle, accum=momentum.handle, lr=0.1, grad=[1.0, 1.0], momentum=0.9
        )
        return tf.ones(1)

    trace = record(model)
    (op,) = [op for op in trace if op.type == "ResourceApplyMomentum"]
    assert len(op.variables) == 2 and all(v.writes == [op] for v in trace.variables)
    values = {tuple(v.value.tolist()) for v in trace.variables}
    assert values == {tuple(weight.numpy().tolist()), tuple(momentum.numpy().tolist())}


def test_batch_normalization_in_training() -> None:
    def build() -> Any:
        return keras.Sequential([keras.Input((3,)), keras.layers.BatchNormalization(name="bn")])

    x = tf.constant(np.arange(12, dtype="f4").reshape(4, 3))
    trace = checks.recorded_equals_plain(build, (x,), {"training": True})
    mean, variance = trace["bn.moving_mean"], trace["bn.moving_variance"]
    assert [len(v.versions) for v in (mean, variance)] == [2, 2]
    assert mean.value_at(0).tolist() == [0.0] * 3 and variance.value_at(0).tolist() == [1.0] * 3
    assert np.allclose(mean.value_at(1), 0.01 * x.numpy().mean(0), rtol=1e-4)
    assert not mean.trainable and trace["bn.gamma"].trainable and trace["bn.gamma"].writes == []
    assert mean.writes[0].module == trace["bn"] and trace["bn:1"].training is True
    still = checks.recorded_equals_plain(build, (x,), {"training": False})
    assert [len(v.writes) for v in still.variables] == [0] * 4


def make_step(optimizer: Any) -> tuple[Any, Any]:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(3, name="hidden"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(1, name="head"),
        ]
    )
    optimizer.build(model.trainable_variables)
    x, y = tf.ones((2, 4)), tf.ones((2, 1))

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return model, step


@pytest.mark.parametrize(
    ("make", "slots"),
    [
        (lambda: keras.optimizers.SGD(0.1), 0),
        (lambda: keras.optimizers.SGD(0.1, momentum=0.9), 4),
        (lambda: keras.optimizers.Adam(0.1), 8),
    ],
)
def test_every_write_of_a_training_step(make: Any, slots: int) -> None:
    optimizer = make()
    model, step = make_step(optimizer)
    before = {v.path: v.numpy() for v in (*model.variables, *optimizer.variables)}
    trace = record(step)
    after = {v.path: v.numpy() for v in (*model.variables, *optimizer.variables)}
    changed = {path for path in after if not np.array_equal(before[path], after[path])}
    by_path = {alias: v for v in trace.variables for alias in v.addresses if "/" in alias}
    assert changed <= set(by_path) and {p for p, v in by_path.items() if v.writes} >= changed
    assert sum("momentum" in p or "velocity" in p for p in by_path) == slots
    for path, variable in by_path.items():
        assert checks.same_bits(variable.value_at(-1), after[path])
        assert checks.same_bits(variable.value_at(0), before[path])
    assert trace["model.hidden.kernel"].writes and trace["optimizer.iterations"].writes
    checks.assert_same_bits(run_plain(make), trace.output)


def run_plain(make: Any) -> Any:
    return make_step(make())[1]()


def test_seed_generator_state() -> None:
    class Noise(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.rng = keras.random.SeedGenerator(3)

        def call(self, x: Any) -> Any:
            return x + keras.random.uniform((2,), seed=self.rng)

    trace = checks.recorded_equals_plain(Noise, (tf.ones(2),))
    state = trace["rng.state"]
    assert [v.value.tolist() for v in state.versions] == [[3, 0], [3, 1]]
    assert not state.trainable and len(state.writes) == 1


def test_variables_made_during_the_run() -> None:
    def model() -> Any:
        made = tf.Variable([1.0, 1.0])
        made.assign_add([2.0, 2.0])
        return made * 1.0

    (found,) = record(model).variables
    assert [v.writer.type for v in found.versions[-2:]] == [
        "AssignVariableOp",
        "AssignAddVariableOp",
    ]
    assert found.value.tolist() == [3.0, 3.0] and len(found.reads) == 1


def test_a_variable_made_during_the_run_has_no_value_before() -> None:
    trace = record(lambda: tf.Variable([1.0, 1.0]) * 1.0)
    (found,) = trace.variables
    assert history(found) == [("AssignVariableOp", [1.0, 1.0])]
    assert "before the run" not in str(found)


def test_a_layer_that_is_built_during_the_run() -> None:
    layer = keras.layers.Dense(2)
    trace = record(layer, tf.ones((1, 3)))
    kernel, bias = trace["kernel"], trace["bias"]
    assert kernel.module == bias.module == trace["self"] and kernel.trainable
    assert checks.same_bits(kernel.value, layer.kernel.numpy())
    assert [op.type for op in kernel.writes] == ["AssignVariableOp"]
    assert trace["self"].num_params == 8 == trace.num_params


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "int64", "bool"])
def test_dtypes_of_variables(dtype: str) -> None:
    variable = tf.Variable(tf.cast([1, 0], dtype), trainable=False)
    trace = record(lambda: variable.assign(tf.cast([1, 1], dtype)))
    (found,) = trace.variables
    assert found.dtype == dtype and found.shape == (2,)
    assert checks.same_bits(found.value, variable.numpy()) and found.versions[0].value is not None


def test_a_string_variable() -> None:
    variable = tf.Variable(["a", "b"])
    (found,) = record(lambda: variable.assign(["c", "d"])).variables
    assert found.dtype == "string" and found.value.tolist() == [b"c", b"d"]
    assert found.initial_value.tolist() == [b"a", b"b"]


def test_a_variable_of_unknown_shape() -> None:
    variable = tf.Variable([1.0], shape=tf.TensorShape(None))
    (found,) = record(lambda: (variable.assign([[1.0, 2.0]]), variable.read_value())[1]).variables
    assert [v.value.shape for v in found.versions] == [(1,), (1, 2)]


def test_two_variables_with_one_name() -> None:
    first, second = tf.Variable(1.0, name="same"), tf.Variable(2.0, name="same")
    trace = record(lambda: (first.assign_add(1.0), second.assign_add(1.0))[0])
    assert sorted(float(v.value) for v in trace.variables) == [2.0, 3.0]
    assert len({v.address for v in trace.variables}) == 2


def test_a_failed_write_makes_no_version() -> None:
    variable = vector(1.0, 2.0)

    def model() -> Any:
        try:
            tf.raw_ops.AssignVariableOp(resource=variable.handle, value=[1])
        except tf.errors.OpError:
            return variable.read_value()
        return None

    (found,) = record(model).variables
    assert history(found) == [(None, [1.0, 2.0])] and found.writes == []


class MadeInCall(keras.Model):
    """Makes its layers anew in each call, after one that is built late."""

    def __init__(self) -> None:
        super().__init__()
        self.late = keras.layers.Dense(3)

    def call(self, x: Any) -> Any:
        for _ in range(2):
            x = keras.layers.Dense(3)(self.late(x))
        return x


def test_variables_of_layers_made_in_a_call() -> None:
    model = MadeInCall()
    x = np.ones((1, 3), "float32")
    model(x)
    with fs.capture(model) as recording:
        model(x)
        model(x)
    trace = recording.trace
    assert trace.lint() == []
    made = ["created.0", "created.1"]
    first = [f"{address}.{name}" for address in made for name in ("kernel", "bias")]
    late = ["late.kernel", "late.bias"]
    assert [v.address for v in trace.variables] == [*late, *first, *(f"{a}~2" for a in first)]
    assert all(v.trainable for v in trace.variables)
    assert (
        trace["created.0"].num_params == 12 and trace["created.0.kernel"].module.address == made[0]
    )


def test_variables_of_parts_of_a_layer_made_in_a_call() -> None:
    class Net(keras.Model):
        def call(self, x: Any) -> Any:
            return keras.layers.MultiHeadAttention(2, 3)(x, x)

    trace = fs.trace(Net(), np.ones((1, 3, 4), "float32"))
    addresses = {m.address for m in trace.modules if m.num_params > 0}
    read = [v for v in trace.variables if v.reads]
    assert len(read) == 8 and all(v.trainable for v in read)
    assert {v.address.rpartition(".")[0] for v in read} == addresses - {"self", "created.0"}


def test_a_block_without_a_root_knows_its_layers_variables() -> None:
    dense = keras.layers.Dense(2)
    dense(np.ones((1, 3), "float32"))
    with fs.capture() as recording:
        dense(np.ones((1, 3), "float32"))
    trace = recording.trace
    kernel = trace["created.0.kernel"]
    assert kernel.trainable and kernel.module == trace["created.0"]
    assert trace.num_params == 8 and "8 trainable" in trace.summary()
