"""Processes without TensorFlow, with an old one, with Keras elsewhere: each is told."""

from __future__ import annotations

import pytest
from checks import assert_quiet_exit, run_program

BLOCK = """
    import sys

    class Blocked:
        def __init__(self, name):
            self.name = name

        def find_spec(self, fullname, path=None, target=None):
            if fullname.split(".")[0] == self.name:
                raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)

    def block(name):
        sys.meta_path.insert(0, Blocked(name))
"""


def run(program: str, **env: str) -> str:
    done = run_program(BLOCK + program, env=env)
    assert_quiet_exit(done)
    return done.stdout


@pytest.mark.smoke
def test_import_needs_neither_tensorflow_nor_keras() -> None:
    out = run("""
    import flowscope as fs
    heavy = {"tensorflow", "keras", "jax", "torch", "pandas", "pyarrow"} & set(sys.modules)
    assert not heavy, heavy
    fs.sites.func("relu") & fs.sites.in_module("encoder")
    assert not {"tensorflow", "keras"} & set(sys.modules)
    print("ok")
    """)
    assert out.split() == ["ok"]


def test_without_tensorflow() -> None:
    out = run("""
    block("tensorflow")
    import flowscope as fs
    for use in (lambda: fs.trace(abs, 1), lambda: fs.capture(), lambda: fs.extract(abs, 1, "x")):
        try:
            use()
        except fs.errors.UnavailableError as error:
            print(error)
    problems = fs.doctor()["problems"]
    assert len(problems) == 1 and "TensorFlow" in problems[0], problems
    """)
    lines = out.splitlines()
    assert len(lines) == 3
    assert all('pip install "flowscope[tf]"' in line and "No module" in line for line in lines)


def test_with_an_old_tensorflow() -> None:
    out = run("""
    import types
    old = types.ModuleType("tensorflow")
    old.__version__, old.__file__ = "2.15.1", "/nowhere/tensorflow/__init__.py"
    sys.modules["tensorflow"] = old
    import flowscope as fs
    try:
        fs.trace(abs, 1)
    except fs.errors.UnavailableError as error:
        print(error)
    """)
    assert "2.15.1 is too old" in out and "2.16" in out and "pip install -U" in out


def test_with_keras_on_another_backend_and_without_keras() -> None:
    out = run("""
    import types
    import tensorflow as tf
    for name in [name for name in sys.modules if name.split(".")[0] == "keras"]:
        del sys.modules[name]  # some versions of TensorFlow import it themselves
    sys.modules["keras"] = types.ModuleType("keras")
    sys.modules["keras"].backend = types.SimpleNamespace(backend=lambda: "torch")
    import flowscope as fs
    for use in (lambda: fs.trace(tf.abs, tf.ones(2)), lambda: fs.capture()):
        try:
            use()
        except fs.errors.UnavailableError as error:
            print(error)
    from flowscope import _core, _patches
    assert _core.hook_lease_count() == _patches.held_patches() == _core.living_recorders() == 0

    del sys.modules["keras"]
    block("keras")

    class Twice(tf.Module):
        def __init__(self):
            super().__init__()
            self.weight = tf.Variable([2.0, 2.0])

        def __call__(self, x):
            return x * self.weight

    trace = fs.trace(Twice(), tf.ones(2), random_seed=3)
    assert trace.lint() == [] and trace["weight"].value.tolist() == [2.0, 2.0]
    assert "keras" not in sys.modules
    print(trace.output.numpy().tolist(), trace.op_counts())
    """)
    *refused, recorded = out.splitlines()
    assert len(refused) == 2
    assert all("'torch'" in line and "KERAS_BACKEND=tensorflow" in line for line in refused)
    assert recorded == "[2.0, 2.0] {'Mul': 1, 'ReadVariableOp': 1}"


def test_with_keras_on_a_backend_that_is_not_installed() -> None:
    """Keras' own import error reaches who imports Keras; TensorFlow can still be recorded."""
    out = run(
        """
    block("torch")
    import tensorflow as tf
    try:
        import keras
    except ModuleNotFoundError as error:
        print(error)
    import flowscope as fs
    print(fs.trace(tf.abs, tf.ones(2)).op_counts())
    """,
        KERAS_BACKEND="torch",
    )
    assert out.splitlines() == ["No module named 'torch'", "{'Abs': 1}"]


def test_an_unknown_recorder_and_the_doctor() -> None:
    out = run("""
    import os
    import tensorflow as tf
    import flowscope as fs
    asked = os.environ.get("FLOWSCOPE_RECORDER", "hook")
    os.environ["FLOWSCOPE_RECORDER"] = "hooks"
    try:
        fs.trace(tf.abs, tf.ones(2))
    except fs.FlowScopeError as error:
        print(error)
    os.environ["FLOWSCOPE_RECORDER"] = asked
    report = fs.doctor()
    print(report["recorder"] == asked, report["problems"], report["tensorflow"] == tf.__version__)
    from flowscope import _core
    assert _core.hook_lease_count() == 0 and _core.hook_slots_restored()
    """)
    refused, healthy = out.splitlines()
    assert "FLOWSCOPE_RECORDER='hooks'" in refused and "'callbacks'" in refused
    assert healthy == "True [] True"
