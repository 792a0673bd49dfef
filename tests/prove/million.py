"""A trace of 1,000,000 ops costs per op what one of 10,000 does: recorded, saved, loaded, shown.

Each run has a process of its own: a chain of additions, every value kept. Counted are bytes of
memory and of the file, and processor time, per op. Both sizes take turns, so that what else the
machine does falls on both, and medians are compared: memory, file and the time of recording,
saving, loading and summing up together may be 20 % more for the large size; each step is told.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ITERATIONS = 1
SAMPLE = 0

SMALL = 10_000
LARGE = 1_000_000
ROUNDS = 3
SMALL_RUNS = 3  # in each round
ALLOWED = 1.2
STEPS = ("record_ns", "save_ns", "load_ns", "summary_ns")
JUDGED = ("bytes_in_memory", "bytes_in_file", "total_ns")

CHILD = """
import json, os, sys, time
import tensorflow as tf
import flowscope as fs

def chain(x, n):
    for _ in range(n):
        x = x + 1.0
    return x

def resident():
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024

def spent(what, work):
    start = time.process_time_ns()
    result = work()
    found[what] = (time.process_time_ns() - start) / n
    return result

n, path = int(sys.argv[1]), sys.argv[2]
found = {}
x = tf.constant(0.0)
fs.trace(chain, (x, 2_000)).save(path + "/warm.flow")
fs.load(path + "/warm.flow").summary()
before, many = resident(), max(1, 500_000 // n)
bare = [fs.trace(chain, (x, n), save="none") for _ in range(many)]
found["bytes_in_memory"] = (resident() - before) / n / many
del bare
trace = spent("record_ns", lambda: fs.trace(chain, (x, n)))
assert trace.num_ops == n and float(trace.output) == n
spent("save_ns", lambda: trace.save(path + "/run.flow"))
files = os.scandir(path + "/run.flow")
found["bytes_in_file"] = sum(file.stat().st_size for file in files) / n
edges = trace.edges[-3:]
summary = trace.summary()
del trace
loaded = spent("load_ns", lambda: fs.load(path + "/run.flow"))
assert loaded.num_ops == n and loaded.edges[-3:] == edges
assert float(loaded.ops[-1].out) == n and float(loaded.ops[n // 2].out) == n // 2
assert spent("summary_ns", loaded.summary) == summary
spent("lint_ns", lambda: loaded.lint() == [] or sys.exit("lint"))
spent("table_ns", loaded.to_arrow)
spent("lookup_ns", lambda: loaded[f"addv2_{n - 1}_{n}"])
found["num_ops"] = n
print(json.dumps(found))
"""


def measure(count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(count), folder], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-4000:]
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        assert list(Path(folder).glob(".*")) == []
    return found


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    for each in runs:
        each["total_ns"] = sum(each[step] for step in STEPS)
    return {key: statistics.median(each[key] for each in runs) for key in runs[0]}


def run(iterations: int, seed: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _ in range(iterations):
        runs: dict[int, list[dict[str, float]]] = {SMALL: [], LARGE: []}
        for _ in range(ROUNDS):
            runs[SMALL] += [measure(SMALL) for _ in range(SMALL_RUNS)]
            runs[LARGE].append(measure(LARGE))
        small, large = medians(runs[SMALL]), medians(runs[LARGE])
        for key in large:
            if key == "num_ops":
                continue
            counts[f"{key}_per_op"] = round(large[key])
            counts[f"{key}_percent_of_small"] = round(100 * large[key] / small[key])
        over = [key for key in JUDGED if large[key] > ALLOWED * small[key]]
        assert not over, f"{over}: {counts}"
        counts["ops"] = LARGE
    return counts
