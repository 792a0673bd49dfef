"""Compiled functions, opened: values, regions, layers and lines of what runs inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import keras
import numpy as np
import pytest
import random_graphs
import tensorflow as tf


def inside(trace: Any) -> list[Any]:
    """Ops of function bodies."""
    return [op for op in trace if checks.inside_function(op.region)]


def assert_open(trace: Any) -> None:
    assert {op.opaque_reason for op in trace if op.opaque and op.kind == "call"} == set()
    assert inside(trace)
    checks.assert_sound(trace)


def is_kept(op: Any) -> bool:
    try:
        return op.out is not None
    except fs.errors.UnavailableError:
        return False


def small_cnn() -> Any:
    inputs = keras.Input((8, 8, 2))
    x = keras.layers.Conv2D(3, 3, name="conv1")(inputs)
    x = keras.layers.BatchNormalization(name="norm")(x)
    x = keras.layers.ReLU(name="act")(x)
    x = keras.layers.Dropout(0.25, seed=3, name="drop")(x)
    x = keras.layers.Flatten()(x)
    return keras.Model(inputs, keras.layers.Dense(2, name="head")(x))


def compiled(build: Callable[[], Any] = small_cnn, **options: Any) -> Any:
    keras.utils.set_random_seed(5)
    model = build()
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"], **options)
    return model


def images(count: int = 4) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 8, 8, 2)).astype("f4")


def targets(count: int = 4) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, 2)).astype("f4")


# Layers.


@pytest.mark.parametrize("traced_before", [False, True])
def test_predict_names_layers(traced_before: bool) -> None:
    model = compiled(jit_compile=False)
    if traced_before:
        model.predict(images(), verbose=0)
    with fs.capture(model) as recording:
        result = model.predict(images(), verbose=0)
    trace = recording.trace
    assert_open(trace)
    assert checks.same_bits(trace["head"].out, result)
    eager = fs.trace(model, images(), {"training": False})
    for address in ("conv1", "norm", "act", "head"):
        assert checks.same_bits(trace[address].out, eager[address].out), address
        call = trace[f"{address}:1"]
        assert checks.same_bits(call.inputs[0], eager[f"{address}:1"].inputs[0]), address
        assert call.parent.call_label == "self:1"
        assert call.method == ("by name" if traced_before else "__call__")
    conv = next(op for op in trace if op.type == "Conv2D")
    assert conv.modules == ["self:1", "conv1:1"]
    assert [v.address for v in conv.inputs[1].op.variables] == ["conv1.kernel"]
    assert any("by name" in note for note in trace.notes) == traced_before


def test_a_second_recording_knows_what_the_first_one_traced() -> None:
    model = compiled(jit_compile=False)
    labels = []
    for _ in range(2):
        with fs.capture(model) as recording:
            model.predict(images(), verbose=0)
        trace = recording.trace
        labels.append([(op.label, op.modules) for op in inside(trace)])
        assert trace["conv1:1"].method == "__call__"
        assert trace["drop:1"].training is False
    assert labels[0] == labels[1]


@pytest.mark.parametrize("traced_before", [False, True])
def test_numbered_names_are_told_apart_by_their_variables(traced_before: bool) -> None:
    keras.backend.clear_session()
    model = keras.Sequential([keras.layers.Dense(3) for _ in range(3)])
    model.build((None, 3))
    function = tf.function(model)
    x = tf.ones((2, 3))
    if traced_before:
        function(x)
    with fs.capture(model) as recording:
        function(x)
    trace = recording.trace
    matmuls = [op for op in trace if op.type == "MatMul"]
    assert [op.module.address for op in matmuls] == ["layers.0", "layers.1", "layers.2"]
    for op in matmuls:
        assert [v.module.address for v in op.inputs[1].op.variables] == [op.module.address]


@pytest.mark.parametrize("traced_before", [False, True])
def test_a_shared_layer_has_a_call_for_every_use(traced_before: bool) -> None:
    inputs = keras.Input((3,))
    shared = keras.layers.Dense(3, name="shared")
    model = keras.Model(inputs, shared(shared(inputs)))
    function = tf.function(model)
    if traced_before:
        function(tf.ones((1, 3)))
    with fs.capture(model) as recording:
        function(tf.ones((1, 3)))
    trace = recording.trace
    eager = fs.trace(model, tf.ones((1, 3)))
    assert len(trace.modules["shared"].calls) == 2
    for call in ("shared:1", "shared:2"):
        assert checks.same_bits(trace[call].out, eager[call].out)


class Branching(tf.Module):
    """Needs AutoGraph, which does not know the callable that stands for ``__call__``."""

    def __call__(self, x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            x = x * 2.0
        return x


class Caller(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Branching()

    @tf.function
    def __call__(self, x: Any) -> Any:
        if tf.reduce_sum(x) > 1.0:
            x = x + 1.0
        return self.inner(x)


def test_autograph_converts_what_it_would_without_a_recording() -> None:
    x = f32(1.0, 2.0)
    trace = fs.trace(Caller(), x)
    assert trace.output.numpy().tolist() == [4.0, 6.0]
    assert trace["inner"].out.tolist() == [4.0, 6.0]
    module = Branching()
    trace = fs.trace(tf.function(module), x)
    assert trace.output.numpy().tolist() == [2.0, 4.0]
    assert len([r for r in trace.regions if r.kind == "branch"]) == 1
    # Nothing is remembered: AutoGraph converts the same object afterwards.
    assert tf.function(module)(-x).numpy().tolist() == [-1.0, -2.0]
    assert tf.function(module)(f32(1.0)).numpy().tolist() == [2.0]


class Doubler(tf.Module):
    """No name scope of its own: only the watched tracing tells its ops."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = tf.Variable(2.0)

    def __call__(self, x: Any) -> Any:
        return x * self.factor


