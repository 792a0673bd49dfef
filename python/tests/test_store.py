"""A saved trace answers as the live one, for every dtype, structure and shared program."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import case_runs
import flowscope as fs
import model_zoo
import numpy as np
import pytest
from alike import assert_alike
from flowscope import _core

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


def saved(trace: Any, folder: Path, **options: Any) -> Any:
    trace.save(folder / "run.flow", **options)
    return fs.load(folder / "run.flow")


@pytest.mark.smoke
def test_real_model(tmp_path: Path) -> None:
    model = model_zoo.architecture("MobileNetV2", 32)
    trace = fs.trace(model, tf.random.normal((1, 32, 32, 3)))
    loaded = saved(trace, tmp_path)
    assert_alike(trace, loaded)
    assert sorted(os.listdir(tmp_path)) == ["run.flow"]
    assert sorted(os.listdir(tmp_path / "run.flow")) == [
        "tensors-00000.safetensors",
        "trace.sqlite",
    ]


@pytest.mark.parametrize("case", case_runs.CASES)
def test_shared_program(case: str, tmp_path: Path) -> None:
    trace = case_runs.run_of(case).trace
    assert_alike(trace, saved(trace, tmp_path))


DTYPES = ["float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8"]
DTYPES += ["uint16", "uint32", "uint64", "bool", "complex64", "complex128", "float8_e5m2"]
DTYPES += ["float8_e4m3fn", "int4", "uint4"]


def every_dtype() -> Any:
    """A run with a tensor of every dtype that this TensorFlow casts to."""

    def model(x: Any) -> list[Any]:
        made = []
        for name in DTYPES:
            try:
                made.append(tf.cast(x, getattr(tf, name, None) or tf.as_dtype(name)))
            except (TypeError, ValueError, tf.errors.OpError):
                continue
        quantized = tf.raw_ops.QuantizeV2(input=x, min_range=0.0, max_range=9.0, T=tf.quint8)
        text = tf.strings.as_string(x)
        return [*made, quantized[0], text, tf.zeros((0, 3)), tf.constant(5.0) * 2.0]

    return fs.trace(model, tf.constant([[0.0, 1.0], [2.0, 3.0]]))


@pytest.mark.smoke
@pytest.mark.asan
@pytest.mark.parametrize("options", [{}, {"compress": "zstd"}], ids=["plain", "zstd"])
def test_every_dtype(tmp_path: Path, options: dict[str, Any]) -> None:
    trace = every_dtype()
    kept = {op.dtype for op in trace if op.outs}
    assert {"float64", "bfloat16", "complex128", "quint8", "string", "bool"} <= kept
    assert_alike(trace, saved(trace, tmp_path, **options))
    trace.save(tmp_path / "run.flow.zip", **options)
    assert_alike(trace, fs.load(tmp_path / "run.flow.zip"))
    with zipfile.ZipFile(tmp_path / "run.flow.zip") as archive:
        assert archive.testzip() is None


def test_ragged_sparse_and_training(tmp_path: Path) -> None:
    ragged = tf.ragged.constant([[1.0, 2.0], [3.0]])
    sparse = tf.sparse.from_dense([[0.0, 2.0], [3.0, 0.0]])

    def model(r: Any, s: Any) -> Any:
        return tf.reduce_sum(r, axis=1), tf.sparse.to_dense(s) * 2.0

    trace = fs.trace(model, (ragged, sparse))
    assert_alike(trace, saved(trace, tmp_path))
    network = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dropout(0.5)]
    )
    network.compile("adam", "mse")
    with fs.capture(network) as run:
        network.train_on_batch(np.ones((4, 3), "f4"), np.ones((4, 2), "f4"))
    run.trace.save(tmp_path / "step.flow")
    assert_alike(run.trace, fs.load(tmp_path / "step.flow"))


def test_statistics_and_selection(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, "relu", name="one")])
    stats = fs.trace(model, tf.ones((4, 3)), keep="stats")
    assert_alike(stats, saved(stats, tmp_path))
    trace = fs.trace(model, tf.ones((4, 3)))
    some = saved(trace, tmp_path, save=fs.func("relu"), overwrite=True)
    assert (some["relu_1"].out == trace["relu_1"].out).all()
    with pytest.raises(fs.errors.UnavailableError, match="not kept"):
        _ = some["matmul_1"].out
    assert len(saved(trace, tmp_path, save="none", overwrite=True)) == len(trace)


def test_equal_weights_are_stored_once(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((500,)), keras.layers.Dense(500, name="big")])
    with fs.capture(model) as run:
        for _ in range(5):
            model(tf.ones((1, 500)))
    run.trace.save(tmp_path / "w.flow")
    size = (tmp_path / "w.flow" / "tensors-00000.safetensors").stat().st_size
    assert 500 * 500 * 4 < size < 1.2 * 500 * 500 * 4


def test_refusals(tmp_path: Path) -> None:
    trace = fs.trace(tf.tanh, tf.ones(2))
    trace.save(tmp_path / "a.flow")
    with pytest.raises(fs.errors.InvalidArgumentError, match="overwrite=True"):
        trace.save(tmp_path / "a.flow")
    with pytest.raises(fs.errors.InvalidArgumentError, match=r"NAME\.flow"):
        trace.save(tmp_path / "a")
    with pytest.raises(fs.errors.InvalidArgumentError, match="zstd"):
        trace.save(tmp_path / "b.flow", compress="gzip")
    with pytest.raises(fs.errors.LookupFailedError, match=r"c\.flow"):
        fs.load(tmp_path / "c.flow")
    (tmp_path / "d.flow").write_text("not a trace")
    with pytest.raises(fs.errors.CorruptTraceError, match=r"d\.flow"):
        fs.load(tmp_path / "d.flow")
    with zipfile.ZipFile(tmp_path / "e.flow.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "a.flow" / "trace.sqlite", "trace.sqlite")
    with pytest.raises(fs.errors.UnsupportedError, match="unpack it"):
        fs.load(tmp_path / "e.flow.zip")
    assert sorted(os.listdir(tmp_path)) == ["a.flow", "d.flow", "e.flow.zip"]


LOADER = """
    import sys

    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("tensorflow", "keras"):
                raise ImportError(name + " is blocked")

    sys.meta_path.insert(0, Blocked())
    import flowscope as fs

    trace = fs.load(sys.argv[1])
    print(len(trace), trace.summary(level="op"), trace.lint(), trace.stats(), trace.cost())
    for op in trace:
        print(op.label, None if not op.outs else op.out.sum(), op.attrs)
    trace.save(sys.argv[2])
    print(sorted(m for m in sys.modules if m.split(".")[0] in ("tensorflow", "keras")))
