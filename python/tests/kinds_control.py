"""Loops, branches and calls inside of functions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf
from function_kinds import Call, kind, vector

# Loops.


@kind()
def nested_loops_with_breaks() -> Call:
    @tf.function
    def f(n: Any) -> Any:
        total = 0
        for i in tf.range(6):
            for j in tf.range(6):
                if j > i:
                    break
                if (i + j) % 3 == 0:
                    continue
                total += i * 10 + j + n
            if total > 200:
                break
        return total

    return lambda n: f(tf.constant(n))


@kind()
def a_loop_without_a_turn() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 0, lambda i, y: (i + 1, y * 2.0), [0, x])

    return lambda n: f(vector(n))


@kind()
def a_loop_that_is_done_early() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        done, at = False, -1  # AutoGraph itself can write no return in a loop
        for i in tf.range(10):
            if not done:
                x = x + 1.0
                if tf.reduce_sum(x) > 13.0:
                    done, at = True, i
        return x, at, done

    return lambda n: f(vector(n))


@kind()
def a_raw_while() -> Call:
    @tf.function
    def cond(i: Any, x: Any) -> Any:
        return i < 5

    @tf.function
    def body(i: Any, x: Any) -> Any:
        return i + 1, x * 2.0 + tf.cast(i, tf.float32)

    c = cond.get_concrete_function(tf.constant(0), vector(0))
    b = body.get_concrete_function(tf.constant(0), vector(0))

    @tf.function
    def f(x: Any) -> Any:
        return tf.raw_ops.While(input=[tf.constant(0), x], cond=c, body=b, parallel_iterations=4)

    return lambda n: f(vector(n))


@kind()
def a_while_run_eagerly() -> Call:
    """The op itself, without a function around it."""

    @tf.function
    def cond(i: Any, x: Any) -> Any:
        return i < 3

    @tf.function
    def body(i: Any, x: Any) -> Any:
        return i + 1, x * 2.0

    c = cond.get_concrete_function(tf.constant(0), vector(0))
    b = body.get_concrete_function(tf.constant(0), vector(0))
    return lambda n: tf.raw_ops.StatelessWhile(input=[tf.constant(0), vector(n)], cond=c, body=b)


@kind()
def a_growing_loop_value() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < 4,
            lambda i, y: (i + 1, tf.concat([y, y[-1:] + 1.0], 0)),
            [tf.constant(0), x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        )[1]

    return lambda n: f(vector(n))


@kind()
def a_loop_over_a_dataset() -> Call:
    @tf.function
    def f(n: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for i in tf.data.Dataset.range(7).map(lambda v: v * 3):
            total += i * n
        return total

    return lambda n: f(tf.constant(n, tf.int64))


@kind()
def an_accumulating_foldl() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        return tf.foldl(lambda a, b: a * 2.0 + b, x), tf.foldr(lambda a, b: a - b, x)

    return lambda n: f(vector(n))


# Branches.


@kind()
def a_switch_case_out_of_range() -> Call:
    @tf.function
    def f(i: Any, x: Any) -> Any:
        return tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0, lambda: -x])

    return lambda n: f(tf.constant([-1, 1, 7][n]), vector(n))


@kind()
def a_case_of_predicates() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        return tf.case(
            [(x[0] > 2.5, lambda: x * 2.0), (x[0] > 1.5, lambda: x - 1.0)], default=lambda: x
        )

    return lambda n: f(vector(n))


@kind()
def a_branch_with_an_effect() -> Call:
    v = tf.Variable(0.0)

    @tf.function
    def f(x: Any) -> Any:
        if tf.reduce_sum(x) > 3.0:
            v.assign_add(tf.reduce_sum(x))
        else:
            v.assign_sub(1.0)
        return v.read_value()

    return lambda n: f(vector(n))


# Calls.


@kind()
def a_function_that_calls_itself() -> Call:
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)], autograph=False)
    def f(n: Any) -> Any:
        return tf.cond(n > 0, lambda: n + f.get_concrete_function()(n - 1), lambda: 0)

    try:
        f.get_concrete_function()
    except Exception:  # this TensorFlow cannot trace it
        return lambda n: n
    return lambda n: f(tf.constant(n + 3))


@kind()
def functions_thirty_deep() -> Call:
    def deeper(depth: int) -> Any:
        if depth == 0:
            return tf.function(lambda x: x + 1.0)
        inner = deeper(depth - 1)
        return tf.function(lambda x: inner(x) * 0.5 + 1.0)

    f = deeper(30)
    return lambda n: f(vector(n))


@kind()
def arguments_of_many_forms() -> Call:
    @tf.function
    def f(a: Any, *rest: Any, flag: bool = False, **named: Any) -> Any:
        total = a["x"] + a["y"][0] + sum(rest)
        return {"sum": total + named["z"], "flag": total if flag else -total, "none": None}

    def call(n: int) -> Any:
        x = vector(n)
        return f({"x": x, "y": (x, 2)}, x, x * 2.0, flag=n == 1, z=np.float32(n))

    return call


@kind()
def relaxed_shapes() -> Call:
    f = tf.function(lambda x: tf.reduce_sum(x) * 2.0, reduce_retracing=True)
    return lambda n: f(tf.range(float(n + 2)))


@kind()
def an_experimental_implements() -> Call:
    f = tf.function(lambda x: x * 2.0 + 1.0, experimental_implements="mine.affine")
    g = tf.function(lambda x: f(x) - 1.0)
    return lambda n: g(vector(n))


@kind()
def captures_by_value_and_by_reference() -> Call:
    by_value, by_reference = tf.constant([1.0, 2.0, 3.0, 4.0]), tf.Variable([4.0, 3.0, 2.0, 1.0])
    f = tf.function(lambda x: x * by_value + by_reference)

    def call(n: int) -> Any:
        by_reference.assign_add([1.0, 1.0, 0.0, 0.0])
        return f(vector(n))

    return call


@kind()
def a_concrete_function_with_fewer_outputs() -> Call:
    f = tf.function(lambda x: (x, None, [x + 1.0, x])).get_concrete_function(vector(0))
    return lambda n: f(vector(n))


@kind()
def a_method_and_a_partial() -> Call:
    class Box:
        def __init__(self) -> None:
            self.v = tf.Variable(2.0)

        @tf.function
        def scaled(self, x: Any, by: Any) -> Any:
            return x * self.v * by

    box = Box()
    f = functools.partial(box.scaled, by=tf.constant(3.0))
    return lambda n, _box=box: f(vector(n))  # the method holds it weakly


@kind()
def a_strategy_scope() -> Call:
    strategy = tf.distribute.get_strategy()
    with strategy.scope():
        v = tf.Variable(1.0)

    @tf.function
    def f(x: Any) -> Any:
        return strategy.run(lambda y: y * v, args=(x,))

    return lambda n: f(vector(n))


@kind()
def a_one_device_strategy() -> Call:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        v = tf.Variable(1.0)

    @tf.function
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        return strategy.run(lambda y: y * v, args=(x,))

    return lambda n: f(vector(n))


@kind()
def an_init_scope() -> Call:
    made: list[Any] = []

    @tf.function
    def f(x: Any) -> Any:
        with tf.init_scope():
            if not made:
                made.append(tf.Variable([1.0, 2.0, 3.0, 4.0]))
        return x * made[0]

    return lambda n: f(vector(n))


@kind()
def variables_made_on_the_first_call() -> Call:
    class Late(tf.Module):
        v = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.v is None:
                self.v = tf.Variable(tf.ones([4]) * 2.0)
            self.v.assign_add(x)
            return self.v * x

    late = Late()
    return lambda n: late(vector(n))
