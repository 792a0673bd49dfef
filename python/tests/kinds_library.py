"""What libraries make of functions: Keras' control flow and training, tf.data, linear algebra."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from function_kinds import STATE, Call, kind, vector


@kind()
def loops_of_keras_ops() -> Call:
    def f(x: Any) -> Any:
        looped = keras.ops.fori_loop(0, 3, lambda i, a: a + x * 2.0, keras.ops.zeros_like(x))
        carry, parts = keras.ops.scan(lambda c, v: (c + v, c * v), keras.ops.sum(x), x)
        summed = keras.ops.associative_scan(lambda a, b: a + b, x)
        chosen = keras.ops.cond(keras.ops.sum(x) > 3.0, lambda: x, lambda: -x)
        return looped, carry, parts, summed, chosen, keras.ops.map(lambda v: v * 2.0, x)

    f = tf.function(f)
    return lambda n: f(vector(n))


@kind()
def a_vectorized_map_with_branches() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        def one(v: Any) -> Any:
            return tf.cond(v > 1.0, lambda: v * 2.0, lambda: v - 1.0)

        return tf.vectorized_map(one, x, fallback_to_while_loop=True)

    return lambda n: f(vector(n))


@kind()
def a_nested_map_fn() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        rows = tf.stack([x, x * 2.0])
        return tf.map_fn(
            lambda r: (tf.map_fn(lambda v: v + 1.0, r), tf.size(r)),
            rows,
            fn_output_signature=(tf.float32, tf.int32),
            parallel_iterations=2,
        )

    return lambda n: f(vector(n))


@kind()
def a_bounded_while_with_a_structure() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        start = {"x": x, "pair": (tf.constant(1), tf.constant([1.0, 2.0]))}
        return tf.while_loop(
            lambda s: tf.reduce_sum(s["x"]) < 100.0,
            lambda s: ({"x": s["x"] * 2.0, "pair": (s["pair"][0] + 1, s["pair"][1] + 1.0)},),
            (start,),
            maximum_iterations=3,
        )

    return lambda n: f(vector(n))


@kind()
def predicates_that_are_no_booleans() -> Call:
    one = tf.function(lambda x: x + 1.0).get_concrete_function(vector(0))
    two = tf.function(lambda x: x * 2.0).get_concrete_function(vector(0))

    @tf.function
    def f(x: Any, n: Any) -> Any:
        made = []
        for cond in (n, tf.cast(n, tf.float32), tf.as_string(n), x, x[:0]):
            made += tf.raw_ops.If(
                cond=cond, input=[x], Tout=[tf.float32], then_branch=one, else_branch=two
            )
        return made

    return lambda n: f(vector(n), tf.constant(n))


@kind()
def outputs_that_are_inputs() -> Call:
    captured = tf.constant([7.0])

    @tf.function
    def f(x: Any) -> Any:
        return x, x, captured, None, []

    return lambda n: f(vector(n))


@kind()
def a_function_without_values() -> Call:
    v = tf.Variable(0.0)

    @tf.function
    def f() -> None:
        v.assign_add(1.0)

    return lambda n: (f(), v.numpy())


@kind()
def shapes_that_data_decide() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        kept = tf.boolean_mask(x, x > 0.0)
        values, index = tf.unique(tf.cast(x, tf.int32) % 2)
        return kept, values, index, tf.where(x > 0.0), tf.dynamic_partition(x, index, 2)

    return lambda n: f(vector(n))


@kind()
def constants_of_odd_dtypes() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        names = tf.constant(["a", "b", "c", "one"]), tf.constant(["a", "b", "c", "other"])
        small = tf.constant([1, 2, 3, 4, 5], tf.uint8), tf.constant([1, 2, 3, 4, 6], tf.uint8)
        half = tf.constant([0.5, 1.0, 2.0, 8.0], tf.bfloat16)
        empty = tf.zeros([0, 3]), tf.constant([], tf.string)
        return names, small, half, empty, tf.constant(np.float64(np.pi)), x

    return lambda n: f(vector(n))


@kind()
def a_dataset_made_inside() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        data = tf.data.Dataset.from_tensor_slices(x).filter(lambda v: v > 0.0).batch(2)
        total = 0.0
        for batch in data:
            total += tf.reduce_sum(batch)
        return total, data.reduce(0.0, lambda a, b: a + tf.reduce_sum(b)), data.cardinality()

    return lambda n: f(vector(n))


@kind()
def optionals() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        some = tf.experimental.Optional.from_value(x)
        none = tf.experimental.Optional.empty(tf.TensorSpec([4]))
        return some.get_value(), some.has_value(), none.has_value()

    return lambda n: f(vector(n))


@kind()
def gradients_written_inside() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.cond(x[0] > 1.5, lambda: x * x, lambda: x * 3.0)
        return tf.gradients(y, x), tf.gradients(tf.stop_gradient(y) * x, x)

    return lambda n: f(vector(n))


@kind()
def a_gradient_through_tensor_arrays() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        items = tf.TensorArray(tf.float32, 4, clear_after_read=False)
        for i in tf.range(4):
            items = items.write(i, x * tf.cast(i, tf.float32))
        return tf.reduce_sum(items.stack() * items.read(2))

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    return call


@kind()
def compiled_by_xla_inside_and_around() -> Call:
    inner = tf.function(lambda x: x * 2.0 + 1.0, jit_compile=True)
    outer = tf.function(lambda x: inner(x) - 1.0)
    around = tf.function(
        lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + outer(x)), [0, x])[1],
        jit_compile=True,
    )
    return lambda n: (outer(vector(n)), around(vector(n)))


@kind()
def a_device_scope() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        with tf.device("/cpu:0"):
            return x + 1.0

    def call(n: int) -> Any:
        with tf.device("/cpu:0"):
            return f(vector(n))

    return call


@kind()
def functions_that_come_and_go() -> Call:
    def call(n: int) -> Any:
        f = tf.function(lambda x: x * float(n + 1))
        return f(vector(n)), f(vector(n)[:2])

    return call


@kind(close=True)
def linear_algebra() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        a = tf.linalg.diag(x) + 0.1
        parts = tf.linalg.inv(a), tf.linalg.det(a), tf.linalg.expm(a * 0.1), tf.linalg.qr(a)
        return parts, tf.signal.rfft(x), tf.linalg.cholesky(tf.eye(4) + 0.1), tf.nn.softmax(x)

    return lambda n: f(vector(n))


@kind()
def images() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        image = tf.cast(tf.reshape(tf.range(48), [1, 4, 4, 3]), tf.float32) + x[0]
        boxes = tf.constant([[0.0, 0.0, 1.0, 1.0], [0.1, 0.1, 1.0, 1.0]])
        kept = tf.image.non_max_suppression(boxes, tf.constant([0.3, 0.9]), 2)
        coded = tf.io.encode_png(tf.cast(image[0], tf.uint8))
        return tf.image.resize(image, [2, 2], "nearest"), kept, tf.io.decode_image(coded)

    return lambda n: f(vector(n))


def small_model(**options: Any) -> Any:
    keras.utils.set_random_seed(9)
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(3, activation="relu"),
            keras.layers.Dropout(0.3, seed=4),
            keras.layers.Dense(1),
        ]
    )
    model.compile(**{"optimizer": "adam", "loss": "mse", "jit_compile": False, **options})
    return model


def data() -> tuple[Any, Any]:
    return np.arange(32, dtype="f4").reshape(8, 4) / 10, np.ones((8, 1), "f4")


def fits(**options: Any) -> Call:
    model = small_model(**options)

    def call(n: int) -> Any:
        history = model.fit(*data(), batch_size=2, epochs=1, shuffle=False, verbose=0).history
        return history["loss"], [v.numpy() for v in model.variables + model.optimizer.variables]

    return call


@kind(STATE, close=True)
def several_steps_in_one_function() -> Call:
    return fits(steps_per_execution=3)


@kind(STATE, close=True)
def accumulated_gradients() -> Call:
    return fits(optimizer=keras.optimizers.SGD(0.1, gradient_accumulation_steps=2))


@kind(STATE, close=True)
def moving_averages_of_weights() -> Call:
    return fits(optimizer=keras.optimizers.AdamW(0.1, use_ema=True, ema_overwrite_frequency=3))


@kind(STATE, close=True)
def a_scaled_loss() -> Call:
    return fits(optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)))


@kind(STATE, close=True)
def clipped_gradients_and_a_schedule() -> Call:
    rate = keras.optimizers.schedules.PiecewiseConstantDecay([2, 4], [0.1, 0.05, 0.01])
    return fits(optimizer=keras.optimizers.RMSprop(rate, global_clipnorm=0.5))


@kind(STATE, close=True)
def a_train_step_of_its_own() -> Call:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1, kernel_initializer="ones")
            self.noted = keras.metrics.Mean()

        def call(self, x: Any) -> Any:
            self.add_loss(0.01 * keras.ops.sum(x))
            return self.dense(x)

        def train_step(self, given: Any) -> Any:
            x, y = given[:2]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2) + sum(self.losses)
            variables = self.trainable_variables
            self.optimizer.apply_gradients(
                zip(tape.gradient(loss, variables), variables, strict=True)
            )
            self.noted.update_state(loss)
            return {"loss": self.noted.result()}

    model = Own()
    model.compile(optimizer="sgd", jit_compile=False)

    def call(n: int) -> Any:
        loss = model.train_on_batch(*data())
        return loss, [v.numpy() for v in model.variables]

    return call


@kind()
def text_in_a_model() -> Call:
    vectorize = keras.layers.TextVectorization(output_sequence_length=4, vocabulary=["a", "b", "c"])
    model = keras.Sequential([keras.Input((1,), dtype="string"), vectorize])
    model.compile(jit_compile=False)
    return lambda n: model.predict(tf.constant([["a b"], ["c x a"]]), verbose=0)


@kind(close=True)
def an_autoencoder_in_half_precision() -> Call:
    policy = keras.dtype_policies.DTypePolicy("mixed_bfloat16")
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [keras.Input((4,)), *(keras.layers.Dense(n, dtype=policy) for n in (3, 4))]
    )
    model.compile(jit_compile=False)
    return lambda n: model.predict(data()[0] + n, verbose=0)
