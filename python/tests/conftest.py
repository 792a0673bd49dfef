"""Every test starts and ends with a process in which nothing records."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.register_assert_rewrite("checks", "model_zoo", "threaded")


def _originals() -> dict[str, Any]:
    """The functions that a recording replaces, as they stand now."""
    keras = sys.modules.get("keras")
    found: dict[str, Any] = {}
    if keras is not None and hasattr(keras, "Layer"):
        for cls in (keras.Layer, keras.Operation, keras.Model, keras.layers.Dense):
            for name in ("__call__", "call"):
                if name in vars(cls):
                    found[f"{cls.__name__}.{name}"] = vars(cls)[name]
    graphs = sys.modules.get("tensorflow.python.framework.func_graph")
    if graphs is not None:
        found["func_graph_from_py_func"] = graphs.func_graph_from_py_func
    return found


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    import checks

    before = _originals()
    yield
    assert checks.left_behind() == []
    after = _originals()
    assert {name for name, value in before.items() if after[name] is not value} == set()
