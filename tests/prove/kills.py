"""A streaming recording killed at a random moment leaves a folder that holds what it claims.

Each iteration runs a process that streams large values, kills it at a random moment, and loads the
folder: every value must be the one that the process computed, and repairing a copy loses nothing.
Of every four kills one comes while the recording is being ended, after it has run for some time:
``ended`` counts those that came when the folder was whole already.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flowscope as fs
import numpy as np

ITERATIONS = 200
SAMPLE = 12
CHUNK = 20

ELEMENTS = 65536
LONGEST_SECONDS = 4.0
LONGEST_END_SECONDS = 0.05

CHILD = f"""
import sys, time
import numpy as np
import tensorflow as tf
import flowscope as fs

x = tf.constant(np.arange({ELEMENTS}, dtype="f4"))
end = time.monotonic() + float(sys.argv[2])
if end > time.monotonic() + {LONGEST_SECONDS}:
    print("ready", flush=True)
with fs.capture(storage=fs.to_disk(sys.argv[1])):
    while time.monotonic() < end:
        x = tf.math.floormod(x * 3.0 + 1.0, 1000.0)
    print("ready", flush=True)
time.sleep(60)
"""


def killed(path: Path, runs: float, seconds: float) -> None:
    """Leaves what a process has written when it was killed so long after its recording began, or,
    where it runs for less, was about to end."""
    words = [sys.executable, "-c", CHILD, str(path), str(runs)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        assert child.poll() is None, "the process ended by itself"
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def moment(rng: random.Random, iteration: int) -> tuple[float, float]:
    """How long a recording runs, and when after that or after its beginning it is killed."""
    if iteration % 4 == 3:
        return rng.uniform(0.0, LONGEST_SECONDS / 2), rng.uniform(0.0, LONGEST_END_SECONDS)
    return 1e9, rng.uniform(0.0, LONGEST_SECONDS)


def check(trace: fs.Trace) -> int:
    """The values that the trace has, each compared with what was computed."""
    assert trace.lint() == [], trace.lint()
    x = np.arange(ELEMENTS, dtype="f4")
    values = 0
    for op in trace:
        if op.type != "FloorMod":
            continue
        x = np.mod(x * np.float32(3) + np.float32(1), np.float32(1000))
        try:
            value = op.out
        except fs.errors.UnavailableError:
            continue
        assert value.tobytes() == x.tobytes(), op.label
        values += 1
    return values


def run(iterations: int, seed: int) -> dict[str, int]:
    rng = random.Random(seed)
    counts = {"kills": 0, "folders": 0, "empty": 0, "ended": 0, "ops": 0, "values": 0}
    for iteration in range(iterations):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "killed.flow"
            runs, seconds = moment(rng, iteration)
            killed(path, runs, seconds)
            counts["kills"] += 1
            if not (path / "trace.sqlite").exists():
                counts["empty"] += 1  # killed before the folder was there
                continue
            trace = fs.load(path)
            assert trace.interrupted or runs < LONGEST_SECONDS
            values = check(trace)
            shutil.copytree(path, Path(folder) / "copy.flow")
            fs.repair(Path(folder) / "copy.flow")
            repaired = fs.load(Path(folder) / "copy.flow")
            assert len(repaired) == len(trace) and check(repaired) == values
            assert repaired.interrupted == trace.interrupted
            counts["ended"] += not trace.interrupted
            counts["folders"] += 1
            counts["empty"] += len(trace) == 0
            counts["ops"] += len(trace)
            counts["values"] += values
    return counts
