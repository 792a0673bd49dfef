"""`fit` for thousands of steps streams into one file, and memory grows with the record alone.

Batches and activations of a step are some hundred times as large as what is recorded of it: were
they kept, it would show. The whole file is loaded, and every step is in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

ITERATIONS = 2_000
SAMPLE = 100
CHUNK = 2_000

BATCH = 32
WIDTH = 4096
# Of a step of some 100 ops; its batch alone has 512 KiB.
ALLOWED_PER_STEP = 150_000

CHILD = """
import json, resource, sys
import numpy as np
import keras
import tensorflow as tf
import flowscope as fs

path, steps, batch, width, seed = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(seed)
x = rng.random((16 * batch, width), dtype="f4")
y = rng.random((16 * batch, 1), dtype="f4")

def data():
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch).repeat()

model = keras.Sequential([keras.Input((width,)), keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")

def fit(where, steps):
    with fs.capture(model, storage=fs.to_disk(where, max_pending="16MB")) as run:
        model.fit(data(), steps_per_epoch=steps, epochs=1, verbose=0)
    assert run.trace.degraded is None, run.trace.degraded
    return run.trace.num_ops

def resident():
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024

fit(path + "/first.flow", 20)
before = resident()
ops = fit(path + "/run.flow", steps)
grown = resident() - before
loaded = fs.load(path + "/run.flow")
assert not loaded.interrupted and loaded.num_ops == ops and loaded.lint() == []
kernel = loaded.variables["layers.0.kernel"]
found = len(kernel.versions) - 1
assert found == steps, (found, steps)
assert kernel.value_at(steps).tobytes() == model.layers[0].kernel.numpy().tobytes()
print(json.dumps({"steps": steps, "ops": ops, "bytes_per_step": grown // steps}))
"""


def run(iterations: int, seed: int) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        words = [str(n) for n in (iterations, BATCH, WIDTH, seed)]
        done = subprocess.run(
            [sys.executable, "-c", CHILD, folder, *words], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-4000:]
        found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    allowed = ALLOWED_PER_STEP + 50_000_000 // iterations
    assert found["bytes_per_step"] < allowed, found
    return found
