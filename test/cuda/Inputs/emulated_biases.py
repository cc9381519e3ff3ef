"""emulated_biases.py BUILD FOLDER    Products whose bias begins at any element of a larger constant, in 16 bits.

Each sum of a product and its bias is rounded once, by the product's epilogue, and a product with the identity stores it as f32."""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

build, folder = (pathlib.Path(a) for a in sys.argv[1:3])
random = np.random.default_rng(7)
FIRST = [0, 32, 33, 34, 36]  # elements of the constant
ROWS, DEPTH, COLUMNS = 6, 16, 24


def run(*command, environment=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


# Small integers and a bias in fractions of them: each sum is exact in f32, whatever its order.
x = random.integers(-8, 9, (ROWS, DEPTH)).astype("f4")
biases = (random.integers(-120, 120, FIRST[-1] + COLUMNS) / 8).astype("f4")
tensors = [numpy_helper.from_array(v, n) for n, v in (("biases", biases), ("axis", np.array([0])), ("same", np.eye(COLUMNS, dtype="f4")))]
nodes, expected = [], []
for number, first in enumerate(FIRST):
    weight = random.integers(-8, 9, (DEPTH, COLUMNS)).astype("f4")
    values = {"w": weight, "first": np.array([first]), "end": np.array([first + COLUMNS])}
    tensors += [numpy_helper.from_array(v, f"{n}{number}") for n, v in values.items()]
    nodes += [helper.make_node("MatMul", ["x", f"w{number}"], [f"m{number}"]),
              helper.make_node("Slice", ["biases", f"first{number}", f"end{number}", "axis"], [f"b{number}"]),
              helper.make_node("Add", [f"m{number}", f"b{number}"], [f"s{number}"]),
              helper.make_node("MatMul", [f"s{number}", "same"], [f"y{number}"])]
    expected.append(x @ weight + biases[first:first + COLUMNS])
outputs = [f"y{n}" for n in range(len(FIRST))]
ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], ports, tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "m.onnx")
np.save(folder / "x.npy", x)

for precision, bits in (("bf16", 8), ("fp16", 11)):
    found = {}
    for target in ("host", "cuda:sm_90"):
        program = folder / f"{precision}-{target[:4]}"
        run("cleave", "compile", folder / "m.onnx", "--precision", precision, "--target", target, "-o", program)
        arguments = [word for n in outputs for word in ("--output", f"{n}={folder}/{n}-{target[:4]}.npy")]
        run(program, "infer", "--input", f"x={folder}/x.npy", *arguments, environment=emulated.environment(build))
        found[target] = [np.load(folder / f"{n}-{target[:4]}.npy") for n in outputs]
    # Where the plan has the biases: the third operand of each launch.
    launches = re.findall(r"launch @matmul_bias\S* .*", run("cleave", "inspect", folder / f"{precision}-cuda", "--text"))
    places = sorted(int(re.findall(r"r \S+\[(0x[0-9a-f]+)", launch)[2], 16) for launch in launches)
    for first, a, b, exact in zip(FIRST, found["cuda:sm_90"], found["host"], expected, strict=True):
        unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(exact), 0.125))) + 1 - bits)
        rounded = np.round(exact / unit) * unit
        if not np.array_equal(a, rounded) or not np.array_equal(b, rounded):
            sys.exit(f"{precision}: with a bias from element {first} on: {a} on the device, {b} on the host; expected {rounded}")
    offsets = [str(place - places[0]) for place in places]
    print(f"{precision}: biases at {', '.join(offsets[:-1])} and {offsets[-1]} bytes more")
