"""Batch norm's running statistics when a step is cut into micro-batches, against the same steps in numpy in float64.

  check_deferred_statistics.py FOLDER

With --batch-norm local they move in every micro-batch, as PyTorch's do. With local-deferred they move once a step: each micro-batch is
normalized by its own mean and variance, and the running ones take those of all values of the step. The first column's mean is a thousand
times its deviation, so that sums of squares which lose digits would show.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import running_statistics

BATCH, WIDTH, STEPS, MICRO, RATE, EPSILON, MOMENTUM = 24, 4, 3, 4, 0.05, 1e-5, 0.7
LAYOUTS = {"one": [], "dp2": ["--mesh", "dp=2"], "fsdp2": ["--mesh", "fsdp=2"], "pp2": ["--mesh", "pp=2"],
           "both": ["--mesh", "dp=2,pp=2"]}


def save_model(path, tensors):
    nodes = [helper.make_node("BatchNormalization", ["x", "scale", "bias", "mean", "variance"], ["h", "new_mean", "new_variance"],
                              epsilon=EPSILON, momentum=MOMENTUM, training_mode=1),
             helper.make_node("MatMul", ["h", "w"], ["y"]),
             helper.make_node("MatMul", ["y", "v"], ["z"]),
             helper.make_node("Sub", ["z", "target"], ["d"]),
             helper.make_node("Mul", ["d", "d"], ["squares"]),
             helper.make_node("ReduceMean", ["squares"], ["loss"], keepdims=0)]
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "normed", [info("x", ["batch", WIDTH]), info("target", ["batch", 1])], [info("loss", [])],
                              [numpy_helper.from_array(array, name) for name, array in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def parts_of(x, step, ranks):
    """The samples of the first data rank in each micro-batch: its statistics count (as buffers that DDP broadcasts)."""
    rows = x[step * BATCH:(step + 1) * BATCH]
    return np.split(rows[:BATCH // ranks], MICRO)


def reference(x, statistics, ranks, deferred):
    mean, variance = (statistics[name].astype(np.float64) for name in ("mean", "variance"))
    for step in range(STEPS):
        parts = parts_of(x.astype(np.float64), step, ranks)
        for part in [np.concatenate(parts)] if deferred else parts:
            mean = MOMENTUM * mean + (1 - MOMENTUM) * part.mean(0)
            variance = MOMENTUM * variance + (1 - MOMENTUM) * part.var(0, ddof=1)
    return mean, variance


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def check(folder, layout, how, x, statistics):
    name = f"{layout}-{how}"
    run("cleave", "compile", folder / "model.onnx", "-o", folder / name, "--train", "--loss-output", "loss", "--batch-norm", how,
        "--optimizer", "sgd", "--global-batch", BATCH, "--micro-batches", MICRO, *LAYOUTS[layout])
    run("cleave", "verify", folder / name)
    run(folder / name, "train", "--data", f"x={folder}/x.npy", "--data", f"target={folder}/target.npy", "--no-shuffle", "--steps", STEPS,
        "--lr", RATE, "--save", folder / f"{name}.ckpt")
    arrays = {}
    for path in (folder / f"{name}.ckpt").glob("*/*.safetensors"):
        arrays.update(running_statistics.read_safetensors(path))
    ranks = 2 if "dp" in layout or layout == "both" else 1
    for what, expected in zip(("mean", "variance"), reference(x, statistics, ranks, how.endswith("deferred"))):
        error = np.abs(arrays[what].astype(np.float64) - expected) / np.abs(expected)
        if not error.max() <= 1e-5:
            sys.exit(f"{name}: running {what} {arrays[what]}, expected {expected}: {error.max():.1e} off")
    print(f"{name}: running statistics as in numpy")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(5)
    weights = {"scale": random.normal(1, 0.1, WIDTH), "bias": random.normal(size=WIDTH), "w": random.normal(size=(WIDTH, 3)),
               "v": random.normal(size=(3, 1))}
    statistics = {"mean": np.array([990, 1, -1, 0.5], np.float32), "variance": np.array([1, 2, 0.5, 4], np.float32)}
    save_model(folder / "model.onnx", {**{name: array.astype(np.float32) for name, array in weights.items()}, **statistics})
    x = random.normal([1000, 0, 3, -2], [1, 2, 1, 3], (STEPS * BATCH, WIDTH)).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "target.npy", random.normal(size=(STEPS * BATCH, 1)).astype(np.float32))
    for layout in LAYOUTS:
        for how in ("local", "local-deferred"):
            check(folder, layout, how, x, statistics)


if __name__ == "__main__":
    main()
