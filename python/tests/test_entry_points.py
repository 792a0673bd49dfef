"""Opened is equal to eager, to the bit, for every way into compiled code."""

from __future__ import annotations

from pathlib import Path

import causal_model
import checks
import entry_points
import keras
import numpy as np
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


# What docs/distances.md says of a train step: what is far from the compiled run is what a layer
# behind it takes out again, so that its gradient is rounding and nothing else.
TAKEN_OUT = {
    "cnn": {"conv/bias", "norm/moving_mean"},
    "transformer": {
        "attn/key/bias",
        "layer_normalization_1/beta",
        "layer_normalization_1/gamma",
        "batch_normalization/moving_mean",
    },
}


@pytest.mark.parametrize("name", sorted(TAKEN_OUT))
def test_the_rest_of_a_compiled_train_step_is_near(name: str) -> None:
    states = []
    for how in (entry_points.EAGER, entry_points.COMPILED):
        keras.utils.clear_session()  # names are counted from the start
        model = entry_points.compiled_model(name, how)
        x, y = entry_points.data(model, 4 * entry_points.STEPS)
        for first in range(0, len(x), 4):
            model.train_on_batch(x[first : first + 4], y[first : first + 4])
        states.append({v.path: v.numpy() for v in model.weights})
    assert states[0].keys() >= TAKEN_OUT[name]
    for path, value in states[0].items():
        if path not in TAKEN_OUT[name]:
            np.testing.assert_allclose(value, states[1][path], rtol=0, atol=1e-6, err_msg=path)
