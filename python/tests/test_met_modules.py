"""Modules that no search from the root finds: arguments of the call, and those met in calls."""

from __future__ import annotations

from typing import Any

import flowscope as fs
import keras
import pytest
import tensorflow as tf


@keras.saving.register_keras_serializable("met")
class Block(keras.layers.Layer):
    """Holds layers in a list and in a dictionary, and makes one when it is built."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parts = [keras.layers.Dense(3), keras.layers.Dense(3)]
        self.by_name = {"norm": keras.layers.LayerNormalization()}

    def build(self, shape: Any) -> None:
        self.late = keras.layers.Dense(3)

    def call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return self.late(self.by_name["norm"](x))


class Net(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Block()
        self.head = keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.head(self.encoder(x))


BELOW = {
    "": "Net",
    ".encoder": "Block",
    ".encoder.parts.0": "Dense",
    ".encoder.parts.1": "Dense",
    ".encoder.by_name.norm": "LayerNormalization",
    ".encoder.late": "Dense",
    ".head": "Dense",
}
VARIABLES = {
    ".encoder.parts.0.kernel",
    ".encoder.parts.0.bias",
    ".encoder.parts.1.kernel",
    ".encoder.parts.1.bias",
    ".encoder.by_name.norm.gamma",
    ".encoder.by_name.norm.beta",
    ".encoder.late.kernel",
    ".encoder.late.bias",
    ".head.kernel",
    ".head.bias",
}
NUM_PARAMS = 3 * (3 * 3 + 3) + 2 * 3 + 3 * 2 + 2
X = tf.ones((2, 3))


def step(model: Any, x: Any) -> Any:
    return model(x)


def step_of_pair(pair: Any, x: Any) -> Any:
    return pair["student"](x)


def step_of_any(x: Any, *rest: Any, **more: Any) -> Any:
    return (rest[0] if rest else more["net"])(x)


def captured(net: Any) -> fs.Trace:
    with fs.capture() as recording:
        net(X)
    return recording.trace


WAYS = {
    "argument": (lambda net: fs.trace(step, (net, X)), "model"),
    "keyword": (lambda net: fs.trace(step, input_kwargs={"model": net, "x": X}), "model"),
    "in a dictionary": (lambda net: fs.trace(step_of_pair, ({"student": net}, X)), "pair.student"),
    "one of many": (lambda net: fs.trace(step_of_any, (X, net)), "rest.0"),
    "of no name": (lambda net: fs.trace(step_of_any, X, {"net": net}), "net"),
    "block": (captured, "created.0"),
}


@pytest.mark.parametrize("built", [True, False], ids=["built", "unbuilt"])
@pytest.mark.parametrize("way", WAYS)
def test_what_it_holds_goes_by_attributes(way: str, built: bool) -> None:
    record, address = WAYS[way]
    net = Net()
    if built:
        net(X)
    for _ in range(2):
        trace = record(net)
        modules = {m.address: m for m in trace.modules if m.address != "self"}
        assert {a: m.class_name for a, m in modules.items()} == {
            address + below: name for below, name in BELOW.items()
        }
        assert {v.address for v in trace.variables} == {address + v for v in VARIABLES}
        assert modules[address].num_params == NUM_PARAMS == net.count_params()
        for below in BELOW:
            assert len(modules[address + below].calls) == 1
        head = modules[address + ".head"]
        assert head.parent.address == address
        assert head.config["units"] == 2
        assert (modules[address + ".head"].calls[-1].out == net(X).numpy()).all()
        assert trace.lint() == []


def test_an_argument_that_the_closure_has_too_has_one_address() -> None:
    net = Net()
    trace = fs.trace(lambda model, x: model(x) + net(x), (net, X))
    addresses = {m.address for m in trace.modules}
    assert addresses == {"self"} | {"net" + below for below in BELOW}
    assert trace["model.head"].address == "net.head"
    assert len(trace["net.head"].calls) == 2


def test_an_optimizer_as_an_argument_names_its_slots() -> None:
    net = Net()
    net(X)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)

    def train(model: Any, opt: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x))
        opt.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    train(net, optimizer, X)
    trace = fs.trace(train, (net, optimizer, X))
    addresses = {v.address for v in trace.variables}
    assert {"opt.iterations", "opt.learning_rate", "model.head.kernel"} <= addresses
    slot = next(v for v in trace.variables if "opt.momentums.model.head.kernel" in v.addresses)
    assert len(slot.writes) == 1


def test_a_block_made_anew_in_each_call_is_one_module() -> None:
    class Maker(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return Block()(x)

    maker = Maker()
    trace = fs.trace(lambda x: maker(maker(x)), X)
    modules = {m.address: len(m.calls) for m in trace.modules}
    made = {"maker.created.0" + below: 2 for below in (*BELOW,) if below.startswith(".encoder")}
    made = {key.replace(".encoder", ""): calls for key, calls in made.items()}
    assert modules == {"self": 0, "maker": 2} | made
    assert trace.lint() == []


def test_a_sequential_met_in_a_block_has_no_inner_graph() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.ReLU()])
    with fs.capture() as recording:
        model(X)
    assert [m.address for m in recording.trace.modules] == [
        "created.0",
        "created.0.layers.0",
        "created.0.layers.1",
    ]


def test_tensors_and_plain_values_as_arguments_find_nothing() -> None:
    net = Net()

    def call(x: Any, scale: float, names: list[str], table: dict[str, Any]) -> Any:
        return net(x) * scale

    trace = fs.trace(call, (X, 2.0, ["a"], {"b": X}))
    assert {m.address for m in trace.modules} == {"self"} | {"net" + below for below in BELOW}


def test_other_arguments_of_one_function_are_found_anew() -> None:
    first, second = Net(), keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    first(X)
    for model, below in ((first, set(BELOW)), (second, {"", ".layers.0"})) * 2:
        trace = fs.trace(step, (model, X))
        assert {m.address for m in trace.modules} == {"self"} | {"model" + b for b in below}


def test_what_a_configuration_runs_is_not_recorded() -> None:
    class Asked(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x + 1.0

        def get_config(self) -> dict[str, Any]:
            return {"half": float(tf.divide(1.0, 2.0))}

    trace = fs.trace(lambda x: Asked()(x), X)
    assert [op.type for op in trace] == ["input", "AddV2"]
    assert trace.modules[1].config == {"half": 0.5}
