"""Small models of different structure, for tests of what splitting parameters costs and saves.

  sharding_models.py FOLDER      writes FOLDER/NAME.onnx for every name below

All take x [batch, width] and labels [batch] and return `loss`; weights are seeded random numbers.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Nodes and weights in the order in which they are added; `value` is what the next layer reads."""

    def __init__(self, width, seed=0):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(seed)
        self.width, self.value, self.inputs = width, "x", width

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape) / np.sqrt(max(shape[0], 1))
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def op(self, kind, *operands, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name], **attributes))
        return name

    def linear(self, width, bias=True, value=None):
        product = self.op("MatMul", value or self.value, self.weight(self.width, width))
        self.width = width
        self.value = self.op("Add", product, self.weight(width)) if bias else product
        return self

    def relu(self):
        self.value = self.op("Relu", self.value)
        return self

    def norm(self):
        self.value = self.op("LayerNormalization", self.value, self.weight(self.width), self.weight(self.width), axis=-1)
        return self

    def residual(self, hidden, norm=True):
        """x + W2 relu(W1 norm(x))."""
        before, width = self.value, self.width
        if norm:
            self.norm()
        self.linear(hidden).relu().linear(width)
        self.value = self.op("Add", before, self.value)
        return self

    def reshape(self, *shape):
        self.value = self.op("Reshape", self.value, self.constant(np.array(shape)))
        self.width = shape[-1]
        return self

    def scaled(self, rows):
        """x + s * relu(x) for a scale as large as a sample: the backward pass may compute all of it again."""
        product = self.op("Mul", self.op("Relu", self.value), self.weight(rows, self.width))
        self.value = self.op("Add", self.value, product)
        return self

    def images(self, channels, size):
        self.value = self.op("Reshape", self.value, self.constant(np.array([0, channels, size, size])))
        self.width = channels
        return self

    def convolution(self, channels, kernel=3, stride=1, groups=1, activation="Relu"):
        """Without bias; then batch normalization, and the activation."""
        weight = self.weight(channels, self.width // groups, kernel, kernel)
        value = self.op("Conv", self.value, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)
        name = f"n{len(self.nodes)}"
        statistics = [f"{name}.mean", f"{name}.var"]
        for statistic, start in zip(statistics, (np.zeros, np.ones)):
            self.weights.append(numpy_helper.from_array(start(channels, np.float32), statistic))
        scale, shift = self.weight(channels), self.weight(channels)
        self.nodes.append(helper.make_node("BatchNormalization", [value, scale, shift, *statistics], [name, *[f"{s}.next" for s in statistics]],
                                           training_mode=1))
        self.value, self.width = self.op(activation, name) if activation else name, channels
        return self

    def average(self):
        self.value = self.op("Flatten", self.op("GlobalAveragePool", self.value), axis=1)
        return self

    def constant(self, array):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(np.int64), name))
        return name

    def save(self, path):
        self.linear(10)
        self.nodes.append(helper.make_node("SoftmaxCrossEntropyLoss", [self.value, "labels"], ["loss"], reduction="mean"))
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", self.inputs]),
                  helper.make_tensor_value_info("labels", TensorProto.INT64, ["batch"])]
        outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
        model = helper.make_model(helper.make_graph(self.nodes, path.stem, inputs, outputs, self.weights),
                                  opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def deep():
    """Many equal small layers."""
    graph = Graph(64)
    for _ in range(40):
        graph.linear(64).relu()
    return graph


def residual():
    """Repeated residual blocks with norms."""
    graph = Graph(96).linear(96)
    for _ in range(6):
        graph.residual(192)
    return graph.norm()


def growing():
    """Blocks of which each has four times the parameters of the one before: half of the model is the last one."""
    graph = Graph(32)
    for width in (32, 64, 128, 256):
        graph.linear(width).relu()
        for _ in range(2):
            graph.residual(width * 2)
    return graph


def alternating():
    """Wide and narrow layers by turns, none like another: no block repeats."""
    graph = Graph(64)
    for i, width in enumerate((512, 16, 384, 24, 448, 32, 320, 40)):
        graph.linear(width, bias=i % 2 == 0).relu()
    return graph


def huge():
    """One layer is nearly the whole model."""
    return Graph(64).linear(64).relu().linear(4096).relu().linear(32).relu()


def scales():
    """A residual path of elementwise ops with large parameters: one chain from the first block to the last."""
    graph = Graph(64 * 64).reshape(0, 64, 64)
    for _ in range(8):
        graph.residual(32).scaled(64)
    return graph.reshape(0, 64 * 64)


def few():
    """Three large layers: two of them gathered at a time are most of the model."""
    return Graph(384).linear(384).relu().linear(384).relu().linear(384).relu()


def convolutions():
    """Residual stages of a ResNet: later stages have fewer positions and more parameters."""
    graph = Graph(3 * 32 * 32).images(3, 32).convolution(16)
    for channels, stride in ((16, 1), (32, 2), (64, 2), (128, 2)):
        for step in (stride, 1):
            before, width = graph.value, graph.width
            graph.convolution(channels, stride=step).convolution(channels, activation=None)
            after = graph.value
            if step != 1 or width != channels:
                graph.value, graph.width = before, width
                before = graph.convolution(channels, kernel=1, stride=step, activation=None).value
            graph.value, graph.width = graph.op("Relu", graph.op("Add", before, after)), channels
    return graph.average()


def inverted():
    """Inverted bottlenecks of a MobileNet: wide, depthwise, narrow."""
    graph = Graph(3 * 32 * 32).images(3, 32).convolution(16, stride=2, activation="HardSwish")
    for channels, wide, stride in ((16, 64, 1), (24, 72, 2), (24, 88, 1), (40, 96, 2), (40, 240, 1), (96, 576, 1), (96, 576, 1)):
        before, width = graph.value, graph.width
        graph.convolution(wide, kernel=1).convolution(wide, kernel=5, stride=stride, groups=wide, activation="HardSwish")
        graph.convolution(channels, kernel=1, activation=None)
        if stride == 1 and width == channels:
            graph.value = graph.op("Add", before, graph.value)
    return graph.average()


def tiny():
    """A few numbers: padding and scalars are more than what is split."""
    return Graph(4).linear(4).relu()


def one():
    """A single layer."""
    return Graph(256)


MODELS = [deep, residual, growing, alternating, huge, few, scales, convolutions, inverted, tiny, one]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in MODELS:
        make().save(folder / f"{make.__name__}.onnx")


if __name__ == "__main__":
    main()
