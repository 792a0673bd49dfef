"""Files changed by somebody who knows the format: none of the wrong records passes.

Checksums are taken away with the table that holds them, as if the recording had been cut off;
hashes of values go with the values. src/replay/mutation_test.cc has more kinds, on a small model.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import flowscope as fs
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

LOCATION = ("shard", "entry", "file_offset", "nbytes", "encoding", "hash")


class Model(keras.Model):
    """Layers, a loop in a function, a branch, and a variable that the call moves."""

    def __init__(self) -> None:
        super().__init__()
        self.one = keras.layers.Dense(3, "relu", bias_initializer="ones")
        self.two = keras.layers.Dense(3, bias_initializer="ones")
        self.steps = tf.Variable(0.0, trainable=False)

    def call(self, x: Any) -> Any:
        y = self.two(self.one(x))
        self.steps.assign_add(1.0)
        return loop(y) + self.steps + tf.ones(3)


@tf.function
def loop(x: Any) -> Any:
    for _ in tf.range(3):
        x = x * 2.0 + 1.0
    return tf.cond(tf.reduce_sum(x) > -1e9, lambda: tf.nn.elu(x), lambda: x)


class Forger:
    """The trace's file, opened for changes."""

    def __init__(self, folder: Path) -> None:
        model = Model()
        model(tf.ones((2, 3)))
        self.trace = fs.trace(model, tf.reshape(tf.range(6.0), (2, 3)))
        self.path = folder / "x.flow"
        self.trace.save(self.path)
        self.sql = sqlite3.connect(self.path / "trace.sqlite")
        self.sql.execute("DROP TABLE checksums")
        self.labels = [op.label for op in self.trace]

    def op(self, label: str) -> int:
        return next(i for i, known in enumerate(self.labels) if known.startswith(label))

    def tensor(self, label: str) -> int:
        return self.one("SELECT outputs_first FROM ops WHERE id = ?", self.op(label))

    def one(self, query: str, *values: Any) -> int:
        return int(self.sql.execute(query, values).fetchone()[0])

    def run(self, statement: str, *values: Any) -> None:
        assert self.sql.execute(statement, values).rowcount != 0, statement

    def text(self, text: str) -> int:
        known = self.sql.execute("SELECT id FROM strings WHERE text = ?", (text,)).fetchone()
        if known:
            return int(known[0])
        number = self.one("SELECT COUNT(*) FROM strings")
        self.run("INSERT INTO strings VALUES (?, ?)", number, text)
        return number

    def take_value(self, tensor: int, other: int) -> None:
        """Gives one tensor the stored value of another, hash included."""
        for column in LOCATION:
            value = f"(SELECT {column} FROM payloads WHERE tensor = {other})"
            self.run(f"UPDATE payloads SET {column} = {value} WHERE tensor = ?", tensor)

    def set_parent(self, label: str, index: int, tensor: int, handle: str) -> None:
        first = self.one("SELECT inputs_first FROM ops WHERE id = ?", self.op(label))
        self.run(
            f"UPDATE edges SET tensor = ?, handle = {handle} WHERE id = ?", tensor, first + index
        )

    def verdict(self) -> str:
        self.sql.commit()
        self.sql.close()
        try:
            report = fs.load(self.path).validate()
        except fs.errors.CorruptTraceError:
            return "corrupt"
        return str(report.state)


def values_swapped(f: Forger) -> None:
    f.take_value(f.tensor("biasadd_1"), f.tensor("matmul_1"))


def value_and_consumer_swapped(f: Forger) -> None:
    f.take_value(f.tensor("biasadd_1"), f.tensor("matmul_1"))
    f.take_value(f.tensor("relu_1"), f.tensor("matmul_1"))


def type_renamed(f: Forger) -> None:
    name = f.text("Identity")
    f.run("UPDATE sites SET type = ? WHERE type = ?", name, f.text("Relu"))
    f.run("UPDATE ops SET type = ? WHERE type = ?", name, f.text("Relu"))


