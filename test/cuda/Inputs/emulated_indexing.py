"""emulated_indexing.py BUILD FOLDER    Programs that scatter and gather give the same bytes on the emulated CUDA device and on the host.

Indices repeat, so the sums of scatters that add depend on their order."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

build, folder = (pathlib.Path(a) for a in sys.argv[1:3])
random = np.random.default_rng(5)


def run(*command, environment=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def save(name, nodes, x, outputs, constants):
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in x.items()]
    tensors = [numpy_helper.from_array(v, n) for n, v in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, ports, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / f"{name}.onnx")
    for n, v in x.items():
        np.save(folder / f"{n}.npy", v)


def programs(name, *options):
    for target in ("host", "cuda:sm_90"):
        program = folder / f"{name}-{target[:4]}"
        run("cleave", "compile", folder / f"{name}.onnx", "--target", target, "-o", program, *options)
        yield target[:4], program, emulated.environment(build) if target[0] == "c" else None


def same(what, found):
    if any(not np.array_equal(a.view(np.uint8), b.view(np.uint8)) for a, b in zip(*found)):
        sys.exit(f"{what}: {found}")
    print(f"{what}: the same bytes")


# Scatters of 40 columns, of 37, which are no whole pieces of 16 bytes, and along the last dimension.
for columns in (40, 37):
    x = {"x": random.standard_normal((3000, columns)).astype("f4")}
    rows = np.where(random.random(3000) < 0.4, 7, random.integers(-97, 97, 3000))
    constants = {"w": random.standard_normal((97, columns)).astype("f4"), "rows": rows[:, None], "flat": rows,
                 "places": random.integers(0, columns, (97, 60)), "u": random.standard_normal((97, 60)).astype("f4")}
    nodes = [helper.make_node("ScatterND", ["w", "rows", "x"], ["added"], reduction="add"),
             helper.make_node("ScatterND", ["w", "rows", "x"], ["set"]),
             helper.make_node("ScatterND", ["w", "rows", "x"], ["most"], reduction="max"),
             helper.make_node("ScatterElements", ["w", "places", "u"], ["elements"], axis=1, reduction="add"),
             helper.make_node("Gather", ["x", "flat"], ["looked"], axis=0),
             helper.make_node("GatherElements", ["w", "places"], ["picked"], axis=1)]
    outputs = [n.output[0] for n in nodes]
    save("scatter", nodes, x, outputs, constants)
    found = []
    for target, program, environment in programs("scatter"):
        arguments = [word for n in outputs for word in ("--output", f"{n}={folder}/{n}-{target}.npy")]
        run(program, "infer", "--input", f"x={folder}/x.npy", *arguments, environment=environment)
        found.append([np.load(folder / f"{n}-{target}.npy") for n in outputs])
    same(f"scatters of {columns} columns", found)
