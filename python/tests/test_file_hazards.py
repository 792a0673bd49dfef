"""What befalls files on real machines: full disks, kills, links, other jobs, changed folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from pathlib import Path
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest
from alike import assert_alike

tf = pytest.importorskip("tensorflow")


def chain(x: Any, count: int = 100) -> Any:
    for _ in range(count):
        x = tf.math.floormod(x * 3.0 + 1.0, 1000.0)
    return x


@pytest.fixture(scope="module")
def trace() -> Any:
    return fs.trace(chain, (tf.constant(np.arange(20_000.0, dtype="f4")), 50))


def in_child(code: str, *words: object, check: bool = True) -> str:
    """What a process of its own prints."""
    prelude = (
        "import os, sys\nimport numpy as np\nimport tensorflow as tf\nimport flowscope as fs\n"
    )
    body = prelude + textwrap.dedent(code)
    command = [sys.executable, "-c", body, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def make_old(path: Path) -> None:
    os.utime(path, (0, 0))


@pytest.mark.parametrize("name", ["run.flow", "run.flow.zip", "v.npz", "t.csv", "v.safetensors"])
def test_a_disk_that_is_full(name: str, tmp_path: Path) -> None:
    """The error says so, nothing is left, and what stood there before is whole."""
    code = """
        import resource
        path, first = sys.argv[1], fs.trace(tf.tanh, tf.ones(3))
        trace = fs.trace(tf.tanh, tf.constant(np.arange(300_000.0, dtype="f4")))
        def write(one, **options):
            is_trace = ".flow" in path
            one.save(path, **options) if is_trace else one.export(path, **options)
        write(first)
        if path.endswith(".csv"):
            trace = fs.trace(lambda x: [tf.tanh(x) for _ in range(3000)], tf.ones(2), save="none")
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        try:
            write(trace, overwrite=True)
        except fs.errors.TraceIOError as error:
            print("refused:", error)
    """
    said = in_child(code, tmp_path / name)
    assert said.startswith("refused:") and "arge" in said and str(tmp_path) in said, said
    assert os.listdir(tmp_path) == [name]
    if ".flow" in name:
        assert fs.load(tmp_path / name).num_ops == 1


def test_a_disk_that_fills_while_streaming(tmp_path: Path) -> None:
    code = """
        import resource, warnings
        warnings.simplefilter("always")
        x = tf.constant(np.arange(20_000.0, dtype="f4"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000_000, 12_000_000))
        with warnings.catch_warnings(record=True) as seen:
            with fs.capture(storage=fs.to_disk(sys.argv[1])) as run:
                for _ in range(200):
                    x = tf.math.floormod(x * 3.0 + 1.0, 1000.0)
        messages = [str(w.message) for w in seen if "streaming" in str(w.message)]
        assert len(messages) == 1 and "arge" in messages[0], messages
        assert run.trace.degraded and run.trace.num_ops == 600 and run.trace.lint() == []
        y = np.arange(20_000.0, dtype="f4")
        for _ in range(200):
            y = np.mod(y * np.float32(3) + np.float32(1), np.float32(1000))
        assert (x.numpy() == y).all()
    """
    in_child(code, tmp_path / "run.flow")
    assert [p.name for p in tmp_path.iterdir()] == ["run.flow"]
    loaded = fs.load(tmp_path / "run.flow")
    assert loaded.interrupted and loaded.lint() == []
    values = 0
    for op in loaded:
        try:
            values += op.out is not None
        except fs.errors.UnavailableError:
            continue
    assert values > 10
    fs.repair(tmp_path / "run.flow")
    assert fs.load(tmp_path / "run.flow").num_ops == loaded.num_ops


READ_ONLY = """
    # Root may write everywhere.
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    import warnings
    closed, mine = sys.argv[1:]
    x = tf.constant(np.arange(4096.0, dtype="f4"))
    trace = fs.trace(tf.tanh, x)
    for attempt in (
        lambda: trace.save(closed + "/old.flow", overwrite=True),
        lambda: trace.save(closed + "/new.flow"),
        lambda: trace.save(closed + "/new.flow.zip"),
        lambda: fs.trace(tf.tanh, x, storage=fs.to_disk(closed + "/new.flow")),
        lambda: fs.trace(tf.tanh, x, storage=fs.to_disk(closed + "/old.flow", overwrite=True)),
        lambda: fs.repair(closed + "/cut.flow"),
    ):
        try:
            attempt()
        except fs.errors.TraceIOError as error:
            print("Permission denied" in str(error) and closed in str(error))
    print(fs.load(closed + "/cut.flow").interrupted)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fs.capture(storage=fs.to_disk(mine + "/run.flow")) as run:
            os.chmod(mine + "/run.flow", 0o555)
            for _ in range(100):
                x = tf.math.floormod(x * 3.0 + 1.0, 1000.0)
    messages = [str(w.message) for w in seen if "streaming to" in str(w.message)]
    print(len(messages) == 1 and "Permission denied" in messages[0])
    print(run.trace.num_ops == 300 and run.trace.lint() == [] and bool(run.trace.degraded))
    os.chmod(mine + "/run.flow", 0o755)
    print(fs.load(mine + "/run.flow").interrupted)
