"""Random small models, trained by Cleave with a random choice of every option that leaves the numbers alone, and by PyTorch in float64.

  check_random_trainings.py FOLDER [--first N] [--count N] [--seconds S] [--precision f32|bf16|fp16]

A model has what pipelines find hard: several terms of the loss, weights that stages share, skips over any distance, masks and integers that
several stages read, statistics of a batch, labels that do not count and are unevenly spread. A run is a choice of mesh, schedule, cut,
strategy, accumulation, recomputation, offloading, optimizer with groups, schedule of the rate, clipping, precision and form of the data; half
of the runs go on in another layout in the middle. Compared are each step's loss and norm of the gradients, the weights after ten steps, the
loss of an evaluation, and what the exported file computes in onnxruntime. Errors may be twice those of PyTorch in the same precision.
"""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.nn import functional

STEPS, CLASSES, WORDS = 10, 6, 13
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Graph:
    """An ONNX graph under construction."""
    large = False

    def __init__(self, rng):
        self.rng, self.nodes, self.weights, self.constants, self.inputs, self.has_batch_norm = rng, [], {}, {}, {}, False

    def pick(self, *of):
        return of[self.rng.integers(len(of))]

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def add(self, op, *operands, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(operands), names, name=f"{op.lower()}{len(self.nodes)}", **attributes))
        return names[0]

    def weight(self, *shape, value=None, scale=None):
        name = f"{'w' if len(shape) > 1 else 'b'}{len(self.weights)}"
        array = np.full(shape, value) if value is not None else self.rng.normal(0, scale or shape[0] ** -0.5, shape)
        self.weights[name] = array.astype(np.float32)
        return name

    def constant(self, value):
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(self.constants[name], name)))
        return name

    def number(self, value):
        return self.constant(np.float32(value))

    def input(self, name, kind, *shape):
        self.inputs[name] = (kind, list(shape))
        return name

    def drop_unused(self):
        used, kept = {"loss", "logits"}, []
        for node in reversed(self.nodes):
            if used & set(node.output):
                used |= set(node.input)
                kept.append(node)
        self.nodes = kept[::-1]
        self.weights = {name: array for name, array in self.weights.items() if name in used}
        self.inputs = {name: how for name, how in self.inputs.items() if name in used}

    def linear(self, x, width, out, weight=None):
        y = self.add("MatMul", x, weight or self.weight(width, out))
        return self.add("Add", y, self.weight(out, scale=0.1)) if self.maybe(0.8) else y

    def norm(self, x, width):
        return self.add("LayerNormalization", x, self.weight(width, value=1), self.weight(width, value=0), axis=-1)

    def batch_norm(self, x, width):
        self.has_batch_norm = True
        names = [self.weight(width, value=1), self.weight(width, value=0)]
        for value in (0, 1):
            name = f"running{len(self.constants)}"
            self.constants[name] = np.full(width, value, np.float32)
            names.append(name)
        return self.add("BatchNormalization", x, *names, outputs=3, training_mode=1)

    def activation(self, x):
        return self.add(self.pick("Relu", "Tanh", "Sigmoid", "Softplus"), x)

    def cross_entropy(self, logits, labels):
        return self.add("SoftmaxCrossEntropyLoss", logits, labels, reduction="mean", ignore_index=-100)

    def square(self, y, target):
        difference = self.add("Sub", y, target)
        return self.add("ReduceMean", self.add("Mul", difference, difference), keepdims=0)


def perceptron(g):
    width, depth = g.pick(67, 130, 257) if g.large else g.pick(8, 12), int(g.rng.integers(3, 7))
    x = g.activation(g.linear(g.input("x", "float", "batch", 10), 10, width))
    past, tied = [x], g.weight(width, width) if g.maybe() else None
    for _ in range(depth):
        x = g.linear(x, width, width, tied if tied and g.maybe(0.5) else None)
        if g.maybe(0.4):
            x = g.batch_norm(x, width) if g.maybe() else g.norm(x, width)
        x = g.activation(x)
        if g.maybe(0.4):
            x = g.add("Add", x, g.pick(*past))
        past.append(x)
    return past, width, x, []


