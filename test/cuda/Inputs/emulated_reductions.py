"""emulated_reductions.py BUILD FOLDER FIRST COUNT    Random reductions on the emulated CUDA device, against the reference evaluator in float64.

Each seed is a small graph around one or several reductions (along rows, columns, everything; with what is made of the sums, and what is
made beside them) of a shape around the sizes at which CUDA's code changes its form (compiler/Codegen/CUDA/ThreadForm.h): warps,
vectors, blocks, kept terms, split sums, ragged ends. The first seeds are WIDE. A seed runs under its own timing of the device."""
import pathlib
import random
import subprocess
import sys

import numpy as np
import onnx
import onnx.reference
from onnx import TensorProto, helper, numpy_helper

import emulated

build, folder = (pathlib.Path(a) for a in sys.argv[1:3])
first, count = map(int, sys.argv[3:])
SIZES = [1, 2, 3, 7, 8, 16, 24, 31, 32, 33, 40, 64, 72, 96, 100, 128, 130, 256, 264, 500, 512, 1000, 1024, 1032]
LONG = [2048, 4096, 1500, 8200, 5000, 10007]
LARGEST = 150_000  # elements
# Columns of a block of 1024 threads: those of an odd number, and of a kernel of several stages.
WIDE = [("reduce", "ReduceSum", [256, 4097], [0]), ("softmax", "", [1, 150, 64, 64], [1])]
TYPES = {"f32": (np.float32, 1.2e-7), "f16": (np.float16, 1e-3), "f64": (np.float64, 2.3e-16), "i32": (np.int32, 0)}


def draw_shape(r):
    if r.random() < 0.3:
        narrow = r.choice([1, 2, 3, 8, 9, 10, 16, 24, 40])
        long = r.choice([size for size in LONG if size * narrow <= LARGEST] or LONG[:1])
        return [long, narrow] if r.random() < 0.6 else [narrow, long]
    shape = [r.choice(SIZES) for _ in range(r.choice([2, 2, 3]))]
    while np.prod(shape) > LARGEST:
        shape[r.randrange(len(shape))] = r.choice([1, 2, 3, 8, 33])
    return shape


class Graph:
    def __init__(self, seed):
        r, rng = random.Random(seed), np.random.default_rng(seed)
        self.type = "f32" if seed < len(WIDE) else r.choice(["f32", "f32", "f16", "f64", "i32"])
        self.dtype, self.epsilon = TYPES[self.type]
        self.shape = WIDE[seed][2] if seed < len(WIDE) else draw_shape(r)
        is_int = self.type == "i32"
        self.x = (rng.integers(-50, 50, self.shape) if is_int else rng.standard_normal(self.shape) * 2).astype(self.dtype)
        rank = len(self.shape)
        self.axes = WIDE[seed][3] if seed < len(WIDE) else sorted(r.sample(range(rank), r.randint(1, rank)))
        self.nodes, self.outputs = [], []
        self.weights = [numpy_helper.from_array(np.array(self.axes), "axes")]
        self.kind = "reduce" if is_int else r.choice(["reduce", "softmax", "norm", "twice", "share", "joined", "padded"])
        floats = ["ReduceMean", "ReduceMin", "ReduceL2", "ReduceSumSquare"]
        self.reduction = r.choice(["ReduceSum", "ReduceMax"] + (["ReduceMin"] if is_int else floats))
        if seed < len(WIDE):
            self.kind, self.reduction = WIDE[seed][:2]
        getattr(self, self.kind)(r, rng)
        if not is_int and r.random() < 0.3:  # beside it
            self.node("Tanh", "x", "t", shown=True)
            self.node("ReduceSum", "t axes", "total", shown=True, keepdims=0)

    def node(self, op, inputs, output, shown=False, **attributes):
        self.nodes.append(helper.make_node(op, inputs.split(), [output], **attributes))
        self.outputs += [output] if shown else []

    def reduce(self, r, _):
        self.node(self.reduction, "x axes", "y", True, keepdims=r.choice([0, 1]))

    def twice(self, *_):
        self.node(self.reduction, "x axes", "y", True, keepdims=1)
        self.node("Sub", "x y", "apart")
        self.node("Abs", "apart", "z", True)
        self.node("ReduceMax", "z axes", "w", True, keepdims=0)

    def softmax(self, r, _):
        axis = r.randrange(len(self.shape)) if self.reduction else self.axes[0]
        self.node(r.choice(["Softmax", "LogSoftmax"]), "x", "y", True, axis=axis)

    def norm(self, _, rng):
        self.weights.append(numpy_helper.from_array(rng.standard_normal(self.shape[-1]).astype(self.dtype), "scale"))
        self.node("LayerNormalization", "x scale", "y", True, axis=-1)

    def share(self, *_):
        self.node("Sigmoid", "x", "s")
        self.node("ReduceSum", "s axes", "sum", keepdims=1)
        self.node("Div", "s sum", "y", True)
        self.node("ReduceMax", "x axes", "most", keepdims=1)
        self.node("Sub", "x most", "d", True)

    def joined(self, r, _):
        """Rows of a concatenation, of parts of rows or of whole ones, and sums of their columns or along them."""
        self.node("Tanh", "x", "bent")
        axis = r.choice([-1, r.randrange(len(self.shape))])
        self.node("Concat", r.choice(["x bent", "x bent x", "bent x"]), "y", r.random() < 0.7, axis=axis)
        self.node(self.reduction, "y axes", "z", True, keepdims=0)

    def padded(self, r, _):
        """Rows that a pad makes longer, and rows that were cut out of longer ones."""
        last = self.shape[-1]
        sizes = [0] * (2 * len(self.shape))
        sizes[len(self.shape) - 1], sizes[-1] = r.choice([(0, 1), (0, 7), (8, 0), (3, 5), (16, 24)])
        self.weights += [numpy_helper.from_array(np.array(value), name) for name, value in
                         (("pads", sizes), ("first", [0]), ("end", [max(1, last - r.choice([1, 2, 7]))]), ("last", [-1]))]
        self.node("Slice", "x first end last", "cut")
        self.node("Softmax", "cut", "y", True, axis=-1)
        self.node("Tanh", "x", "bent")
        self.node("Pad", "bent pads", "z", True)
        self.node(self.reduction, "z axes", "w", r.random() < 0.5, keepdims=0)

    def model(self, dtype):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        weights = [numpy_helper.from_array(numpy_helper.to_array(w).astype(dtype), w.name) if w.name == "scale" else w for w in self.weights]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", kind, self.shape)],
                                  [helper.make_tensor_value_info(o, kind, None) for o in self.outputs], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def run(command, seed):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                            env=emulated.environment(build, CLEAVE_EMULATED_SEED=str(seed)))
    return "" if result.returncode == 0 else result.stdout + result.stderr


