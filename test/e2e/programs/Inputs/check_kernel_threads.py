"""Products, convolutions, sums and loops of all sizes on 1 to 5 threads: every byte of the results is the same.

The library cuts a kernel, and may choose another format of its packed weights, for the number of threads that it is told of. A second program of the same
graph is planned for one thread; it gives these bytes, too.

  check_kernel_threads.py FOLDER
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

THREADS = [1, 2, 3, 4, 5]
# Input channels, size of the image, output channels, kernel, stride, groups; from a microsecond to milliseconds.
CONVOLUTIONS = [(3, 64, 16, 3, 2, 1), (16, 7, 24, 1, 1, 1), (32, 28, 32, 3, 1, 32), (40, 14, 240, 1, 1, 1), (96, 14, 96, 5, 1, 96),
                (64, 56, 64, 3, 1, 1), (120, 28, 40, 1, 1, 1), (480, 1, 120, 1, 1, 1), (160, 7, 960, 1, 1, 1), (48, 15, 33, 3, 2, 1)]
# Rows, inner size, columns.
PRODUCTS = [(1, 64, 40), (4, 100, 1000), (16, 384, 384), (128, 256, 512), (64, 1200, 96), (300, 768, 768)]
# Matrices, rows, inner size, columns, whether the right operand is transposed.
BATCHES = [(8, 1, 1040, 64, False), (8, 3, 1040, 192, True), (24, 8, 1200, 48, True), (16, 32, 16, 32, False)]
# Terms of each of 1017 sums. A loop may compute neighbouring short sums in one vector.
SUMS = [2, 3, 8, 16, 32, 100, 700]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


class Graph:
    def __init__(self):
        self.random = np.random.default_rng(5)
        self.nodes, self.weights, self.inputs, self.outputs, self.arrays = [], [], [], [], {}

    def weight(self, name, *shape):
        self.weights.append(numpy_helper.from_array(self.random.standard_normal(shape).astype("f4") / np.sqrt(np.prod(shape[1:])).astype("f4"), name))
        return name

    def input(self, name, *shape):
        self.arrays[name] = self.random.standard_normal(shape).astype("f4")
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def convolution(self, i, channels, size, out, kernel, stride, groups):
        x, w, b = self.input(f"image{i}", 1, channels, size, size), self.weight(f"w{i}", out, channels // groups, kernel, kernel), self.weight(f"b{i}", out)
        self.nodes.append(helper.make_node("Conv", [x, w, b], [f"conv{i}"], strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups))
        self.nodes.append(helper.make_node("Sigmoid", [f"conv{i}"], [f"gate{i}"]))
        self.nodes.append(helper.make_node("Mul", [f"conv{i}", f"gate{i}"], [f"c{i}"]))
        self.outputs.append(f"c{i}")

    def product(self, i, rows, inner, columns):
        self.nodes.append(helper.make_node("MatMul", [self.input(f"rows{i}", rows, inner), self.weight(f"m{i}", inner, columns)], [f"product{i}"]))
        self.nodes.append(helper.make_node("Softmax", [f"product{i}"], [f"p{i}"], axis=1))
        self.outputs += [f"p{i}"]

    def batch(self, i, matrices, rows, inner, columns, is_transposed):
        left = self.input(f"left{i}", matrices, rows, inner)
        right = self.input(f"right{i}", matrices, *((columns, inner) if is_transposed else (inner, columns)))
        if is_transposed:
            self.nodes.append(helper.make_node("Transpose", [right], [f"turned{i}"], perm=[0, 2, 1]))
            right = f"turned{i}"
        self.nodes.append(helper.make_node("MatMul", [left, right], [f"matrices{i}"]))
        self.outputs.append(f"matrices{i}")

    def sums(self, i, terms):
        x = self.input(f"terms{i}", 1017, terms)
        self.nodes += [helper.make_node("Mul", [x, x], [f"squares{i}"]), helper.make_node("ReduceSum", [f"squares{i}", "last"], [f"sums{i}"], keepdims=0)]
        self.outputs.append(f"sums{i}")

    def save(self, path):
        self.weights.append(numpy_helper.from_array(np.array([1]), "last"))
        graph = helper.make_graph(self.nodes, "g", self.inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs],
                                  self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
        for name, array in self.arrays.items():
            np.save(path.parent / f"{name}.npy", array)


def infer(folder, program, graph, threads):
    target = folder / f"{program}.{threads}"
    target.mkdir()
    inputs = [part for name in graph.arrays for part in ("--input", f"{name}={folder / name}.npy")]
    outputs = [part for name in graph.outputs for part in ("--output", f"{name}={target / name}.npy")]
    run(folder / program, "infer", *inputs, *outputs, "--threads", threads)
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


def main():
    folder = pathlib.Path(sys.argv[1])
    graph = Graph()
    for i, sizes in enumerate(CONVOLUTIONS):
        graph.convolution(i, *sizes)
    for i, sizes in enumerate(PRODUCTS):
        graph.product(i, *sizes)
    for i, sizes in enumerate(BATCHES):
        graph.batch(i, *sizes)
    for i, terms in enumerate(SUMS):
        graph.sums(i, terms)
    graph.save(folder / "g.onnx")
    for planned in (1, max(THREADS)):
        run("cleave", "compile", folder / "g.onnx", "-o", folder / f"for{planned}", "--target", f"host,threads={planned}")
    expected = infer(folder, "for1", graph, 1)
    found = {threads: infer(folder, f"for{max(THREADS)}", graph, threads) for threads in THREADS}
    for threads, results in found.items():
        for name, bytes in expected.items():
            if results[name] != bytes:
                sys.exit(f"{name}: on {threads} threads other bytes than by the program for one")
    if len(set(expected.values())) != len(expected):
        sys.exit("two results are equal: the graph computes too little to show anything")
    print(f"{len(expected)} results on {len(found)} numbers of threads")


if __name__ == "__main__":
    main()