def image(g):
    channels, depth = g.pick(33, 48, 96) if g.large else g.pick(3, 6), int(g.rng.integers(2, 5))
    groups = g.pick(1, 3)

    def conv(x, n, groups=1):
        return g.add("Conv", x, g.weight(channels, n // groups, 3, 3, scale=0.3), g.weight(channels, value=0.1), pads=[1, 1, 1, 1], group=groups)

    x = g.activation(conv(g.input("x", "float", "batch", 3, *([17, 13] if g.large else [6, 6])), 3))
    past = [x]
    for i in range(depth):
        x = conv(x, channels, groups if i else 1)
        if g.maybe():
            x = g.batch_norm(x, channels)
        x = g.activation(x)
        if g.maybe():
            x = g.add("Add", x, g.pick(*past))
        past.append(x)
    pooled = [g.add("ReduceMean", p, axes=[2, 3], keepdims=0) for p in past]
    return pooled, channels, pooled[-1], []


def language(g):
    """Tokens, read again by a late stage; a mask, read by each layer and by the mean over positions; a table that both ends share."""
    width, length, depth = 8, 5, int(g.rng.integers(2, 4))
    if g.large:
        width, length = g.pick(24, 65), g.pick(19, 70)
    table, tokens = g.weight(WORDS, width, scale=0.5), g.input("tokens", "words", "batch", length)
    masked = g.maybe(0.6)
    mask = g.input("mask", "mask", "batch", length) if masked else None
    x = g.add("Add", g.add("Gather", table, tokens), g.weight(length, width, scale=0.2))
    past = [x]
    for i in range(depth):
        n = g.norm(x, width)
        q, k, v = (g.linear(n, width, width) for _ in range(3))
        scores = g.add("Mul", g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 1])), g.number(0.35))
        if masked:
            row = g.add("Unsqueeze", mask, g.constant(np.int64([1])))
            if g.maybe():
                scores = g.add("Add", scores, g.add("Mul", g.add("Sub", g.number(1), row), g.number(-30)))
            else:
                scores = g.add("Where", g.add("Greater", row, g.number(0.5)), scores, g.number(-30))
        x = g.add("Add", x, g.linear(g.add("MatMul", g.add("Softmax", scores, axis=-1), v), width, width))
        n = g.norm(x, width)
        x = g.add("Add", x, g.linear(g.activation(g.linear(n, width, 2 * width)), 2 * width, width))
        if i and g.maybe():  # the same integers once more
            x = g.add("Add", x, g.add("Gather", table if g.maybe() else g.weight(WORDS, width, scale=0.3), tokens))
        past.append(x)
    if g.maybe():
        x = g.add("Add", x, past[0])

    def mean(x):
        if not masked:
            return g.add("ReduceMean", x, axes=[1], keepdims=0)
        column = g.add("Unsqueeze", mask, g.constant(np.int64([2])))
        total = g.add("ReduceSum", g.add("Mul", x, column), g.constant(np.int64([1])), keepdims=0)
        return g.add("Div", total, g.add("ReduceSum", mask, g.constant(np.int64([1])), keepdims=1))

    terms = []
    if g.maybe():  # each position's own loss, by the shared table
        logits = g.add("MatMul", g.norm(x, width), g.add("Transpose", table, perm=[1, 0]))
        following = g.add("Reshape", g.input("following", "next", "batch", length), g.constant(np.int64([-1])))
        terms.append(g.cross_entropy(g.add("Reshape", logits, g.constant(np.int64([-1, WORDS]))), following))
    return [mean(p) for p in past], width, mean(x), terms


def recurrent(g):
    """Layers that go over positions, one after the other, with lengths of their own for each sample or none."""
    width, length, size = (40, 9, 33) if g.large else (8, 5, 4)
    x = g.add("Gather", g.weight(WORDS, width, scale=0.5), g.input("tokens", "words", "batch", length))
    x = g.add("Transpose", x, perm=[1, 0, 2])
    lengths = g.input("lengths", "lengths", "batch") if g.maybe() else ""
    past = []
    for i in range(int(g.rng.integers(1, 4))):
        kind = g.pick("LSTM", "GRU", "RNN")
        gates, both = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], g.maybe(0.4)
        directions = 2 if both else 1
        more = dict(linear_before_reset=int(g.maybe())) if kind == "GRU" else {}
        made = [g.weight(directions, gates * size, n, scale=0.4) for n in (width, size)]
        operands = [x, *made, g.weight(directions, 2 * gates * size, scale=0.2), lengths]
        if g.maybe(0.4):  # a first state, which is trained
            operands.append(g.add("Expand", g.weight(directions, 1, size, scale=0.3), g.add("Concat", g.constant(np.int64([directions])), g.add(
                "Shape", g.add("Transpose", x, perm=[1, 0, 2]), start=0, end=1), g.constant(np.int64([size])), axis=0)))
        y = g.add(kind, *operands, outputs=2, hidden_size=size, direction="bidirectional" if both else g.pick("forward", "reverse"), **more)
        last = g.add("Reshape", g.add("Transpose", g.nodes[-1].output[1], perm=[1, 0, 2]), g.constant(np.int64([0, -1])))
        # [length, directions, batch, size] to [length, batch, width]
        y = g.add("Reshape", g.add("Transpose", y, perm=[0, 2, 1, 3]), g.constant(np.int64([0, 0, -1])))
        x = g.linear(y, directions * size, width)
        past.append(g.linear(last, directions * size, width) if g.maybe() else g.add("ReduceMean", x, axes=[0], keepdims=0))
    return past, width, past[-1], []


KINDS = [perceptron, image, language, recurrent]


