"""A narrow precision never takes more memory for values than f32: chains and residual nets of activations.

  check_narrow_memory.py FOLDER

The types are that of --precision in an f32 model, and a model's own. What is kept for the backward pass is of the narrow type. It does not matter
whether a layer has a bias, or whether its activation is one operation or ten: no inner value of an operator is stored, at the border of a block or
elsewhere. Of a chain of products and activations bf16 takes at most two thirds of what f32 takes, whatever the activation.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, COLUMNS = 128, 64
ACTIVATIONS = {"Mish": ("Mish", {}), "GeluTanh": ("Gelu", {"approximate": "tanh"}), "Gelu": ("Gelu", {}), "Softplus": ("Softplus", {}),
               "HardSwish": ("HardSwish", {}), "Elu": ("Elu", {}), "Swish": ("Swish", {}), "Tanh": ("Tanh", {})}


BF16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)


def save(path, activation, layers, residual, bias, element):
    kind, attributes = ACTIVATIONS[activation]
    random = np.random.default_rng(layers)
    nodes, tensors, h = [], [], "x"
    if element == BF16:
        nodes.append(helper.make_node("Cast", ["x"], ["x.narrow"], to=TensorProto.BFLOAT16))
        h = "x.narrow"
    for i in range(layers):
        tensors.append(numpy_helper.from_array(random.normal(0, 0.1, (COLUMNS, COLUMNS)).astype(element), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [h, f"w{i}"], [f"p{i}"]))
        if bias:
            tensors.append(numpy_helper.from_array(random.normal(0, 0.1, COLUMNS).astype(element), f"b{i}"))
            nodes.append(helper.make_node("Add", [f"p{i}", f"b{i}"], [f"q{i}"]))
        nodes.append(helper.make_node(kind, [f"q{i}" if bias else f"p{i}"], [f"a{i}"], **attributes))
        if residual:
            nodes.append(helper.make_node("Add", [h, f"a{i}"], [f"h{i}"]))
        h = f"h{i}" if residual else f"a{i}"
    if element == BF16:
        nodes.append(helper.make_node("Cast", [h], ["h"], to=TensorProto.FLOAT))
        h = "h"
    nodes.append(helper.make_node("ReduceMean", [h], ["loss"], keepdims=0))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, COLUMNS])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11), path)


def run(*command):
    done = subprocess.run([str(word) for word in command], timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stderr}")
    return done.stdout


def planned(folder, precision=None):
    """Bytes of the values of one pass, and of the library's scratch apart."""
    plan = folder / "net.plan"
    run("cleave", "compile", folder / "net.onnx", "-o", plan, "--emit", "plan", "--train", "--loss-output", "loss", "--optimizer", "sgd",
        *(("--precision", precision) if precision else ()))
    return json.loads(run("cleave", "inspect", plan, "--json"))["memory"]["by_kind"]["transient"]


def main():
    folder = pathlib.Path(sys.argv[1])
    wrong = 0
    for activation in ACTIVATIONS:
        for layers, residual, bias in ((3, False, False), (8, False, False), (8, False, True), (3, True, False), (8, True, False)):
            net = activation, layers, residual, bias
            save(folder / "net.onnx", *net, np.float32)
            wide, reduced = planned(folder, "f32"), planned(folder, "param=bf16,reduce=f32")
            save(folder / "net.onnx", *net, BF16)
            for what, narrow in (("--precision bf16", reduced), ("a model of bf16", planned(folder))):
                if narrow > (wide if residual else wide * 2 // 3):
                    wrong += 1
                    print(f"{layers} layers of {activation}{', residual' * residual}{', bias' * bias}: {narrow} bytes in {what}, {wide} in f32")
    print(f"{wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
