"""The gates of an LSTM at every time step, and the cell state that they make."""

from __future__ import annotations

from typing import Any

import flowscope as fs
import keras
import numpy as np
import tensorflow as tf


class Tagger(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.memory = keras.layers.LSTM(4)
        self.head = keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.head(self.memory(x))


def main() -> dict[str, np.ndarray]:
    keras.utils.set_random_seed(0)
    model, x = Tagger(), tf.random.normal((1, 5, 3))
    model(x)
    trace = fs.trace(model, x)

    # Keras asks the cell once more, before the loop, for the shape of its output: that is call 1.
    cell = trace["memory.cell"]
    steps = cell.calls[-x.shape[1] :]
    print(f"{cell.address}: {len(cell.calls)} calls, {len(steps)} time steps")

    # Within one step the sigmoids come in the order of the cell's code: input, forget, output.
    gates = {"input": [], "forget": [], "output": []}
    for step in steps:
        sigmoids = [op for op in step.ops if op.type == "Sigmoid"]
        for name, op in zip(gates, sigmoids, strict=True):
            gates[name].append(op.out)
    by_step = {name: np.stack(values) for name, values in gates.items()}
    for name, value in by_step.items():
        print(f"{name:7} gate: steps x batch x units {value.shape}, mean {value.mean():.3f}")

    # What a call of the cell gave back: its output, and both states (see steps[-1].output_paths).
    hidden, _, carry = steps[-1].outputs
    print("last hidden state", hidden.round(3), "last cell state", carry.round(3))
    assert np.array_equal(hidden, trace["memory"].out)
    return by_step


if __name__ == "__main__":
    main()
