"""A linear model of four samples, without a loss: the sum of each sample's outputs, and the sum of all. lossless_model.py OUTPUT

With the argument `total` the file has any batch, and the sum of all is its only output."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

weight = numpy_helper.from_array(numpy.random.default_rng(0).standard_normal((3, 2)).astype("f4"), "w")
axis = numpy_helper.from_array(numpy.array([1]), "axis")
nodes = [
    helper.make_node("MatMul", ["x", "w"], ["h"]),
    helper.make_node("ReduceSum", ["h", "axis"], ["sums"], keepdims=0),
    helper.make_node("ReduceSum", ["sums"], ["total"], keepdims=0),
]
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])
outputs = [helper.make_tensor_value_info("sums", TensorProto.FLOAT, [4]), helper.make_tensor_value_info("total", TensorProto.FLOAT, [])]
graph = helper.make_graph(nodes, "lossless", [x], outputs, [weight, axis])
if sys.argv[2:] == ["total"]:
    x.type.tensor_type.shape.dim[0].dim_param = "batch"
    graph = helper.make_graph(nodes, "total", [x], outputs[1:], [weight, axis])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
