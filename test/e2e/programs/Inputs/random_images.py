"""Random convolutional networks in inference, compared with onnxruntime: the compiler chooses where channels are last in memory.

  random_images.py FOLDER [--first SEED] [--count N] [--seconds S]

A network is a chain of convolutions with odd numbers of channels, groups, dilations, strides and pads of each side, and of what stands
between them: pools in every mode, normalizations, activations, gates, residuals, concatenations, splits, slices, transposes, resizes,
reductions and products. Every fourth value is a result as well. A failure prints its seed and the outputs that differ.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import seed_runs  # noqa: E402

OPSET = 20


class Network:
    """A graph under construction. Shapes of values are known, because each next op depends on them."""

    def __init__(self, seed, large=False):
        self.rng, self.large = np.random.default_rng(seed), large
        self.nodes, self.weights, self.shapes = [], [], {}
        self.rank = int(self.pick(2, 2, 2, 2, 1, 3))
        size = {1: 23, 2: 11, 3: 6}[self.rank] * (3 if large else 1)
        self.start = [self.whole(1, 3), self.whole(1, 40 if large else 7), *(size + self.whole(-2, 3) for _ in range(self.rank))]
        self.shapes["x"] = list(self.start)
        self.results = []

    def pick(self, *of):
        return of[self.rng.integers(len(of))]

    def whole(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        self.shapes[name] = list(np.shape(values))
        return name

    def weight(self, *shape, scale=None):
        scale = scale or 1.5 / np.sqrt(np.prod(shape[1:]) or 1)
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def positive(self, *shape):
        return self.constant((self.rng.random(shape) + 0.5).astype(np.float32))

    def op(self, kind, *operands, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(kind, list(operands), names, name=names[0], **attributes)
        self.nodes.append(node)
        known = {w.name: w for w in self.weights if w.name in operands}
        others = [name for name in dict.fromkeys(operands) if name and name not in known]
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shapes[name]) for name in others]
        graph = helper.make_graph([node], "one", inputs, [onnx.ValueInfoProto(name=n) for n in names], list(known.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        for value in inferred.graph.output:
            self.shapes[value.name] = [d.dim_value for d in value.type.tensor_type.shape.dim]
        return names[0] if outputs == 1 else names

    def space(self, x):
        return self.shapes[x][2:]

    def pads(self, most):
        return [self.whole(0, most) for _ in range(2 * self.rank)]

    # Convolutions

    def window(self, x, most=4):
        """Sizes, dilations and pads of a window that fits into x."""
        sizes, dilations, pads = [], [], self.pads(2)
        for i, length in enumerate(self.space(x)):
            padded = length + pads[i] + pads[i + self.rank]
            size = self.whole(1, min(most, padded))
            sizes.append(size)
            dilations.append(self.whole(1, max(1, min(3, (padded - 1) // max(size - 1, 1)))) if self.maybe(0.3) else 1)
        return sizes, dilations, pads

    def conv(self, x, oc=None, groups=None):
        ic = self.shapes[x][1]
        groups = groups or self.pick(1, 1, *[g for g in range(2, ic + 1) if ic % g == 0], ic)
        oc = oc or groups * self.whole(1, max(1, (150 if self.large else 20) // groups))
        sizes, dilations, pads = self.window(x)
        if self.maybe(0.3):
            sizes, dilations, pads = [1] * self.rank, [1] * self.rank, [0] * 2 * self.rank
        attributes = dict(group=groups, strides=[self.pick(1, 1, 2, 3) if s > 4 else 1 for s in self.space(x)])
        if self.maybe(0.2):
            attributes |= dict(auto_pad=self.pick("SAME_UPPER", "SAME_LOWER"))
        else:
            attributes |= dict(pads=pads, dilations=dilations)
        bias = [self.weight(oc, scale=1.0)] if self.maybe(0.7) else []
        return self.op("Conv", x, self.window_weight(oc, ic // groups, *sizes), *bias, **attributes)

    def window_weight(self, *shape):
        """Weights of a convolution: a constant, one that other convolutions have too, or a value that is computed."""
        alike = [w.name for w in self.weights if list(w.dims) == list(shape)]
        if alike and self.maybe():
            return self.pick(*alike)
        kind = self.pick("constant", "constant", "constant", "turned", "computed") if self.maybe(0.4) else "constant"
        if kind == "turned":
            turned = self.weight(*reversed(shape), scale=1.5 / np.sqrt(np.prod(shape[1:])))
            return self.op("Transpose", turned, perm=list(reversed(range(len(shape)))))
        constant = self.weight(*shape)
        return self.op("Mul", constant, self.op("ReduceMax", "x", keepdims=1)) if kind == "computed" else constant

    def same_conv(self, x, oc, groups=1):
        """A convolution that keeps the size of space."""
        size, dilation = self.pick(1, 3, 5), self.pick(1, 1, 2)
        return self.op("Conv", x, self.window_weight(oc, self.shapes[x][1] // groups, *[size] * self.rank), self.weight(oc, scale=1.0), group=groups,
                       pads=[dilation * (size // 2)] * 2 * self.rank, dilations=[dilation] * self.rank)

    def transposed(self, x):
        ic = self.shapes[x][1]
        groups = self.pick(1, *[g for g in range(2, ic + 1) if ic % g == 0])
        sizes, strides = [self.whole(1, 3) for _ in range(self.rank)], [self.pick(1, 2) for _ in range(self.rank)]
        if np.prod(self.space(x)) > 300:
            strides = [1] * self.rank
        pads = [self.whole(0, (s - 1) // 2) for s in sizes] * 2
        extra = [self.whole(0, s - 1) for s in strides]
        operands = [x, self.weight(ic, self.whole(1, 4), *sizes), *([] if self.maybe(0.3) else [None])]
        if len(operands) == 3:
            operands[2] = self.weight(groups * self.shapes[operands[1]][1], scale=1.0)
        return self.op("ConvTranspose", *operands, group=groups, strides=strides, pads=pads, output_padding=extra)

    # Pools

    def max_pool(self, x):
        sizes, dilations, pads = self.window(x)
        pads = [min(p, (s - 1)) for p, s in zip(pads, sizes * 2)]
        if any((s - 1) * d + 1 > n for s, d, n in zip(sizes, dilations, self.space(x))):
            dilations = [1] * self.rank
        strides = [self.whole(1, 3) for _ in sizes]
        return self.op("MaxPool", x, kernel_shape=sizes, dilations=dilations, pads=pads, strides=strides, ceil_mode=self.whole(0, 1))

    def average_pool(self, x):
        sizes, dilations, pads = self.window(x)
        pads = [min(p, (s - 1)) for p, s in zip(pads, sizes * 2)]
        strides = [self.whole(1, 3) for _ in sizes]
        return self.op("AveragePool", x, kernel_shape=sizes, pads=pads, strides=strides, count_include_pad=self.whole(0, 1))

    def global_pool(self, x):
        return self.op(self.pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), x)

    def gate(self, x):
        """Squeeze and excitation, or a gate of one channel over space."""
        channels = self.shapes[x][1]
        if self.maybe(0.3):
            return self.op("Mul", x, self.op("Sigmoid", self.conv1(x, 1)))
        mean = self.op("GlobalAveragePool", x) if self.maybe() else \
            self.op("ReduceMean", x, self.constant(np.arange(2, 2 + self.rank)), keepdims=1)
        narrow = self.op("Relu", self.conv1(mean, max(1, channels // 2)))
        return self.op("Mul", x, self.op(self.pick("Sigmoid", "HardSigmoid"), self.conv1(narrow, channels)))

    def conv1(self, x, oc):
        return self.op("Conv", x, self.weight(oc, self.shapes[x][1], *[1] * self.rank), self.weight(oc, scale=1.0))

    # Elementwise and normalization

    def activation(self, x):
        kind = self.pick("Relu", "HardSwish", "Sigmoid", "Tanh", "Elu", "LeakyRelu", "Softplus", "Mish", "Gelu", "HardSigmoid", "Abs", "PRelu", "Clip")
        if kind == "PRelu":
            ones = [1] * self.rank
            return self.op("PRelu", x, self.weight(*self.pick([1], [self.shapes[x][1], *ones]), scale=0.3))
        if kind == "Clip":
            return self.op("Clip", x, self.constant(np.float32(-0.5)), self.constant(np.float32(2)))
        return self.op(kind, x)

    def by_constant(self, x):
        shape = self.shapes[x]
        other = self.pick([1, shape[1], *[1] * self.rank], [shape[1], *[1] * self.rank], shape[2:], shape[1:], [1], [shape[-1]], [1, 1, *shape[2:]])
        return self.op(self.pick("Add", "Mul", "Sub", "Max", "Min"), *self.rng.permutation([x, self.weight(*other, scale=1.0)]))

    def normalize(self, x):
        channels, ones = self.shapes[x][1], [1] * self.rank
        kind = self.pick("batch", "batch", "instance", "group", "layer", "lrn", "lp")
        if kind == "batch":
            rest = [self.weight(channels, scale=1.0), self.weight(channels, scale=1.0), self.positive(channels)]
            return self.op("BatchNormalization", x, self.positive(channels), *rest)
        if kind == "instance" and np.prod(self.space(x)) > 3:
            return self.op("InstanceNormalization", x, self.positive(channels), self.weight(channels, scale=1.0), epsilon=1e-2)
        if kind == "lrn" and self.rank == 2:
            return self.op("LRN", x, size=self.pick(1, 3, 5), alpha=0.05, beta=0.75)
        if kind == "lp":
            return self.op("LpNormalization", self.op("Add", x, self.constant(np.float32(3))), axis=1, p=2)
        if kind == "layer":  # over channels, as ConvNeXt has it
            last = self.op("Transpose", x, perm=[0, *range(2, 2 + self.rank), 1])
            normal = self.op("LayerNormalization", last, self.positive(channels), self.weight(channels, scale=1.0), epsilon=1e-2)
            return self.op("Transpose", normal, perm=[0, 1 + self.rank, *range(1, 1 + self.rank)])
        shape = self.shapes[x]
        groups = self.pick(*[g for g in range(1, channels + 1) if channels % g == 0])
        parts = self.op("Reshape", x, self.constant([shape[0], groups, int(np.prod(shape[1:])) // groups]))
        if self.shapes[parts][2] < 4:
            return x
        normal = self.op("InstanceNormalization", parts, self.positive(groups), self.weight(groups, scale=1.0), epsilon=1e-2)
        back = self.op("Reshape", normal, self.constant(shape))
        return self.op("Mul", back, self.weight(channels, *ones, scale=1.0))

    def residual(self, x):
        y = self.same_conv(x, self.shapes[x][1])
        if self.maybe():
            y = self.activation(y)
        y = self.op(self.pick("Add", "Add", "Sub", "Mul"), *self.rng.permutation([x, y]))
        return self.activation(y) if self.maybe() else y

    # Movement

    def concat(self, x):
        axis = self.pick(1, 1, 1, *range(2, 2 + self.rank))
        parts = [x, self.same_conv(x, self.shapes[x][1] if axis > 1 else self.whole(1, 9))]
        if self.maybe(0.3):
            parts.append(x)
        if self.maybe(0.3):
            parts.append(self.max_pool_same(x))
        return self.op("Concat", *self.rng.permutation(parts), axis=axis)

    def max_pool_same(self, x):
        return self.op("MaxPool", x, kernel_shape=[3] * self.rank, pads=[1] * 2 * self.rank)

    def slice(self, x):
        axis = self.whole(1, 1 + self.rank)
        length = self.shapes[x][axis]
        begin = self.whole(0, length - 1)
        if self.maybe(0.3):
            return self.op("Slice", x, self.constant([length - 1]), self.constant([-length - 1]), self.constant([axis]), self.constant([-self.pick(1, 2)]))
        end = self.whole(begin + 1, length)
        return self.op("Slice", x, self.constant([begin]), self.constant([end]), self.constant([axis]), self.constant([self.pick(1, 1, 2)]))

    def split(self, x):
        axis = self.pick(1, 1, *range(1, 2 + self.rank))
        length = self.shapes[x][axis]
        if length < 2:
            return x
        first = self.whole(1, length - 1)
        a, b = self.op("Split", x, self.constant([first, length - first]), outputs=2, axis=axis)
        if first * 2 == length:
            return self.op("Mul", a, self.op("Sigmoid", b))
        self.results.append(a)
        return self.op("Concat", b, self.activation(a), axis=axis)

    def pad(self, x):
        mode = self.pick("constant", "constant", "reflect", "edge", "wrap")
        ends = [[0, 0], [0, 0], *([self.whole(0, 2), self.whole(0, 2)] for _ in range(self.rank))]
        if mode == "constant" and self.maybe(0.4):
            ends[1] = [self.whole(0, 2), self.whole(0, 2)]
            ends[2] = [self.whole(-1, 1) if self.shapes[x][2] > 3 else 0, 0]
        if any(max(e) >= n for e, n in zip(ends, self.shapes[x])):
            return x
        value = [self.constant(np.float32(self.pick(0, -1.5)))] if mode == "constant" else []
        return self.op("Pad", x, self.constant([e[0] for e in ends] + [e[1] for e in ends]), *value, mode=mode)

    def resize(self, x):
        if np.prod(self.space(x)) > 300:
            return x
        scales = [1.0, 1.0, *(float(self.pick(0.6, 1.0, 1.5, 2.0)) for _ in range(self.rank))]
        mode = self.pick("nearest", "linear", "cubic") if self.rank == 2 else self.pick("nearest", "linear")
        where = self.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        more = dict(nearest_mode=self.pick("floor", "ceil", "round_prefer_floor")) if mode == "nearest" else {}
        if self.maybe(0.3):
            sizes = self.constant([*self.shapes[x][:2], *(max(1, int(n * s)) for n, s in zip(self.space(x), scales[2:]))])
            return self.op("Resize", x, "", "", sizes, mode=mode, coordinate_transformation_mode=where, **more)
        return self.op("Resize", x, "", self.constant(np.float32(scales)), mode=mode, coordinate_transformation_mode=where, **more)

    def blocks(self, x):
        n, c, *space = self.shapes[x]
        if self.rank == 2 and c % 4 == 0 and self.maybe():
            return self.op("DepthToSpace", x, blocksize=2, mode=self.pick("DCR", "CRD"))
        if self.rank == 2 and all(s % 2 == 0 for s in space) and c < 8:
            return self.op("SpaceToDepth", x, blocksize=2)
        groups = self.pick(*[g for g in range(1, c + 1) if c % g == 0])  # channel shuffle
        parts = self.op("Reshape", x, self.constant([n, groups, c // groups, *space]))
        mixed = self.op("Transpose", parts, perm=[0, 2, 1, *range(3, 3 + self.rank)])
        return self.op("Reshape", mixed, self.constant([n, c, *space]))

    def turn(self, x):
        """Another order of dimensions, and back or not."""
        order = [0, *(int(i) for i in self.rng.permutation(range(1, 2 + self.rank)))]
        y = self.activation_plain(self.op("Transpose", x, perm=order))
        return y if self.maybe(0.3) else self.op("Transpose", y, perm=[order.index(i) for i in range(2 + self.rank)])

    def activation_plain(self, x):
        return self.op(self.pick("Tanh", "Relu", "Softplus"), x)

    def linear(self, x):
        """A product over channels, with channels last."""
        last = self.op("Transpose", x, perm=[0, *range(2, 2 + self.rank), 1])
        width = self.whole(1, 9)
        y = self.op("Add", self.op("MatMul", last, self.weight(self.shapes[x][1], width, scale=0.4)), self.weight(width, scale=1.0))
        return self.op("Transpose", y, perm=[0, 1 + self.rank, *range(1, 1 + self.rank)])

    def attention(self, x):
        n, c, *space = self.shapes[x]
        flat = self.op("Reshape", x, self.constant([0, c, -1]))
        scores = self.op("MatMul", self.op("Transpose", flat, perm=[0, 2, 1]), flat)
        weights = self.op("Softmax", self.op("Mul", scores, self.constant(np.float32(0.1))), axis=-1)
        return self.op("Reshape", self.op("MatMul", flat, weights), self.constant([n, c, *space]))

    def reduce(self, x):
        axes = sorted(int(a) for a in self.rng.choice(range(1, 2 + self.rank), self.whole(1, self.rank), replace=False))
        kind = self.pick("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp")
        self.results.append(self.op(kind, x, self.constant(axes), keepdims=self.whole(0, 1)))
        if self.maybe():
            return self.op("Add", x, self.op("ReduceMax", x, self.constant(axes), keepdims=1))
        return x

    def softmax(self, x):
        y = self.op(self.pick("Softmax", "LogSoftmax"), x, axis=self.pick(1, 1, -1, 2))
        return self.op("Mul", y, self.constant(np.float32(2)))

    def gather(self, x):
        axis = self.pick(1, 1, *range(2, 2 + self.rank))
        length = self.shapes[x][axis]
        return self.op("Gather", x, self.constant(self.rng.integers(-length, length, self.whole(1, 7))), axis=axis)

    def accumulate(self, x):
        return self.op("Mul", self.op("CumSum", x, self.constant(np.int64(self.whole(1, 1 + self.rank))), exclusive=self.whole(0, 1), reverse=self.whole(0, 1)),
                       self.constant(np.float32(0.3)))

    def build(self):
        steps = [self.conv] * 4 + [self.activation, self.residual] * 2 + [
            self.transposed, self.max_pool, self.average_pool, self.gate, self.by_constant, self.normalize, self.concat, self.slice, self.split,
            self.pad, self.resize, self.blocks, self.turn, self.linear, self.attention, self.reduce, self.softmax, self.gather, self.accumulate]
        x, past = self.conv("x"), []
        for _ in range(self.whole(4, 7 if self.large else 14)):
            step = self.pick(*steps)
            if step == self.attention and np.prod(self.space(x)) > 200:
                continue
            if step == self.accumulate and max(self.shapes[x][1:]) > 40:
                continue
            before, count = x, len(self.nodes)
            try:
                x = step(x)
            except onnx.shape_inference.InferenceError:
                x = before
                del self.nodes[count:]
            if np.prod(self.shapes[x]) > (1000000 if self.large else 30000) or min(self.shapes[x]) < 1:
                x = before
                del self.nodes[count:]
                self.results = [r for r in self.results if r in {o for n in self.nodes for o in n.output}]
            alike = [p for p in past if self.shapes[p] == self.shapes[x] and p != x]
            if alike and self.maybe(0.3):
                x = self.op("Add", x, self.pick(*alike))
            past.append(x)
            if self.maybe(0.25):
                self.results.append(x)
        if self.maybe(0.3):
            x = self.op("MatMul", self.op("Flatten", x), self.weight(int(np.prod(self.shapes[x][1:])), 5, scale=0.2))
        elif self.maybe(0.3):
            x = self.op("Flatten", self.global_pool(x))
        self.results.append(x)

    def save(self, path):
        self.build()
        self.results = [r for r in dict.fromkeys(self.results) if r != "x"]
        outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, self.shapes[r]) for i, r in enumerate(self.results)]
        nodes = self.nodes + [helper.make_node("Identity", [r], [f"y{i}"]) for i, r in enumerate(self.results)]
        graph = helper.make_graph(nodes, "random", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.start)], outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def reference(path, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})


class Failure(Exception):
    pass


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}")


def check(seed, folder, large=False):
    network = Network(seed, large)
    network.save(folder / "m.onnx")
    kinds = " ".join(node.op_type for node in network.nodes)
    x = np.random.default_rng(seed).standard_normal(network.start).astype(np.float32)
    try:
        expected = reference(folder / "m.onnx", x)
    except Exception as refused:  # onnxruntime lacks the mode
        return f"seed {seed}: not compared ({str(refused).splitlines()[0][:150]})"
    np.save(folder / "x.npy", x)
    threads = network.pick("host", "host", "host,threads=2")
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "m", "--target", threads)
    run(folder / "m", "infer", "--input", f"x={folder}/x.npy", *(w for i in range(len(expected)) for w in ("--output", f"y{i}={folder}/y{i}.npy")))
    wrong, largest = [], max(np.abs(theirs).max(initial=0) for theirs in expected)
    for i, theirs in enumerate(expected):
        ours = np.load(folder / f"y{i}.npy")
        if ours.shape != theirs.shape:
            raise Failure(f"y{i} has shape {ours.shape}, expected {theirs.shape}\n{kinds}")
        error = np.abs(ours.astype("f8") - theirs).max(initial=0) / max(np.abs(theirs).max(initial=0), 1e-2 * largest, 1e-6)  # a result of what cancels
        if not error <= 2e-5:
            wrong.append(f"y{i} = {network.results[i]} {theirs.shape}: error {error:.1e}")
    if wrong:
        raise Failure(f"{threads}: {'; '.join(wrong)}\n{kinds}")
    return f"seed {seed}: {len(network.nodes)} ops, {len(expected)} outputs equal"


def main():
    parser = seed_runs.parser()
    parser.add_argument("--large", action="store_true", help="more channels and positions, fewer steps")
    arguments = parser.parse_args()
    seed_runs.prepare(arguments)
    seed_runs.run(arguments, lambda seed: check(seed, arguments.folder, arguments.large), Failure, "networks")


if __name__ == "__main__":
    main()
