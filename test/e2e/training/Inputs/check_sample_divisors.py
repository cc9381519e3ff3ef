"""Losses with divisors that belong to one sample, that are negative, or that grow with the batch: check_sample_divisors.py FOLDER

Each loss is that of all samples of a step, in float64, whatever micro-batches and ranks they are computed in; so are the gradients (by
differences) and the evaluation."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

STEP, ALL, WIDTH, DEPTH = 4, 8, 3, 5
LAYOUTS = {"one batch": ["--dim", "batch=4"], "two": ["--dim", "batch=2", "--micro-batches", "2"], "single": ["--dim", "batch=1", "--micro-batches", "4"],
           "ranks": ["--dim", "batch=1", "--micro-batches", "2", "--mesh", "dp=2"]}
node = helper.make_node


def squares(p, y):
    return (p - y) ** 2


# By name: the nodes from the squared differences e [batch, DEPTH] and a mask or weight m [batch, DEPTH] to the loss, and the formula.
LOSSES = {
    "ratio of a sample's sums": (
        [node("Mul", ["e", "m"], ["em"]), node("ReduceSum", ["em", "last"], ["s"], keepdims=0), node("ReduceSum", ["m", "last"], ["n"], keepdims=0),
         node("Div", ["s", "n"], ["each"]), node("ReduceMean", ["each"], ["loss"], keepdims=0)],
        lambda e, m: ((e * m).sum(1) / m.sum(1)).mean()),
    "a sample's weights": (
        [node("ReduceSum", ["m", "last"], ["n"], keepdims=1), node("Div", ["m", "n"], ["weights"]), node("Mul", ["e", "weights"], ["ew"]),
         node("ReduceSum", ["ew", "last"], ["each"], keepdims=0), node("ReduceMean", ["each"], ["loss"], keepdims=0)],
        lambda e, m: (e * m / m.sum(1, keepdims=True)).sum(1).mean()),
    "the sum of a sample's means": (
        [node("Mul", ["e", "m"], ["em"]), node("ReduceSum", ["em", "last"], ["s"], keepdims=0), node("ReduceSum", ["m", "last"], ["n"], keepdims=0),
         node("Div", ["s", "n"], ["each"]), node("ReduceSum", ["each"], ["loss"], keepdims=0)],
        lambda e, m: ((e * m).sum(1) / m.sum(1)).sum()),
    "a negative count": (
        [node("Mul", ["e", "m"], ["em"]), node("Neg", ["em"], ["less"]), node("ReduceSum", ["less"], ["s"], keepdims=0),
         node("ReduceSum", ["m"], ["count"], keepdims=0), node("Neg", ["count"], ["n"]), node("Div", ["s", "n"], ["loss"])],
        lambda e, m: (-e * m).sum() / -m.sum()),
    "a count and a part of the batch": (
        [node("Mul", ["e", "m"], ["em"]), node("ReduceSum", ["em"], ["s"], keepdims=0), node("ReduceSum", ["m"], ["count"], keepdims=0),
         node("Constant", [], ["tenth"], value_float=0.1), node("Shape", ["e"], ["size"], start=0, end=1), node("Squeeze", ["size"], ["b"]), node("Cast", ["b"], ["bf"], to=TensorProto.FLOAT),
         node("Mul", ["bf", "tenth"], ["part"]), node("Add", ["count", "part"], ["n"]), node("Div", ["s", "n"], ["loss"])],
        lambda e, m: (e * m).sum() / (m.sum() + 0.1 * len(m)))}
GROWS = {"a count and a part of the batch": ["two", "single", "ranks"]}  # where such a loss is refused
SUMS = {"the sum of a sample's means"}


def run(*command, fails=False):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if bool(done.returncode) != fails:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def save(path, nodes, w):
    shapes = {"x": ["batch", WIDTH], "y": ["batch", DEPTH], "m": ["batch", DEPTH]}
    first = [node("MatMul", ["x", "w"], ["p"]), node("Sub", ["p", "y"], ["d"]), node("Mul", ["d", "d"], ["e"])]
    constants = [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.int64([1]), "last")]
    used = {name for one in nodes for name in one.input}
    graph = helper.make_graph([*first, *nodes], "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [c for c in constants if c.name == "w" or c.name in used])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def loss_of(formula, w, data, samples):
    x, y, m = (data[name][samples].astype("f8") for name in "xym")
    return formula(squares(x @ w, y), m)


def gradient_of(formula, w, data, samples):
    result = np.zeros_like(w)
    for at in np.ndindex(*w.shape):
        d = np.zeros_like(w)
        d[at] = 1e-6
        result[at] = (loss_of(formula, w + d, data, samples) - loss_of(formula, w - d, data, samples)) / 2e-6
    return result


def check(folder, name, layout, data, w):
    nodes, formula = LOSSES[name]
    save(folder / "m.onnx", nodes, w)
    compile_ = ["cleave", "compile", folder / "m.onnx", "-o", folder / "p", "--train", "--loss-output", "loss", "--optimizer", "sgd", *LAYOUTS[layout]]
    if layout in GROWS.get(name, []):
        said = run(*compile_, fails=True)
        return "is unknown; use --micro-batches 1" in said or print(f"{name}, {layout}: not refused, or not well: {said}")
    run(*compile_)
    files = [part for key in data for part in ("--data", f"{key}={folder}/{key}.npy")]
    (folder / "metrics").unlink(missing_ok=True)
    run(folder / "p", "train", "--no-shuffle", "--steps", 1, "--lr", 1, "--clip-grad-norm", "1e6", *files, "--save", folder / "saved",
        "--metrics", folder / "metrics")
    told = json.loads((folder / "metrics").read_text().splitlines()[0])
    gradient, wide = w - read_states(folder / "saved")["w"], w.astype("f8")
    step = slice(0, STEP)
    want, slope = loss_of(formula, wide, data, step), gradient_of(formula, wide, data, step)
    said = run(folder / "p", "evaluate", *files).split()
    evaluated = float(said[said.index("loss") + 1])
    batch = int(LAYOUTS[layout][1].removeprefix("batch=")) * (2 if layout == "ranks" else 1)
    batches = [loss_of(formula, wide, data, slice(i, i + batch)) for i in range(0, ALL, batch)]
    whole = loss_of(formula, wide, data, slice(0, ALL)) if name == "a negative count" else np.mean(batches)
    if name in SUMS:  # that of a global batch
        whole = np.mean([loss_of(formula, wide, data, slice(i, i + STEP)) for i in range(0, ALL, STEP)])
    off = {"loss": told["loss"] - want, "gradient": np.abs(gradient - slope).max(), "norm": told["grad_norm"] - np.linalg.norm(slope), "evaluation": evaluated - whole}
    wrong = {what: value for what, value in off.items() if not abs(value) < 1e-5 * max(1, abs(want))}
    if wrong:
        print(f"{name}, {layout}: off by {wrong}")
    return not wrong


def main():
    folder, random = pathlib.Path(sys.argv[1]), np.random.default_rng(0)
    w = random.normal(0, 0.7, (WIDTH, DEPTH)).astype("f4")
    data = {"x": random.normal(size=(ALL, WIDTH)).astype("f4"), "y": random.normal(size=(ALL, DEPTH)).astype("f4"),
            "m": random.uniform(0.1, 2, (ALL, DEPTH)).astype("f4")}
    for name, array in data.items():
        np.save(folder / f"{name}.npy", array)
    results = [check(folder, name, layout, data, w) for name in LOSSES for layout in LAYOUTS]
    print(f"{len(results)} checks, {len(results) - results.count(True)} failures")


main()
