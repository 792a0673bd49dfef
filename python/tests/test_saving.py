"""What is kept: selections, statistics, budgets; the graph is the same whatever is kept."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import checks
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


@pytest.fixture(scope="module")
def mobilenet() -> Any:
    keras.utils.set_random_seed(0)
    model = keras.applications.MobileNetV2(weights=None, classes=10, input_shape=(32, 32, 3))
    return model, tf.random.uniform((1, 32, 32, 3))


@pytest.fixture(scope="module")
def whole(mobilenet: Any) -> Any:
    return fs.trace(*mobilenet)


OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {"save": "none"},
    "convolutions": {"save": fs.sites.func("Conv2D")},
    "one layer": {"save": "Conv1"},
    "predicate": {"save": lambda op: op.type == "Relu6"},
    "statistics": {"keep": "stats"},
    "small budget": {"save_budget": 100_000},
    "no budget": {"save_budget": 0},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.filterwarnings("ignore:flowscope")
def test_the_graph_does_not_depend_on_what_is_kept(name: str, mobilenet: Any, whole: Any) -> None:
    """Addresses of handles that are not held come back after one or two ops."""
    trace = fs.trace(*mobilenet, **OPTIONS[name])
    assert trace.edges == whole.edges and len(whole.edges) > 1000
    assert [op.label for op in trace] == [op.label for op in whole]
    assert [op.shape for op in trace] == [op.shape for op in whole]
    assert trace.num_kept < whole.num_kept == whole.num_ops
    assert trace.total_activation_memory == whole.total_activation_memory
    checks.assert_same_bits(trace.output, whole.output)
    checks.assert_sound(trace)


def test_addresses_do_come_back() -> None:
    """The trap itself is there: without care these inputs would be linked wrongly.

    Not under AddressSanitizer, whose allocator holds freed addresses back.
    """
    trace = fs.trace(chain, tf.ones(4), save="none")
    handles = [op.inputs[0].handle for op in trace if op.type == "AddV2"]
    assert len(handles) == 200 and len(set(handles)) < 100
    for before, after in zip(trace.ops[1:], trace.ops[2:], strict=False):
        assert after.parents == [before]


def chain(x: Any) -> Any:
    for _ in range(200):
        x = x + 1.0
    return x


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"save": "none"},
        {"save": fs.sites.func("Exp")},
        {"keep": "stats"},
    ],
    ids=str,
)
def test_variables_that_the_fast_path_reads(options: dict[str, Any]) -> None:
    weight, scale = tf.Variable(tf.ones((2, 2))), tf.Variable(3.0)
    trace = fs.trace(lambda x: tf.exp(x @ weight) * scale, tf.ones((2, 2)), **options)
    assert [op.type for op in trace["matmul_1"].parents] == ["input", "ReadVariableOp"]
    assert [op.type for op in trace["mul_1"].parents] == ["Exp", "ReadVariableOp"]
    assert trace.completeness["edges"]["constant"] == trace.completeness["edges"]["literal"] == 0


@pytest.mark.asan
def test_garbage_collected_values_do_not_mix_edges() -> None:
    def model(x: Any) -> Any:
        ring: list[Any] = [tf.abs(x)]
        ring.append(ring)
        del ring
        gc.collect()
        y = tf.exp(x)
        return tf.sin(y) + tf.cos(x)

    whole, none = fs.trace(model, tf.ones(3)), fs.trace(model, tf.ones(3), save="none")
    assert whole.edges == none.edges and whole["abs_1"].children == []


def test_a_selection_keeps_only_what_it_names(mobilenet: Any, whole: Any) -> None:
    trace = fs.trace(*mobilenet, save=fs.sites.func("Conv2D"))
    kept = [op for op in trace if op.type == "Conv2D"]
    assert trace.num_kept == len(kept) > 30
    for op in kept:
        assert np.array_equal(op.out, whole[op.label].out)
    left_out = next(op for op in trace if op.type == "Relu6")
    with pytest.raises(fs.errors.UnavailableError, match="save="):
        _ = left_out.out
    assert left_out.shape == whole[left_out.label].shape


def test_a_module_address_keeps_its_output(mobilenet: Any, whole: Any) -> None:
    trace = fs.trace(*mobilenet, save=["Conv1", "block_1_project"])
    for address in ("Conv1", "block_1_project"):
        assert np.array_equal(trace[address].out, whole[address].out)


def test_a_selection_that_matches_nothing_is_an_error(mobilenet: Any) -> None:
    with pytest.raises(fs.errors.LookupFailedError, match="block_1_project"):
        fs.trace(*mobilenet, save="block_1_projekt")
    with pytest.raises(fs.errors.LookupFailedError, match="no op"):
        fs.trace(*mobilenet, save=lambda op: False)


def test_statistics_instead_of_values(mobilenet: Any, whole: Any) -> None:
    trace = fs.trace(*mobilenet, keep="stats")
    assert trace.num_kept == 0 and trace.degraded is None
    for op, full in zip(trace, whole, strict=True):
        if op.kind in checks.SOURCE_KINDS:
            continue
        expected = full.out.astype("f8")
        assert op.stats == full.stats and op.stats["count"] == expected.size
        assert op.stats["min"] == expected.min() and op.stats["max"] == expected.max()
        assert op.stats["mean"] == pytest.approx(expected.mean(), rel=1e-6, abs=1e-9)
    with pytest.raises(fs.errors.UnavailableError, match="only statistics"):
        _ = trace[-1].out


@pytest.mark.parametrize("budget", [0, 100_000, 400_000])
def test_a_small_budget(budget: int, mobilenet: Any, whole: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trace = fs.trace(*mobilenet, save_budget=budget)
    ours = [str(w.message) for w in caught if "flowscope" in str(w.message)]
    assert len(ours) == 1 and str(budget) in ours[0]
    assert str(budget) in trace.degraded and "Capture" in trace.summary()
    kept = [op for op in trace if op.kind not in checks.SOURCE_KINDS and has_value(op)]
    assert len(kept) == trace.num_kept and sum(op.nbytes for op in kept) <= budget
    assert (budget > 0) == bool(kept)
    for op in trace:
        assert op.stats["count"] == whole[op.label].stats["count"]


def has_value(op: Any) -> bool:
    try:
        return op.out is not None
    except fs.errors.UnavailableError:
        return False


def test_a_budget_that_is_enough(mobilenet: Any, whole: Any) -> None:
    enough = sum(op.nbytes for op in whole if op.kind not in checks.SOURCE_KINDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = fs.trace(*mobilenet, save_budget=enough)
        assert fs.trace(*mobilenet, save_budget=None).degraded is None
    assert trace.degraded is None and trace.num_kept == whole.num_kept


@pytest.mark.filterwarnings("ignore:flowscope")
def test_reading_a_variable_again_takes_no_memory() -> None:
    """Every read holds the variable's own buffer; a loop over its weights is no large batch."""
    variable = tf.Variable(tf.zeros(1000))

    def model(x: Any) -> Any:
        for _ in range(20):
            x = x + tf.raw_ops.Max(input=variable.read_value(), axis=[0])
        return x

    trace = fs.trace(model, tf.zeros(()), save_budget=10_000)
    buffers = {op.out.__array_interface__["data"][0] for op in trace if op.nbytes == 4000}
    assert len(buffers) == 1 and trace.degraded is None