def build(seed):
    g = Graph(np.random.default_rng(seed))
    past, width, x, terms = KINDS[seed % 4](g)
    logits = g.linear(x, width, CLASSES)
    labels = g.input("labels", "classes", "batch")
    terms.append(g.cross_entropy(logits, labels))
    if g.maybe(0.4):  # an early head, which reads the labels in another stage
        terms.append(g.cross_entropy(g.linear(past[len(past) // 2], width, CLASSES), labels))
    if g.maybe(0.4):
        terms.append(g.square(g.linear(g.pick(*past), width, 2), g.input("target", "float", "batch", 2)))
    if g.maybe(0.3):
        weights = g.input("share", "share", "batch", 1)
        squares = g.add("Mul", g.add("Mul", x, x), weights)
        terms.append(g.add("Div", g.add("ReduceSum", squares, keepdims=0), g.add("ReduceSum", weights, keepdims=0)))
    loss = terms[0]
    for term in terms[1:]:
        loss = g.add("Add", loss, g.add("Mul", term, g.number(g.pick(0.1, 0.5, 1.0))))
    g.nodes += [helper.make_node("Identity", [loss], ["loss"], name="loss"), helper.make_node("Identity", [logits], ["logits"], name="logits")]
    g.terms = len(terms)
    g.drop_unused()
    return g


def save(g, path):
    kinds = {"lengths": TensorProto.INT32, "float": TensorProto.FLOAT, "mask": TensorProto.FLOAT, "share": TensorProto.FLOAT}
    inputs = [helper.make_tensor_value_info(name, kinds.get(kind, TensorProto.INT64), shape) for name, (kind, shape) in g.inputs.items()]
    outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []), helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])]
    tensors = [numpy_helper.from_array(array, name) for name, array in {**g.weights, **g.constants}.items() if not name.startswith("constant")]
    model = helper.make_model(helper.make_graph(g.nodes, "random", inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


# The graph in torch

class InTorch:
    """`groups`: how samples of a step fall into parts that have statistics of their own, as [samples] -> part."""

    def __init__(self, g, kind, training=True, parts=None, running=None):
        self.g, self.kind, self.training, self.parts, self.running = g, kind, training, parts, running

    def __call__(self, weights, data):
        wide = self.kind if self.kind not in HALF.values() else torch.float32
        values = {name: torch.tensor(array) for name, array in self.g.constants.items()} | data | weights
        values = {name: v.to(self.kind) if v.is_floating_point() else v for name, v in values.items()}
        for node in self.g.nodes:
            if node.op_type == "Constant":
                continue
            a = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
            operands = [values[name] if name else None for name in node.input]
            result = getattr(self, node.op_type)(a, wide, *operands)
            values |= zip(node.output, result if isinstance(result, list) else [result])
        return values["loss"], values["logits"]

    Add = lambda s, a, w, x, y: x + y
    Sub = lambda s, a, w, x, y: x - y
    Mul = lambda s, a, w, x, y: x * y
    Div = lambda s, a, w, x, y: x / y
    Greater = lambda s, a, w, x, y: x > y
    Where = lambda s, a, w, c, x, y: torch.where(c, x, y)
    MatMul = lambda s, a, w, x, y: x @ y
    Identity = lambda s, a, w, x: x
    Relu = lambda s, a, w, x: torch.relu(x)
    Tanh = lambda s, a, w, x: torch.tanh(x)
    Sigmoid = lambda s, a, w, x: torch.sigmoid(x)
    Softplus = lambda s, a, w, x: functional.softplus(x)
    Gather = lambda s, a, w, table, x: table[x]
    Transpose = lambda s, a, w, x: x.permute(a["perm"])
    Unsqueeze = lambda s, a, w, x, axes: x.unsqueeze(int(axes[0]))
    Softmax = lambda s, a, w, x: x.softmax(-1)
    Reshape = lambda s, a, w, x, shape: x.reshape([int(n) or x.shape[i] for i, n in enumerate(shape)])
    LayerNormalization = lambda s, a, w, x, scale, bias: functional.layer_norm(x, scale.shape, scale, bias, 1e-5)
    Conv = lambda s, a, w, x, k, b: functional.conv2d(x, k, b, padding=1, groups=a["group"])
    SoftmaxCrossEntropyLoss = lambda s, a, w, x, y: functional.cross_entropy(x.to(w), y, ignore_index=-100)

    def ReduceMean(self, a, wide, x):
        axes = a.get("axes", list(range(x.dim())))
        return x.to(wide).mean(axes, keepdim=bool(a["keepdims"])).to(self.kind if "axes" in a else wide)

    def ReduceSum(self, a, wide, x, axes=None):
        axes = [int(i) for i in axes] if axes is not None else list(range(x.dim()))
        return x.to(wide).sum(axes, keepdim=bool(a["keepdims"])).to(self.kind if len(axes) < x.dim() else wide)

    Shape = lambda s, a, w, x: torch.tensor([x.shape[0]])
    Concat = lambda s, a, w, *of: torch.cat(of)
    Expand = lambda s, a, w, x, shape: x.expand([int(n) for n in shape])

    def steps(self, a, x, w, r, b, lengths, initial, cell):
        """[length, directions, batch, size] of a recurrent layer, and its last state; `cell` makes the next state of an input and a state."""
        size, result, last = a["hidden_size"], [], []
        for d in range(len(w)):
            nothing = torch.zeros(x.shape[1], size, dtype=x.dtype)
            state = (nothing if initial is None else initial[d], nothing)
            out, backward = [None] * len(x), d == 1 or a["direction"] == b"reverse"
            for t in reversed(range(len(x))) if backward else range(len(x)):
                after = cell(x[t], w[d], r[d], b[d], state)
                counts = torch.ones(x.shape[1], 1, dtype=torch.bool) if lengths is None else (t < lengths)[:, None]
                state = tuple(torch.where(counts, new, old) for new, old in zip(after, state))
                out[t] = torch.where(counts, after[0], torch.zeros_like(after[0]))
            result.append(torch.stack(out))
            last.append(state[0])
        return [torch.stack(result, 1), torch.stack(last)]

    def LSTM(self, a, wide, x, w, r, b, lengths, initial=None):
        def cell(x, w, r, b, state):
            i, o, f, c = (x @ w.T + state[0] @ r.T + b[:len(w)] + b[len(w):]).chunk(4, -1)
            memory = f.sigmoid() * state[1] + i.sigmoid() * c.tanh()
            return o.sigmoid() * memory.tanh(), memory
        return self.steps(a, x, w, r, b, lengths, initial, cell)

    def RNN(self, a, wide, x, w, r, b, lengths, initial=None):
        def cell(x, w, r, b, state):
            return (x @ w.T + state[0] @ r.T + b[:len(w)] + b[len(w):]).tanh(), state[1]
        return self.steps(a, x, w, r, b, lengths, initial, cell)

    def GRU(self, a, wide, x, w, r, b, lengths, initial=None):
        def cell(x, w, r, b, state):
            xz, xr, xh = (x @ w.T + b[:len(w)]).chunk(3, -1)
            (rz, rr, rh), (bz, br, bh) = r.chunk(3), b[len(w):].chunk(3)
            z, reset = (xz + state[0] @ rz.T + bz).sigmoid(), (xr + state[0] @ rr.T + br).sigmoid()
            inner = reset * (state[0] @ rh.T + bh) if a["linear_before_reset"] else (reset * state[0]) @ rh.T + bh
            new = (xh + inner).tanh()
            return (1 - z) * new + z * state[0], state[1]
        return self.steps(a, x, w, r, b, lengths, initial, cell)

    def BatchNormalization(self, a, wide, x, scale, bias, mean, variance):
        if not self.training:
            return functional.batch_norm(x, mean, variance, scale, bias, False, 0, 1e-5)
        result = torch.zeros_like(x)
        for part in range(int(self.parts.max()) + 1):
            rows = torch.nonzero(self.parts == part)[:, 0]
            result = result.index_copy(0, rows, functional.batch_norm(x[rows], None, None, scale, bias, True, 0, 1e-5))
        return result


class Optimizer:
    """The rules of docs/training.md on torch tensors, in the type of the parameters."""

    def __init__(self, kind, settings, group):
        self.kind, self.o, self.group, self.state = kind, settings, group, {}

    def step(self, t, lr, parameters, gradients):
        for name, p in parameters.items():
            if name not in gradients:
                continue
            o = dict(self.o)
            rate, s = lr, self.state.setdefault(name, {})
            if self.group and self.group[0](name):
                o["weight_decay"], rate = self.group[1], lr * self.group[2]
            decay = o.get("weight_decay", {"adamw": 0.01, "lamb": 0.01}.get(self.kind, 0))
            parameters[name] = getattr(self, self.kind)(o, s, p, gradients[name], rate, decay, t)

    def sgd(self, o, s, p, g, lr, decay, t):
        g = g + decay * p
        if not o.get("momentum"):
            return p - lr * g
        m = o["momentum"]
        s["m"] = g if "m" not in s else m * s["m"] + (1 - o.get("dampening", 0)) * g
        return p - lr * (g + m * s["m"] if o.get("nesterov") else s["m"])

    def moments(self, o, s, g, t):
        b1, b2 = o.get("beta1", 0.9), o.get("beta2", 0.999)
        s["m"], s["v"] = b1 * s.get("m", 0) + (1 - b1) * g, b2 * s.get("v", 0) + (1 - b2) * g * g
        return s["m"] / (1 - b1 ** t), s["v"] / (1 - b2 ** t)

    def adam(self, o, s, p, g, lr, decay, t):
        m, v = self.moments(o, s, g + decay * p, t)
        return p - lr * m / (v.sqrt() + o.get("eps", 1e-8))

    def adamw(self, o, s, p, g, lr, decay, t):
        return self.adam(o, s, p * (1 - lr * decay), g, lr, 0, t)

    def adadelta(self, o, s, p, g, lr, decay, t):
        rho, eps, g = o.get("rho", 0.9), o.get("eps", 1e-6), g + decay * p
        s["v"] = rho * s.get("v", 0) + (1 - rho) * g * g
        d = (s.get("d", torch.zeros_like(p)) + eps).sqrt() / (s["v"] + eps).sqrt() * g
        s["d"] = rho * s.get("d", 0) + (1 - rho) * d * d
        return p - lr * d

    def rmsprop(self, o, s, p, g, lr, decay, t):
        alpha, g = o.get("alpha", 0.99), g + decay * p
        s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
        average = s["v"]
        if o.get("centered"):
            s["a"] = alpha * s.get("a", 0) + (1 - alpha) * g
            average = average - s["a"] ** 2
        d = g / (average.sqrt() + o.get("eps", 1e-8))
        if o.get("momentum"):
            s["b"] = d = o["momentum"] * s.get("b", 0) + d
        return p - lr * d

    def adagrad(self, o, s, p, g, lr, decay, t):
        g = g + decay * p
        s["v"] = s.get("v", o.get("initial_accumulator_value", 0)) + g * g
        return p - lr / (1 + (t - 1) * o.get("lr_decay", 0)) * g / (s["v"].sqrt() + o.get("eps", 1e-10))

    def lion(self, o, s, p, g, lr, decay, t):
        b1, b2 = o.get("beta1", 0.9), o.get("beta2", 0.99)
        d = torch.sign(b1 * s.get("m", 0) + (1 - b1) * g) + decay * p
        s["m"] = b2 * s.get("m", 0) + (1 - b2) * g
        return p - lr * d

    def lamb(self, o, s, p, g, lr, decay, t):
        m, v = self.moments(o, s, g, t)
        d = m / (v.sqrt() + o.get("eps", 1e-6)) + decay * p
        a, b = p.norm(), d.norm()
        return p - lr * (a / b if a > 0 and b > 0 else 1) * d


OPTIMIZERS = [("sgd", {}, 0.05), ("sgd", {"momentum": 0.9, "nesterov": "true", "weight_decay": 0.05}, 0.02), ("sgd", {"momentum": 0.8, "dampening": 0.5}, 0.05),
              ("adam", {"eps": 1e-2, "weight_decay": 0.1}, 0.01), ("adamw", {"beta1": 0.8, "beta2": 0.9, "eps": 1e-2, "weight_decay": 0.2}, 0.01),
              ("adadelta", {"rho": 0.8, "eps": 1e-3, "weight_decay": 0.01}, 0.3),
              ("rmsprop", {"alpha": 0.8, "momentum": 0.8, "centered": "true", "eps": 0.1}, 0.005), ("rmsprop", {"eps": 1e-2, "weight_decay": 0.05}, 0.003),
              ("adagrad", {"lr_decay": 0.3, "initial_accumulator_value": 0.2, "eps": 1e-3}, 0.05),
              ("lion", {"beta1": 0.8, "weight_decay": 0.1}, 0.002), ("lamb", {"eps": 1e-2}, 0.01), ("lamb", {"eps": 1e-3, "weight_decay": 0.1}, 0.01)]
SCHEDULES = {"constant": lambda k: 1.0, "step,size=3,gamma=0.5": lambda k: 0.5 ** (k // 3),
             "cosine,warmup=3": lambda k: (k + 1) / 3 if k < 3 else (1 + np.cos(np.pi * (k - 3) / (STEPS - 3))) / 2,
             "linear,warmup=2": lambda k: (k + 1) / 2 if k < 2 else 1 - (k - 2) / (STEPS - 2), "cosine": lambda k: (1 + np.cos(np.pi * k / STEPS)) / 2}
PIPELINES = {"naive": 1, "gpipe": 1, "1f1b": 1, "eager-1f1b": 1, "interleaved-1f1b": 2, "zb-h1": 1, "zb-h2": 1, "dualpipe-v": 2}


class Layout:
    """How a step of `batch` samples is spread: options, and which samples have statistics in common."""

    def __init__(self, rng, batch, g, norm):
        pick = lambda *of: of[rng.integers(len(of))]
        while True:
            data, schedule = pick(1, 1, 2, 2, 4), pick(None, *PIPELINES)
            stages = 1 if schedule is None else 2 if PIPELINES[schedule] == 2 or data == 4 else pick(2, 3)
            micro = 4 if schedule == "dualpipe-v" else 3 if stages == 3 else pick(2, 4) if stages == 2 else pick(1, 2, 4)
            if batch % (data * micro) == 0:
                break
        mesh = {1: "", 2: pick("dp=2", "fsdp=2"), 4: pick("dp=2,fsdp=2", "fsdp=4")}[data]
        self.options = ["--global-batch", str(batch), "--micro-batches", str(micro)]
        if mesh or schedule:
            self.options += ["--mesh", ",".join(filter(None, [mesh, f"pp={stages}" if schedule else ""]))]
        if schedule:
            self.options += ["--schedule", schedule, "--stage-split", pick("auto", "uniform", "parameters")]
        strategy = pick("full-shard", "shard-grad-op", "zero-2", "zero-1") if "fsdp" in mesh else ""
        if strategy:
            self.options += ["--fsdp-strategy", strategy]
        elif mesh and rng.random() < 0.4:
            self.options += ["--dp-sync", "parameter-server"]
        if strategy == "full-shard":
            self.options += ["--forward-prefetch", pick("on", "off"), "--backward-prefetch", pick("pre", "post", "none")]
        if mesh and rng.random() < 0.4:
            self.options += ["--grad-sync", pick("every", "last")]
        if mesh and strategy not in ("full-shard", "shard-grad-op") and rng.random() < 0.5:
            self.options += ["--bucket-size", pick("256", "1KiB", "4KiB")]
        recompute = pick("none", "none", "blocks", "every=2", "never", "first=1", "segments=2")
        self.options += ["--recompute", recompute]
        if schedule and recompute not in ("none", "never") and rng.random() < 0.3:
            self.options += ["--recompute-when", pick("always", "except-last", "never")]
        if rng.random() < 0.4:
            self.options += ["--offload", pick("activations", "optimizer", "params", "params,grads,optimizer,activations")]
        if rng.random() < 0.2 and any(node.op_type == "Softmax" for node in g.nodes):
            self.options += ["--attention", "fused"]
        if g.has_batch_norm:
            self.options += ["--batch-norm", norm]
        # Sample i belongs to data rank i div (batch / ranks), and there to a micro-batch, one after the other.
        i = torch.arange(batch)
        rank, part = i // (batch // data), i % (batch // data) // (batch // data // micro)
        self.chunks = rank * micro + part
        self.parts = part if norm.startswith("sync") else self.chunks
        self.micro_batch = part


def make_data(g, count, rng):
    arrays = {}
    for name, (kind, shape) in g.inputs.items():
        size = [count, *shape[1:]]
        if kind == "float":
            arrays[name] = rng.normal(size=size).astype("f4")
        elif kind == "lengths":
            arrays[name] = rng.integers(1, 6, count).astype("i4")
        elif kind == "share":
            arrays[name] = (rng.random(size) ** 3).astype("f4")
        elif kind == "mask":
            lengths = rng.integers(1, size[1] + 1, count)
            arrays[name] = (np.arange(size[1]) < lengths[:, None]).astype("f4")
        else:
            arrays[name] = rng.integers(0, CLASSES if kind == "classes" else WORDS, size)
            if kind in ("classes", "next"):  # unevenly: few count among the first, nearly all among the last
                chance = np.linspace(0.7, 0.0, count).reshape(-1, *[1] * (len(size) - 1))
                arrays[name][rng.random(size) < chance] = -100
                arrays[name][::7] = np.abs(arrays[name][::7]) % CLASSES
    return arrays


def by_keys(g, name, arrays, rng, path):
    """A file in another form, with what --data needs to read it; `arrays` becomes what the file says."""
    kind, shape = g.inputs[name]
    array = arrays[name]
    count, form = len(array), rng.integers(4)
    if kind == "float" and len(shape) == 4 and form:
        pixels = rng.integers(0, 256, array.shape).astype("u1")
        mean, std = rng.random(shape[1]).round(3), (rng.random(shape[1]) + 0.2).round(3)
        if form == 1:
            mean, std = mean[:1], std[:1]
        broadcast = (-1, 1, 1) if len(mean) > 1 else (1, 1, 1)
        arrays[name] = ((pixels / 255 - mean.reshape(broadcast)) / std.reshape(broadcast)).astype("f4")
        np.save(f"{path}.npy", pixels)
        return f"{path}.npy,mean={'/'.join(map(str, mean))},std={'/'.join(map(str, std))}"
    if kind == "words" and form:
        window, stride, shift = shape[1], int(rng.integers(1, shape[1] + 3)), int(rng.integers(0, 4))
        bits = int(rng.choice([8, 16, 32]))
        stream = rng.integers(0, WORDS, shift + (count - 1) * stride + window).astype(f"u{bits // 8}")
        arrays[name] = np.stack([stream[shift + i * stride:][:window] for i in range(count)]).astype("i8")
        stream.tofile(f"{path}.bin")
        return f"{path}.bin:u{bits},window={window},shift={shift},stride={stride}"
    if form == 1:
        cut = int(rng.integers(1, count))
        np.save(f"{path}.a.npy", array[:cut])
        np.save(f"{path}.b.npy", array[cut:])
        return f"{path}.a.npy,{path}.b.npy"
    if form == 2:
        np.savez_compressed(f"{path}.npz", other=array[:2], values=array)
        return f"{path}.npz,key=values"
    if form == 3 and kind in ("words", "mask", "float"):
        narrow = {"words": "u1", "mask": "f4", "float": "f4"}[kind]
        np.save(f"{path}.npy", array.astype(narrow))
        return f"{path}.npy"
    np.save(f"{path}.npy", array)
    return f"{path}.npy"


class Case:
    def __init__(self, seed, precision=None):
        self.seed, self.g = seed, build(seed)
        rng = self.rng = np.random.default_rng(50_000 + seed)
        pick = lambda *of: of[rng.integers(len(of))]
        self.batch = 48 if seed % 4 else 24
        self.precision = precision or pick("f32", "f32", "bf16", "fp16")
        self.norm = pick("local", "sync", "local-deferred", "sync-deferred")
        self.layouts = [Layout(rng, self.batch, self.g, self.norm) for _ in range(pick(1, 2))]
        if self.g.has_batch_norm and len(self.layouts) == 2:  # statistics are those of the same samples
            self.layouts = self.layouts[:1]
        kind, settings, self.lr = OPTIMIZERS[seed // 4 % len(OPTIMIZERS)]
        self.kind, self.settings = kind, {key: 1 if value == "true" else value for key, value in settings.items()}
        if self.precision != "f32":  # one rounding more or less, and a Relu's gradient is another one
            for node in self.g.nodes:
                node.op_type = "Softplus" if node.op_type == "Relu" else node.op_type
        self.options = ["--optimizer", ",".join([kind, *(f"{key}={value}" for key, value in settings.items())])]
        self.group = None
        if pick(0, 1):
            self.group = (lambda name: name.startswith("b"), 0.3, 0.5)
            self.options += ["--param-group", "b*:weight_decay=0.3,lr_scale=0.5"]
        self.frozen = [str(name) for name in rng.choice(sorted(self.g.weights), 2, replace=False)] if rng.random() < 0.3 else []
        if self.frozen:
            self.options += ["--freeze", ",".join(self.frozen)]
        self.average = pick("global", "global", "global", "rank") if len(self.layouts) == self.g.terms == 1 else "global"
        if self.average == "rank" and self.g.has_batch_norm and self.norm.startswith("sync"):
            self.average = "global"
        self.options += ["--loss-average", self.average]
        if self.precision != "f32":
            self.options += ["--precision", pick(self.precision, f"param={self.precision},reduce=f32")]
        if self.precision == "fp16":
            self.options += ["--loss-scale", pick("dynamic,init=1024", "128", "dynamic,init=16777216,backoff=0.25", "dynamic,init=256,growth=2,interval=3")]
        self.schedule = pick(*SCHEDULES)
        self.clip = pick(None, 0.3, 5.0)
        self.last = pick("drop", "pad")
        self.count = 3 * self.batch + pick(0, self.batch // 2 + 1)
        self.arrays = make_data(self.g, self.count, rng)
        self.val = make_data(self.g, pick(self.batch, self.batch + 5, 11), rng)

    def rows(self, step):
        whole = self.count // self.batch
        per_epoch = whole if self.last == "drop" or self.count % self.batch == 0 else whole + 1
        begin = step % per_epoch * self.batch
        return np.arange(begin, begin + self.batch) % self.count

    def told(self):
        run = f"{self.precision} {' '.join(self.options)} {self.schedule} clip {self.clip} {self.last} {self.count}"
        return (f"seed {self.seed}: {KINDS[self.seed % 4].__name__} {run}"
                + "".join(f"\n    {' '.join(layout.options)}" for layout in self.layouts))

    def reference(self, kind, skipped=()):
        """Losses, norms and weights."""
        master = torch.float32 if kind in HALF.values() else kind
        weights = {name: torch.from_numpy(array).to(master) for name, array in self.g.weights.items()}
        optimizer, losses, norms, t = Optimizer(self.kind, self.settings, self.group), [], [], 0
        scale = 256.0 if kind == torch.float16 else 1.0
        for step in range(STEPS):
            rows = self.rows(step)
            data = {name: torch.from_numpy(array[rows]) for name, array in self.arrays.items()}
            leaves = {name: w.clone().requires_grad_(name not in self.frozen) for name, w in weights.items()}
            layout = self.layouts[0 if step < 4 else -1]
            if self.average == "global":
                loss = InTorch(self.g, kind, parts=layout.parts)(leaves, data)[0]
            else:
                each = []
                chunks = layout.chunks if self.average == "rank" else layout.micro_batch
                for chunk in range(int(chunks.max()) + 1):
                    mine = torch.nonzero(chunks == chunk)[:, 0]
                    parts = torch.unique(layout.parts[mine], return_inverse=True)[1]
                    each.append(InTorch(self.g, kind, parts=parts)(leaves, {name: v[mine] for name, v in data.items()})[0])
                loss = sum(each) / len(each)
            (loss * scale).backward()
            gradients = {name: w.grad / scale if w.grad is not None else torch.zeros_like(w) for name, w in leaves.items() if name not in self.frozen}
            norm = torch.sqrt(sum((v ** 2).sum() for v in gradients.values()))
            losses.append(loss.item())
            norms.append(norm.item())
            if step in skipped:
                continue
            t += 1
            if self.clip:
                gradients = {name: v * min(1.0, (self.clip / (norm + 1e-6)).item()) for name, v in gradients.items()}
            optimizer.step(t, self.lr * SCHEDULES[self.schedule](step), weights, gradients)
        return losses, norms, {name: w.double().numpy() for name, w in weights.items()}


class Failure(Exception):
    pass


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout + done.stderr


def saved(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds, result = {"F32": "<f4", "F64": "<f8"}, {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] in kinds:
            begin, end = entry["data_offsets"]
            result[name.removesuffix("#master")] = np.frombuffer(data[8 + size + begin:8 + size + end], kinds[entry["dtype"]]).reshape(entry["shape"])
    return result


def ours(case, folder):
    """Runs the program, or two of them one after the other. Returns metrics and what the last checkpoint has."""
    data, val = [], []
    for name in case.arrays:
        data += ["--data", f"{name}={by_keys(case.g, name, case.arrays, case.rng, folder / name)}"]
        val += ["--data", f"{name}={by_keys(case.g, name, case.val, case.rng, folder / f'val_{name}')}"]
    lines, resume = [], []
    for i, layout in enumerate(case.layouts):
        program, checkpoints = folder / f"program{i}", folder / f"saved{i}"
        shutil.rmtree(checkpoints, ignore_errors=True)
        said = run("cleave", "compile", folder / "m.onnx", "-o", program, "--train", "--loss-output", "loss", *case.options, *layout.options)
        if "the loss is averaged over batches of" in said:
            case.average = "micro-batch"  # terms of different counts: the mean of the micro-batches' losses
        run("cleave", "verify", program)
        is_last = i + 1 == len(case.layouts)
        # The schedule is of all ten steps; the first program stops at its checkpoint of the middle.
        command = [program, "train", *data, "--no-shuffle", "--last-batch", case.last, "--steps", STEPS, "--lr", case.lr, "--lr-schedule", case.schedule,
                   "--save", checkpoints, "--save-every", 4, "--checkpoint", "full" if is_last else ["sharded", "full"][case.seed % 2],
                   "--metrics", folder / f"metrics{i}", "--threads", 1, *(["--clip-grad-norm", case.clip] if case.clip else []), *resume]
        (folder / f"metrics{i}").unlink(missing_ok=True)
        run(*command)
        steps = [json.loads(line) for line in (folder / f"metrics{i}").read_text().splitlines()]
        steps = [line for line in steps if "loss" in line]
        lines += steps if is_last else steps[:4]
        resume = ["--resume", checkpoints / "step-00000004"]
    return lines, saved(checkpoints / f"step-{STEPS:08}" / "model.safetensors"), program, checkpoints, val


def judge(case, folder):
    lines, tensors, program, checkpoints, val = ours(case, folder)
    if len(lines) != STEPS:
        raise Failure(f"{len(lines)} steps")
    totals = [0, *(line.get("skipped", 0) for line in lines)]
    skipped = [i for i in range(STEPS) if totals[i + 1] > totals[i]]
    exact = case.reference(torch.float64, skipped)
    near = case.reference(HALF.get(case.precision, torch.float32), skipped)
    bad = []
    for what, key, place in (("loss", "loss", 0), ("norm", "grad_norm", 1)):
        error = max((abs(a - b) for a, b in zip(near[place], exact[place]) if np.isfinite(a)), default=1e-2)
        for step, (line, right) in enumerate(zip(lines, exact[place])):
            if line.get(key) is None:  # of a step that was skipped
                continue
            floor = (2e-6 if what == "loss" else 2e-5) if case.precision == "f32" else 1e-2
            if not abs(line[key] - right) <= (2 if case.precision == "f32" else 4) * error + floor * max(1, abs(right)):
                bad.append(f"step {step + 1}: {what} {line[key]}, expected {right} (PyTorch's error {error:.1e})")
                break
    for name, right in exact[2].items():
        if name not in tensors:
            bad.append(f"{name} is not in the checkpoint")
            continue
        distance, moved = np.linalg.norm(tensors[name] - right), np.linalg.norm(right - case.g.weights[name])
        own = np.linalg.norm(near[2][name] - right)
        own = own if np.isfinite(own) else 0.1 * moved  # PyTorch's own may overflow
        factor, part = (2, 2e-4) if case.precision == "f32" else (4, 2e-2)
        allowed = factor * own + part * moved + 1e-6 * np.linalg.norm(right) + 1e-9
        if case.kind == "lion":  # a sign may be the other one
            allowed += 2e-2 * moved + 4 * case.lr * (1 if case.precision == "f32" else 6)
        if not distance <= allowed:
            bad.append(f"{name} is off by {distance:.2e}, allowed {allowed:.2e}; moved {moved:.2e}")
    if bad:
        raise Failure(f"{len(bad)} differ: " + "; ".join(bad[:6]))
    bad = later(case, folder, tensors, program, checkpoints, val)
    if bad:
        raise Failure("; ".join(bad))
    return skipped


def later(case, folder, tensors, program, checkpoints, val):
    """Evaluation and the exported file, by the weights that training has left."""
    g, bad = case.g, []
    weights = {name: torch.from_numpy(tensors[name].astype("f8")) for name in g.weights}
    statistics = {name: array for name, array in tensors.items() if name in g.constants}
    kept = g.constants
    g.constants = {**kept, **{name: array for name, array in statistics.items()}}
    data = {name: torch.from_numpy(array) for name, array in case.val.items()}
    right, logits = InTorch(g, torch.float64, training=False)({**weights}, data)
    near, _ = InTorch(g, HALF.get(case.precision, torch.float32), training=False)({name: w.float() for name, w in weights.items()}, data)
    g.constants = kept
    said = run("true") if case.average == "micro-batch" else run(program, "evaluate", *val, "--weights", checkpoints, "--threads", 1)
    words = said.replace(",", " ").split()
    value = float(words[words.index("loss") + 1]) if words else right.item()
    own, part = abs(near.item() - right.item()), 2e-6 if case.precision == "f32" else 5e-3
    if not abs(value - right.item()) <= 2 * own + part * max(1, abs(right.item())) + 1e-4:
        bad.append(f"evaluates to {value}, expected {right.item()}")
    run("cleave", "export", checkpoints, "--model", folder / "m.onnx", "-o", folder / "trained.onnx")
    model = onnx.load(folder / "trained.onnx")
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            del node.output[1:], node.attribute[:]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    needed = {i.name for i in session.get_inputs()}
    theirs = session.run(["logits"], {name: array for name, array in case.val.items() if name in needed})[0]
    error = np.abs(theirs - logits.numpy()).max()
    if not error <= 1e-4 * max(1, np.abs(theirs).max()):
        bad.append(f"the exported file is off by {error:.1e}")
    return bad


def check(seed, arguments):
    case = Case(seed, arguments.precision)
    save(case.g, arguments.folder / "m.onnx")
    try:
        skipped = judge(case, arguments.folder)
    except (Failure, subprocess.TimeoutExpired) as failure:
        raise Failure(f"{case.told()}\n    {failure}") from failure
    return f"{case.told()}\n    equal{f', steps {skipped} skipped' if skipped else ''}"


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "e2e" / "Inputs"))
    import seed_runs
    parser = seed_runs.parser()
    parser.add_argument("--precision")
    parser.add_argument("--large", action="store_true", help="sizes beyond the blocks of kernels")
    arguments = parser.parse_args()
    Graph.large = arguments.large
    torch.set_num_threads(1)
    seed_runs.prepare(arguments)
    seed_runs.run(arguments, lambda seed: check(seed, arguments), Failure, "trainings")


if __name__ == "__main__":
    main()
