"""fs.doctor: what is here, and what will not work and why."""

from __future__ import annotations

import platform
from typing import Any

from . import _core, _runtime
from .errors import FlowScopeError


def doctor() -> dict[str, Any]:
    """Versions, whether the execute hook works here, and problems in words.

    ``missing`` names what this TensorFlow lacks and FlowScope can do without, with less or slower.

    Example:
        >>> fs.doctor()["recorder"]
        'hook'
    """
    report: dict[str, Any] = {
        "flowscope": _core.version,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "problems": [],
    }
    try:
        report["tensorflow"] = _runtime.tensorflow().__version__
        keras = _runtime.keras()
        report["keras"] = keras.__version__ if keras is not None else None
        failure = _runtime.hook_self_test()
        report["recorder"] = _runtime.recorder_kind()
        report["missing"] = _core.missing_entries()
    except FlowScopeError as error:
        report["problems"].append(str(error))
        return report
    if failure is not None:
        report["problems"].append(f"the execute hook does not work here: {failure}")
    return report
