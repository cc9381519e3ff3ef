"""Random training jobs whose samples seldom meet before the loss (Job.meets), so that they may be dealt out to ranks and micro-batches:
dimension 0 of every value that steps read is the batch.

A job is a Graph that was evaluated at BATCH samples, with the data of STEPS such batches, and a loss: a mean, a sum, a cross-entropy with
ignored labels, a sum over what a mask counts divided by that count, with or without a penalty on weights.
"""
import numpy as np
import onnx
from onnx import helper, numpy_helper

import containers
import sample_forms
from building import OPSET, Graph, onnx_type

BATCH, STEPS = 8, 3
WAVES = ["Tanh", "Sigmoid", "Sin", "Erf", "Gelu", "Softplus", "Relu", "Abs", "LeakyRelu", "Identity"]
F4 = np.dtype("f4")


class Rejected(Exception):
    """No loss can be made of what has grown: its numbers are too many or too large."""


class Job:
    def __init__(self, seed):
        self.g = Graph(seed, [F4], trains=True)
        self.values, self.data, self.parameters, self.draws = [], {}, [], False
        self.tables = set()  # whose first dimension is not the batch
        self.blocks, self.meets, self.counts, self.seed = 0, False, False, seed

    # Data and parameters

    def input(self, shape, kind="normal", bound=None):
        """An input with data for every step; the graph is evaluated with the first batch."""
        rng, full = self.g.rng, [BATCH * STEPS, *shape]
        if kind == "normal":
            array = rng.standard_normal(full).astype(F4)
        elif kind == "mask":
            array = (rng.random(full) < 0.5).astype(F4)
            array[:2] = 0  # a micro-batch in which nothing counts
            array[2::BATCH] = 1
        elif kind == "share":
            array = rng.uniform(0.1, 2, full).astype(F4)
        else:
            array = rng.integers(0, bound, full).astype(np.int64)
            if kind == "labels":
                array[rng.random(full) < 0.3] = -100
                array[:2], array[2::BATCH] = -100, 0
        name = self.g._name("in", array[:BATCH])
        self.g.inputs.append(name)
        self.data[name] = array
        return name

    def parameter(self, shape, scale=1.0, around=0.0):
        name = self.g.constant((around + scale * self.g.rng.standard_normal(shape)).astype(F4))
        self.parameters.append(name)
        return name

    def shape(self, name):
        return list(self.g.arrays[name].shape)

    def emit(self, operator, inputs, count=1, **attributes):
        """The results, as values that later operators may read; None where they would not do."""
        made = self.g.emit(operator, inputs, count, attributes, pooled=False) if None not in inputs else None
        if made and self.g.arrays[made[0]].dtype == F4 and self.shape(made[0])[:1] == [BATCH]:
            self.values += [name for name in made if self.g.arrays[name].dtype == F4]
        return made and made[0]

    def hidden(self, operator, inputs, **attributes):
        """A result that other steps do not read: its dimension 0 need not be the batch."""
        made = self.g.emit(operator, inputs, attributes=attributes, pooled=False) if None not in inputs else None
        return made and made[0]

    def pick(self, low=2, high=4):
        """A late value of so many dimensions, the batch among them."""
        names = [name for name in self.values if low <= len(self.shape(name)) <= high]
        return names[-1 - min(int(self.g.rng.exponential(2)), len(names) - 1)] if names else None

    # Operators

    def linear(self, x, width=None, bias=None):
        inner, width = self.shape(x)[-1], width or self.g.choose([1, 2, 3, 5, 8, 16])
        fitting = [name for name in self.parameters if self.shape(name) == [inner, width]]
        turned = [name for name in self.parameters if self.shape(name) == [width, inner] and inner != width]
        kind = self.g.integer(0, 5)
        if kind == 0 and fitting:
            weight = self.g.choose(fitting)
        elif kind == 1 and turned:
            weight = self.g.emit("Transpose", [self.g.choose(turned)], attributes={"perm": [1, 0]}, pooled=False)[0]
        else:
            weight = self.parameter([inner, width], inner**-0.5)
        y = self.emit("MatMul", [x, weight])
        if y and (self.g.chance(0.6) if bias is None else bias):
            y = self.emit("Add", [y, self.parameter([width], 0.1)])
        return y

    def wave(self, x):
        return self.emit(self.g.choose(WAVES), [x])

    def normalize(self, x):
        width = self.shape(x)[-1:]
        kind = self.g.integer(0, 3)
        if kind == 0:
            return self.emit("Softmax", [x], axis=-1)
        if kind == 1:  # by the root of the mean of squares, in primitives
            squares = self.emit("Mul", [x, x])
            mean = squares and self.emit("ReduceMean", [squares, self.g.fixed([-1])], keepdims=1)
            root = mean and self.emit("Sqrt", [self.emit("Add", [mean, self.g.constant(np.float32(0.01))])])
            y = root and self.emit("Div", [x, root])
            return y and self.emit("Mul", [y, self.parameter(width, 0.1, 1)])
        return self.emit("LayerNormalization", [x, self.parameter(width, 0.1, 1), self.parameter(width, 0.1)], axis=-1, epsilon=0.01)

    def scale(self, x):
        shape = self.shape(x)[1:]
        while shape and self.g.chance(0.4):
            shape = shape[1:]
        shape = [size if self.g.chance(0.8) else 1 for size in shape]
        return self.emit(self.g.choose(["Add", "Mul", "Sub", "Max"]), [x, self.parameter(shape, 0.5)])

    def combine(self, x):
        same = [name for name in self.values if self.shape(name) == self.shape(x) and name != x]
        return self.emit(self.g.choose(["Add", "Mul", "Sub", "Max", "Min"]), [x, self.g.choose(same)]) if same else None

    def shrink(self, x):
        axes = sorted(self.g.rng.choice(np.arange(1, len(self.shape(x))), self.g.integer(1, len(self.shape(x)) - 1), replace=False).tolist())
        return self.emit("Reduce" + self.g.choose(["Mean", "Sum", "Max", "Min", "L2", "LogSumExp"]), [x, self.g.fixed(axes)], keepdims=1)

    def move(self, x):
        shape, rank = self.shape(x), len(self.shape(x))
        kind = self.g.integer(0, 5)
        if kind == 0 and rank > 2:
            return self.emit("Transpose", [x], perm=[0, *(1 + self.g.rng.permutation(rank - 1)).tolist()])
        if kind == 1 and rank > 2:
            return self.emit("Flatten", [x], axis=1)
        if kind == 2 and rank == 2 and shape[1] % 2 == 0:
            return self.emit("Reshape", [x, self.g.fixed([0, self.g.choose([2, shape[1] // 2]), -1])])
        axis = self.g.integer(1, rank - 1)
        if kind == 3:
            return self.emit("CumSum", [x, self.g.constant(np.int64(axis))], reverse=self.g.integer(0, 1))
        if kind == 4 and shape[axis] > 1:
            begin = self.g.integer(0, shape[axis] - 1)
            end = self.g.integer(begin + 1, shape[axis])
            return self.emit("Slice", [x, *(self.g.fixed([n]) for n in (begin, end, axis))])
        others = [name for name in self.values if len(self.shape(name)) == rank
                  and all(d == axis or a == b for d, (a, b) in enumerate(zip(self.shape(name), shape)))]
        return self.emit("Concat", [x, self.g.choose(others)], axis=axis)

    def attend(self, x):
        if len(self.shape(x)) != 3:
            return None
        width = self.g.choose([2, 4])
        q, k, v = (self.linear(x, width, bias=False) for _ in range(3))
        turned = k and self.emit("Transpose", [k], perm=[0, 2, 1])
        scores = q and turned and self.emit("MatMul", [q, turned])
        weights = scores and self.emit("Softmax", [self.emit("Mul", [scores, self.g.constant(np.float32(width**-0.5))])], axis=-1)
        mixed = weights and v and self.emit("MatMul", [weights, v])
        return mixed and self.linear(mixed, self.shape(x)[-1], bias=False)

    def convolve(self, x):
        shape = self.shape(x)
        if len(shape) < 3:
            return None
        kernel = [self.g.integer(1, min(3, size)) for size in shape[2:]]
        if self.g.chance(0.3):
            return self.emit(self.g.choose(["MaxPool", "AveragePool"]), [x], kernel_shape=kernel, strides=kernel)
        weight = self.parameter([self.g.integer(1, 4), shape[1], *kernel], (shape[1] * np.prod(kernel)) ** -0.5)
        return self.emit("Conv", [x, weight], kernel_shape=kernel, pads=[1] * (2 * len(kernel)))

    def look_up(self, x):
        del x
        rows, width, length = self.g.integer(2, 9), self.g.choose([2, 4, 8]), self.g.integer(1, 5)
        y = self.emit("Gather", [self.parameter([rows, width]), self.input([length], "index", rows)])
        return y and self.g.chance(0.5) and self.emit("Add", [y, self.parameter([length, width])])

    def choose(self, x):
        axis = self.g.integer(1, len(self.shape(x)) - 1)
        kind = self.g.integer(0, 2)
        if kind == 0:
            return self.emit("TopK", [x, self.g.fixed([self.g.integer(1, min(3, self.shape(x)[axis]))])], 2, axis=axis)
        if kind == 1:
            largest = self.emit("ReduceMax", [x, self.g.fixed([axis])], keepdims=1)
            equal = largest and self.g.emit("Equal", [x, largest], pooled=False)
            return equal and self.emit("Where", [equal[0], x, self.g.constant(np.float32(0))])
        positive = self.g.emit("Greater", [x, self.g.constant(np.float32(0.1))], pooled=False)
        return positive and self.emit("Where", [positive[0], x, self.parameter([1] * len(self.shape(x)))])

    def drop(self, x):
        made = self.emit("Dropout", [x, self.g.constant(np.float32(0.3)), self.g.constant(np.bool_(True))], 1) if self.draws else None
        return made

    def block(self, x):
        """Equal blocks one after the other, each with parameters of its own."""
        width, hidden, kind, wave = self.shape(x)[-1], self.g.choose([4, 8]), self.g.integer(0, 1), self.g.choose(WAVES[:7])
        for _ in range(self.g.integer(2, 4)):
            inner = self.emit("MatMul", [x, self.parameter([width, hidden], width**-0.5)])
            inner = inner and self.emit(wave, [self.emit("Add", [inner, self.parameter([hidden], 0.1)])])
            y = inner and self.emit("MatMul", [inner, self.parameter([hidden, width], hidden**-0.5)])
            y = y and self.drop(y) or y
            y = y and self.emit("Add", [x, y])
            if y and kind:
                y = self.emit("LayerNormalization", [y, self.parameter([width], 0.1, 1), self.parameter([width], 0.1)], axis=-1, epsilon=0.01)
            if not y:
                return None
            x = y
        self.blocks += 1
        return x

    # The loss

    def loss(self):
        leaves = self.leaves()
        y = leaves[0] if len(leaves) == 1 else self.joined(leaves) or leaves[-1]
        kind = self.g.choose(["mean", "sum", "labels", "masked", "mean", "counted", "counted", "counted"])
        self.counts = kind in ("labels", "masked", "counted")
        self.averages = kind != "sum"
        total = getattr(self, f"{kind}_loss")(y)
        if self.g.chance(0.25) and self.parameters:
            squares = self.scalar("ReduceSumSquare", [self.g.choose(self.parameters)], keepdims=0)
            total = self.scalar("Add", [total, self.scalar("Mul", [squares, self.g.constant(np.float32(0.01))])])
        self.g.outputs = [total]
        self.g._drop_unused()
        self.parameters = [name for name in self.parameters if name in self.g.constants]

    def leaves(self):
        read = {name for node in self.g.nodes for name in node.input}
        return [name for name in self.values if name not in read and name not in self.g.inputs][-4:] or self.values[-1:]

    def joined(self, leaves):
        flat = [made for made in (self.emit("Flatten", [name], axis=1) for name in leaves) if made]
        return flat and self.emit("Concat", flat, axis=1)

    def scalar(self, operator, inputs, **attributes):
        made = self.g.emit(operator, inputs, attributes=attributes, pooled=False)
        if not made:
            raise Rejected
        return made[0]

    def mean_loss(self, y):
        difference = self.scalar("Sub", [y, self.input(self.shape(y)[1:])])
        return self.scalar("ReduceMean", [self.scalar("Mul", [difference, difference])], keepdims=0)

    def sum_loss(self, y):
        return self.scalar("ReduceSum", [self.scalar("Tanh", [y])], keepdims=0)

    def labels_loss(self, y):
        flat = self.emit("Flatten", [y], axis=1)
        scores = flat and self.linear(flat, 5)
        if not scores:
            raise Rejected
        reduction = self.g.choose(["mean", "mean", "sum"])
        self.averages = reduction == "mean"
        return self.scalar("SoftmaxCrossEntropyLoss", [scores, self.input([], "labels", 5)], ignore_index=-100, reduction=reduction)

    def masked_loss(self, y):
        mask = self.input([], "mask")
        each = self.scalar("ReduceMean", [self.scalar("Sin", [self.emit("Flatten", [y], axis=1)]), self.g.fixed([1])], keepdims=0)
        total = self.scalar("ReduceSum", [self.scalar("Mul", [each, mask])], keepdims=0)
        count = self.scalar("Max", [self.scalar("ReduceSum", [mask], keepdims=0), self.g.constant(np.float32(1))])
        return self.scalar("Div", [total, count])

    def counted_loss(self, y):
        return sample_forms.counted_loss(self, y)

    # The file

    def needed(self, outputs):
        """The nodes that these outputs need, and the names that these read."""
        names, nodes = set(outputs), []
        for node in reversed(self.g.nodes):
            if names.intersection(node.output):
                nodes.append(node)
                names.update(node.input)
        return nodes[::-1], names

    def model(self, outputs, parameters):
        def port(name):
            shape = self.shape(name)
            sizes = shape if name in self.tables else shape and ["batch", *shape[1:]]
            return helper.make_tensor_value_info(name, onnx_type(self.g.arrays[name].dtype), sizes)
        nodes, names = self.needed(outputs)
        weights = [numpy_helper.from_array(self.g.arrays[name], name) for name in parameters if name in names]
        fixed = [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(self.g.arrays[name]))
                 for name in self.g.constants if name in names and name not in parameters]
        inputs = [port(name) for name in self.g.inputs if name in names]
        graph = helper.make_graph(fixed + nodes, "samples", inputs, [port(name) for name in outputs], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def save(self, path):
        model = self.model(self.g.outputs, self.parameters)
        onnx.save(containers.enclose(model, self.g.arrays, self.seed, fixed=False), path)


STEPS_OF_A_JOB = [(5, Job.linear), (4, Job.wave), (3, Job.normalize), (2, Job.scale), (3, Job.combine), (1, Job.shrink), (3, Job.move),
                  (1, Job.attend), (1.5, Job.convolve), (1, Job.look_up), (1, Job.choose), (1, Job.drop), (1.5, Job.block), *sample_forms.STEPS]


def grow(seed):
    job = Job(seed)
    job.draws = job.g.chance(0.2)
    shape = [job.g.choose([2, 3, 4, 6, 8]) for _ in range(job.g.integer(1, 3))]
    job.values.append(job.input(shape))
    weights = np.array([weight for weight, _ in STEPS_OF_A_JOB])
    for pick in job.g.rng.choice(len(STEPS_OF_A_JOB), job.g.integer(4, 24), p=weights / weights.sum()):
        x = job.pick()
        if x and np.prod(job.shape(x)) <= 2000:
            STEPS_OF_A_JOB[pick][1](job, x)
    job.linear(job.pick())
    job.loss()
    return job
