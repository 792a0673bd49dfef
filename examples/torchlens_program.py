"""A first TorchLens program with another import; docs/torchlens.md has the rest."""

from __future__ import annotations

import flowscope as tl
import keras
import tensorflow as tf


def main() -> tl.Trace:
    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(4, activation="relu", name="hidden")
    model = keras.Sequential([keras.Input((3,)), hidden, keras.layers.Dense(2, name="head")])
    x = tf.ones((1, 3), dtype=tf.float32)

    trace = tl.trace(model, x, backend="tf")
    print(trace.summary())
    print(trace["relu_1"].label, trace["relu_1"].out)  # short label
    print(trace["relu_1_6"].layer_label, trace["relu_1_6:1"].pass_index)  # long ones
    print(trace["hidden"].calls[0].call_label, trace["hidden:1"].out.shape)  # module, its call
    print(trace[-1].label, [op.label for op in trace[:2]], len(trace))
    print([layer.label for layer in trace.layers.find("matmul")])
    print(trace.validation_replay_status.state)

    kept = tl.trace(model, x, save=tl.func("relu") & tl.in_module("hidden"))
    print(kept.num_kept, "value kept;", tl.pluck(model, x, "relu_1").shape)
    print(sorted(tl.extract(model, x, ["hidden", "head"])))
    try:
        tl.trace(model, x, save_new_outs=True)
    except tl.FlowScopeError as error:  # what is not here says so, and names what is
        print(type(error).__name__)
    return trace


if __name__ == "__main__":
    main()
