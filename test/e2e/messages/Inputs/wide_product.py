"""wide_product.py FILE WIDTH: y = x W with W of WIDTH x WIDTH; from 4,097 its weights lie beside the artefact."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

path, width = sys.argv[1], int(sys.argv[2])
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width])  # noqa: E731
weights = onnx.numpy_helper.from_array(np.full((width, width), 0.5, np.float32), "w")
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "wide", [value("x")], [value("y")], [weights])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
