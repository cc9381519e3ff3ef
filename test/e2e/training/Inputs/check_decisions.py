"""Values that decide (are compared, rounded, indexed by) have one set of bits, wherever they are computed.

  check_decisions.py FOLDER [FIRST_SEED MODELS]

Random models of several branches, each a chain of smooth ops that ends in a decision. Checked are
  training    one SGD step with what the compiler keeps for the backward pass, against one with everything kept (--recompute never), in f32 and
              in bf16: the updates are equal but for the rounding of sums (recompute.test compares runs that repeat blocks);
  inference   properties that hold in exact bits: some element equals the maximum of its row, the ranks of a row are a permutation,
              a maximum of slices is that of the whole, and two branches that compute one value agree.
And one step of a PointNet (linear, normalization, ReLU, maximum over points) against its formulas in float64.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

SAMPLES, POINTS, CHANNELS = 3, 13, 19


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


class Graph:
    """Nodes of the default domain, with names made up."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.parameters, self.count = [], [], {}, 0

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def __call__(self, operator, *inputs, outputs=1, **attributes):
        names = [self.name(operator.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, [self.constant(i) if not isinstance(i, str) else i for i in inputs], names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        value = np.asarray(value)
        value = value.astype("f4") if value.dtype == np.float64 else value
        name = self.name("c")
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value, name)))
        return name

    def parameter(self, shape, scale=1.0, shift=0.0):
        name = self.name("w")
        value = (self.random.standard_normal(shape) * scale + shift).astype("f4")
        self.initializers.append(numpy_helper.from_array(value, name))
        self.parameters[name] = value
        return name

    def axes(self, *values):
        return self.constant(np.int64(values))

    def save(self, path, inputs, outputs):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
                                  [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs], self.initializers)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


# ---- smooth ops, which keep the shape [samples, points, channels]

def linear(g, h):
    return g("Add", g("MatMul", h, g.parameter((CHANNELS, CHANNELS), CHANNELS ** -0.5)), g.parameter((CHANNELS,), 0.3))


def layer_norm(g, h):
    return g("LayerNormalization", h, g.parameter((CHANNELS,), 0.2, 1), g.parameter((CHANNELS,), 0.2), axis=-1)


def batch_norm(g, h):
    mean = g("ReduceMean", h, g.axes(0, 1), keepdims=1)
    centered = g("Sub", h, mean)
    variance = g("ReduceMean", g("Mul", centered, centered), g.axes(0, 1), keepdims=1)
    standard = g("Div", centered, g("Sqrt", g("Add", variance, 1e-5)))
    return g("Add", g("Mul", standard, g.parameter((CHANNELS,), 0.2, 1)), g.parameter((CHANNELS,), 0.2))


def batch_norm_op(g, h):
    scale, shift = g.parameter((CHANNELS,), 0.2, 1), g.parameter((CHANNELS,), 0.2)
    y = g("BatchNormalization", g("Transpose", h, perm=[0, 2, 1]), scale, shift, np.zeros(CHANNELS), np.ones(CHANNELS), epsilon=1e-5)
    return g("Transpose", y, perm=[0, 2, 1])


def rms_norm(g, h):
    square = g("ReduceMean", g("Mul", h, h), g.axes(-1), keepdims=1)
    return g("Mul", g("Mul", h, g("Reciprocal", g("Sqrt", g("Add", square, 1e-5)))), g.parameter((CHANNELS,), 0.2, 1))


def scaled_sum(g, h):  # a product and a sum that a compiler likes to contract
    return g("Sub", g("Mul", h, g.parameter((CHANNELS,), 1.0, 1)), g("Mul", g("Mul", h, h), g.parameter((CHANNELS,), 0.1)))


SMOOTH = [layer_norm, batch_norm_op, batch_norm, rms_norm, scaled_sum,
          lambda g, h: g("Softmax", h, axis=-1),
          lambda g, h: g("Gelu", h), lambda g, h: g("Tanh", scaled_sum(g, h)), lambda g, h: g("Mul", h, g("Sigmoid", h)),
          lambda g, h: g("Softplus", h), lambda g, h: g("Sin", h), lambda g, h: g("Exp", g("Mul", h, 0.3))]


def smooth(g, h):
    h = linear(g, h)
    for index in g.random.integers(0, len(SMOOTH), g.random.integers(1, 4)):
        h = SMOOTH[index](g, h)
    return g("Relu", h) if g.random.random() < 0.4 else h


# ---- decisions

def equals_extremum(operator):
    def decide(g, h):
        axis = int(g.random.integers(1, 3))
        return g("Where", g("Equal", h, g(operator, h, g.axes(axis), keepdims=1)), h, 0.0)
    return decide


def extremum(operator):
    return lambda g, h: g(operator, h, g.axes(int(g.random.integers(1, 3))), keepdims=1)


def max_pool(g, h):
    return g("MaxPool", g("Transpose", h, perm=[0, 2, 1]), kernel_shape=[3], strides=[2])