@pytest.mark.parametrize("wrong", [-1, "much", [], 1 + 2j])
def test_a_budget_that_cannot_be_used(wrong: Any) -> None:
    with pytest.raises(fs.errors.InvalidArgumentError, match="save_budget"):
        fs.trace(tf.identity, tf.ones(2), save_budget=wrong)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_warning_can_be_made_an_error() -> None:
    """With warnings as errors the run goes on all the same: recording changes no result."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = fs.trace(lambda x: tf.exp(x) * 2.0, tf.ones(1000), save_budget=10)
    assert trace.degraded and trace.num_ops == 2 and trace.error is None


@pytest.mark.filterwarnings("ignore:flowscope")
def test_the_budget_holds_for_versions_of_variables() -> None:
    variable = tf.Variable(tf.zeros(1000))

    def model() -> None:
        for _ in range(10):
            variable.assign_add(tf.ones(1000))
        return tf.ones(1)

    trace = fs.trace(model, save_budget=10_000)
    (record,) = trace.variables
    kept = sum(version_is_kept(version) for version in record.versions)
    assert len(record.versions) == 11 and kept * 4000 <= 10_000 and trace.degraded


def test_statistics_of_versions_of_variables() -> None:
    variable = tf.Variable([1.0, 2.0])
    trace = fs.trace(lambda: variable.assign_add([1.0, 1.0]), keep="stats")
    assert "only statistics" in reason_of(lambda: trace.variables[0].value_at(1))


def version_is_kept(version: Any) -> bool:
    return reason_of(lambda: version.value) == ""


def reason_of(ask: Any) -> str:
    try:
        ask()
    except fs.errors.UnavailableError as error:
        return str(error)
    return ""


def test_values_are_read_only_views(whole: Any) -> None:
    op = next(op for op in whole if op.type == "Conv2D")
    first, second = op.out, op.out
    assert not first.flags.writeable and not first.flags.owndata
    assert first.__array_interface__["data"][0] == second.__array_interface__["data"][0]
    with pytest.raises(ValueError, match="read-only"):
        first[...] = 0


@pytest.mark.asan
def test_values_stay_when_the_program_goes_on() -> None:
    """Later writes to a variable do not reach into the record."""
    variable = tf.Variable([1.0, 2.0])
    trace = fs.trace(lambda x: x * variable, tf.ones(2))
    for i in range(3):
        variable.assign([float(i), 9.0])
        variable.scatter_update(tf.IndexedSlices([7.0], [0]))
    assert trace["readvariableop_1"].out.tolist() == [1.0, 2.0]
    assert trace.variables[0].value.tolist() == [1.0, 2.0] == trace.output.numpy().tolist()


def test_a_donated_buffer_is_not_overwritten() -> None:
    """Kernels write in place where nobody else holds their input: we hold it."""

    def model(x: Any) -> Any:
        y = x
        for _ in range(5):
            y = tf.raw_ops.InplaceAdd(x=y, i=[0], v=[[1.0, 1.0]])
        return tf.exp(tf.nn.relu(y) * 2.0)

    start = tf.zeros((2, 2))
    plain = model(tf.zeros((2, 2)))
    trace = fs.trace(model, start)
    checks.assert_same_bits(plain, trace.output)
    product = next(op for op in trace if op.type == "Mul")
    assert np.array_equal(product.out, product.parents[0].out * 2.0)


def test_statistics_of_a_selection() -> None:
    trace = fs.trace(lambda x: tf.exp(x) * 2.0, tf.ones(2), save="exp_1", keep="stats")
    assert trace["exp_1"].stats["count"] == 2 and trace.num_kept == 0


def test_statistics_of_a_modules_output() -> None:
    layer = keras.layers.Dense(2, activation="relu", name="one")
    model = keras.Sequential([keras.Input((3,)), layer])
    trace = fs.trace(model, tf.ones((1, 3)), save="one", keep="stats")
    assert trace["one"].calls[0].ops[-1].stats["count"] == 2


def test_a_selection_by_source_line() -> None:
    def model(x: Any) -> Any:
        y = tf.exp(x)
        return tf.sin(y) * 2.0

    line = model.__code__.co_firstlineno + 2
    trace = fs.trace(model, tf.ones(2), save=fs.sites.line(line, "test_saving.py"))
    kept = [op.type for op in trace if op.kind == "compute" and has_value(op)]
    assert kept == ["Sin", "Mul"]
    halted = fs.trace(
        model, tf.ones(2), halt=fs.sites.line(line, "test_saving.py"), code_context=False
    )
    assert halted.halted and [op.type for op in halted][-1] == "Sin"


def test_a_selection_of_what_has_no_value_is_no_error() -> None:
    variable = tf.Variable(1.0)
    trace = fs.trace(lambda: variable.assign(2.0), save=fs.sites.func("AssignVariableOp"))
    assert trace.num_kept == 0 and trace.num_ops == 1


def test_a_halt_that_never_matches_is_said() -> None:
    with pytest.warns(RuntimeWarning, match="halt=.*matched no op.*went on to its end"):
        trace = fs.trace(lambda x: tf.exp(x), tf.ones(2), halt=fs.sites.func("Exq"))
    assert not trace.halted and trace.num_ops == 1


def test_the_warning_points_at_the_users_line() -> None:
    with pytest.warns(RuntimeWarning, match="save_budget") as caught:
        fs.trace(lambda x: tf.exp(x) * 2.0, tf.ones(1000), save_budget=10)
    assert caught[0].filename == __file__
