"""SavedModels of TensorFlow 1, and of an older TensorFlow 2."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import flowscope as fs
import numpy as np
import pytest
import tensorflow as tf
from test_command_line import run as command

v1 = tf.compat.v1
COMPAT = Path(__file__).resolve().parents[2] / "tests/compat"


def save_tf1(folder: Path, *, loop: bool, resource: bool) -> str:
    """Doubles its input three times, in a loop of TensorFlow 1 or node by node."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
            x = v1.placeholder(tf.float32, [None], name="x")
            w = v1.get_variable("w", initializer=[2.0], use_resource=resource)
            if loop:
                _, y = v1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * w), [0, x])
                y = v1.cond(tf.reduce_sum(y) > 0, lambda: y + 1.0, lambda: y - 1.0)
            else:
                y = x * w * w * w
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(folder / "m"), {"x": x}, {"y": y})
    finally:
        v1.enable_control_flow_v2()
    return str(folder / "m")


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("loop", [True, False])
def test_a_model_of_tensorflow_1_runs(tmp_path: Path, loop: bool, resource: bool) -> None:
    path = save_tf1(tmp_path, loop=loop, resource=resource)
    x = np.array([1.0, 2.0], "f")
    trace = fs.trace(path, x)
    assert trace.root_kind == "saved_model"
    np.testing.assert_array_equal(trace.output["y"], x * 8 + (1 if loop else 0))
    assert list(trace.lint()) == []
    by_session = [note for note in trace.notes if "TensorFlow's session ran" in note]
    if loop or not resource:
        (call,) = [op for op in trace if op.kind == "call"]
        assert by_session and "of TensorFlow 1" in by_session[0]
        assert not loop or "frame" in call.opaque_reason or "TensorFlow 1" in call.opaque_reason
    else:
        assert not by_session and trace.op_counts()["Mul"] == 3


@pytest.mark.parametrize("resource", [True, False])
def test_the_structure_of_a_loop_of_tensorflow_1(tmp_path: Path, resource: bool) -> None:
    structure = fs.trace(
        save_tf1(tmp_path, loop=True, resource=resource), structure_only=True, signature=None
    )
    counts = structure.op_counts()
    assert counts["Enter"] >= 2 and counts["NextIteration"] == 2 and counts["Exit"] == 1
    assert counts["Mul"] == 1 and counts["Sub"] == 1
    assert any("stand once" in note for note in structure.notes)
    assert list(structure.lint()) == []


def test_the_command_line_says_why_and_lists_the_structure(tmp_path: Path) -> None:
    path = save_tf1(tmp_path, loop=True, resource=True)
    np.save(tmp_path / "x.npy", np.ones(2, "f"))
    done: subprocess.CompletedProcess[str] = command(
        "trace", path, "--input", tmp_path / "x.npy", check=5
    )
    assert "a part of a loop or branch of TensorFlow 1" in done.stderr
    assert "structure" in done.stderr
    listed = json.loads(command("trace", path, "--structure-only", "--json").stdout)
    assert listed["num_ops"] > 8


# --- written by TensorFlow 2.16, see tests/compat/make_saved_model.py ---------


@pytest.fixture(scope="module")
def old() -> tuple[str, dict[str, Any]]:
    folder = COMPAT / "saved_model_2_16"
    return str(folder / "model"), json.loads((folder / "facts.json").read_text())


def test_a_model_of_tensorflow_2_16(old: tuple[str, dict[str, Any]]) -> None:
    path, facts = old
    x = np.array(facts["x"], "f")
    trace = fs.trace(path, x)
    wanted = tf.saved_model.load(path).signatures["serving_default"](x=tf.constant(x))["y"]
    assert trace.output["y"].numpy().tobytes() == wanted.numpy().tobytes()
    np.testing.assert_allclose(trace.output["y"], facts["y"], rtol=1e-6)
    addresses = {v.address for v in trace.variables}
    assert "step" in addresses and len(addresses) == 9
    assert len([r for r in trace.regions if r.kind == "iteration"]) == 3
    structure = fs.trace(path, structure_only=True)
    assert structure.op_counts()["MatMul"] == 2


def test_a_table_of_tensorflow_2_16(old: tuple[str, dict[str, Any]]) -> None:
    path, facts = old
    words = np.array([word.encode() for word in facts["words"]])
    trace = fs.trace(path, words, signature="look_up")
    assert trace.output["ids"].numpy().tolist() == facts["ids"]


def test_the_command_line_runs_a_model_of_tensorflow_2_16(
    old: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    path, facts = old
    np.save(tmp_path / "x.npy", np.array(facts["x"], "f"))
    command("trace", path, "--input", tmp_path / "x.npy", "--outputs-to", tmp_path)
    here = fs.trace(path, np.array(facts["x"], "f"))
    assert np.load(tmp_path / "y.npy").tobytes() == here.output["y"].numpy().tobytes()
