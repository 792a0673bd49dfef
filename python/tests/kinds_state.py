"""Functions whose point is what they keep between calls."""

from __future__ import annotations

import tempfile
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from function_kinds import STATE, Call, error_of, kind, vector

# What is kept between calls.


@kind(STATE)
def writes_in_their_order() -> Call:
    v = tf.Variable([0.0, 0.0])

    @tf.function
    def f(x: Any) -> Any:
        first = v.assign_add(x[:2])
        with tf.control_dependencies([first]):
            twice = v.assign(v * 2.0)
        v.scatter_nd_add([[0]], [1.0])
        return twice, v.read_value()

    return lambda n: f(vector(n))


@kind(STATE)
def dropout_of_keras() -> Call:
    layer = keras.layers.Dropout(0.5, seed=3)
    f = tf.function(lambda x: layer(x, training=True))
    return lambda n: (f(tf.ones([8])), layer.seed_generator.state.numpy())


@kind(STATE)
def a_seed_generator_by_itself() -> Call:
    seeds = keras.random.SeedGenerator(5)
    f = tf.function(lambda: keras.random.normal([4], seed=seeds))
    return lambda n: f()


@kind(STATE)
def a_random_generator() -> Call:
    generator = tf.random.Generator.from_seed(3)
    f = tf.function(lambda: generator.normal([3]) + generator.uniform([3]))
    return lambda n: (f(), generator.state.numpy())


@kind(STATE, closed="kernel keeps its own state")
def draws_with_a_seed() -> Call:
    tf.random.set_seed(1)
    f = tf.function(lambda: tf.random.uniform([3], seed=4))
    return lambda n: f()


@kind(STATE, closed="kernel keeps its own state")
def draws_without_a_seed() -> Call:
    tf.random.set_seed(2)

    @tf.function
    def f(x: Any) -> Any:
        if tf.reduce_sum(x) > -100.0:
            x = tf.random.shuffle(x)
        return x + tf.nn.dropout(x, 0.5)

    return lambda n: (f(vector(n)), tf.random.uniform([]))


@kind(STATE)
def stateless_draws() -> Call:
    f = tf.function(lambda s: tf.random.stateless_normal([3], tf.stack([s, 7])))
    return lambda n: f(tf.constant(n))


@kind(STATE, closed="XLA")
def stateless_draws_under_xla() -> Call:
    f = tf.function(lambda s: tf.random.stateless_normal([3], tf.stack([s, 7])), jit_compile=True)
    return lambda n: f(tf.constant(n))


@kind(STATE)
def tables() -> Call:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    fixed = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20]), default_value=0
    )

    @tf.function
    def f(key: Any, value: Any) -> Any:
        before = table.lookup(key)
        table.insert(key, value)
        return before, table.lookup(key), table.size(), fixed.lookup(key)

    return lambda n: f(tf.constant(["a", f"k{n % 2}"]), tf.constant([n, n + 1], tf.int64))


@kind(STATE)
def an_iterator_of_a_dataset() -> Call:
    iterator = iter(tf.data.Dataset.range(20).map(lambda v: v * v).batch(3))

    @tf.function
    def f() -> Any:
        return next(iterator), iterator.get_next_as_optional().has_value()

    return lambda n: f()


@kind(STATE)
def an_iterator_that_ends() -> Call:
    iterator = iter(tf.data.Dataset.range(2))
    f = tf.function(lambda: iterator.get_next())
    return lambda n: error_of(lambda: f())


@kind(STATE)
def a_shuffled_dataset() -> Call:
    tf.random.set_seed(3)
    iterator = iter(tf.data.Dataset.range(10).shuffle(10, seed=1).repeat())
    f = tf.function(lambda: iterator.get_next())
    return lambda n: (f(), f())


@kind(STATE)
def a_queue_with_a_name() -> Call:
    queue = tf.queue.FIFOQueue(10, [tf.int32], shapes=[[]])

    @tf.function
    def f(n: Any) -> Any:
        queue.enqueue(n)
        queue.enqueue(n * 10)
        return queue.dequeue(), queue.size()

    return lambda n: f(tf.constant(n))


