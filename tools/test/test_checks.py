import subprocess
from pathlib import Path

import check_language_share
import check_sizes
import check_symbols
import pytest


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_long_file_fails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "fits.cc").write_text("int a;\n" * check_sizes.LIMIT)
    assert check_sizes.main([str(repository)]) == 0
    (repository / "long.cc").write_text("int a;\n" * (check_sizes.LIMIT + 1))
    assert check_sizes.main([str(repository)]) == 1
    assert "long.cc: 501 lines" in capsys.readouterr().err


def test_share_counts_code_outside_tests(repository: Path) -> None:
    (repository / "a.cc").write_text("// comment\n\nint a;\n" * 65)
    (repository / "a.py").write_text('"""Text."""\n\n# comment\n' + "a = 1\n" * 35)
    (repository / "tests").mkdir()
    (repository / "tests/b.py").write_text("a = 1\n" * 1000)
    assert check_language_share.main([str(repository)]) == 0
    (repository / "b.py").write_text("b = 1\n")
    assert check_language_share.main([str(repository)]) == 1


def test_python_lines_leave_out_docstrings_only() -> None:
    text = 'def f():\n    """Doc.\n\n    More.\n    """\n    return """a\n    b"""\n'
    assert check_language_share.python_lines(text) == 3


def build_module(folder: Path, source: str) -> Path:
    module = folder / "_core.test.so"
    command = ["c++", "-x", "c++", "-", "-shared", "-fPIC", "-fvisibility=hidden", "-o"]
    subprocess.run([*command, str(module)], input=source, text=True, check=True)
    return module


INIT = 'extern "C" [[gnu::visibility("default")]] int PyInit__core() { return 0; }\n'


def test_module_with_hidden_symbols_passes(tmp_path: Path) -> None:
    assert check_symbols.check(build_module(tmp_path, INIT)) == []


@pytest.mark.parametrize("name", ["sqlite3_open", "ZSTD_compress", "XXH3_64bits"])
def test_undefined_library_symbol_fails(tmp_path: Path, name: str) -> None:
    source = f'extern "C" int {name}();\n{INIT}[[gnu::used]] static int a() {{ return {name}(); }}'
    (message,) = check_symbols.check(build_module(tmp_path, source))
    assert message.startswith(f"_core.test.so: {name} is undefined")


def test_other_export_fails(tmp_path: Path) -> None:
    source = f'{INIT}extern "C" [[gnu::visibility("default")]] int other() {{ return 0; }}'
    (message,) = check_symbols.check(build_module(tmp_path, source))
    assert "other is exported" in message


def test_missing_init_fails(tmp_path: Path) -> None:
    (message,) = check_symbols.check(build_module(tmp_path, "static int a;"))
    assert message.endswith("PyInit__core is not exported")
