"""lacking_on_cuda.py FOLDER: models of one op each that the cuda target refuses."""
import sys

import onnx
from onnx import TensorProto, helper

ports = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["batch", 16]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Mod", ["x", "x"], ["y"], fmod=1)], "g", ports[:1], ports[1:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{sys.argv[1]}/fmod.onnx")

large = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["batch", 1, 32768, 32768]), ("y", None))]
graph = helper.make_graph([helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])], "g", large[:1], large[1:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{sys.argv[1]}/pool.onnx")
