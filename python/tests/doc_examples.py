"""Examples in text: blocks of code with the output that the text shows for them."""

from __future__ import annotations

import contextlib
import difflib
import io
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^```(\w*)\s*$")
FLOAT = re.compile(r"(-?\d+\.\d*(?:e[+-]?\d+)?)")
# What differs from run to run or from machine to machine, and what it is compared as.
VARYING = (
    (re.compile(r"\b\d+(?:\.\d+)? (?:ns|us|µs|ms|s)\b"), "TIME"),
    (re.compile(r"\b(TensorFlow|Keras) \d[\w.]*"), r"\1 VERSION"),
    (re.compile(r"[\w./~-]+\.(?:py|md):\d+"), "FILE:LINE"),
)


class Example(NamedTuple):
    """A block of code; ``want`` is the output shown below it, None where the text shows none."""

    line: int
    code: str
    want: str | None
    want_line: int = 0


def examples_in(text: str) -> list[Example]:
    """Blocks marked ``python``, each with the ``text`` block that follows it directly."""
    found: list[Example] = []
    blocks = _blocks(text)
    for i, (kind, line, body, _) in enumerate(blocks):
        if kind != "python":
            continue
        below = blocks[i + 1] if i + 1 < len(blocks) else None
        if below is not None and below[0] == "text" and below[3]:
            found.append(Example(line, body, below[2], below[1]))
        else:
            found.append(Example(line, body, None))
    return found


def _blocks(text: str) -> list[tuple[str, int, str, bool]]:
    """``(kind, line of its first line, body, whether it follows the last block directly)``."""
    blocks: list[tuple[str, int, str, bool]] = []
    kind, body, start, follows = None, [], 0, False
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if kind is None:
            if fence:
                kind, body, start = fence[1], [], number + 1
            elif line.strip():
                follows = False
        elif fence:
            blocks.append((kind, start, "\n".join(body) + "\n", follows))
            kind, follows = None, True
        else:
            body.append(line)
    return blocks


def run(example: Example, path: Path, namespace: dict[str, Any]) -> str:
    """What the code prints. It is compiled as lines of ``path``, so that tracebacks lead there."""
    padded = "\n" * (example.line - 1) + example.code
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(padded, str(path), "exec"), namespace)
    return printed.getvalue()


def same_output(got: str, want: str) -> bool:
    """Equal but for spacing, run times, versions, places in files and the last digits of floats."""
    mine, shown = (FLOAT.split(_normal(text)) for text in (got, want))
    if len(mine) != len(shown):
        return False
    return all(
        math.isclose(float(a), float(b), rel_tol=2e-3, abs_tol=1e-6) if i % 2 else a == b
        for i, (a, b) in enumerate(zip(mine, shown, strict=True))
    )


def _normal(text: str) -> str:
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return " ".join(text.split())


def with_output(text: str, example: Example, got: str) -> str:
    """``text`` with what the example really printed in place of what it shows."""
    lines = text.splitlines(keepends=True)
    first = example.want_line - 1
    shown = len((example.want or "").splitlines())
    lines[first : first + shown] = [line.rstrip() + "\n" for line in got.rstrip().splitlines()]
    return "".join(lines)


def difference(got: str, want: str) -> str:
    """The two outputs as a diff, to be read."""
    lines = difflib.unified_diff(want.splitlines(), got.splitlines(), "shown", "printed", "", "")
    return "\n".join(lines)
