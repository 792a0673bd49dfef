"""``tf.Module``, plain objects, cycles, layers made in a call."""

from __future__ import annotations

import types
from typing import Any

import keras
import tensorflow as tf

from address_shapes.base import ROWS, Chain, L, Scale, built, dense, shape


class Containers(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gates = {"left": Scale(), "right": Scale()}
        self.stack, self.pair = [Scale()], (Scale(),)

    def __call__(self, x: Any) -> Any:
        for step in (self.gates["left"], self.gates["right"], self.stack[0], self.pair[0]):
            x = step(x)
        return x


@shape(
    "gates.left gates.right stack.0 pair.0",
    "gates.left gates.right stack.0 pair.0",
    variables="gates.left.w gates.right.w stack.0.w pair.0.w",
)
def tf_module_containers() -> Any:
    return Containers(), (ROWS,)


class ModuleInLayer(L.Layer):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        self.module = Containers()

    def call(self, x: Any) -> Any:
        return self.module(x)


@shape(
    "layers.0 mix mix.module mix.module.gates.left mix.module.gates.right mix.module.stack.0 "
    "mix.module.pair.0",
    "mix mix.module mix.module.gates.left mix.module.gates.right mix.module.stack.0 "
    "mix.module.pair.0",
)
def tf_module_in_keras() -> Any:
    i = keras.Input((3,))
    return keras.Model(i, ModuleInLayer("mix")(i)), (ROWS,)


class LayersInModule(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = keras.Sequential([dense("lin")])
        self.layer = ModuleInLayer()

    def __call__(self, x: Any) -> Any:
        return self.layer(self.net(x))


@shape(
    "net net.lin layer layer.module layer.module.gates.left layer.module.gates.right "
    "layer.module.stack.0 layer.module.pair.0",
    "net net.lin layer layer.module layer.module.gates.left layer.module.gates.right "
    "layer.module.stack.0 layer.module.pair.0",
)
def keras_in_tf_module() -> Any:
    return built(LayersInModule())


class Looped(tf.Module):
    def __init__(self, parent: Any = None) -> None:
        super().__init__()
        self.scale = Scale()
        self.parent = parent
        self.child = Looped(self) if parent is None else None

    def __call__(self, x: Any) -> Any:
        return self.scale(x if self.child is None else self.child(x))


@shape(
    "scale child child.scale",
    "scale child child.scale",
    no_aliases=("child.parent", "child.parent.scale"),
)
def cycle() -> Any:
    return Looped(), (ROWS,)


class Helper:
    """Neither a layer nor a module: Keras does not track what it holds."""

    def __init__(self) -> None:
        self.lin = dense()
        self.lin.build((None, 3))
        self.options = types.SimpleNamespace(norm=L.Activation("relu", name="act"))


class WithHelper(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.helper = Helper()

    def order(self) -> list[Any]:
        return [self.helper.lin, self.helper.options.norm]


@shape(
    "helper.lin helper.options.norm",
    "helper.lin helper.options.norm",
    aliases={"act": "helper.options.norm"},
)
def plain_object() -> Any:
    return built(WithHelper())


class CreatesInCall(L.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.kept = dense()

    def build(self, shape: Any) -> None:
        self.kept.build(shape)

    def call(self, x: Any) -> Any:
        x = L.ReLU()(self.kept(x))
        return L.ReLU(name="given")(L.ReLU()(x))


@shape("kept", "kept created.0 created.1 given", created="created.0 created.1 given")
def layers_created_in_call() -> Any:
    return built(CreatesInCall())
