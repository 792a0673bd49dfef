"""What most tests ask of a recording: equal to the plain run, sound, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, Any

import flowscope as fs
import numpy as np
from flowscope import _core, _patches

SOURCE_KINDS = ("input", "constant", "from_python")


def leaves(value: Any) -> list[Any]:
    """Tensors, arrays and plain values of a nested structure, composite tensors by part."""
    import tensorflow as tf

    return list(tf.nest.flatten(value, expand_composites=True))


def same_bits(left: Any, right: Any) -> bool:
    """Same shape, dtype and bytes; texts and objects by equality."""
    a, b = np.asarray(left), np.asarray(right)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes()


def assert_same_bits(left: Any, right: Any, what: str = "output") -> None:
    a, b = leaves(left), leaves(right)
    assert len(a) == len(b), f"{what}: {len(a)} and {len(b)} values"
    for i, (one, other) in enumerate(zip(a, b, strict=True)):
        assert same_bits(one, other), f"{what}, value {i}: {one!r} is not {other!r}"


def state_of(model: Any) -> list[np.ndarray]:
    """The values of all variables of a model, copied."""
    return [np.array(v.numpy()) for v in getattr(model, "variables", ())]


def random_draws() -> list[Any]:
    """The next number of every generator that a model may use."""
    import keras
    import tensorflow as tf

    drawn = tf.random.uniform(()).numpy(), keras.random.uniform(()).numpy()
    return [random.random(), np.random.rand(), *drawn]


def assert_sound(trace: Any) -> None:
    assert trace.lint() == []
    assert trace.completeness["unexplained"] == trace.completeness["edges"]["unexplained"] == 0
    assert not any("could not be recorded" in note for note in trace.notes), trace.notes


def recorded_equals_plain(
    build: Callable[[], Any], args: Any = (), kwargs: dict[str, Any] | None = None, **options: Any
) -> Any:
    """The trace of one call of what ``build`` makes, after checking it against a plain call.

    Both calls start from the same state: same seeds, a model of their own. ``args`` is a tuple, or
    a function that makes one. Compared to the bit: output, every variable afterwards, and the next
    number of every random generator.
    """
    import keras

    def fresh() -> tuple[Any, tuple[Any, ...]]:
        keras.utils.set_random_seed(7)
        model = build()
        return model, args() if callable(args) else args

    model, given = fresh()
    plain = model(*given, **(kwargs or {}))
    plain_state, plain_draws = state_of(model), random_draws()
    model, given = fresh()
    trace = fs.trace(model, given, kwargs, **options)
    assert_same_bits(plain, trace.output)
    assert_same_bits(plain_state, state_of(model), "variables afterwards")
    assert_same_bits(plain_draws, random_draws(), "random numbers afterwards")
    assert_sound(trace)
    return trace


def plain_type(op_type: Any) -> str:
    """An op type as text; the number that TensorFlow appends to a traced function is taken off."""
    text = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
    return re.sub(r"_\d+$", "", text) if text.startswith("__") else text


def types_of(trace: Any) -> Counter[str]:
    """Ops that ran eagerly by type, without those of the bodies of compiled functions."""
    eager = [op for op in trace if op.kind not in SOURCE_KINDS and not inside_function(op.region)]
    return Counter(plain_type(op.type) for op in eager)


def inside_function(region: Any) -> bool:
    """Whether an op opened a region around it: a part of a step with a name is none."""
    while region is not None and (region.kind != "function" or region.op is None):
        region = region.parent
    return region is not None


@contextlib.contextmanager
def witness() -> Iterator[Counter[str]]:
    """Counts the eager ops of this thread by type through op callbacks, not through the hook."""
    from tensorflow.python.framework import op_callbacks

    counts: Counter[str] = Counter()

    def callback(
        op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        if graph is None:
            counts[plain_type(op_type)] += 1

    op_callbacks.add_op_callback(callback)
    try:
        yield counts
    finally:
        op_callbacks.remove_op_callback(callback)


def left_behind() -> list[str]:
    """What a recording that has ended must not leave in the process."""
    facts = {
        "hook leases": _core.hook_lease_count(),
        "hooked slots": _core.hooked_slot_count(),
        "slots not restored": not _core.hook_slots_restored(),
        "patched methods": _patches.held_patches(),
        "living recorders": _core.living_recorders(),
        "session of this thread": _core.current_session() is not None,
    }
    return [f"{what}: {value}" for what, value in facts.items() if value]


def run_program(
    program: str, *, env: dict[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Runs Python source in a process of its own, with this TensorFlow and this package."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={
            **os.environ,
            "FLOWSCOPE_LEAK_WARNINGS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **(env or {}),
        },
    )


class Child:
    """A process of its own, as `running` makes it."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self._process, self._errors = process, errors

    def said(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-4000:]

    def wait_for(self, happened: Callable[[], bool], what: str) -> None:
        """Fails with what the process said where it ended before, or takes for ever."""
        for _ in range(12_000):
            if happened():
                return
            assert self._process.poll() is None, f"ended before {what}: {self.said()}"
            time.sleep(0.01)
        raise AssertionError(f"waited two minutes for {what}: {self.said()}")


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[Child]:
    """From when the process says ``ready`` on; at the end it is killed."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        child = Child(process, errors)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n", child.said()
            yield child
        finally:
            process.kill()


def assert_quiet_exit(done: subprocess.CompletedProcess[str]) -> None:
    """The program ended well, and nanobind has nothing to say about leaks."""
    assert done.returncode == 0, done.stderr[-4000:]
    assert "nanobind" not in done.stderr and "leaked" not in done.stderr, done.stderr[-4000:]
    assert "Exception ignored" not in done.stderr, done.stderr[-4000:]
