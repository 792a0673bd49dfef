"""AutoGraph and wrapped ``__call__`` methods.

AutoGraph turns Python functions into graph code, and does not know the callable that stands for a
class's ``__call__`` while something records. So an object of such a class is shown to it as an
artifact of its own, which it calls as it is; the wrapper then has AutoGraph convert the method that
it wraps. What gets converted is what would be without a recording; nothing is remembered beyond.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from . import _core

NAME = "autograph_info__"
_F = TypeVar("_F", bound=Callable[..., Any])

_asked = threading.local()


class Artifact:
    """The class attribute by which AutoGraph tells artifacts; seen on recording threads only."""

    def __get__(self, instance: Any, owner: type) -> dict[str, Any]:
        """Notes that AutoGraph is about to call ``instance``."""
        session = _core.current_session()
        if instance is None or session is None or not session.recording:
            raise AttributeError(NAME)
        _asked.instance = instance
        return {}


def left_alone(function: _F) -> _F:
    """Shows a function of ours to AutoGraph as one to call as it is."""
    setattr(function, NAME, {})
    return function


def converted(instance: Any, method: Any) -> Any:
    """``method`` as AutoGraph would call it for ``instance``, if it has just asked about that."""
    asked = getattr(_asked, "instance", None)
    _asked.instance = None
    if asked is not instance or asked is None:
        return method
    from tensorflow.python.autograph.core import ag_ctx
    from tensorflow.python.autograph.impl import api, conversion

    status = ag_ctx.control_status_ctx()
    if status.status != ag_ctx.Status.ENABLED or conversion.is_allowlisted(method):
        return method
    return api.tf_convert(method, status)


@functools.cache
def without_cache(original: Any) -> Any:
    """AutoGraph remembers what it called as it is: not so for what only a recording shows it."""

    @functools.wraps(original)
    def cache_allowlisted(entity: Any, options: Any) -> None:
        shown = (vars(base).get(NAME) for base in type(entity).__mro__)
        if not any(isinstance(value, Artifact) for value in shown):
            original(entity, options)

    return cache_allowlisted
