"""Writes small models whose constants take much work to compute: interpreted_work.py FOLDER. Clip has no evaluation of its own, so the importer's
interpreter computes it.

  optional.onnx   y = x + c, where c is the end of a long chain of Clips of 4,096 numbers. After the chain come a shape of few numbers, and one
                  that is computed from 4,096 numbers; a Reshape needs both.
  required.onnx   a Reshape needs a number that is computed from the end of the long chain
"""
import pathlib
import sys

import onnx
from onnx import TensorProto, helper

COUNT = 2000
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=output, **attributes)


def write(name, nodes):
    numbers = [helper.make_tensor(name, TensorProto.INT64, shape, values) for name, shape, values in (
        ("zero", [], [0]), ("many", [], [4096]), ("one", [], [1]), ("few", [2], [64, 64]), ("rest", [1], [-1]), ("all", [1], [0]))]
    ports = [helper.make_tensor_value_info(port, TensorProto.INT64, shape) for port, shape in (("x", [4096]), ("y", None))]
    chain = [node("Range", ["zero", "many", "one"], "c0")]
    chain += [node("Clip", [f"c{i}", "one"], f"c{i + 1}") for i in range(COUNT)]
    graph = helper.make_graph(chain + nodes, "g", ports[:1], ports[1:], numbers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), folder / f"{name}.onnx")


late = [node("Clip", ["few", "one"], "clipped"), node("Max", ["clipped", "clipped"], "shape"),
        node("Range", ["one", "many", "one"], "r"), node("Clip", ["r", "", "one"], "ones"), node("ReduceMax", ["ones", "all"], "single", keepdims=1),
        node("Concat", ["shape", "single"], "sizes", axis=0)]
write("optional", [node("Add", ["x", f"c{COUNT}"], "sum"), *late, node("Reshape", ["sum", "sizes"], "y")])
write("required", [node("ReduceMax", [f"c{COUNT}", "all"], "size", keepdims=1), node("Concat", ["rest", "size"], "sizes", axis=0),
                   node("Reshape", ["x", "sizes"], "y")])
