import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent

COUNTING = '''"""Counts its iterations."""
import os
from pathlib import Path

ITERATIONS = 10
SAMPLE = 3
CHUNK = 4
LOG = Path(__file__).parents[2] / "build/log.txt"


def run(iterations, seed):
    with LOG.open("a") as log:
        log.write(f"{iterations} {seed}\\n")
    assert seed != int(os.environ.get("FAILING_SEED", "-1"))
    if seed == int(os.environ.get("CRASHING_SEED", "-1")):
        os.abort()
    return {"seen": iterations}
'''


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A committed project with one proof."""
    for folder in ("tools", "tests/prove", "build"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("prove.py", "repo_files.py"):
        shutil.copy(TOOLS / name, tmp_path / "tools")
    (tmp_path / "tests/prove/counting.py").write_text(COUNTING)
    (tmp_path / ".gitignore").write_text("/build/\n__pycache__/\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "A proof")
    return tmp_path


def prove(root: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools/prove.py"), *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def log(root: Path) -> list[str]:
    return (root / "build/log.txt").read_text().splitlines()


def test_full_run_writes_counts_and_commit(root: Path) -> None:
    assert prove(root).returncode == 0
    result = json.loads((root / "docs/proof/counting.json").read_text())
    assert result["counts"] == {"seen": 10}
    assert result["claim"] == "Counts its iterations."
    assert result["commit"] == git(root, "rev-parse", "HEAD").strip()
    assert result["committed_source"] is True
    assert log(root) == ["4 1", "4 5", "2 9"]


def test_finished_chunks_are_not_run_again(root: Path) -> None:
    assert prove(root).returncode == 0
    assert prove(root).returncode == 0
    assert len(log(root)) == 3


def test_changed_source_starts_anew(root: Path) -> None:
    assert prove(root).returncode == 0
    (root / "new.cc").write_text("int a;\n")
    assert prove(root).returncode == 0
    assert len(log(root)) == 6
    result = json.loads((root / "docs/proof/counting.json").read_text())
    assert result["committed_source"] is False


def test_sample_is_seeded_and_leaves_no_result(root: Path) -> None:
    assert prove(root, "--sample", "7").returncode == 0
    assert log(root) == ["3 7"]
    assert not (root / "docs").exists()


def test_failure_is_reported_and_resumed(root: Path) -> None:
    result = prove(root, FAILING_SEED="5")
    assert result.returncode == 1
    assert "counting: seed 5: exit status 1" in result.stderr
    assert not (root / "docs").exists()
    assert prove(root).returncode == 0
    assert log(root) == ["4 1", "4 5", "4 5", "2 9"]


def test_crash_is_a_failure(root: Path) -> None:
    result = prove(root, CRASHING_SEED="1")
    assert result.returncode == 1
    assert "counting: seed 1: exit status -6" in result.stderr


def test_no_proofs_is_an_error(root: Path) -> None:
    (root / "tests/prove/counting.py").unlink()
    assert prove(root).returncode == 1
    assert prove(root, "nothing").returncode == 1
