"""padded_products.py BUILD FOLDER    Trains a classifier of 1029 classes in 16 bits, on the host and on the emulated CUDA device.

There its large products have rows of 1032 elements (pad-products), forward and backward. Losses and norms of the gradients agree within
the rounding of the type, for two steps on two batches."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

build, folder = (pathlib.Path(a) for a in sys.argv[1:3])
BATCH, INPUTS, WIDTH, CLASSES = 1028, 64, 516, 1029  # 2 * 1028 * 516 * 1029 operations are a large product
BOUNDS = {"bf16": 1e-4, "fp16": 1e-5}


def run(*command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=emulated.environment(build), check=False)
    if result.returncode:
        sys.exit(f"{command}: {result.stdout[-500:]}{result.stderr[-1500:]}")


def write_model(rng):
    weights = {"w1": rng.standard_normal((INPUTS, WIDTH)) / 8, "w2": rng.standard_normal((WIDTH, CLASSES)) / 20, "b": rng.standard_normal(CLASSES) / 10}
    nodes = [helper.make_node(op, inputs.split(), [output]) for op, inputs, output in (
        ("MatMul", "x w1", "a"), ("Tanh", "a", "t"), ("MatMul", "t w2", "p"), ("Add", "p b", "logits"), ("SoftmaxCrossEntropyLoss", "logits labels", "loss"))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", INPUTS]),
                                           helper.make_tensor_value_info("labels", TensorProto.INT64, ["batch"])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    np.save(folder / "x.npy", rng.standard_normal((2 * BATCH, INPUTS)).astype(np.float32))
    np.save(folder / "labels.npy", rng.integers(0, CLASSES, 2 * BATCH))


def train(precision, target):
    """Loss and norm of each step."""
    compile_ = ["cleave", "compile", folder / "m.onnx", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--global-batch", BATCH,
                "--precision", precision, "--target", target]
    run(*compile_, "-o", folder / "p")
    run(*compile_, "--stop-after", "step", "-o", folder / f"{target[:4]}.mlir")
    run(folder / "p", "train", "--data", f"x={folder / 'x.npy'}", "--data", f"labels={folder / 'labels.npy'}", "--no-shuffle", "--steps", "4",
        "--lr", "0.5", "--metrics", folder / "m.json")
    rows = [row for row in map(json.loads, (folder / "m.json").read_text().splitlines()) if "loss" in row]
    return np.array([(row["loss"], row["grad_norm"]) for row in rows])


write_model(np.random.default_rng(0))
for precision, bound in BOUNDS.items():
    host, gpu = train(precision, "host"), train(precision, "cuda:sm_90")
    apart = np.abs(gpu / host - 1).max()
    is_padded = [f"x{CLASSES + 3}x" in (folder / f"{name}.mlir").read_text() for name in ("host", "cuda")]
    if is_padded != [False, True] or not apart <= bound:
        sys.exit(f"{precision}: padded on host and device: {is_padded}; losses and norms {apart:.1e} apart:\n{host}\n{gpu}")
    print(f"{precision}: products of {CLASSES + 3} columns, losses and norms {apart:.1e} apart")
