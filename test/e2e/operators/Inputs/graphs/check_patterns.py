"""Heads and projections of well-known models: several narrow views of one value. Each must compile, and equal onnxruntime.

  check_patterns.py FOLDER
"""
import pathlib
import sys

import numpy as np

import fuzz_graphs
from building import Graph

PATTERNS = []


def pattern(function):
    PATTERNS.append(function)
    return function


class Writer(Graph):
    """Emits by name: w.Add(x, y), w.Split(x, count=2, axis=1); arrays and lists are constants."""

    def __getattr__(self, operator):
        if not operator[0].isupper():
            raise AttributeError(operator)

        def emit(*inputs, count=1, **attributes):
            names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
            outputs = self.emit(operator, names, count, attributes)
            assert outputs, f"{operator} gave nothing"
            return outputs if count > 1 else outputs[0]
        return emit

    def weight(self, *shape):
        return (self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype("f4")

    def rows(self, x, begin, end, axis=1, step=1):
        return self.Slice(x, np.int64([begin]), np.int64([end]), np.int64([axis]), np.int64([step]))

    def pick_row(self, x, index, axis=1):
        return self.Gather(x, np.int64(index), axis=axis)


@pattern
def two_columns(w):
    x = w.add_input([5, 2], "f4")
    return [w.pick_row(x, 0), w.pick_row(x, 1)]


@pattern
def chunks_of_one(w):
    x = w.add_input([4, 2, 7], "f4")
    return w.Split(x, count=2, axis=1, num_outputs=2)


@pattern
def deit_two_heads(w):
    x = w.add_input([3, 9, 16], "f4")
    y = w.LayerNormalization(x, w.weight(16), w.weight(16), axis=-1)
    first = w.Add(w.MatMul(w.pick_row(y, 0), w.weight(16, 5)), w.weight(5))
    second = w.Add(w.MatMul(w.pick_row(y, 1), w.weight(16, 5)), w.weight(5))
    return [first, second, w.Div(w.Add(first, second), np.float32(2))]


@pattern
def dinov2_token_and_mean(w):
    x = w.add_input([3, 9, 16], "f4")
    y = w.LayerNormalization(x, w.weight(16), w.weight(16), axis=-1)
    mean = w.ReduceMean(w.rows(y, 1, 9), np.int64([1]), keepdims=0)
    joined = w.Concat(w.pick_row(y, 0), mean, axis=1)
    return [w.MatMul(joined, w.weight(32, 4)), y]


@pattern
def dlrm_interactions(w):
    dense, tables = w.add_input([6, 8], "f4"), [w.add_input([6, 8], "f4") for _ in range(3)]
    parts = [w.Unsqueeze(part, np.int64([1])) for part in [w.Relu(dense), *tables]]
    z = w.Concat(*parts, axis=1)
    products = w.MatMul(z, w.Transpose(z, perm=[0, 2, 1]))
    flat = w.Reshape(products, np.int64([6, 16]))
    lower = w.Gather(flat, np.int64([4 * i + j for i in range(4) for j in range(i)]), axis=1)
    return [w.Sigmoid(w.MatMul(w.Concat(w.Relu(dense), lower, axis=1), w.weight(14, 1)))]


@pattern
def bert_question_answering(w):
    x = w.add_input([2, 11, 8], "f4")
    logits = w.Add(w.MatMul(x, w.weight(8, 2)), w.weight(2))
    start, end = w.Split(logits, count=2, axis=2, num_outputs=2)
    return [w.Squeeze(start, np.int64([2])), w.Squeeze(end, np.int64([2]))]


def attend(w, q, k, v):
    """Of [batch, heads, tokens, size]."""
    scores = w.Mul(w.MatMul(q, w.Transpose(k, perm=[0, 1, 3, 2])), np.float32(0.35))
    return w.MatMul(w.Softmax(scores, axis=-1), v)


@pattern
def falcon_one_key_head(w):
    x = w.add_input([2, 7, 16], "f4")
    fused = w.Reshape(w.MatMul(x, w.weight(16, 48)), np.int64([2, 7, 6, 8]))
    q, k, v = w.rows(fused, 0, 4, 2), w.rows(fused, 4, 5, 2), w.rows(fused, 5, 6, 2)
    q, k, v = (w.Transpose(part, perm=[0, 2, 1, 3]) for part in (q, k, v))
    return [attend(w, q, k, v), k, v]


@pattern
def bloom_interleaved_heads(w):
    x = w.add_input([2, 7, 16], "f4")
    fused = w.Reshape(w.Add(w.MatMul(x, w.weight(16, 48)), w.weight(48)), np.int64([2, 7, 2, 3, 8]))
    parts = [w.Transpose(w.pick_row(fused, i, 3), perm=[0, 2, 1, 3]) for i in range(3)]
    return [attend(w, *parts), parts[1], parts[2]]


@pattern
def one_head_of_size_one(w):
    x = w.add_input([1, 5, 4], "f4")
    fused = w.Reshape(w.MatMul(x, w.weight(4, 12)), np.int64([1, 5, 3, 4, 1]))
    parts = [w.Transpose(w.Squeeze(part, np.int64([2])), perm=[0, 2, 1, 3]) for part in w.Split(fused, count=3, axis=2, num_outputs=3)]
    return [attend(w, *parts), parts[2]]


def rotate(w, x, cos, sin):
    low, high = w.rows(x, 0, 4, 3), w.rows(x, 4, 8, 3)
    return w.Add(w.Mul(x, cos), w.Mul(w.Concat(w.Neg(high), low, axis=3), sin))


@pattern
def modernbert_block(w):
    x = w.add_input([2, 6, 16], "f4")
    fused = w.Reshape(w.MatMul(x, w.weight(16, 48)), np.int64([2, 6, 3, 2, 8]))
    q, k, v = (w.Transpose(w.Squeeze(part, np.int64([2])), perm=[0, 2, 1, 3]) for part in w.Split(fused, count=3, axis=2, num_outputs=3))
    angles = w.constant(np.outer(np.arange(6), 0.5 ** np.arange(8)).astype("f4"))
    cos, sin = w.Cos(angles), w.Sin(angles)
    y = attend(w, rotate(w, q, cos, sin), rotate(w, k, cos, sin), v)
    y = w.Add(x, w.Reshape(w.Transpose(y, perm=[0, 2, 1, 3]), np.int64([2, 6, 16])))
    value, gate = w.Split(w.MatMul(y, w.weight(16, 20)), count=2, axis=2, num_outputs=2)
    return [w.Add(y, w.MatMul(w.Mul(w.Gelu(value), gate), w.weight(10, 16))), k]


@pattern
def mamba_block(w):
    x = w.add_input([2, 9, 8], "f4")
    inner, gate = w.Split(w.MatMul(x, w.weight(8, 12)), count=2, axis=2, num_outputs=2)
    inner = w.Conv(w.Transpose(inner, perm=[0, 2, 1]), w.weight(6, 1, 4), w.weight(6), group=6, pads=[3, 0], kernel_shape=[4])
    inner = w.Transpose(w.Mul(inner, w.Sigmoid(inner)), perm=[0, 2, 1])
    step, b, c = w.Split(w.MatMul(inner, w.weight(6, 5)), np.int64([1, 2, 2]), count=3, axis=2)
    step = w.Softplus(w.Add(step, w.weight(1)))
    decay = w.CumSum(w.Mul(step, np.float32(-0.5)), np.int64(1))
    state = w.Mul(w.Unsqueeze(w.Mul(step, inner), np.int64([3])), w.Unsqueeze(b, np.int64([2])))
    scale = w.Unsqueeze(w.Exp(decay), np.int64([3]))
    states = w.Mul(w.CumSum(w.Div(state, scale), np.int64(1)), scale)
    y = w.Squeeze(w.MatMul(states, w.Unsqueeze(c, np.int64([3]))), np.int64([3]))
    return [w.Mul(y, w.Mul(gate, w.Sigmoid(gate))), w.rows(states, 8, 9)]


@pattern
def constant_of_two_uses(w):
    x = w.add_input([5, 5], "f4")
    for shape in ([5], [5, 5]):
        for ones in (np.ones(shape, "f4"), w.rng.standard_normal(shape).astype("f4")):
            name = w.constant(ones)
            total = w.CumSum(w.Add(name, w.ReduceSum(x, np.int64([0, 1]), keepdims=0)), np.int64(0))
            x = w.Mul(w.Add(x, name), w.Add(total, w.CumSum(name, np.int64(0))))
            x = w.Tanh(x)
    return [x, w.CumSum(x, np.int64(1)), w.CumSum(x, np.int64(0)), w.Add(x, w.Transpose(x, perm=[1, 0]))]


@pattern
def means_of_neighbours(w):
    """In one kernel, the last would be computed from 2^30 elements of the first."""
    x, size = w.add_input([3, 40], "f4"), 40
    for _ in range(30):
        x = w.Mul(w.Add(w.rows(x, 0, size - 1), w.rows(x, 1, size)), np.float32(0.5))
        size -= 1
    return [x]


@pattern
def sums_of_transposes(w):
    x = w.add_input([20, 20], "f4")
    for _ in range(12):
        x = w.Tanh(w.Add(x, w.Transpose(x, perm=[1, 0])))
    return [x]


def main():
    root, failed = pathlib.Path(sys.argv[1]), 0
    for seed, build in enumerate(PATTERNS):
        writer = Writer(seed)
        writer.outputs = list(build(writer))
        folder = root / build.__name__
        folder.mkdir(parents=True, exist_ok=True)
        try:
            fuzz_graphs.check_inference(writer, folder, seed)
        except fuzz_graphs.Wrong as error:
            failed += 1
            print(f"{build.__name__}: {error}")
    if failed:
        sys.exit(f"{failed} of {len(PATTERNS)} patterns fail")
    print(f"{len(PATTERNS)} patterns")


if __name__ == "__main__":
    main()