"""


def test_a_folder_that_is_read_only(trace: Any) -> None:
    # Where a user without any rights gets to, which tmp_path is not.
    with tempfile.TemporaryDirectory() as folder:
        closed, mine = Path(folder) / "closed", Path(folder) / "mine"
        for path in (Path(folder), closed, mine):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
        mine.chmod(0o777)
        trace.save(closed / "old.flow")
        code = """
            with fs.capture(storage=fs.to_disk(sys.argv[1])):
                for _ in range(200):
                    tf.tanh(tf.ones(3))
                os._exit(0)
        """
        in_child(code, closed / "cut.flow")
        before = {path: path.stat().st_mtime_ns for path in closed.rglob("*")}
        closed.chmod(0o555)
        try:
            said = in_child(READ_ONLY, closed, mine)
        finally:
            closed.chmod(0o755)
        assert said.split() == ["True"] * 10
        assert {path: path.stat().st_mtime_ns for path in closed.rglob("*")} == before
        assert_alike(trace, fs.load(closed / "old.flow"))


SAVE_FOR_EVER = """
    x = tf.constant(np.arange(200_000.0, dtype="f4"))
    trace = fs.trace(lambda x: [x + float(i) for i in range(20)], x)
    print("ready", flush=True)
    while True:
        trace.save(sys.argv[1], overwrite=True)
