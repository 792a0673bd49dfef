"""``generate()`` of a causal language model of keras_hub, opened: one iteration for every token."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import checks
import flowscope as fs
import keras
import numpy as np
import pytest

BESIDE = Path(__file__).resolve().parents[2] / "build/keras_hub"
LENGTH, PROMPT, WORDS = 9, 3, 20


@pytest.fixture(scope="module")
def keras_hub() -> Any:
    sys.path.append(str(BESIDE))  # last: it must not hide what .venv has
    try:
        return pytest.importorskip(
            "keras_hub", reason="see tools/requirements-keras-hub.txt", exc_type=ImportError
        )
    finally:
        sys.path.remove(str(BESIDE))


def language_model(hub: Any, sampler: str) -> Any:
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
    model.compile(sampler=sampler, jit_compile=False)
    return model


def prompt() -> dict[str, np.ndarray]:
    tokens, mask = np.zeros((1, LENGTH), "i4"), np.zeros((1, LENGTH), "i4")
    tokens[0, :PROMPT], mask[0, :PROMPT] = [4, 7, 2], 1
    return {"token_ids": tokens, "padding_mask": mask}


@pytest.mark.parametrize("sampler", ["greedy", "top_k"])
def test_every_token_is_an_iteration(keras_hub: Any, sampler: str) -> None:
    plain = language_model(keras_hub, sampler).generate(prompt(), stop_token_ids=None)
    model = language_model(keras_hub, sampler)
    with fs.capture(model) as recording:
        result = model.generate(prompt(), stop_token_ids=None)
    trace = recording.trace
    assert np.array_equal(result["token_ids"], plain["token_ids"])
    assert {op.opaque_reason for op in trace if op.kind == "call" and op.opaque} == set()
    checks.assert_sound(trace)
    turns = [r for r in trace.regions if r.kind == "iteration"]
    assert [r.index for r in turns] == list(range(LENGTH - PROMPT))
    # The cache of keys and values is filled with the prompt, then one token goes through the layers
    # in every iteration.
    layer = trace.modules["backbone.transformer_layers.0"]
    assert [call.out.shape[1] for call in layer.calls] == [LENGTH] + [1] * (LENGTH - PROMPT)
    if sampler == "greedy":
        picks = [op for op in trace if op.type == "ArgMax" and op.iteration is not None]
        picked = [int(op.out.reshape(-1)[0]) for op in picks]
        assert picked == result["token_ids"][0, PROMPT:].tolist()
