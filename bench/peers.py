"""Other tools on the same workloads: TorchLens and tfdbg V2, in a virtual environment of their own.

Each pair of tool and workload runs in a process of its own (this file as a program), because tfdbg
cannot be taken out of a process again without a trace, and one that fails must not end the others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "peers"
TORCHLENS = "torchlens==2.36.1"
PINNED = ("tensorflow-cpu", "keras", "numpy")  # as in tools/requirements-dev.txt
MOST_ROUNDS = 5  # these runs take tens of times as long as a plain one
TIMEOUT_SECONDS = 900


def requirements() -> list[str]:
    """TorchLens beside the TensorFlow and Keras that everything else here uses."""
    pins = (ROOT / "tools" / "requirements-dev.txt").read_text("utf-8").splitlines()
    return [TORCHLENS, *(pin for pin in pins if pin.partition("==")[0] in PINNED)]


def python() -> Path:
    """The interpreter of the environment, made on first use."""
    found = FOLDER / "bin" / "python"
    stamp = FOLDER / ".installed"
    wanted = "\n".join(requirements())
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return found
    print(f"installing {TORCHLENS} into {FOLDER.relative_to(ROOT)}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True)
    command = [found, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *requirements()], check=True)
    stamp.write_text(wanted, "utf-8")
    return found


def results(names: list[str], rounds: int) -> Iterator[dict[str, Any]]:
    """One result for each tool and workload; ``failed`` says why there is none."""
    try:
        interpreter = python()
    except subprocess.CalledProcessError as error:
        yield {"failed": f"the environment could not be made: {error}"}
        return
    for name in names:
        for tool in TOOLS:
            if tool in ONLY_RESNET50 and name != "resnet50":
                continue
            yield result_of(interpreter, tool, name, min(rounds, MOST_ROUNDS))


def result_of(interpreter: Path, tool: str, name: str, rounds: int) -> dict[str, Any]:
    command = [interpreter, Path(__file__).resolve(), tool, name, str(rounds)]
    about = {"workload": name, "recorded": tool, "budget": None}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {**about, "failed": f"{name:<13}{tool}: no end in {TIMEOUT_SECONDS} s"}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {**about, "failed": f"{name:<13}{tool}: {last[0]}"}
    return {**about, **json.loads(done.stdout.splitlines()[-1])}


# In the process of the tool


def torchlens_way(model: Any, x: Any) -> Callable[[], Any]:
    import torchlens

    return lambda: torchlens.trace(model, x, backend="tf")


def tfdbg_way(model: Any, x: Any) -> Callable[[], Any]:
    """Every value to disk, as tfdbg V2 does in the mode that keeps whole tensors."""
    import tensorflow as tf

    debugging = tf.debugging.experimental

    def dump() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            debugging.enable_dump_debug_info(
                folder, tensor_debug_mode="FULL_TENSOR", circular_buffer_size=-1
            )
            try:
                return model(x)
            finally:
                debugging.disable_dump_debug_info()

    return dump


def torchlens_validated(model: Any, x: Any) -> Callable[[], Any]:
    """Records and checks, since what checks an old recording gives no answer for a live one."""
    import torchlens

    return lambda: torchlens.validate(model, x, scope="forward", backend="tf")


def torchlens_saved(model: Any, x: Any) -> Callable[[], Any]:
    import torchlens

    trace = torchlens.trace(model, x, backend="tf")
    folder = tempfile.TemporaryDirectory()
    return lambda: torchlens.save(trace, Path(folder.name) / "trace.tlspec", overwrite=True)


def torchlens_loaded(model: Any, x: Any) -> Callable[[], Any]:
    import torchlens

    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "trace.tlspec"
    torchlens.save(torchlens.trace(model, x, backend="tf"), path)

    def load(folder: Any = folder) -> Any:  # which is removed when nobody holds it
        return torchlens.load(path)

    return load


TOOLS = {
    "torchlens": torchlens_way,
    "torchlens validate": torchlens_validated,
    "torchlens save": torchlens_saved,
    "torchlens load": torchlens_loaded,
    "tfdbg FULL_TENSOR": tfdbg_way,
}
ONLY_RESNET50 = {"torchlens validate", "torchlens save", "torchlens load"}


def main() -> int:
    tool, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import keras
    import measure
    import workloads

    keras.utils.set_random_seed(0)
    model, x = workloads.WORKLOADS[name].build()
    found = measure.ratios(lambda: model(x), {tool: TOOLS[tool](model, x)}, rounds)
    print(json.dumps(measure.summary(found[tool])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
