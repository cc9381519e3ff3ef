"""A checkpoint with a parameter of 1e6, which f16 does not have: check_narrower.py FOLDER"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
node = helper.make_node


def save(path, w, nodes, outputs):
    path.parent.mkdir(exist_ok=True)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])]
    graph = helper.make_graph([*nodes, node("MatMul", ["x", "wide"], ["y"]), node("ReduceMean", ["y"], ["loss"], keepdims=0)], "g", inputs,
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def run(*command, refused=""):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    if bool(done.returncode) != bool(refused) or refused not in done.stderr:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\nexpected '{refused}', got {done.returncode}: {done.stdout}{done.stderr}")


w, outputs = np.array([[1e6], [1]], "f4"), {"y": ["batch", 1], "loss": []}
save(folder / "m.onnx", w, [node("Identity", ["w"], ["wide"])], outputs)
save(folder / "half" / "m.onnx", np.ones((2, 1), "f2"), [node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT)], outputs)
np.save(folder / "x.npy", np.ones((8, 2), "f4"))
for precision in ("f32", "fp16"):
    run("cleave", "compile", folder / "m.onnx", "-o", folder / precision, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", "batch=2",
        "--precision", precision)
train = ["train", "--data", f"x={folder}/x.npy", "--lr", 0]
run(folder / "f32", *train, "--steps", 1, "--save", folder / "saved")
run(folder / "f32", *train, "--steps", 2, "--resume", folder / "saved")
run(folder / "fp16", *train, "--steps", 2, "--resume", folder / "saved", refused="weight 'w', element 0: 1e+06 is beyond the numbers of fp16")
run("cleave", "export", folder / "saved", "--model", folder / "half" / "m.onnx", "-o", folder / "out.onnx",
    refused="the trained value of 'w', element 0, is beyond the numbers of fp16")
print("resumed in f32, refused in fp16 and by export" if not (folder / "out.onnx").exists() else "FAILED: export left a file")