def check(seed):
    """What is wrong with a seed; nothing where all is right."""
    graph = Graph(seed)
    onnx.save(graph.model(graph.dtype), folder / "m.onnx")
    np.save(folder / "x.npy", graph.x)
    outputs = [word for o in graph.outputs for word in ("--output", f"{o}={folder / o}.npy")]
    error = run(["cleave", "compile", folder / "m.onnx", "--target", "cuda:sm_90", "-o", folder / "p"], seed)
    error = error or run([folder / "p", "infer", "--input", f"x={folder / 'x.npy'}", *outputs], seed)
    what = f"seed {seed}: {graph.kind} {graph.reduction} {graph.type} {graph.shape} axes {graph.axes}"
    if error:
        return f"{what}\n{error[-1500:]}"
    wide = np.int32 if graph.type == "i32" else np.float64
    expected = onnx.reference.ReferenceEvaluator(graph.model(wide)).run(None, {"x": graph.x.astype(wide)})
    # Results are computed in f32 or f64 and rounded; a sum of terms of both signs may be much smaller than its terms.
    computed = min(graph.epsilon, TYPES["f32"][1])
    terms = np.prod([graph.shape[a] for a in graph.axes]) * np.abs(graph.x.astype(np.float64)).mean()
    for name, value in zip(graph.outputs, expected, strict=True):
        found, value = np.load(folder / f"{name}.npy").astype(np.float64), np.asarray(value, np.float64)
        if graph.type == "f16":
            value = np.where(np.abs(value) > 60000, found, value)  # beyond, or nearly beyond, its numbers
        size = np.abs(value) + np.abs(value).mean()
        is_sum = name == "total" or (graph.kind in ("reduce", "twice") and graph.reduction not in ("ReduceMax", "ReduceMin"))
        bound = 2 * graph.epsilon * size + computed * (20 * size + (4 * terms if is_sum else 0))
        if found.shape != value.shape or not (np.abs(found - value) <= bound).all():
            worst = np.nanmax(np.abs(found - value) / np.maximum(bound, 1e-300)) if found.shape == value.shape else np.nan
            return f"{what}: output {name} is {found.ravel()[:8]}...; expected {value.ravel()[:8]}...; {worst:.2g} of what is allowed"
    return ""


def main():
    wrong = [message for message in map(check, range(first, first + count)) if message]
    print("\n".join(wrong + [f"{count} graphs, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
