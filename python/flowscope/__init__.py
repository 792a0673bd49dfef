"""FlowScope: see, check and change everything a TensorFlow or Keras model computes.

    import flowscope as fs

    trace = fs.trace(model, x)        # one real call, recorded
    print(trace)                      # layers, then ops
    trace["relu_1"].out               # a value, read-only, without a copy on the CPU

Importing this package imports neither TensorFlow nor Keras.
"""

from __future__ import annotations

from . import errors, sites
from ._capture import capture
from ._core import Trace
from ._core import version as __version__
from ._doctor import doctor
from ._extraction import extract, pluck, record
from ._files import load, repair, to_disk
from ._outputs import Described, Parts
from ._rerun import check_determinism
from ._tracing import trace
from ._validation import validate
from .errors import FlowScopeError
from .sites import (
    Selector,
    attr,
    contains,
    followed_by,
    func,
    in_module,
    iteration,
    label,
    line,
    module,
    output,
    passes,
    preceded_by,
    regex,
    where,
)

__all__ = [
    "Described",
    "FlowScopeError",
    "Parts",
    "Selector",
    "Trace",
    "__version__",
    "attr",
    "capture",
    "check_determinism",
    "contains",
    "doctor",
    "errors",
    "extract",
    "followed_by",
    "func",
    "in_module",
    "iteration",
    "label",
    "line",
    "load",
    "module",
    "output",
    "passes",
    "pluck",
    "preceded_by",
    "record",
    "regex",
    "repair",
    "sites",
    "to_disk",
    "trace",
    "validate",
    "where",
]