"""


@pytest.mark.smoke
def test_load_needs_no_tensorflow(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, "relu")])
    fs.trace(model, tf.ones((4, 3))).save(tmp_path / "a.flow")
    command = [sys.executable, "-c", textwrap.dedent(LOADER)]
    command += [str(tmp_path / "a.flow"), str(tmp_path / "b.flow")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert_alike(fs.load(tmp_path / "a.flow"), fs.load(tmp_path / "b.flow"))


def test_sqlite_is_ours() -> None:
    """TensorFlow exports its own SQLite to the whole process."""
    header = Path("/usr/include/sqlite3.h")
    if not header.exists():
        pytest.skip("the header that the build used is not here")
    lines = header.read_text(encoding="utf-8").splitlines()
    (version,) = [x.split('"')[1] for x in lines if x.startswith("#define SQLITE_VERSION ")]
    assert _core.sqlite_version() == version


def header_of(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header: dict[str, Any] = json.loads(file.read(size))
    header["end"] = 8 + size
    return header


def test_shards_are_safetensors(tmp_path: Path) -> None:
    """The rules of the format: entries without holes up to the file's end, known dtypes, texts."""
    every_dtype().save(tmp_path / "a.flow")
    path = tmp_path / "a.flow" / "tensors-00000.safetensors"
    header = header_of(path)
    begin = header.pop("end")
    assert begin % 64 == 0
    assert all(isinstance(v, str) for v in header.pop("__metadata__").values())
    at = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        assert first == at and last >= first and set(entry) == {"dtype", "shape", "data_offsets"}
        if not name.startswith("_pad"):
            assert (begin + first) % 64 == 0
        at = last
    assert begin + at == path.stat().st_size
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(path, "np") as file:
        assert set(file.keys()) == set(header)


def test_independent_reader(tmp_path: Path) -> None:
    trace = every_dtype()
    trace.save(tmp_path / "a.flow")
    path = Path(__file__).parents[2] / "examples" / "read_trace.py"
    spec = importlib.util.spec_from_file_location("read_trace", path)
    assert spec is not None and spec.loader is not None
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    seen = list(reader.ops(tmp_path / "a.flow"))
    assert [label for label, _, _ in seen] == [op.label for op in trace]
    for op, (_, _, value) in zip(trace, seen, strict=True):
        if not op.outs:
            assert value is None
        elif op.dtype == "string":
            assert value.tolist() == op.out.tolist()
        else:
            assert value.tobytes() == op.out.tobytes()
    assert len(path.read_text(encoding="utf-8").splitlines()) < 90


COMPAT = sorted((Path(__file__).parents[2] / "tests" / "compat").glob("*.flow*"))


@pytest.mark.parametrize("path", COMPAT, ids=lambda path: path.name)
def test_old_files(path: Path, tmp_path: Path) -> None:
    """Files of every format number that was ever written still say what they said."""
    trace = fs.load(path)
    assert trace.lint() == [] and len(trace) > 5
    expected = json.loads(path.with_name(path.name.split(".")[0] + ".json").read_text("utf-8"))
    assert [op.label for op in trace] == list(expected)
    for op in trace:
        try:
            value = op.out.astype("f8").ravel()[:4].tolist() if op.outs else None
        except fs.errors.UnavailableError:
            value = None
        assert value == expected[op.label]


def test_there_are_old_files() -> None:
    assert COMPAT
