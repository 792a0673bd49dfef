"""``generate()`` of a causal language model of keras_hub, opened: one iteration for every token."""

from __future__ import annotations

import causal_model
import checks
import flowscope as fs
import numpy as np
import pytest
from causal_model import LENGTH, PROMPT


@pytest.fixture(scope="module", autouse=True)
def _keras_hub() -> None:
    if not causal_model.available():
        pytest.skip(causal_model.WHERE)


@pytest.mark.parametrize("sampler", ["greedy", "top_k"])
def test_every_token_is_an_iteration(sampler: str) -> None:
    plain = causal_model.build(sampler).generate(causal_model.prompt(), stop_token_ids=None)
    model = causal_model.build(sampler)
    with fs.capture(model) as recording:
        result = model.generate(causal_model.prompt(), stop_token_ids=None)
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
