"""Networks of many different convolutions, as ONNX files: code and library kernels take more than their tensors.

  convolution_models.py FOLDER      writes chain.onnx and depthwise.onnx, with a loss, and chain-infer.onnx, depthwise-infer.onnx
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(0)
        self.value, self.channels = "x", 3

    def op(self, kind, *operands, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [self.value, *operands], [name], **attributes))
        self.value = name

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def convolution(self, channels, size, groups=1, stride=1, dilation=1):
        pad = size // 2 * dilation
        self.op("Conv", self.weight(channels, self.channels // groups, size, size), kernel_shape=[size, size], group=groups,
                pads=[pad] * 4, strides=[stride] * 2, dilations=[dilation] * 2)
        self.channels = channels

    def save(self, path, loss):
        nodes, weights = list(self.nodes), list(self.weights)
        nodes += [helper.make_node("GlobalAveragePool", [self.value], ["pooled"]), helper.make_node("Flatten", ["pooled"], ["flat"]),
                  helper.make_node("MatMul", ["flat", "head"], ["logits"])]
        head = self.random.standard_normal((self.channels, 10)) / self.channels
        weights.append(numpy_helper.from_array(head.astype(np.float32), "head"))
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 16, 16])]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])]
        if loss:
            nodes.append(helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "labels"], ["loss"], reduction="mean"))
            inputs.append(helper.make_tensor_value_info("labels", TensorProto.INT64, ["batch"]))
            outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
        model = helper.make_model(helper.make_graph(nodes, path.stem, inputs, outputs, weights),
                                  opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def chain():
    """Every convolution has other channels than the one before, sizes by turns."""
    network = Network()
    for i in range(60):
        network.convolution(9 + i, (3, 1, 5)[i % 3], stride=2 if i == 30 else 1, dilation=2 if i % 7 == 6 else 1)
        network.op("Relu")
    return network


def depthwise():
    """Inverted bottlenecks: pointwise, depthwise, pointwise."""
    network = Network()
    network.convolution(8, 3)
    for i in range(18):
        network.convolution(24 + 4 * i, 1)
        network.op("HardSwish")
        network.convolution(network.channels, (3, 5)[i % 2], groups=network.channels)
        network.op("HardSwish")
        network.convolution(8 + i, 1)
    return network


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (chain, depthwise):
        make().save(folder / f"{make.__name__}.onnx", loss=True)
        make().save(folder / f"{make.__name__}-infer.onnx", loss=False)


if __name__ == "__main__":
    main()
