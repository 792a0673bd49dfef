"""Subclassed models: containers, privacy, sharing, names."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import keras

from address_shapes.base import ROWS, Chain, L, built, dense, shape


class Plain(Chain):
    def __init__(self) -> None:
        super().__init__(name="plain")
        self.first = dense()
        self.second = dense("given")

    def order(self) -> list[Any]:
        return [self.first, self.second]


@shape(
    "first second",
    "first second",
    aliases={"given": "second", "plain": "self", "plain/given": "second"},
    variables="first.kernel second.kernel",
)
def subclassed() -> Any:
    return built(Plain())


class Listed(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [dense(f"blk{i}") for i in range(3)]
        self.head = dense("head")

    def order(self) -> list[Any]:
        return [*self.blocks, self.blocks[0], self.head]


@shape(
    "blocks.0 blocks.1 blocks.2 head",
    "blocks.0*2 blocks.1 blocks.2 head",
    aliases={"blk0": "blocks.0", "blk2": "blocks.2"},
)
def list_with_reuse() -> Any:
    return built(Listed())


class Keyed(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.gates = {"left": dense(), "right": dense()}
        self.by_number = {3: dense(), (0, 1): dense()}
        self.ordered = collections.OrderedDict(z=dense(), a=dense())

    def order(self) -> list[Any]:
        return [*self.gates.values(), self.by_number[3], self.ordered["a"]]


@shape(
    "gates.left gates.right by_number.3 by_number.0,1 ordered.z ordered.a",
    "gates.left gates.right by_number.3 ordered.a",
)
def dicts() -> Any:
    return built(Keyed())


class Fields(collections.namedtuple("Fields", ["up", "down"])):
    __slots__ = ()


class Tuples(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.pair = (dense(), dense())
        self.fields = Fields(dense(), dense())

    def order(self) -> list[Any]:
        return [self.pair[0], self.pair[1], self.fields.down]


@shape("pair.0 pair.1 fields.up fields.down", "pair.0 pair.1 fields.down")
def tuples() -> Any:
    return built(Tuples())


@dataclasses.dataclass
class Parts:
    attention: Any
    mlp: list[Any]


@dataclasses.dataclass(slots=True)
class SlottedParts:
    norm: Any


class OfDataclass(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.parts = Parts(dense("att"), [dense(), dense()])
        self.slotted = SlottedParts(dense())

    def order(self) -> list[Any]:
        return [self.parts.attention, *self.parts.mlp, self.slotted.norm]


@shape(
    "parts.attention parts.mlp.0 parts.mlp.1 slotted.norm",
    "parts.attention parts.mlp.0 parts.mlp.1 slotted.norm",
    aliases={"att": "parts.attention"},
)
def dataclasses_of_layers() -> Any:
    return built(OfDataclass())


class Mixed(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.stages = [{"att": dense(), "mlp": [dense(), (dense(), None)]}, {"att": dense()}]
        self.numbers = list(range(1000))

    def order(self) -> list[Any]:
        first = self.stages[0]
        return [first["att"], first["mlp"][0], first["mlp"][1][0], self.stages[1]["att"]]


@shape(
    "stages.0.att stages.0.mlp.0 stages.0.mlp.1.0 stages.1.att",
    "stages.0.att stages.0.mlp.0 stages.0.mlp.1.0 stages.1.att",
)
def containers_in_containers() -> Any:
    return built(Mixed())


class OfSet(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.named = {dense("b"), dense("a")}
        self.unnamed = {dense(), dense(), dense()}

    def order(self) -> list[Any]:
        return sorted(self.named, key=lambda layer: layer.name)


@shape("named.a named.b unnamed.0 unnamed.1 unnamed.2", "named.a named.b")
def sets() -> Any:
    return built(OfSet())


class Private(Chain):
    def __init__(self) -> None:
        super().__init__()
        self._hidden = dense()
        self._both = dense()
        self.holder = [self._both]
        self._named = dense()

    @property
    def named(self) -> Any:
        return self._named

    @property
    def trap(self) -> Any:
        raise AssertionError("a property of the user ran")

    def order(self) -> list[Any]:
        return [self._hidden, self._both, self._named]


@shape(
    "_hidden holder.0 _named",
    "_hidden holder.0 _named",
    aliases={"_both": "holder.0", "named": "_named"},
)
def private_attributes() -> Any:
    return built(Private())


class Block(L.Layer):
    def __init__(self, name: str | None = None, lin: Any = None) -> None:
        super().__init__(name=name)
        self.lin = lin or dense()

    def build(self, shape: Any) -> None:
        if not self.lin.built:
            self.lin.build(shape)

    def call(self, x: Any) -> Any:
        return self.lin(x)


class Stack(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [Block(), Block()]

    def order(self) -> list[Any]:
        return list(self.blocks)


class Deep(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Stack()
        self.head = dense()

    def order(self) -> list[Any]:
        return [self.encoder, self.head]


@shape(
    "encoder encoder.blocks.0 encoder.blocks.0.lin encoder.blocks.1 encoder.blocks.1.lin head",
    "encoder encoder.blocks.0 encoder.blocks.0.lin encoder.blocks.1 encoder.blocks.1.lin head",
    variables="encoder.blocks.0.lin.kernel encoder.blocks.1.lin.kernel head.kernel",
)
def subclassed_three_deep() -> Any:
    return built(Deep())


class Tied(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Block()
        self.decoder = Block(lin=self.encoder.lin)

    def order(self) -> list[Any]:
        return [self.encoder, self.decoder]


@shape(
    "encoder encoder.lin decoder",
    "encoder decoder encoder.lin*2",
    aliases={"decoder.lin": "encoder.lin"},
    variables="encoder.lin.kernel",
)
def tied_layers() -> Any:
    return built(Tied())


class TiedWeight(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.one = dense()
        self.one.build((None, 3))
        self.two = Block()
        self.two.shared = [self.one.kernel]

    def order(self) -> list[Any]:
        return [self.one, self.two]


@shape(
    "one two two.lin",
    "one two two.lin",
    variables="one.kernel two.lin.kernel",
    aliases={"two.shared.0": "one.kernel"},
)
def tied_weights() -> Any:
    return built(TiedWeight())


class OverFunctional(Chain):
    def __init__(self) -> None:
        super().__init__()
        i = keras.Input((3,))
        self.backbone = keras.Model(i, dense()(dense("conv_a")(i)))
        self.block = Block()

    def order(self) -> list[Any]:
        return [self.backbone, self.block]


@shape(
    "backbone backbone.layers.0 backbone.conv_a backbone.layers.2 block block.lin",
    "backbone backbone.conv_a backbone.layers.2 block block.lin",
    aliases={"conv_a": "backbone.conv_a"},
)
def subclassed_over_functional() -> Any:
    return built(OverFunctional())


@shape("layers.0 blk blk.lin layers.2 layers.2.lin", "blk blk.lin layers.2 layers.2.lin")
def functional_over_subclassed() -> Any:
    i = keras.Input((3,))
    return keras.Model(i, Block()(Block(name="blk")(i))), (ROWS,)


class SameNames(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.left = keras.Sequential([dense("same")], name="twin")
        self.right = keras.Sequential([dense("same")], name="twin")

    def order(self) -> list[Any]:
        return [self.left, self.right]


@shape(
    "left left.same right right.same",
    "left left.same right right.same",
    aliases={"left.layers.0": "left.same", "right.layers.0": "right.same"},
    no_aliases=("same", "twin"),
)
def same_names_twice() -> Any:
    return built(SameNames())


class Colliding(Chain):
    def __init__(self) -> None:
        super().__init__()
        self.parts = {"a.b": dense(), "a": {"b": dense()}, 1: dense(), "1": dense()}

    def order(self) -> list[Any]:
        return list(self.parts.values())[2:]


@shape("parts.a.b parts.a.b~2 parts.1 parts.1~2", "parts.1 parts.1~2")
def keys_that_spell_one_path() -> Any:
    return built(Colliding())


class Loose(L.Layer):
    """Weights and layers that only Keras' tracker knows."""

    def __init__(self) -> None:
        super().__init__()
        self.part = dense("replaced")
        self.part = dense()

    def build(self, shape: Any) -> None:
        self.add_weight(shape=(3, 3), name="table")
        self.part.build(shape)

    def call(self, x: Any) -> Any:
        return self.part(x)


@shape("part replaced", "part", variables="part.kernel table", aliases={"loose": "self"})
def only_tracked() -> Any:
    return built(Loose())
