"""A saved trace that is cut or has a bit flipped, anywhere, is refused or gives what was saved.

A folder, the same compressed, as a zip and streamed, and two folders whose recording was cut off;
every file of each is cut at every position, and a bit flipped in every byte. No load crashes,
hangs, writes, or takes more memory than twice the files; an error names the file. A recording that
was cut off gives what it had committed at some moment: ``prefix`` counts the earlier ones.

Iteration i goes through the positions that are i modulo 64.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

PARTS = 64
ITERATIONS = 64
SAMPLE = 1
CHUNK = 4

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/dev"


def build() -> Path:
    if not (BUILD / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "--preset", "dev"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", BUILD, "--target", "every_position"], cwd=ROOT, check=True)
    return next(path for path in BUILD.rglob("every_position") if path.is_file())


def run(iterations: int, seed: int) -> dict[str, int]:
    driver = build()
    counts: dict[str, int] = {}
    for part in range(seed, seed + iterations):
        done = subprocess.run(
            [driver, str(PARTS), str(part % PARTS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert done.returncode == 0, f"part {part % PARTS} of {PARTS}:\n{done.stdout[-4000:]}"
        for line in done.stdout.splitlines():
            name = line.split()[0].replace(".", "_")
            for key, value in re.findall(r"(\w+)=(\d+)", line):
                if key not in ("bytes", "memory_percent"):
                    counts[f"{name}_{key}"] = counts.get(f"{name}_{key}", 0) + int(value)
    assert counts
    return counts
