"""trace.ops, trace.layers, ...: records by position, slice and name; data frames and Arrow."""

from __future__ import annotations

import sys
from typing import Any

import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

KINDS = ("ops", "layers", "modules", "module_calls", "variables", "regions")


class Scale(tf.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = tf.Variable(factor, name="factor")

    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(x * self.factor)


class Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = Scale(2.0), Scale(3.0)

    def __call__(self, x: Any) -> Any:
        return self.left(x) + self.right(self.right(x))


@pytest.fixture(scope="module")
def trace() -> Any:
    return fs.trace(Model(), tf.constant([[-1.0, 2.0], [3.0, -4.0]]))


@pytest.mark.parametrize("kind", KINDS)
def test_is_a_mapping_of_records(trace: Any, kind: str) -> None:
    table = getattr(trace, kind)
    records = list(table)
    assert len(table) == len(records) > 0
    assert table.values() == records and table[:] == records
    assert table.items() == list(zip(table.keys(), records, strict=True))
    assert [table[i] for i in range(len(table))] == records
    assert table[-1] == records[-1] and table[::-1] == records[::-1]
    keys = table.keys()
    assert [table[key] for key in keys] == records
    assert all(key in table for key in keys) and all(r in table for r in records)
    assert table.head(2) == records[:2] and table.head() == records[:5]
    assert table._ipython_key_completions_() == table.keys()
    assert len(table.to_pandas()) == len(table)
    for position in (len(table), -len(table) - 1):
        with pytest.raises(fs.errors.LookupFailedError, match=f"this trace has {len(table)}"):
            _ = table[position]


def test_repr_shows_the_first_five(trace: Any) -> None:
    text = repr(trace.ops)
    first, *lines = text.splitlines()
    assert first == f"ops ({len(trace)})"
    assert lines[:5] == ["  " + repr(op) for op in trace.ops.head()]
    assert lines[5:] == [f"  ... {len(trace) - 5} more"]
    assert repr(trace.regions).splitlines() == ["regions (1)", "  " + repr(trace.regions[0])]


def test_keys(trace: Any) -> None:
    assert trace.modules.keys() == ["self", "left", "right"]
    assert trace.module_calls.keys() == ["self:1", "left:1", "right:1", "right:2"]
    assert trace.layers.keys() == [layer.label for layer in trace.layers]
    assert trace.ops.keys() == [op.label for op in trace]


def test_lookup_stays_with_its_kind(trace: Any) -> None:
    assert trace.modules["left"].address == "left"
    assert trace.module_calls["left"] == trace.module_calls["left:1"]
    assert trace.variables["left"].address == "left.factor"
    assert trace.layers["relu_1"].label_short == "relu_1"
    assert trace.ops["relu_2:2"].pass_index == 2
    assert trace.modules["lef"] == trace.modules["left"]


@pytest.mark.parametrize(
    ("kind", "key", "error", "parts"),
    [
        ("ops", "relu_2", "AmbiguousLookupError", ['relu_2_7:1" .. "relu_2_7:2"']),
        ("module_calls", "right", "AmbiguousLookupError", ['"right:1" .. "right:2"']),
        ("ops", "left", "LookupFailedError", ["module left", "trace.modules"]),
        ("modules", "lefd", "LookupFailedError", ["Did you mean left?"]),
        ("ops", "relu_2:7", "LookupFailedError", ["2 passes"]),
        ("variables", "factor", "AmbiguousLookupError", ["left.factor", "right.factor"]),
        ("layers", "zzzzzz", "LookupFailedError", ["trace.layers.keys()"]),
        ("modules", "", "InvalidArgumentError", ["empty"]),
    ],
)
def test_what_cannot_be_found(
    trace: Any, kind: str, key: str, error: str, parts: list[str]
) -> None:
    with pytest.raises(getattr(fs.errors, error)) as raised:
        getattr(trace, kind)[key]
    for part in parts:
        assert part in str(raised.value)


def test_contains_is_exact(trace: Any) -> None:
    assert "left" in trace.modules and "lef" not in trace.modules
    assert "left:1" in trace.module_calls and "left" not in trace.layers
    assert trace["left"] not in trace.ops and 5 not in trace.ops
    assert "left" in trace and "relu_1" in trace and "factor" not in trace
    assert trace.ops[0] in trace and trace["left"].calls[0] not in trace.ops


def test_find(trace: Any) -> None:
    assert [layer.type for layer in trace.layers.find("RELU")] == ["Relu", "Relu"]
    assert trace.modules.find("zzz") == []
    assert [v.address for v in trace.variables.find("factor")] == ["left.factor", "right.factor"]


def test_iteration_makes_one_record_at_a_time(trace: Any) -> None:
    records = iter(trace.ops)
    assert next(records) == trace[0] and next(records) == trace[1]


@pytest.mark.parametrize("kind", KINDS)
def test_pandas(trace: Any, kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = trace.to_pandas(kind)
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(getattr(trace, kind))
    assert list(frame.columns) == trace.to_arrow(kind).columns


def test_pandas_cells(trace: Any) -> None:
    frame = trace.to_pandas()
    assert frame.label.tolist() == trace.ops.keys()
    assert frame.type.tolist() == [op.type for op in trace]
    assert frame.nbytes.tolist() == [op.nbytes for op in trace]
    # A source without a formula has no number, and the others are whole.
    assert str(frame["line"].dtype) == "Int64" and frame["line"].isna().tolist()[0]
    assert frame["line"].dropna().tolist() == [
        op.code_context[0].line_number for op in trace if op.code_context
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_polars_and_duckdb_read_tables(trace: Any, kind: str) -> None:
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    table = trace.to_arrow(kind)
    assert polars.DataFrame(table).to_dict(as_series=False) == table.to_dict()
    assert len(duckdb.from_arrow(table).fetchall()) == len(table)


def test_arrow(trace: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for kind in KINDS:
        table = trace.to_arrow(kind)
        arrow = pyarrow.table(table)
        assert arrow.num_rows == len(table) == len(getattr(trace, kind))
        assert arrow.to_pydict() == table.to_dict()
        assert pyarrow.schema(table) == arrow.schema
        assert arrow.column(table.columns[0]).to_pylist() == table[table.columns[0]]


def test_arrow_capsules_that_nobody_takes(trace: Any) -> None:
    table = trace.to_arrow()
    for _ in range(3):
        assert "arrow_array_stream" in repr(table.__arrow_c_stream__())
        assert "arrow_schema" in repr(table.__arrow_c_schema__())


def test_unknown_table_and_column(trace: Any) -> None:
    for ask in (trace.to_pandas, trace.to_arrow):
        with pytest.raises(fs.errors.InvalidArgumentError, match="ops, layers, modules"):
            ask("opps")
    with pytest.raises(fs.errors.LookupFailedError, match="label"):
        trace.to_arrow()["no such column"]


def test_without_pandas(trace: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ask in (trace.to_pandas, trace.ops.to_pandas, trace.stats().to_pandas):
        with pytest.raises(fs.errors.UnavailableError, match="pip install pandas"):
            ask()


def test_stats_table(trace: Any) -> None:
    table = trace.stats()
    rows = {row: i for i, row in enumerate(table["label"])}
    relu = rows[trace["relu_1"].label]
    value = trace["relu_1"].out
    assert table["max"][relu] == value.max() and table["mean"][relu] == value.mean()
    assert table["zeros"][relu] == int((value == 0).sum()) and table["nan"][relu] == 0
    assert table["count"][relu] == value.size and table["module"][relu] == "left"
    assert len(table) == sum(op.num_outputs for op in trace)
    assert "label" in repr(table) and str(len(table)) in repr(table)


def test_stats_table_without_values() -> None:
    trace = fs.trace(lambda x: tf.strings.length(tf.strings.join([x, x])), tf.constant(["ab", "c"]))
    table = trace.stats()
    strings = table["dtype"].index("string")
    assert table["count"][strings] == 2 and table["min"][strings] is None
    bare = fs.trace(lambda x: x * 2.0, tf.ones(2), save="none").stats()
    assert bare["count"][bare["type"].index("Mul")] is None


def test_timeline(trace: Any) -> None:
    table = trace.timeline()
    executed = [op for op in trace if op.run_counter]
    assert table["label"] == [op.label for op in executed]
    assert np.allclose(table["start"], [op.start for op in executed])
    assert np.allclose(table["duration"], [op.duration for op in executed])
