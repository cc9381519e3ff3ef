"""instruction_counts.py SOURCE FOLDER    Instructions of generated kernels for sm_90 beside those of plain CUDA C++ (plain_kernels.cu, by
nvcc), both compiled by the same ptxas. Says nothing of speed. Fails where a family has more than 1.05 times nvcc's.

Two families have more, and are told without a bound (compiler/Codegen/Rationale.md, "Checked without a GPU"): `relu` (of a product and two
sums) is small, so that its sums, rounded as on the host, count; the
ratio of `log_softmax` was taken when its exponential was the host's polynomial."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import ptxas

source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
ROWS, COLUMNS = 4096, 1024
BOUND, FREE = 1.05, {"relu", "log_softmax"}
VECTOR = {name: np.linspace(low, low + 2, COLUMNS, dtype=np.float32) for name, low in (("scale", 0.5), ("bias", -1))}


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs.split(), [output], **attributes)


FAMILIES = {
    "gelu": ([node("Add", "x bias", "sum"), node("Gelu", "sum", "y", approximate="tanh")], [ROWS, COLUMNS]),
    "relu": ([node("Mul", "x scale", "scaled"), node("Add", "scaled bias", "moved"), node("Add", "moved r", "sum"), node("Relu", "sum", "y")], [ROWS, COLUMNS]),
    "softmax": ([node("Softmax", "x", "y", axis=-1)], [ROWS, COLUMNS]),
    "layer_norm": ([node("LayerNormalization", "x scale bias", "y", axis=-1)], [ROWS, COLUMNS]),
    "log_softmax": ([node("LogSoftmax", "x", "y", axis=-1)], [ROWS, COLUMNS]),
    "column_sum": ([node("ReduceSum", "x first", "y", keepdims=0)], [COLUMNS]),
    "transpose": ([node("Transpose", "x", "y", perm=[1, 0])], [COLUMNS, ROWS]),
}
CONSTANTS = {**VECTOR, "first": np.array([0])}


def kernel_of(name):
    nodes, shape = FAMILIES[name]
    used = {each for one in nodes for each in one.input}
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(key, TensorProto.FLOAT, [ROWS, COLUMNS]) for key in "xr" if key in used],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [numpy_helper.from_array(np.asarray(value), key) for key, value in CONSTANTS.items() if key in used])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), folder / f"{name}.onnx")
    subprocess.run(["cleave", "compile", folder / f"{name}.onnx", "-o", folder / name, "--target", "cuda:sm_90"], check=True, capture_output=True)
    kernel, = ptxas.compiled(ptxas.image_of(folder / name), "sm_90", folder)
    return kernel


subprocess.run([ptxas.tool("nvcc"), "-std=c++17", "-ptx", "-arch=compute_80", "-o", folder / "plain.ptx", source / "test/cuda/Inputs/plain_kernels.cu"], check=True)
plain = {kernel.name: kernel for kernel in ptxas.compiled((folder / "plain.ptx").read_text(), "sm_90", folder)}
wrong = []
print(f"{'family':12}{'Cleave':>8}{'nvcc':>8}{'ratio':>8}   registers")
for name in FAMILIES:
    ours, theirs = kernel_of(name), plain[name]
    ratio = ours.instructions / theirs.instructions
    wrong += [name] if ratio > BOUND and name not in FREE else []
    print(f"{name:12}{ours.instructions:8}{theirs.instructions:8}{ratio:8.2f}   {ours.registers} and {theirs.registers}")
sys.exit(f"more than {BOUND} times nvcc's: {', '.join(wrong)}" if wrong else 0)
