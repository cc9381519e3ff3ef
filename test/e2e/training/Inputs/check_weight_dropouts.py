"""Dropouts of weights, next to random numbers of samples: check_weight_dropouts.py FOLDER

The first losses of a training are the same for one batch of 8 samples, for micro-batches of 2, and for micro-batches of 1."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH, WIDTH = 8, 3
WORDS = 2  # as many as a micro-batch has samples, so that some values have the shape of others
node = helper.make_node


def constant(name, value):
    return node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def dropout(value, result):
    return node("Dropout", [value, "p", "t"], [result])


def loss_from(value):
    return [node("Sub", [value, "y"], ["d"]), node("Mul", ["d", "d"], ["e"]), node("ReduceMean", ["e"], ["loss"], keepdims=0)]


DROP = [constant("p", np.float32(0.5)), constant("t", True)]
ROWS = [*DROP, constant("rows", np.int64([WORDS, 1])), node("ConstantOfShape", ["rows"], ["ones"], value=numpy_helper.from_array(np.ones(1, "f4"))),
        dropout("ones", "mask")]
MODELS = {  # whose parameter w is [WORDS, WIDTH]
    # Of whole rows of an embedding (AWD-LSTM).
    "rows": [*ROWS, node("Mul", ["mask", "w"], ["mw"]), node("Gather", ["mw", "k"], ["h"], axis=0), *loss_from("h")],
    # Of a weight that has the shape of the samples, which have a dropout of the same rate.
    "same shape": [*DROP, dropout("x", "dx"), dropout("w", "dw"), node("Transpose", ["dw"], ["dt"], perm=[1, 0]), node("MatMul", ["dx", "dt"], ["g"]),
                   node("ReduceSum", ["g", "last"], ["h"], keepdims=1), *loss_from("h")],
    # Of some rows of a weight, which has not twice as many.
    "first rows": [*DROP, constant("begin", np.int64([0])), constant("end", np.int64([WORDS])), node("Slice", ["longer", "begin", "end"], ["part"]),
                   dropout("part", "mw"), node("Gather", ["mw", "k"], ["h"], axis=0), *loss_from("h")],
    # Of rows that do not begin at a multiple of their number, turned.
    "later rows": [*DROP, constant("begin", np.int64([1])), constant("end", np.int64([1 + WORDS])), node("Slice", ["longer", "begin", "end"], ["part"]),
                   node("Transpose", ["part"], ["turned"], perm=[1, 0]), dropout("turned", "mt"), node("Transpose", ["mt"], ["mw"], perm=[1, 0]),
                   node("Gather", ["mw", "k"], ["h"], axis=0), *loss_from("h")],
    # Factorized noise (NoisyNet): an outer product of two vectors, times a weight.
    "outer product": [constant("low", np.zeros((WORDS, 1), "f4")), constant("wide", np.zeros((1, WIDTH), "f4")), node("RandomNormalLike", ["low"], ["a"]),
                      node("RandomNormalLike", ["wide"], ["b"]), node("Mul", ["a", "b"], ["noise"]), node("Mul", ["noise", "w"], ["mw"]),
                      node("Gather", ["mw", "k"], ["h"], axis=0), *loss_from("h")],
    # Numbers of each sample, that only their shape says, beside a weight of this shape; both are multiplied by one parameter.
    "latents": [node("Shape", ["x"], ["size"]), node("ConstantOfShape", ["size"], ["zeros"]), node("RandomUniformLike", ["zeros"], ["u"]),
                node("Mul", ["u", "scale"], ["z"]), node("Mul", ["w", "scale"], ["v"]), node("Transpose", ["v"], ["vt"], perm=[1, 0]),
                node("MatMul", ["z", "vt"], ["g"]), node("ReduceSum", ["g", "last"], ["h"], keepdims=1), *loss_from("h")]}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def save(path, nodes, random):
    shapes = {"x": (TensorProto.FLOAT, ["batch", WIDTH]), "y": (TensorProto.FLOAT, ["batch", WIDTH]), "k": (TensorProto.INT64, ["batch"])}
    weights = {"w": random.normal(size=(WORDS, WIDTH)).astype("f4"), "scale": np.float32(2), "last": np.int64([1]),
               "longer": random.normal(size=(WORDS + 1, WIDTH)).astype("f4")}
    used = {name for one in nodes for name in one.input}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, *shape) for name, shape in shapes.items() if name in used],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(value, name) for name, value in weights.items() if name in used])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return [name for name in shapes if name in used]


def losses(folder, inputs, batch, seed):
    (folder / "metrics").unlink(missing_ok=True)
    files = [part for name in inputs for part in ("--data", f"{name}={folder}/{name}.npy")]
    run(folder / f"p{batch}", "train", "--no-shuffle", "--steps", 2, "--lr", 0, "--seed", seed, *files, "--metrics", folder / "metrics")
    return [json.loads(line)["loss"] for line in (folder / "metrics").read_text().splitlines() if '"loss"' in line]


def main():
    folder, random = pathlib.Path(sys.argv[1]), np.random.default_rng(0)
    data = {"x": random.normal(size=(2 * BATCH, WIDTH)).astype("f4"), "y": random.normal(size=(2 * BATCH, WIDTH)).astype("f4"),
            "k": random.integers(0, WORDS, 2 * BATCH)}
    for name, array in data.items():
        np.save(folder / f"{name}.npy", array)
    count = failures = 0
    for name, nodes in MODELS.items():
        inputs = save(folder / "m.onnx", nodes, random)
        for batch in (8, 2, 1):
            run("cleave", "compile", folder / "m.onnx", "-o", folder / f"p{batch}", "--train", "--loss-output", "loss", "--optimizer", "sgd",
                "--dim", f"batch={batch}", "--micro-batches", BATCH // batch)
        for seed in (1, 2, 3):
            found = {batch: losses(folder, inputs, batch, seed) for batch in (8, 2, 1)}
            for batch in (8, 2, 1):
                count += 1
                if not np.allclose(found[batch], found[8], rtol=1e-5) or found[8][0] == found[8][1]:
                    failures += 1
                    print(f"{name}, seed {seed}: batches of {batch} have {found[batch]}, one batch {found[8]}")
    print(f"{count} losses, {failures} failures")


main()
