"""What programs do with functions: training in many ways, gradients of gradients, odd results."""

from __future__ import annotations

import gc
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from function_kinds import STATE, Call, error_of, kind, vector


@kind()
def a_branch_run_eagerly() -> Call:
    """The ops themselves, without a function around them."""
    spec = tf.TensorSpec([4], tf.float32)
    double = tf.function(lambda x: x * 2.0).get_concrete_function(spec)
    negate = tf.function(lambda x: -x).get_concrete_function(spec)

    def call(n: int) -> Any:
        given = {"input": [vector(n)], "Tout": [tf.float32]}
        branches = {"then_branch": double, "else_branch": negate}
        return (
            tf.raw_ops.If(cond=tf.constant(n > 0), **branches, **given),
            tf.raw_ops.StatelessIf(cond=tf.constant(n), **branches, **given),
            tf.raw_ops.Case(branch_index=tf.constant(n), branches=[double, negate], **given),
            tf.raw_ops.StatelessCase(branch_index=tf.constant(7), branches=[negate], **given),
            tf.raw_ops.PartitionedCall(args=[vector(n)], Tout=[tf.float32], f=double),
        )

    return call


@kind(STATE)
def a_loop_with_a_variable_run_eagerly() -> Call:
    total = tf.Variable(0.0)

    @tf.function
    def cond(i: Any, handle: Any) -> Any:
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) < 5.0

    @tf.function
    def body(i: Any, handle: Any) -> Any:
        step = tf.cast(i, tf.float32)
        tf.raw_ops.AssignAddVariableOp(resource=handle, value=step)
        return i + 1, handle

    specs = tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.resource)
    test, turn = (f.get_concrete_function(*specs) for f in (cond, body))

    def call(n: int) -> Any:
        total.assign_sub(4.0)
        made = tf.raw_ops.While(input=[tf.constant(n), total.handle], cond=test, body=turn)
        return made[0], total.read_value()

    return call


@kind()
def results_of_odd_kinds() -> Call:
    kept = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x: Any) -> Any:
        ragged = tf.RaggedTensor.from_row_lengths(x, [1, 3])
        sparse = tf.sparse.from_dense(tf.nn.relu(x))
        return {"none": None, "pair": (x, [ragged.values, kept + 1.0]), "sparse": sparse.values}

    return lambda n: f(vector(n))


@kind()
def a_signature_and_retracing() -> Call:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)])
    def fixed(x: Any, k: Any) -> Any:
        return x[:k] * tf.cast(k, tf.float32)

    @tf.function(reduce_retracing=True)
    def free(x: Any, scale: Any) -> Any:
        return x * scale

    def call(n: int) -> Any:
        return (
            fixed(vector(n), tf.constant(n + 1)),
            free(vector(n), 2.0),
            free(vector(n)[:2], 3.0),
            free(tf.ones((2, n + 1), tf.float64), tf.constant(2.0, tf.float64)),
            free([1.0, 2.0] if n else vector(n), tf.constant(2.0)),
        )

    return call


@kind()
def lists_of_autograph() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        items = []
        for value in x:
            items.append(value * 2.0)
        parts = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False)
        i = 0
        while i < 4:
            if x[i] < 0.0:
                i += 1
                continue
            if x[i] > 100.0:
                break
            parts = parts.write(parts.size(), x[i])
            i += 1
        return parts.stack(), tf.stack(items[:1]) if isinstance(items, list) else x

    return lambda n: error_of(lambda: f(vector(n)))


@kind()
def a_map_in_parallel_with_ragged_results() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        out = tf.map_fn(
            lambda v: tf.range(tf.cast(v, tf.int32)),
            x,
            fn_output_signature=tf.RaggedTensorSpec([None], tf.int32),
            parallel_iterations=3,
            swap_memory=True,
        )
        looped = tf.while_loop(
            lambda i, y: i < 9,
            lambda i, y: (i + 1, y + 1.0),
            (tf.constant(0), tf.reduce_sum(x)),
            maximum_iterations=5,
            parallel_iterations=1,
        )
        return out.values, out.row_lengths(), looped

    return lambda n: f(tf.constant([1.0 + n, 2.0, 0.0]))


@kind(STATE)
def a_numpy_function_that_counts() -> Call:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x.sum()))
        return np.float32(len(seen)) + x

    @tf.function
    def f(x: Any) -> Any:
        for _ in tf.range(2):
            x = tf.ensure_shape(tf.numpy_function(note, [x], tf.float32), [4])
        return x

    return lambda n: (f(vector(n)), list(seen))


@kind(STATE)
def a_function_deleted_while_it_runs() -> Call:
    made: dict[str, Any] = {}

    def call(n: int) -> Any:
        made["inner"] = tf.function(lambda x: x * 3.0)
        inner = made["inner"].get_concrete_function(tf.TensorSpec([4], tf.float32))

        def drop(x: Any) -> Any:
            made.clear()
            gc.collect()
            return x

        @tf.function
        def outer(x: Any) -> Any:
            x = tf.py_function(drop, [inner(x)], tf.float32)
            return inner(tf.ensure_shape(x, [4]))

        result = outer(vector(n))
        gc.collect()
        return result

    return call


