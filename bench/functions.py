"""What opening a compiled function costs: `dev bench --functions`.

Each round traces a function of its own around the workload and runs it once, so that TensorFlow has
compiled it; then it is recorded twice. The first recording plans the body, node by node, and asks
Python who made its ops; the later ones find both.
"""

from __future__ import annotations

from typing import Any

import measure
import workloads

ROUNDS = 3  # tracing a function of 20,000 nodes takes longer than all else


def results(name: str, rounds: int) -> list[dict[str, Any]]:
    """The first and a later recording of a function over its body run eagerly."""
    import flowscope as fs
    import tensorflow as tf

    model, x = workloads.WORKLOADS[name].build()
    model(x)
    found: dict[str, list[measure.Spent]] = {"opened first": [], "opened again": []}
    for _ in range(min(rounds, ROUNDS)):
        function = tf.function(lambda x: model(x))
        function(x)
        eager = measure.spent_by(lambda: model(x))
        for values in found.values():
            values.append(measure.spent_by(lambda: fs.trace(function, x, save="none")) / eager)  # noqa: B023
    return [
        {"workload": name, "recorded": what, "budget": None, **measure.summary(values)}
        for what, values in found.items()
    ]
