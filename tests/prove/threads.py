"""Eight threads record different models at once, each trace right; a ninth adds nothing."""

from __future__ import annotations

import _shared

ITERATIONS = 200
SAMPLE = 10
CHUNK = 50


def run(iterations: int, seed: int) -> dict[str, int]:
    assert _shared.TESTS.is_dir()
    import threaded

    return threaded.eight_and_a_ninth(iterations, first_seed=seed)
