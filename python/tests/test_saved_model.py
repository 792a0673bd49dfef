"""SavedModels by path: recorded op by op, with the bits of TensorFlow's own loader."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import flowscope as fs
import keras
import numpy as np
import pytest
import tensorflow as tf
from saved_models import MODELS, SavedCase, save


@pytest.fixture(scope="module", params=sorted(MODELS))
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SavedCase:
    return save(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> SavedCase:
    return save("two", tmp_path_factory.mktemp("two"))


def test_outputs_are_those_of_tensorflows_loader(saved: SavedCase) -> None:
    loaded = tf.saved_model.load(saved.path)
    function = loaded.signatures[saved.signature]
    wanted = function(**{name: tf.constant(value) for name, value in saved.inputs.items()})
    trace = fs.trace(saved.path, saved.inputs, signature=saved.signature)
    assert trace.root_kind == "saved_model"
    assert trace.num_ops >= saved.least_ops
    assert set(trace.output) == set(wanted)
    for name, value in wanted.items():
        assert trace.output[name].numpy().tobytes() == value.numpy().tobytes()
    assert list(trace.lint()) == []
    assert trace.completeness["unexplained"] == 0
    assert all(not op.opaque_reason for op in trace)


def test_the_restored_signature_gives_the_same_ops(saved: SavedCase) -> None:
    loaded = tf.saved_model.load(saved.path)
    inputs = {name: tf.constant(value) for name, value in saved.inputs.items()}
    restored = fs.trace(loaded.signatures[saved.signature], input_kwargs=inputs)
    trace = fs.trace(saved.path, saved.inputs, signature=saved.signature)
    calls = ("StatefulPartitionedCall", "PartitionedCall")

    def types(of: Any) -> list[str]:
        return [op.type for op in of if op.kind != "call" and op.type not in calls]

    assert types(trace) == types(restored)
    assert restored.root_kind == "concrete_function"


def test_variables_go_by_their_attributes(two: SavedCase) -> None:
    trace = fs.trace(two.path, two.inputs)
    assert {v.address for v in trace.variables} == {"w", "parts.0"}
    np.testing.assert_array_equal(trace["w"].value_at(0), [[2.0], [3.0]])


def test_a_layers_variables_go_by_its_name(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head")])
    model.export(str(tmp_path / "m"), verbose=False)
    trace = fs.trace(str(tmp_path / "m"), np.ones((1, 3), "f"))
    assert {v.address for v in trace.variables} == {"head.kernel", "head.bias"}


def test_two_loads_do_not_share_state(tmp_path: Path) -> None:
    class Counter(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = tf.Variable(0.0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="by")])
        def add(self, by: Any) -> Any:
            return {"n": self.n.assign_add(by)}

    counter = Counter()
    tf.saved_model.save(counter, str(tmp_path / "m"), signatures=counter.add)
    for _ in range(2):
        trace = fs.trace(str(tmp_path / "m"), np.float32(2.0))
        assert float(trace.output["n"]) == 2.0
        assert len(trace["n"].writes) == 1


def test_a_restored_object_and_its_signatures(two: SavedCase) -> None:
    loaded = tf.saved_model.load(two.path)
    trace = fs.trace(loaded, input_kwargs={"x": tf.constant(two.inputs["x"])})
    assert float(trace.output["y"][0, 0]) == pytest.approx(
        float(fs.trace(two.path, two.inputs).output["y"][0, 0])
    )
    with pytest.raises(fs.errors.LookupFailedError, match="'other', 'serving_default'"):
        fs.trace(loaded, two.inputs["x"], signature="nothing")


def test_a_keras_file_by_path(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head")])
    model.save(tmp_path / "m.keras")
    x = np.ones((1, 3), "f")
    trace = fs.trace(tmp_path / "m.keras", x)
    assert trace.root_kind == "keras"
    np.testing.assert_array_equal(trace.output, model(x))


class Thrice(keras.layers.Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return x * 3.0


def test_a_keras_file_that_keras_cannot_load(tmp_path: Path) -> None:
    path, x = tmp_path / "m.keras", np.ones((1, 3), "f")
    keras.Sequential([keras.Input((3,)), Thrice()]).save(path)
    with pytest.raises(fs.errors.InvalidArgumentError, match="custom_object_scope") as caught:
        fs.trace(path, x)
    assert str(path) in str(caught.value) and isinstance(caught.value.__cause__, TypeError)
    with keras.saving.custom_object_scope({"Thrice": Thrice}):
        assert fs.trace(path, x).root_kind == "keras"
    path.write_bytes(b"no archive")
    with pytest.raises(fs.errors.InvalidArgumentError, match="Keras cannot load"):
        fs.trace(path, x)


def test_a_tfsm_layer(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head")])
    model.export(str(tmp_path / "m"), verbose=False)
    layer = keras.layers.TFSMLayer(str(tmp_path / "m"), call_endpoint="serve")
    trace = fs.trace(layer, tf.ones((1, 3)))
    assert trace.root_kind == "keras"
    assert trace.op_counts()["MatMul"] == 1


def test_inputs_are_made_where_none_are_given(two: SavedCase) -> None:
    trace = fs.trace(two.path)
    assert trace.output["y"].shape == (1, 1)
    assert any("no input was given" in note for note in trace.completeness["notes"])


# --- broken inputs -----------------------------------------------------------


def copied(case: SavedCase, folder: Path) -> Path:
    return Path(shutil.copytree(case.path, folder / "copy"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"signature": "serving_defualt"}, "did you mean 'serving_default.*other"),
        ({"input_args": {"X": np.ones((1, 2), "f")}}, "x: float32 \\(\\?, 2\\)"),
        ({"input_args": {"x": tf.ones((1, 3))}}, "given x: float32 \\(1, 3\\)"),
        ({"input_args": {"x": tf.ones((1, 2), tf.int32)}}, "given x: int32 \\(1, 2\\)"),
        ({"input_args": {"x": np.array([["a", "b"]])}}, "no tensor of float32"),
        ({"input_args": (np.ones(2), np.ones(2))}, "by name.*x: float32"),
    ],
)
def test_a_wrong_call_lists_what_is_expected(
    two: SavedCase, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(fs.FlowScopeError, match=told):
        fs.trace(two.path, **options)


def test_missing_variables_are_named(two: SavedCase, tmp_path: Path) -> None:
    folder = copied(two, tmp_path)
    shutil.rmtree(folder / "variables")
    with pytest.raises(fs.errors.LookupFailedError, match=r"there is no .*variables\.index"):
        fs.trace(folder, two.inputs)


def test_damaged_variables_are_named(two: SavedCase, tmp_path: Path) -> None:
    folder = copied(two, tmp_path)
    (data,) = (folder / "variables").glob("variables.data*")
    data.write_bytes(data.read_bytes()[:3])
    with pytest.raises(fs.FlowScopeError, match="cannot be restored"):
        fs.trace(folder, two.inputs)


def test_a_missing_asset_is_named(tmp_path: Path) -> None:
    case = save("table", tmp_path)
    shutil.rmtree(Path(case.path) / "assets")
    with pytest.raises(fs.errors.LookupFailedError, match=r"words\.txt, which is missing"):
        fs.trace(case.path, case.inputs)


@pytest.mark.parametrize("kept", [0, 1, 100, 1000])
def test_a_file_that_is_cut_off_is_damaged(two: SavedCase, tmp_path: Path, kept: int) -> None:
    file = copied(two, tmp_path) / "saved_model.pb"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(fs.errors.CorruptTraceError, match="is damaged"):
        fs.trace(file.parent, two.inputs)


@pytest.mark.parametrize(
    ("name", "told"), [("nowhere", "does not exist"), ("empty", "has no saved_model.pb")]
)
def test_a_folder_without_a_model_is_named(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(fs.errors.LookupFailedError, match=told):
        fs.trace(tmp_path / name)


def test_an_op_that_is_not_known_here_is_named(two: SavedCase, tmp_path: Path) -> None:
    file = copied(two, tmp_path) / "saved_model.pb"
    # Same length, so that the file stays sound.
    file.write_bytes(file.read_bytes().replace(b"\x06MatMul", b"\x06MetMul"))
    with pytest.raises(fs.FlowScopeError, match="MetMul"):
        fs.trace(file.parent, two.inputs)


def test_a_name_that_is_no_text_is_told(two: SavedCase, tmp_path: Path) -> None:
    file = copied(two, tmp_path) / "saved_model.pb"
    whole, messages = file.read_bytes(), []
    at = whole.find(b"StatefulPartitionedCall")
    while at >= 0:
        file.write_bytes(whole[: at + 3] + b"\xdc" + whole[at + 4 :])
        try:
            fs.trace(file.parent, two.inputs)
        except fs.FlowScopeError as error:
            messages.append(str(error))
        at = whole.find(b"StatefulPartitionedCall", at + 1)
    assert any("Sta\udcdcefulPartitionedCall" in message for message in messages)


def test_signature_is_refused_for_what_has_none() -> None:
    with pytest.raises(fs.errors.InvalidArgumentError, match="this is none"):
        fs.trace(tf.nn.relu, tf.ones(3), signature="serving_default")


# --- names of layers ---------------------------------------------------------


def test_layers_of_an_exported_model_are_modules(tmp_path: Path) -> None:
    trace = fs.trace(save("lstm", tmp_path).path)
    addresses = {m.address: m for m in trace.modules}
    assert {"self", "lstm", "head"} <= set(addresses)
    assert addresses["head"].num_params == 8 * 2 + 2
    assert addresses["lstm"].num_params == 4 * 8 * (4 + 8 + 1)
    assert {v.address for v in addresses["head"].variables} == {"head.kernel", "head.bias"}
    assert all(v.address.startswith(("lstm.", "head.")) for v in trace.variables)


def test_layers_that_are_older_than_the_model_are_modules(tmp_path: Path) -> None:
    trace = fs.trace(save("mobilenet", tmp_path).path)
    addresses = {m.address for m in trace.modules}
    assert {"Conv1", "bn_Conv1", "Conv1_relu", "block_1_expand", "predictions"} <= addresses
    assert (
        trace["self"].num_params
        == keras.applications.MobileNetV2(
            weights=None, input_shape=(64, 64, 3), alpha=0.35, classes=10
        ).count_params()
    )


def test_layers_in_a_function_have_their_calls(tmp_path: Path) -> None:
    case = save("mobilenet", tmp_path)
    trace = fs.trace(case.path, case.inputs)
    call = trace["Conv1:1"]
    assert call.method == "by name" and call.parent.call_label == "self:1"
    assert call.out.shape == (1, 32, 32, 16)
    assert [op.type for op in call.ops] == ["ReadVariableOp", "Conv2D"]
    np.testing.assert_array_equal(trace["Conv1_relu:1"].inputs[0], trace["bn_Conv1:1"].out)
    assert trace["predictions"].out.shape == (1, 10)
    assert any("by name" in note for note in trace.notes)
    assert list(trace.lint()) == []


def test_a_keras_model_that_a_module_holds(tmp_path: Path) -> None:
    """The file has its variables twice: the saver restores one, the functions read the other."""
    keras.utils.set_random_seed(2)

    class Holder(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="head")])

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
        def serve(self, x: Any) -> Any:
            return {"y": self.model(x)}

    holder = Holder()
    tf.saved_model.save(holder, str(tmp_path / "m"), signatures=holder.serve)
    x = np.ones((2, 3), "f")
    trace = fs.trace(tmp_path / "m", x)
    assert trace.output["y"].numpy().tobytes() == holder.serve(x)["y"].numpy().tobytes()
    assert trace["self"].num_params == 8
    assert len(trace.variables) == 2
    assert all("head" in v.address or "_layers" in v.address for v in trace.variables)


def test_modules_of_a_tf_module_have_their_attributes(two: SavedCase) -> None:
    trace = fs.trace(two.path, two.inputs)
    assert [m.address for m in trace.modules] == ["self"]
    assert trace["self"].num_params == 3


# --- structure without a run -------------------------------------------------


def facts(trace: Any) -> list[Any]:
    return [
        (op.label, op.type, op.kind, [p.label for p in op.parents], op.region.path, op.modules)
        for op in trace
    ]


@pytest.mark.parametrize("name", ["two", "other", "table", "text", "mobilenet"])
def test_structure_is_that_of_a_run(name: str, tmp_path: Path) -> None:
    case = save(name, tmp_path)
    run = fs.trace(case.path, case.inputs, signature=case.signature)
    structure = fs.trace(case.path, structure_only=True, signature=case.signature)
    assert facts(structure) == facts(run)
    assert structure.recorder == "structure"
    assert structure.num_kept == 0
    assert list(structure.lint()) == []
    for planned, ran in zip(structure, run, strict=True):
        if planned.shape is not None and ran.shape is not None:
            assert len(planned.shape) == len(ran.shape)
            known = [(a, b) for a, b in zip(planned.shape, ran.shape, strict=True) if a is not None]
            assert all(a == b for a, b in known)


def test_a_loop_stands_as_one_iteration(tmp_path: Path) -> None:
    structure = fs.trace(save("lstm", tmp_path).path, structure_only=True)
    iterations = [r for r in structure.regions if r.kind == "iteration"]
    assert len(iterations) == 1
    assert list(structure.lint()) == []


def test_structure_needs_no_variables_and_no_kernels(two: SavedCase, tmp_path: Path) -> None:
    folder = copied(two, tmp_path)
    shutil.rmtree(folder / "variables")
    structure = fs.trace(folder, structure_only=True)
    assert structure.op_counts()["MatMul"] == 1
    assert [v.address for v in structure.variables] == ["w", "parts.0"]


# --- what a program can hold, run and fail with ------------------------------


class Awkward(tf.Module):
    """Functions that are hard to run outside of the program that made them."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def python(self, x: Any) -> Any:
        return {"y": tf.py_function(lambda v: v * 2, [x], tf.float32)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def random(self, x: Any) -> Any:
        return {"y": x + tf.random.uniform(tf.shape(x))}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def fails(self, x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(x > 100), [x])]):
            return {"y": x + 1}


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> tuple[Awkward, str]:
    module = Awkward()
    path = str(tmp_path_factory.mktemp("awkward") / "with spaces ü")
    names = ("python", "random", "fails")
    tf.saved_model.save(module, path, signatures={n: getattr(module, n) for n in names})
    return module, path


