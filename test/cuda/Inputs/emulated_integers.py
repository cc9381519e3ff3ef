"""emulated_integers.py BUILD FOLDER    Positions and scatters of integers give the same bytes on the emulated CUDA device and on the host.

One program for each element type: ArgMax and ArgMin, TopK, ScatterND and ScatterElements with each reduction, over the extremes of the type,
with equal elements, repeated indices, and sums and products that wrap around."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

build, folder = (pathlib.Path(a) for a in sys.argv[1:3])
random = np.random.default_rng(11)
ROWS, COLUMNS, UPDATES = 13, 37, 60


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=emulated.environment(build), check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def numbers(dtype, *shape):
    """Small ones, with equals, and some of the type's largest and smallest."""
    if dtype == np.bool_:
        return random.random(shape) < 0.5
    limits = np.iinfo(dtype)
    small = random.integers(max(limits.min, -9), 10, shape).astype(dtype)
    return np.where(random.random(shape) < 0.1, random.choice(np.array([limits.min, limits.max, limits.max - 1], dtype), shape), small)


def nodes_of(dtype):
    """Nodes of x and the constants; with a type for each output."""
    kind, integer = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), TensorProto.INT64
    if dtype != np.bool_:
        for op, axis in (("ArgMax", -1), ("ArgMax", 0), ("ArgMin", 1)):
            yield helper.make_node(op, ["x"], [f"{op}{axis}"], axis=axis, keepdims=0), {f"{op}{axis}": integer}
        for largest in (1, 0):
            names = [f"values{largest}", f"places{largest}"]
            yield helper.make_node("TopK", ["x", "k"], names, largest=largest), dict(zip(names, (kind, integer), strict=True))
    for reduction in ("add", "mul", "max", "min"):
        for axis in (0, 1):
            name = f"{reduction}{axis}"
            yield helper.make_node("ScatterElements", ["x", f"i{axis}", f"u{axis}"], [name], axis=axis, reduction=reduction), {name: kind}
        yield helper.make_node("ScatterND", ["x", "rows", "u"], [f"{reduction}nd"], reduction=reduction), {f"{reduction}nd": kind}


def write(dtype, nodes, ports):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, (ROWS, COLUMNS))],
                              [helper.make_tensor_value_info(n, t, None) for n, t in ports.items()],
                              [numpy_helper.from_array(v, n) for n, v in constants.items() if n in used])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "m.onnx")


for dtype in (np.int64, np.int32, np.int16, np.int8, np.uint8, np.bool_):
    constants = {"k": np.array([5]), "rows": random.integers(-ROWS, ROWS, (UPDATES, 1)), "u": numbers(dtype, UPDATES, COLUMNS),
                 "i0": random.integers(-ROWS, ROWS, (UPDATES, COLUMNS)).astype("i4"), "u0": numbers(dtype, UPDATES, COLUMNS),
                 "i1": random.integers(-COLUMNS, COLUMNS, (ROWS, UPDATES)), "u1": numbers(dtype, ROWS, UPDATES)}
    chosen = list(nodes_of(dtype))
    outputs = {name: port for _, ports in chosen for name, port in ports.items()}
    write(dtype, [node for node, _ in chosen], outputs)
    np.save(folder / "x.npy", numbers(dtype, ROWS, COLUMNS))
    found = []
    for target in ("host", "cuda:sm_90"):
        run("cleave", "compile", folder / "m.onnx", "--target", target, "-o", folder / "p")
        run(folder / "p", "infer", "--input", f"x={folder}/x.npy", *[word for n in outputs for word in ("--output", f"{n}={folder}/{n}.npy")])
        found.append([np.load(folder / f"{n}.npy") for n in outputs])
    for name, host, device in zip(outputs, *found, strict=True):
        if host.dtype != device.dtype or not np.array_equal(host, device):
            sys.exit(f"{np.dtype(dtype)}: {name}: {device} on the device, {host} on the host")
    print(f"{np.dtype(dtype)}: {len(chosen)} nodes, the same bytes")
