"""Writes m.onnx, a Concat of COUNT times its input, and x.npy.

  concat_many.py FOLDER COUNT
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]) for name, width in (("x", 4), ("y", 4 * count)))
graph = helper.make_graph([helper.make_node("Concat", ["x"] * count, ["y"], axis=1)], "g", [x], [y])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
np.save(folder / "x.npy", np.random.default_rng(1).normal(size=(2, 4)).astype("f4"))
