"""Scatters whose indices repeat, and gradients of gathers, on 1, 2 and 4 threads: every byte of results and of state is the same.

Sums of floating-point numbers depend on their order, so threads must not add to one place in the order in which they come.

  check_scatter_threads.py FOLDER
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH, UPDATES = 97, 64, 6000
THREADS = [1, 2, 4]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def constants(random):
    rows = random.integers(0, ROWS, (UPDATES, 1))
    return {"rows": rows, "columns": random.integers(0, ROWS, (UPDATES, WIDTH)), "flat": rows[:, 0],
            "pairs": np.concatenate([rows, random.integers(0, WIDTH, (UPDATES, 1))], 1), "one": np.int64([0])}


def nodes():
    """From x [UPDATES, WIDTH] and the table w [ROWS, WIDTH]."""
    yield helper.make_node("ScatterND", ["w", "rows", "x"], ["nd"], reduction="add")
    yield helper.make_node("ScatterElements", ["w", "columns", "x"], ["elements"], axis=0, reduction="add")
    yield helper.make_node("ScatterElements", ["w", "columns", "x"], ["product"], axis=0, reduction="max")
    yield helper.make_node("Gather", ["w", "flat"], ["looked"])
    yield helper.make_node("Mul", ["looked", "x"], ["weighed"])
    yield helper.make_node("GatherElements", ["w", "columns"], ["picked"], axis=0)
    yield helper.make_node("Mul", ["picked", "x"], ["chosen"])
    yield helper.make_node("GatherND", ["w", "pairs"], ["points"])
    yield helper.make_node("Sin", ["points"], ["waves"])


def save(path, outputs, train):
    random = np.random.default_rng(11)
    made = list(nodes())
    if train:
        made += [helper.make_node("ReduceMean", [name], [f"{name}.mean"], keepdims=0) for name in outputs]
        made.append(helper.make_node("Sum", [f"{name}.mean" for name in outputs], ["loss"]))
        outputs = ["loss"]
    for name, value in constants(random).items():
        made.insert(0, helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value))))
    table = numpy_helper.from_array(random.standard_normal((ROWS, WIDTH)).astype("f4"), "w")
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [UPDATES, WIDTH])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    x = random.standard_normal((UPDATES, WIDTH)).astype("f4")
    np.save(path.parent / "x.npy", x)


def contents(folder, pattern):
    return {path.name: path.read_bytes() for path in sorted(folder.rglob(pattern))}


def compare(what, found):
    first = found[0]
    if not first:
        sys.exit(f"{what}: nothing was written")
    for threads, other in zip(THREADS[1:], found[1:], strict=True):
        for name in first:
            if first[name] != other[name]:
                sys.exit(f"{what}: {name} is another one on {threads} threads than on 1")


def main():
    folder = pathlib.Path(sys.argv[1])
    outputs = ["nd", "elements", "product", "weighed", "chosen", "waves"]
    save(folder / "infer.onnx", outputs, train=False)
    save(folder / "train.onnx", outputs, train=True)
    run("cleave", "compile", folder / "infer.onnx", "-o", folder / "infer")
    run("cleave", "compile", folder / "train.onnx", "-o", folder / "train", "--train", "--loss-output", "loss", "--optimizer", "sgd")
    results, states = [], []
    for threads in THREADS:
        at = folder / f"threads-{threads}"
        at.mkdir()
        run(folder / "infer", "infer", "--threads", threads, "--input", f"x={folder}/x.npy",
            *[part for name in outputs for part in ("--output", f"{name}={at}/{name}.npy")])
        results.append(contents(at, "*.npy"))
        run(folder / "train", "train", "--threads", threads, "--no-shuffle", "--steps", 2, "--lr", 0.5, "--data", f"x={folder}/x.npy",
            "--save", at / "saved")
        states.append(contents(at / "saved", "*.safetensors"))
    compare("inference", results)
    compare("training", states)
    print(f"{len(results[0])} results and {len(states[0])} states on {len(THREADS)} numbers of threads")


if __name__ == "__main__":
    main()
