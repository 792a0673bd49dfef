"""Tensor lists, composite tensors, gradients, Python and errors inside of functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from function_kinds import Call, error_of, kind, vector

# Tensor lists, composite tensors, strings.


@kind()
def tensor_arrays_without_shapes() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        items = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        for i in tf.range(4):
            items = items.write(i, x[: i + 1])
        return items.concat(), items.read(2), items.size()

    return lambda n: f(vector(n))


@kind()
def a_tensor_array_passed_around() -> Call:
    @tf.function
    def write(items: Any, x: Any) -> Any:
        return items.write(0, x).write(1, x * 2.0).stack()

    @tf.function
    def f(x: Any) -> Any:
        return write(tf.TensorArray(tf.float32, 2), x)

    return lambda n: f(vector(n))


@kind()
def ragged_tensors() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        ragged = tf.RaggedTensor.from_row_lengths(x, [1, 0, 3])
        doubled = tf.ragged.map_flat_values(lambda v: v * 2.0, ragged)
        sums = tf.map_fn(tf.reduce_sum, ragged, fn_output_signature=tf.float32)
        return doubled, sums, ragged.to_tensor(-1.0)

    return lambda n: f(vector(n))


@kind()
def sparse_tensors() -> Call:
    @tf.function
    def f(s: Any, x: Any) -> Any:
        dense = tf.sparse.to_dense(tf.sparse.add(s, s))
        return tf.sparse.sparse_dense_matmul(s, x[:, None]), dense

    s = tf.sparse.from_dense([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0]])
    return lambda n: f(s, vector(n))


@kind()
def strings() -> Call:
    @tf.function
    def f(text: Any) -> Any:
        parts = tf.strings.split(text, " ")
        upper = tf.strings.upper(parts)
        return upper, tf.strings.reduce_join(upper, axis=-1, separator="-"), tf.strings.length(text)

    return lambda n: f(tf.constant([f"one two {n}", "", "drei"]))


@kind()
def many_dtypes() -> Call:
    @tf.function
    def f(n: Any) -> Any:
        made = [tf.cast(tf.range(5) + n, t) for t in (tf.int8, tf.uint16, tf.float16, tf.bfloat16)]
        wide = [tf.cast(tf.range(5), t) for t in (tf.complex64, tf.float64, tf.bool, tf.int64)]
        return [*made, *wide, tf.constant(1 + 2j, tf.complex128) * 2.0]

    return lambda n: f(tf.constant(n))


@kind()
def constants_alike_but_for_the_tail() -> Call:
    big = np.arange(2000, dtype="f4")
    other = big.copy()
    other[1999] = -1.0

    @tf.function
    def f(x: Any) -> Any:
        a = tf.reduce_sum(tf.constant(big)) - tf.reduce_sum(tf.constant(other))
        return x + a, tf.constant([1, 2, 3, 4]) - tf.constant([1, 2, 3, 5])

    return lambda n: f(vector(n))


# Gradients.


@kind()
def a_gradient_through_a_loop() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    return call


@kind()
def a_gradient_inside_a_function() -> Call:
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])

    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(x[0] > 1.5, lambda: v * v * x, lambda: v * 2.0)
        gradient = tape.gradient(y, v)
        v.assign_sub(0.25 * gradient)
        return gradient

    return lambda n: f(vector(n))


@kind()
def a_second_order_gradient() -> Call:
    f = tf.function(lambda x: x * x * x)

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    return call


@kind()
def a_custom_gradient() -> Call:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        return x * 2.0, lambda upstream: tf.clip_by_value(upstream * 100.0, -7.0, 7.0)

    f = tf.function(lambda x: clipped(x) * x)

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    return call


@kind()
def a_recomputed_gradient() -> Call:
    f = tf.function(lambda x: tf.recompute_grad(lambda y: y * y * 2.0)(x))

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    return call


@kind()
def a_jacobian() -> Call:
    f = tf.function(lambda x: x * x[0])

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    return call


@kind()
def a_forward_accumulator() -> Call:
    f = tf.function(lambda x: x * x)

    def call(n: int) -> Any:
        x = vector(n)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = f(x)
        return y, accumulator.jvp(y)

    return call


# Python, printing, assertions, errors.


@kind()
def python_functions() -> Call:
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(np.sum(x)))
        return np.float32(len(seen)) + np.asarray(x)

    @tf.function
    def f(x: Any) -> Any:
        a = tf.py_function(lambda t: t * 2.0 + float(len(seen)), [x], tf.float32)
        b = tf.numpy_function(note, [x], tf.float32)
        return a, b

    return lambda n: (f(vector(n)), len(seen))


@kind()
def python_functions_with_tapes() -> Call:
    """What Python finds on its thread is not what the caller of the function left there."""
    inner = tf.function(lambda x: x * x + 1.0)
    seen: list[Any] = []

    def gradient(x: Any) -> Any:
        seen.append((tf.executing_eagerly(), x.device))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x) * x
        return tape.gradient(y, x)

    @tf.function
    def f(x: Any) -> Any:
        return tf.py_function(gradient, [x], tf.float32) + 1.0

    def call(n: int) -> Any:
        with tf.GradientTape() as around, tf.device("/cpu:0"), tf.name_scope("outer"):
            x = vector(n)
            around.watch(x)
            y = f(x)
        return y, [str(part) for part in seen]

    return call


@kind()
def a_gradient_of_a_python_function_inside() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(lambda v: v * v * 3.0, [x], tf.float32)
        return y, tape.gradient(y, x)

    return lambda n: f(vector(n))


@kind()
def a_gradient_through_a_python_function() -> Call:
    f = tf.function(lambda x: tf.py_function(lambda v: v * v * 3.0, [x], tf.float32) * 2.0)

    def call(n: int) -> Any:
        x = vector(n)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return y, tape.gradient(y, x)

    return call


@kind()
def python_functions_inside_of_each_other() -> Call:
    inner = tf.function(lambda x: tf.py_function(lambda v: v + 1.0, [x], tf.float32) * 2.0)

    @tf.function
    def f(x: Any) -> Any:
        for _ in tf.range(2):
            x = tf.ensure_shape(tf.py_function(lambda v: inner(v) - 1.0, [x], tf.float32), [4])
        return x

    return lambda n: f(vector(n))


@kind()
def an_error_inside_of_a_loop() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        for i in tf.range(5):
            tf.debugging.assert_less(i, 3, message="too far")
            x += 1.0
        return x

    return lambda n: error_of(lambda: f(vector(n)))


@kind()
def a_python_function_that_raises() -> Call:
    def refuse(x: Any) -> Any:
        raise KeyError("nothing here")

    f = tf.function(lambda x: tf.py_function(refuse, [x], tf.float32))
    return lambda n: error_of(lambda: f(vector(n)))


@kind()
def shapes_that_do_not_fit() -> Call:
    f = tf.function(lambda a, b: tf.matmul(a, b), input_signature=[tf.TensorSpec([None, None])] * 2)
    return lambda n: error_of(lambda: f(tf.ones([2, 3]), tf.ones([2, 3])))
