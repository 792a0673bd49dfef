"""The flowscope command: no Python in its process, the same bits as TensorFlow's own loader."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from saved_models import MODELS, SavedCase, save

COMMAND = Path(__file__).resolve().parents[2] / "build/dev/flowscope"
PACKAGE = os.path.dirname(tf.__file__)


def run(*arguments: Any, check: int | None = 0) -> subprocess.CompletedProcess[str]:
    """The command with TensorFlow named; `check` is the exit code that is expected."""
    environment = {**os.environ, "FLOWSCOPE_TENSORFLOW": PACKAGE}
    done = subprocess.run(
        [str(COMMAND), *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert check is None or done.returncode == check, done.stderr
    return done


@pytest.fixture(scope="module", params=sorted(MODELS))
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SavedCase:
    return save(request.param, tmp_path_factory.mktemp(request.param))


def input_flags(case: SavedCase, folder: Path) -> list[str]:
    flags = []
    for name, value in case.inputs.items():
        np.save(folder / f"{name}.npy", value)
        flags += ["--input", f"{name}={folder / name}.npy"]
    return flags


def test_outputs_are_those_of_tensorflows_loader(saved: SavedCase, tmp_path: Path) -> None:
    loaded = tf.saved_model.load(saved.path)
    function = loaded.signatures[saved.signature]
    wanted = function(**{name: tf.constant(value) for name, value in saved.inputs.items()})
    flags = ["--signature", saved.signature, *input_flags(saved, tmp_path)]
    run("trace", saved.path, *flags, "--outputs-to", tmp_path / "out")
    for name, value in wanted.items():
        got = np.load(tmp_path / "out" / f"{name}.npy")
        assert got.dtype == value.numpy().dtype
        assert got.shape == value.shape
        assert got.tobytes() == value.numpy().tobytes()


def test_every_op_inside_is_recorded(saved: SavedCase, tmp_path: Path) -> None:
    flags = ["--signature", saved.signature, *input_flags(saved, tmp_path), "--json"]
    report = json.loads(run("trace", saved.path, *flags).stdout)
    assert report["root_kind"] == "saved_model"
    assert report["num_ops"] >= saved.least_ops
    assert report["error"] is None
    assert report["num_variables"] == saved.num_variables


def test_a_folder_that_cannot_be_looked_into_is_not_called_empty(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    made = run("trace", circle, check=4)
    assert "circle cannot be read: Too many levels" in made.stderr
    if os.geteuid() != 0:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0)
        made = run("trace", closed, check=4)
        assert "closed cannot be looked into: Permission" in made.stderr
