"""Fails on an #include that goes against the layers of src/.

Run as `python tools/check_includes.py [ROOT]`. The table below is the design's
arrow line; CMakeLists.txt links the libraries the same way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Folder of src/ -> the other folders of src/ that it may include.
LAYERS: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "trace": frozenset({"base"}),
    "analyze": frozenset({"base", "trace"}),
    "draw": frozenset({"base", "trace", "analyze"}),
    "store": frozenset({"base", "trace"}),
    "export": frozenset({"base", "trace", "analyze", "store"}),
    "tf": frozenset({"base", "trace"}),
    "interp": frozenset({"base", "trace", "tf"}),
    "capture": frozenset({"base", "trace", "tf", "interp"}),
    "replay": frozenset({"base", "trace", "tf", "interp"}),
    "savedmodel": frozenset({"base", "trace", "tf", "interp"}),
}
# What implements the public headers stands on every layer.
LAYERS["library"] = frozenset(LAYERS) | {"flowscope"}
ALL = frozenset(LAYERS)
# Code outside src/ that stands on top of it: folder -> folders it may include.
TOPS: dict[str, frozenset[str]] = {
    "python/src": ALL | {"flowscope"},
    "cli": frozenset({"flowscope"}),
    "bench": ALL | {"flowscope"},
    "examples/cpp": frozenset({"flowscope"}),
    # base/status.h, dtype.h and payload.h are installed beside the public headers.
    "include/flowscope": frozenset({"flowscope", "base"}),
    "tests/fake_runtime": LAYERS["tf"] | {"tf", "fake_runtime"},
    "tests/fake_tensorflow": LAYERS["tf"] | {"tf", "fake_tensorflow"},
}
# Folders of tests/ that the tests of a folder may use.
TEST_ONLY: dict[str, frozenset[str]] = {
    "tf": frozenset({"fake_runtime", "fake_tensorflow"}),
    "interp": frozenset({"fake_runtime"}),
    "capture": frozenset({"fake_runtime"}),
    "replay": frozenset({"fake_runtime"}),
    "savedmodel": frozenset({"fake_runtime"}),
}
# Headers of others that belong to one place: prefix -> folder.
FOREIGN = {"tensorflow/": "tf", "Python.h": "python/src", "nanobind/": "python/src"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
SOURCES = (".h", ".cc", ".inc")


def allowed_for(folder: str, path: Path) -> frozenset[str]:
    """The folders that a file of `folder` may name in an #include."""
    if folder in TOPS:
        return TOPS[folder]
    allowed = LAYERS[folder] | {folder}
    if path.stem.endswith("_test"):
        allowed |= TEST_ONLY.get(folder, frozenset())
    return allowed


def explain(folder: str, quote: str, target: str, allowed: frozenset[str], own: bool) -> str | None:
    """Why an #include is wrong, or None when it is right."""
    for prefix, home in FOREIGN.items():
        if target.startswith(prefix):
            return None if folder == home else f"only {home} may include it"
    if quote == "<":
        return None
    first, _, rest = target.partition("/")
    names = ", ".join(sorted(allowed))
    if first in (".", "..") or (not rest and not own):
        return f"write the path from src/; {folder} may include: {names}"
    if rest and first not in allowed:
        return f"{folder} may include: {names}"
    return None


def check_file(path: Path, folder: str, root: Path) -> Iterator[str]:
    """One message per wrong #include of a file."""
    allowed = allowed_for(folder, path)
    # Files beside each other outside src/ include each other by bare name.
    own = folder in TOPS
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        reason = explain(folder, quote, target, allowed, own)
        if reason:
            close = ">" if quote == "<" else '"'
            yield f"{path.relative_to(root)}:{number}: #include {quote}{target}{close}: {reason}"


def folders(root: Path) -> Iterator[tuple[str, Path]]:
    """Every checked folder, as its name in the table and its path."""
    for path in sorted((root / "src").glob("*/")):
        yield path.name, path
    for name in TOPS:
        yield name, root / name


def check_tree(root: Path) -> tuple[int, list[str]]:
    """The number of files seen and all messages."""
    count = 0
    messages: list[str] = []
    for name, folder in folders(root):
        files = [p for p in sorted(folder.rglob("*")) if p.suffix in SOURCES]
        if files and name not in LAYERS and name not in TOPS:
            messages.append(f"src/{name}: not in the layer table of tools/check_includes.py")
            continue
        for path in files:
            count += 1
            messages.extend(check_file(path, name, root))
    return count, messages


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    count, messages = check_tree(root)
    if count == 0:
        messages.append(f"{root}: no C++ files found")
    for message in messages:
        print(message, file=sys.stderr)
    print(f"include direction: {count} files, {len(messages)} errors")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
