#!/usr/bin/env python3
"""Operators on constants vanish at import: fold_constants.py IMPORTER SCRATCH. One graph for each operator and kind of operand, whose inputs
are Constant nodes; its function must be one constant, with the values that the onnx package's reference evaluator computes."""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

importer, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
scratch.mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(3)
REAL = random.uniform(0.5, 4, (2, 3)).astype(np.float32) * np.array([1, -1, 1], np.float32)
INT = np.array([[7, -7, 3], [12, 5, -1]], np.int64)
BOOL = np.array([[True, False, True], [False, False, True]])
TYPES = {"f32": REAL, "f64": REAL.astype(np.float64), "i64": INT, "i32": INT.astype(np.int32)}
CASES = []


def i64(*values):
    return np.array(values, np.int64)


def add(op, *inputs, outputs=1, **attributes):
    CASES.append((op, inputs, outputs, attributes))


for data in TYPES.values():
    other = (data.T.reshape(2, 3) + np.asarray(1, data.dtype)).astype(data.dtype)
    divisor = np.where(data == 0, 2, data).astype(data.dtype)
    for op in ["Add", "Sub", "Mul", "Max", "Min"]:
        add(op, data, other)
    add("Max", data, other, np.asarray(2, data.dtype))
    if data.dtype.kind == "f":
        add("Sum", data, other, data)
    add("Div", np.abs(other), np.abs(divisor))
    add("Mod", data, divisor, fmod=int(data.dtype.kind == "f"))
    add("Clip", data, np.asarray(-1, data.dtype), np.asarray(5, data.dtype))
    add("Pow", np.abs(data), np.asarray(2, data.dtype))
    for op in ["Neg", "Abs", "Sign"]:
        add(op, data)
    for op in ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]:
        add(op, data, other)
    add("Where", BOOL, data, other)
    for op in ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"]:
        add(op, data, i64(1), keepdims=0)
        add(op, data, i64(), keepdims=1)
    add("CumSum", data, i64(1)[0], exclusive=1)
    add("Concat", data, other, axis=0)
    add("Slice", data, i64(2, 0), i64(-9, 2), i64(1, 0), i64(-1, 1))
    add("Gather", data, i64(1, 0, -1), axis=1)
    add("Squeeze", data[:1], i64(0))
    add("Unsqueeze", data, i64(0, 3))
    add("Reshape", data, i64(3, -1))
    add("Transpose", data, perm=[1, 0])
    add("Expand", data, i64(2, 1, 3))
    add("Tile", data, i64(2, 1))
    add("Pad", data, i64(0, 1, 1, 0), np.asarray(9, data.dtype))
    add("Trilu", data, np.asarray(1, np.int64), upper=0)
    add("Split", data, i64(1, 2), outputs=2, axis=1)
    add("NonZero", data)
    add("EyeLike", data)
    add("OneHot", i64(1, 0, 3), i64(4)[0], np.asarray([0, 1], data.dtype))
    for kind in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT16, TensorProto.BOOL):
        add("Cast", data, to=kind)
for data in (TYPES["f32"], TYPES["f64"]):
    for op in ["Floor", "Ceil", "Round", "Exp", "Tanh", "Sigmoid", "Erf", "Softplus", "Relu", "LeakyRelu", "Elu", "Cos", "Sin"]:
        add(op, data)
    for op in ["Sqrt", "Log", "Reciprocal"]:
        add(op, np.abs(data))
    for op in ["ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]:
        add(op, data, i64(0))
    add("Softmax", data, axis=1)
    add("Mean", data, data + 1)
    add("IsNaN", data)
for op in ["And", "Or", "Xor"]:
    add(op, BOOL, ~BOOL[:1])
add("Not", BOOL)
add("Range", i64(9)[0], i64(1)[0], i64(-3)[0])
add("ConstantOfShape", i64(2, 3))
add("Size", REAL)
add("Shape", REAL)


def numbers(text, count, dtype):
    if dtype == np.bool_:
        found = [word == "true" for word in re.findall(r"true|false", text)]
    else:
        found = [float(word) if dtype.kind == "f" else int(word) for word in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][+-]\d+)?", text)]
    return np.array(found * count if len(found) == 1 else found, dtype)


def run(index, op, inputs, outputs, attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    nodes = [helper.make_node("Constant", [], [n], value=onnx.numpy_helper.from_array(np.asarray(v), n)) for n, v in zip(names, inputs)]
    nodes.append(helper.make_node(op, names, results, name="n", **attributes))
    graph = helper.make_graph(nodes, "g", [], [helper.make_empty_tensor_value_info(r) for r in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    path = scratch / f"{index}-{op}.onnx"
    path.write_bytes(model.SerializeToString())
    expected = ReferenceEvaluator(model).run(None, {})
    result = subprocess.run([importer, str(path)], capture_output=True, text=True, timeout=60)
    lines = [line.strip() for line in result.stdout.splitlines() if re.search(r"= cleave\.|cleave\.state ", line)]
    constants = [re.search(r"cleave.constant dense<(.*)> : tensor", line) for line in lines]
    if result.returncode or len(lines) > outputs or not all(constants):
        return f"{op} of {inputs[0].dtype}: not one constant: " + (result.stderr.strip() or " / ".join(lines[:3]))
    for text, want in zip(constants, expected):
        want = np.asarray(want)
        got = numbers(text.group(1), want.size, want.dtype)
        if got.size != want.size or not np.allclose(got.astype(np.float64), want.reshape(-1).astype(np.float64), rtol=2e-6, atol=1e-6):
            return f"{op} of {inputs[0].dtype}: {got} is not {want.reshape(-1)}"
    return None


failures = [text for text in (run(i, *case) for i, case in enumerate(CASES)) if text]
print("\n".join("FAILED " + text for text in failures))
print(f"{len(CASES) - len(failures)} of {len(CASES)} operators folded")
sys.exit(bool(failures))