class Root(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Doubler()

    @tf.function
    def __call__(self, x: Any) -> Any:
        return self.inner(x) + 1.0


def test_modules_without_name_scopes() -> None:
    trace = fs.trace(Root(), tf.ones((2,)))
    multiply = next(op for op in trace if op.type == "Mul")
    assert multiply.modules == ["self:1", "inner:1"]
    assert trace["inner"].out.tolist() == [2.0, 2.0]


def test_a_layer_inside_of_a_loop_is_called_at_every_turn() -> None:
    dense = keras.layers.Dense(2, name="dense")
    dense.build((None, 2))

    class Looped(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = dense

        def call(self, x: Any) -> Any:
            return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, self.dense(y)), [0, x])[1]

    model = Looped()
    trace = fs.trace(tf.function(model), tf.ones((1, 2)))
    x = np.ones((1, 2), "f4")
    calls = [c for c in trace.module_calls if c.module.class_name == "Dense"]
    assert len(calls) == 3
    for call in calls:
        x = x @ dense.kernel.numpy() + dense.bias.numpy()
        np.testing.assert_allclose(call.out, x, rtol=1e-6)


def test_values_of_calls_survive_a_selection() -> None:
    model = compiled(jit_compile=False)
    with fs.capture(model, save="act") as recording:
        model.predict(images(), verbose=0)
    assert recording.trace["act"].out.shape == (4, 6, 6, 3)
    with pytest.raises(fs.errors.UnavailableError):
        _ = recording.trace["conv1"].out


def test_lines_of_ops_come_from_the_tracing() -> None:
    def body(x: Any) -> Any:
        y = tf.sin(x)
        return tf.cos(y)

    function = tf.function(body)
    function(tf.ones((2,)))
    trace = fs.trace(function, tf.ones((2,)))
    lines = {op.type: op.code_context[0] for op in inside(trace)}
    first = body.__code__.co_firstlineno
    assert (lines["Sin"].line_number, lines["Cos"].line_number) == (first + 1, first + 2)
    assert lines["Sin"].func_name == "body" and "tf.sin" in lines["Sin"].code


# Training.


def test_train_step_parts_and_gradients() -> None:
    model = compiled(jit_compile=False)
    with fs.capture(model) as recording:
        model.train_on_batch(images(), targets())
    trace = recording.trace
    assert_open(trace)
    backward = [op for op in trace if op.kind == "backward"]
    assert {op.gradient_of.address for op in backward if op.gradient_of} >= {"conv1", "head"}
    kernel = next(op for op in backward if op.type == "Conv2DBackpropFilter")
    assert kernel.gradient_of.address == "conv1" and "gradient_tape" in kernel.region.path
    paths = {op.region.path for op in trace}
    assert any(path.endswith("optimizer") for path in paths)
    assert any("loss" in path for path in paths) and any("metrics" in path for path in paths)
    written = trace["conv1.kernel"].versions
    assert len(written) == 2 and checks.same_bits(written[1].value, model.layers[1].kernel)
    assert trace["norm:1"].training is True


