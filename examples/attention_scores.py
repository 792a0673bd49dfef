"""Attention scores of a MultiHeadAttention inside a subclassed model, without touching the model.

Keras gives the scores only where the layer is called with ``return_attention_scores=True``. Here
they are read from the record of an ordinary call.
"""

from __future__ import annotations

from typing import Any

import flowscope as fs
import keras
import numpy as np
import tensorflow as tf


class Block(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.attend = keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)
        self.norm = keras.layers.LayerNormalization()

    def call(self, x: Any) -> Any:
        return self.norm(x + self.attend(x, x))


class Reader(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.embed = keras.layers.Embedding(50, 8)
        self.blocks = [Block() for _ in range(3)]
        self.head = keras.layers.Dense(2)

    def call(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])


def main() -> dict[str, np.ndarray]:
    keras.utils.set_random_seed(0)
    model, tokens = Reader(), tf.constant([[3, 14, 15, 9, 2, 6]])
    model(tokens)  # builds it
    scores_sites = fs.func("softmax") & fs.in_module("blocks.*.attend")

    # One call, keeping only the scores: batch x heads x query x key, for each block.
    trace = fs.trace(model, tokens, save=scores_sites)
    scores = {op.module.address: op.out for op in trace.find_sites(scores_sites)}
    for address, value in scores.items():
        most = value[0].mean(axis=0).argmax(axis=-1)
        print(f"{address}: {value.shape}, every row sums to 1: {np.allclose(value.sum(-1), 1)}")
        print(f"  each token looks most at token {most.tolist()}")

    # The same scores for all blocks as one array: blocks x batch x heads x query x key.
    print(trace.stack(scores_sites).shape)
    return scores


if __name__ == "__main__":
    main()