def rounded(operator):
    return lambda g, h: g("Mul", g(operator, g("Mul", h, 3.0)), h)


def above_mean(g, h):
    return g("Where", g("Greater", h, g("ReduceMean", h, g.axes(-1), keepdims=1)), g("Mul", h, 2.0), g("Neg", h))


def to_integer(g, h):
    return g("Mul", g("Cast", g("Cast", g("Mul", h, 5.0), to=TensorProto.INT64), to=TensorProto.FLOAT), h)


def arg(operator):
    return lambda g, h: g("GatherElements", h, g(operator, h, axis=-1, keepdims=1), axis=2)


def top_k(g, h):  # the values, and the elements of another tensor at their places
    values, index = g("TopK", h, np.int64([3]), outputs=2, axis=-1, largest=int(g.random.integers(0, 2)))
    return g("Mul", values, g("GatherElements", g("Mul", h, h), index, axis=2))


def ranked(g, h):  # each element times its rank in the row
    rows, columns = g("Unsqueeze", h, g.axes(-1)), g("Unsqueeze", h, g.axes(-2))
    rank = g("ReduceSum", g("Cast", g("Less", columns, rows), to=TensorProto.FLOAT), g.axes(-1), keepdims=0)
    return g("Mul", rank, h)


def neighbours(g, h):
    size = POINTS
    left = g("Slice", h, np.int64([0]), np.int64([size - 1]), np.int64([1]))
    right = g("Slice", h, np.int64([1]), np.int64([size]), np.int64([1]))
    return g("Max", left, right)


DECISIONS = [extremum("ReduceMax"), extremum("ReduceMin"), equals_extremum("ReduceMax"), equals_extremum("ReduceMin"), max_pool,
             rounded("Floor"), rounded("Ceil"), rounded("Round"), rounded("Sign"), above_mean, to_integer, arg("ArgMax"), arg("ArgMin"), top_k, ranked, neighbours]


def training_model(seed, path, branches=7):
    g = Graph(seed)
    total = None
    for index in g.random.choice(len(DECISIONS), branches, replace=False):
        y = DECISIONS[index](g, smooth(g, "x"))
        if g.random.random() < 0.5:
            y = g("Mul", y, g("Tanh", y))
        loss = g("ReduceMean", g("Mul", y, y), keepdims=0)
        total = loss if total is None else g("Add", total, loss)
    g.nodes.append(helper.make_node("Identity", [total], ["loss"]))
    g.save(path, {"x": (SAMPLES, POINTS, CHANNELS)}, ["loss"])
    return g


def train(model, folder, data, *options):
    name = "-".join(["program", *[o.strip("-") for o in options]]).replace("=", "")
    run("cleave", "compile", model, "-o", folder / name, "--train", "--loss-output", "loss", "--optimizer", "sgd", *options)
    run(folder / name, "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--data", f"x={data}", "--save", folder / f"{name}.saved")
    return read_states(folder / f"{name}.saved")


def check_training(folder, seed):
    model, data = folder / "train.onnx", folder / "x.npy"
    g = training_model(seed, model)
    np.save(data, np.random.default_rng(seed).standard_normal((SAMPLES, POINTS, CHANNELS)).astype("f4"))
    everything = train(model, folder, data, "--recompute", "never")
    failures = 0
    for options in [(), ("--precision", "bf16")]:
        kept = everything if not options else train(model, folder, data, "--recompute", "never", *options)
        got = train(model, folder, data, *options)
        # What a later normalization takes away (a bias, a scale) has a gradient of rounding errors alone: the others are its measure.
        largest = max(np.abs(before - kept[name]).max() for name, before in g.parameters.items())
        for name, before in g.parameters.items():
            update, expected = before - got[name], before - kept[name]
            bound = (2e-5 if not options else 2e-2) * np.abs(expected).max() + (5e-5 if not options else 2e-2) * largest
            if not np.abs(update - expected).max() <= bound:
                failures += 1
                print(f"seed {seed} {options}: update of {name} off by {np.abs(update - expected).max():.3g} of {np.abs(expected).max():.3g}")
    return failures


