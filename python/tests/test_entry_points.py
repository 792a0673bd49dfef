"""Opened is equal to eager, to the bit, for every way into compiled code."""

from __future__ import annotations

from pathlib import Path

import causal_model
import checks
import entry_points
import pytest

NAMES = [entry.name for entry in entry_points.entry_points("")]


@pytest.mark.parametrize("name", NAMES)
def test_opened_equals_eager(name: str, tmp_path: Path) -> None:
    entry = {e.name: e for e in entry_points.entry_points(str(tmp_path))}[name]
    if "keras_hub" in name and not causal_model.available():
        pytest.skip(causal_model.WHERE)
    eager, opened = entry.run(entry_points.EAGER), entry.run(entry_points.OPENED)
    assert len(eager) == len(opened)
    for i, (one, other) in enumerate(zip(eager, opened, strict=True)):
        assert checks.same_bits(one, other), f"value {i} of {len(eager)}"
