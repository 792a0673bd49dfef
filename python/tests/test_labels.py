"""Labels, passes and keys: the same during the run and after, the same for two builds."""

from __future__ import annotations

from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


class Block(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm = keras.layers.LayerNormalization()
        self.parts = [keras.layers.Dense(4), keras.layers.Dense(4, activation="relu")]

    def call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(self.norm(x)) + x
        return x


def shared() -> Any:
    layer, given = keras.layers.Dense(4, name="twin"), keras.Input((4,))
    return keras.Model(given, layer(keras.layers.ReLU(name="gate")(layer(layer(given)))))


def stacked() -> Any:
    return keras.Sequential([keras.Input((4,)), Block(), Block(), keras.layers.Dense(2)])


def loop() -> Any:
    cell = keras.layers.Dense(4)
    cell.build((None, 4))

    def model(x: Any) -> Any:
        for _ in range(3):
            x = tf.tanh(cell(x)) + tf.tanh(x)
        return x

    return model


BUILDS = [shared, stacked, loop, lambda: keras.layers.LSTM(3)]
IDS = ["shared", "stacked", "loop", "LSTM"]


def example(build: Any) -> Any:
    return tf.ones((2, 3, 4)) if build is BUILDS[-1] else tf.ones((2, 4))


@pytest.mark.parametrize("build", BUILDS, ids=IDS)
def test_labels_during_the_run_and_after(build: Any) -> None:
    seen: list[tuple[Any, ...]] = []

    def predicate(op: Any) -> bool:
        seen.append((op.label, op.layer_label, op.type, op.module, list(op.modules), op.pass_index))
        return True

    trace = fs.trace(build(), example(build), save=predicate)
    checks.assert_sound(trace)
    executed = [op for op in trace if op.kind not in checks.SOURCE_KINDS]
    asked = list(dict.fromkeys(entry[0] for entry in seen))
    assert asked == [op.label for op in executed] and len(executed) > 10
    after = {op.label: op for op in executed}
    for label, layer_label, op_type, module, modules, pass_index in seen:
        op = after[label]
        assert (op.layer_label, op.type, op.pass_index) == (layer_label, op_type, pass_index)
        own = (module, modules) == (op.module and op.module.address, op.modules)
        assert own or op.modules[: len(modules)] == modules, "or asked again as a module's output"


def test_the_kind_during_the_run_and_after() -> None:
    seen: dict[str, str] = {}
    variable = tf.Variable(1.0)

    def predicate(op: Any) -> bool:
        seen[op.label] = op.kind
        return True

    trace = fs.trace(lambda x: variable.assign_add(1.0) * x, tf.ones(2), save=predicate)
    assert seen == {op.label: op.kind for op in trace if op.label in seen} and len(seen) == 3


@pytest.mark.parametrize("build", BUILDS, ids=IDS)
def test_two_builds_have_the_same_names(build: Any) -> None:
    def names() -> tuple[Any, ...]:
        trace = fs.trace(build(), example(build))
        return (
            [op.label for op in trace],
            [op.site_key for op in trace],
            [layer.label for layer in trace.layers],
            [module.address for module in trace.modules],
            [call.call_label for call in trace.module_calls],
            [variable.address for variable in trace.variables],
            trace.edges,
        )

    first = names()
    keras.layers.Dense(1), keras.layers.LayerNormalization()
    assert names() == first


def train_step() -> Any:
    """Backward passes ask TensorFlow for zeros and for shapes, which it keeps for the next time."""
    layers = [keras.layers.Conv2D(2, 2), keras.layers.BatchNormalization(), keras.layers.ReLU()]
    model = keras.Sequential([keras.Input((4, 4, 1)), *layers])
    optimizer = keras.optimizers.Adam()
    with fs.capture(model) as recording:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(tf.ones((1, 4, 4, 1)), training=True) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return recording.trace


KEPT: list[Any] = []


def shape_kept_by_the_model() -> Any:
    def model(x: Any) -> Any:
        if not KEPT:
            KEPT.append(tf.constant([1, 2]))
        return tf.fill(KEPT[0], 2.0) + tf.reshape(x, KEPT[0])

    return fs.trace(model, tf.ones((2, 1)))


def new_numbers() -> Any:
    """TensorFlow casts a number of another dtype once, and keeps what that gave."""
    x = tf.ones((2,), tf.bfloat16)
    return fs.trace(lambda x: tf.raw_ops.Mul(x=x, y=0.7331) + 0.1337, x)


@pytest.mark.parametrize("run", [train_step, new_numbers, shape_kept_by_the_model])
def test_what_tensorflow_keeps_between_runs_changes_no_label(run: Any) -> None:
    ran = [run() for _ in range(3)]
    for trace in ran:
        checks.assert_sound(trace)
    first, *later = [[(op.label, op.kind, op.site_key) for op in trace] for trace in ran]
    assert later == [first, first]


def compiled_step() -> Any:
    """Functions, their gradients and variables carry numbers of the process in their names."""

    @tf.function
    def halve(x: Any) -> Any:
        while tf.reduce_sum(x) > 1.0:
            x = x / 2.0
        return x * x

    def model(x: Any) -> Any:
        scale, shift = tf.Variable(3.0, name="scale"), tf.Variable(1.0, name="scale")
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = halve(x * scale + shift)
        return tape.gradient(y, x)

    return fs.trace(model, tf.ones((2,)))


def test_no_name_has_a_number_of_the_process() -> None:
    ran = [compiled_step(), compiled_step()]
    for trace in ran:
        checks.assert_sound(trace)
    first, second = (
        (
            [(op.label, op.site_key) for op in trace],
            [region.path for region in trace.regions],
            [variable.address for variable in trace.variables],
        )
        for trace in ran
    )
    assert first == second
    trace = ran[0]
    calls = [op for op in trace if op.kind == "call"]
    assert [op.label_short for op in calls] == ["halve_1:1", "backward_halve_1:1"]
    assert trace["halve_1"] is not None and trace.find_sites(fs.func("halve"))[0].label == (
        calls[0].label
    )
    assert [(v.address, v.name) for v in trace.variables] == [
        ("scale", "scale"),
        ("scale_1", "scale"),
    ]
    # 1 * 3 + 1 = 4 in both places; 8 > 1 is halved to 4, 2 and 1: x * x of 4 / 8 has the gradient
    # 2 * 0.5 / 8 with regard to 4, and 3 times that with regard to 1.
    assert trace.output.numpy().tolist() == [0.375, 0.375]


def test_a_number_that_is_cast_when_it_is_wrapped_is_a_literal() -> None:
    trace = fs.trace(lambda x: x * 0.4242, tf.ones((2,), tf.bfloat16))
    assert trace.op_counts() == {"Mul": 1}
    assert float(trace["mul_1"].literals[1]) == pytest.approx(0.4242, abs=0.002)
    cast = fs.trace(lambda x: x * tf.cast(0.4242, tf.bfloat16), tf.ones((2,), tf.bfloat16))
    assert cast.op_counts() == {"Mul": 1, "Cast": 1}


@pytest.mark.parametrize("build", BUILDS, ids=IDS)
def test_the_form_of_labels(build: Any) -> None:
    trace = fs.trace(build(), example(build))
    layers: dict[str, int] = {}
    for op in trace:
        kind, index, ordinal = op.layer_label.rsplit("_", 2)
        assert kind == op.type.lower() and int(index) >= 1
        assert op.label == f"{op.layer_label}:{op.pass_index}"
        assert op.label_short == f"{kind}_{index}:{op.pass_index}"
        assert 1 <= op.pass_index <= op.num_passes == len(op.layer.ops)
        assert int(ordinal) == layers.setdefault(op.layer_label, len(layers) + 1)
    assert len({op.label for op in trace}) == len(trace)


@pytest.mark.asan
def test_passes_of_a_shared_layer() -> None:
    trace = fs.trace(shared(), tf.ones((1, 4)))
    layer = trace.layers["matmul_1"]
    assert layer.num_passes == 3 and [op.pass_index for op in layer.ops] == [1, 2, 3]
    assert [op.modules[-1] for op in layer.ops] == ["twin:1", "twin:2", "twin:3"]
    assert len(layer.outs) == 3 and np.array_equal(layer.outs[1], trace["matmul_1:2"].out)
    with pytest.raises(fs.FlowScopeError, match=":1"):
        _ = layer.out
    with pytest.raises(fs.FlowScopeError, match=":"):
        _ = trace["twin"].out
    assert [call.call_label for call in trace["twin"].calls] == ["twin:1", "twin:2", "twin:3"]
    assert trace["gate:1"].input_ops == trace["twin:2"].output_ops
    assert trace["twin:3"].input_ops == trace["gate:1"].output_ops
    assert len({op.site_key for op in layer.ops}) == 1 and len(trace["twin.kernel"].reads) == 3


def test_code_outside_every_module_is_never_grouped() -> None:
    def model(x: Any) -> Any:
        for _ in range(4):
            x = tf.tanh(x)
        return x

    trace = fs.trace(model, tf.ones(2))
    tanhs = [op for op in trace if op.type == "Tanh"]
    assert [op.label_short for op in tanhs] == [f"tanh_{i}:1" for i in range(1, 5)]
    assert all(op.num_passes == 1 for op in tanhs)


# --- keys ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def named() -> Any:
    """Names that collide on purpose: a layer is called as an op is labelled."""
    given = keras.Input((4,), name="given")
    x = keras.layers.Dense(4, activation="relu", name="hidden")(given)
    x = keras.layers.Dense(4, name="relu_1")(x)
    return fs.trace(keras.Model(given, keras.layers.Dense(2, name="head")(x)), tf.ones((1, 4)))


@pytest.mark.parametrize(
    ("key", "kind", "found"),
    [
        ("hidden", "Module", "hidden"),
        ("hidden:1", "ModuleCall", "hidden:1"),
        ("hidden.kernel", "Variable", "hidden.kernel"),
        ("self", "Module", "self"),
        ("matmul_1_3", "Op", "matmul_1_3:1"),
        ("matmul_1_3:1", "Op", "matmul_1_3:1"),
        ("matmul_2", "Op", "matmul_2"),
        ("matmul_2:1", "Op", "matmul_2"),
        ("input_1", "Op", "input_1"),
        ("softm", None, ""),
        ("hidden/kernel", "Variable", "hidden.kernel"),
    ],
)
def test_lookup(named: Any, key: str, kind: str | None, found: str) -> None:
    if kind is None:
        assert key not in named
        with pytest.raises(fs.errors.LookupFailedError):
            named[key]
        return
    record = named[key]
    assert type(record).__name__ == kind and key in named
    name = next(
        getattr(record, a) for a in ("call_label", "address", "label") if hasattr(record, a)
    )
    assert name.startswith(found)


def test_a_key_of_two_kinds_lists_both(named: Any) -> None:
    with pytest.raises(fs.errors.AmbiguousLookupError) as error:
        named["relu_1"]
    text = str(error.value)
    assert "module relu_1" in text and "relu_1_6" in text and "trace.modules" in text
    assert named.modules["relu_1"].class_name == "Dense" and named.layers["relu_1"].type == "Relu"


def test_a_substring_of_two_things_lists_both(named: Any) -> None:
    with pytest.raises(fs.errors.AmbiguousLookupError) as error:
        named["kernel"]
    assert all(f"{name}.kernel" in str(error.value) for name in ("hidden", "relu_1", "head"))
    assert named["den.kern"].address == "hidden.kernel"


def test_an_exact_name_goes_before_a_part_of_others() -> None:
    given = keras.Input((2,))
    x = keras.layers.Dense(2, name="a_long")(keras.layers.Dense(2, name="a")(given))
    trace = fs.trace(keras.Model(given, x), tf.ones((1, 2)))
    assert trace["a"].address == "a" and trace["a_long.ker"].address == "a_long.kernel"


def test_generated_keras_names_are_aliases() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    trace = fs.trace(model, tf.ones((1, 2)))
    (module,) = [m for m in trace.modules if m.class_name == "Dense"]
    assert module.address == "layers.0" and model.layers[0].name in module.addresses
    assert trace[model.layers[0].name] == module == trace["layers.0"]
