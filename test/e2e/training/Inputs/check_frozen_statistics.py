"""Training with --batch-norm frozen, against the same steps in numpy in float64, on one rank, two ranks and two micro-batches.

  check_frozen_statistics.py FOLDER

The model normalizes with the file's running statistics in every step (torch.nn.BatchNorm1d in eval mode inside a training loop): its scale and
bias are trained, its statistics are not. The file is one of training mode, as exporters write it, and the statistics of its data are far from the
file's, so that a step that used the batch's own would show.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH, WIDTH, STEPS, RATE, EPSILON = 8, 5, 4, 0.05, 1e-5
LAYOUTS = {"one": [], "dp2": ["--mesh", "dp=2"], "fsdp2": ["--mesh", "fsdp=2"], "micro2": ["--micro-batches", "2"]}


def starting_weights(random):
    shapes = {"scale": (WIDTH,), "bias": (WIDTH,), "w": (WIDTH, 1)}
    weights = {name: random.normal(0.5, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    statistics = {"mean": random.normal(size=WIDTH).astype(np.float32), "variance": random.uniform(0.5, 4, WIDTH).astype(np.float32)}
    return weights, statistics


def save_model(path, tensors):
    nodes = [helper.make_node("BatchNormalization", ["x", "scale", "bias", "mean", "variance"], ["h", "new_mean", "new_variance"],
                              epsilon=EPSILON, momentum=0.9, training_mode=1),
             helper.make_node("MatMul", ["h", "w"], ["y"]),
             helper.make_node("Sub", ["y", "target"], ["d"]),
             helper.make_node("Mul", ["d", "d"], ["squares"]),
             helper.make_node("ReduceMean", ["squares"], ["loss"], keepdims=0)]
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "normed", [info("x", ["batch", WIDTH]), info("target", ["batch", 1])], [info("loss", [])],
                              [numpy_helper.from_array(array, name) for name, array in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def reference(x, target, weights, statistics):
    """Losses of each step, and the weights after the last."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    normal = (x - statistics["mean"].astype(np.float64)) / np.sqrt(statistics["variance"].astype(np.float64) + EPSILON)
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        n, t = normal[rows], target[rows]
        h = n * w["scale"] + w["bias"]
        d = h @ w["w"] - t
        losses.append(float((d * d).mean()))
        dy = 2 * d / len(d)
        dh = dy @ w["w"].T
        w = {"scale": w["scale"] - RATE * (dh * n).sum(0), "bias": w["bias"] - RATE * dh.sum(0), "w": w["w"] - RATE * h.T @ dy}
    return losses, w


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def expect_close(what, got, expected):
    error = np.abs(np.asarray(got, np.float64) - expected).max() / max(1e-3, np.abs(expected).max())
    if not error <= 1e-5:
        sys.exit(f"{what}: {error:.2e} relative from the reference: {got} and {expected}")


def check(folder, layout, expected):
    losses, weights, statistics = expected
    options = ["--train", "--loss-output", "loss", "--batch-norm", "frozen", "--optimizer", "sgd", "--global-batch", BATCH]
    run("cleave", "compile", folder / "model.onnx", "-o", folder / "program", *options, *LAYOUTS[layout])
    run(folder / "program", "train", "--data", f"x={folder}/x.npy", "--data", f"target={folder}/target.npy", "--no-shuffle", "--steps", STEPS,
        "--lr", RATE, "--metrics", folder / "metrics.jsonl", "--save", folder / f"save-{layout}")
    run("cleave", "export", folder / f"save-{layout}", "--model", folder / "model.onnx", "-o", folder / "export.onnx")
    got = [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines() if '"loss"' in line]
    expect_close(f"{layout}: losses", got, np.array(losses))
    after = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(folder / "export.onnx").graph.initializer}
    for name, array in weights.items():
        expect_close(f"{layout}: {name}", after[name], array)
    for name, array in statistics.items():
        if after[name].tobytes() != array.tobytes():
            sys.exit(f"{layout}: the running {name} changed: {after[name]} and {array}")


def main():
    folder = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(5)
    weights, statistics = starting_weights(random)
    save_model(folder / "model.onnx", weights | statistics)
    x = random.normal(3, 2, (BATCH * STEPS, WIDTH)).astype(np.float32)
    target = random.normal(size=(BATCH * STEPS, 1)).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "target.npy", target)
    losses, after = reference(x.astype(np.float64), target.astype(np.float64), weights, statistics)
    for layout in LAYOUTS:
        check(folder, layout, (losses, after, statistics))
    print(f"{len(LAYOUTS)} layouts train with frozen statistics as the reference")


if __name__ == "__main__":
    main()
