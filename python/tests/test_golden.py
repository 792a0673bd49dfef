"""The command's texts: tests/golden/NAME.txt holds command, exit code and what is printed.

``FLOWSCOPE_WRITE_GOLDEN=1`` writes what is printed now; look at the difference before committing.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from saved_models import save
from test_command_line import run

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"
FILES = sorted(GOLDEN.glob("*.txt"))

# What differs from run to run and from machine to machine.
CHANGING = [
    (re.escape(tf.__version__), "<version>"),
    (re.escape(os.path.dirname(tf.__file__)), "<tensorflow>"),
    (r"\d+(\.\d+)? (ns|us|ms|s)\b", "<time>"),
    (r'"duration_(ms|us)": [0-9.e-]+', r'"duration_\1": <time>'),
    (r"(?m)^(WARNING: All log messages|[IWE]\d{4} |\d{4}-\d\d-\d\d ).*\n", ""),
    (r"Linux \S+", "<machine>"),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the commands name in braces."""
    folder = tmp_path_factory.mktemp("golden")
    two = save("two", folder).path
    np.save(folder / "x.npy", np.array([[1.0, 2.0], [3.0, 4.0]], "f"))
    np.save(folder / "wide.npy", np.ones((1, 3), "f"))
    np.save(folder / "double.npy", np.ones((1, 2)))
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (folder / "damaged").mkdir()
    (folder / "damaged/saved_model.pb").write_bytes(b"not a model")
    nan = np.array([[1.0, np.nan], [3.0, 4.0]], "f")
    np.save(folder / "nan.npy", nan)
    run("trace", two, "--input", f"{folder}/x.npy", "-o", folder / "run.flow")
    run("trace", two, "--input", f"{folder}/nan.npy", "-o", folder / "nan.flow")
    run("trace", two, "--input", f"{folder}/x.npy", "--keep", "stats", "-o", folder / "bare.flow")
    change(folder / "run.flow", folder / "cut.flow", "DROP TABLE checksums")
    shutil.copytree(folder / "cut.flow", folder / "torn.flow")
    change(folder / "cut.flow", folder / "later.flow", "UPDATE info SET value=9 WHERE key='format'")
    change(folder / "run.flow", folder / "changed.flow", "UPDATE ops SET run_counter=7")
    (folder / "notes.txt").write_text("no trace", encoding="utf-8")
    (folder / "short.flow.zip").write_bytes(b"PK")
    return {"two": two, "folder": str(folder)}


def change(source: Path, target: Path, statement: str) -> None:
    """A copy of a trace with a changed database."""
    shutil.copytree(source, target)
    with contextlib.closing(sqlite3.connect(target / "trace.sqlite")) as database:
        database.execute(statement)
        database.commit()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden(file: Path, places: dict[str, str]) -> None:
    wanted = file.read_text(encoding="utf-8")
    command = wanted.splitlines()[0]
    assert command.startswith("$ flowscope"), "the first line is the command"
    arguments = [word.format(**places) for word in command.split()[2:]]
    done = run(*arguments, check=None)
    printed = f"{command}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
    for name in ("two", "folder"):  # the model is below the folder
        printed = printed.replace(places[name], "{" + name + "}")
    for pattern, stands_for in CHANGING:
        printed = re.sub(pattern, stands_for, printed)
    if os.environ.get("FLOWSCOPE_WRITE_GOLDEN"):
        file.write_text(printed, encoding="utf-8")
    assert printed == wanted


def test_there_are_golden_files() -> None:
    assert len(FILES) > 10
