"""Writes swish.onnx: two linear layers with com.example::Swish between them, and weights from a seed.

  make_model.py swish.onnx [--version N]
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES, HIDDEN, TARGETS, BETA = 6, 8, 2, 1.5


def make_weights(seed=1):
    rng = np.random.default_rng(seed)
    shapes = {"fc1.weight": (FEATURES, HIDDEN), "fc1.bias": (HIDDEN,),
              "fc2.weight": (HIDDEN, TARGETS), "fc2.bias": (TARGETS,)}
    return {name: (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for name, shape in shapes.items()}


def make_model(version):
    nodes = [
        helper.make_node("Gemm", ["x", "fc1.weight", "fc1.bias"], ["hidden"], name="fc1"),
        helper.make_node("Swish", ["hidden"], ["active"], name="activation", domain="com.example", beta=BETA),
        helper.make_node("Gemm", ["active", "fc2.weight", "fc2.bias"], ["y"], name="fc2"),
    ]
    graph = helper.make_graph(
        nodes, "swish",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", TARGETS])],
        [numpy_helper.from_array(array, name) for name, array in make_weights().items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--version", type=int, default=1, help="of the operator set com.example")
    options = parser.parse_args()
    onnx.save(make_model(options.version), options.model)
