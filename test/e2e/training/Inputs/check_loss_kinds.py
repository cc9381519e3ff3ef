"""Losses that `--loss KIND` adds to a graph without one, against numpy in float64: those of some steps of gradient descent, so that
gradients are compared, too. The graph's dimensions are all symbolic, and `--batch-dim` says which symbol counts samples. Graphs are of f32 and
of f64; of the latter the trained weights have numpy's bits but for rounding, while the printed losses are f32 in both.

  check_loss_kinds.py FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx

FEATURES, CLASSES, BATCH, STEPS, RATE = 5, 4, 8, 6, 0.5
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g ({element}[samples, width] x) => ({element}[samples, {classes}] y)
<{element}[{features}, {classes}] w = {{{weights}}}>
{{
  s = MatMul(x, w)
  y = {last}
}}"""


def log_softmax(scores):
    shifted = scores - scores.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def classes_loss(scores, labels):
    """Loss and its derivative by the scores."""
    logs, picked = log_softmax(scores), (np.arange(len(labels)), labels)
    slope = np.exp(logs)
    slope[picked] -= 1
    return -logs[picked].mean(), slope / len(labels)


def squares_loss(scores, targets):
    return ((scores - targets) ** 2).mean(), 2 * (scores - targets) / scores.size


def trained_weights(folder):
    data = next(folder.rglob("model.safetensors")).read_bytes()
    header = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8:8 + header])["w"]
    begin, end = entry["data_offsets"]
    return np.frombuffer(data[8 + header + begin:8 + header + end], {"F32": "f4", "F64": "f8"}[entry["dtype"]]).reshape(entry["shape"])


def check(folder, kind, mesh, element):
    number = {"float": "f4", "double": "f8"}[element]
    random = np.random.default_rng(5)
    weights = random.standard_normal((FEATURES, CLASSES)).astype(number)
    last = "LogSoftmax<axis = 1>(s)" if kind == "nll" else "Identity(s)"
    text = TEXT.format(element=element, features=FEATURES, classes=CLASSES, weights=", ".join(str(float(w)) for w in weights.ravel()), last=last)
    onnx.save(onnx.parser.parse_model(text), folder / "model.onnx")
    subprocess.run(["cleave", "compile", folder / "model.onnx", "-o", folder / "program", "--train", "--loss", kind, "--optimizer", "sgd",
                    "--dim", f"width={FEATURES}", "--batch-dim", "samples", "--global-batch", str(BATCH), *mesh], check=True, stdout=subprocess.DEVNULL, timeout=300)
    x = random.standard_normal((STEPS * BATCH, FEATURES)).astype(number)
    labels = random.standard_normal((len(x), CLASSES)).astype(number) if kind == "mse" else random.integers(0, CLASSES, len(x))
    np.save(folder / "x.npy", x)
    np.save(folder / "labels.npy", labels)
    subprocess.run([folder / "program", "train", "--no-shuffle", "--steps", str(STEPS), "--lr", str(RATE), "--data", f"x={folder}/x.npy",
                    "--data", f"labels={folder}/labels.npy", "--metrics", folder / "m.jsonl", "--save", folder / "save",
                    "--checkpoint", "full"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    losses = [json.loads(line)["loss"] for line in (folder / "m.jsonl").read_text().splitlines()]
    w = weights.astype(np.float64)
    for step in range(STEPS):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        loss, slope = (squares_loss if kind == "mse" else classes_loss)(x[batch] @ w, labels[batch])
        if not abs(losses[step] - loss) <= 1e-6:
            sys.exit(f"{kind}, step {step + 1}: loss {losses[step]}, expected {loss}")
        w -= RATE * x[batch].T @ slope
    difference = abs(trained_weights(folder / "save") - w).max()
    if not difference <= {"float": 1e-5, "double": 1e-8}[element]:
        sys.exit(f"{kind} in {element}: the weights differ by {difference}")
    shutil.rmtree(folder / "save")
    print(f"{kind} {element} {mesh}: {STEPS} losses, the last {loss}", flush=True)


if __name__ == "__main__":
    for kind in ("cross-entropy", "nll", "mse"):
        for element in ("float", "double"):
            for mesh in ([], ["--mesh", "dp=2"]):
                check(pathlib.Path(sys.argv[1]), kind, mesh, element)
