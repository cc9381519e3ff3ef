"""Trains the compiled linear.onnx for ten steps, and the same in numpy in float64 by Signum's definition.

  check.py PROGRAM MODEL.onnx [CLEAVE]
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from make_model import FEATURES, TARGETS, make_weights

BATCH, STEPS, LR, MOMENTUM, DECAY = 8, 10, 0.01, 0.8, 0.1


def expected_weights(x, labels):
    weights = {name: array.astype(np.float64) for name, array in make_weights().items()}
    averages = {name: np.zeros_like(array) for name, array in weights.items()}
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        error = 2 * (x[rows] @ weights["weight"] + weights["bias"] - labels[rows]) / (BATCH * TARGETS)
        gradients = {"weight": x[rows].T @ error, "bias": error.sum(0)}
        for name, gradient in gradients.items():
            averages[name] = MOMENTUM * averages[name] + (1 - MOMENTUM) * gradient
            weights[name] = weights[name] * (1 - LR * DECAY) - LR * np.sign(averages[name])
    return weights


def trained_weights(program, model, cleave, folder, x, labels):
    np.save(folder / "x.npy", x)
    np.save(folder / "labels.npy", labels)
    subprocess.run([program, "train", "--data", f"x={folder / 'x.npy'}", "--data", f"labels={folder / 'labels.npy'}", "--no-shuffle",
                    "--steps", str(STEPS), "--lr", str(LR), "--save", folder / "trained"], check=True, timeout=120)
    newest = max(path.parent for path in (folder / "trained").glob("**/checkpoint.json"))
    subprocess.run([cleave, "export", newest, "--model", model, "-o", folder / "trained.onnx"], check=True, timeout=120)
    graph = onnx.load(folder / "trained.onnx").graph
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def main(program, model, cleave="cleave"):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((STEPS * BATCH, FEATURES)).astype(np.float32)
    labels = rng.standard_normal((STEPS * BATCH, TARGETS)).astype(np.float32)
    expected = expected_weights(x.astype(np.float64), labels.astype(np.float64))
    with tempfile.TemporaryDirectory() as folder:
        trained = trained_weights(pathlib.Path(program).resolve(), model, cleave, pathlib.Path(folder), x, labels)
    for name, array in expected.items():
        error = np.abs(trained[name] - array).max()
        print(f"{name}: largest error {error:.1e} after {STEPS} steps")
        assert error < 1e-5, name


if __name__ == "__main__":
    main(*sys.argv[1:])
