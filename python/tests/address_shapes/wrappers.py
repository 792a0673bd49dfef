"""Wrappers, recurrent layers, attention, state beside weights."""

from __future__ import annotations

from typing import Any

import keras

from address_shapes.base import ROWS, STEPS, L, dense, shape


@shape("layers.0 td td.layer", "td", uncounted="td.layer", aliases={"inner": "td.layer"})
def time_distributed() -> Any:
    i = keras.Input((4, 3))
    return keras.Model(i, L.TimeDistributed(dense("inner"), name="td")(i)), (STEPS,)


@shape(
    "layers.0 bi bi.forward_layer bi.forward_layer.cell bi.backward_layer bi.backward_layer.cell",
    "bi bi.forward_layer bi.backward_layer",
    uncounted="bi.forward_layer.cell bi.backward_layer.cell",
)
def bidirectional() -> Any:
    i = keras.Input((4, 3))
    return keras.Model(i, L.Bidirectional(L.GRU(2), name="bi")(i)), (STEPS,)


@shape("layers.0 rnn rnn.cell", "rnn", uncounted="rnn.cell")
def lstm() -> Any:
    i = keras.Input((4, 3))
    return keras.Model(i, L.LSTM(2, name="rnn")(i)), (STEPS,)


@shape(
    "layers.0 layers.1 layers.1.cell layers.1.cell.cells.0 layers.1.cell.cells.1",
    "layers.1",
    uncounted="layers.1.cell layers.1.cell.cells.0 layers.1.cell.cells.1",
)
def stacked_cells() -> Any:
    i = keras.Input((4, 3))
    return keras.Model(i, L.RNN([L.GRUCell(2), L.SimpleRNNCell(2)])(i)), (STEPS,)


ATTENTION = ("_query_dense", "_key_dense", "_value_dense", "_softmax", "_dropout_layer")


@shape(
    "layers.0 att " + " ".join(f"att.{part}" for part in (*ATTENTION, "_output_dense")),
    "att " + " ".join(f"att.{part}" for part in (*ATTENTION[:3], "_output_dense")),
    uncounted="att._softmax att._dropout_layer",
    aliases={"att.query_dense": "att._query_dense", "query": "att._query_dense"},
)
def attention() -> Any:
    i = keras.Input((4, 3))
    return keras.Model(i, L.MultiHeadAttention(2, 2, use_bias=False, name="att")(i, i)), (STEPS,)


@shape(
    "layers.0 bn drop",
    "bn drop",
    variables="bn.gamma bn.beta bn.moving_mean bn.moving_variance drop.seed_generator.state",
    aliases={"drop.seed_generator.seed_generator_state": "drop.seed_generator.state"},
)
def state_beside_weights() -> Any:
    i = keras.Input((3,))
    x = L.Dropout(0.5, name="drop")(L.BatchNormalization(name="bn")(i))
    return keras.Model(i, x), (ROWS,)


@shape("layers.0 lam lam.function.tail", "lam lam.function.tail")
def lambda_over_a_layer() -> Any:
    tail, i = dense(), keras.Input((3,))
    tail.build((None, 3))
    return keras.Model(i, L.Lambda(lambda x: tail(x), name="lam")(i)), (ROWS,)
