"""large_convolution.py FILE    A model of one convolution, whose input and output have 1.5 GiB together."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [12, 1, 4096, 4096]) for n in "xy"]
node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
graph = helper.make_graph([node], "g", ports[:1], ports[1:], [numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), sys.argv[1])
