"""What a newcomer types: keys, sites and selectors that nearly fit, and what is answered."""

from __future__ import annotations

from typing import Any

import flowscope as fs
import keras
import numpy as np
import pytest
import tensorflow as tf

L = keras.layers


class Reader(keras.Model):
    """An embedding, attention without dropout, and an LSTM whose name Keras could have made."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = L.Embedding(9, 4)
        self.attend = L.MultiHeadAttention(2, 3)
        self.memory = L.LSTM(3, name="lstm")
        self.head = L.Dense(2, name="head")

    def call(self, words: Any) -> Any:
        x = self.embed(words)
        return self.head(self.memory(x + self.attend(x, x)))


@pytest.fixture(scope="module")
def words() -> np.ndarray:
    return np.array([[1, 2, 3], [4, 5, 6]])


@pytest.fixture(scope="module")
def reader(words: np.ndarray) -> keras.Model:
    model = Reader()
    model(words)
    return model


@pytest.fixture(scope="module")
def trace(reader: keras.Model, words: np.ndarray) -> Any:
    return fs.trace(reader, words)


def message(call: Any) -> str:
    with pytest.raises(fs.FlowScopeError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "address"),
    [
        ("lstm.cell", "memory.cell"),
        ("lstm.cell.kernel", "memory.cell.kernel"),
        ("self.memory.cell", "memory.cell"),
        ("attend.query", "attend._query_dense"),
        ("self.head.bias", "head.bias"),
    ],
)
def test_a_path_may_go_by_names_of_its_parts(trace: Any, key: str, address: str) -> None:
    assert trace[key].address == address
    assert key in trace or "." in key


def test_an_input_goes_by_the_name_of_its_argument(trace: Any) -> None:
    assert trace["words"] == trace.inputs[0]
    assert fs.trace(lambda left, right: left + right, (tf.ones(2), tf.ones(2)))["right"].shape


def test_a_miss_below_a_module_says_what_the_module_holds(trace: Any) -> None:
    assert "attend holds attend._query_dense" in message(lambda: trace["attend.scores"])


def test_a_glob_as_a_key_says_where_globs_are_taken(trace: Any) -> None:
    assert 'trace.find_sites("atten*")' in message(lambda: trace["atten*"])


def test_a_name_that_several_layers_have_lists_them_all() -> None:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = L.Dense(2, name="same"), L.Dense(2, name="same")
            self.c = keras.Sequential([L.Dense(2, name="same")])

        def call(self, x: Any) -> Any:
            return self.c(self.b(self.a(x)))

    trace = fs.trace(Net(), np.ones((1, 2), "float32"))
    said = message(lambda: trace["same"])
    assert "means 3 things" in said
    assert all(f"module {address}" in said for address in ("a,", "b,", "c.same"))


@pytest.mark.parametrize("key", [1.5, None, ("head",), b"head", np.ones(2)])
def test_what_is_no_key_is_refused_in_words(trace: Any, key: Any) -> None:
    assert "is no key of a trace" in message(lambda: trace[key])


def test_a_layer_object_is_no_key_and_no_selector(trace: Any, reader: keras.Model) -> None:
    assert "Dense is no key of a trace" in message(lambda: trace[reader.head])
    said = message(lambda: trace.find_sites(reader.head))
    assert "Dense is no selector: give its address in the model, or its name" in said


def test_a_layer_object_is_a_site(reader: keras.Model, words: np.ndarray) -> None:
    by_address = fs.pluck(reader, words, "head")
    assert np.array_equal(fs.pluck(reader, words, reader.head), by_address)
    values = fs.extract(reader, words, [reader.head, reader.memory])
    assert list(values) == ["head", "memory"] and np.array_equal(values["head"], by_address)
    named = fs.extract(reader, words, {"last": reader.head})
    assert np.array_equal(named["last"], by_address)
    said = message(lambda: fs.pluck(reader, words, L.Dense(2, name="other")))
    assert said.startswith("Dense 'other' is no layer that the model reaches")


def test_several_matches_of_a_name_keep_it(reader: keras.Model, words: np.ndarray) -> None:
    values = fs.extract(reader, words, {"gates": fs.func("tanh"), "out": "head"})
    assert set(values) - {"out"} and all(k == "out" or k.startswith("gates/tanh_") for k in values)


def test_a_layer_that_did_not_run_says_who_did_its_work(trace: Any) -> None:
    """Keras' attention computes its softmax without calling the layer it holds for it."""
    hint = f"attend ran Softmax itself: {trace.find_sites(fs.func('softmax'))[0].label}"
    assert hint in message(lambda: trace["attend._softmax"].out)
    assert f"module attend._softmax did not run; {hint}" in message(
        lambda: trace.find_sites("attend._softmax")
    )
    assert hint in str(trace["attend._softmax"])


def test_an_input_layer_points_to_the_inputs() -> None:
    model = keras.Sequential([keras.Input((2,), name="given"), L.Dense(1)])
    trace = fs.trace(keras.Model(model.inputs, model.outputs), np.ones((1, 2), "float32"))
    assert "trace.inputs" in message(lambda: trace["given"].out)


def test_a_selector_of_what_it_does_not_mean(trace: Any) -> None:
    said = message(lambda: trace.find_sites("head.kernel"))
    assert 'that is a variable: trace["head.kernel"].value' in said
    assert 'func("tanh") selects by type' in message(lambda: trace.find_sites("tanh"))


