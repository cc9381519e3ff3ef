#!/usr/bin/env python3
"""declared_initializer.py OUT.onnx WHERE TYPE DIMS: y = x w, with the initializer w (FLOAT, [3, 2]) declared in WHERE (input or value_info)."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

out, where, kind, dims = sys.argv[1:]
shape = [int(size) if size.isdigit() else size for size in dims.split(",")]
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
                          [numpy_helper.from_array(np.ones([3, 2], np.float32), "w")])
getattr(graph, where).append(helper.make_tensor_value_info("w", TensorProto.DataType.Value(kind), shape))
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), out)
