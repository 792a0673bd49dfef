"""Reads a saved trace without FlowScope: sqlite3, numpy and the safetensors format are enough.

    python examples/read_trace.py run.flow

prints one line per op: its label, its module, and the first values of its first output. The format
is told in docs/trace_format.md.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1"}
DTYPES |= {"U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?", "BF16": "u2"}

OPS = """
SELECT lower(type.text) || '_' || sites.type_index || '_' || sites.ordinal || ':' || ops.pass,
       address.text, ops.outputs_first, ops.outputs_count
FROM ops JOIN sites ON ops.site = sites.id
         JOIN strings AS type ON type.id = sites.type
         JOIN strings AS address ON address.id = sites.module_address
ORDER BY ops.id
"""
VALUE = "SELECT shard, entry FROM payloads WHERE tensor = ?"


def entry(path: Path, name: str) -> Any:
    """One entry of a safetensors file as an array; what numpy has no dtype for as whole numbers."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        begin, end = header[name]["data_offsets"]
        file.seek(8 + size + begin)
        data = file.read(end - begin)
    values = np.frombuffer(data, DTYPES.get(header[name]["dtype"], "u1"))
    truth = json.loads(header["__metadata__"].get(name, "{}"))
    if truth.get("encoding", "raw") == "strings":
        return strings(data, truth["shape"])
    if truth.get("dtype", "").startswith("complex"):
        return values.view(truth["dtype"]).reshape(truth["shape"])
    return values.reshape(header[name]["shape"])


def strings(data: bytes, shape: list[int]) -> Any:
    """Strings stand as their n + 1 offsets, then their bytes."""
    count = int(np.prod(shape, dtype=int))
    ends = np.frombuffer(data, "<u8", count + 1).astype(int)
    text = data[8 * (count + 1) :]
    found = [text[a:b] for a, b in itertools.pairwise(ends)]
    return np.array(found, object).reshape(shape)


def ops(folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Label, module and first output of every op; None where no value was kept."""
    database = sqlite3.connect(f"file:{folder / 'trace.sqlite'}?mode=ro", uri=True)
    for label, module, first, count in database.execute(OPS).fetchall():
        row = database.execute(VALUE, (first,)).fetchone() if count else None
        value = None
        if row is not None:
            value = entry(folder / f"tensors-{row[0]:05d}.safetensors", f"t{row[1]}")
        yield label, module, value


if __name__ == "__main__":
    for label, module, value in ops(Path(sys.argv[1])):
        start = "" if value is None else f"{value.shape} {value.ravel()[:4].tolist()}"
        print(f"{label:28} {module:20} {start}")
