"""Writes a model whose outputs are means of two inputs, each of one: two_means.py FOLDER"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

folder = pathlib.Path(sys.argv[1])
nodes = [helper.make_node("ReduceMean", [name], [f"mean_{name}"], keepdims=0) for name in "ab"]
inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in "ab"]
outputs = [helper.make_tensor_value_info(f"mean_{name}", TensorProto.FLOAT, []) for name in "ab"]
graph = helper.make_graph(nodes, "means", inputs, outputs)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), folder / "means.onnx")
for name, first in zip("ab", (0, 100)):
    np.save(folder / f"{name}.npy", np.arange(first, first + 32, dtype="f4").reshape(8, 4))
