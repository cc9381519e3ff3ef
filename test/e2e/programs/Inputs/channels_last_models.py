"""Networks whose tensors may have their channels last, as ONNX files.

  channels_last_models.py FOLDER      writes image.onnx (two dimensions), signal.onnx (one) and volume.onnx (three)

Between the convolutions stands what must be passed through on the way: biases, activations, sums, gates, concatenations, slices, pads, pools,
a mean over space, a batch norm, a reshape to tokens, and tensors that are results as well.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    def __init__(self, rank, channels, size):
        self.rank, self.nodes, self.weights, self.random = rank, [], [], np.random.default_rng(rank)
        self.input = ["batch", channels] + [size + i for i in range(rank)]

    def op(self, kind, *operands, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name], **attributes))
        return name

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, *shape):
        scale = np.sqrt(np.prod(shape[1:]) or 1)
        return self.constant((self.random.standard_normal(shape) / scale).astype(np.float32))

    def conv(self, x, ic, oc, size, stride=1, groups=1):
        window = [size] * self.rank
        return self.op("Conv", x, self.weight(oc, ic // groups, *window), self.weight(oc), kernel_shape=window, group=groups,
                       pads=[size // 2] * 2 * self.rank, strides=[stride] * self.rank)

    def gate(self, x, channels):
        """Squeeze and excitation."""
        mean = self.op("GlobalAveragePool", x)
        narrow = self.op("Relu", self.conv(mean, channels, channels // 4, 1))
        return self.op("Mul", x, self.op("HardSigmoid", self.conv(narrow, channels // 4, channels, 1), alpha=1 / 6, beta=0.5))

    def normalize(self, x, channels):
        positive = self.constant((self.random.random(channels) + 0.5).astype(np.float32))
        return self.op("BatchNormalization", x, positive, self.weight(channels), self.weight(channels), positive)

    def build(self):
        pool = dict(kernel_shape=[3] * self.rank, strides=[2] * self.rank, pads=[1] * 2 * self.rank)
        x = self.op("Relu", self.conv("x", self.input[1], 24, 3))
        x = self.op("MaxPool", x, **pool)
        wide = self.op("HardSwish", self.conv(x, 24, 40, 1))
        deep = self.op("HardSwish", self.conv(wide, 40, 40, 5, groups=40))
        back = self.conv(self.gate(deep, 40), 40, 24, 1)
        x = self.op("Add", x, back)
        grouped = self.normalize(self.conv(x, 24, 24, 3, groups=4), 24)
        both = self.op("Concat", x, self.op("Relu", grouped), axis=1)
        part = self.op("Slice", both, self.constant([12]), self.constant([44]), self.constant([1]))
        ends = [0, 0] + [1] * self.rank
        padded = self.op("Pad", part, self.constant(ends + ends))
        mean = self.op("AveragePool", padded, **pool, count_include_pad=0)
        last = self.conv(mean, 32, 16, 3)
        kept = self.op("Sigmoid", last)  # a result, and read on
        tokens = self.op("Transpose", self.op("Reshape", self.conv(kept, 16, 8, 1), self.constant([0, 8, -1])), perm=[0, 2, 1])
        logits = self.op("MatMul", tokens, self.weight(8, 5))
        most = self.op("ReduceMax", kept, axes=list(range(2, 2 + self.rank)), keepdims=0)
        return {"kept": kept, "logits": logits, "most": most}

    def save(self, path):
        results = self.build()
        self.nodes += [helper.make_node("Identity", [value], [name]) for name, value in results.items()]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.input)]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
        model = helper.make_model(helper.make_graph(self.nodes, path.stem, inputs, outputs, self.weights),
                                  opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, rank, size in (("image", 2, 17), ("signal", 1, 33), ("volume", 3, 9)):
        Network(rank, 3, size).save(folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
