"""emulated_labels.py BUILD FOLDER    Cross-entropy over many classes on the emulated CUDA device, against numpy in float64.

The sum that picks the label's term is a read at a computed place, and the maximum of a row and the sum of its exponentials are one pass
where registers do not hold the row (compiler/Codegen/Loops/PickedSum.h, CUDA/ScaledSum.h). Rows have -inf before and behind their numbers,
infinite and undefined elements that no label picks, and nothing but -inf; labels are ignored ones, and the first and last class. Then how
often a kernel reads its rows is told from its code."""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

build, folder = (pathlib.Path(a) for a in sys.argv[1:3])
ROWS, IGNORED = 9, -100
# (classes, classes in memory, type): kept in registers; a loop over vectors; rows cut out of longer ones, with a tail; chains of sums.
SHAPES = [(24, 24, "f32"), (1000, 1000, "f16"), (12296, 12296, "f32"), (12293, 12296, "f16"), (40009, 40016, "f32"), (270336, 270336, "f16")]
TYPES = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16)}


def model(classes, wide, kind):
    number = TYPES[kind][0]
    nodes = [helper.make_node("Slice", ["x", "first", "end", "axis"], ["cut"]), helper.make_node("Cast", ["cut"], ["logits"], to=TensorProto.FLOAT),
             helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "label"], ["loss"], reduction="none", ignore_index=IGNORED)]
    constants = {"first": [0], "end": [classes], "axis": [1]}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", number, [ROWS, wide]), helper.make_tensor_value_info("label", TensorProto.INT64, [ROWS])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [ROWS])],
                              [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def inputs(classes, wide, dtype):
    rng = np.random.default_rng(classes)
    x = (rng.standard_normal((ROWS, wide)) * 3).astype(dtype)
    label = rng.integers(0, classes, ROWS)
    label[:4] = [0, classes - 1, IGNORED, IGNORED]
    x[0, 1:], x[1, :-2] = -np.inf, -np.inf  # one class is certain; maxima come last
    x[2, 5], x[3, 7] = np.nan, np.inf  # ignored
    x[4, ::2] = -np.inf
    x[4, label[4]] = 1
    x[5] = -np.inf  # undefined
    x[6, :] = np.sort(x[6])  # the maximum changes all the time
    x[7, 11], label[7] = np.nan, 2  # undefined
    x[8, :] = 60
    return x, label


def expected(x, label):
    with np.errstate(all="ignore"):
        most = x.max(1)
        logs = np.log(np.exp(x - most[:, None]).sum(1))
        loss = -(x[np.arange(ROWS), np.maximum(label, 0)] - most - logs)
    return np.where(label == IGNORED, 0, loss)


def run(*command, **more):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=emulated.environment(build, **more))
    assert result.returncode == 0, result.stdout + result.stderr


def passes(dump):
    """How many loops over vectors of a row the kernel with exponentials has."""
    for entry in json.loads((dump / "index.json").read_text())["kernels"]:
        code = (dump / entry["code"]).read_text()
        code = code[code.index(f".entry cleave_{dump.stem}_{entry['kernel']}("):].split("\n}\n")[0]
        if "ex2.approx" in code:
            blocks = re.split(r"(?m)^\$", code)
            return sum("ld.global.nc.v" in block and re.search(r"bra\S*\s+\$" + re.escape(block.split(":")[0]), block) is not None for block in blocks)
    return None


wrong = 0
for classes, wide, kind in SHAPES:
    dtype = TYPES[kind][1]
    name = f"c{classes}"
    onnx.save(model(classes, wide, kind), folder / f"{name}.onnx")
    run("cleave", "compile", folder / f"{name}.onnx", "--target", "cuda:sm_90", "-o", folder / name, "--dump", folder / f"{name}.dump")
    x, label = inputs(classes, wide, dtype)
    np.save(folder / "x.npy", x), np.save(folder / "label.npy", label)
    run(folder / name, "infer", "--input", f"x={folder / 'x.npy'}", "--input", f"label={folder / 'label.npy'}", "--output", f"loss={folder / 'loss.npy'}")
    found, right = np.load(folder / "loss.npy"), expected(x[:, :classes].astype(np.float64), label)
    equal = np.isclose(found, right, rtol=3e-6, atol=3e-6, equal_nan=True)
    wrong += not equal.all()
    loops = passes(folder / f"{name}.dump")
    print(f"{classes} classes of {wide} in memory, {kind}: {loops} loops over vectors" + ("" if equal.all() else f"\n  {found}\n  {right}"))
sys.exit(f"{wrong} wrong" if wrong else 0)
