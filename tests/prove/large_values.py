"""A value of more than 2 GiB comes back to the bit: a folder, a zip, compressed, and streamed.

It needs 5 GB of disk and 6 GB of memory.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
from pathlib import Path
from typing import Any

ITERATIONS = 1
SAMPLE = 0

ELEMENTS = 2**31 + 12_345
BLOCK = 2**28


def check(value: Any, other: Any) -> int:
    """Compares block by block, so that no third copy is made; the bytes that were compared."""
    assert value.shape == other.shape and value.dtype == other.dtype
    for begin in range(0, len(value), BLOCK):
        assert (value[begin : begin + BLOCK] == other[begin : begin + BLOCK]).all(), begin
    return int(value.nbytes)


def run(iterations: int, seed: int) -> dict[str, int]:
    import flowscope as fs
    import numpy as np
    import tensorflow as tf

    counts = {"values": 0, "bytes": 0}
    # Every block has its own place, so that one that is cut or repeated shows.
    pattern = np.zeros(ELEMENTS, "u1")
    pattern[:: 2**20] = np.arange(len(pattern[:: 2**20])) % 251 + 1
    pattern[-3:] = [7, 8, 9]
    x = tf.constant(pattern)
    ways: dict[str, dict[str, Any]] = {
        "run.flow": {},
        "run.flow.zip": {},
        "packed.flow": {"compress": "zstd"},
    }
    with tempfile.TemporaryDirectory() as folder:

        def compare(path: Path) -> None:
            op = fs.load(path).ops[-1]
            assert op.type == "BitwiseXor"
            counts["bytes"] += check(op.out, expected)
            counts["values"] += 1

        expected = np.bitwise_xor(pattern, np.uint8(seed % 256))
        del pattern
        flip = tf.constant(seed % 256, tf.uint8)
        trace = fs.trace(tf.bitwise.bitwise_xor, (x, flip), save=fs.func("BitwiseXor"))
        for name, options in ways.items():
            trace.save(Path(folder) / name, **options)
            compare(Path(folder) / name)
            path = Path(folder) / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        del trace
        gc.collect()
        streamed = Path(folder) / "streamed.flow"
        selected = {"save": fs.func("BitwiseXor"), "storage": fs.to_disk(streamed)}
        fs.trace(tf.bitwise.bitwise_xor, (x, flip), **selected)
        compare(streamed)
    return counts
