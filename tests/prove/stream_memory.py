"""Streaming 10 GB of activations takes less than 400 MB of memory above the plain run.

The peak of a process that computes without recording is compared with that of one that streams
every value to disk. Where the disk has no room for 10 GB, it is as much as fits; ``megabytes`` says
how much.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile

ITERATIONS = 1
SAMPLE = 0

WANTED = 10_000_000_000
LEFT_FREE = 3_000_000_000
VALUE_BYTES = 16_000_000
ALLOWED = 400_000_000

CHILD = """
import json, resource, sys, time
import numpy as np
import tensorflow as tf
import flowscope as fs

path, count, elements = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
x = tf.constant(np.arange(elements, dtype="f4"))
fs.trace(tf.tanh, tf.ones(3))

def work():
    y = x
    for _ in range(count):
        y = tf.math.floormod(y * 3.0 + 1.0, 1000.0)
    return y

start = time.perf_counter()
ops = 0
if path:
    with fs.capture(storage=fs.to_disk(path)) as run:
        y = work()
    assert run.trace.degraded is None, run.trace.degraded
    ops = run.trace.num_ops
    last = run.trace.ops[-1].out
    assert last.tobytes() == y.numpy().tobytes()
else:
    y = work()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
seconds = time.perf_counter() - start
print(json.dumps({"peak": peak, "ops": ops, "milliseconds": round(1000 * seconds)}))
"""


def measure(path: str, count: int) -> dict[str, int]:
    words = [path, str(count), str(VALUE_BYTES // 4)]
    done = subprocess.run([sys.executable, "-c", CHILD, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(iterations: int, seed: int) -> dict[str, int]:
    counts = {"megabytes": 0, "megabytes_above_plain": 0, "ops": 0, "milliseconds": 0}
    for _ in range(iterations):
        with tempfile.TemporaryDirectory() as folder:
            nbytes = min(WANTED, shutil.disk_usage(folder).free - LEFT_FREE)
            assert nbytes > VALUE_BYTES, "the disk has no room"
            count = nbytes // (3 * VALUE_BYTES)
            plain = measure("", count)
            streamed = measure(folder + "/run.flow", count)
        above = streamed["peak"] - plain["peak"]
        counts["megabytes"] += streamed["ops"] * VALUE_BYTES // 10**6
        counts["megabytes_above_plain"] = max(counts["megabytes_above_plain"], above // 10**6)
        counts["ops"] += streamed["ops"]
        counts["milliseconds"] += streamed["milliseconds"]
        assert above < ALLOWED, counts
    return counts
