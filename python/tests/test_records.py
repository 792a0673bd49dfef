"""Every attribute of the record objects, on a Keras model and on a tf.Module."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


@pytest.fixture(scope="module")
def dense() -> SimpleNamespace:
    keras.utils.set_random_seed(0)
    hidden = keras.layers.Dense(4, activation="relu", name="hidden")
    head = keras.layers.Dense(2, name="head")
    model = keras.Sequential([keras.Input((3,)), hidden, head])
    x = tf.constant(np.arange(15, dtype="float32").reshape(5, 3) / 10)
    trace = fs.trace(model, x)
    return SimpleNamespace(model=model, hidden=hidden, head=head, x=x, trace=trace)


class Step(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable([[1.0, 2.0], [0.0, 1.0]], name="weight")

    def __call__(self, x: Any) -> Any:
        return x @ self.weight + 1.0


class Loop(tf.Module):
    """Three calls of one module, a variable write, an op with two outputs, a way through Python."""

    def __init__(self) -> None:
        super().__init__()
        self.step = Step()
        self.count = tf.Variable(0, trainable=False, name="count")
        self.idle = Step()

    def __call__(self, x: Any) -> Any:
        for _ in range(3):
            x = self.step(x)
        self.count.assign_add(2)
        halves = tf.split(x, 2, axis=1)
        again = tf.convert_to_tensor(x.numpy())
        return halves, again * x


@pytest.fixture(scope="module")
def loop() -> SimpleNamespace:
    model = Loop()
    x = tf.constant([[1.0, 2.0]])
    return SimpleNamespace(model=model, trace=fs.trace(model, x))


def test_op_names(dense: SimpleNamespace) -> None:
    op = dense.trace["relu_1"]
    assert (op.label, op.layer_label, op.label_short) == ("relu_1_6:1", "relu_1_6", "relu_1:1")
    assert (op.type, op.kind, op.name) == ("Relu", "compute", None)
    assert op.site_key == ("", "hidden", "Relu", 1)
    assert (op.pass_index, op.num_passes) == (1, 1)
    assert dense.trace[op.index] == op
    assert op.layer == dense.trace.layers["relu_1"]
    assert dense.trace["input_1"].kind == "input" and dense.trace["input_1"].name == "inputs"


def test_op_values(dense: SimpleNamespace) -> None:
    op = dense.trace["relu_1"]
    expected = dense.hidden(dense.x).numpy()
    assert np.array_equal(op.out, expected)
    assert len(op.outs) == op.num_outputs == 1 and np.array_equal(op.outs[0], expected)
    assert (op.shape, op.dtype, op.nbytes) == ((5, 4), "float32", 5 * 4 * 4)
    assert op.stats["max"] == pytest.approx(expected.max())
    assert op.stats["zeros"] == int((expected == 0).sum())
    assert sum(op.stats["histogram"]) == op.stats["count"] == 20
    with pytest.raises(ValueError, match="read-only"):
        op.out[0, 0] = 1


def test_op_place(dense: SimpleNamespace) -> None:
    trace, op = dense.trace, dense.trace["relu_1"]
    assert op.parents == [trace["biasadd_1"]] and op.children == [trace["matmul_2"]]
    assert op.module == trace.modules["hidden"] and op.module_call == trace.module_calls["hidden"]
    assert op.modules == ["self:1", "hidden:1"]
    assert op.region.kind == "root" and op.iteration is None
    assert trace["input_1"].module is None and trace["input_1"].module_call is None
    read = trace["readvariableop_1"]
    assert read.variables == [trace["hidden.kernel"]] and op.variables == []
    assert read.inputs[0].edge_class == "variable"
    assert read.inputs[0].variable == trace["hidden.kernel"] and read.inputs[0].op is None


def test_op_run(dense: SimpleNamespace) -> None:
    trace, op = dense.trace, dense.trace["relu_1"]
    assert "CPU" in op.device and op.duration > 0 and op.thread == trace[1].thread
    assert [o.run_counter for o in trace] == list(range(len(trace)))
    starts = [o.start for o in trace]
    assert starts == sorted(starts) and 0 < op.start < trace.duration
    assert (op.opaque, op.opaque_reason, op.error) == (False, None, None)
    assert op.flops == 20 and trace["matmul_1"].flops == 2 * 5 * 3 * 4
    assert op.possible_origins == []
    assert op.attrs == {"T": "float32"}
    assert trace["matmul_1"].attrs["transpose_b"] is False


def test_op_code_context(loop: SimpleNamespace) -> None:
    (at,) = loop.trace["matmul_1:2"].code_context
    assert at.file == __file__ and at.func_name == "__call__"
    assert at.code.strip() == "return x @ self.weight + 1.0"
    assert at == loop.trace["matmul_1:1"].code_context[0] and hash(at) is not None
    assert f":{at.line_number} in __call__" in repr(at)
    assert loop.trace["input_1"].code_context == []


def test_inputs(dense: SimpleNamespace) -> None:
    trace = dense.trace
    first, second = trace["matmul_1"].inputs
    assert (first.edge_class, second.edge_class) == ("input", "op")
    assert (first.index, second.index, second.output_index) == (0, 1, 0)
    assert first.op == trace["input_1"] and second.op == trace["readvariableop_1"]
    assert first.shape == (5, 3) and first.dtype == "float32" and first.variable is None
    assert first.handle != second.handle != 0
    assert np.array_equal(first.value, dense.x.numpy())
    assert np.array_equal(np.asarray(second), dense.hidden.kernel.numpy())
    assert np.asarray(first, dtype="float64").dtype == np.float64
    copied = np.array(first, copy=True)
    assert copied.flags.writeable and not first.value.flags.writeable
    with pytest.raises(ValueError, match="copy"):
        first.__array__(dtype="int32", copy=False)
    assert first == trace["matmul_1"].inputs[0] != second
    assert repr(first).startswith("input 0 of matmul_1_3:1 [input] input_1_1:1")
    assert "hidden.kernel" in repr(trace["readvariableop_1"].inputs[0])


def test_literals(loop: SimpleNamespace) -> None:
    add = loop.trace["addv2_1:2"]
    assert add.literals == {1: 1.0} and add.inputs[1].edge_class == "literal"
    assert add.inputs[1].op is None and add.inputs[1].output_index is None
    assert float(add.inputs[1].value) == 1.0
    assert loop.trace["split_1"].literals == {0: 1}


def test_several_outputs(loop: SimpleNamespace) -> None:
    op = loop.trace["split_1"]
    assert op.num_outputs == len(op.outs) == 2
    assert np.array_equal(op.out, op.outs[0])
    assert [o.shape for o in op.outs] == [(1, 1), (1, 1)]


def test_no_output(loop: SimpleNamespace) -> None:
    op = loop.trace["assignaddvariableop_1"]
    assert op.kind == "variable_write" and op.outs == [] and op.shape is None and op.dtype is None
    assert op.variables == [loop.trace["count"]]
    with pytest.raises(fs.errors.UnavailableError, match=r"assignaddvariableop_1_\d+:1 .*variable"):
        _ = op.out
    with pytest.raises(fs.errors.UnavailableError, match="variable"):
        _ = op.stats


def test_handle_output() -> None:
    trace = fs.trace(lambda x: tf.Variable(x).read_value() + 1.0, tf.ones((2,)))
    handle = next(op for op in trace if op.dtype == "resource")
    with pytest.raises(fs.errors.UnavailableError, match=f"{handle.label} is a resource handle"):
        _ = handle.out
    assert handle.outs == [None]


def test_from_python(loop: SimpleNamespace) -> None:
    (source,) = [op for op in loop.trace if op.kind == "from_python"]
    assert source.possible_origins == [loop.trace["addv2_1:3"]]
    assert source.parents == [] and source.run_counter == 0


def test_not_kept(dense: SimpleNamespace) -> None:
    trace = fs.trace(dense.model, dense.x, save="head")
    with pytest.raises(fs.errors.UnavailableError) as error:
        _ = trace["relu_1"].out
    for part in ("relu_1_6:1", "not_kept", 'save="all"'):
        assert part in str(error.value)
    assert np.array_equal(trace["head"].out, dense.model(dense.x))
    with pytest.raises(fs.errors.UnavailableError, match="relu_1_6:1"):
        _ = trace["relu_1"].outs
    with pytest.raises(fs.errors.UnavailableError, match="output of hidden:1"):
        _ = trace["hidden"].out
    assert trace.num_kept == 1


def test_stats_only(dense: SimpleNamespace) -> None:
    trace = fs.trace(dense.model, dense.x, keep="stats")
    op = trace["relu_1"]
    assert op.stats == dense.trace["relu_1"].stats
    with pytest.raises(fs.errors.UnavailableError, match=r"only statistics.*\.stats"):
        _ = op.out


def test_layer_with_one_pass(dense: SimpleNamespace) -> None:
    layer, op = dense.trace.layers["matmul_1"], dense.trace["matmul_1"]
    assert (layer.label, layer.label_short, layer.type) == ("matmul_1_3", "matmul_1", "MatMul")
    assert layer.ops == [op] and layer.num_passes == 1
    assert layer.module == dense.trace["hidden"] and layer.module_address == "hidden"
    assert np.array_equal(layer.out, op.out) and len(layer.outs) == 1
    assert (layer.shape, layer.dtype) == ((5, 4), "float32")
    assert layer.parents == op.parents and layer.children == op.children
    assert layer.attrs == op.attrs and layer.kind == "compute" and layer.literals == {}
    with pytest.raises(AttributeError, match="no_such"):
        _ = layer.no_such


def test_layer_with_several_passes(loop: SimpleNamespace) -> None:
    layer = loop.trace["matmul_1"]
    label = layer.label
    assert type(layer).__name__ == "Layer" and layer.num_passes == 3
    assert [op.pass_index for op in layer.ops] == [1, 2, 3]
    assert [op.num_passes for op in layer.ops] == [3, 3, 3]
    with pytest.raises(fs.errors.AmbiguousLookupError, match=f'"{label}:1" .. "{label}:3"'):
        _ = layer.out
    assert len(layer.outs) == 3 and np.array_equal(layer.outs[1], loop.trace["matmul_1:2"].out)
    assert layer.children == loop.trace.layers["addv2_1"].ops
    assert len(layer.parents) == 1 + 2 + 3  # the input, two sums, three reads of the variable
    with pytest.raises(AttributeError, match=f"{label} ran 3 times"):
        _ = layer.attrs


def test_module(dense: SimpleNamespace) -> None:
    trace, module = dense.trace, dense.trace["hidden"]
    assert module.address == "hidden" and module.addresses[0] == "hidden"
    assert "layers.0" in module.addresses
    assert (module.class_name, module.name) == ("Dense", "hidden")
    assert isinstance(module.config, dict) and json.dumps(module.config)
    assert module.parent == trace["self"] and trace["self"].parent is None
    assert trace["self"].children == [trace["hidden"], trace["head"]] and module.children == []
    assert module.calls == [trace.module_calls["hidden:1"]] and module.num_calls == 1
    expected = dense.hidden(dense.x).numpy()
    assert np.array_equal(module.out, expected) and np.array_equal(module.outs[0], expected)
    assert module.out_shape == (5, 4) and len(module.outs) == len(module.outputs) == 1
    assert np.array_equal(module.inputs[0], dense.x.numpy())
    assert [v.address for v in module.variables] == ["hidden.kernel", "hidden.bias"]
    assert len(trace["self"].variables) == 4 and trace["self"].own_variables == []
    assert [op.type for op in module.ops] == [
        "ReadVariableOp",
        "MatMul",
        "ReadVariableOp",
        "BiasAdd",
        "Relu",
    ]
    assert [layer.ops[0] for layer in module.layers] == module.ops
    assert module.num_params == module.num_trainable_params == 16


def test_module_with_several_calls(loop: SimpleNamespace) -> None:
    module = loop.trace["step"]
    assert module.num_calls == 3 and len(module.outs) == 3 and module.out_shape == (1, 2)
    for name in ("out", "inputs", "outputs"):
        with pytest.raises(fs.errors.AmbiguousLookupError, match=r'"step:1" \.\. "step:3"'):
            getattr(module, name)
    assert np.array_equal(loop.trace["step:2"].out, module.outs[1])
    assert len(module.ops) == 9 and len(module.layers) == 3


def test_module_that_did_not_run(loop: SimpleNamespace) -> None:
    module = loop.trace["idle"]
    assert module.num_calls == 0 and module.calls == module.ops == module.outs == []
    for name in ("out", "inputs", "out_shape"):
        with pytest.raises(fs.errors.UnavailableError, match="idle did not run"):
            getattr(module, name)


def test_module_call(loop: SimpleNamespace, dense: SimpleNamespace) -> None:
    call = loop.trace["step:2"]
    assert (call.call_label, call.call_index) == ("step:2", 2)
    assert call.module == loop.trace["step"] and call.parent == loop.trace.module_calls["self:1"]
    assert np.array_equal(call.inputs[0], loop.trace["step:1"].out)
    assert call.input_paths == ["args[0]"] and call.output_paths == ["output"]
    assert call.input_ops == [loop.trace["addv2_1:1"]]
    assert call.output_ops == [loop.trace["addv2_1:2"]]
    assert len(call.outputs) == len(call.outs) == 1 and np.array_equal(call.out, call.outs[0])
    assert [op.type for op in call.ops] == ["ReadVariableOp", "MatMul", "AddV2"]
    assert call.method == "__call__" and call.kwargs == "" and not call.failed
    assert call.duration > 0 and call.start > 0 and call.region.kind == "root"
    assert (call.training, call.training_text) == (None, "")
    assert dense.trace["hidden:1"].parent == dense.trace["self:1"]


def test_training_flag() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.5, name="drop")])
    x = tf.ones((2, 3))
    for given in (True, False):
        call = fs.trace(model, x, {"training": given})["drop:1"]
        assert call.training is given and call.training_text == str(given)


def test_failed_call() -> None:
    class Fails(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            raise KeyError(f"nothing for {tf.reduce_sum(x).numpy()}")

    model = keras.Sequential([keras.Input((3,))])
    model.add(keras.layers.Dense(2, name="before"))
    layer = Fails(name="fails")
    with pytest.raises(KeyError) as error:
        fs.trace(lambda x: layer(model(x)), tf.ones((1, 3)))
    trace = error.value.flowscope_trace  # type: ignore[attr-defined]
    call = next(c for c in trace.module_calls if c.module.class_name == "Fails")
    assert call.failed and "KeyError" in trace.error
    with pytest.raises(fs.errors.UnavailableError, match=f"{call.call_label} failed"):
        _ = call.out


def test_variable(loop: SimpleNamespace) -> None:
    trace, count = loop.trace, loop.trace["count"]
    assert (count.address, count.shape, count.dtype) == ("count", (), "int32")
    assert count.addresses[0] == "count" and "count" in count.name
    assert not count.trainable and trace["step.weight"].trainable
    assert trace["step.weight"].module == trace["step"] and count.module == trace["self"]
    before, after = count.versions
    (writer,) = count.writes
    assert (before.index, before.writer, after.index, after.writer) == (0, None, 1, writer)
    assert before.variable == count and before != after and before == count.versions[0]
    assert int(before.value) == 0 and int(after.value) == 2
    assert int(count.value) == int(count.value_at(-1)) == int(count.value_at(1)) == 2
    assert int(count.initial_value) == int(count.value_at(0)) == 0
    assert "before the run" in repr(before) and writer.label in repr(after)
    assert len(trace["step.weight"].reads) == 3 and trace["step.weight"].writes == []
    with pytest.raises(fs.errors.LookupFailedError, match="count has 2 versions"):
        count.value_at(2)
    with pytest.raises(fs.errors.UnavailableError, match=r"idle\.weight was not read or written"):
        _ = trace["idle.weight"].value


def test_region(loop: SimpleNamespace) -> None:
    (root,) = list(loop.trace.regions)
    assert (root.kind, root.path, root.index, root.parent) == ("root", "", 0, None)
    assert root.op is None and root.predicate is None and root.children == []
    assert len(root.ops) == len(loop.trace) and root.name == ""
    assert root == loop.trace.regions["root"]


@tf.function
def control_flow(x: Any) -> Any:
    step = tf.constant(0)
    while step < 3:
        x = x * 2.0
        step += 1
    if tf.reduce_sum(x) > 10.0:
        x = x - 1.0
    return x


def test_regions_of_control_flow() -> None:
    trace = fs.trace(control_flow, tf.ones((2,)))
    turns = [r for r in trace.regions if r.kind == "iteration"]
    assert [r.index for r in turns] == [0, 1, 2] and {r.predicate for r in turns} == {True}
    assert [r.path.rsplit("/", 1)[1] for r in turns] == ["while[0]", "while[1]", "while[2]"]
    body = turns[0].parent
    assert body is not None and body.kind == "function" and set(turns) <= set(body.children)
    muls = [op for op in trace if op.type == "Mul"]
    assert [op.region for op in muls] == turns and [op.iteration for op in muls] == [0, 1, 2]
    assert [op.pass_index for op in muls] == [1, 2, 3] and all(
        op in r.ops for op, r in zip(muls, turns, strict=True)
    )
    (branch,) = [r for r in trace.regions if r.kind == "branch"]
    assert branch.predicate is True and branch.ops[0].type == "Sub"
    assert body.op is not None and body.op.kind == "call" and set(branch.ops) < set(body.ops)


def test_identity(dense: SimpleNamespace) -> None:
    trace = dense.trace
    other = fs.trace(dense.model, dense.x)
    for key in ("relu_1", "hidden", "hidden:1", "hidden.kernel"):
        assert trace[key] == trace[key] and hash(trace[key]) == hash(trace[key])
        assert trace[key] != other[key] and trace[key] != key
    assert len(set(trace) | set(trace.ops)) == len(trace)


def test_printed_forms(dense: SimpleNamespace) -> None:
    for record in (*dense.trace.ops, *dense.trace.modules, *dense.trace.variables):
        first, *rest = str(record).splitlines()
        assert repr(record) == first and rest
    assert "f32[5,4]" in repr(dense.trace["relu_1"])
    assert "biasadd_1_5:1 -> this -> matmul_2_8:1" in str(dense.trace["relu_1"])
