"""A module call as it was traced into a graph, or told from the graph's names."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

Value = tuple[str, int]  # node and output; ("", n): argument n of the graph

BY_NAME = "by name"


class TracedCall:
    """A call of a module, or of a named part, whose ops stand in a graph."""

    def __init__(self, graph: Any, above: TracedCall | None, method: str, kwargs: str) -> None:
        """The call begins at the end that ``graph`` has now."""
        self.graph = weakref.ref(graph)
        self.above = above
        self.method = method
        self.kwargs = kwargs
        self.training = ""
        self.module: Callable[[], Any] = lambda: None
        self.part = ""
        self.first = self.end = num_ops(graph)
        self.scope = ""
        self.inputs: list[tuple[str, Value]] = []
        self.outputs: list[tuple[str, Value]] = []

    def body(self, training: str | None) -> None:
        """The module's own code begins; its name scope is open now."""
        graph = self.graph()
        if graph is not None:
            self.scope = graph.get_name_scope()
        if training is not None:
            self.training = training


def num_ops(graph: Any) -> int:
    """Ops of a graph, without making a list of them where TensorFlow can count."""
    count = getattr(graph, "num_operations", None)
    if count is None:
        return len(graph.get_operations())
    return int(count() if callable(count) else count)
