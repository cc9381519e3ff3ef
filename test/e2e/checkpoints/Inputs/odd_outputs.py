"""Writes a model whose input and output have a `=` in their names, and one whose initializer has a name that safetensors keeps for itself.

odd_outputs.py OUTPUTS METADATA
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write(path, nodes, names, weights):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in names]
    graph = helper.make_graph(nodes, "names", values[:1], values[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


write(sys.argv[1], [helper.make_node("Neg", ["x=1"], ["y=1"])], ["x=1", "y=1"], [])
weight = numpy_helper.from_array(np.ones((4, 4), "f4"), "__metadata__")
write(sys.argv[2], [helper.make_node("MatMul", ["x", "__metadata__"], ["y"])], ["x", "y"], [weight])
