"""Interleaved timing of several ways to do the same work."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

Run = Callable[[], Any]
SAMPLE_SECONDS = 0.05  # a way that is quicker is repeated so often within one sample


def sample(run: Run, repeats: int) -> float:
    """Seconds of ``repeats`` runs; what each gives back is dropped before the next, unclocked."""
    gc.collect()
    seconds = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        seconds += time.perf_counter() - start
        del result
    return seconds


def ratios(plain: Run, ways: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """For each way, its time over that of ``plain`` in each round.

    Every round runs all of them, in an order that turns by one place from round to round, so that
    what the machine does meanwhile falls on all alike.
    """
    everything = {"": plain, **ways}
    for run in everything.values():
        run()
        run()
    repeats = max(1, round(SAMPLE_SECONDS / max(sample(plain, 1), 1e-6)))
    names = list(everything)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        turned = names[number % len(names) :] + names[: number % len(names)]
        seconds = {name: sample(everything[name], repeats) for name in turned}
        for name in ways:
            found[name].append(seconds[name] / seconds[""])
    return found


def summary(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    if len(values) < 2:
        return {"median": values[0], "low": values[0], "high": values[0]}
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high}
