"""The C++ library as a user has it: installed, found by CMake, linked into a program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from saved_models import save

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/dev"


def command(*words: Any, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cpp")
    command("cmake", "--build", BUILD, "--target", "flowscope_archive")
    command("cmake", "--install", BUILD, "--component", "cpp", "--prefix", folder / "prefix")
    command(
        *("cmake", "-S", ROOT / "examples/cpp", "-B", folder / "build", "-G", "Ninja"),
        f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}",
    )
    command("cmake", "--build", folder / "build")
    return folder / "build/record_saved_model"


def test_the_example_records_and_reads_a_value(program: Path, tmp_path: Path) -> None:
    case = save("two", tmp_path)
    np.save(tmp_path / "x.npy", case.inputs["x"])
    text = command(
        *(program, case.path, f"x={tmp_path / 'x.npy'}", "matmul_1"),
        FLOWSCOPE_TENSORFLOW=os.path.dirname(tf.__file__),
    )
    assert "MatMul" in text
    inner = case.inputs["x"] @ np.array([[2.0], [3.0]], "f")
    assert "matmul_1 has 3 elements" in text
    first = float(text.rsplit("the first one is ", 1)[1])
    assert first == pytest.approx(float(inner[0, 0]), rel=1e-5)
