"""The dimension of the classes of --loss cross-entropy and nll (--loss-class-dim), against numpy in float64. All dimensions of the output
have the same size, so that labels of any of them fit. The losses of some steps of gradient descent compare gradients, too.

  check_class_dims.py FOLDER
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx

SIZE, BATCH, STEPS, RATE = 5, 4, 4, 20.0
CASES = [(3, None, 2), (3, "1", 1), (3, "-1", 2), (3, "-2", 1), (4, None, 1), (4, "3", 3), (4, "2", 2)]  # rank, option, dimension


def model(rank, kind, dim):
    """y = x * w, of [batch, SIZE, ...]."""
    dims = ", ".join(["batch"] + [str(SIZE)] * (rank - 1))
    last = f"LogSoftmax<axis = {dim}>(s)" if kind == "nll" else "Identity(s)"
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float[{dims}] x) => (float[{dims}] y) {{ s = Mul(x, w) y = {last} }}"""
    parsed = onnx.parser.parse_model(text)
    weights = np.random.default_rng(1).standard_normal([SIZE] * (rank - 1)).astype("f4")
    parsed.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    return parsed, weights.astype("f8")


def losses_of(x, labels, weights, dim):
    """Of each step."""
    losses = []
    for x, labels in zip(np.split(x.astype("f8"), STEPS), np.split(labels, STEPS)):
        scores = x * weights
        scores = scores - scores.max(dim, keepdims=True)
        probabilities = np.exp(scores) / np.exp(scores).sum(dim, keepdims=True)
        picked = np.expand_dims(labels, dim)
        losses.append(-np.log(np.take_along_axis(probabilities, picked, dim)).mean())
        slope = probabilities - (np.arange(SIZE).reshape([-1 if i == dim else 1 for i in range(x.ndim)]) == picked)
        weights = weights - RATE * (slope * x).sum(0) / labels.size
    return losses


def check(folder, kind, rank, option, dim):
    parsed, weights = model(rank, kind, dim)
    onnx.save(parsed, folder / "model.onnx")
    options = [] if option is None else ["--loss-class-dim", option]
    said = subprocess.run(["cleave", "compile", folder / "model.onnx", "-o", folder / "program", "--train", "--loss", kind, "--optimizer", "sgd",
                           "--dim", f"batch={BATCH}", *options], check=True, capture_output=True, text=True, timeout=300)
    shape = f"[{', '.join([str(BATCH)] + [str(SIZE)] * (rank - 1))}]"
    if f"the classes are dimension {dim} of 'y' {shape} (--loss-class-dim)" not in said.stdout + said.stderr:
        sys.exit(f"no note of dimension {dim} of {shape}: {said.stdout}{said.stderr}")
    random = np.random.default_rng(2)
    x = random.standard_normal([STEPS * BATCH] + [SIZE] * (rank - 1)).astype("f4")
    labels = random.integers(0, SIZE, [STEPS * BATCH] + [SIZE] * (rank - 2))
    np.save(folder / "x.npy", x)
    np.save(folder / "labels.npy", labels)
    subprocess.run([folder / "program", "train", "--data", f"x={folder}/x.npy", "--data", f"labels={folder}/labels.npy", "--steps", str(STEPS),
                    "--lr", str(RATE), "--no-shuffle", "--metrics", folder / "metrics.jsonl"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    ours = [row["loss"] for row in rows if "loss" in row]
    right = losses_of(x, labels, weights, dim)
    others = [losses_of(x, labels, weights, other) for other in range(1, rank) if other != dim]
    if len(ours) != STEPS or not np.allclose(ours, right, rtol=2e-6, atol=0):
        sys.exit(f"{kind} {rank} {option}: losses {ours}, numpy {right}")
    if any(np.allclose(other, right, rtol=1e-2) for other in others):
        sys.exit("the case shows nothing: another dimension has the same losses")
    print(f"{kind} of rank {rank}, {option or 'default'}: {STEPS} losses as numpy's over dimension {dim}")


for kind in ("cross-entropy", "nll"):
    for case in CASES:
        check(pathlib.Path(sys.argv[1]), kind, *case)
