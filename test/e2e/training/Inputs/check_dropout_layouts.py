"""Trains models with dropout in every layout of 8 samples: the same numbers are dropped, wherever the samples lie.

  check_dropout_layouts.py FOLDER
"""
import json
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper

SAMPLES, FEATURES, CLASSES, STEPS = 8, 6, 3, 2
LAYOUTS = [(8, 1, 1), (4, 2, 1), (1, 8, 1), (2, 2, 2)]  # bound batch, micro-batches, ranks


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, [outputs] if isinstance(outputs, str) else outputs, **attributes)


def dropped(source, target):
    return [node("Constant", [], target + ".rate", value_float=0.5),
            node("Constant", [], target + ".training", value=helper.make_tensor("t", TensorProto.BOOL, [], [True])),
            node("Dropout", [source, target + ".rate", target + ".training"], target)]


def shaped(source, target, shape):
    return [node("Constant", [], target + ".shape", value_ints=shape), node("Reshape", [source, target + ".shape"], target)]


# The nodes that make `y` of x and w.
MODELS = {
    "samples-first": dropped("x", "a") + [node("MatMul", ["a", "w"], "y")],
    "features-first": [node("Transpose", ["x"], "xt", perm=[1, 0]), *dropped("xt", "at"), node("Transpose", ["at"], "a", perm=[1, 0]),
                       node("MatMul", ["a", "w"], "y")],
    "sequence-first": shaped("x", "x3", [-1, 3, 2]) + [node("Transpose", ["x3"], "xs", perm=[1, 0, 2]), *dropped("xs", "ds"),
                      node("Transpose", ["ds"], "db", perm=[1, 0, 2])] + shaped("db", "a", [-1, 6]) + [node("MatMul", ["a", "w"], "y")],
    "sequence-flat": shaped("x", "x3", [-1, 3, 2]) + [node("Transpose", ["x3"], "xs", perm=[1, 0, 2])] + shaped("xs", "xf", [-1, 2]) + dropped("xf", "df")
                     + shaped("df", "d3", [3, -1, 2]) + [node("Transpose", ["d3"], "db", perm=[1, 0, 2])] + shaped("db", "a", [-1, 6]) + [node("MatMul", ["a", "w"], "y")],
    "joined-samples": [node("Tanh", ["x"], "u"), node("Concat", ["x", "u"], "c", axis=0), *dropped("c", "cd"), node("Split", ["cd"], ["p", "r"], axis=0, num_outputs=2),
                       node("Add", ["p", "r"], "a"), node("MatMul", ["a", "w"], "y")],
    "cut-samples": [node("Tanh", ["x"], "u"), node("Concat", ["x", "u", "x"], "c", axis=0), node("Split", ["c"], ["p", "m", "r"], axis=0, num_outputs=3),
                    *dropped("m", "md"), node("Add", ["p", "md"], "e"), node("Sub", ["e", "r"], "a"), node("MatMul", ["a", "w"], "y")],
    "sequence-joined": shaped("x", "x3", [-1, 3, 2]) + [node("Transpose", ["x3"], "xs", perm=[1, 0, 2]), node("Tanh", ["xs"], "u"), node("Concat", ["xs", "u"], "c", axis=1)]
                       + shaped("c", "cf", [-1, 2]) + dropped("cf", "df") + shaped("df", "d3", [3, -1, 2])
                       + [node("Split", ["d3"], ["p", "r"], axis=1, num_outputs=2), node("Add", ["p", "r"], "ds"), node("Transpose", ["ds"], "db", perm=[1, 0, 2])]
                       + shaped("db", "a", [-1, 6]) + [node("MatMul", ["a", "w"], "y")],
    "joined-weights": dropped("v", "vd") + [
        node("Concat", ["vd", "x"], "c", axis=0), node("Constant", [], "zero", value_ints=[0]), node("Constant", [], "rows", value_ints=[SAMPLES]),
        node("Constant", [], "end", value_ints=[1 << 40]), node("Slice", ["c", "zero", "rows"], "p"), node("Slice", ["c", "rows", "end"], "r"),
        node("ReduceSum", ["p", "zero"], "m"), node("Add", ["r", "m"], "a"), node("MatMul", ["a", "w"], "y")],
    "weights": dropped("w", "wd") + [node("MatMul", ["x", "wd"], "y")],
}


def build(nodes, weights, path):
    loss = [node("Sub", ["y", "t"], "d"), node("Mul", ["d", "d"], "q"), node("ReduceMean", ["q"], "loss", keepdims=0)]
    info = helper.make_tensor_value_info
    latent = [helper.make_tensor("v", TensorProto.FLOAT, [SAMPLES, FEATURES], numpy.linspace(-1, 1, SAMPLES * FEATURES))
              for used in [any("v" in n.input for n in nodes)] if used]
    graph = helper.make_graph([*nodes, *loss], "dropout", [info("x", TensorProto.FLOAT, ["batch", FEATURES]), info("t", TensorProto.FLOAT, ["batch", CLASSES])],
                              [info("loss", TensorProto.FLOAT, [])], [helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel()), *latent])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")


def trained(folder, model, layout):
    batch, micro, ranks = layout
    program = folder / f"{model.stem}-{batch}-{micro}-{ranks}"
    mesh = ["--mesh", f"dp={ranks}"] if ranks > 1 else []
    run(["cleave", "compile", model, "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", f"batch={batch}",
         "--micro-batches", micro, *mesh])
    metrics = folder / "metrics.json"
    metrics.unlink(missing_ok=True)
    run([program, "train", "--data", f"x={folder}/x.npy", "--data", f"t={folder}/t.npy", "--no-shuffle", "--steps", STEPS, "--lr", 0.1,
         "--metrics", metrics])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return [[row["loss"], row["grad_norm"]] for row in rows if "loss" in row]


def main():
    folder = pathlib.Path(sys.argv[1])
    random = numpy.random.default_rng(0)
    weights = random.normal(size=(FEATURES, CLASSES)).astype(numpy.float32)
    numpy.save(folder / "x.npy", random.normal(size=(SAMPLES * STEPS, FEATURES)).astype(numpy.float32))
    numpy.save(folder / "t.npy", random.normal(size=(SAMPLES * STEPS, CLASSES)).astype(numpy.float32))
    failed = 0
    for name, nodes in MODELS.items():
        model = folder / f"{name}.onnx"
        build(nodes, weights, model)
        results = [trained(folder, model, layout) for layout in LAYOUTS]
        for layout, result in zip(LAYOUTS, results):
            if len(result) != STEPS or not numpy.allclose(result, results[0], rtol=1e-5):
                print(f"{name}, batch x micro-batches x ranks = {layout}: {result}, expected {results[0]}")
                failed += 1
    if failed:
        sys.exit(f"{failed} layouts differ")


main()
