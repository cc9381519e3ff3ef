"""edge_models.py FOLDER: a model without inputs runs, inputs of rank 0 of each type arrive, and a program that a model lacks is an error."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cleave


def refused(call):
    try:
        call()
    except (cleave.CleaveError, ValueError) as error:
        return str(error)
    sys.exit("nothing was refused")


def compile_graph(folder, name, nodes, inputs, outputs, initializers=(), options=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), folder / f"{name}.onnx")
    command = ["cleave", "compile", folder / f"{name}.onnx", "-o", folder / f"{name}.so", "--emit", "shared", *options]
    subprocess.run(command, check=True, capture_output=True)
    return cleave.Model(folder / f"{name}.so")


def check_rank_0(folder):
    kinds = {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "h": TensorProto.FLOAT16, "i": TensorProto.INT64, "u": TensorProto.UINT8, "b": TensorProto.BOOL,
             "t": TensorProto.BFLOAT16}
    inputs = [helper.make_tensor_value_info(name, kind, []) for name, kind in kinds.items()]
    outputs = [helper.make_tensor_value_info(f"{name}_out", kind, []) for name, kind in kinds.items()]
    nodes = [helper.make_node("Not" if name == "b" else "Add", [name] if name == "b" else [name, name], [f"{name}_out"]) for name in kinds]
    model = compile_graph(folder, "rank0", nodes, inputs, outputs)
    for three in (3, np.int64(3), np.array(3)):
        three_and_half = np.float64(three) + 0.5
        left = model.infer(i=three, u=three, b=True, **{name: three_and_half for name in "fdht"})
        assert all(value.shape == () for value in left.values()), left
        assert left["i_out"] == left["u_out"] == 6 and not left["b_out"] and all(left[f"{name}_out"] == 7 for name in "fdht"), left
    assert "does not fit into uint8" in refused(lambda: model.infer(**{**dict.fromkeys(kinds), "u": 256}))


def main():
    folder = pathlib.Path(sys.argv[1])
    model = compile_graph(folder, "constant", [helper.make_node("Relu", ["c"], ["y"])], [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
                          [numpy_helper.from_array(np.array([1, -2, 3], np.float32), "c")])
    assert model.inputs() == {} and np.array_equal(model.infer()["y"], [1, 0, 3])
    for call in (model.inputs, model.outputs):
        assert "compiled for inference" in refused(lambda: call("train_step"))
        assert "has a NUL" in refused(lambda: call("infer\0x"))
    assert "has a NUL" in refused(lambda: model.output("y", "infer\0x"))
    check_rank_0(folder)


if __name__ == "__main__":
    main()