@kind()
def assertions_and_groups() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        tf.debugging.assert_greater(tf.size(x), 0)
        tf.debugging.assert_all_finite(x, "finite")
        with tf.control_dependencies([tf.debugging.assert_rank(x, 1), tf.group(tf.no_op())]):
            y = tf.identity(x)
        tf.debugging.assert_less(x, 3.5, message="too large")
        return y

    return lambda n: error_of(lambda: f(vector(n)))


@kind(close=True)
def gradients_of_gradients() -> Call:
    @tf.custom_gradient
    def cubed(x: Any) -> Any:
        return x**3, lambda upstream: upstream * 3.0 * x**2 * 2.0

    weight = tf.Variable(1.5)

    @tf.function
    def f(x: Any) -> Any:
        y = cubed(x) * weight
        return tf.reduce_sum(tf.cond(tf.reduce_sum(y) > 0.0, lambda: y**2, lambda: -y))

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first, moved = inner.gradient(y, [x, weight])
            norm = tf.reduce_sum(first**2) + moved
        second = outer.gradient(norm, [x, weight])
        hessian = outer.jacobian(first, x, experimental_use_pfor=False)
        return y, first, moved, second, hessian

    return call


@kind(STATE, close=True)
def a_tape_with_a_switch_and_a_loop_inside() -> Call:
    weight = tf.Variable([1.0, 2.0, 3.0, 4.0])

    @tf.function
    def step(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.switch_case(
                n, [lambda: x * weight, lambda: tf.sin(x) * weight], default=lambda: weight
            )
            for _ in tf.range(n + 1):
                y = y * weight
            loss = tf.reduce_sum(y)
        gradient = tape.gradient(loss, weight)
        weight.assign_sub(0.01 * gradient)
        return loss, gradient

    return lambda n: (step(vector(n), tf.constant(n)), weight.read_value())


def network(**options: Any) -> Any:
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4, "tanh"),
            keras.layers.Dropout(0.25, seed=3),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(1),
        ]
    )
    model.compile(
        "adam", "mse", metrics=["mae"], weighted_metrics=["mse"], jit_compile=False, **options
    )
    return model


def arrays() -> tuple[Any, Any]:
    x = np.linspace(-1.0, 1.0, 24, dtype="f4").reshape(8, 3)
    return x, x.sum(1, keepdims=True)


def state(model: Any) -> list[Any]:
    return [v.numpy() for v in model.variables + model.optimizer.variables]


@kind(STATE, close=True)
def fit_with_everything() -> Call:
    model = network()
    seen: list[Any] = []
    note = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append((batch, model.weights[0].numpy().sum()))
    )
    stop = keras.callbacks.EarlyStopping("val_loss", patience=5, restore_best_weights=True)

    def call(n: int) -> Any:
        x, y = arrays()
        history = model.fit(
            x, y, batch_size=3, epochs=2, shuffle=False, verbose=0, validation_split=0.25,
            sample_weight=np.arange(8.0), callbacks=[note, stop],
        ).history  # fmt: skip
        return [history[key] for key in sorted(history)], state(model), np.array(seen)

    return call


class Batches(keras.utils.PyDataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        x, y = arrays()
        return x[index : index + 3], y[index : index + 3]


@kind(STATE, close=True)
def fit_of_a_python_dataset() -> Call:
    model = network()

    def call(n: int) -> Any:
        history = model.fit(Batches(), epochs=1, verbose=0, class_weight=None).history
        evaluated = model.evaluate(Batches(), verbose=0, return_dict=True)
        return history["loss"], [evaluated[key] for key in sorted(evaluated)], state(model)

    return call


@kind(STATE, close=True)
def fit_of_a_generator() -> Call:
    model = network()

    def batches() -> Any:
        x, y = arrays()
        while True:
            yield x[:4], y[:4]
            yield x[4:], y[4:]

    def call(n: int) -> Any:
        history = model.fit(batches(), steps_per_epoch=2, epochs=2, verbose=0).history
        return history["loss"], state(model)

    return call


@kind(STATE)
def fit_run_eagerly() -> Call:
    model = network(run_eagerly=True)

    def call(n: int) -> Any:
        history = model.fit(*arrays(), batch_size=4, shuffle=False, verbose=0).history
        return history["loss"], state(model)

    return call


@kind(STATE, close=True)
def predict_with_callbacks() -> Call:
    model = network()
    ended: list[int] = []
    note = keras.callbacks.LambdaCallback()
    note.on_predict_batch_end = lambda batch, logs=None: ended.append(batch)

    def call(n: int) -> Any:
        x = arrays()[0]
        whole = model.predict(x, batch_size=3, verbose=0, callbacks=[note])
        once = model.predict_on_batch(x[:2])
        trained = model.train_on_batch(*arrays(), return_dict=True)
        return whole, once, [trained[key] for key in sorted(trained)], list(ended), state(model)

    return call
