"""The command on saved traces: what Python says of the same trace, and files that are none."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import flowscope as fs
import numpy as np
import pytest
import tensorflow as tf
from saved_models import save
from test_command_line import COMMAND, PACKAGE, run

keras = pytest.importorskip("keras")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A saved trace with layers, passes, a loop, strings, several outputs and an infinity."""
    keras.utils.set_random_seed(0)
    shared = keras.layers.Dense(4, activation="relu", name="shared")
    inputs = keras.Input((4,), name="x")
    model = keras.Model(inputs, shared(shared(inputs)), name="twice")

    @tf.function
    def loop(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.tanh(x) + 1.0
        return x

    def call(x: Any) -> Any:
        y = loop(model(x))
        first, second = tf.split(y, 2, axis=1)
        names = tf.strings.join([tf.constant(["a", 'b "q", c']), "!"])
        return (
            first / 0.0,
            second,
            names,
            tf.cast(second, tf.complex64),
            tf.cast(second, tf.bfloat16),
        )

    recorded = fs.trace(call, tf.random.uniform((2, 4), seed=1))
    path = tmp_path_factory.mktemp("traces") / "all.flow"
    recorded.save(path)
    return fs.load(path)


@pytest.fixture(scope="module", params=[".flow", ".flow.zip"])
def path(request: pytest.FixtureRequest, trace: Any, tmp_path_factory: Any) -> Path:
    """The same trace as a folder and as a zip, with a name that a shell would take apart."""
    made: Path = tmp_path_factory.mktemp("a folder; é") / f"my run '1'{request.param}"
    trace.save(made)
    return made


def rows(table: Any) -> list[dict[str, Any]]:
    columns = table.to_dict()
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def same(command: Any, python: Any) -> bool:
    """JSON writes what is not finite as text."""
    if isinstance(python, float) and not np.isfinite(python):
        return command == str(python)
    return bool(command == python)


def assert_rows(text: str, wanted: list[dict[str, Any]]) -> None:
    got = json.loads(text)
    assert len(got) == len(wanted) > 0
    for one, other in zip(got, wanted, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert same(one[name], other[name]), (name, one[name], other[name])


def test_summary(path: Path, trace: Any) -> None:
    assert run("summary", path).stdout == trace.summary()
    assert run("summary", path, "--level", "op", "--max-rows", "0").stdout == (
        trace.summary(level="op", max_rows=None)
    )
    report = json.loads(run("summary", path, "--json").stdout)
    assert report["num_ops"] == trace.num_ops
    assert report["num_records"] == len(trace)


def test_ops_are_those_of_to_arrow(path: Path, trace: Any) -> None:
    wanted = rows(trace.to_arrow())
    assert_rows(run("ops", path, "--json").stdout, wanted)
    assert_rows(run("ops", path, "--json", "--limit", 3).stdout, wanted[:3])
    for flags, sites in (
        (["--match", "tanh*"], "tanh*"),
        (["tanh_1:2"], "tanh_1:2"),
        (["--type", "MATMUL"], fs.func("MatMul")),
        (["--layer", "self"], fs.in_module("self")),
        (["--type", "*add*", "--layer", "*"], fs.func("*add*") & fs.in_module("*")),
    ):
        labels = [op.label for op in trace.find_sites(sites)]
        got = json.loads(run("ops", path, "--json", *flags).stdout)
        assert [row["label"] for row in got] == labels


def test_stats_are_those_of_python(path: Path, trace: Any) -> None:
    wanted = rows(trace.stats())
    assert_rows(run("stats", path, "--json").stdout, wanted)
    label = "split_1"
    some = [row for row in wanted if row["label"].startswith(label + "_")]
    assert len(some) == 2
    assert_rows(run("stats", path, label, "--json").stdout, some)


def test_show_is_what_print_shows(path: Path, trace: Any) -> None:
    keys = [op.label for op in trace] + [layer.label for layer in trace.layers]
    keys = [*keys[:: max(1, len(keys) // 12)], "self", "split_1"]
    for key in keys:
        assert run("show", path, key).stdout.rstrip("\n") == str(trace[key]).rstrip("\n")


def test_show_tells_everything_of_an_op(path: Path, trace: Any) -> None:
    op = trace["tanh_1:2"]
    shown = json.loads(run("show", path, "tanh_1:2", "--json").stdout)
    assert shown["record"] == "op"
    assert shown["parents"] == [parent.label for parent in op.parents]
    assert shown["children"] == [child.label for child in op.children]
    assert (shown["type"], shown["shape"], shown["dtype"]) == (op.type, str(op.shape), op.dtype)
    assert shown["region"] == op.region.path
    (row,) = [row for row in rows(trace.to_arrow()) if row["label_short"] == "tanh_1:2"]
    assert {name: shown[name] for name in row if name != "parents"} == {
        name: value for name, value in row.items() if name != "parents"
    }
    assert shown["line"] > 0 and "tf.tanh(x) + 1.0" in shown["source"]
    (output,) = shown["outputs"]
    assert np.array_equal(np.array(output["values"], "f"), op.out.ravel())
    assert output["stats"]["max"] == float(op.out.max())
    lines = run("show", path, "tanh_1:2", "--values", 3).stdout.splitlines()
    assert [float(line) for line in lines[-4:-1]] == pytest.approx(op.out.ravel()[:3].tolist())
    assert lines[-1] == f"... {op.out.size - 3} more elements"


def test_nan_is_first_nonfinite(path: Path, trace: Any) -> None:
    first = trace.first_nonfinite()
    done = run("nan", path, check=1)
    assert done.stdout.rstrip("\n") == str(first)
    shown = json.loads(run("nan", path, "--json", check=1).stdout)
    assert shown["op"] == first.op.label
    assert shown["cause"] == first.cause
    assert tuple(shown["element"]) == first.element


@pytest.mark.parametrize("end", ["npz", "safetensors", "csv"])
def test_export_writes_what_python_writes(path: Path, trace: Any, end: str, tmp_path: Path) -> None:
    run("export", path, "-o", tmp_path / f"command.{end}")
    trace.export(tmp_path / f"python.{end}")
    assert (tmp_path / f"command.{end}").read_bytes() == (tmp_path / f"python.{end}").read_bytes()
    run("export", path, "--type", "tanh", "--format", end, "-o", tmp_path / "some")
    trace.export(tmp_path / "same", fs.func("tanh"), format=end)
    assert (tmp_path / "some").read_bytes() == (tmp_path / "same").read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted(
        [f"command.{end}", f"python.{end}", "some", "same"]
    )


def kept(trace: Any) -> dict[str, Any]:
    """Values by the name under which they are exported."""
    values = {}
    for op in trace:
        for index, value in enumerate(op.outs):
            values[op.label + (f".{index}" if index else "")] = value
    return values


def test_npz_holds_the_values(trace: Any, tmp_path: Path) -> None:
    trace.export(tmp_path / "v.npz")
    wanted = kept(trace)
    with np.load(tmp_path / "v.npz") as read:
        assert sorted(read.files) == sorted(wanted)
        for name, value in wanted.items():
            if value.dtype == object:
                assert read[name].tolist() == value.tolist()
            else:
                assert read[name].shape == value.shape
                assert read[name].tobytes() == value.tobytes()
                assert read[name].dtype.itemsize == value.dtype.itemsize
                assert value.dtype.kind == "V" or read[name].dtype.kind in (value.dtype.kind, "V")


def test_safetensors_holds_the_values(trace: Any, tmp_path: Path) -> None:
    trace.export(tmp_path / "v.safetensors")
    data = (tmp_path / "v.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    metadata = {k: json.loads(v) for k, v in header.pop("__metadata__").items()}
    wanted = kept(trace)
    assert sorted(header) == sorted(wanted)
    end = 0
    for name, entry in header.items():
        assert entry["data_offsets"][0] == end, "safetensors allows no holes"
        end = entry["data_offsets"][1]
        got = data[8 + length :][slice(*entry["data_offsets"])]
        value = wanted[name]
        if value.dtype == object:
            assert metadata[name]["dtype"] == "string" and got.endswith(b"".join(value.ravel()))
            continue
        assert got == value.tobytes()
        told = metadata.get(name, entry)
        assert tuple(told["shape"]) == value.shape
    assert 8 + length + end == len(data)
    assert {m["dtype"] for m in metadata.values()} == {"string", "complex64"}


@pytest.mark.parametrize("table", ["ops", "stats", "layers", "modules", "regions", "timeline"])
def test_csv_reads_back(trace: Any, table: str, tmp_path: Path) -> None:
    trace.export(tmp_path / "t.csv", table=table)
    text = (tmp_path / "t.csv").read_bytes().decode()
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    made = trace.stats() if table == "stats" else trace.to_arrow(table)
    wanted = rows(made)
    assert len(read) == len(wanted) > 0
    for got, row in zip(read, wanted, strict=True):
        for name, value in row.items():
            if value is None:
                assert got[name] == ""
            elif isinstance(value, bool):
                assert got[name] == str(value).lower()
            elif isinstance(value, float):
                assert float(got[name]) == value
            else:
                assert got[name] == str(value)


def test_parquet_is_written_by_python(trace: Any, path: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    trace.export(tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == rows(trace.to_arrow())
    trace.export(tmp_path / "t.parquet", fs.func("tanh"), table="stats", overwrite=True)
    assert len(parquet.read_table(tmp_path / "t.parquet")) == 3
    with pytest.raises(fs.FlowScopeError, match="exists"):
        trace.export(tmp_path / "t.parquet")
    done = run("export", path, "-o", tmp_path / "other.parquet", check=5)
    assert "fs.load(" in done.stderr
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_export_says_what_it_cannot_do(trace: Any, tmp_path: Path) -> None:
    with pytest.raises(fs.errors.InvalidArgumentError, match="npz, safetensors, csv, parquet"):
        trace.export(tmp_path / "t.hdf5")
    with pytest.raises(fs.errors.InvalidArgumentError, match='no format "hdf5"'):
        trace.export(tmp_path / "t", format="hdf5")
    with pytest.raises(fs.errors.InvalidArgumentError, match="no plain file"):
        trace.export(tmp_path, format="npz", overwrite=True)
    with pytest.raises(fs.errors.TraceIOError, match="No such file"):
        trace.export(tmp_path / "nowhere/t.npz")
    with pytest.raises(fs.errors.LookupFailedError, match="Tanh"):
        trace.export(tmp_path / "t.npz", fs.func("tannh"))
    assert os.listdir(tmp_path) == []


def test_export_tells_of_values_that_are_not_there(trace: Any, tmp_path: Path) -> None:
    trace.save(tmp_path / "some.flow", save=fs.func("tanh"))
    some = fs.load(tmp_path / "some.flow")
    with pytest.warns(UserWarning, match="were not kept"):
        some.export(tmp_path / "some.npz")
    report = json.loads(
        run("export", tmp_path / "some.flow", "-o", tmp_path / "c.npz", "--json").stdout
    )
    assert report["not_kept"] > 0 and report["num_values"] >= 3
    with pytest.raises(fs.errors.UnavailableError, match="none of the selected ops has a value"):
        some.export(tmp_path / "none.npz", fs.func("MatMul"))


def test_the_trace_of_the_command_is_the_trace_of_python(tmp_path: Path) -> None:
    case = save("two", tmp_path)
    np.save(tmp_path / "x.npy", case.inputs["x"])
    for name in ("c.flow", "c.flow.zip"):
        printed = run("trace", case.path, "-i", tmp_path / "x.npy", "-o", tmp_path / name).stdout
        loaded = fs.load(tmp_path / name)
        assert printed == loaded.summary()
        recorded = fs.trace(case.path, case.inputs["x"])
        assert [op.label for op in loaded] == [op.label for op in recorded]
        assert loaded.edges == recorded.edges
        for one, other in zip(loaded, recorded, strict=True):
            if one.type != "ReadVariableOp":
                assert all(
                    a.tobytes() == b.tobytes() for a, b in zip(one.outs, other.outs, strict=True)
                )
    assert sorted(os.listdir(tmp_path / "c.flow")) == ["tensors-00000.safetensors", "trace.sqlite"]


class Attention(tf.Module):  # type: ignore[misc]
    """Its kernels are others where ops do not run as TensorFlow's Python package runs them."""

    @tf.function(input_signature=[tf.TensorSpec([None, 2, 6, 6], tf.float32, name="x")])
    def serve(self, x: Any) -> Any:
        kept = tf.linalg.band_part(tf.ones((6, 6)), -1, 0)
        weights = tf.nn.softmax(x * 0.01 - 1e9 * (1.0 - kept))
        return {"y": tf.nn.gelu(tf.matmul(weights, tf.nn.log_softmax(x)))}


def test_the_command_runs_the_kernels_of_python(tmp_path: Path) -> None:
    module, folder, out = Attention(), tmp_path / "model", tmp_path / "x.flow"
    tf.saved_model.save(module, str(folder), signatures=module.serve)
    x = np.random.default_rng(3).normal(size=(3, 2, 6, 6)).astype("f4")
    np.save(tmp_path / "x.npy", x)
    made = run("trace", folder, "--input", tmp_path / "x.npy", "-o", out)
    assert made.returncode == 0, made.stderr
    found, expected = fs.load(out), fs.trace(folder, x)
    assert [op.label for op in found] == [op.label for op in expected]
    for op, other in zip(found, expected, strict=True):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(op.outs, other.outs, strict=True)), op
    assert found.validate().state == "passed"


def test_validate_says_what_python_says(tmp_path: Path) -> None:
    case = save("two", tmp_path)
    np.save(tmp_path / "x.npy", case.inputs["x"])
    run("trace", case.path, "-i", tmp_path / "x.npy", "-o", tmp_path / "v.flow")
    report = fs.load(tmp_path / "v.flow").validate()
    code = {"passed": 0, "failed": 1, "unverified": 2, "unavailable": 3}[report.state]
    done = run("validate", tmp_path / "v.flow", check=code)
    assert done.stdout.startswith(str(report))
    shown = json.loads(run("validate", tmp_path / "v.flow", "--json", check=code).stdout)
    assert shown["coverage"] == report.coverage
    assert [f["message"] for f in shown["unverified"]] == [f.message for f in report.unverified]


def test_validate_finds_a_value_that_was_changed(tmp_path: Path) -> None:
    trace = fs.trace(lambda x: tf.matmul(x, x) + 1.0, tf.ones((4, 4)))
    trace.save(tmp_path / "v.flow")
    assert run("validate", tmp_path / "v.flow").stdout.startswith("passed")
    shard = tmp_path / "v.flow/tensors-00000.safetensors"
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    done = run("validate", tmp_path / "v.flow", check=None)
    assert done.returncode in (1, 3), done.stdout


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_leaves_a_true_record(seed: int, tmp_path: Path) -> None:
    """Cut off at any moment, every verb reads the folder, and nothing in it is called false."""
    case = save("lstm", tmp_path)
    (name,) = case.inputs
    np.save(tmp_path / "x.npy", case.inputs[name])
    cut = tmp_path / "cut.flow"
    environment = {**os.environ, "FLOWSCOPE_TENSORFLOW": PACKAGE}
    words = [COMMAND, "trace", case.path, "-i", tmp_path / "x.npy", "-o", cut]
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        while not cut.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(random.Random(seed).random() * 0.2)
        process.kill()
    before = run("ops", cut, "--json").stdout
    for verb in ("summary", "stats"):
        run(verb, cut)
    assert run("validate", cut, check=None).returncode in (0, 2, 3)
    run("repair", cut)
    assert run("ops", cut, "--json").stdout == before
    assert run("validate", cut, check=None).returncode in (0, 2, 3)
    left = os.listdir(cut)
    assert all(name.endswith((".sqlite", ".safetensors")) for name in left), left
    assert os.listdir(tmp_path / "..") and not list(tmp_path.glob(".cut*")), os.listdir(tmp_path)


class TestAStrangerAtTheCommand:
    """What a shell, a pipe, a full disk and a slip of the finger bring."""

    def test_a_reader_that_has_seen_enough(self, path: Path) -> None:
        with subprocess.Popen(
            [COMMAND, "ops", path, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            errors = process.stderr.read()
        assert process.returncode in (0, -signal.SIGPIPE) and errors == b""

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
    @pytest.mark.parametrize("verb", ["summary", "ops", "stats"])
    def test_a_full_disk_behind_a_redirection(self, path: Path, verb: str) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([COMMAND, verb, path], stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 4 and b"No space left on device" in done.stderr

    def test_an_output_that_is_there(self, path: Path, tmp_path: Path) -> None:
        (tmp_path / "mine.npz").write_bytes(b"mine")
        for target in (tmp_path / "mine.npz", tmp_path, "/dev/null"):
            run("export", path, "--format", "npz", "-o", target, check=2)
        assert (tmp_path / "mine.npz").read_bytes() == b"mine"
        run("export", path, "-o", tmp_path / "mine.npz", "--overwrite")
        assert np.load(tmp_path / "mine.npz").files

    @pytest.mark.parametrize("words", [[""], ["."], ["/"], ["-"], ["/dev/null"], ["/dev/stdin"]])
    @pytest.mark.parametrize("verb", ["summary", "ops", "stats", "nan", "repair", "validate"])
    def test_paths_that_are_no_trace(self, verb: str, words: list[str]) -> None:
        done = run(verb, *words, check=None)
        assert done.returncode in (2, 3)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert "trace" in done.stderr or "does not exist" in done.stderr

    @pytest.mark.parametrize("number", ["-1", "x", "1e99", "9" * 30, ""])
    def test_numbers_that_are_none(self, path: Path, number: str) -> None:
        for words in (["ops", path, "--limit"], ["show", path, "tanh_1:1", "--values"]):
            done = run(*words, number, check=2)
            assert done.stdout == "" and "--help" in done.stderr

    @pytest.mark.parametrize("flags", [[""], ["--type", ""], ["--layer", ""], ["--match", ""]])
    def test_an_empty_selection_is_not_everything(self, path: Path, flags: list[str]) -> None:
        done = run("ops", path, *flags, check=2)
        assert done.stdout == "" and "expected a name" in done.stderr

    def test_numbers_that_are_large(self, path: Path, trace: Any) -> None:
        most = str(2**63 - 1)
        assert len(json.loads(run("ops", path, "--json", "--limit", most).stdout)) == len(trace)
        assert "more" not in run("show", path, "tanh_1:1", "--values", most).stdout

    def test_files_that_are_hurt(self, trace: Any, tmp_path: Path) -> None:
        trace.save(tmp_path / "one.flow")
        trace.save(tmp_path / "one.flow.zip")
        database = tmp_path / "one.flow/trace.sqlite"
        whole = database.read_bytes()
        database.write_bytes(whole[: len(whole) // 2])
        run("ops", tmp_path / "one.flow", check=4)
        database.write_bytes(b"")
        run("ops", tmp_path / "one.flow", check=4)
        database.write_bytes(whole)
        packed = (tmp_path / "one.flow.zip").read_bytes()
        (tmp_path / "cut.flow.zip").write_bytes(packed[: len(packed) // 2])
        run("ops", tmp_path / "cut.flow.zip", check=4)
        os.remove(tmp_path / "one.flow/tensors-00000.safetensors")
        run("ops", tmp_path / "one.flow")
        done = run("export", tmp_path / "one.flow", "-o", tmp_path / "v.npz", check=None)
        assert done.returncode in (3, 4, 5) and not (tmp_path / "v.npz").exists()

    def test_a_folder_that_may_not_be_written(self, trace: Any, tmp_path: Path) -> None:
        locked = tmp_path / "locked"
        locked.mkdir()
        trace.save(locked / "one.flow")
        for folder in (locked / "one.flow", locked):
            folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        try:
            assert run("summary", locked / "one.flow").stdout == trace.summary()
            assert "finished already" in run("repair", locked / "one.flow").stdout
        finally:
            for folder in (locked, locked / "one.flow"):
                folder.chmod(stat.S_IRWXU)
        assert sorted(os.listdir(locked)) == ["one.flow"]

    def test_links_and_slashes(self, trace: Any, tmp_path: Path) -> None:
        trace.save(tmp_path / "one.flow")
        (tmp_path / "link").symlink_to(tmp_path / "one.flow")
        shutil.copytree(tmp_path / "one.flow", tmp_path / "renamed")
        for name in (
            "one.flow/",
            "one.flow//",
            "link",
            "link/",
            "renamed",
            "./one.flow/../one.flow",
        ):
            assert run("summary", f"{tmp_path}/{name}").stdout == trace.summary()
