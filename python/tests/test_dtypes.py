"""Every dtype is recorded: values to the bit, or said to have none; never dropped."""

from __future__ import annotations

from typing import Any

import checks
import flowscope as fs
import ml_dtypes
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

NUMPY = ["float16", "float32", "float64", "int8", "int16", "int32", "int64"]
NUMPY += ["uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"]
EXTRA = ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz"]
EXTRA += ["float8_e5m2fnuz", "int4", "uint4", "int2", "uint2", "float4_e2m1fn"]
QUANTIZED = ["qint8", "quint8", "qint16", "quint16", "qint32"]


def tensor_of(name: str, values: Any) -> Any:
    dtype = getattr(ml_dtypes, name, None) if name in EXTRA else np.dtype(name)
    if dtype is None:
        pytest.skip(f"this ml_dtypes has no {name}")
    try:
        return tf.constant(np.array(values).astype(dtype))
    except (TypeError, ValueError) as error:
        pytest.skip(f"this TensorFlow has no {name}: {error}")


def reshaped(x: Any) -> Any:
    return tf.identity(x), tf.reshape(x, (-1,))


def test_every_dtype_of_this_tensorflow_is_here() -> None:
    from tensorflow.core.framework import types_pb2

    names = {tf.as_dtype(number).name for number in types_pb2.DataType.values() if 0 < number < 100}
    assert names <= {*NUMPY, *EXTRA, *QUANTIZED, "string", "resource", "variant"}


@pytest.mark.smoke
@pytest.mark.asan
@pytest.mark.parametrize("name", NUMPY + EXTRA)
def test_values_to_the_bit(name: str) -> None:
    x = tensor_of(name, [[0, 1], [1, 0]])
    trace = fs.trace(reshaped, x)
    checks.assert_sound(trace)
    same, flat = trace.outputs
    assert same.dtype == flat.dtype == x.dtype.name and (same.shape, flat.shape) == ((2, 2), (4,))
    assert checks.same_bits(same.out, x.numpy()) and same.out.dtype == x.numpy().dtype
    assert checks.same_bits(flat.out, x.numpy().reshape(-1))
    assert (same.stats["count"], same.stats["zeros"], same.stats["max"]) == (4, 2, 1.0)
    assert same.nbytes == 4 * x.dtype.size and "[2,2]" in repr(same)
    assert fs.trace(reshaped, x, keep="stats")[-1].stats["count"] == 4


@pytest.mark.parametrize("name", NUMPY + EXTRA[:1])
def test_arithmetic_in_the_dtype(name: str) -> None:
    x = tensor_of(name, [0, 1, 1])
    operation = tf.math.logical_and if name == "bool" else tf.add
    trace = fs.trace(lambda a: operation(a, a), x)
    checks.assert_sound(trace)
    checks.assert_same_bits(operation(x, x), trace[-1].out)


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized(name: str) -> None:
    dtype = tf.as_dtype(name)

    def model(x: Any) -> Any:
        q, low, high = tf.raw_ops.QuantizeV2(input=x, min_range=0.0, max_range=6.0, T=dtype)
        return tf.raw_ops.Dequantize(input=q, min_range=low, max_range=high)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    trace = fs.trace(model, x)
    checks.assert_sound(trace)
    op = trace["quantizev2_1"]
    assert op.dtype == name and len(op.outs) == 3
    assert op.out.dtype == np.dtype(name.replace("q", ""))
    quantized = tf.raw_ops.QuantizeV2(input=x, min_range=0.0, max_range=6.0, T=dtype)[0]
    assert op.out.tobytes() == quantized.numpy().tobytes()
    checks.assert_same_bits(model(x), trace.output)


def test_strings() -> None:
    x = tf.constant([["a", "bc"], ["", "dé"]])
    trace = fs.trace(lambda s: tf.strings.join([s, s]), x)
    checks.assert_sound(trace)
    (op,) = [op for op in trace if op.kind == "compute"]
    assert op.out.tolist() == [[b"aa", b"bcbc"], [b"", "dédé".encode()]]
    assert op.dtype == "string" and op.stats == {"count": 4} and "bcbc" in repr(op)


def test_resource_and_variant_are_shown() -> None:
    def model() -> Any:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0)
        items = tf.raw_ops.EmptyTensorList(
            element_shape=[2], max_num_elements=-1, element_dtype=tf.float32
        )
        items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=[1.0, 2.0])
        return table.lookup(tf.constant(["a", "b"])), tf.raw_ops.TensorListPopBack(
            input_handle=items, element_shape=[2], element_dtype=tf.float32
        ).tensor

    trace = fs.trace(model)
    checks.assert_sound(trace)
    table, items = trace["hashtablev2_1"], trace["tensorlistpushback_1"]
    assert (table.dtype, items.dtype) == ("resource", "variant")
    assert "no value" in repr(table) and "no value" in repr(items)
    for op, word in ((table, "handle"), (items, "variant")):
        with pytest.raises(fs.errors.UnavailableError, match=word):
            _ = op.out
    assert items.children == [trace["tensorlistpopback_1"]]
    assert trace["tensorlistpopback_1"].outs[1].tolist() == [1.0, 2.0]
    assert trace["lookuptablefindv2_1"].out.tolist() == [1, 0]
    assert "hashtablev2_1" in trace.summary(level="op")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 5)])
@pytest.mark.parametrize("name", ["float32", "int32", "bool"])
def test_empty(name: str, shape: tuple[int, ...]) -> None:
    x = tf.zeros(shape, name)
    trace = fs.trace(lambda a: tf.concat([a, a], 0), x)
    checks.assert_sound(trace)
    out = trace[-1].out
    assert out.size == 0 and out.shape == (2 * shape[0], *shape[1:]) and out.dtype == name
    assert trace[-1].stats["count"] == 0 and trace.first_nonfinite() is None


def test_empty_string_tensor() -> None:
    trace = fs.trace(tf.identity, tf.constant([], tf.string))
    assert trace[-1].out.tolist() == [] and trace.lint() == []


def test_scalars() -> None:
    trace = fs.trace(lambda a: tf.exp(a) + 1.0, tf.constant(0.0))
    checks.assert_sound(trace)
    assert trace["exp_1"].out.shape == () and float(trace["exp_1"].out) == 1.0
    assert trace["exp_1"].parents == trace.inputs and trace.output.numpy() == 2.0


def test_string_scalar() -> None:
    trace = fs.trace(lambda s: tf.strings.upper(s), tf.constant("abc"))
    assert trace[-1].out.shape == () and trace[-1].out.item() == b"ABC" and trace.lint() == []


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_nan_and_infinities(name: str) -> None:
    x = tensor_of(name, [np.nan, np.inf, -np.inf, -0.0, 1.0])
    trace = fs.trace(tf.identity, x)
    stats = trace[-1].stats
    assert (stats["nan"], stats["pos_inf"], stats["neg_inf"], stats["zeros"]) == (1, 1, 1, 1)
    assert checks.same_bits(trace[-1].out, x.numpy())


def test_half_precision_overflow_is_named() -> None:
    trace = fs.trace(lambda a: a * 2.0, tf.constant([60000.0], tf.float16))
    assert "overflow" in trace.first_nonfinite().cause


@pytest.mark.slow
def test_a_value_over_two_gibibytes() -> None:
    count = 2**31 + 17
    trace = fs.trace(lambda: tf.fill((count,), tf.constant(True)))
    out = trace[-1].out
    assert out.shape == (count,) and out[-1] and trace[-1].nbytes == count
    assert trace.lint() == [] and not out.flags.owndata
