"""Writes a Llama 3.1 as ONNX without weights: shapes alone, whatever its size. Sizes are those of the model with 405 billion parameters.

  make_model.py llama-405b.onnx
  make_model.py llama-nano.onnx --layers 2 --width 64 --heads 4 --kv-heads 2 --hidden 128 --vocabulary 256 --context 64

Every initializer is external data of a file that is not there. `cleave compile --init` says how parameters begin, and a trained file of
weights goes in by `--weights`: names and shapes are those of Hugging Face's LlamaForCausalLM. Inputs are tokens and labels [batch, context],
outputs lm_head (the logits) and loss.
"""
import argparse

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

EPSILON = 1e-5


class Graph:
    """Nodes and parameters; `add` returns the name of a node's only output."""

    def __init__(self, weights_file):
        self.nodes, self.parameters, self.weights_file, self.bytes = [], [], weights_file, 0

    def add(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name, array):
        return self.add("Constant", [], name, value=numpy_helper.from_array(array))

    def parameter(self, name, *shape):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        size = 4 * int(np.prod(shape, dtype=np.int64))
        for key, value in (("location", self.weights_file), ("offset", self.bytes), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        self.bytes += size
        self.parameters.append(tensor)
        return name

    def linear(self, x, name, inputs, outputs):
        """nn.Linear without a bias: the weight is [outputs, inputs]."""
        weight = self.parameter(name + ".weight", outputs, inputs)
        return self.add("MatMul", [x, self.add("Transpose", [weight], name + ".transposed", perm=[1, 0])], name)

    def norm(self, x, name, width):
        return self.add("RMSNormalization", [x, self.parameter(name + ".weight", width)], name, axis=-1, epsilon=EPSILON)


def rope_tables(context, size, theta=500000.0, factor=8.0, low=1.0, high=4.0, original=8192):
    """Cosines and sines [context, 1, size / 2], with the frequencies of Llama 3.1: slow ones are stretched."""
    frequencies = theta ** -(np.arange(0, size, 2) / size)
    turns = original * frequencies / (2 * np.pi)
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    angles = np.outer(np.arange(context), (1 - smooth) * frequencies / factor + smooth * frequencies)[:, None, :]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rotate(g, x, name):
    """Rotary positions of [batch, context, heads, size]: the halves of a head are the two parts of complex numbers."""
    first, second = name + ".first", name + ".second"
    g.nodes.append(helper.make_node("Split", [x], [first, second], name=name + ".split", axis=-1, num_outputs=2))
    times = lambda a, b: g.add("Mul", [a, b], f"{a}.{b}")
    real = g.add("Sub", [times(first, "rope.cos"), times(second, "rope.sin")], name + ".real")
    imaginary = g.add("Add", [times(second, "rope.cos"), times(first, "rope.sin")], name + ".imaginary")
    return g.add("Concat", [real, imaginary], name + ".rotated", axis=-1)


def attention(g, x, name, o):
    size = o.width // o.heads
    flat = {}
    for part, heads in (("q", o.heads), ("k", o.kv_heads), ("v", o.kv_heads)):
        projected = g.linear(x, f"{name}.{part}_proj", o.width, heads * size)
        if part == "v":
            flat[part] = projected
            continue
        shape = g.constant(f"{name}.{part}_shape", np.array([0, 0, heads, size]))
        rotated = rotate(g, g.add("Reshape", [projected, shape], f"{name}.{part}_heads"), f"{name}.{part}")
        back = g.constant(f"{name}.{part}_flat_shape", np.array([0, 0, heads * size]))
        flat[part] = g.add("Reshape", [rotated, back], f"{name}.{part}_flat")
    y = g.add("Attention", [flat["q"], flat["k"], flat["v"]], f"{name}.attention", is_causal=1, q_num_heads=o.heads, kv_num_heads=o.kv_heads)
    return g.linear(y, f"{name}.o_proj", o.heads * size, o.width)


def feed_forward(g, x, name, o):
    gate, up = (g.linear(x, f"{name}.{part}_proj", o.width, o.hidden) for part in ("gate", "up"))
    silu = g.add("Mul", [gate, g.add("Sigmoid", [gate], name + ".sigmoid")], name + ".silu")
    return g.linear(g.add("Mul", [silu, up], name + ".product"), f"{name}.down_proj", o.hidden, o.width)


def make_model(o):
    g = Graph(o.weights_file)
    for name, table in zip(("rope.cos", "rope.sin"), rope_tables(o.context, o.width // o.heads)):
        g.constant(name, table)
    x = g.add("Gather", [g.parameter("model.embed_tokens.weight", o.vocabulary, o.width), "tokens"], "embedded")
    for layer in range(o.layers):
        name = f"model.layers.{layer}"
        y = attention(g, g.norm(x, name + ".input_layernorm", o.width), name + ".self_attn", o)
        x = g.add("Add", [x, y], name + ".attended")
        y = feed_forward(g, g.norm(x, name + ".post_attention_layernorm", o.width), name + ".mlp", o)
        x = g.add("Add", [x, y], name)
    logits = g.linear(g.norm(x, "model.norm", o.width), "lm_head", o.width, o.vocabulary)
    rows = g.add("Reshape", [logits, g.constant("rows", np.array([-1, o.vocabulary]))], "logits.rows")
    classes = g.add("Reshape", ["labels", g.constant("all", np.array([-1]))], "labels.rows")
    g.add("SoftmaxCrossEntropyLoss", [rows, classes], "loss", reduction="mean")

    value = helper.make_tensor_value_info
    inputs = [value(name, TensorProto.INT64, ["batch", o.context]) for name in ("tokens", "labels")]
    outputs = [value("lm_head", TensorProto.FLOAT, ["batch", o.context, o.vocabulary]), value("loss", TensorProto.FLOAT, [])]
    graph = helper.make_graph(g.nodes, "llama", inputs, outputs, g.parameters)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), g.bytes // 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    for name, default in (("layers", 126), ("width", 16384), ("heads", 128), ("kv-heads", 8), ("hidden", 53248), ("vocabulary", 128256), ("context", 8192)):
        parser.add_argument("--" + name, type=int, default=default, help=f"default: {default}")
    parser.add_argument("--weights-file", default="weights.bin", help="the name of the file that is not there")
    options = parser.parse_args()
    model, parameters = make_model(options)
    save(model, options.output)
    print(f"{options.output}: {parameters:,} parameters, none of them in a file")


if __name__ == "__main__":
    main()
