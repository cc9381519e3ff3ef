"""bundle_runs.py SOURCE BUILD LINKED BUILT FOLDER CASE    Trains CASE (mlp, or one of training_cases.py) with the program that `cleave
compile` has linked and the one that a bundle's script has built, both on the emulated GPU: their losses are the same bits."""
import json
import pathlib
import subprocess
import sys

import numpy as np

source, build, linked, built, folder = (pathlib.Path(a) for a in sys.argv[1:6])
sys.path[:0] = [str(source / "test/cuda/Inputs"), str(source / "test/e2e/Inputs")]
import emulated  # noqa: E402
import training_cases  # noqa: E402


def arrays(case):
    if case != "recorded-mlp":
        return training_cases.data(case)
    x = np.random.default_rng(0).standard_normal((64, 8)).astype(np.float32)
    return {"input": x, "labels": x[:, :4].argmax(1)}


def losses(program, data, steps):
    metrics = folder / f"{program.name}.json"
    line = [program.resolve(), "train", *data, "--no-shuffle", "--steps", str(steps), "--lr", "1e-2", "--metrics", metrics]
    subprocess.run(line, check=True, env=emulated.environment(build), stdout=subprocess.DEVNULL)
    return [row["loss"] for row in map(json.loads, open(metrics)) if "loss" in row]


data = []
for name, array in arrays(sys.argv[6]).items():
    np.save(folder / f"{name}.npy", array)
    data += ["--data", f"{name}={folder / name}.npy"]
steps = 4 if sys.argv[6] == "recorded-mlp" else 2
expected, found = losses(linked, data, steps), losses(built, data, steps)
assert len(found) == steps and found == expected, (found, expected)
assert len(set(found)) == steps, f"the loss does not change; that is no training run: {found}"
print(f"{steps} losses of the program that the bundle built are those of the one that was linked")
