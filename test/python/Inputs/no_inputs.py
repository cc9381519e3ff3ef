"""no_inputs.py FOLDER: a model without inputs runs, and a program that a model lacks is an error, in each call that names one."""
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


def main():
    folder = pathlib.Path(sys.argv[1])
    graph = helper.make_graph([helper.make_node("Relu", ["c"], ["y"])], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
                              [numpy_helper.from_array(np.array([1, -2, 3], np.float32), "c")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), folder / "constant.onnx")
    subprocess.run(["cleave", "compile", folder / "constant.onnx", "-o", folder / "constant.so", "--emit", "shared"], check=True, capture_output=True)
    model = cleave.Model(folder / "constant.so")
    assert model.inputs() == {} and np.array_equal(model.infer()["y"], [1, 0, 3])
    for call in (model.inputs, model.outputs):
        assert "compiled for inference" in refused(lambda: call("train_step"))
        assert "has a NUL" in refused(lambda: call("infer\0x"))
    assert "has a NUL" in refused(lambda: model.output("y", "infer\0x"))


if __name__ == "__main__":
    main()
