"""Writes linear.onnx: y = x W + b, with weights from a seed.

  make_model.py linear.onnx
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES, TARGETS = 6, 3


def make_weights(seed=1):
    rng = np.random.default_rng(seed)
    return {"weight": rng.standard_normal((FEATURES, TARGETS)).astype(np.float32), "bias": rng.standard_normal(TARGETS).astype(np.float32)}


def make_model():
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "weight", "bias"], ["y"])], "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", TARGETS])],
        [numpy_helper.from_array(array, name) for name, array in make_weights().items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    onnx.save(make_model(), sys.argv[1])