def parent_of_another_value(f: Forger) -> None:
    handle = f"(SELECT handle FROM tensors WHERE id = {f.tensor('matmul_1')})"
    f.set_parent("relu_1", 0, f.tensor("matmul_1"), handle)


def parent_without_a_handle(f: Forger) -> None:
    f.set_parent("relu_1", 0, f.tensor("matmul_1"), "0")


def equal_parent_without_a_handle(f: Forger) -> None:
    """Replay cannot see it: the two tensors have one value, and the handle is gone."""
    f.take_value(f.tensor("constant_1"), f.tensor("constant_1"))
    equal = f.trace["relu_1"].parents[0]
    twin = next(op for op in f.trace if op.outs and op is not equal and op.nbytes == equal.nbytes)
    f.take_value(f.tensor(twin.label), f.tensor(equal.label))
    f.set_parent("relu_1", 0, f.tensor(twin.label), "0")


def equal_parent_and_another_recorder(f: Forger) -> None:
    """What other recorders do not tell is no excuse for what this one does."""
    equal_parent_without_a_handle(f)
    f.run("UPDATE info SET value = 'callbacks' WHERE key = 'recorder'")


def last_op_dropped(f: Forger) -> None:
    last = len(f.labels) - 1
    f.run("UPDATE outputs SET tensor = ?", f.tensor("elu_1"))
    f.run("DELETE FROM ops WHERE id = ?", last)


def an_op_twice(f: Forger) -> None:
    last = len(f.labels) - 1
    columns = [row[1] for row in f.sql.execute("PRAGMA table_info(ops)")]
    copied = ", ".join(f'"{c}"' if c != "id" else str(last + 1) for c in columns)
    f.run(f"INSERT INTO ops SELECT {copied} FROM ops WHERE id = ?", last)


def two_ops_reordered(f: Forger) -> None:
    a, b = f.op("biasadd_1"), f.op("relu_1")
    for column in ("run_counter", "start_ns"):
        values = [f.one(f"SELECT {column} FROM ops WHERE id = ?", op) for op in (a, b)]
        f.run(f"UPDATE ops SET {column} = ? WHERE id = ?", values[1], a)
        f.run(f"UPDATE ops SET {column} = ? WHERE id = ?", values[0], b)


def another_output_returned(f: Forger) -> None:
    f.run("UPDATE outputs SET tensor = ?", f.tensor("elu_1"))


def a_loop_that_ran_less(f: Forger) -> None:
    f.run("UPDATE info SET value = 1 WHERE key = 'halted'")
    f.run("UPDATE regions SET number = number + 1 WHERE kind = 'iteration'")


def another_branch(f: Forger) -> None:
    f.run("UPDATE regions SET number = 1 - number WHERE kind = 'branch'")


def a_computed_value_called_input(f: Forger) -> None:
    f.run("UPDATE ops SET kind = 'input', run_counter = 0 WHERE id = ?", f.op("relu_1"))


def a_leaf_called_handle(f: Forger) -> None:
    f.run(
        "UPDATE tensors SET dtype = 'resource', state = 'no_value' WHERE id = ?",
        f.tensor("fill_1"),
    )


def a_version_with_another_value(f: Forger) -> None:
    variable = f.one("SELECT variable FROM versions WHERE number = 1")
    before = f.one("SELECT value FROM versions WHERE number = 0 AND variable = ?", variable)
    f.run("UPDATE versions SET value = ? WHERE number = 1", before)


def a_write_called_read(f: Forger) -> None:
    f.run("UPDATE accesses SET is_write = 0, version = version - 1 WHERE is_write = 1")
    f.run("DELETE FROM versions WHERE number = 1")


def a_variable_of_another_dtype(f: Forger) -> None:
    f.run("UPDATE variables SET dtype = 'float64' WHERE id = 0")


