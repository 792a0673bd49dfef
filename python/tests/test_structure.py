"""Structure of models in memory: what would run, without a kernel, a value or a change."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import checks
import flowscope as fs
import keras
import model_zoo
import numpy as np
import pytest
import tensorflow as tf

UnsupportedError = fs.errors.UnsupportedError
LONG = ("NASNetMobile", "ConvNeXtTiny", "Xception", "DenseNet121", "EfficientNetV2B0")


def facts(trace: Any) -> list[Any]:
    """What a run and a structure must agree on, op by op."""
    return [
        (
            checks.plain_type(op.type),
            op.kind,
            [parent.label for parent in op.parents],
            _classes(op),
            op.modules,
            op.region.path,
            op.shape,
            op.dtype,
        )
        for op in trace
    ]


def _classes(op: Any) -> list[str]:
    """Of the inputs. A function captures in the order in which it happens to be traced."""
    classes = [edge.edge_class for edge in op.inputs]
    return sorted(classes) if op.kind == "call" else classes


def calls(trace: Any) -> list[Any]:
    return [
        (
            call.call_label,
            call.parent.call_label if call.parent is not None else None,
            call.input_paths,
            call.training,
            len(call.ops),
        )
        for call in trace.module_calls
    ]


def modules(trace: Any) -> list[Any]:
    def aliases(module: Any) -> list[str]:
        """Keras counts the names of operations that are made in a call."""
        return [] if ".created." in module.address else module.addresses

    def config(module: Any) -> dict[str, Any]:
        left = {"name"} if ".created." in module.address else set()
        return {key: value for key, value in module.config.items() if key not in left}

    return [
        (m.address, aliases(m), m.class_name, m.num_params, m.num_trainable_params, config(m))
        for m in trace.modules
    ]


def variables(trace: Any) -> list[Any]:
    return [
        (v.address, v.shape, v.dtype, v.trainable, len(v.reads), len(v.writes))
        for v in trace.variables
    ]


def assert_alike(structure: Any, run: Any) -> None:
    for planned, ran in zip(facts(structure), facts(run), strict=False):
        assert planned == ran
    assert len(structure) == len(run)
    assert calls(structure) == calls(run)
    assert modules(structure) == modules(run)
    assert variables(structure) == variables(run)
    assert list(structure.lint()) == []
    assert structure.completeness["unexplained"] == 0
    assert structure.num_kept == 0
    assert structure.recorder == "structure"
    assert structure.notes[-1:] != [] and "ran ops of its own" not in " ".join(structure.notes)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG))
        for name in [*model_zoo.ARCHITECTURES, "transformer", "tf.Module"]
    ],
)
def test_structure_is_that_of_a_run(name: str) -> None:
    model, x = model_zoo.build(name)
    run = fs.trace(model, x, save="none")
    with checks.witness() as ran:
        structure = fs.trace(model, x, structure_only=True)
    assert ran == {}
    assert_alike(structure, run)


@pytest.mark.parametrize("training", [False, True])
def test_structure_of_a_training_call(training: bool) -> None:
    model = model_zoo.architecture("MobileNetV2", 32)
    x = tf.random.uniform((2, 32, 32, 3))
    structure = fs.trace(model, x, {"training": training}, structure_only=True)
    assert_alike(structure, fs.trace(model, x, {"training": training}, save="none"))


# --- what can be given -------------------------------------------------------


class Two(tf.Module):
    """Two inputs in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones((3, 2)))

    def __call__(self, features: Any, scale: float = 2.0) -> Any:
        return {"y": features["a"] @ self.w * scale + features["b"][0]}


def test_specs_of_every_kind_give_one_structure() -> None:
    given = [
        {"a": tf.ones((4, 3)), "b": [tf.zeros(2)]},
        {"a": np.ones((4, 3), "f"), "b": [np.zeros(2, "f")]},
        {"a": tf.TensorSpec((4, 3)), "b": [tf.TensorSpec((2,))]},
        {"a": keras.KerasTensor((4, 3)), "b": [keras.KerasTensor((2,))]},
        {"a": keras.Input(batch_shape=(4, 3)), "b": [keras.Input(batch_shape=(2,))]},
    ]
    model = Two()
    run = fs.trace(model, (given[0],), {"scale": 3.0})
    for value in given:
        structure = fs.trace(model, (value,), {"scale": 3.0}, structure_only=True)
        assert_alike(structure, run)
        assert [op.name for op in structure if op.kind == "input"] == [
            "features['a']",
            "features['b'][0]",
        ]
        assert structure.output == {"y": tf.TensorSpec((4, 2))}


def test_open_sizes_stay_open() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="head")])
    structure = fs.trace(model, structure_only=True)
    assert structure["matmul_1"].shape in (None, (None, 3))
    assert structure.output.shape.as_list() == [None, 3]
    assert any("input spec" in note for note in structure.notes)
    assert "?" in structure.summary()