"""


@pytest.mark.parametrize("name", ["run.flow", "run.flow.zip"])
def test_kills_while_saving_leave_the_old_or_the_new(name: str, tmp_path: Path, trace: Any) -> None:
    path = tmp_path / name
    for seconds in (0.05, 0.11, 0.17):
        code = "import sys\nimport numpy as np\nimport tensorflow as tf\nimport flowscope as fs\n"
        command = [sys.executable, "-c", code + textwrap.dedent(SAVE_FOR_EVER), str(path)]
        with checks.running(command) as child:
            child.wait_for(path.exists, f"{name} was there")
            time.sleep(seconds)
        loaded = fs.load(path)
        assert not loaded.interrupted and loaded.lint() == []
        assert all(len(op.out) == 200_000 for op in loaded if op.type == "AddV2")
    for left in tmp_path.iterdir():
        make_old(left)
    trace.save(path, overwrite=True)
    assert os.listdir(tmp_path) == [name]


def test_two_jobs_with_one_path(tmp_path: Path) -> None:
    x = tf.ones(3)
    to_disk = fs.to_disk(tmp_path / "run.flow", overwrite=True)
    with fs.capture(storage=to_disk) as run:
        chain(x)
        said = in_child(
            """
            again = fs.to_disk(sys.argv[1], overwrite=True)
            for attempt in (
                lambda: fs.trace(tf.tanh, tf.ones(3), storage=again),
                lambda: fs.trace(tf.tanh, tf.ones(3)).save(sys.argv[1], overwrite=True),
                lambda: fs.repair(sys.argv[1]),
            ):
                try:
                    attempt()
                except fs.errors.InvalidArgumentError as error:
                    print("is being written" in str(error))
            print(fs.load(sys.argv[1]).interrupted)
            """,
            tmp_path / "run.flow",
        )
        assert said.split() == ["True"] * 4
        chain(x)
    assert run.trace.degraded is None
    assert_alike(run.trace, fs.load(tmp_path / "run.flow"))
    fs.trace(tf.tanh, x, storage=to_disk)
    assert fs.load(tmp_path / "run.flow").num_ops == 1


def test_a_folder_that_is_replaced_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.flow"
    other = fs.trace(tf.tanh, tf.ones(2))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fs.capture(storage=fs.to_disk(path)) as run:
            chain(tf.ones(3))
            shutil.rmtree(path)
            other.save(path)
            for _ in range(20):
                chain(tf.ones(3))
    messages = [str(w.message) for w in seen if "streaming to" in str(w.message)]
    assert len(messages) == 1 and "removed or replaced" in messages[0], messages
    assert run.trace.lint() == [] and run.trace.degraded
    assert_alike(other, fs.load(path))
    assert sorted(os.listdir(path)) == ["tensors-00000.safetensors", "trace.sqlite"]


def test_the_working_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with fs.capture(storage=fs.to_disk("run.flow")) as run:
        chain(tf.ones(3))
        os.chdir("other")
        chain(tf.ones(3))
    assert run.trace.degraded is None and os.listdir() == []
    assert_alike(run.trace, fs.load(tmp_path / "run.flow"))


@pytest.mark.parametrize("name", ["run.flow", "run.flow.zip"])
def test_a_link_stays_a_link(name: str, trace: Any, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    kept = tmp_path / "disk" / name
    fs.trace(tf.tanh, tf.ones(2)).save(kept)
    link = tmp_path / name
    link.symlink_to(kept)
    trace.save(link, overwrite=True)
    assert link.is_symlink() and os.listdir(tmp_path / "disk") == [name]
    assert_alike(trace, fs.load(link))
    assert_alike(trace, fs.load(kept))
    assert sorted(os.listdir(tmp_path)) == ["disk", name]


@pytest.mark.parametrize("name", ["run.flow", "run.flow.zip"])
def test_a_trace_over_its_own_file(name: str, trace: Any, tmp_path: Path) -> None:
    trace.save(tmp_path / name)
    loaded = fs.load(tmp_path / name)
    loaded.save(tmp_path / name, overwrite=True, compress="zstd")
    assert_alike(trace, loaded)
    assert_alike(trace, fs.load(tmp_path / name))


def test_names_that_are_no_text(trace: Any, tmp_path: Path) -> None:
    for name in (b"\xff\xfe.flow", "é ü.flow".encode(), b"a\nb.flow", b"-o.flow", b"%s.flow"):
        path = os.fsencode(tmp_path) + b"/" + name
        trace.save(os.fsdecode(path))
        assert_alike(trace, fs.load(os.fsdecode(path)))
        fs.repair(os.fsdecode(path))
    with pytest.raises(fs.FlowScopeError):
        trace.save(tmp_path / ("x" * 300 + ".flow"))
    with pytest.raises(fs.errors.InvalidArgumentError, match="NUL"):
        fs.load("a\0b.flow")
    for wrong in ("a\0b.flow", os.fsdecode(b"\xff.flow")):
        with pytest.raises(fs.errors.InvalidArgumentError, match="UTF-8"):
            fs.to_disk(wrong)
    with pytest.raises(fs.errors.LookupFailedError, match="there is no"):
        fs.load(os.fsdecode(b"\xff.flow"))


def test_a_part_in_place_of_the_whole(trace: Any, tmp_path: Path) -> None:
    trace.save(tmp_path / "run.flow")
    with pytest.raises(fs.FlowScopeError, match="give the folder"):
        fs.load(tmp_path / "run.flow" / "trace.sqlite")
    with pytest.raises(fs.FlowScopeError, match=r"trace\.sqlite"):
        fs.load(tmp_path)


def test_a_process_that_was_forked_while_streaming(tmp_path: Path) -> None:
    """The child ends as a Python process ends, and the recording goes on."""
    code = """
        x = tf.constant(np.arange(100.0, dtype="f4"))
        with fs.capture(storage=fs.to_disk(sys.argv[1])) as run:
            y = tf.tanh(x)
            child = os.fork()
            if child == 0:
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            for _ in range(100):
                y = tf.tanh(y)
        assert run.trace.degraded is None, run.trace.degraded
        assert fs.load(sys.argv[1]).num_ops == 101
    """
    in_child(code, tmp_path / "run.flow")


def test_a_killed_load_leaves_nothing_for_long(tmp_path: Path, trace: Any) -> None:
    """An interrupted folder is read from a copy; a copy that was left is taken over."""
    private = tmp_path / "tmp"
    left = private / f".flowscope-{os.geteuid()}.tmp"
    left.mkdir(parents=True)
    (left / "trace.sqlite").write_bytes(b"half")
    make_old(left)
    code = """
        import signal
        with fs.capture(storage=fs.to_disk(sys.argv[1])):
            for _ in range(200):
                tf.tanh(tf.ones(3))
            os.kill(os.getpid(), signal.SIGKILL)
    """
    in_child(code, tmp_path / "cut.flow", check=False)
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(private)
    try:
        assert fs.load(tmp_path / "cut.flow").interrupted
    finally:
        os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)
    assert os.listdir(private) == []