def reads_of_two_variables_exchanged(f: Forger) -> None:
    rows = f.sql.execute("SELECT id, variable FROM accesses WHERE is_write = 0").fetchall()
    (a, one), (b, other) = rows[0], next(row for row in rows if row[1] != rows[0][1])
    f.run("UPDATE accesses SET variable = ? WHERE id = ?", other, a)
    f.run("UPDATE accesses SET variable = ? WHERE id = ?", one, b)


def an_attribute_dropped(f: Forger) -> None:
    f.run("UPDATE ops SET attrs = 0 WHERE id = ?", f.op("matmul_1"))


def an_op_said_to_have_failed(f: Forger) -> None:
    last = len(f.labels) - 1
    f.run("UPDATE ops SET error = ?, outputs_count = 0 WHERE id = ?", f.text("it failed"), last)


def an_op_in_another_iteration(f: Forger) -> None:
    op = f.op("mul_1")
    later = f.one("SELECT MAX(id) FROM regions WHERE kind = 'iteration'")
    f.run("UPDATE ops SET region = ? WHERE id = ?", later, op)


def a_module_call_moved(f: Forger) -> None:
    f.run("UPDATE module_calls SET first_op = first_op + 1 WHERE id = 1")


def a_constant_of_the_loop_changed(f: Forger) -> None:
    edge = f.one("SELECT inputs_first FROM ops WHERE id = ?", f.op("mul_1")) + 1
    literal = f.one("SELECT tensor FROM edges WHERE id = ?", edge)
    other = f.one(
        "SELECT p.tensor FROM payloads p JOIN tensors t ON t.id = p.tensor "
        "WHERE t.dtype = 'float32' AND t.nbytes = 4 AND p.hash != "
        "(SELECT hash FROM payloads WHERE tensor = ?)",
        literal,
    )
    f.take_value(literal, other)


def a_computed_value_called_intervention(f: Forger) -> None:
    last = len(f.labels) - 1
    f.take_value(f.tensor(f.labels[last]), f.tensor("elu_1"))
    f.run("UPDATE ops SET kind = 'intervention', run_counter = 0 WHERE id = ?", last)
    f.run("UPDATE info SET value = value - 1 WHERE key = 'num_executed'")


def a_call_of_another_value(f: Forger) -> None:
    call = next(op.label for op in f.trace if op.kind == "call")
    tensor = f.tensor("relu_1")
    f.set_parent(call, 0, tensor, f"(SELECT handle FROM tensors WHERE id = {tensor})")


def an_op_on_another_device(f: Forger) -> None:
    device = f.text("/job:localhost/replica:0/task:0/device:GPU:7")
    f.run("UPDATE ops SET device = ? WHERE id = ?", device, f.op("relu_1"))


FORGERIES = [
    values_swapped,
    value_and_consumer_swapped,
    type_renamed,
    parent_of_another_value,
    parent_without_a_handle,
    equal_parent_without_a_handle,
    equal_parent_and_another_recorder,
    last_op_dropped,
    an_op_twice,
    two_ops_reordered,
    another_output_returned,
    a_loop_that_ran_less,
    another_branch,
    a_computed_value_called_input,
    a_leaf_called_handle,
    a_version_with_another_value,
    a_write_called_read,
    a_variable_of_another_dtype,
    reads_of_two_variables_exchanged,
    an_attribute_dropped,
    an_op_said_to_have_failed,
    an_op_in_another_iteration,
    a_module_call_moved,
    a_constant_of_the_loop_changed,
    a_computed_value_called_intervention,
    a_call_of_another_value,
    an_op_on_another_device,
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.__name__)
def test_does_not_pass(forgery: Any, tmp_path: Path) -> None:
    forger = Forger(tmp_path)
    forgery(forger)
    assert forger.verdict() in ("failed", "corrupt", "unverified")


