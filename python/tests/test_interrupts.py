"""An interrupt that falls into our code is the program's, which raises it where it goes on."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flowscope as fs
import keras
import numpy as np
import pytest
import tensorflow as tf
from flowscope import _bodies, _recording


def interrupted_once(original: Callable[..., Any]) -> Callable[..., Any]:
    """As if the user had pressed the keys while that ran for the first time."""
    left = [KeyboardInterrupt()]

    def run(*args: Any) -> Any:
        if left:
            raise left.pop()
        return original(*args)

    return run


def in_a_module_call(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    monkeypatch.setattr(
        _recording.Recording, "_new_module", interrupted_once(_recording.Recording._new_module)
    )
    layer = keras.layers.ReLU()
    return lambda: layer(tf.ones((1, 2)))


def in_a_source_line(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    monkeypatch.setattr(linecache, "getline", interrupted_once(linecache.getline))
    return lambda: tf.ones((1, 2)) + 1.0


def in_a_body(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    monkeypatch.setattr(_bodies.Bodies, "describe", interrupted_once(_bodies.Bodies.describe))
    function = tf.function(lambda x: x + 1.0)
    function(tf.ones((1, 2)))
    return lambda: function(tf.ones((1, 2)))


@pytest.mark.parametrize("where", [in_a_module_call, in_a_source_line, in_a_body])
def test_an_interrupt_in_our_code_reaches_the_program(
    where: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fs.trace(lambda x: x + 1.0, tf.ones((1,)))  # tests the hook, where it is the first
    call = where(monkeypatch)
    recording = fs.capture(storage=fs.to_disk(tmp_path / "a.flow"))
    reached = 0
    with pytest.raises(KeyboardInterrupt), recording:
        call()
        for _ in range(1000):
            reached += 1
    assert reached < 1000
    assert recording.trace.lint() == []
    again = fs.trace(lambda x: x * 2.0, np.ones(2, "f4"))
    assert (np.asarray(again.output) == 2.0).all() and again.validate().state == "passed"