def test_python_inside_runs_where_python_is(awkward: tuple[Awkward, str]) -> None:
    trace = fs.trace(awkward[1], np.ones(2, "f"), signature="python")
    np.testing.assert_array_equal(trace.output["y"], [2.0, 2.0])


def test_random_functions_stay_compiled_and_say_so(awkward: tuple[Awkward, str]) -> None:
    trace = fs.trace(awkward[1], np.ones(2, "f"), signature="random")
    (call,) = [op for op in trace if op.kind == "call"]
    assert "random op" in call.opaque_reason


def test_a_failure_carries_what_ran(awkward: tuple[Awkward, str]) -> None:
    with pytest.raises(fs.FlowScopeError, match=r"(?s)assertion failed.*else_branch") as caught:
        fs.trace(awkward[1], np.ones(2, "f"), signature="fails")
    assert caught.value.flowscope_trace.op_counts()["Greater"] == 1
    assert fs._core.hook_slots_restored()
    assert fs._core.living_recorders() == 0


def test_a_stop_at_a_nan_reports_it(two: SavedCase) -> None:
    x = np.array([[np.inf, 0.0]], "f") * 0
    with pytest.raises(fs.errors.NonFiniteError):
        fs.trace(two.path, x, raise_on_nan=True)


def test_a_signature_whose_object_was_dropped(two: SavedCase) -> None:
    signature = tf.saved_model.load(two.path).signatures["serving_default"]
    wanted = signature(x=tf.constant(two.inputs["x"]))["y"]
    trace = fs.trace(signature, input_kwargs={"x": tf.constant(two.inputs["x"])})
    assert trace.output["y"].numpy().tobytes() == wanted.numpy().tobytes()
    assert "ReadVariableOp" in [op.type for op in trace]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.ones((3, 5), "f4"), r"given float32 \(3, 5\); .*takes x: float32 \(None, 2\)"),
        (tf.TensorSpec((None, 2), tf.int32), r"given int32 \(None, 2\)"),
        ({"z": np.ones((3, 2), "f4")}, "no input 'z'; signature 'serving_default' takes x"),
    ],
)
def test_inputs_of_a_structure_have_to_fit(two: SavedCase, given: Any, told: str) -> None:
    with pytest.raises(fs.FlowScopeError, match=told):
        fs.trace(two.path, given, structure_only=True)
    assert fs.trace(two.path, tf.TensorSpec((3, 2)), structure_only=True).num_ops > 0


def test_a_shape_that_is_known_in_part_is_shown(two: SavedCase) -> None:
    structure = fs.trace(two.path, structure_only=True)
    assert structure["matmul_1"].shape == (None, 1)
    (line,) = [line for line in structure.summary().splitlines() if "matmul_1" in line][:1]
    assert "f32 (?, 1)" in line


@pytest.mark.parametrize("whole", [True, False], ids=["object", "signature"])
def test_a_restored_signature_takes_what_a_path_takes(whole: bool, tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    models = {
        "one": keras.Model(a, keras.layers.Dense(2)(a)),
        "two": keras.Model([a, b], keras.layers.Concatenate()([a, b])),
    }
    x, y = np.ones((1, 3), "f4"), np.zeros((1, 2), "f4")
    for name, given in {"one": x, "two": {"a": x, "b": y}}.items():
        path = str(tmp_path / name)
        models[name].export(path, verbose=False)
        loaded = tf.saved_model.load(path)
        root = loaded if whole else loaded.signatures["serving_default"]
        (value,) = fs.trace(root, given).output.values()
        (other,) = fs.trace(path, given).output.values()
        assert value.numpy().tobytes() == other.numpy().tobytes()
        assert fs.trace(root, given, structure_only=True).num_ops > 0
