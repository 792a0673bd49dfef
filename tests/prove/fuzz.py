"""Any bytes as a function, a SavedModel or a saved trace are read or refused, under ASan and UBSan.

Each chunk runs every driver of tests/fuzz on mutations that no other chunk has. A driver that fails
is run again to name the mutation: FLOWSCOPE_FUZZ_SEED and FLOWSCOPE_FUZZ_FIRST run it alone.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ITERATIONS = 2_000_000
SAMPLE = 2_000
CHUNK = 50_000

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/asan"
# How many of the mutations each target gets: a saved trace is written to disk for each.
SHARES = {"function_def": 1, "saved_model": 1, "structure": 2, "store": 10}


def driver(name: str) -> Path:
    return next(path for path in BUILD.rglob(f"{name}_fuzz_driver") if path.is_file())


def build() -> None:
    if not (BUILD / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "--preset", "asan"], cwd=ROOT, check=True)
    targets = [f"{name}_fuzz_driver" for name in SHARES]
    subprocess.run(["cmake", "--build", BUILD, "--target", *targets], cwd=ROOT, check=True)


def mutate(name: str, first: int, runs: int, seed: int, tell: bool = False) -> tuple[int, str]:
    """Exit status and output of a driver."""
    settings = {"SEED": seed, "FIRST": first, "RUNS": runs, "TELL": int(tell)}
    names = {f"FLOWSCOPE_FUZZ_{key}": str(value) for key, value in settings.items()}
    done = subprocess.run(
        [driver(name)],
        env={**os.environ, **names},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return done.returncode, done.stdout


def run(iterations: int, seed: int) -> dict[str, int]:
    build()
    counts: dict[str, int] = {}
    for name, share in SHARES.items():
        runs = max(iterations // share, 1)
        status, text = mutate(name, 0, runs, seed)
        if status != 0:
            again = mutate(name, 0, runs, seed, tell=True)[1]
            culprits = re.findall(r"^mutation (\d+)$", again, re.MULTILINE)
            culprit = culprits[-1] if culprits else "none"
            raise AssertionError(
                f"{name}: mutation {culprit} of seed {seed}, exit {status}\n{text[-4000:]}"
            )
        told = re.search(r"(\d+) mutations, (\d+) of them read", text)
        assert told is not None, text
        counts[name] = int(told.group(1))
        counts[f"{name}_read"] = int(told.group(2))
    return counts
