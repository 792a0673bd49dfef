"""A tiny GPT-2 of keras_hub with random weights, where keras_hub is there."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

BESIDE = Path(__file__).resolve().parents[2] / "build/keras_hub"
WHERE = "needs keras_hub: see tools/requirements-keras-hub.txt"
LENGTH, PROMPT, WORDS = 9, 3, 20


def keras_hub() -> Any:
    """The package. ImportError where it is neither installed nor in ``build/keras_hub``."""
    sys.path.append(str(BESIDE))  # last: it must not hide what .venv has
    try:
        return importlib.import_module("keras_hub")
    finally:
        sys.path.remove(str(BESIDE))


def available() -> bool:
    try:
        keras_hub()
    except ImportError:
        return False
    return True


def build(sampler: str, run_eagerly: bool = False) -> Any:
    """The model, with the same weights every time."""
    hub = keras_hub()
    keras.utils.set_random_seed(4)
    backbone = hub.models.GPT2Backbone(
        vocabulary_size=WORDS,
        num_layers=2,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=16,
        max_sequence_length=LENGTH,
    )
    model = hub.models.GPT2CausalLM(preprocessor=None, backbone=backbone)
    model.compile(sampler=sampler, jit_compile=False, run_eagerly=run_eagerly)
    return model


def prompt() -> dict[str, np.ndarray]:
    tokens, mask = np.zeros((1, LENGTH), "i4"), np.zeros((1, LENGTH), "i4")
    tokens[0, :PROMPT], mask[0, :PROMPT] = [4, 7, 2], 1
    return {"token_ids": tokens, "padding_mask": mask}
