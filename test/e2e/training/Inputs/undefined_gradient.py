"""undefined_gradient.py FOLDER: model.onnx, the mean norm of x * w over samples, and x.npy, of whose samples the third is zero."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])
NODES = [helper.make_node("Mul", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "h"], ["squares"]),
         helper.make_node("ReduceSum", ["squares", "axes"], ["sums"], keepdims=0), helper.make_node("Sqrt", ["sums"], ["norms"]),
         helper.make_node("ReduceMean", ["norms"], ["loss"], keepdims=0)]
WEIGHTS = [numpy_helper.from_array(np.array([0.5, -1, 2], np.float32), "w"), numpy_helper.from_array(np.array([1], np.int64), "axes")]
GRAPH = helper.make_graph(NODES, "norms", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
                          [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], WEIGHTS)
onnx.save(helper.make_model(GRAPH, opset_imports=[helper.make_opsetid("", 17)]), FOLDER / "model.onnx")
SAMPLES = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
SAMPLES[2] = 0
np.save(FOLDER / "x.npy", SAMPLES)
