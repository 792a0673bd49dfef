"""Raw callables: what their code reaches."""

from __future__ import annotations

import functools
import types
from typing import Any

import keras
import tensorflow as tf

from address_shapes.base import ROWS, Scale, dense, shape


@shape("fs.0 lin", "lin fs.0", aliases={"given": "lin"})
def closure() -> Any:
    lin, fs = dense("given"), [Scale()]
    lin.build((None, 3))
    return (lambda x: fs[0](lin(x))), (ROWS,)


@shape("lin", "lin", variables="lin.kernel opt.iterations opt.learning_rate")
def closure_with_optimizer() -> Any:
    lin, opt = dense(), keras.optimizers.SGD(0.1)
    lin.build((None, 3))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(lin(x))
        variables = lin.trainable_variables
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    step.lin = lin
    return step, (ROWS,)


@shape("extra model", "model extra")
def defaults_and_attributes() -> Any:
    def run(x: Any, model: Any = Scale()) -> Any:  # noqa: B008
        return run_attributes["extra"](model(x))

    run.extra = Scale()
    run_attributes = run.__dict__
    return run, (ROWS,)


GLOBAL_SCALE = Scale()
UNUSED_SCALE = Scale()


def _helper(x: Any) -> Any:
    return GLOBAL_SCALE(x)


@shape("GLOBAL_SCALE", "GLOBAL_SCALE*2", aliases={"_helper.GLOBAL_SCALE": "GLOBAL_SCALE"})
def globals_of_a_function() -> Any:
    return (lambda x: _helper(GLOBAL_SCALE(x))), (ROWS,)


class Box:
    """Its attributes have the names of globals, and of what a module holds."""

    def __init__(self) -> None:
        self.UNUSED_SCALE, self.second = Scale(), Scale()


BOX = Box()
PARTS = types.ModuleType("parts")
vars(PARTS).update(first=Scale(), second=Scale())


@shape("PARTS.first BOX.UNUSED_SCALE BOX.second", "PARTS.first BOX.UNUSED_SCALE BOX.second")
def attributes_with_the_names_of_globals() -> Any:
    def run(x: Any) -> Any:
        return [BOX.second(BOX.UNUSED_SCALE(y)) for y in [PARTS.first(x)]]

    return run, (ROWS,)


class Service:
    def __init__(self) -> None:
        self.net = Scale()
        self.unused = Scale()

    def predict(self, x: Any) -> Any:
        return self.net(x)

    def __call__(self, x: Any) -> Any:
        return self.predict(x)


@shape("net unused", "net", variables="net.w unused.w")
def bound_method() -> Any:
    return Service().predict, (ROWS,)


@shape("net unused", "net")
def callable_object() -> Any:
    return Service(), (ROWS,)


class Methods(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Scale()

    def encode(self, x: Any) -> Any:
        return self.inner(x)


@shape("inner", "inner", variables="inner.w")
def method_of_a_module() -> Any:
    return Methods().encode, (ROWS,)


@shape("net", "net")
def partial_of_a_function() -> Any:
    def run(net: Any, x: Any) -> Any:
        return net(x)

    return functools.partial(run, Scale()), (ROWS,)


@shape("lin", "lin")
def decorated_function() -> Any:
    lin = Scale()

    def logged(fn: Any) -> Any:
        @functools.wraps(fn)
        def wrapper(*args: Any) -> Any:
            return fn(*args)

        return wrapper

    @logged
    def run(x: Any) -> Any:
        return lin(x)

    return run, (ROWS,)
