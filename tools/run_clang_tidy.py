"""Runs clang-tidy on the files that changed since they were last found clean.

A file is clean for as long as its text, the text of every project header it
reaches, its compile command and .clang-tidy stay the same. The keys of clean
files are kept in the user's cache folder, for every checkout, one file each.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from repo_files import ROOT

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "flowscope-clang-tidy"
CACHE_DAYS = 30  # after which a key that nobody asked for is forgotten
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
SEARCH = (ROOT / "src", ROOT / "include", ROOT / "tests", ROOT / "python/src")
# GoogleTest's macros and test bodies trip the checks of size and of style, and
# some tests misuse an object on purpose or want the same random numbers every time.
TEST_CHECKS = (
    "-readability-*,-modernize-*,-google-*,-performance-*,"
    "-bugprone-use-after-move,-bugprone-throwing-static-initialization,"
    "-bugprone-random-generator-seed"
)


def reached(path: Path, seen: set[Path]) -> None:
    """Adds `path` and every project file that it includes to `seen`."""
    if path in seen:
        return
    seen.add(path)
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for folder in (path.parent, *SEARCH):
            candidate = folder / name
            if candidate.is_file():
                reached(candidate.resolve(), seen)
                break


def cache_key(path: Path, command: str, salt: str) -> str:
    """A hash over everything that the verdict on `path` depends on."""
    files: set[Path] = set()
    reached(path, files)
    here = command.replace(str(ROOT), "")  # checkouts in other places share the keys
    digest = hashlib.sha256(f"{salt}\0{here}".encode())
    for file in sorted(files):
        digest.update(f"\0{file.relative_to(ROOT)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def compiled(build: Path) -> Iterator[tuple[Path, str]]:
    """Every file of the project in the compilation database, with its command."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["file"]).resolve()
        own = path.is_relative_to(ROOT) and ".venv" not in path.parts and path.is_file()
        if own and not path.is_relative_to(build):
            yield path, entry["command"]


def run_tidy(tool: str, build: Path, path: Path) -> tuple[bool, str]:
    """Whether a file is clean, and what clang-tidy printed."""
    command = [tool, "-p", str(build), "--quiet", "--warnings-as-errors=*"]
    # GCC's warning names, and what GCC's own <algorithm> marks as deprecated.
    for warning in ("unknown-warning-option", "deprecated-declarations"):
        command.append(f"--extra-arg=-Wno-{warning}")
    if path.stem.endswith("_test"):
        command.append(f"--checks={TEST_CHECKS}")
    result = subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=ROOT)
    return result.returncode == 0, result.stdout + result.stderr


def known_clean(key: str) -> bool:
    """Whether a file with this key was found clean; its key is then young again."""
    try:
        os.utime(CACHE / key)
    except OSError:
        return False
    return True


def commit() -> str:
    git = ["git", "rev-parse", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True, cwd=ROOT).stdout


def forget_old_keys() -> None:
    oldest = time.time() - CACHE_DAYS * 24 * 3600
    for entry in CACHE.iterdir():
        if entry.stat().st_mtime < oldest:
            entry.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="only these files, cache ignored")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--tool", default=str(Path(sys.executable).parent / "clang-tidy"))
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("FLOWSCOPE_JOBS", "2")))
    parser.add_argument("--at-most", type=int, help="so many files, drawn by the commit's hash")
    arguments = parser.parse_args()
    build = arguments.build.resolve()

    version = subprocess.run([arguments.tool, "--version"], capture_output=True, text=True).stdout
    salt = version + TEST_CHECKS + (ROOT / ".clang-tidy").read_text(encoding="utf-8")
    CACHE.mkdir(parents=True, exist_ok=True)
    keys = {path: cache_key(path, command, salt) for path, command in compiled(build)}
    wanted = [path.resolve() for path in arguments.files]
    todo = wanted or sorted(path for path, key in keys.items() if not known_clean(key))

    left = 0
    if arguments.at_most is not None and len(todo) > arguments.at_most:
        left = len(todo) - arguments.at_most
        todo = random.Random(commit()).sample(todo, arguments.at_most)

    def look_at(path: Path) -> tuple[bool, str]:
        good, text = run_tidy(arguments.tool, build, path)
        if good and path in keys:
            (CACHE / keys[path]).touch()
        return good, text

    failed = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for path, (good, text) in zip(todo, pool.map(look_at, todo), strict=True):
            if not good:
                failed += 1
                print(f"{path.relative_to(ROOT)}: clang-tidy\n{text}", file=sys.stderr)
    forget_old_keys()
    rest = f", {left} left for another time" if left else ""
    print(f"clang-tidy: {len(keys)} files, {len(todo)} looked at, {failed} with findings{rest}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
