"""check_constant_tables.py FOLDER    Constants in the graph with elements that differ, of each type that a kernel reads: exact results."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

folder = pathlib.Path(sys.argv[1])
numbers = np.array([[1, -2, 0.5], [3, 0, -0.25]], np.float32)
x = np.array([[4, 8, 16], [1, 2, 3]], np.float32)
np.save(folder / "x.npy", x)
for name in ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT32", "INT64", "INT8", "UINT8"):
    kind = getattr(TensorProto, name)
    table = numbers if "FLOAT" in name or name == "DOUBLE" else np.abs(np.trunc(numbers))
    nodes = [helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", kind, [2, 3], table.ravel().tolist() if "FLOAT" in name or name == "DOUBLE" else table.ravel().astype(int).tolist())),
             helper.make_node("Cast", ["x"], ["n"], to=kind), helper.make_node("Add", ["n", "c"], ["s"]),
             helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)]
    ports = [[helper.make_tensor_value_info(port, TensorProto.FLOAT, [2, 3])] for port in "xy"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", *ports), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    subprocess.run(["cleave", "compile", folder / "m.onnx", "-o", folder / "m"], check=True, capture_output=True)
    subprocess.run([folder / "m", "infer", "--input", f"x={folder / 'x.npy'}", "--output", f"y={folder / 'y.npy'}"], check=True, capture_output=True)
    found = np.load(folder / "y.npy")
    assert np.array_equal(found, x + table), (name, found)
    print(f"{name}: exact")