def check_inference(folder, seed):
    g = Graph(seed)
    outputs = {}
    for branch in range(4):
        h = smooth(g, "x")
        h = g("Add", h, g("Mul", h, h)) if g.random.random() < 0.5 else h
        for axis in (1, 2):
            for operator in ("ReduceMax", "ReduceMin"):
                hits = g("ReduceSum", g("Cast", g("Equal", h, g(operator, h, g.axes(axis), keepdims=1)), to=TensorProto.FLOAT), g.axes(axis), keepdims=0)
                outputs[hits] = lambda y: (y >= 1).all()
        rows, columns = g("Unsqueeze", h, g.axes(-1)), g("Unsqueeze", h, g.axes(-2))
        one_way = g("Cast", g("Less", columns, rows), to=TensorProto.FLOAT)
        other = g("Cast", g("Greater", columns, rows), to=TensorProto.FLOAT)
        # No element is less than itself, and what is less one way is greater the other way.
        outputs[g("ReduceSum", one_way, g.axes(-1, -2), keepdims=0)] = ("same", g("ReduceSum", other, g.axes(-1, -2), keepdims=0))
        whole = g("ReduceMax", h, g.axes(1), keepdims=0)
        parts = [g("ReduceMax", g("Slice", h, np.int64([a]), np.int64([b]), np.int64([1])), g.axes(1), keepdims=0) for a, b in [(0, 5), (5, POINTS)]]
        outputs[whole] = ("same", g("Max", *parts))
        pooled = g("GlobalMaxPool", g("Transpose", h, perm=[0, 2, 1]))
        outputs[g("Identity", whole)] = ("same", g("Reshape", pooled, np.int64([SAMPLES, CHANNELS])))
        picked = g("GatherElements", h, g("ArgMax", h, axis=2, keepdims=1), axis=2)
        outputs[picked] = ("same", g("ReduceMax", h, g.axes(2), keepdims=1))
    names = list(outputs) + [rule[1] for rule in outputs.values() if isinstance(rule, tuple)]
    x = np.random.default_rng(seed).standard_normal((SAMPLES, POINTS, CHANNELS)).astype("f4")
    g.save(folder / "infer.onnx", {"x": x.shape}, names)
    run("cleave", "compile", folder / "infer.onnx", "-o", folder / "infer")
    np.save(folder / "x.npy", x)
    arguments = [part for name in names for part in ("--output", f"{name}={folder}/{name}.npy")]
    run(folder / "infer", "infer", "--input", f"x={folder}/x.npy", *arguments)
    got = {name: np.load(folder / f"{name}.npy") for name in names}
    failures = 0
    for name, rule in outputs.items():
        holds = np.array_equal(got[name], got[rule[1]]) if isinstance(rule, tuple) else rule(got[name])
        if not holds:
            failures += 1
            print(f"seed {seed}: property of {name} is broken: {got[name].ravel()[:8]} {got[rule[1]].ravel()[:8] if isinstance(rule, tuple) else ''}")
    return failures


def normalized_maximum(folder, operator, axis, activation):
    """loss = mean(max(f(norm(x w) * scale + shift))^2) and its gradients for w, scale and shift by hand; f is ReLU or nothing."""
    g = Graph(11)
    w = g.parameter((CHANNELS, CHANNELS), CHANNELS ** -0.5)
    u, first = g("MatMul", "x", w), len(g.parameters)
    h = operator(g, u)
    h = g("Relu", h) if activation else h
    scale, shift = list(g.parameters)[first:]
    top = g("ReduceMax", h, g.axes(axis), keepdims=0)
    g.nodes.append(helper.make_node("Identity", [g("ReduceMean", g("Mul", top, top), keepdims=0)], ["loss"]))
    g.save(folder / "pointnet.onnx", {"x": (SAMPLES, POINTS, CHANNELS)}, ["loss"])
    x = np.random.default_rng(5).standard_normal((SAMPLES, POINTS, CHANNELS)).astype("f4")
    np.save(folder / "x.npy", x)
    got = train(folder / "pointnet.onnx", folder, folder / "x.npy")
    X, W, S, B = (np.float64(v) for v in (x, g.parameters[w], g.parameters[scale], g.parameters[shift]))
    over = (-1,) if operator is layer_norm else (0, 1)
    U = X @ W
    mean, deviation = U.mean(over, keepdims=True), np.sqrt(U.var(over, keepdims=True) + 1e-5)
    N = (U - mean) / deviation
    H = N * S + B
    H = np.maximum(H, 0) if activation else H
    T = H.max(axis, keepdims=True)
    dH = np.where(H == T, 2 * T / T.size, 0) * ((H > 0) if activation else 1)
    dN = dH * S
    dU = (dN - dN.mean(over, keepdims=True) - N * (dN * N).mean(over, keepdims=True)) / deviation
    expected = {w: np.einsum("bpc,bpd->cd", X, dU), scale: (dH * N).sum((0, 1)), shift: dH.sum((0, 1))}
    failures = 0
    for name, gradient in expected.items():
        error = np.abs(np.float64(g.parameters[name]) - got[name] - gradient).max() / np.abs(gradient).max()
        if not error < 1e-5:
            failures += 1
            print(f"{operator.__name__}, maximum along {axis}: gradient of {name} off by {error:.3g}")
    return failures


def check_pointnet(folder):
    return sum(normalized_maximum(folder, operator, axis, activation) for operator, axis, activation in
               [(batch_norm_op, 1, True), (batch_norm_op, 2, False), (layer_norm, 1, False), (layer_norm, 2, True), (batch_norm, 1, True)])


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    first, models = (int(a) for a in sys.argv[2:4]) if len(sys.argv) > 2 else (0, 4)
    failed = check_pointnet(target)
    for number in range(first, first + models):
        failed += check_training(target, number) + check_inference(target, number)
    if failed:
        sys.exit(f"{failed} failures")
    print(f"{models} models of decisions")
