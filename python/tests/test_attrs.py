"""Attributes of ops of one type at one line, each its own, though most are written only once."""

from __future__ import annotations

import itertools
from typing import Any

import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")


def of_type(trace: fs.Trace, type_name: str) -> list[dict[str, Any]]:
    return [op.attrs for op in trace.ops if op.type == type_name]


@pytest.mark.parametrize("device", [None, "CPU:0"])
def test_flags_and_types_in_turns(device: str | None) -> None:
    cases = list(itertools.product((False, True), (False, True), (tf.float32, tf.float64)))
    given = {dtype: tf.cast(tf.reshape(tf.range(4), (2, 2)), dtype) for dtype in tf_types(cases)}

    def run(_: Any) -> None:
        for _round in range(3):
            for a, b, dtype in cases:
                x = given[dtype]
                with tf.device(device):
                    tf.raw_ops.MatMul(a=x, b=x, transpose_a=a, transpose_b=b)

    found = of_type(fs.trace(run, tf.ones(1)), "MatMul")
    told = [(attrs["transpose_a"], attrs["transpose_b"], attrs["T"]) for attrs in found]
    assert told == [(a, b, dtype.name) for a, b, dtype in cases] * 3


def tf_types(cases: list[Any]) -> set[Any]:
    return {dtype for *_, dtype in cases}


def test_numbers_that_are_nearly_equal() -> None:
    rates = [0.1, float(np.nextafter(np.float32(0.1), np.float32(1))), 0.1, 0.2]

    def run(x: Any) -> None:
        for alpha in rates:
            tf.raw_ops.LeakyRelu(features=x, alpha=alpha)

    found = of_type(fs.trace(run, tf.ones(3)), "LeakyRelu")
    assert [np.float32(attrs["alpha"]) for attrs in found] == [np.float32(rate) for rate in rates]


def test_lists_and_texts() -> None:
    image = tf.ones((1, 6, 6, 1))
    cases = [([1, 2, 2, 1], "VALID"), ([1, 2, 2, 1], "SAME"), ([1, 3, 3, 1], "VALID")]

    def run(x: Any) -> None:
        for sizes, padding in cases * 2:
            tf.raw_ops.MaxPool(input=x, ksize=sizes, strides=sizes, padding=padding)

    found = of_type(fs.trace(run, image), "MaxPool")
    assert [(list(attrs["ksize"]), attrs["padding"]) for attrs in found] == cases * 2


def test_types_of_many_inputs() -> None:
    """TensorFlow works these attributes out from the inputs; nobody sets them."""
    groups = [["a"], ["a", "b"], ["b", "a"], ["a", "b"]]

    def run(x: Any) -> None:
        values = {"a": x, "b": tf.cast(x, tf.int32)}
        for group in groups:
            tf.raw_ops.IdentityN(input=[values[name] for name in group])

    found = of_type(fs.trace(run, tf.ones(2)), "IdentityN")
    types = {"a": "float32", "b": "int32"}
    assert [list(attrs["T"]) for attrs in found] == [[types[n] for n in group] for group in groups]


def test_an_op_that_fails_has_its_attributes() -> None:
    def run(x: Any) -> None:
        tf.raw_ops.MatMul(a=x, b=x, transpose_b=True)
        tf.raw_ops.MatMul(a=x, b=x)

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        fs.trace(run, tf.ones((2, 3)))
    trace = caught.value.flowscope_trace  # type: ignore[attr-defined]
    assert [attrs["transpose_b"] for attrs in of_type(trace, "MatMul")] == [True, False]


def test_functions_are_told_apart() -> None:
    @tf.function
    def double(x: Any) -> Any:
        return x * 2

    @tf.function
    def triple(x: Any) -> Any:
        return x * 3

    trace = fs.trace(lambda x: triple(double(triple(x))), tf.ones(2), functions="call")
    names = [op.attrs.get("f", op.type) for op in trace.ops if op.kind == "call"]
    assert len(names) == 3
    assert names[0] == names[2] != names[1]


def test_this_tensorflow_tells_of_equal_attributes() -> None:
    """Where it does not, every recording is slower by what writing them anew costs."""
    assert "AttrBuilder::CacheKey" not in fs.doctor()["missing"]
