"""Operators in narrow precision, between two products, where their own inner values could leave fp16's range although no result does.

  check_half_range.py FOLDER

Values of several users are rounded to the narrow type (apply-precision). Each operator gets all of [-200, 200], and must give onnxruntime's
f32 numbers within a few roundings of the type.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ONE = ["Mish", "Softplus", "Elu", "Selu", "Celu", "HardSwish", "HardSigmoid", "Softsign", "Tanh", "Sigmoid", "Erf", "Atan", "Asinh", "LeakyRelu", "Gelu"]
OPERATORS = {name: (name, {}) for name in ONE} | {
    "GeluTanh": ("Gelu", {"approximate": "tanh"}), "LpNormalization": ("LpNormalization", {"axis": -1}), "LogSoftmax": ("LogSoftmax", {"axis": -1}),
    "MeanVarianceNormalization": ("MeanVarianceNormalization", {"axes": [1]})}
UNITS = {"bf16": 2.0**-8, "fp16": 2.0**-11}
SIZE = 161


def save(path):
    nodes = [helper.make_node("Mul", ["x", "one"], ["h"])]
    for name, (kind, attributes) in OPERATORS.items():
        nodes += [helper.make_node(kind, ["h"], [f"{name}.value"], **attributes), helper.make_node("MatMul", [f"{name}.value", "same"], [name])]
    weights = [numpy_helper.from_array(np.ones(SIZE, "f4"), "one"), numpy_helper.from_array(np.eye(SIZE, dtype="f4"), "same")]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, SIZE]) for name in OPERATORS]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, SIZE])], outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def run(*command):
    subprocess.run([str(word) for word in command], check=True, timeout=300, stdout=subprocess.DEVNULL)


def main():
    folder = pathlib.Path(sys.argv[1])
    x = np.linspace(-200, 200, SIZE, dtype="f4")[None]
    save(folder / "m.onnx")
    np.save(folder / "x.npy", x)
    session = onnxruntime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    wrong = 0
    for precision, unit in UNITS.items():
        run("cleave", "compile", folder / "m.onnx", "-o", folder / precision, "--precision", precision)
        run(folder / precision, "infer", "--input", f"x={folder}/x.npy", *(w for name in OPERATORS for w in ("--output", f"{name}={folder}/{name}.npy")))
        for name, right in zip(OPERATORS, session.run(list(OPERATORS), {"x": x})):
            error = np.abs(np.load(folder / f"{name}.npy").astype("f8") - right).max()
            if not error <= 4 * unit * np.abs(right).max():
                wrong += 1
                print(f"{name} in {precision}: off by {error:.1e}, the largest value is {np.abs(right).max():.1e}")
    print(f"{len(OPERATORS)} operators, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
