"""emulated_functions.py SOURCE BUILD FOLDER    Functions of f64, and top_k of each type, on the emulated CUDA device.

f64 functions are Cleave's own formulas there (compiler/Codegen/CUDA/DoubleFunctions.cpp): at most 8 units in the last place from those of
the C library, which numpy and math call, over tiny, small, large and special arguments. top_k is exact."""
import math
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

_, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
ENVIRONMENT = emulated.environment(build)


def infer(name, nodes, x, outputs, constants=()):
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    ports = [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, x.shape)], ports, list(constants))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / f"{name}.onnx")
    np.save(folder / "x.npy", x)
    arguments = [word for n in outputs for word in ("--output", f"{n}={folder / n}.npy")]
    for command in (["cleave", "compile", folder / f"{name}.onnx", "--target", "cuda:sm_90", "-o", folder / name],
                    [folder / name, "infer", "--input", f"x={folder / 'x.npy'}", *arguments]):
        result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=ENVIRONMENT, check=False)
        if result.returncode:
            sys.exit(f"{name}: {result.stdout}{result.stderr}")
    return [np.load(folder / f"{n}.npy") for n in outputs]


def each(function):
    return lambda x: np.array([function(v) for v in x.ravel()]).reshape(x.shape)


rng = np.random.default_rng(1)
wide = np.concatenate([rng.uniform(-s, s, 400) for s in (1e-300, 1e-9, 0.1, 0.6, 3, 30, 1000)])
special = np.array([0.0, -0.0, 0.5, -0.5, 2.5, -2.5, 6, 22, 709, -745, np.inf, -np.inf, np.nan, 1e300])
arguments = np.concatenate([wide, special])[None]
finite = np.concatenate([wide, special[:-4], rng.uniform(-1e9, 1e9, 300), np.arange(1, 60) * (np.pi / 4)])[None]
functions = {"Tanh": (np.tanh, arguments), "Erf": (each(math.erf), arguments), "Exp": (np.exp, arguments), "Log": (np.log, np.abs(arguments)),
             "Sin": (np.sin, finite), "Cos": (np.cos, finite)}
# Pow: pairs of bases and exponents, the special cases of C11 F.10.4.4 among them.
specials = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1e300, -1e300, np.inf, -np.inf, np.nan])
integers = np.array([[3, 5], [10, 15], [10, 300], [2, 1023], [2, -1074], [-7, 31], [1 + 2**-52, 2.0**52], [1 - 2**-53, -(2.0**60)], [1.7, 1337.5]])
bases = np.concatenate([rng.uniform(0, 3, 500), 10.0 ** rng.uniform(-300, 300, 500), 1 + rng.uniform(-1e-6, 1e-6, 500)])
reached = rng.uniform(-708, 708, 1500) / np.log(bases)  # results over the whole range
pairs = np.concatenate([np.stack(np.meshgrid(specials, specials), -1).reshape(-1, 2), integers, np.stack([bases, reached], 1)])
functions["Pow"] = (lambda x: np.power(x[:, :1], x[:, 1:]), pairs)
columns = [numpy_helper.from_array(np.array([i]), f"c{i}") for i in range(2)]
pow_nodes = [helper.make_node("Gather", ["x", "c0"], ["a"], axis=1), helper.make_node("Gather", ["x", "c1"], ["b"], axis=1), helper.make_node("Pow", ["a", "b"], ["y"])]
np.seterr(all="ignore")
for name, (function, x) in functions.items():
    nodes, constants = (pow_nodes, columns) if name == "Pow" else ([helper.make_node(name, ["x"], ["y"])], ())
    found, = infer(name.lower(), nodes, x, {"y": TensorProto.DOUBLE}, constants)
    expected = function(x)
    x = x.reshape(*expected.shape, -1) if name == "Pow" else x
    if wrong := np.argwhere((found == 0) & (expected == 0) & (np.signbit(found) != np.signbit(expected))).tolist():
        sys.exit(f"{name}({x[tuple(wrong[0])]!r}): the sign of 0 is wrong")
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    ulps = np.abs(found - expected) / np.spacing(np.maximum(np.abs(expected), 1e-300))
    ulps[same] = 0
    at = int(np.argmax(np.where(np.isnan(ulps), np.inf, ulps)))
    if not ulps.ravel()[at] <= 8:
        sys.exit(f"{name}({x[np.unravel_index(at, found.shape)]!r}) = {found.ravel()[at]!r}; expected {expected.ravel()[at]!r}: {ulps.ravel()[at]} units in the last place")
    print(f"{name} of f64: at most {ulps.max():.1f} units in the last place")

for dtype in (np.float32, np.float64, np.float16, np.int32, np.int64):
    x = rng.permutation(np.arange(-350, 350) // 3).reshape(2, 350).astype(dtype)  # with equals
    for largest in (1, 0):
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        values, indices = infer("topk", [helper.make_node("TopK", ["x", "k"], ["v", "i"], largest=largest)], x,
                                {"v": kind, "i": TensorProto.INT64}, [numpy_helper.from_array(np.array([7]), "k")])
        order = np.argsort(-x.astype(np.float64) if largest else x, axis=1, kind="stable")[:, :7]
        if not np.array_equal(indices, order) or not np.array_equal(values, np.take_along_axis(x, order, 1)):
            sys.exit(f"top_k of {dtype.__name__}, largest={largest}: {indices}; expected {order}")
print("top_k: all types")

# Computed labels: one out of range is an error with its number, its range and the node, as on hosts.
scores = numpy_helper.from_array(np.arange(15, dtype=np.float32).reshape(3, 5) / 7, "scores")
for labels, message in (([1, 3, 5], ""), ([1, 6, 2], "index 5 is out of range; expected 0 to 4"), ([0, 1, 2], "index -1 is out of range; expected 0 to 4")):
    loss = [helper.make_node("Sub", ["x", "one"], ["labels"]), helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["loss"], name="judge")]
    try:
        found, = infer("labels", loss, np.array(labels), {"loss": TensorProto.FLOAT}, [scores, numpy_helper.from_array(np.array(1), "one")])
        logs = np.arange(5) / 7 - np.log(np.exp(np.arange(5) / 7).sum())
        if message or not np.isclose(found, -logs[np.array(labels) - 1].mean(), rtol=1e-5):
            sys.exit(f"labels {labels}: a loss of {found}")
    except SystemExit as error:
        if not message or message not in str(error) or "judge" not in str(error):
            raise
print("labels: checked")

# A kernel of more tensors than PTX has parameters for is refused before any is compiled.
parts = [f"p{i}" for i in range(600)]
try:
    infer("parts", [helper.make_node("Split", ["x"], parts, axis=0), helper.make_node("Concat", parts, ["wide"], axis=1), helper.make_node("Softmax", ["wide"], ["y"])],
          np.zeros((600 * 2, 4), np.float32), {"y": TensorProto.FLOAT})
    sys.exit("a kernel of 600 tensors is compiled")
except SystemExit as error:
    if "tensors; a CUDA kernel takes at most 512" not in str(error):
        raise
print("a kernel of 600 tensors: refused")