@pytest.mark.parametrize("keep_steps", [3, 1, 0, None])
def test_fit_has_a_region_for_every_step(keep_steps: int | None) -> None:
    model, plain = compiled(run_eagerly=False), compiled(run_eagerly=True)
    kernels = [np.array(plain.layers[1].kernel)]
    for start in range(0, 10, 2):
        plain.train_on_batch(images(10)[start : start + 2], targets(10)[start : start + 2])
        kernels.append(np.array(plain.layers[1].kernel))
    with fs.capture(model, keep_steps=keep_steps) as recording:
        model.fit(images(10), targets(10), batch_size=2, shuffle=False, verbose=0)
    trace = recording.trace
    assert_open(trace)
    steps = [r for r in trace.regions if r.kind == "iteration" and r.path.startswith("fit/step")]
    steps = [r for r in steps if r.path.count("/") == 1]
    assert [r.index for r in steps] == list(range(5))
    convs = [op for op in trace if op.type == "Conv2D" and op.kind == "compute"]
    assert [op.iteration for op in convs] == list(range(5))
    kept = [i for i, op in enumerate(convs) if is_kept(op)]
    last = 5 if keep_steps is None else keep_steps
    assert kept == list(range(5 - last, 5))
    versions = trace["conv1.kernel"].versions
    assert len(versions) == 6
    for i, version in enumerate(versions):
        if i in (0, 5) or i > 5 - last:
            assert checks.same_bits(version.value, kernels[i]), i
    assert any("keep_steps" in note for note in trace.notes) == (keep_steps is not None)


def test_steps_that_were_let_go_confuse_no_edge() -> None:
    """Addresses of tensors come back after they were freed: a stale one would be linked."""
    model = compiled(jit_compile=False)
    with fs.capture(model, keep_steps=1) as recording:
        model.fit(images(12), targets(12), batch_size=1, epochs=2, shuffle=False, verbose=0)
    trace = recording.trace
    checks.assert_sound(trace)
    for op in inside(trace):
        for given in op.inputs:
            if given.edge_class != "op" or given.op.iteration is None:
                continue
            assert given.op.iteration == op.iteration, (op.label, given.op.label)


# Entry points.


def test_train_test_and_predict_entry_points() -> None:
    model, plain = compiled(jit_compile=False), compiled(run_eagerly=True)
    x, y = images(), targets()
    calls: dict[str, Callable[[Any], Any]] = {
        "predict": lambda m: m.predict(x, verbose=0),
        "predict_on_batch": lambda m: m.predict_on_batch(x),
        "evaluate": lambda m: m.evaluate(x, y, verbose=0),
        "train_on_batch": lambda m: m.train_on_batch(x, y),
    }
    for name, call in calls.items():
        with fs.capture(model) as recording:
            result = call(model)
        assert_open(recording.trace)
        checks.assert_same_bits(result, call(plain), name)
    checks.assert_same_bits(checks.state_of(model), checks.state_of(plain))


def f32(*values: float) -> Any:
    return tf.constant(values, tf.float32)


def newton(x: Any) -> Any:
    return tf.while_loop(
        lambda i, _: i < 6, lambda i, g: (i + 1, (g + x / g) / 2.0), [tf.constant(0), x]
    )[1]


def autograph_loop(x: Any) -> Any:
    total = tf.zeros(())
    for i in tf.range(5):
        total += tf.cast(i, tf.float32) * x[0] if i % 2 == 0 else x[1]
    return total


FUNCTIONS: dict[str, tuple[Callable[[], Any], Any, Callable[[np.ndarray], Any]]] = {
    "while_loop": (lambda: tf.function(newton), f32(2.0, 9.0), np.sqrt),
    "map_fn": (
        lambda: tf.function(lambda x: tf.map_fn(lambda v: v * v + 1.0, x)),
        f32(1.0, 2.0, 3.0),
        lambda x: x * x + 1,
    ),
    "scan": (
        lambda: tf.function(lambda x: tf.scan(lambda a, v: a + v, x)),
        f32(1.0, 2.0, 3.0),
        np.cumsum,
    ),
    "vectorized_map": (
        lambda: tf.function(lambda x: tf.vectorized_map(lambda v: v * 3.0, x)),
        f32(1.0, 2.0),
        lambda x: x * 3,
    ),
    "autograph": (
        lambda: tf.function(autograph_loop),
        f32(2.0, 10.0),
        lambda x: (0 + 2 + 4) * x[0] + 2 * x[1],
    ),
    "jit_compile": (
        lambda: tf.function(lambda x: tf.sin(x) * 2.0, jit_compile=True),
        f32(1.0, 2.0),
        lambda x: np.sin(x) * 2,
    ),
}


