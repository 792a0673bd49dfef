"""The examples of README.md, docs/ and the public docstrings run and print what they show.

With FLOWSCOPE_WRITE_DOCS=1 the pages are given the output that the examples print now, to be read
before it is committed.
"""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import doc_examples
import flowscope as fs
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES_WITH_EXAMPLES = [p for p in PAGES if doc_examples.examples_in(p.read_text("utf-8"))]


def pages_named(pages: list[Path]) -> list[Any]:
    return [pytest.param(page, id=page.stem) for page in pages]


@pytest.mark.parametrize("page", pages_named(PAGES_WITH_EXAMPLES))
def test_page(page: Path) -> None:
    namespace = fresh_namespace()
    differences: list[tuple[doc_examples.Example, str]] = []
    for example in doc_examples.examples_in(page.read_text("utf-8")):
        got = doc_examples.run(example, page, namespace)
        if example.want is not None and not doc_examples.same_output(got, example.want):
            differences.append((example, got))
    if os.environ.get("FLOWSCOPE_WRITE_DOCS"):
        write_output(page, differences)
    elif differences:
        pytest.fail(
            "\n".join(
                f"{page.name}:{example.line} prints something else:\n"
                f"{doc_examples.difference(got, example.want or '')}"
                for example, got in differences
            )
        )


def write_output(page: Path, differences: list[tuple[doc_examples.Example, str]]) -> None:
    text = page.read_text("utf-8")
    for example, got in reversed(differences):  # from the end, so that lines above keep their place
        text = doc_examples.with_output(text, example, got)
    page.write_text(text, "utf-8")


def test_readme_shows_output() -> None:
    shown = [e for e in doc_examples.examples_in(PAGES[0].read_text("utf-8")) if e.want]
    assert len(shown) >= 5


def test_output_is_compared() -> None:
    same = doc_examples.same_output
    assert same("Relu  0.5000001 in 3 ms at a.py:7", "Relu 0.5 in 12.5 us at b/c.py:90")
    assert not same("Relu 0.51", "Relu 0.5")
    assert not same("2 ops", "3 ops")
    assert not same("", "nothing printed")


def test_a_block_belongs_to_the_output_right_below_it() -> None:
    shown = "```python\na\n```\n\n```text\n1\n2\n```\n"
    text = f"{shown}\nwords\n\n```python\nb\n```\nwords\n```text\n3\n```\n"
    examples = doc_examples.examples_in(text)
    assert examples == [(2, "a\n", "1\n2\n", 6), (13, "b\n", None, 0)]
    assert doc_examples.with_output(text, examples[0], "5\n") == text.replace("1\n2\n", "5\n")


# Docstrings


def fresh_namespace() -> dict[str, Any]:
    """Names of layers as in a new process, and the model that the examples speak of."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(0)
    model, x = Net(), tf.ones((1, 3))
    model(x)
    return {"fs": fs, "keras": keras, "tf": tf, "np": np, "model": model, "x": x}


@keras.saving.register_keras_serializable()
class Attention(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.mix = keras.layers.Dense(4)

    def build(self, shape: Any) -> None:
        self.mix.build(shape)

    def call(self, x: Any) -> Any:
        return x * keras.ops.softmax(self.mix(x))


class Encoder(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [Attention() for _ in range(4)]

    def build(self, shape: Any) -> None:
        for block in self.blocks:
            block.build(shape)

    def call(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


class Net(keras.Model):
    """Has what the docstrings name: hidden, encoder.blocks.3, dense, head."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(4, activation="relu")
        self.encoder = Encoder()
        self.dense = keras.layers.Dense(4)
        self.head = keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        return self.head(self.dense(self.encoder(self.hidden(x))))


def calls_twice() -> Any:
    dense = keras.layers.Dense(3, name="dense")
    return fs.trace(lambda x: dense(dense(x)), tf.ones((1, 3)))


def with_log_of_zero() -> Any:
    return fs.trace(lambda x: tf.math.log(x) * 2.0, tf.constant([1.0, 0.0]))


# Docstrings whose example needs another trace than that of the model.
OTHER_TRACES = {
    "ModuleCall": calls_twice,
    "NonFinite": with_log_of_zero,
    "NonFiniteParent": with_log_of_zero,
}


def module_names() -> Iterator[str]:
    for module in pkgutil.iter_modules(fs.__path__):
        yield f"flowscope.{module.name}"


def documented() -> Iterator[Any]:
    """Every docstring of the package with an example, the engine's included."""
    seen: set[int] = set()
    for name in ("flowscope", *module_names()):
        module = importlib.import_module(name)
        yield from with_examples(name, module, module)
        for owner, item in inspect.getmembers(module, callable):
            if id(item) not in seen and str(item.__module__).startswith("flowscope"):
                seen.add(id(item))
                yield from with_examples(owner, item, module)


def with_examples(name: str, item: Any, module: Any) -> Iterator[Any]:
    members = inspect.getmembers(item) if inspect.isclass(item) else []
    for path, thing in [(name, item), *((f"{name}.{key}", value) for key, value in members)]:
        doc = getattr(thing, "__doc__", None)
        of_its_type = getattr(type(thing), "__doc__", None)
        if isinstance(doc, str) and ">>>" in doc and doc != of_its_type:
            yield pytest.param(SimpleNamespace(path=path, doc=doc, module=module), id=path)


class ShownOutput(doctest.OutputChecker):
    """An example that shows no output has to run; one that shows some has to print that."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return not want or super().check_output(want, got, optionflags)


@pytest.fixture(scope="module")
def prepared() -> dict[str, Any]:
    namespace = fresh_namespace()
    trace = fs.trace(namespace["model"], namespace["x"])
    sequential = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    return {
        **namespace,
        "trace": trace,
        "op": trace["relu_1"],
        "variable": trace["hidden.kernel"],
        "sequential": sequential,
    }


@pytest.mark.parametrize("documented", list(documented()))
def test_docstring(
    documented: Any, prepared: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # examples write files
    namespace = {**vars(documented.module), **prepared}
    if documented.path in OTHER_TRACES:
        namespace["trace"] = OTHER_TRACES[documented.path]()
    if "pyarrow" in documented.doc:
        namespace["pyarrow"] = pytest.importorskip("pyarrow")
    parsed = doctest.DocTestParser().get_doctest(
        documented.doc, namespace, documented.path, None, 0
    )
    report: list[str] = []
    runner = doctest.DocTestRunner(ShownOutput(), False, doctest.NORMALIZE_WHITESPACE)
    runner.run(parsed, out=report.append)
    assert runner.tries > 0 and not runner.failures, "".join(report)


# The demo


@pytest.fixture(scope="module")
def demo() -> Any:
    spec = importlib.util.spec_from_file_location("flowscope_demo", ROOT / "examples" / "demo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_demo(demo: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    printed = capsys.readouterr().out
    assert "NO " not in printed and printed.count("np.array_equal(recorded, plain)") == 2


def test_demo_tells_a_difference(demo: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model, x = demo.small_model()
    plain = model(x).numpy()
    trace = fs.trace(model, x)
    assert demo.prove("same", trace, model, x, plain)
    assert not demo.prove("other", trace, model, x, np.nextafter(plain, 1.0, dtype=plain.dtype))
    assert "NO   same bytes" in capsys.readouterr().out
