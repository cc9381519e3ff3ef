"""lacking_on_cuda.py FOLDER: models of one op each that the cuda target refuses."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(name, node, kind=TensorProto.FLOAT, outputs=(("y", TensorProto.FLOAT, 16),), constants=()):
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, ["batch", 16])],
                              [helper.make_tensor_value_info(n, t, ["batch", size]) for n, t, size in outputs], list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{sys.argv[1]}/{name}.onnx")


save("topk", helper.make_node("TopK", ["x", "k"], ["v", "i"]), outputs=(("v", TensorProto.FLOAT, 3), ("i", TensorProto.INT64, 3)),
     constants=[numpy_helper.from_array(np.array([3]), "k")])
save("tanh64", helper.make_node("Tanh", ["x"], ["y"]), TensorProto.DOUBLE, (("y", TensorProto.DOUBLE, 16),))
save("fmod", helper.make_node("Mod", ["x", "x"], ["y"], fmod=1))
