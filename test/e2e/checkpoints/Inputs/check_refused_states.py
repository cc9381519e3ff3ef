"""Calls of a session that fail leave its states as they were, or nothing is saved of them: check_refused_states.py FOLDER"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cleave

folder = pathlib.Path(sys.argv[1])
node = helper.make_node


def compile_model(name, nodes, inputs, weights, *options):
    infos = [helper.make_tensor_value_info(each, kind, shape) for each, (kind, shape) in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(np.asarray(value), key) for key, value in weights.items()])
    path = folder / f"{name.split('.')[0].rstrip('0123456789')}.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    subprocess.run(["cleave", "compile", path, "-o", folder / name, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", "batch=4",
                    *options], check=True, timeout=120)


def refused(call, text):
    try:
        call()
    except cleave.CleaveError as error:
        assert text in str(error), error
        return
    sys.exit(f"FAILED: no error with '{text}'")


def saved(path):
    """The bytes of all tensors' files."""
    return b"".join(each.read_bytes() for each in sorted(path.rglob("*.safetensors")))


def check_narrow():
    """A checkpoint with a number that f16 does not have is refused as a whole, on every rank."""
    product = [node("MatMul", ["x", "a"], ["h"]), node("MatMul", ["h", "b"], ["y"]), node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    x = {"x": (TensorProto.FLOAT, ["batch", 2])}
    weights = {"a": np.full((2, 4), 0.5, "f4"), "b": np.full((4, 1), 0.5, "f4")}
    compile_model("n", product, x, {**weights, "b": np.array([[1e6], [1], [1], [1]], "f4")})
    subprocess.run([folder / "n", "train", "--data", f"x={folder}/x.npy", "--lr", "0", "--steps", "1", "--save", folder / "wide"], check=True, timeout=120)
    for ranks in (1, 2):
        compile_model(f"n{ranks}.so", product, x, weights, "--precision", "fp16", "--emit", "shared", "--mesh", f"fsdp={ranks}")
        model, data = cleave.Model(folder / f"n{ranks}.so"), np.ones((4 * ranks, 2), "f4")
        loss = model.train_step(x=data, lr=0.01)
        model.save(folder / f"before{ranks}")
        refused(lambda: model.load(folder / "wide"), "1e+06 is beyond the numbers of fp16")
        model.save(folder / f"after{ranks}")
        assert saved(folder / f"before{ranks}") == saved(folder / f"after{ranks}"), "a refused checkpoint has changed states"
        assert np.isfinite(loss) and np.isfinite(model.train_step(x=data, lr=0.01))


def check_halfway():
    """A step that an index out of range ends, after running statistics were updated, is not saved."""
    nodes = [node("BatchNormalization", ["x", "scale", "bias", "mean", "var"], ["h", "mean_out", "var_out"], training_mode=1, momentum=0.5),
             node("Add", ["k", "k"], ["twice"]), node("Gather", ["table", "twice"], ["rows"]), node("Mul", ["rows", "h"], ["y"]),
             node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    weights = {"scale": np.ones(2, "f4"), "bias": np.zeros(2, "f4"), "mean": np.zeros(2, "f4"), "var": np.ones(2, "f4"), "table": np.ones((4, 2), "f4")}
    compile_model("h.so", nodes, {"x": (TensorProto.FLOAT, ["batch", 2]), "k": (TensorProto.INT64, ["batch"])}, weights, "--emit", "shared")
    model, x = cleave.Model(folder / "h.so"), np.arange(8, dtype="f4").reshape(4, 2)
    model.train_step(x=x, k=np.array([0, 1, 1, 0]), lr=0.1)
    model.save(folder / "whole")
    refused(lambda: model.train_step(x=100 * x, k=np.array([0, 1, 1, 3]), lr=0.1), "out of range")
    refused(lambda: model.save(folder / "half"), "step 2 ended halfway")
    assert not list(folder.glob("half/step-*"))


np.save(folder / "x.npy", np.ones((8, 2), "f4"))
check_narrow()
check_halfway()
print("states are saved only as a step left them")
