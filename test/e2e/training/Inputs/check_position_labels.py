"""A contrastive loss, whose labels are positions in the batch: some do not count, and each micro-batch and rank has its own number of those that do.

  check_position_labels.py FOLDER

The loss is the mean over all labels that count, each of which is compared with the samples of its own micro-batch and rank. It is written in four
forms, which must have the same loss, gradient (by differences in float64) and evaluation.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

BATCH, WIDTH, DEPTH, IGNORED = 8, 6, 5, -100
KEEP = {"some": [1, 1, 0, 0, 1, 1, 1, 0], "none of a micro-batch": [0, 0, 0, 0, 1, 1, 1, 0]}
CHUNKS = {"": [[0, 1, 2, 3], [4, 5, 6, 7]], "dp=2": [[0, 1, 4, 5], [2, 3, 6, 7]]}  # micro-batch 1 of each rank, then micro-batch 2


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def constant(name, value):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], **attributes)


def by_formula(kind):
    """The mean of -log_softmax at the positions, over the labels that are not IGNORED, by the given way to find these."""
    found = {"equal": [node("Equal", ["y", "ignored"], "is.ignored"), node("Not", ["is.ignored"], "counts")],
             "mask": [node("Identity", ["keep"], "counts")]}[kind]
    return [*found, node("LogSoftmax", ["s"], "p", axis=1), constant("last", np.int64([1])), node("Unsqueeze", ["positions", "last"], "at"),
            node("GatherElements", ["p", "at"], "picked", axis=1), node("Squeeze", ["picked", "last"], "each"), node("Neg", ["each"], "e"),
            node("Cast", ["counts"], "m", to=TensorProto.FLOAT), node("Mul", ["e", "m"], "em"), node("ReduceSum", ["em"], "sum", keepdims=0),
            node("ReduceSum", ["m"], "count", keepdims=0), node("Div", ["sum", "count"], "loss")]


FORMS = {
    "ignore_index": [node("SoftmaxCrossEntropyLoss", ["s", "y"], "loss", reduction="mean", ignore_index=IGNORED)],
    "ignore_index, wider": [node("Cast", ["positions"], "at32", to=TensorProto.INT32), constant("ignored32", np.int32(IGNORED)),
                            node("Where", ["keep", "at32", "ignored32"], "y32"), node("Cast", ["y32"], "y64", to=TensorProto.INT64),
                            node("SoftmaxCrossEntropyLoss", ["s", "y64"], "loss", reduction="mean", ignore_index=IGNORED)],
    "equal": by_formula("equal"), "mask": by_formula("mask"),
}


def save(path, form, w):
    nodes = [node("MatMul", ["x", "w"], "h"), node("Transpose", ["t"], "tt", perm=[1, 0]), node("MatMul", ["h", "tt"], "s"),
             constant("half", np.float32(0.5)), node("Greater", ["k", "half"], "keep"), constant("ignored", np.int64(IGNORED)),
             helper.make_node("Shape", ["x"], ["size"], start=0, end=1), node("Squeeze", ["size"], "n"), constant("zero", np.int64(0)),
             constant("one", np.int64(1)), node("Range", ["zero", "n", "one"], "positions"), node("Where", ["keep", "positions", "ignored"], "y"), *form]
    inputs = {"x": ["batch", WIDTH], "t": ["batch", DEPTH], "k": ["batch"]}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def loss_of(w, data, chunks):
    total = 0.0
    for chunk in chunks:
        x, t, k = (data[name][chunk].astype("f8") for name in "xtk")
        s = x @ w @ t.T
        total += ((np.log(np.exp(s).sum(1)) - np.diag(s)) * k).sum()
    return total / data["k"].sum()


def gradient_of(w, data, chunks):
    result, step = np.zeros_like(w), 1e-6
    for at in np.ndindex(*w.shape):
        d = np.zeros_like(w)
        d[at] = step
        result[at] = (loss_of(w + d, data, chunks) - loss_of(w - d, data, chunks)) / (2 * step)
    return result


def check(folder, name, form, mesh, data, w):
    save(folder / "m.onnx", form, w)
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "p", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--global-batch", BATCH,
        "--micro-batches", 2, *(["--mesh", mesh] if mesh else []))
    files = [part for key in data for part in ("--data", f"{key}={folder}/{key}.npy")]
    (folder / "metrics").unlink(missing_ok=True)
    run(folder / "p", "train", "--no-shuffle", "--steps", 1, "--lr", 1, *files, "--save", folder / "saved", "--metrics", folder / "metrics")
    loss = json.loads((folder / "metrics").read_text().splitlines()[0])["loss"]
    gradient = w - read_states(folder / "saved")["w"]
    w, chunks = w.astype("f8"), CHUNKS[mesh]
    want, slope = loss_of(w, data, chunks), gradient_of(w, data, chunks)
    said = run(folder / "p", "evaluate", *files).split()
    evaluated, whole = float(said[said.index("loss") + 1]), loss_of(w, data, CHUNKS[""])
    good = loss is not None and abs(loss - want) < 1e-5 and np.abs(gradient - slope).max() < 1e-5 and abs(evaluated - whole) < 1e-5
    if not good:
        print(f"{name}, mesh '{mesh}': loss {loss}, expected {want}; gradient off by {np.abs(gradient - slope).max():.1e}; "
              f"evaluation {evaluated}, expected {whole}")
    return good


def main():
    folder, random = pathlib.Path(sys.argv[1]), np.random.default_rng(0)
    w = random.normal(0, 0.7, (WIDTH, DEPTH)).astype("f4")
    data = {"x": random.normal(size=(BATCH, WIDTH)).astype("f4"), "t": random.normal(size=(BATCH, DEPTH)).astype("f4")}
    results = []
    for keep in KEEP.values():
        data["k"] = np.float32(keep)
        for name, array in data.items():
            np.save(folder / f"{name}.npy", array)
        results += [check(folder, name, form, mesh, data, w) for name, form in FORMS.items() for mesh in CHUNKS]
    print(f"{len(results)} checks, {results.count(False)} failures")


main()
