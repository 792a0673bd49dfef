"""Random function graphs: made from a seed, run by TensorFlow's executor and op by op.

Integer ops and float ops whose result IEEE 754 fixes (add, subtract, multiply, compare, convert):
both runs must agree to the bit. Constants come in families that share dtype, shape and first
three elements, which TensorFlow's eager kernel cache cannot tell apart.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import numpy as np
import tensorflow as tf

KINDS = ("While", "If", "Case", "call", "TensorList", "assign", "control-edge")
WIDTH = 5
MAX_DEPTH = 3

Pool = list[Any]


class Writer:
    """Writes the body of one function into the graph that is being traced."""

    def __init__(self, seed: int, state: State, kinds: set[str]) -> None:
        """The same seed writes the same body."""
        self._random = random.Random(seed)
        self._state = state
        self._kinds = kinds

    def body(self, args: Pool, steps: tuple[int, int], depth: int) -> Pool:
        pool = list(args)
        for _ in range(self._random.randint(*steps)):
            pool += self._step(pool, depth)
        return pool

    def _pick(self, pool: Pool, dtype: Any = None) -> Any:
        return self._random.choice([t for t in pool if dtype is None or t.dtype == dtype])

    def _step(self, pool: Pool, depth: int) -> Pool:
        plain = [self._binary] * 3 + [self._unary, self._cast, self._where, self._gather]
        plain += [self._constant] * 3 + [self._split]
        nested = [self._while, self._if, self._case, self._call, self._tensor_list]
        nested += [self._assign, self._read, self._control]
        choices = plain if depth >= MAX_DEPTH else plain + nested
        return self._random.choice(choices)(pool, depth)

    # Plain ops. Values are clipped so that conversions between dtypes stay defined.

    def _binary(self, pool: Pool, _: int) -> Pool:
        a = self._pick(pool)
        op = self._random.choice([tf.add, tf.subtract, tf.maximum, tf.minimum, tf.multiply])
        return [_clip(op(a, self._pick(pool, a.dtype)))]

    def _unary(self, pool: Pool, _: int) -> Pool:
        return [self._random.choice([tf.negative, tf.abs, tf.sign])(self._pick(pool))]

    def _cast(self, pool: Pool, _: int) -> Pool:
        a = self._pick(pool)
        return [tf.cast(_clip(a), tf.float32 if a.dtype == tf.int32 else tf.int32)]

    def _constant(self, pool: Pool, _: int) -> Pool:
        """Equal up to the third element for all graphs."""
        tail = [self._random.randint(-60, 60) for _ in range(WIDTH - 3)]
        return [tf.constant([1, 2, 3, *tail], self._random.choice([tf.int32, tf.float32]))]

    def _where(self, pool: Pool, _: int) -> Pool:
        a, b = self._pick(pool, tf.int32), self._pick(pool, tf.int32)
        return [tf.where(a > self._constant_int(), a, b)]

    def _constant_int(self) -> Any:
        return tf.constant([1, 2, 3, self._random.randint(-9, 9), self._random.randint(-9, 9)])

    def _gather(self, pool: Pool, _: int) -> Pool:
        return [tf.gather(self._pick(pool), tf.math.floormod(self._pick(pool, tf.int32), WIDTH))]

    def _split(self, pool: Pool, _: int) -> Pool:
        a = self._pick(pool)
        return list(tf.unstack(tf.stack([a, a + a]), num=2))

    # Ops with bodies of their own.

    def _inner(self, seed: int, args: Pool, depth: int) -> Pool:
        writer = Writer(seed, self._state, self._kinds)
        pool = writer.body(args, (1, 4), depth + 1)
        return [writer._pick(pool, tf.int32), writer._pick(pool, tf.float32)]

    def _ends(self, pool: Pool) -> tuple[Any, Any, int]:
        seed = self._random.randint(0, 10**9)
        return self._pick(pool, tf.int32), self._pick(pool, tf.float32), seed

    def _while(self, pool: Pool, depth: int) -> Pool:
        self._kinds.add("While")
        a, b, seed = self._ends(pool)
        times = self._random.randint(0, 4)
        return list(
            tf.while_loop(
                lambda i, x, y: i < times,
                lambda i, x, y: [i + 1, *self._inner(seed, [x, y, tf.fill([WIDTH], i)], depth)],
                [tf.constant(0), a, b],
            )[1:]
        )

    def _if(self, pool: Pool, depth: int) -> Pool:
        self._kinds.add("If")
        a, b, seed = self._ends(pool)
        return list(
            tf.cond(
                a[0] > self._random.randint(-2, 6),
                lambda: self._inner(seed, [a, b], depth),
                lambda: self._inner(seed + 1, [a, b], depth),
            )
        )

    def _case(self, pool: Pool, depth: int) -> Pool:
        self._kinds.add("Case")
        a, b, seed = self._ends(pool)
        branches = [lambda n=n: self._inner(seed + n, [a, b], depth) for n in range(3)]
        return list(tf.switch_case(a[1] % 4 - 1, branches))

    def _call(self, pool: Pool, depth: int) -> Pool:
        self._kinds.add("call")
        a, b, seed = self._ends(pool)
        called = tf.function(lambda x, y: self._inner(seed, [x, y], depth), autograph=False)
        return list(called(a, b))

    def _tensor_list(self, pool: Pool, _: int) -> Pool:
        self._kinds.add("TensorList")
        items = tf.TensorArray(tf.float32, size=3, dynamic_size=True, element_shape=[WIDTH])
        for place in (0, 2, 1):
            items = items.write(place, self._pick(pool, tf.float32))
        return [items.stack()[self._random.randint(0, 2)], items.read(1)]

    # State.

    def _assign(self, pool: Pool, _: int) -> Pool:
        self._kinds.add("assign")
        if self._random.random() < 0.5:
            self._state.whole.assign(_clip(self._state.whole + self._pick(pool, tf.int32)))
        else:
            self._state.real.assign(_clip(self._pick(pool, tf.float32)))
        return []

    def _read(self, pool: Pool, _: int) -> Pool:
        return [self._state.whole.read_value(), self._state.real + 0.0]

    def _control(self, pool: Pool, _: int) -> Pool:
        self._kinds.add("control-edge")
        written = self._state.whole.assign_sub(tf.ones([WIDTH], tf.int32), read_value=False)
        with tf.control_dependencies([written]):
            return [tf.identity(self._pick(pool)), self._state.whole.read_value()]


class State:
    """The variables that the graphs of one process use."""

    def __init__(self) -> None:
        """Both hold one number for each element."""
        self.whole = tf.Variable(np.arange(WIDTH, dtype="i4"))
        self.real = tf.Variable(np.ones(WIDTH, "f4"))

    def reset(self) -> None:
        self.whole.assign(np.arange(WIDTH, dtype="i4"))
        self.real.assign(np.ones(WIDTH, "f4"))

    def values(self) -> Pool:
        return [self.whole.numpy(), self.real.numpy()]


def _clip(value: Any) -> Any:
    return tf.clip_by_value(value, tf.cast(-1000, value.dtype), tf.cast(1000, value.dtype))


def make(seed: int, state: State) -> tuple[Any, tuple[Any, Any], set[str]]:
    """A concrete function, its arguments, and the kinds of nodes that it was given."""
    kinds: set[str] = set()
    args = (
        tf.constant([1, 2, 3, seed % 97, -(seed % 13)], tf.int32),
        tf.constant([0.5, 1.0, -2.0, seed % 31 * 0.25, 7.0]),
    )

    def body(x: Any, y: Any) -> Pool:
        return Writer(seed, state, kinds).body([x, y], (4, 14), 0)[2:] or [tf.identity(x)]

    return tf.function(body, autograph=False).get_concrete_function(*args), args, kinds


def check(seed: int, state: State) -> tuple[set[str], Counter[str]]:
    """Compiled, recorded, compiled again: the same outputs and the same state, to the bit."""
    function, args, kinds = make(seed, state)

    def run(call: Callable[[], Any]) -> Pool:
        state.reset()
        flat = [np.asarray(t) for t in tf.nest.flatten(call())]
        return flat + state.values()

    traces = []

    def record() -> Any:
        traces.append(fs.trace(function, args))
        return traces[0].output

    plain = run(lambda: function(*args))
    for which, again in (
        ("opened", run(record)),
        ("compiled after", run(lambda: function(*args))),
    ):
        assert len(again) == len(plain), f"seed {seed}, {which}"
        for i, (one, other) in enumerate(zip(again, plain, strict=True)):
            assert checks.same_bits(one, other), f"seed {seed}, {which}, {i}: {one} not {other}"
    assert [op.opaque_reason for op in traces[0] if op.opaque] == [], f"seed {seed}"
    checks.assert_sound(traces[0])
    return kinds, _node_kinds(function)


def _node_kinds(function: Any) -> Counter[str]:
    definition = function.graph.as_graph_def()
    counts = Counter(node.op for node in definition.node)
    for inner in definition.library.function:
        counts.update(node.op for node in inner.node_def)
    return counts


def check_many(seeds: range) -> tuple[Counter[str], Counter[str]]:
    """In how many graphs each of KINDS is, and all node types."""
    # TensorFlow's graph rewriting may compute floats in another order; bits are compared here.
    options = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    state = State()
    graphs: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    try:
        for seed in seeds:
            kinds, counts = check(seed, state)
            graphs.update(kinds)
            nodes.update(counts)
    finally:
        tf.config.optimizer.set_experimental_options(
            {"disable_meta_optimizer": options.get("disable_meta_optimizer", False)}
        )
    return graphs, nodes