def test_a_closed_call_called_open(tmp_path: Path) -> None:
    """It drew numbers; the record says that it was opened, and gave back what it took."""

    @tf.function
    def noisy(x: Any) -> Any:
        return x + tf.random.uniform((3,), seed=1)

    trace = fs.trace(lambda x: noisy(tf.abs(x)), tf.ones(3))
    call = next(op for op in trace if op.kind == "call")
    assert call.opaque and trace.validate().state == "unverified"
    trace.save(tmp_path / "x.flow")
    sql = sqlite3.connect(tmp_path / "x.flow" / "trace.sqlite")
    sql.execute("DROP TABLE checksums")
    number = [op.label for op in trace].index(call.label)
    given, taken = (
        sql.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", (row,)).fetchone()[0]
        for column, table, key, row in (
            ("outputs_first", "ops", "id", number),
            ("outputs_first", "ops", "id", number - 1),
        )
    )
    for column in LOCATION:
        value = f"(SELECT {column} FROM payloads WHERE tensor = {taken})"
        sql.execute(f"UPDATE payloads SET {column} = {value} WHERE tensor = ?", (given,))
    sql.execute("UPDATE ops SET opaque_reason = 0 WHERE id = ?", (number,))
    columns = [row[1] for row in sql.execute("PRAGMA table_info(regions)")]
    rows = sql.execute("SELECT COUNT(*) FROM regions").fetchone()[0]
    region = {"id": rows, "kind": "function", "parent": 0, "name": 0, "number": 0, "op": number}
    values = [region.get(column) for column in columns]
    sql.execute(f"INSERT INTO regions VALUES ({', '.join('?' * len(columns))})", values)
    sql.commit()
    sql.close()
    report = fs.load(tmp_path / "x.flow").validate()
    assert report.state == "unverified" and "draws from" in report.reason, report


def test_another_error_text(tmp_path: Path) -> None:
    def fails(x: Any) -> Any:
        try:
            return tf.linalg.matmul(x, x)
        except tf.errors.InvalidArgumentError:
            return x + 1.0

    trace = fs.trace(fails, tf.ones((2, 3)))
    assert trace.validate().state == "passed"
    trace.save(tmp_path / "x.flow")
    sql = sqlite3.connect(tmp_path / "x.flow" / "trace.sqlite")
    sql.execute("DROP TABLE checksums")
    error = sql.execute("SELECT error FROM ops WHERE error != 0").fetchone()[0]
    sql.execute("UPDATE strings SET text = 'out of memory' WHERE id = ?", (error,))
    sql.commit()
    sql.close()
    report = fs.load(tmp_path / "x.flow").validate()
    assert report.state == "unverified" and "out of memory" in report.reason


def test_a_write_from_outside_is_told(tmp_path: Path) -> None:
    """A read of a value that nothing in the record wrote is declared, not proved."""
    variable = tf.Variable(1.0)
    trace = fs.trace(lambda x: x + variable, tf.constant(2.0))
    trace.save(tmp_path / "x.flow")
    sql = sqlite3.connect(tmp_path / "x.flow" / "trace.sqlite")
    sql.execute("DROP TABLE checksums")
    columns = [row[1] for row in sql.execute("PRAGMA table_info(versions)")]
    first = dict(zip(columns, sql.execute("SELECT * FROM versions").fetchone(), strict=True))
    assert first["number"] == 0
    values = [{**first, "id": 1, "number": 1}[column] for column in columns]
    sql.execute(f"INSERT INTO versions VALUES ({', '.join('?' * len(columns))})", values)
    sql.execute("UPDATE accesses SET version = 1")
    sql.commit()
    sql.close()
    report = fs.load(tmp_path / "x.flow").validate()
    assert report.state == "passed", report
    assert any("no op of the recording wrote" in str(finding) for finding in report.declared)


def test_unchanged_passes(tmp_path: Path) -> None:
    assert Forger(tmp_path).verdict() == "passed"
