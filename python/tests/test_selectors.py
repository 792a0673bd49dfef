"""Selectors from Python: functions, operators, what else is understood, predicates."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import flowscope as fs
import pytest
from flowscope import sites

tf = pytest.importorskip("tensorflow")


class Inner(tf.Module):
    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(tf.reduce_sum(x, axis=1, keepdims=True) - x)


class Outer(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def __call__(self, x: Any) -> Any:
        for _ in range(2):
            x = self.inner(x) + 1.0
        return tf.tanh(x)


X = tf.ones((2, 3))


@pytest.fixture(scope="module")
def trace() -> Any:
    return fs.trace(Outer(), X)


def labels(trace: Any, selector: Any) -> list[str]:
    return [op.label_short for op in trace.find_sites(selector)]


RELUS = ["relu_1:1", "relu_1:2"]
SUMS = ["sum_1:1", "sum_1:2"]


@pytest.mark.parametrize(
    ("selector", "text", "expected"),
    [
        (sites.label("relu_1"), 'label("relu_1")', RELUS),
        (sites.label("relu_1:2"), 'label("relu_1:2")', RELUS[1:]),
        (sites.func("RELU"), 'func("RELU")', RELUS),
        (sites.func("t?nh"), 'func("t?nh")', ["tanh_1:1"]),
        (sites.module("inner:1") & sites.func("sum"), None, SUMS[:1]),
        (sites.in_module("self") & sites.func("tanh"), None, ["tanh_1:1"]),
        (sites.contains("relu"), 'contains("relu")', RELUS),
        (sites.regex("^(relu|tanh)_"), None, [*RELUS, "tanh_1:1"]),
        (sites.output(), "output()", ["tanh_1:1"]),
        (sites.output("inner"), 'output("inner")', RELUS),
        (sites.followed_by(sites.func("tanh")), None, ["addv2_2:1"]),
        (sites.preceded_by("sum_1"), None, ["sub_1:1", "sub_1:2"]),
        (sites.passes(2) & sites.in_module("inner"), None, ["sum_1:2", "sub_1:2", "relu_1:2"]),
        (sites.passes([1, 2]) & sites.func("sum"), None, SUMS),
        (sites.passes(range(1, 3)) & sites.func("sum"), None, SUMS),
        (sites.attr("keep_dims", True), None, SUMS),
        (sites.attr("T", tf.float32) & sites.func("tanh"), None, ["tanh_1:1"]),
        (
            sites.func("sum") | sites.func("tanh"),
            '(func("sum") | func("tanh"))',
            [*SUMS, "tanh_1:1"],
        ),
        (sites.in_module("inner") - sites.func("s*"), None, RELUS),
        (sites.in_module("inner") & ~sites.func("s*"), None, RELUS),
        (sites.where(lambda op: op.type == "Tanh"), "where(<lambda>)", ["tanh_1:1"]),
        (sites.where(lambda op: op.pass_index == 2, "second"), "where(second)", None),
    ],
)
def test_functions(trace: Any, selector: Any, text: str | None, expected: list[str] | None) -> None:
    if expected is not None:
        assert labels(trace, selector) == expected
    if text is not None:
        assert repr(selector) == text


def test_line(trace: Any) -> None:
    at = trace["tanh_1"].code_context[0]
    assert labels(trace, sites.line(at.line_number, "test_selectors.py")) == ["tanh_1:1"]
    assert labels(trace, sites.line(at.line_number)) == ["tanh_1:1"]


def test_iteration() -> None:
    @tf.function
    def loop(x: Any) -> Any:
        for _ in tf.range(3):
            x = x * 2.0
        return x

    trace = fs.trace(loop, X)
    (op,) = trace.find_sites(sites.iteration(1) & sites.func("mul"))
    assert op.iteration == 1 and (op.out == 4.0).all()
    kept = fs.trace(loop, X, save=sites.iteration(1) & sites.func("mul"))
    assert kept[op.label].out.shape == op.shape and kept.num_kept == 1
    with pytest.raises(fs.errors.LookupFailedError, match="0, 1, 2"):
        trace.find_sites(sites.iteration(7))


def test_what_stands_for_a_selector(trace: Any) -> None:
    op, module = trace["tanh_1"], trace["inner"]
    assert labels(trace, op) == labels(trace, "tanh_1") == labels(trace, op.index) == ["tanh_1:1"]
    assert labels(trace, trace.layers["relu_1"]) == RELUS
    assert labels(trace, module) == labels(trace, "inner") == RELUS
    assert labels(trace, module.calls[1]) == labels(trace, "inner:2") == RELUS[1:]
    assert labels(trace, lambda op: op.type == "Tanh") == ["tanh_1:1"]
    assert labels(trace, ["inner", op]) == labels(trace, {"inner", "tanh_1"})
    assert len(labels(trace, "all")) == len(trace)
    assert labels(trace, "tanh_1" | sites.func("sum")) == [*SUMS, "tanh_1:1"]
    for nothing in ("none", None, []):
        with pytest.raises(fs.errors.LookupFailedError):
            trace.find_sites(nothing)


@pytest.mark.parametrize("value", [3.5, True, {"a": 1}, object(), -1, 2**70, "", tf.Module])
def test_what_does_not(trace: Any, value: Any) -> None:
    with pytest.raises(fs.errors.InvalidArgumentError):
        trace.find_sites(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sites.passes(),
        lambda: sites.passes(0),
        lambda: sites.passes("2"),
        lambda: sites.iteration(-1),
        lambda: sites.line(0),
        lambda: sites.regex("("),
    ],
)
def test_wrong_arguments(make: Any) -> None:
    with pytest.raises(fs.errors.InvalidArgumentError):
        make()


def test_no_truth_value() -> None:
    with pytest.raises(TypeError, match="instead of and, or, not"):
        bool(sites.func("relu") and sites.func("tanh"))


def test_answers_live() -> None:
    assert sites.func("relu").answers_live
    assert not sites.output().answers_live and not sites.followed_by("tanh_1").answers_live


def test_a_predicate_sees_the_same_during_and_after() -> None:
    seen: list[Any] = []
    trace = fs.trace(Outer(), X, save=lambda op: seen.append(op) or True)
    facts = [
        (o.label, o.layer_label, o.type, o.kind, o.module, o.modules, o.pass_index, o.iteration)
        for o in seen
    ]
    ops = [op for op in trace if op.run_counter]
    assert facts == [
        (
            op.label,
            op.layer_label,
            op.type,
            op.kind,
            op.module.address,
            op.modules,
            op.pass_index,
            op.iteration,
        )
        for op in ops
    ]
    assert [o.attrs for o in seen] == [op.attrs for op in ops]
    assert [o.region for o in seen] == [op.site_key[0] for op in ops]
    after: list[Any] = []
    trace.find_sites(lambda op: after.append(op) or True)
    assert [o.label for o in after if o.kind != "input"] == [o.label for o in seen]
    assert "relu_1_" in repr(next(o for o in seen if o.type == "Relu"))


def test_a_predicate_chooses_what_is_kept() -> None:
    trace = fs.trace(Outer(), X, save=lambda op: op.type == "Relu" and op.pass_index == 2)
    assert trace["relu_1:2"].out.shape == (2, 3)
    with pytest.raises(fs.errors.UnavailableError):
        _ = trace["relu_1:1"].out


class PredicateError(Exception):
    pass


def failing(op: Any) -> bool:
    raise PredicateError(op.label)


def test_an_error_in_a_predicate_comes_out_after_the_run() -> None:
    ran: list[int] = []

    def model(x: Any) -> Any:
        y = tf.tanh(x)
        ran.append(1)
        return y

    with pytest.raises(PredicateError, match="tanh_1_"):
        fs.trace(model, X, save=failing)
    assert ran == [1]
    assert fs.trace(model, X).lint() == []  # nothing of it is left for the next run


def test_an_error_in_a_predicate_of_a_question(trace: Any) -> None:
    with pytest.raises(PredicateError, match="input_1_1:1"):
        trace.find_sites(sites.where(failing))
    assert labels(trace, "tanh_1") == ["tanh_1:1"]


def test_selectors_may_die_on_any_thread(trace: Any) -> None:
    held = bytearray(100)
    holder = [sites.where(lambda op: bool(held)) | sites.func("relu")]
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert not holder


def test_cycles_through_a_predicate_are_collected() -> None:
    class Big:
        pass

    def make() -> weakref.ref[Big]:
        held: list[Any] = [Big()]
        one = sites.where(lambda op: bool(held))
        held.append(one | sites.func("relu"))
        held.append(sites.followed_by(one))
        return weakref.ref(held[0])

    gone = make()
    gc.collect()
    assert gone() is None


def test_a_predicate_lives_as_long_as_it_is_asked() -> None:
    with fs.capture(save=sites.where(lambda op: op.type == "Tanh") - sites.func("relu")) as block:
        gc.collect()
        tf.tanh(tf.nn.relu(X))
    assert block.trace["tanh_1"].out.shape == (2, 3) and block.trace.num_kept == 1
