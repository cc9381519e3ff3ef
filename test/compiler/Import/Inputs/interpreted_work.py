"""Writes a small model whose constants take much work to compute: interpreted_work.py FILE. Clip has no evaluation of its own, so the importer's
interpreter computes it."""
import sys

import onnx
from onnx import TensorProto, helper

COUNT = 500
numbers = [helper.make_tensor(name, TensorProto.INT64, [], [value]) for name, value in (("zero", 0), ("many", 4096), ("one", 1))]
nodes = [helper.make_node("Range", ["zero", "many", "one"], ["c0"])]
nodes += [helper.make_node("Clip", [f"c{i}", "one"], [f"c{i + 1}"], name=f"clip{i}") for i in range(COUNT)]
nodes.append(helper.make_node("Add", ["x", f"c{COUNT}"], ["y"]))
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [4096])],
                          [helper.make_tensor_value_info("y", TensorProto.INT64, [4096])], numbers)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
