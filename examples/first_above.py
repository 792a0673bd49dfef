"""The first layer whose output exceeds 1e3, and why: the values on the way there."""

from __future__ import annotations

from typing import Any

import flowscope as fs
import keras
import tensorflow as tf

LIMIT = 1e3


class Exploding(keras.Model):
    """Its third block was given an initializer that is a thousand times too large."""

    def __init__(self) -> None:
        super().__init__()
        scales = (1.0, 1.0, 1000.0, 1.0)
        self.blocks = [
            keras.layers.Dense(
                16,
                activation="relu",
                kernel_initializer=keras.initializers.RandomNormal(stddev=scale, seed=i),
            )
            for i, scale in enumerate(scales)
        ]

    def call(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def main() -> str:
    model, x = Exploding(), tf.ones((2, 8))
    model(x)
    trace = fs.trace(model, x, keep="stats")  # statistics are enough, and need no memory
    first = next(op for op in trace if op.dtype == "float32" and op.stats["max"] > LIMIT)
    print(f"{first.module.address}: {first.label} reaches {first.stats['max']:.3g}")

    # What the op was given: its parents, and the variable behind one of them.
    for parent in first.parents:
        print(f"  from {parent.label} {parent.kind}: largest {parent.stats['max']:.3g}")
        for variable in parent.variables:
            print(f"       {variable.address}, shape {variable.shape}")

    # The same as a table, for more than one question: a row for each value, sources included.
    stats = trace.stats().to_pandas()
    rows = stats[stats["dtype"].eq("float32") & stats["max"].gt(LIMIT)]
    print(rows[["label", "module", "max"]].to_string(index=False))
    return str(first.module.address)


if __name__ == "__main__":
    main()
