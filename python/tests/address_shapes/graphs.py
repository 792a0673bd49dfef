"""Functional and sequential models, compiled ones among them."""

from __future__ import annotations

from typing import Any

import keras

from address_shapes.base import ROWS, L, built, dense, shape


@shape("layers.0 first second", "first second", aliases={"layers.1": "first", "layers.2": "second"})
def functional_named() -> Any:
    i = keras.Input((3,))
    return keras.Model(i, dense("second")(dense("first")(i))), (ROWS,)


@shape(
    "layers.0 layers.1 layers.2",
    "layers.1 layers.2",
    variables="layers.1.kernel layers.2.kernel",
)
def functional_unnamed() -> Any:
    i = keras.Input((3,))
    return keras.Model(i, dense()(dense()(i))), (ROWS,)


@shape("x layers.1 mid layers.3", "layers.1 mid layers.3", aliases={"layers.0": "x"})
def functional_mixed_names() -> Any:
    i = keras.Input((3,), name="x")
    return keras.Model(i, L.ReLU()(dense("mid")(L.ReLU()(i)))), (ROWS,)


@shape("layers.0 lin operations.2 operations.3", "lin operations.2 operations.3")
def functional_raw_ops() -> Any:
    i = keras.Input((3,))
    return keras.Model(i, keras.ops.sum(keras.ops.abs(dense("lin")(i)), axis=1)), (ROWS,)


@shape("a b enc operations.3", "enc*2 operations.3", aliases={"layers.2": "enc"})
def functional_shared() -> Any:
    a, b, enc = keras.Input((3,), name="a"), keras.Input((3,), name="b"), dense("enc")
    return keras.Model([a, b], enc(a) - enc(b)), ([ROWS, ROWS],)


@shape(
    "layers.0 scale backbone backbone.conv_a backbone.layers.1 cls",
    "scale backbone backbone.conv_a backbone.layers.1 cls",
    aliases={"conv_a": "backbone.conv_a", "backbone.layers.0": "backbone.conv_a"},
)
def functional_over_sequential() -> Any:
    inner = keras.Sequential([keras.Input((3,)), dense("conv_a"), dense()], name="backbone")
    i = keras.Input((3,))
    return keras.Model(i, dense("cls")(inner(L.Rescaling(0.5, name="scale")(i)))), (ROWS,)


@shape(
    "layers.0 outer outer.layers.0 outer.middle outer.middle.layers.0 outer.middle.inner "
    "outer.middle.inner.layers.0 outer.middle.inner.leaf",
    "outer outer.middle outer.middle.inner outer.middle.inner.leaf",
    variables="outer.middle.inner.leaf.kernel",
    aliases={"leaf": "outer.middle.inner.leaf"},
)
def functional_three_deep() -> Any:
    wrapped: Any = dense("leaf")
    for name in ("inner", "middle", "outer", None):
        i = keras.Input((3,))
        wrapped = keras.Model(i, wrapped(i), name=name)
    return wrapped, (ROWS,)


class WithAttributes(keras.Model):
    """A functional model by inheritance, with attributes beside the graph."""

    def __init__(self) -> None:
        self.encoder = None
        i = keras.Input((3,))
        encoder = L.Dense(3, use_bias=False)
        super().__init__(i, dense("head")(encoder(i)))
        self.encoder = encoder
        self.probe = dense("probe_name")
        self.probe.build((None, 3))


@shape(
    "layers.0 head encoder probe",
    "encoder head",
    aliases={"layers.1": "encoder", "layers.2": "head", "probe_name": "probe"},
)
def functional_with_attributes() -> Any:
    return WithAttributes(), (ROWS,)


@shape("one two", "one two", aliases={"layers.0": "one", "layers.1": "two"})
def sequential_named() -> Any:
    return built(keras.Sequential([dense("one"), dense("two")]))


@shape("layers.0 layers.1", "layers.0 layers.1", variables="layers.0.kernel layers.1.kernel")
def sequential_unnamed() -> Any:
    return built(keras.Sequential([keras.Input((3,)), dense(), dense()]))


@shape(
    "layers.0 layers.0.layers.0 layers.0.deep layers.1",
    "layers.0 layers.0.layers.0 layers.0.deep layers.1",
    aliases={"layers.0.layers.1": "layers.0.deep"},
)
def sequential_nested() -> Any:
    return built(keras.Sequential([keras.Sequential([dense(), dense("deep")]), dense()]))


@shape("layers.0 layers.1", "layers.0 layers.1")
def renamed_by_process_counters() -> Any:
    for _ in range(12):
        dense()  # moves Keras' counter of the name "dense"
    return built(keras.Sequential([dense(), dense()]))


@shape("layers.0 layers.1", "layers.0 layers.1", no_aliases=("layers.0.layers.0",))
def names_that_look_generated() -> Any:
    return built(keras.Sequential([dense("dense_7"), dense("dense_8")]))


@shape(
    "layers.0 lin",
    "lin",
    variables="lin.kernel _compile_metrics._flat_metrics.0.metrics.0.total "
    "_compile_metrics._flat_metrics.0.metrics.0.count _loss_tracker.total _loss_tracker.count "
    "optimizer.iterations optimizer.learning_rate optimizer._momentums.0 optimizer._velocities.0",
    aliases={
        "optimizer.momentums.lin.kernel": "optimizer._momentums.0",
        "optimizer.velocities.lin.kernel": "optimizer._velocities.0",
        "loss/total": "_loss_tracker.total",
    },
)
def compiled() -> Any:
    i = keras.Input((3,))
    model = keras.Model(i, dense("lin")(i))
    model.compile("adam", "mse", metrics=["mae"])
    model.train_on_batch(ROWS, ROWS)
    return model, (ROWS,)
