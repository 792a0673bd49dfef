"""Interleaved timing of several ways to do the same work."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

Run = Callable[[], Any]
SAMPLE_SECONDS = 0.05  # a way that is quicker is repeated so often within one sample


class Spent(NamedTuple):
    """Seconds on the clock, and seconds of processor time of all threads of this process.

    A busy machine makes the first long and leaves the second much as it is.
    """

    wall: float
    cpu: float

    def __add__(self, other: tuple[Any, ...]) -> Spent:
        return Spent(self.wall + other[0], self.cpu + other[1])

    def __truediv__(self, other: Spent) -> Spent:
        return Spent(self.wall / other.wall, self.cpu / other.cpu)


def spent_by(run: Run) -> Spent:
    """What one run takes; what it gives back is dropped before the next, unclocked."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    spent = Spent(time.perf_counter() - wall, time.process_time() - cpu)
    del result
    return spent


def ratios(plain: Run, ways: dict[str, Run], rounds: int) -> dict[str, list[Spent]]:
    """For each way, what it takes over what ``plain`` takes, in each round.

    A round runs all of them one after the other until the plain one has taken ``SAMPLE_SECONDS``,
    in an order that turns by one place from round to round, so that what the machine does meanwhile
    falls on all alike.
    """
    everything = {"": plain, **ways}
    for run in everything.values():
        run()
        run()
    repeats = max(1, round(SAMPLE_SECONDS / max(spent_by(plain).wall, 1e-6)))
    names = list(everything)
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    for number in range(rounds):
        gc.collect()
        turned = names[number % len(names) :] + names[: number % len(names)]
        total = dict.fromkeys(names, Spent(0.0, 0.0))
        for _ in range(repeats):
            for name in turned:
                total[name] += spent_by(everything[name])
        for name in ways:
            wall, cpu = (a / b for a, b in zip(total[name], total[""], strict=True))
            found[name].append(Spent(wall, cpu))
    return found


def summary(values: list[Spent]) -> dict[str, float]:
    """Median and quartiles of the clock's ratios, median of those of processor time."""
    cpu = statistics.median(value.cpu for value in values)
    walls = [value.wall for value in values]
    if len(walls) < 2:
        return {"median": walls[0], "low": walls[0], "high": walls[0], "cpu": cpu}
    low, median, high = statistics.quantiles(walls, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high, "cpu": cpu}
