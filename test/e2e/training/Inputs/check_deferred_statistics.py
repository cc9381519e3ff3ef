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

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import running_statistics  # noqa: E402

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


def check_two_values(folder, random):
    """One layer normalizes two values of different sizes in a micro-batch, one of them twice: all their numbers count alike."""
    image = [BATCH, 2, 4, 4]
    tensors = {"scale": np.ones(2), "bias": np.zeros(2), "mean": np.array([0.5, -1]), "variance": np.array([1.0, 2.0]), "w": random.normal(size=2).reshape(1, 2, 1, 1)}
    norm = lambda value, result: helper.make_node("BatchNormalization", [value, "scale", "bias", "mean", "variance"], [result, f"{result}.mean", f"{result}.variance"],
                                                  epsilon=EPSILON, momentum=MOMENTUM, training_mode=1)
    nodes = [norm("x", "a"), helper.make_node("AveragePool", ["x"], ["small"], kernel_shape=[2, 2], strides=[2, 2]), norm("small", "b"), norm("small", "c")]
    for value in "abc":
        nodes += [helper.make_node("Mul", [value, "w"], [f"{value}w"]), helper.make_node("Abs", [f"{value}w"], [f"{value}s"]),
                  helper.make_node("ReduceMean", [f"{value}s"], [f"{value}l"], keepdims=0)]
    nodes.append(helper.make_node("Sum", ["al", "bl", "cl"], ["loss"]))
    graph = helper.make_graph(nodes, "twice", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *image[1:]])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(array.astype(np.float32), name) for name, array in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "twice.onnx")
    x = random.normal(size=image).astype(np.float32) * np.arange(1, BATCH + 1, dtype=np.float32).reshape(-1, 1, 1, 1)
    np.save(folder / "images.npy", x)
    run("cleave", "compile", folder / "twice.onnx", "-o", folder / "twice", "--train", "--loss-output", "loss", "--batch-norm", "local-deferred",
        "--optimizer", "sgd", "--global-batch", BATCH, "--micro-batches", MICRO)
    run(folder / "twice", "train", "--data", f"x={folder}/images.npy", "--no-shuffle", "--steps", 1, "--lr", RATE, "--save", folder / "twice.ckpt")
    small = np.float64(x).reshape(BATCH, 2, 2, 2, 2, 2).mean((3, 5))
    values = [np.concatenate([np.float64(x)[:, c].ravel(), small[:, c].ravel(), small[:, c].ravel()]) for c in range(2)]
    expected = {"mean": [each.mean() for each in values], "variance": [each.var(ddof=1) for each in values]}
    arrays = {}
    for path in (folder / "twice.ckpt").glob("*/*.safetensors"):
        arrays.update(running_statistics.read_safetensors(path))
    for what, of_step in expected.items():
        want = MOMENTUM * tensors[what] + (1 - MOMENTUM) * np.array(of_step)
        if not np.allclose(arrays[what], want, rtol=1e-5):
            sys.exit(f"twice: running {what} {arrays[what]}, expected {want}")
    print("twice: running statistics as in numpy")


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
    check_two_values(folder, random)


if __name__ == "__main__":
    main()
