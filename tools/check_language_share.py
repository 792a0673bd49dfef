"""Fails when Python is more than 35 % of the code.

Counted: lines with code on them, in C++ and Python files outside of tests and
of the viewer. Comments, docstrings, blank lines and generated stubs are not
code.
"""

from __future__ import annotations

import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

from repo_files import ROOT, is_test, language, listed

LIMIT = 0.35
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def python_lines(text: str) -> int:
    """Lines that hold a token other than comments and free-standing strings."""
    lines: set[int] = set()
    statement_start = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in NOT_CODE:
            statement_start = statement_start or token.type == tokenize.NEWLINE
            continue
        docstring = token.type == tokenize.STRING and statement_start
        statement_start = False
        if not docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def cpp_lines(text: str) -> int:
    """Lines that are neither blank nor a // comment."""
    stripped = (line.strip() for line in text.splitlines())
    return sum(1 for line in stripped if line and not line.startswith("//"))


def count(root: Path) -> Counter[tuple[str, str]]:
    """Code lines by (top folder, language)."""
    counted: Counter[tuple[str, str]] = Counter()
    for name in listed(root):
        kind = language(name)
        if kind is None or is_test(name):
            continue
        text = (root / name).read_text(encoding="utf-8")
        lines = python_lines(text) if kind == "Python" else cpp_lines(text)
        counted[name.split("/")[0], kind] += lines
    return counted


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]).resolve() if arguments else ROOT
    counted = count(root)
    total = sum(counted.values())
    if total == 0:
        print(f"{root}: no code found", file=sys.stderr)
        return 1
    for (folder, kind), lines in sorted(counted.items()):
        print(f"  {folder:<10} {kind:<7} {lines:6}")
    python = sum(lines for (_, kind), lines in counted.items() if kind == "Python")
    share = python / total
    print(f"python share: {python} of {total} lines, {share:.1%} (at most {LIMIT:.0%})")
    if share > LIMIT:
        print("too much Python: move what touches neither Keras nor Python to C++", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
