"""Save, load, first value and streaming beside a plain copy of the same bytes: `dev bench --files`.

Medians of interleaved rounds. A plain copy is one write of every value's bytes, each distinct value
once, into one file; the synced copy then waits for the disk, as saving and streaming do
(docs/trace_format.md). What is allowed is told from the plain copy, as the design has it, and
beside it from the synced one.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import workloads

WHAT = ("copy", "synced", "save", "zip", "load", "first", "record", "stream")


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def distinct_values(trace: Any) -> list[bytes]:
    """The bytes that the trace's file holds, without what makes them a file."""
    arrays = {op.out.tobytes(): None for op in trace if op.outs and op.dtype != "string"}
    return list(arrays)


def last_value(trace: Any) -> Any:
    return trace.ops[-1].out


def write_plain(values: list[bytes], path: Path, synced: bool = False) -> None:
    with path.open("wb", buffering=0) as file:
        for value in values:
            file.write(value)
        if synced:
            os.fsync(file.fileno())


def results(name: str, rounds: int) -> list[dict[str, Any]]:
    """One result for each question, in seconds and as a ratio to its base."""
    import flowscope as fs

    model, x = workloads.WORKLOADS[name].build()
    model(x)
    trace = fs.trace(model, x, save_budget=None)
    values = distinct_values(trace)
    times: dict[str, list[float]] = {what: [] for what in WHAT}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.flow"
        for _ in range(rounds):
            times["copy"].append(seconds(lambda: write_plain(values, Path(folder) / "plain")))
            times["synced"].append(
                seconds(lambda: write_plain(values, Path(folder) / "plain", synced=True))
            )
            times["save"].append(seconds(lambda: trace.save(path, overwrite=True)))
            times["zip"].append(seconds(lambda: trace.save(f"{path}.zip", overwrite=True)))
            start = time.perf_counter()
            loaded = fs.load(path)
            times["load"].append(time.perf_counter() - start)
            times["first"].append(seconds(lambda: last_value(loaded)))  # noqa: B023
            times["record"].append(seconds(lambda: fs.trace(model, x, save_budget=None)))
            stream = fs.to_disk(Path(folder) / "s.flow")
            times["stream"].append(seconds(lambda: fs.trace(model, x, storage=stream)))  # noqa: B023
            shutil.rmtree(Path(folder) / "s.flow")
    median = {what: statistics.median(found) for what, found in times.items()}
    megabytes = sum(map(len, values)) / 1e6
    allowed = {
        what: {
            "save": 1.3 * median[what] + 0.1,
            "zip": 1.3 * median[what] + 0.1,
            "load": 0.1,
            "stream": 1.2 * (median["record"] + median[what]),
        }
        for what in ("copy", "synced")
    }
    return [
        {
            "workload": name,
            "what": what,
            "seconds": seconds_taken,
            "megabytes": megabytes,
            "allowed": allowed["copy"].get(what),
            "allowed_synced": allowed["synced"].get(what),
        }
        for what, seconds_taken in median.items()
    ]


def line(result: dict[str, Any]) -> str:
    text = (
        f"{result['workload']:<13}{result['what']:<9}{result['megabytes']:>8.0f} MB"
        f"{result['seconds']:>9.3f} s"
    )
    for allowed in (result["allowed"], result["allowed_synced"]):
        verdict = "" if allowed is None else "ok" if result["seconds"] <= allowed else "over"
        text += f"{'-' if allowed is None else f'{allowed:.3f}':>9} {verdict:<4}"
    return text
