"""Fails on a code file of more than 500 lines.

Function length is checked by clang-tidy (readability-function-size) and by
ruff (PLR0915).
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from repo_files import ROOT, language, listed

LIMIT = 500


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]).resolve() if arguments else ROOT
    sizes = {name: line_count(root / name) for name in listed(root) if language(name)}
    too_long = {name: size for name, size in sizes.items() if size > LIMIT}
    for name, size in too_long.items():
        print(f"{name}: {size} lines, at most {LIMIT} are allowed: split the file", file=sys.stderr)
    median = int(statistics.median(sizes.values())) if sizes else 0
    print(f"file sizes: {len(sizes)} files, median {median} lines, {len(too_long)} too long")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
