"""Checks the compiled swish.onnx against its definition in numpy, in float64.

  check.py infer PROGRAM                       the outputs
  check.py train PROGRAM MODEL.onnx [CLEAVE]   the gradient, by central differences; then that the loss falls

The gradient of a parameter is what one step of plain SGD at learning rate 1 subtracts from it.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from make_model import BETA, FEATURES, TARGETS, make_weights

BATCH = 8  # of one step over all ranks


def forward(weights, x):
    hidden = x @ weights["fc1.weight"] + weights["fc1.bias"]
    return hidden / (1 + np.exp(-BETA * hidden)) @ weights["fc2.weight"] + weights["fc2.bias"]


def loss(weights, x, labels):
    return np.mean((forward(weights, x) - labels) ** 2)


def float64(arrays):
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def central_differences(weights, x, labels, step=1e-5):
    gradients = {}
    for name, array in weights.items():
        gradients[name] = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            sides = []
            for sign in (1, -1):
                moved = array.copy()
                moved[index] += sign * step
                sides.append(loss({**weights, name: moved}, x, labels))
            gradients[name][index] = (sides[0] - sides[1]) / (2 * step)
    return gradients


def relative_error(ours, theirs):
    return np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)


def run(*command):
    subprocess.run([str(word) for word in command], check=True, timeout=120)


def check_inference(program, folder):
    x = 2 * np.random.default_rng(2).standard_normal((BATCH, FEATURES)).astype(np.float32)
    np.save(folder / "x.npy", x)
    run(program, "infer", "--input", f"x={folder / 'x.npy'}", "--output", f"y={folder / 'y.npy'}")
    error = relative_error(np.load(folder / "y.npy"), forward(float64(make_weights()), x.astype(np.float64)))
    print(f"y: relative error {error:.1e}")
    assert error < 1e-5


def train(program, folder, name, steps, lr):
    metrics = folder / f"{name}.jsonl"
    run(program, "train", "--data", f"x={folder / 'x.npy'}", "--data", f"labels={folder / 'labels.npy'}", "--no-shuffle",
        "--steps", steps, "--lr", lr, "--save", folder / name, "--metrics", metrics)
    return [json.loads(line)["loss"] for line in metrics.read_text().splitlines() if "\"loss\"" in line]


def trained_weights(cleave, model, checkpoints, folder):
    newest = max(path.parent for path in checkpoints.glob("**/checkpoint.json"))
    run(cleave, "export", newest, "--model", model, "-o", folder / "trained.onnx")
    graph = onnx.load(folder / "trained.onnx").graph
    return float64({tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer})


def check_training(program, model, cleave, folder):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((BATCH, FEATURES)).astype(np.float32)
    labels = rng.standard_normal((BATCH, TARGETS)).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "labels.npy", labels)

    before = float64(make_weights())
    first = train(program, folder, "one-step", steps=1, lr=1)[0]
    expected = loss(before, x.astype(np.float64), labels)
    assert abs(first - expected) < 1e-6 * expected, (first, expected)
    after = trained_weights(cleave, model, folder / "one-step", folder)
    for name, gradient in central_differences(before, x.astype(np.float64), labels).items():
        error = relative_error(before[name] - after[name], gradient)
        print(f"gradient of {name}: relative error {error:.1e}")
        assert error < 1e-5

    losses = train(program, folder, "many-steps", steps=100, lr=0.05)
    print(f"loss: {losses[0]:.4f} at first, {losses[-1]:.4f} after {len(losses)} steps")
    assert losses[-1] < 0.5 * losses[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["infer", "train"])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("cleave", nargs="?", default="cleave")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.mode == "infer":
            check_inference(options.program.resolve(), pathlib.Path(name))
        else:
            check_training(options.program.resolve(), options.model, options.cleave, pathlib.Path(name))