def test_an_attribute_without_a_value() -> None:
    trace = fs.trace(lambda x: tf.cumsum(tf.exp(x), reverse=True), tf.ones(3))
    assert [op.type for op in trace.find_sites(fs.attr("reverse"))] == ["Cumsum"]


def test_ancestors_of_a_layer(trace: Any) -> None:
    (last,) = trace.outputs
    assert trace.ancestors("head") == trace.ancestors(last) == trace.ancestors(trace["head"])
    assert trace.ancestors("head:1") == trace.ancestors(trace["head"].calls[0])
    assert "needed here" in message(lambda: trace.ancestors("attend._softmax"))


def test_records_are_in_their_trace(trace: Any, reader: keras.Model, words: np.ndarray) -> None:
    other = fs.trace(reader, words)
    for table in ("ops", "layers", "modules", "module_calls", "variables", "regions"):
        record = getattr(trace, table)[0]
        assert record in trace and record not in other
    assert object() not in trace and 3 not in trace


@pytest.mark.parametrize(
    ("selector", "part"),
    [
        (~fs.module("typo"), 'module("typo")'),
        (fs.func("relu") | fs.func("typo"), 'func("typo")'),
        (["dense", "typo"], '"typo"'),
        (fs.in_module("self") - fs.label("typo_1"), 'label("typo_1")'),
        (fs.func("relu") & ~fs.preceded_by(fs.func("typo")), 'func("typo")'),
    ],
)
def test_a_part_of_a_selector_that_names_nothing_is_noted(selector: Any, part: str) -> None:
    model = keras.Sequential([L.Dense(2, activation="relu", name="dense")])
    x = np.ones((1, 2), "float32")
    model(x)
    trace = fs.trace(model, x, save=selector)
    assert trace.notes == [f"save=: nothing in this run has the name in {part}"]
    assert trace.notes[0] in trace.summary()


@pytest.mark.parametrize(
    "selector",
    [
        ["dense", "relu_1", "relu_1:1", "layers.0"],
        fs.func("relu") | fs.func("matmul") | fs.contains("bias"),
        ~fs.module("self"),
        "de*",
    ],
)
def test_names_that_are_there_are_not_noted(selector: Any) -> None:
    model = keras.Sequential([L.Dense(2, activation="relu", name="dense")])
    x = np.ones((1, 2), "float32")
    model(x)
    assert fs.trace(model, x, save=selector).notes == []


def test_a_stopped_run_has_its_trace_as_any_other() -> None:
    with pytest.raises(fs.errors.NonFiniteError) as caught:
        fs.trace(tf.math.log, tf.zeros(2), raise_on_nan=True)
    assert caught.value.flowscope_trace is caught.value.trace
    assert caught.value.trace["log_1"].type == "Log"


def test_a_flag_is_told_once() -> None:
    dropout = L.Dropout(0.5)
    trace = fs.trace(dropout, (np.ones((1, 2), "float32"),), {"training": True})
    assert str(trace.module_calls[0]).count("training=True") == 1


def test_bytes_of_parameters_beside_seeds_and_metrics(trace: Any, reader: keras.Model) -> None:
    params = next(line for line in trace.summary().splitlines() if line.startswith("Params"))
    nbytes = sum(int(np.prod(v.shape)) * 4 for v in reader.weights)
    assert trace["memory.cell.seed_generator.state"].dtype == "int64"
    assert f"{trace.num_params:,} total" in params and nbytes == 1032
    assert params.endswith("1.0 KB")


def test_a_function_is_its_own_root() -> None:
    trace = fs.trace(lambda x: tf.exp(x) + 1.0, tf.ones(3))
    row = next(line for line in trace.summary().splitlines() if line.startswith("self"))
    assert row.split() == ["self", "(function)", "f32", "(3,)", "0", "6", "1"]
    assert "not called" not in trace.summary()


def test_a_data_frame_is_an_input() -> None:
    pandas = pytest.importorskip("pandas")
    model = keras.Sequential([L.Dense(2)])
    frame = pandas.DataFrame(np.ones((2, 3), "float32"), columns=["a", "b", "c"])
    trace = fs.trace(model, frame)
    assert [op.name for op in trace.inputs] == ["inputs"] and trace.inputs[0].shape == (2, 3)
    assert trace["matmul_1"].parents[0] == trace.inputs[0]


def test_nothing_found_is_not_said_of_what_was_not_kept() -> None:
    model = keras.Sequential([L.Dense(2, name="first"), L.Dense(2, name="second")])
    x = np.ones((1, 2), "float32")
    model(x)
    model.layers[1].kernel.assign(np.full((2, 2), np.nan))
    with pytest.raises(fs.errors.UnavailableError, match="no value was kept"):
        fs.trace(model, x, save="none").first_nonfinite()
    with pytest.warns(RuntimeWarning, match="more were not kept"):
        assert fs.trace(model, x, save="first").first_nonfinite() is None
    assert fs.trace(model, x, keep="stats").first_nonfinite().cause.startswith("nan in variable")


def test_an_overflow_without_infinities_is_named() -> None:
    to_float8 = tf.dtypes.experimental.float8_e4m3fn
    first = fs.trace(lambda x: tf.cast(x, to_float8), tf.constant([1.0, 1e6])).first_nonfinite()
    assert first.cause.startswith("float8_e4m3fn overflow: a cast of 1e+06, beyond the largest")
    assert first.element == (1,)