def test_composite_inputs() -> None:
    ragged = tf.ragged.constant([[1.0, 2.0], [3.0]])
    sparse = tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]])

    def call(r: Any, s: Any) -> Any:
        return tf.reduce_sum(r.flat_values), tf.sparse.sparse_dense_matmul(s, tf.ones((2, 2)))

    structure = fs.trace(call, (ragged, sparse), structure_only=True)
    names = [op.name for op in structure if op.kind == "input"]
    assert names == ["r.values", "r.row_splits", "s.indices", "s.values", "s.dense_shape"]
    assert structure.op_counts()["SparseTensorDenseMatMul"] == 1


def test_text() -> None:
    words = keras.layers.TextVectorization(max_tokens=50, output_sequence_length=6)
    words.adapt(["the cat sat", "a dog ran far"])
    model = keras.Sequential(
        [keras.Input((), dtype="string"), words, keras.layers.Embedding(50, 4)]
    )
    structure = fs.trace(model, tf.TensorSpec((2,), tf.string), structure_only=True)
    assert structure["self"].calls[0].ops
    assert "resource" in {edge.edge_class for op in structure for edge in op.inputs}


# --- functions ---------------------------------------------------------------


def branchy(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        x = x * 2.0
    else:
        x = tf.nn.relu(x)
    for _ in tf.range(3):
        x = x + 1.0
    return x


@pytest.mark.parametrize("concrete", [False, True])
def test_a_compiled_function_has_both_branches_and_its_loop(concrete: bool) -> None:
    function = tf.function(branchy)
    root = function.get_concrete_function(tf.TensorSpec((2,))) if concrete else function
    structure = fs.trace(root, tf.TensorSpec((2,)), structure_only=True)
    assert structure.root_kind == ("concrete_function" if concrete else "function")
    counts = structure.op_counts()
    assert counts["Mul"] == 1 and counts["Relu"] == 1
    kinds = [region.kind for region in structure.regions]
    assert kinds.count("branch") == 2 and kinds.count("iteration") == 1
    assert list(structure.lint()) == []


def test_a_straight_function_is_that_of_a_run() -> None:
    w = tf.Variable(tf.ones((2, 2)), name="w")

    @tf.function
    def inner(x: Any) -> Any:
        return tf.nn.bias_add(tf.matmul(x, w), [1.0, 2.0])

    def outer(x: Any) -> Any:
        return inner(inner(x)) * tf.constant([3.0, 4.0])

    x = tf.ones((1, 2))
    assert_alike(fs.trace(outer, x, structure_only=True), fs.trace(outer, x))
    closed = fs.trace(outer, x, structure_only=True, functions="call")
    assert facts(closed) == facts(fs.trace(outer, x, functions="call"))
    assert [op.opaque_reason for op in closed if op.kind == "call"] == [
        "functions= asks for this call as one op"
    ] * 2


def test_gradients_in_the_program() -> None:
    w = tf.Variable([[1.0], [2.0]])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w))
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * gradient)
        return loss

    before = w.numpy()
    structure = fs.trace(step, tf.TensorSpec((3, 2)), structure_only=True)
    assert np.array_equal(before, w.numpy())
    assert len(structure.variables[0].writes) == 1
    assert list(structure.lint()) == []


def test_a_loaded_model(tmp_path: Any) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head")])
    model.export(str(tmp_path / "m"), verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    spec = tf.TensorSpec((1, 3))
    structure = fs.trace(loaded.serve, spec, structure_only=True)
    assert structure.op_counts()["MatMul"] == 1
    model.save(tmp_path / "m.keras")
    by_path = fs.trace(tmp_path / "m.keras", spec, structure_only=True)
    assert by_path.root_kind == "keras" and by_path["head"].num_params == 8
    layer = keras.layers.TFSMLayer(str(tmp_path / "m"), call_endpoint="serve")
    assert fs.trace(layer, spec, structure_only=True).op_counts()["MatMul"] == 1


# --- nothing changes ---------------------------------------------------------


def test_nothing_changes_in_model_and_generators() -> None:
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(4, kernel_regularizer="l2", activity_regularizer="l2"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5, seed=1),
            keras.layers.GaussianNoise(0.1, seed=2),
        ]
    )
    x = tf.ones((2, 8))
    model(x, training=True)
    losses = [float(loss) for loss in model.losses]
    before = checks.state_of(model)
    keras.utils.set_random_seed(5)
    wanted = checks.random_draws()
    keras.utils.set_random_seed(5)
    structure = fs.trace(model, x, {"training": True}, structure_only=True)
    checks.assert_same_bits(wanted, checks.random_draws())
    checks.assert_same_bits(before, checks.state_of(model))
    assert [float(loss) for loss in model.losses] == losses
    assert any(v.writes for v in structure.variables)
    assert not any("ran ops" in note for note in structure.notes)


def test_the_program_runs_once() -> None:
    seen = []
    fs.trace(lambda x: seen.append(x.shape) or x + 1, tf.TensorSpec((None, 2)), structure_only=True)
    assert len(seen) == 1