@kind(STATE)
def a_summary_writer() -> Call:
    folder = tempfile.mkdtemp()
    writer = tf.summary.create_file_writer(folder)

    @tf.function
    def f(x: Any, step: Any) -> Any:
        with writer.as_default(step=step):
            written = tf.summary.write("sum", tf.reduce_sum(x))
        return written

    def call(n: int) -> Any:
        done = f(vector(n), tf.constant(n, tf.int64))
        writer.flush()
        (path,) = tf.io.gfile.glob(folder + "/*")
        return done, sum(1 for _ in tf.compat.v1.io.tf_record_iterator(path))

    return call


def _summaries(folder: str) -> list[Any]:
    """Step, tag and content of what was written, without the times."""
    (path,) = tf.io.gfile.glob(folder + "/*")
    found = []
    for record in tf.compat.v1.io.tf_record_iterator(path):
        event = tf.compat.v1.Event.FromString(record)
        found += [f"{event.step} {v.tag}" for v in event.summary.value]
        found += [v.SerializeToString() for v in event.summary.value]
    return found


@kind(STATE)
def summaries_of_every_sort() -> Call:
    folder = tempfile.mkdtemp()
    writer = tf.summary.create_file_writer(folder)
    raw = tf.raw_ops

    @tf.function
    def f(x: Any, step: Any) -> Any:
        into = {"writer": writer._resource, "step": step}
        raw.WriteScalarSummary(**into, tag="scalar", value=x[0])
        raw.WriteHistogramSummary(**into, tag="histogram", values=x)
        raw.WriteImageSummary(
            **into, tag="image", tensor=tf.reshape(x / 10.0, [1, 2, 2, 1]), bad_color=[0, 0, 0, 0]
        )
        raw.WriteAudioSummary(
            **into, tag="audio", tensor=tf.reshape(x / 10.0, [1, 4]), sample_rate=8000.0
        )
        proto = tf.compat.v1.Summary(value=[{"tag": "proto", "simple_value": 2.0}])
        raw.WriteRawProtoSummary(**into, tensor=tf.constant(proto.SerializeToString()))
        return x

    def call(n: int) -> Any:
        done = f(vector(n), tf.constant(n, tf.int64))
        writer.flush()
        return done, _summaries(folder)

    return call


@kind(STATE)
def summaries_in_branches_and_loops() -> Call:
    folder = tempfile.mkdtemp()
    writer = tf.summary.create_file_writer(folder)

    @tf.function
    def f(x: Any, step: Any) -> Any:
        with writer.as_default(step=step), tf.summary.record_if(step > 0):
            tf.summary.write("sum", tf.reduce_sum(x))
            for i in tf.range(2, dtype=tf.int64):
                tf.summary.write("step", x[0], step=step * 10 + i)
        return x

    def call(n: int) -> Any:
        done = f(vector(n), tf.constant(n, tf.int64))
        writer.flush()
        return done, _summaries(folder)

    return call


@kind(STATE)
def files() -> Call:
    folder = tempfile.mkdtemp()

    @tf.function
    def f(text: Any) -> Any:
        with tf.control_dependencies([tf.io.write_file(folder + "/x", text)]):
            return tf.io.read_file(folder + "/x")

    return lambda n: f(tf.constant(f"text {n}"))


@kind(STATE)
def a_metric_and_an_optimizer() -> Call:
    v = keras.Variable([1.0, 2.0, 3.0, 4.0])
    optimizer = keras.optimizers.SGD(0.5, momentum=0.5)
    optimizer.build([v])
    metric = keras.metrics.Mean()

    @tf.function
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v.value * x)
        optimizer.apply([tape.gradient(loss, v.value)], [v])
        return metric(loss), loss

    return lambda n: (f(vector(n)), v.numpy(), optimizer.iterations.numpy())


@kind(STATE)
def a_moving_average() -> Call:
    v = tf.Variable([1.0, 2.0])
    average = tf.train.ExponentialMovingAverage(0.5)
    average.apply([v])

    @tf.function
    def f(x: Any) -> Any:
        v.assign_add(x[:2])
        average.apply([v])
        return average.average(v)

    return lambda n: f(vector(n))


@kind(STATE)
def printing() -> Call:
    @tf.function
    def f(x: Any) -> Any:
        tf.print("value", x, output_stream="file:///dev/null")
        return x + 1.0

    return lambda n: f(vector(n))


@kind(STATE)
def a_numpy_generator_in_python() -> Call:
    generator = np.random.default_rng(0)
    f = tf.function(
        lambda x: x + tf.numpy_function(lambda: np.float32(generator.normal()), [], tf.float32)
    )
    return lambda n: f(vector(n))
