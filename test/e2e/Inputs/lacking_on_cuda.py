"""lacking_on_cuda.py FOLDER: models of one op each that the cuda target refuses."""
import sys

import onnx
from onnx import TensorProto, helper

ports = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["batch", 16]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Mod", ["x", "x"], ["y"], fmod=1)], "g", ports[:1], ports[1:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{sys.argv[1]}/fmod.onnx")
