"""Checks the dynamic symbols of the extension module with `nm -D`.

TensorFlow exports SQLite, zstd and xxHash to the whole process: a library of
ours left undefined would bind to TensorFlow's copy. Anything we export could be
taken by others in the same way.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from repo_files import ROOT

HIDDEN = ("sqlite3_", "ZSTD_", "XXH")
EXPORTED = {"PyInit__core"}


def symbols(module: Path, option: str) -> list[str]:
    """Names listed by `nm -D` with `option`, without versions."""
    command = ["nm", "-D", option, "--format=posix", str(module)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split()[0].split("@")[0] for line in output.splitlines() if line.strip()]


def check(module: Path) -> list[str]:
    """One message per wrong symbol."""
    messages = [
        f"{module.name}: {name} is undefined and would bind to TensorFlow's: link it statically"
        for name in symbols(module, "--undefined-only")
        if name.startswith(HIDDEN)
    ]
    exported = symbols(module, "--defined-only")
    messages += [
        f"{module.name}: {name} is exported: only {', '.join(sorted(EXPORTED))} may be"
        for name in exported
        if name not in EXPORTED
    ]
    messages += [f"{module.name}: {n} is not exported" for n in sorted(EXPORTED - set(exported))]
    return messages


def main(arguments: list[str]) -> int:
    modules = [Path(name) for name in arguments]
    if not modules:
        modules = sorted((ROOT / "python/flowscope").glob("_core.*.so"))
    messages = [message for module in modules for message in check(module)]
    if not modules:
        messages.append("python/flowscope/_core.*.so: not built, run ./dev build")
    for message in messages:
        print(message, file=sys.stderr)
    print(f"module symbols: {len(modules)} modules, {len(messages)} errors")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
