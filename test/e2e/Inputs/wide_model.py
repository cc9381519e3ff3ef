"""wide_model.py FOLDER: wide.onnx, y = x w with w of 68 MiB, more than an executable embeds; of w only the last row is not zero. And x.npy."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

ROWS, COLUMNS = 4352, 4096
folder = pathlib.Path(sys.argv[1])
with open(folder / "w.bin", "wb") as file:
    file.truncate(4 * ROWS * COLUMNS)  # sparse
    file.seek(-4 * COLUMNS, 2)
    file.write(np.arange(COLUMNS, dtype=np.float32).tobytes())
w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[ROWS, COLUMNS], data_location=TensorProto.EXTERNAL)
w.external_data.add(key="location", value="w.bin")
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "wide",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, ROWS])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, COLUMNS])], [w])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "wide.onnx")
np.save(folder / "x.npy", np.ones((1, ROWS), np.float32))
