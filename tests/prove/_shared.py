"""What the proofs share: the helpers of the Python tests, and the process's memory."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "python/tests"
sys.path.insert(0, str(TESTS))


def resident_bytes() -> int:
    """Memory of this process that is in RAM, after a garbage collection."""
    gc.collect()
    with open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmRSS")


def live_objects() -> int:
    """Objects that the garbage collector knows."""
    gc.collect()
    return len(gc.get_objects())


def median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]
