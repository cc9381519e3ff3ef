"""Weights that are standardized in each step (NFNets), as torch.export writes them: BatchNormalization by the mean and the variance that the graph
computes of the same weights. One step of training and the evaluation after it, against numpy in float64 with gradients by central differences.

  check_standardized_weights.py FOLDER

The node's dimension 0 holds no samples, so that data ranks and micro-batches make no groups of it, and an evaluation has no running statistics.
"""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

BATCH, WIDTH, UNITS, RATE, EPSILON = 8, 5, 6, 0.5, 1e-5
LAYOUTS = {"one": [], "dp2": ["--mesh", "dp=2"], "sync": ["--mesh", "dp=2", "--batch-norm", "sync"], "fsdp2": ["--mesh", "fsdp=2"],
           "micro2": ["--micro-batches", "2"], "pp2": ["--mesh", "pp=2", "--micro-batches", "2"]}


def save(path, weights):
    constants = {"rows": np.int64([1, UNITS, WIDTH]), "back": np.int64([UNITS, WIDTH]), "axes": np.int64([0, 2]), "column": np.int64([1, UNITS, 1])}
    nodes = [("Reshape", ["v", "rows"], "r", {}), ("ReduceMean", ["r", "axes"], "mean", {"keepdims": 0}), ("Reshape", ["mean", "column"], "m", {}),
             ("Sub", ["r", "m"], "c", {}), ("Mul", ["c", "c"], "s", {}), ("ReduceMean", ["s", "axes"], "variance", {"keepdims": 0}),
             ("BatchNormalization", ["r", "gain", "shift", "mean", "variance"], "n", {"epsilon": EPSILON, "momentum": 1.0}),
             ("Reshape", ["n", "back"], "w", {}), ("Transpose", ["w"], "t", {"perm": [1, 0]}), ("MatMul", ["x", "t"], "h", {}), ("Tanh", ["h"], "y", {}),
             ("Sub", ["y", "target"], "d", {}), ("Mul", ["d", "d"], "q", {}), ("ReduceMean", ["q"], "loss", {"keepdims": 0})]
    info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([helper.make_node(operator, inputs, [output], **attributes) for operator, inputs, output, attributes in nodes], "g",
                              [info("x", ["batch", WIDTH]), info("target", ["batch", UNITS])], [info("loss", [])],
                              [numpy_helper.from_array(array, name) for name, array in {**weights, **constants}.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def loss_of(x, target, v, gain, shift):
    mean, variance = v.mean(1, keepdims=True), v.var(1, keepdims=True)
    w = (v - mean) / np.sqrt(variance + EPSILON) * gain[:, None] + shift[:, None]
    return ((np.tanh(x @ w.T) - target) ** 2).mean()


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main():
    folder, random = pathlib.Path(sys.argv[1]), np.random.default_rng(8)
    weights = {"v": random.normal(0.5, 2, (UNITS, WIDTH)).astype("f4"), "gain": random.normal(1, 0.3, UNITS).astype("f4"), "shift": random.normal(size=UNITS).astype("f4")}
    arrays = {"x": random.normal(size=(BATCH, WIDTH)).astype("f4"), "target": random.normal(size=(BATCH, UNITS)).astype("f4")}
    save(folder / "m.onnx", weights)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    data = [part for name in arrays for part in ("--data", f"{name}={folder}/{name}.npy")]
    x, target, exact = *map(np.float64, arrays.values()), {name: np.float64(array) for name, array in weights.items()}
    after = {}
    for name, array in exact.items():
        slope = np.zeros(array.shape)
        for index in np.ndindex(*array.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = array.copy()
                moved[index] += step
                ends.append(loss_of(x, target, **{**exact, name: moved}))
            slope[index] = (ends[0] - ends[1]) / 2e-6
        after[name] = array - RATE * slope
    right, wrong = loss_of(x, target, **after), 0
    for layout, options in LAYOUTS.items():
        program = folder / f"p-{layout}"
        run("cleave", "compile", folder / "m.onnx", "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--global-batch", BATCH, *options)
        run(program, "train", "--no-shuffle", "--steps", "1", "--lr", RATE, *data, "--save", folder / layout, "--checkpoint", "full")
        states = read_states(folder / layout)
        for name, expected in after.items():
            difference = np.abs(states[name] - expected).max()
            if not difference < 2e-6:
                wrong += 1
                print(f"{layout}: {name} is off by {difference}; it has moved by {np.abs(expected - exact[name]).max()}")
        said = run(program, "evaluate", *data, "--weights", next((folder / layout).glob("step-*")))
        found = float(re.search(r"loss (\S+)", said)[1])
        if not abs(found - right) < 1e-4:
            wrong += 1
            print(f"{layout}: evaluated to {found}, expected {right}")
    print(f"{len(LAYOUTS)} layouts, {wrong} wrong")
    sys.exit(wrong != 0)


main()
