"""The programs in ``examples/`` run, and give what they promise."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("keras")

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples"
ELSEWHERE = {"demo", "read_trace"}  # run by test_docs and test_store


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_attention_scores() -> None:
    scores = example("attention_scores").main()
    assert sorted(scores) == [f"blocks.{i}.attend" for i in range(3)]
    assert all(value.shape == (1, 2, 6, 6) for value in scores.values())


def test_lstm_gates() -> None:
    gates = example("lstm_gates").main()
    assert sorted(gates) == ["forget", "input", "output"]
    assert all(value.shape == (5, 1, 4) for value in gates.values())
    assert all(np.all((value > 0) & (value < 1)) for value in gates.values())


def test_first_above() -> None:
    pytest.importorskip("pandas")
    assert example("first_above").main() == "blocks.2"


def test_torchlens_program(capsys: pytest.CaptureFixture[str]) -> None:
    example("torchlens_program").main()
    assert "relu_1_6:1" in capsys.readouterr().out


def test_every_example_is_run() -> None:
    run = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in FOLDER.glob("*.py")} - ELSEWHERE <= run
