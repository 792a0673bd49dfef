"""Programs made at random: recorded equals plain, and the graph is the same whatever is kept."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import _shared

ITERATIONS = 2_000
SAMPLE = 40
CHUNK = 250

SOURCES = ("input", "constant", "literal_producer", "from_python", "iterator")


def run(iterations: int, seed: int) -> dict[str, int]:
    import warnings

    warnings.filterwarnings("ignore", message="flowscope")
    counts = {"programs": 0, "ops": 0, "failing": 0, "chosen_nothing": 0}
    for i in range(iterations):
        try:
            one(random.Random(seed + i), counts)
        except Exception as error:
            raise AssertionError(f"the program of seed {seed + i}") from error
    return counts


def one(choose: random.Random, counts: dict[str, int]) -> None:
    import checks
    import flowscope as fs
    import tensorflow as tf

    program = Program(choose)
    x = tf.constant([[choose.uniform(-1, 1) for _ in range(4)] for _ in range(4)])
    program.reset()
    plain, failed = outcome(lambda: program(x))
    program.reset()
    whole, again = outcome(lambda: fs.trace(program, x))
    assert type(failed) is type(again) and str(failed) == str(again)
    program.reset()
    given = options(choose) if copies not in program.steps else {"code_context": False}
    other, last = outcome(lambda: fs.trace(program, x, **given))
    if failed is not None:
        whole, other = again.flowscope_trace, last.flowscope_trace  # type: ignore[union-attr]
        counts["failing"] += 1
    elif last is not None:
        # A selection that matches nothing is an error, and the only one.
        assert isinstance(last, fs.errors.LookupFailedError), last
        assert not any(chosen(op) for op in whole if op.kind not in SOURCES), last
        counts["chosen_nothing"] += 1
        return
    else:
        checks.assert_same_bits(plain, whole.output)
        checks.assert_same_bits(plain, other.output)
    for trace in (whole, other):
        checks.assert_sound(trace)
    assert [op.label for op in whole] == [op.label for op in other]
    assert whole.edges == other.edges
    assert checks.left_behind() == []
    counts["programs"] += 1
    counts["ops"] += whole.num_ops


def outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except Exception as error:
        return None, error


def options(choose: random.Random) -> dict[str, Any]:
    import flowscope as fs

    return choose.choice(
        [
            {"save": "none"},
            {"save": []},
            {"keep": "stats"},
            {"save_budget": 0},
            {"save_budget": choose.randrange(2000)},
            {"code_context": False},
            {"save": fs.sites.func("*") & fs.sites.where(chosen)},
        ]
    )


def chosen(op: Any) -> bool:
    return len(op.label) % 2 == 0


class Program:
    """A fixed list of steps on a pool of 4x4 tensors, two variables and two layers."""

    def __init__(self, choose: random.Random) -> None:
        import keras
        import tensorflow as tf

        self.variables = [tf.Variable(tf.zeros((4, 4))), tf.Variable(1.0)]
        self.layers = [keras.layers.Dense(4), keras.layers.LayerNormalization()]
        for layer in self.layers:
            layer.build((None, 4))
        self.start = [[choose.uniform(-1, 1)] * 4] * 4
        self.constant = tf.constant(self.start)
        self.steps = [choose.choice(STEPS) for _ in range(choose.randrange(1, 40))]
        if choose.random() < 0.1:
            self.steps.append(fails)
        self.picks = [choose.randrange(1000) for _ in range(2 * len(self.steps))]

    def reset(self) -> None:
        """The state that every run starts from."""
        import keras

        keras.utils.set_random_seed(1)
        self.variables[0].assign(self.start)
        self.variables[1].assign(1.0)
        gc.collect(0)

    def __call__(self, x: Any) -> Any:
        pool = [x, self.constant]
        for number, step in enumerate(self.steps):
            one, two = (pool[pick % len(pool)] for pick in self.picks[2 * number : 2 * number + 2])
            made = step(self, one, two)
            if made is not None:
                pool.append(made)
            if len(pool) > 6:
                del pool[self.picks[2 * number] % 5]
        return pool[-1]


def copies(program: Program, a: Any, b: Any) -> Any:
    """A DLPack round trip is found by its memory, which is known of values that are kept."""
    import tensorflow as tf

    return tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(a))


def fails(program: Program, a: Any, b: Any) -> Any:
    import tensorflow as tf

    return tf.matmul(a, tf.ones((3, 2)))


def _steps() -> list[Callable[[Program, Any, Any], Any]]:
    import tensorflow as tf

    def assigns(program: Program, a: Any, b: Any) -> None:
        program.variables[0].assign_add(tf.tanh(a))

    def scatters(program: Program, a: Any, b: Any) -> None:
        program.variables[0].scatter_update(tf.IndexedSlices(a[:1], [1]))

    def through_numpy(program: Program, a: Any, b: Any) -> Any:
        return tf.constant(a.numpy() + 1.0) if float(b[0, 0]) > 0 else tf.constant(a.numpy())

    def ring(program: Program, a: Any, b: Any) -> None:
        kept: list[Any] = [tf.exp(a)]
        kept.append(kept)

    def handled(program: Program, a: Any, b: Any) -> Any:
        try:
            return tf.matmul(a, tf.ones((3, 2)))
        except tf.errors.OpError:
            return tf.tanh(a)

    return [
        lambda p, a, b: a + b,
        lambda p, a, b: tf.tanh(a) * 0.5,
        lambda p, a, b: a @ tf.transpose(b) * 0.1,
        lambda p, a, b: tf.concat([a[:2], b[2:]], 0),
        lambda p, a, b: tf.where(a > 0, a, b),
        lambda p, a, b: tf.reshape(tf.reshape(a, (16,)), (4, 4)),
        lambda p, a, b: tf.stack(tf.unstack(a)[::-1]),
        lambda p, a, b: tf.clip_by_value(a, -1.0, 1.0),
        lambda p, a, b: tf.nn.dropout(a, 0.25),
        lambda p, a, b: tf.random.normal((4, 4)) + a,
        lambda p, a, b: tf.fill((4, 4), 0.5) + a,
        lambda p, a, b: tf.cast(tf.cast(a, tf.float64), tf.float32),
        lambda p, a, b: a * p.variables[1],
        lambda p, a, b: a + p.variables[0],
        assigns,
        scatters,
        lambda p, a, b: tf.gather(p.variables[0], [0, 1, 2, 3]),
        lambda p, a, b: p.layers[0](tf.clip_by_value(a, -1.0, 1.0)),
        lambda p, a, b: p.layers[1](a),
        through_numpy,
        copies,
        ring,
        handled,
    ]


assert _shared.TESTS.is_dir()
STEPS = _steps()
