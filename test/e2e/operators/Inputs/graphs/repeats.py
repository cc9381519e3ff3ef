"""Random graphs in which tables are repeated by the batch, and merged with it; trained on ranks as on one.

  repeats.py FOLDER --graphs N [--first SEED] [--every]

A sample is x[batch, d1, ..., dk]. Its dimensions are put in some order, the batch anywhere among them, and neighbours are merged. Tables over
some of these dimensions are brought to the same shape by Expand and Reshape, or by Tile, and combined with x, before and after they are
split again, transposed, cut and multiplied. Each graph trains on three layouts of layouts.LAYOUTS, or on all (--every).
"""
import argparse
import pathlib
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parents[3] / "Inputs")]
import layouts
import samples
from fuzz_graphs import Wrong, compile_model, run


class Builder:
    """`order` has the dimensions of x as they lie in `value`, 0 for the batch; `groups` those that are merged, in that order."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], {}, 0
        self.sizes = [None, *(int(size) for size in self.rng.choice([1, 2, 3, 4], self.rng.integers(1, 4)))]
        self.order = list(range(len(self.sizes)))
        self.groups = [[dim] for dim in self.order]
        self.batch = self.node("Gather", [self.node("Shape", ["x"]), self.ints([0])], axis=0)
        self.value = self.node("Mul", ["x", self.table([1] * len(self.sizes))])

    # Nodes

    def node(self, operator, inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(operator, inputs, [f"v{self.count}"], **attributes))
        return f"v{self.count}"

    def ints(self, numbers):
        self.count += 1
        array = numpy_helper.from_array(np.array(numbers, np.int64))
        self.nodes.append(helper.make_node("Constant", [], [f"v{self.count}"], value=array))
        return f"v{self.count}"

    def table(self, shape):
        """A parameter, or a constant of the graph."""
        self.count += 1
        array = self.rng.standard_normal(shape).astype(np.float32)
        if self.weights and self.rng.random() < 0.25:
            self.nodes.append(helper.make_node("Constant", [], [f"v{self.count}"], value=numpy_helper.from_array(array)))
        else:
            self.weights[f"v{self.count}"] = array
        return f"v{self.count}"

    def shape(self, numbers):
        """Of a shape in which None is the batch."""
        parts = [self.batch if number is None else self.ints([number]) for number in numbers]
        return self.node("Concat", parts, axis=0) if len(parts) > 1 else parts[0]

    def merged(self):
        """The shape of the groups: what the batch is in is -1."""
        return [-1 if 0 in group else int(np.prod([self.sizes[dim] for dim in group])) for group in self.groups]

    # Steps, each on the value as it is

    def arrange(self):
        """Splits all dimensions, puts them in another order, and merges neighbours."""
        self.split()
        before, self.order = self.order, [int(dim) for dim in self.rng.permutation(self.order)]
        self.value = self.node("Transpose", [self.value], perm=[before.index(dim) for dim in self.order])
        cuts = [bool(cut) for cut in self.rng.random(len(self.order) - 1) < 0.4]
        self.groups = [[self.order[0]]]
        for cut, dim in zip(cuts, self.order[1:]):
            if cut:
                self.groups.append([dim])
            else:
                self.groups[-1].append(dim)
        self.value = self.node("Reshape", [self.value, self.ints(self.merged())])

    def split(self):
        self.groups = [[dim] for dim in self.order]
        self.value = self.node("Reshape", [self.value, self.ints([-1 if dim == 0 else self.sizes[dim] for dim in self.order])])

    def repeated(self):
        """A table over some dimensions, repeated along the others: of the shape of the value."""
        used = {dim for dim in self.order if dim and self.rng.random() < 0.7}
        slots = [self.sizes[dim] if dim in used else 1 for dim in self.order]
        group = next(group for group in self.groups if 0 in group)
        if group[0] == 0 and self.rng.random() < 0.5:  # by Tile: all of the batch's group but the batch is the table's
            rows = [self.sizes[dim] for dim in group[1:]]
            shape = [int(np.prod(rows)) if 0 in other else size for other, size in zip(self.groups, self.merged())]
            table = self.node("Tile", [self.table(shape), self.shape([None if 0 in other else 1 for other in self.groups])])
        else:
            table = self.node("Expand", [self.table(slots), self.shape([self.sizes[dim] for dim in self.order])])
            table = self.node("Reshape", [table, self.ints(self.merged())])
        return self.node("Tanh", [table]) if self.rng.random() < 0.3 else table

    def combine(self):
        self.value = self.node(str(self.rng.choice(["Add", "Mul", "Sub"])), [self.value, self.repeated()])

    def scale_down(self):
        self.value = self.node("Tanh", [self.value])

    def combine_transposed(self):
        perm = [int(dim) for dim in self.rng.permutation(len(self.groups))]
        turned = [self.node("Transpose", [name], perm=perm) for name in (self.value, self.repeated())]
        back = [perm.index(dim) for dim in range(len(perm))]
        self.value = self.node("Transpose", [self.node("Mul", turned)], perm=back)

    def multiply(self):
        """Rows of the value with rows of the table."""
        if len(self.groups) < 3 or 0 in self.groups[-1] or 0 in self.groups[-2]:
            return self.combine()
        perm = [*range(len(self.groups) - 2), len(self.groups) - 1, len(self.groups) - 2]
        scores = self.node("MatMul", [self.value, self.node("Transpose", [self.repeated()], perm=perm)])
        self.value = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), self.value])
        return None

    def combine_parts(self):
        """The table is split again as the value is."""
        table = self.repeated()
        self.split()
        table = self.node("Reshape", [table, self.ints([-1 if dim == 0 else self.sizes[dim] for dim in self.order])])
        self.value = self.node("Mul", [self.value, table])

    def cut(self):
        """A slice of both along a dimension without the batch, put back by a table's elements."""
        dims = [dim for dim, group in enumerate(self.groups) if 0 not in group and self.merged()[dim] > 1]
        if not dims:
            return self.combine()
        dim = int(self.rng.choice(dims))
        table = self.repeated()
        ends = [(0, 1), (1, self.merged()[dim])]
        parts = [[self.node("Slice", [name, self.ints([low]), self.ints([high]), self.ints([dim])]) for low, high in ends]
                 for name in (self.value, table)]
        self.value = self.node("Concat", [self.node("Add", [parts[0][0], parts[1][0]]), self.node("Mul", [parts[0][1], parts[1][1]])], axis=dim)
        return None

    # The whole

    def job(self):
        steps = [self.combine, self.scale_down, self.combine_transposed, self.multiply, self.combine_parts, self.cut]
        self.arrange()
        self.combine()
        for pick in self.rng.integers(0, len(steps) + 2, self.rng.integers(1, 5)):
            (steps[pick] if pick < len(steps) else self.arrange)()
        squares = self.node("Mul", [self.node("Tanh", [self.value]), self.node("Sigmoid", [self.value])])
        self.nodes.append(helper.make_node("ReduceMean", [squares], ["loss"], keepdims=0))
        data = self.rng.standard_normal([samples.BATCH * samples.STEPS, *self.sizes[1:]]).astype(np.float32)
        return SimpleNamespace(g=SimpleNamespace(inputs=["x"], outputs=["loss"], arrays=self.weights), data={"x": data},
                               parameters=list(self.weights), save=self.save)

    def save(self, path):
        weights = [numpy_helper.from_array(array, name) for name, array in self.weights.items()]
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", *self.sizes[1:]])
        loss = helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])
        graph = helper.make_graph(self.nodes, "repeats", [x], [loss], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def check(seed, folder, names):
    job = Builder(seed).job()
    runner = layouts.Runner(job, folder, [], compile_model, run, Wrong)
    one = runner.train("one", 1, [])
    for name in names:
        _, micro, options = layouts.LAYOUTS[name]
        reason = layouts.compare(job, one, runner.train(name, micro, options), 2e-6)
        if reason:
            raise Wrong(f"{name} {' '.join(options)}: {reason}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphs", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", action="store_true")
    options = parser.parse_args()
    failures = []
    for seed in range(options.first, options.first + options.graphs):
        folder = options.folder / str(seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        ranks = np.random.default_rng(seed)
        names = list(layouts.LAYOUTS) if options.every else ["dp2", *ranks.choice(["fsdp2", "dp4", "dp2-fsdp2", "dp2-micro2", "zero-2"], 2, replace=False)]
        try:
            check(seed, folder, names)
            shutil.rmtree(folder)
        except Wrong as error:
            failures.append(seed)
            print(f"graph {seed} in {folder}: {error}", flush=True)
    print(f"{options.graphs - len(failures)} of {options.graphs} graphs train on ranks as on one")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
