"""Writes docs/distances.md: how far the compiled run is from the opened one, per entry point.

Measures python/tests/entry_points.py in three processes: as TensorFlow comes, without graph
rewriting, and without oneDNN too. The last column of the table follows from the three numbers.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/distances.md"
MODES = ("plain", "no_rewriting", "no_rewriting_no_onednn")

HEAD = """# How far the compiled run is

What FlowScope promises for a compiled function that it opens is **equal to the same body run
eagerly, to the bit**. Whether that is also equal to the compiled run depends on what TensorFlow
does to the graph before it runs it. This page tells the distance for each way into compiled code.
`tools/distances.py` writes it: it runs every entry point three times from the same start, eagerly,
opened and compiled. For one call of your own, `fs.trace(..., compare_compiled=True)` tells the same
in `trace.compiled_differences`.

"Largest" is the largest absolute difference of all values that count: outputs, and after training
steps weights, optimizer slots, metrics and seeds.

**Why training drifts.** Rewriting and oneDNN change the last bits of what they fuse (3e-8 in the
kernels of the CNN). Where that is all of a gradient, Adam makes it large: it divides a gradient by
its own size, so that every bit of noise becomes a step of the learning rate (0.01 here). The bias
of the CNN's convolution is such a weight: the batch normalization after it takes it out again, its
true gradient is zero, and what is computed is rounding of about 1e-9. The 1.4e-03 are in that bias,
1.9e-05 in the moving mean, which follows it, and all else is within 1e-07. In the transformer it is
the shift before a batch normalization (1.7e-04) and the bias of the attention's keys (5e-05), which
softmax takes out. Which rewriting it is, TensorFlow's options tell: without the arithmetic
optimizer the CNN differs as it does without any, and oneDNN's own passes are left.

"""


def measured(only: str) -> list[dict[str, Any]]:
    sys.path.insert(0, str(ROOT / "python/tests"))
    import tensorflow as tf

    entry_points = importlib.import_module("entry_points")
    causal_model = importlib.import_module("causal_model")

    if os.environ["FLOWSCOPE_DISTANCES"] != "plain":
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in entry_points.entry_points(folder):
            if "keras_hub" in entry.name and not causal_model.available():
                print(f"{entry.name}: left out: {causal_model.WHERE}", file=sys.stderr)
            elif only in entry.name:
                row = {"name": entry.name, **dataclasses.asdict(entry_points.measure(entry))}
                print(row, file=sys.stderr)
                rows.append(row)
    return rows


def measure_in_process(mode: str, only: str) -> dict[str, dict[str, Any]]:
    environment = {**os.environ, "FLOWSCOPE_DISTANCES": mode, "TF_CPP_MIN_LOG_LEVEL": "3"}
    if mode.endswith("no_onednn"):
        environment["TF_ENABLE_ONEDNN_OPTS"] = "0"
    done = subprocess.run(
        [sys.executable, __file__, "--only", only],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    rows = json.loads(done.stdout.splitlines()[-1])
    return {row["name"]: row for row in rows}


def reason(name: str, found: dict[str, dict[str, Any]]) -> str:
    """What explains the distance, from where it disappears."""
    if found["plain"]["largest"] == 0:
        return "none: equal"
    if found["no_rewriting"]["largest"] == 0:
        return "TensorFlow's graph rewriting (equal without it)"
    if found["no_rewriting_no_onednn"]["largest"] == 0:
        return "graph rewriting and oneDNN (equal without both)"
    if "jit_compile" in name:
        return "XLA compiles the function: it fuses and reorders"
    return "not explained by graph rewriting or oneDNN"


def table(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    lines = [
        "| entry point | equal to eager | largest | without rewriting | nor oneDNN | because of |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in found["plain"]:
        of = {mode: found[mode][name] for mode in MODES}
        numbers = " | ".join(f"{of[mode]['largest']:.1e}" for mode in MODES)
        numbers = numbers.replace("0.0e+00", "0")
        equal = "yes" if all(of[mode]["eager_equal"] for mode in MODES) else "NO"
        lines.append(f"| {name} | {equal} | {numbers} | {reason(name, of)} |")
    return "\n".join(lines) + "\n"


def versions() -> str:
    import importlib.metadata as metadata

    names = ("tensorflow-cpu", "tensorflow", "keras")
    found = []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="entry points whose name has this part")
    chosen = parser.parse_args()
    if "FLOWSCOPE_DISTANCES" in os.environ:
        print(json.dumps(measured(chosen.only)))
        return 0
    found = {mode: measure_in_process(mode, chosen.only) for mode in MODES}
    page = HEAD + table(found) + f"\nMeasured with {versions()} on one x86-64 machine.\n"
    if chosen.only:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
