"""A small model with batch norm, and data of three global batches of 16 samples. In the second one gradient overflows in 16 bits: that
of `extra`, on the last rank's samples alone. The loss and all other gradients are finite, since `extra` is 0 and its input, too, but there.

  overflow_on_one_rank.py FOLDER     makes FOLDER/model.onnx, and x.npy, z.npy and labels.npy
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

folder = pathlib.Path(sys.argv[1])
random = np.random.default_rng(3)
weights = {"conv.weight": random.standard_normal((4, 2, 3, 3)) / 4, "bn.weight": np.ones(4), "bn.bias": np.zeros(4), "mean": np.zeros(4),
           "var": np.ones(4), "fc.weight": random.standard_normal((5, 4)) / 2, "fc.bias": np.zeros(5), "extra": np.zeros((3, 5))}
nodes = [helper.make_node("Conv", ["x", "conv.weight"], ["c"], pads=[1, 1, 1, 1]),
         helper.make_node("BatchNormalization", ["c", "bn.weight", "bn.bias", "mean", "var"], ["n", "new_mean", "new_var"],
                          training_mode=1),
         helper.make_node("GlobalAveragePool", ["n"], ["p"]),
         helper.make_node("Flatten", ["p"], ["f"]),
         helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["l"], transB=1),
         helper.make_node("MatMul", ["z", "extra"], ["e"]),
         helper.make_node("Add", ["l", "e"], ["logits"]),
         helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "labels"], ["loss"])]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2, 6, 6]),
                                       helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", 3]),
                                       helper.make_tensor_value_info("labels", TensorProto.INT64, ["batch"])],
                          [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                          [onnx.numpy_helper.from_array(value.astype("f4"), name) for name, value in weights.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx")

z = np.zeros((48, 3), "f4")
z[24:32] = 3e4
np.save(folder / "x.npy", random.standard_normal((48, 2, 6, 6)).astype("f4"))
np.save(folder / "z.npy", z)
np.save(folder / "labels.npy", random.integers(0, 5, 48))