class Lazy(keras.Model):
    """Has no variables before it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(2)
        self.act = keras.layers.Activation("relu")

    def call(self, x: Any) -> Any:
        return self.act(self.dense(x))


def test_a_model_that_is_not_built_is_refused_and_stays_so() -> None:
    model = Lazy()
    with pytest.raises(UnsupportedError, match=r"Lazy .* is not built yet.*model\.build"):
        fs.trace(model, tf.TensorSpec((1, 3)), structure_only=True)
    assert not model.built and not model.dense.built and model.variables == []
    model(tf.ones((1, 3)))
    assert fs.trace(model, tf.TensorSpec((1, 3)), structure_only=True)["dense"].num_params == 8


def test_a_variable_that_the_program_makes_is_refused() -> None:
    class Late(tf.Module):
        w = None

        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(tf.ones(2), name="late")
            return x * self.w

    for call in (lambda m: m, lambda m: tf.function(m.__call__)):
        module = Late()
        with pytest.raises(UnsupportedError, match=r"makes a variable \(late\)"):
            fs.trace(call(module), tf.TensorSpec((2,)), structure_only=True)
        assert module.w is None


# --- programs that need values -----------------------------------------------


def _numpy(x: Any) -> Any:
    return x.numpy() + 1  # here


def _float(x: Any) -> Any:
    return x * float(tf.reduce_sum(x))  # here


def _int(x: Any) -> Any:
    return x[: int(tf.reduce_max(x))]  # here


def _if(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:  # here
        return x
    return -x


def _for(x: Any) -> Any:
    return list(x + 1)  # here


def _array(x: Any) -> Any:
    return np.asarray(x) * 2  # here


def _while(x: Any) -> Any:
    while tf.reduce_max(x) < 3:  # here
        x = x + 1
    return x


def _range(x: Any) -> Any:
    for _ in range(tf.cast(x[0], tf.int32)):  # here
        x = x + 1
    return x


@pytest.mark.parametrize("program", [_numpy, _float, _int, _if, _for, _array, _while, _range])
def test_a_program_that_needs_a_value_is_told_where(program: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"asks a tensor for its value.*# here") as caught:
        fs.trace(program, tf.TensorSpec((2,)), structure_only=True)
    assert "test_structure.py" in str(caught.value)
    assert program.__name__ in str(caught.value)


def test_a_layer_that_needs_a_value_is_told_where() -> None:
    model = model_zoo.Branching()
    model(tf.ones((2, 4)))
    with pytest.raises(UnsupportedError, match=r"model_zoo\.py:\d+ in call: y = self\.positive"):
        fs.trace(model, tf.TensorSpec((2, 4)), structure_only=True)


def test_an_error_of_the_program_passes_through() -> None:
    with pytest.raises(ValueError, match="must be equal") as caught:
        fs.trace(lambda x: x @ tf.ones((3, 3)), tf.TensorSpec((2, 4)), structure_only=True)
    assert not isinstance(caught.value, fs.FlowScopeError)


@pytest.mark.parametrize(
    "options",
    [{"save": "none"}, {"halt": "relu"}, {"validate": True}, {"raise_on_nan": True}],
)
def test_options_that_ask_for_values_are_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(fs.errors.InvalidArgumentError, match=f"{name}= asks for values"):
        fs.trace(tf.nn.relu, tf.TensorSpec((2,)), structure_only=True, **options)


# --- cost --------------------------------------------------------------------


def test_costs_are_those_of_a_run() -> None:
    model, x = model_zoo.build("MobileNetV2")
    structure = fs.trace(model, tf.TensorSpec(x.shape), structure_only=True)
    run = fs.trace(model, x, save="none")
    assert str(structure.cost()) == str(run.cost())
    assert structure.total_activation_memory == run.total_activation_memory > 0
    assert "FLOPs" in structure.summary()


MEMORY = """
    import resource, sys
    import flowscope as fs, keras, tensorflow as tf

    model = keras.Sequential(
        [keras.Input((None, None, 3))]
        + [keras.layers.Conv2D(64, 3, padding="same") for _ in range(4)]
    )
    small = tf.TensorSpec((1, 8, 8, 3))
    fs.trace(model, small, structure_only=True)  # what is loaded at the first use
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trace = fs.trace(model, tf.TensorSpec((1, 40_000, 40_000, 3)), structure_only=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(trace.total_activation_memory, grown * 1024)
"""


def test_no_memory_for_values() -> None:
    done = checks.run_program(MEMORY)
    assert done.returncode == 0, done.stderr[-3000:]
    activations, peak = map(int, done.stdout.split())
    assert activations > 1_600 * 10**9
    assert peak < 50 * 10**6


def test_nothing_is_kept_alive() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    spec = tf.TensorSpec((1, 4))
    for _ in range(2):
        fs.trace(model, spec, structure_only=True)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(5):
        fs.trace(model, spec, structure_only=True)
    gc.collect()
    assert len(gc.get_objects()) - before < 50
