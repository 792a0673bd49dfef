"""Random function graphs give the same bits and state opened as in TensorFlow's executor."""

from __future__ import annotations

import _shared

ITERATIONS = 300
SAMPLE = 20
CHUNK = 300


def run(iterations: int, seed: int) -> dict[str, int]:
    assert _shared.TESTS.is_dir()
    import random_graphs

    graphs, nodes = random_graphs.check_many(range(seed, seed + iterations))
    print(f"seeds {seed} to {seed + iterations - 1}")
    print("graphs with", dict(graphs))
    print("nodes", dict(nodes.most_common()))
    if iterations >= ITERATIONS:
        rare = {kind: graphs[kind] for kind in random_graphs.KINDS if graphs[kind] < 30}
        assert not rare, f"each kind has to be in 30 graphs: {rare}"
    counted = {f"graphs_with_{kind}": graphs[kind] for kind in random_graphs.KINDS}
    return {"graphs": iterations, **counted, **{f"nodes_{k}": n for k, n in nodes.items()}}