@pytest.mark.parametrize("concrete", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_entry_points(name: str, concrete: bool) -> None:
    build, x, expected = FUNCTIONS[name]
    function = build().get_concrete_function(x) if concrete else build()
    trace = fs.trace(function, x)
    assert_open(trace)
    np.testing.assert_allclose(trace.output, expected(x.numpy()), rtol=2e-6)
    assert trace.root_kind == ("concrete_function" if concrete else "function")


def test_a_concrete_function_called_within() -> None:
    inner = tf.function(lambda v: v * 2.0).get_concrete_function(tf.TensorSpec((2,)))
    trace = fs.trace(lambda x: inner(x) + 1.0, f32(1.0, 2.0))
    assert_open(trace)
    assert trace.output.numpy().tolist() == [3.0, 5.0]


def test_trip_counts_and_values_of_iterations() -> None:
    trace = fs.trace(tf.function(newton), f32(2.0, 9.0))
    guess = np.array([2.0, 9.0], "f4")
    means = [op for op in inside(trace) if op.type == "RealDiv" and op.literals]
    assert [op.iteration for op in means] == list(range(6))
    for op in means:
        guess = (guess + np.array([2.0, 9.0], "f4") / guess) / np.float32(2.0)
        assert checks.same_bits(op.out, guess)


def test_branches_are_told_with_their_predicates() -> None:
    function = tf.function(lambda x: tf.cond(x[0] > 0.0, lambda: x * 2.0, lambda: x - 1.0))
    for start, branch, kind in ((1.0, "then_branch", "Mul"), (-1.0, "else_branch", "Sub")):
        trace = fs.trace(function, f32(start, 3.0))
        taken = [r for r in trace.regions if r.kind == "branch"]
        assert len(taken) == 1 and taken[0].path.endswith(branch)
        assert bool(taken[0].predicate) == (start > 0)
        assert {op.type for op in taken[0].ops} >= {kind}


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "SimpleRNN"])
def test_rnn_layers_in_predict(layer: str) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((5, 3)), getattr(keras.layers, layer)(4, name="rnn")])
    model.compile(jit_compile=False)
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("f4")
    with fs.capture(model) as recording:
        result = model.predict(x, verbose=0)
    assert_open(recording.trace)
    model.run_eagerly = True
    model.make_predict_function(force=True)
    checks.assert_same_bits(result, model.predict(x, verbose=0))
    turns = [r for r in recording.trace.regions if r.kind == "iteration" and "while" in r.path]
    assert len(turns) == 5
    assert recording.trace["rnn"].out.shape == (2, 4)


def test_a_layer_of_a_saved_model(tmp_path: Any) -> None:
    model = compiled(jit_compile=False)
    model.export(str(tmp_path / "saved"), verbose=False)
    layer = keras.layers.TFSMLayer(str(tmp_path / "saved"), call_endpoint="serve")
    trace = fs.trace(layer, images())
    assert_open(trace)
    checks.assert_same_bits(trace.output, model(images(), training=False))


def test_compiled_by_xla_is_said() -> None:
    trace = fs.trace(tf.function(lambda x: tf.exp(x) * 2.0, jit_compile=True), f32(1.0, 2.0))
    assert any("XLA" in note for note in trace.notes)
    trace = fs.trace(tf.function(lambda x: tf.exp(x) * 2.0), f32(1.0, 2.0))
    assert not any("XLA" in note for note in trace.notes)


# The difference to the compiled run.


def test_compare_compiled_tells_the_difference() -> None:
    function = tf.function(lambda x: (tf.nn.softmax(x), tf.cast(x, tf.int32)), jit_compile=True)
    x = tf.random.stateless_normal((50, 7), [1, 2]) * 5
    trace = fs.trace(function, x, compare_compiled=True)
    rows = trace.compiled_differences
    assert [(row["output"], row["num_elements"]) for row in rows] == [(0, 350), (1, 350)]
    compiled_value = function(x)[0].numpy()
    different = compiled_value.view("i4") != np.asarray(trace.output[0]).view("i4")
    assert rows[0]["num_different"] == different.sum()
    assert (
        rows[0]["max_abs"]
        == np.abs(compiled_value.astype("f8") - np.asarray(trace.output[0]).astype("f8")).max()
    )
    assert rows[1]["num_different"] == 0 and rows[1]["max_abs"] == 0
    assert fs.trace(function, x).compiled_differences == []


def test_compare_compiled_refuses_effects_before_anything_runs() -> None:
    counter = tf.Variable(0)
    function = tf.function(lambda x: counter.assign_add(x))
    function(1)
    with pytest.raises(fs.errors.UnsupportedError, match=r"has an effect: node.*AssignAddVariable"):
        fs.trace(function, 1, compare_compiled=True)
    assert counter.numpy() == 1
    with (
        pytest.raises(fs.errors.UnsupportedError, match="run function"),
        fs.capture(compare_compiled=True),
    ):
        function(1)
    assert counter.numpy() == 1


# TensorFlow's executor.


def test_random_graphs_equal_the_executor() -> None:
    """A sample; `./dev prove function_graphs` runs 300."""
    graphs, nodes = random_graphs.check_many(range(5_000, 5_024))
    print("seeds 5000 to 5023; graphs with", dict(graphs), "; nodes", dict(nodes))
    assert all(graphs[kind] >= 4 for kind in random_graphs.KINDS), graphs
