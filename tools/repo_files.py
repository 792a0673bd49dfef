"""The files that the project's own checks look at."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE_SUFFIXES = {".cc": "C++", ".h": "C++", ".py": "Python"}
TEST_FOLDERS = ("tests/", "python/tests/", "tools/test/")


def listed(root: Path = ROOT) -> list[str]:
    """Paths of tracked files and of new files that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in output.split("\0") if name and (root / name).is_file())


def is_test(name: str) -> bool:
    """Whether a path is a test or serves only tests."""
    stem = Path(name).stem
    if name.startswith(TEST_FOLDERS) or stem in ("testing", "conftest"):
        return True
    return stem.endswith("_test") or stem.startswith("test_")


def language(name: str) -> str | None:
    """The language of a hand-written code file, None for anything else."""
    if name.startswith("viewer/"):
        return None
    return CODE_SUFFIXES.get(Path(name).suffix)
