"""check_group_scales.py FOLDER: GroupNormalization as opsets 18 to 20 define it, one scale a group, against float64. Files of that time are valid,
though later releases of `onnx` have withdrawn the definition."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder, rng = pathlib.Path(sys.argv[1]), np.random.default_rng(3)
x = rng.standard_normal((2, 6, 5)).astype(np.float32)
np.save(folder / "x.npy", x)
tried = 0
for opset in (18, 20):
    for groups in (1, 2, 3, 6):
        scale, bias = (rng.standard_normal(groups).astype(np.float32) for _ in range(2))
        node = helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=groups, epsilon=1e-3)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)],
                                  [numpy_helper.from_array(scale, "scale"), numpy_helper.from_array(bias, "bias")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), folder / "m.onnx")
        subprocess.run(["cleave", "compile", folder / "m.onnx", "-o", folder / "m"], check=True, stderr=subprocess.DEVNULL, timeout=60)
        subprocess.run([folder / "m", "infer", "--input", f"x={folder}/x.npy", "--output", f"y={folder}/y.npy"], check=True, timeout=60,
                       stderr=subprocess.DEVNULL)
        grouped = np.float64(x).reshape(2, groups, -1)
        normal = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-3)
        expected = (normal * scale[None, :, None] + bias[None, :, None]).reshape(x.shape)
        np.testing.assert_allclose(np.load(folder / "y.npy"), expected, rtol=1e-5, atol=1e-5)
        tried += 1
print(f"{tried} normalizations with one scale a group")
