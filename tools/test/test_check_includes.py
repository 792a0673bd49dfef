from pathlib import Path

import check_includes
import pytest


def plant(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "include", "told"),
    [
        ("src/base/a.cc", '"trace/trace.h"', "base may include: base"),
        ("src/trace/a.h", '"analyze/cost.h"', "trace may include: base, trace"),
        ("src/analyze/a.cc", '"tf/hook.h"', "analyze may include: analyze, base, trace"),
        ("src/store/a.cc", '"capture/recorder.h"', "store may include: base, store, trace"),
        ("src/tf/a.cc", '"capture/recorder.h"', "tf may include: base, tf, trace"),
        ("src/capture/a.h", '"replay/run.h"', "capture may include: base, capture, interp"),
        ("src/tf/a.cc", '"fake_runtime/fake.h"', "tf may include: base, tf, trace"),
        ("src/base/a_test.cc", '"fake_runtime/fake.h"', "base may include: base"),
        ("src/trace/a.cc", "<tensorflow/c/c_api.h>", "only tf may include it"),
        ("src/capture/a.cc", "<Python.h>", "only python/src may include it"),
        ("src/trace/a.cc", '"trace.h"', "write the path from src/"),
        ("src/trace/a.cc", '"../base/status.h"', "write the path from src/"),
        (
            "include/flowscope/a.h",
            '"trace/trace.h"',
            "include/flowscope may include: base, flowscope",
        ),
    ],
)
def test_bad_include_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, include: str, told: str
) -> None:
    plant(tmp_path, name, f"#include <string>\n#include {include}\n")
    assert check_includes.main([str(tmp_path)]) == 1
    assert f"{name}:2: #include {include}: {told}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "include"),
    [
        ("src/base/a.cc", '"base/status.h"'),
        ("src/base/a.cc", "<vector>"),
        ("src/trace/a.cc", '"base/status.h"'),
        ("src/draw/a.cc", '"analyze/cost.h"'),
        ("src/capture/a.cc", '"interp/plan.h"'),
        ("src/capture/a_test.cc", '"fake_runtime/fake.h"'),
        ("src/tf/a.cc", '"tensorflow/c/c_api.h"'),
        ("python/src/module.cc", '"bindings.h"'),
        ("python/src/module.cc", '"capture/recorder.h"'),
        ("python/src/module.cc", "<nanobind/nanobind.h>"),
    ],
)
def test_good_include_passes(tmp_path: Path, name: str, include: str) -> None:
    plant(tmp_path, name, f"#include {include}\n")
    assert check_includes.main([str(tmp_path)]) == 0


def test_folder_outside_the_table_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(tmp_path, "src/misc/a.cc", "#include <string>\n")
    assert check_includes.main([str(tmp_path)]) == 1
    assert "src/misc: not in the layer table" in capsys.readouterr().err


def test_empty_tree_is_an_error(tmp_path: Path) -> None:
    assert check_includes.main([str(tmp_path)]) == 1


def test_layers_have_no_cycle() -> None:
    for folder, below in check_includes.LAYERS.items():
        # Public headers are no layer: they stand beside the library that implements them.
        for other in below - {"flowscope"}:
            assert folder not in check_includes.LAYERS[other]
            assert check_includes.LAYERS[other] <= below
