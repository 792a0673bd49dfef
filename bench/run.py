"""Ratios of recorded to plain runs, beside the budgets of the design. Run by `./dev bench`.

Nothing here fails because a ratio is over its budget: machines differ, and a busy one shows noise.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import files
import functions
import measure
import peers
import workloads

HEADER = (
    f"{'workload':<13}{'recorded':<26}{'budget':>7}{'ratio':>8}{'quartiles':>16}{'cpu':>8}  verdict"
)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted(workloads.WORKLOADS)
    parser.add_argument(
        "--only", action="append", choices=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--rounds", type=int, default=15, help="samples of each way (15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument(
        "--peers", action="store_true", help="beside TorchLens and tfdbg, in build/peers"
    )
    parser.add_argument(
        "--functions", action="store_true", help="the first recording of a compiled function too"
    )
    parser.add_argument(
        "--files", action="store_true", help="save, load and streaming beside a plain copy"
    )
    return parser.parse_args()


def recorded(model: Any, x: Any, row: workloads.Row) -> Callable[[], Any]:
    import flowscope as fs
    import tensorflow as tf

    what = tf.function(lambda x: model(x)) if row.compiled else model
    if row.validated is None:
        return lambda: fs.trace(what, x, **row.options)
    trace, validated = fs.trace(what, x, **row.options), row.validated
    return lambda: trace.validate(**validated)


def measure_workload(name: str, rounds: int) -> list[dict[str, Any]]:
    """One result for each row of the workload."""
    import keras

    keras.utils.set_random_seed(0)
    model, x = workloads.WORKLOADS[name].build()
    rows = [row for row in workloads.ROWS if row.workload == name]
    ways = {row.what: recorded(model, x, row) for row in rows}
    found = measure.ratios(lambda: model(x), ways, rounds)
    return [
        {
            "workload": name,
            "recorded": row.what,
            "budget": row.budget,
            **measure.summary(found[row.what]),
        }
        for row in rows
    ]


def line(result: dict[str, Any]) -> str:
    budget = result["budget"]
    verdict = "" if budget is None else "ok" if result["median"] <= budget else "over"
    shown = "-" if budget is None else f"{budget:.2f}"
    quartiles = f"{result['low']:.3f}-{result['high']:.3f}"
    return (
        f"{result['workload']:<13}{result['recorded']:<26}{shown:>7}{result['median']:>8.3f}"
        f"{quartiles:>16}{result['cpu']:>8.3f}  {verdict}"
    )


def main() -> int:
    chosen = options()
    names = chosen.only or list(workloads.WORKLOADS)
    results: list[dict[str, Any]] = []
    print("time of a recorded run over that of a plain one, medians of interleaved samples;")
    print("cpu: the same for processor time, which other work on the machine disturbs less\n")
    print(HEADER)
    for name in names:
        for result in measure_workload(name, chosen.rounds):
            results.append(result)
            print(line(result), flush=True)
    if chosen.peers:
        print("\nother tools on the same work, each in a process of its own\n")
        print(HEADER)
        for result in peers.results(names, chosen.rounds):
            results.append(result)
            print(result["failed"] if "failed" in result else line(result), flush=True)
    if chosen.functions:
        print(
            "\ncompiled functions, opened for the first time and again, over their eager bodies\n"
        )
        print(HEADER)
        for result in (r for name in names for r in functions.results(name, chosen.rounds)):
            results.append(result)
            print(line(result), flush=True)
    if chosen.files:
        print("\nfiles: seconds, and what the budget allows over a plain and over a synced copy\n")
        for result in (r for name in names for r in files.results(name, chosen.rounds)):
            results.append(result)
            print(files.line(result), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
