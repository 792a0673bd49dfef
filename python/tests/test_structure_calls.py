"""Structure of SavedModels whose functions are called in ways that no run could follow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import flowscope as fs
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2


class Doubled(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(tf.ones((2, 2)))

    @tf.function(input_signature=[tf.TensorSpec((None, 2))])
    def __call__(self, x: Any) -> Any:
        return {"y": tf.matmul(x, self.w) * 2.0}


def fewer_arguments(function: Any, call: Any) -> str:
    """A variable is left away."""
    call.input.pop()
    call.attr["Tin"].list.type.pop()
    return "takes 2 tensors and gives 1, but is called with 1 for 1"


def another_function(function: Any, call: Any) -> str:
    """Its body calls that body again, and so on."""
    call.attr["f"].func.name = function.signature.name
    return "calls itself: its body is shown once"


def no_function(function: Any, call: Any) -> str:
    call.attr["f"].func.name = "nobody"
    return "the definition of function 'nobody' is not there"


@pytest.mark.parametrize("change", [fewer_arguments, another_function, no_function])
def test_a_call_that_nobody_can_follow_says_so(
    change: Callable[[Any, Any], str], tmp_path: Path
) -> None:
    module = Doubled()
    tf.saved_model.save(module, str(tmp_path), signatures=module.__call__)
    whole = fs.trace(tmp_path, structure_only=True)
    assert [op.type for op in whole if op.kind == "compute"][:1] == ["MatMul"]
    path = tmp_path / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    library = saved.meta_graphs[0].graph_def.library.function
    function = next(f for f in library if "signature_wrapper" in f.signature.name)
    call = next(node for node in function.node_def if node.op == "StatefulPartitionedCall")
    wanted = change(function, call)
    path.write_bytes(saved.SerializeToString())
    trace = fs.trace(tmp_path, structure_only=True)
    assert trace.lint() == []
    reasons = [op.opaque_reason for op in trace if op.opaque_reason]
    assert len(reasons) == 1 and wanted in reasons[0]
    assert "MatMul" not in {op.type for op in trace}
