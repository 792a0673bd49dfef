"""Runs the long proofs of tests/prove, resumable, and writes docs/proof/*.json.

A proof is a module tests/prove/NAME.py whose docstring's first line says what
it shows, with

    ITERATIONS = 10_000          # the full proof
    SAMPLE = 50                  # iterations in a sample run; 0: not sampled
    CHUNK = 1_000                # optional: iterations per process

    def run(iterations: int, seed: int) -> dict[str, int]: ...

`run` raises where the claim does not hold, and otherwise returns what it
counted. A chunk runs in a process of its own, so that a crash is a failure of
that proof only. Finished chunks are kept in build/prove/state.json and are not
run again for as long as the source stays the same.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from repo_files import ROOT

FOLDER = ROOT / "tests/prove"
STATE = ROOT / "build/prove/state.json"
RESULTS = ROOT / "docs/proof"


@dataclass(frozen=True)
class Proof:
    """One module of tests/prove, read without running it."""

    name: str
    path: Path
    claim: str
    iterations: int
    sample: int
    chunk: int

    @staticmethod
    def read(path: Path) -> Proof:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        numbers: dict[str, int] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name in ("ITERATIONS", "SAMPLE", "CHUNK"):
                    numbers[name] = int(ast.literal_eval(node.value))
        missing = {"ITERATIONS", "SAMPLE"} - set(numbers)
        doc = ast.get_docstring(tree)
        if missing or not doc:
            what = ", ".join(sorted(missing)) or "docstring"
            raise SystemExit(f"{path}: a proof needs a {what}, see tools/prove.py")
        full = numbers["ITERATIONS"]
        claim = doc.splitlines()[0]
        return Proof(path.stem, path, claim, full, numbers["SAMPLE"], numbers.get("CHUNK", full))

    def chunks(self, iterations: int, seed: int) -> list[tuple[int, int]]:
        """(iterations, seed) of every process."""
        starts = range(0, iterations, self.chunk)
        return [(min(self.chunk, iterations - start), seed + start) for start in starts]


def proofs(folder: Path) -> list[Proof]:
    paths = sorted(folder.glob("*.py"))
    return [Proof.read(path) for path in paths if not path.name.startswith("_")]


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True).stdout


def source_id() -> tuple[str, str]:
    """The commit, and a hash over it and every change that is not committed."""
    commit = git("rev-parse", "--verify", "--quiet", "HEAD").decode().strip() or "none"
    digest = hashlib.sha256(commit.encode())
    outside = ["--", ".", ":!docs/proof"]
    if commit != "none":
        digest.update(git("diff", "HEAD", *outside))
    for name in git("ls-files", "-z", "--others", "--exclude-standard", *outside).split(b"\0"):
        path = ROOT / os.fsdecode(name)
        if name and path.is_file():
            digest.update(name + b"\0" + path.read_bytes())
    return commit, digest.hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Replaces a file in one step, so that a kill leaves the old or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    new.replace(path)


def run_here(path: Path, iterations: int, seed: int, output: Path) -> None:
    """The body of the child process: one chunk of one proof."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(f"prove_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    write_json(output, module.run(iterations, seed))


def run_chunk(proof: Proof, iterations: int, seed: int) -> dict[str, int] | None:
    """The counts of one chunk, None when it failed."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "counts.json"
        child = ["--child", str(proof.path), str(iterations), str(seed), str(output)]
        result = subprocess.run([sys.executable, __file__, *child], cwd=ROOT)
        if result.returncode != 0 or not output.exists():
            print(f"{proof.name}: seed {seed}: exit status {result.returncode}", file=sys.stderr)
            return None
        counts: dict[str, int] = json.loads(output.read_text(encoding="utf-8"))
    if not counts:
        print(f"{proof.name}: seed {seed}: counted nothing", file=sys.stderr)
        return None
    return counts


def run_proof(
    proof: Proof, iterations: int, seed: int, state: dict[str, Any]
) -> dict[str, Any] | None:
    """The result of a proof over all its chunks, None at the first failure."""
    total: Counter[str] = Counter()
    seconds = 0.0
    for count, chunk_seed in proof.chunks(iterations, seed):
        key = f"{proof.name}/{count}/{chunk_seed}"
        if key not in state["chunks"]:
            start = time.monotonic()
            counts = run_chunk(proof, count, chunk_seed)
            if counts is None:
                return None
            took = round(time.monotonic() - start, 1)
            state["chunks"][key] = {"counts": counts, "seconds": took}
            write_json(STATE, state)
        done = state["chunks"][key]
        total.update(done["counts"])
        seconds += done["seconds"]
    return {"counts": dict(total), "iterations": iterations, "seconds": round(seconds, 1)}


def environment() -> dict[str, str]:
    """The versions that a result was made with."""
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("tensorflow-cpu", "tensorflow", "keras", "numpy"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def load_state(source: str) -> dict[str, Any]:
    """Earlier chunks, where they belong to this very source."""
    if STATE.exists():
        state: dict[str, Any] = json.loads(STATE.read_text(encoding="utf-8"))
        if state.get("source") == source:
            return state
    return {"source": source, "chunks": {}}


def prove(chosen: list[Proof], seed: int, sampled: bool) -> int:
    """Runs the proofs and returns how many failed."""
    commit, source = source_id()
    clean = not git("status", "--porcelain", "--", ".", ":!docs/proof").strip()
    state = load_state(source)
    failed = 0
    for proof in chosen:
        iterations = proof.sample if sampled else proof.iterations
        if iterations == 0:
            print(f"{proof.name}: not part of a sample")
            continue
        print(f"{proof.name}: {iterations} iterations: {proof.claim}", flush=True)
        result = run_proof(proof, iterations, seed, state)
        if result is None:
            failed += 1
            continue
        print(f"{proof.name}: passed {result['counts']} in {result['seconds']} s", flush=True)
        if not sampled:
            result |= {"claim": proof.claim, "commit": commit, "committed_source": clean}
            result |= {"seed": seed, "environment": environment()}
            write_json(RESULTS / f"{proof.name}.json", result)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description="Long proofs of tests/prove.")
    parser.add_argument("names", nargs="*", help="only these proofs")
    parser.add_argument("--sample", type=int, metavar="SEED", help="a short run, no results kept")
    parser.add_argument("--seed", type=int, default=1, help="seed of the full run (1)")
    parser.add_argument("--list", action="store_true", help="show the proofs")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        path, iterations, seed, output = arguments.child
        run_here(Path(path), int(iterations), int(seed), Path(output))
        return 0

    found = proofs(FOLDER)
    unknown = set(arguments.names) - {proof.name for proof in found}
    if unknown or not found:
        print(f"no such proof: {', '.join(sorted(unknown)) or FOLDER}", file=sys.stderr)
        return 1
    chosen = [proof for proof in found if not arguments.names or proof.name in arguments.names]
    if arguments.list:
        for proof in chosen:
            print(f"{proof.name:<24} {proof.iterations:>8}  {proof.claim}")
        return 0
    sampled = arguments.sample is not None
    seed = arguments.sample if sampled else arguments.seed
    failed = prove(chosen, seed, sampled)
    print(f"prove: seed {seed}, {len(chosen)} proofs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
