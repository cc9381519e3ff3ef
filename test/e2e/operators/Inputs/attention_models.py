"""Small models around one attention, in the ways that people write it, and one whose sequence is long.

  attention_models.py FOLDER                  a file for each spelling, for training: inputs x [batch, S, 32] and target, output loss
  attention_models.py FOLDER [--rows N] [--width N]     the same with N positions (70), and heads of N elements
  attention_models.py FOLDER --long           FOLDER/causal.onnx, FOLDER/padded.onnx and FOLDER/dropped.onnx (the latter with dropout): 4 heads of 16
                                              over `rows` positions

Each spelling is (scores -> scores): what is between the product of queries and keys and softmax. Those that are marked drop probabilities after softmax.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS = 32, 2
LOW = float(np.finfo(np.float32).min)


class Graph:
    def __init__(self, rows, heads=HEADS, width=WIDTH):
        self.rows, self.heads, self.width, self.nodes, self.initializers, self.count = rows, heads, width, [], [], 0
        self.random = np.random.default_rng(7)

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(kind, list(inputs), [f"v{self.count}"], **attributes))
        return f"v{self.count}"

    def constant(self, value):
        """In a node: floating-point initializers are parameters."""
        return self.op("Constant", value=numpy_helper.from_array(np.asarray(value)))

    def parameter(self, value, name):
        self.initializers.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def weight(self, name):
        return self.parameter(self.random.normal(0, self.width ** -0.5, (self.width, self.width)), name)

    def heads_of(self, x, name, permutation=(0, 2, 1, 3)):
        product = self.op("MatMul", x, self.weight(name))
        split = self.op("Reshape", product, self.constant([0, 0, self.heads, self.width // self.heads]))
        return self.op("Transpose", split, perm=list(permutation))

    def loss(self, x):
        joined = self.op("Reshape", self.op("Transpose", x, perm=[0, 2, 1, 3]), self.constant([0, 0, self.width]))
        out = self.op("MatMul", joined, self.weight("out"))
        difference = self.op("Sub", out, "target")
        return out, self.op("ReduceMean", self.op("Mul", difference, difference), keepdims=0)

    def weights(self, scores, rate=0.0):
        """Softmax, and dropout as exporters write it for training."""
        softmax = self.op("Softmax", scores, axis=-1)
        return self.op("Dropout", softmax, self.number(rate), self.constant(np.bool_(True))) if rate else softmax

    def number(self, value):
        return self.constant(np.float32(value))


def triangle(rows):
    return np.tril(np.ones((rows, rows), bool))


def plain(g, s):
    return g.op("Div", s, g.number(4))


def added_triangle(g, s):
    return g.op("Add", g.op("Mul", s, g.number(0.25)), g.constant(np.where(triangle(g.rows), 0, -np.inf).astype(np.float32)))


def chosen_triangle(g, s):
    return g.op("Where", g.constant(triangle(g.rows)), plain(g, s), g.number(LOW))


def computed_triangle(g, s):
    positions = g.op("Range", g.constant(np.int64(0)), g.constant(np.int64(g.rows)), g.constant(np.int64(1)))
    row, column = (g.op("Unsqueeze", positions, g.constant([d])) for d in (1, 0))
    return g.op("Where", g.op("Greater", column, row), g.number(-np.inf), plain(g, s))


def repeated_triangle(g, s):
    """As [batch, 1, rows, columns]: the exporter has expanded the mask."""
    return g.op("Where", g.constant(np.repeat(triangle(g.rows)[None, None], 2, 0)), plain(g, s), g.number(LOW))


def expanded_triangle(g, s):
    added = g.constant(np.where(triangle(g.rows), 0, -np.inf).astype(np.float32)[None, None])
    return g.op("Add", plain(g, s), g.op("Expand", added, g.constant([2, 1, g.rows, g.rows])))


def padded(g, s):
    """The last positions of every other sample are padding."""
    keep = np.ones((2, 1, 1, g.rows), np.float32)
    keep[1, ..., g.rows // 2:] = 0
    return g.op("Add", plain(g, s), g.constant((1 - keep) * np.float32(LOW)))


def padded_triangle(g, s):
    return padded(g, chosen_triangle(g, s))


def window(g, s):
    distance = np.abs(np.arange(g.rows)[:, None] - np.arange(g.rows))
    return g.op("Where", g.constant(distance < 5), plain(g, s), g.number(-1e9))


def biases_of_heads(g, s):
    slopes = np.array([0.5, 0.25], np.float32)[:, None, None] * -np.abs(np.arange(g.rows)[:, None] - np.arange(g.rows)).astype(np.float32)
    return g.op("Add", plain(g, s), g.constant(slopes))


def learned(g, s):
    """A bias that is trained: its gradient needs all scores."""
    return g.op("Add", plain(g, s), g.parameter(g.random.normal(0, 1, (g.heads, g.rows, g.rows)), "bias"))


def drops(spelling):
    spelling.rate = 0.25
    return spelling


@drops
def dropped(g, s):
    return plain(g, s)


@drops
def dropped_causal(g, s):
    return chosen_triangle(g, s)


@drops
def dropped_window(g, s):
    return window(g, s)


@drops
def dropped_biases(g, s):
    return biases_of_heads(g, s)


SPELLINGS = [plain, added_triangle, chosen_triangle, computed_triangle, repeated_triangle, expanded_triangle, padded, padded_triangle, window,
             biases_of_heads, learned, dropped, dropped_causal, dropped_window, dropped_biases]


def model(spelling, rows, width=WIDTH):
    g = Graph(rows, width=width)
    q, k, v = g.heads_of("x", "query"), g.heads_of("x", "key", (0, 2, 3, 1)), g.heads_of("x", "value")
    scores = spelling(g, g.op("MatMul", q, k))
    _, loss = g.loss(g.op("MatMul", g.weights(scores, getattr(spelling, "rate", 0.0)), v))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", rows, width]) for name in ("x", "target")]
    return finish(g, ports, loss)


def long_model(is_causal, is_dropped=False):
    """Attention over `rows` positions, by the operator where it can be (it has no dropout), so that no mask is a constant of the file."""
    g = Graph("rows", 4, 64)
    q, k, v = (g.heads_of("x", name) for name in ("query", "key", "value"))
    if is_dropped:
        scores = g.op("Div", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), g.number(4))
        mask = g.op("Mul", g.op("Cast", g.op("Unsqueeze", "keep", g.constant([1, 2])), to=TensorProto.FLOAT), g.number(2))
        y = g.op("MatMul", g.weights(g.op("Add", scores, mask), 0.1), v)
    elif is_causal:
        y = g.op("Attention", q, k, v, is_causal=1)
    else:
        keep = g.op("Cast", g.op("Unsqueeze", "keep", g.constant([1, 2])), to=TensorProto.BOOL)
        y = g.op("Attention", q, k, v, keep)
    _, loss = g.loss(y)
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "rows", 64]) for name in ("x", "target")]
    if not is_causal:
        ports.append(helper.make_tensor_value_info("keep", TensorProto.INT64, [1, "rows"]))
    return finish(g, ports, loss)


def finish(g, ports, loss):
    g.nodes.append(helper.make_node("Identity", [loss], ["loss"]))
    graph = helper.make_graph(g.nodes, "attention", ports, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                              g.initializers)
    result = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    result.ir_version = 10
    return result


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if "--long" in sys.argv:
        onnx.save(long_model(True), folder / "causal.onnx")
        onnx.save(long_model(False), folder / "padded.onnx")
        onnx.save(long_model(False, is_dropped=True), folder / "dropped.onnx")
    else:
        options = dict(zip(sys.argv[2::2], map(int, sys.argv[3::2])))
        width = HEADS * options["--width"] if "--width" in options else WIDTH
        for each in SPELLINGS:
            onnx.save(model(each, options.get("--rows", 70), width), folder / f"{each.__name__}.onnx")  # more than a block of rows, and no multiple
