"""Operators that models seldom have: functions of limited domains, windows, quantized and recurrent ones, losses; see operators.py."""
import numpy as np

from building import BOOL, INTS, NARROW, is_float
from operators import operator

FLOAT32 = np.dtype("f4")


def pick_single(g, low=0, high=9):
    """f32, or any float where gradients are compared (which evaluates the graph in f64)."""
    return g.pick(lambda array: array.dtype == FLOAT32 and low <= array.ndim <= high)


def scaled(g, name, factor):
    made = name and g.emit("Mul", [name, g.constant(np.asarray(factor, g.arrays[name].dtype))], pooled=False)
    return made and made[0]


@operator(2)
def trigonometry(g):
    """Of values in the function's domain, away from its ends."""
    x = g.pick_float()
    if not x:
        return
    kind = g.choose(["Tan", "Asin", "Acos", "Atanh", "Atan", "Asinh", "Sinh", "Cosh", "Acosh"])
    if kind in ("Tan", "Asin", "Acos", "Atanh", "Sinh", "Cosh"):
        wave = g.emit("Sin", [x], pooled=False)
        inside = wave and scaled(g, wave[0], 0.9)
    elif kind == "Acosh":
        size = g.emit("Abs", [x], pooled=False)
        inside = size and g.emit("Add", [size[0], g.constant(np.asarray(1.5, g.arrays[x].dtype))], pooled=False)
        inside = inside and inside[0]
    else:
        inside = x
    if inside:
        g.emit(kind, [inside])


@operator(0.7)
def swish(g):
    x = pick_single(g)
    if x:
        g.emit("Swish", [x], attributes={"alpha": float(g.choose([-0.5, 0.5, 1.0, 2.0]))})


@operator(0.7)
def log_of_sum(g):
    x = g.pick_float(1)
    size = x and g.emit("Abs", [x], pooled=False)
    more = size and g.emit("Add", [size[0], g.constant(np.asarray(0.5, g.arrays[x].dtype))], pooled=False)
    if more:
        g.emit("ReduceLogSum", [more[0], g.fixed([g.integer(-g.arrays[x].ndim, -1)])], attributes={"keepdims": g.integer(0, 1)})


@operator(0.7)
def norms(g):
    x = g.pick_float(1, 5)
    if not x:
        return
    a, kind = g.arrays[x], g.choose(["ReduceL2", "LpPool", "GlobalLpPool"])
    if kind == "ReduceL2":
        g.emit(kind, [x, g.fixed([g.integer(-a.ndim, -1)])], attributes={"keepdims": g.integer(0, 1)})
    elif a.ndim >= 3 and a.dtype == FLOAT32:
        window = {"kernel_shape": [min(g.integer(1, 3), size) for size in a.shape[2:]]} if kind == "LpPool" else {}
        g.emit(kind, [x], attributes={"p": g.integer(1, 2), **window})


@operator(0.7, trains=False)
def bits(g):
    x = g.pick(lambda array: array.dtype in [*INTS, *NARROW])
    if not x:
        return
    a = g.arrays[x]
    if a.dtype.kind == "u" and g.chance(0.7):
        g.emit("BitShift", [x, g.constant(g.rng.integers(0, 7, a.shape).astype(a.dtype))], attributes={"direction": g.choose(["LEFT", "RIGHT"])})
    else:
        g.emit("BitwiseNot", [x])


@operator(0.7, trains=False)
def cast_like(g):
    x, like = g.pick(lambda array: array.dtype != BOOL), g.pick(lambda array: is_float(array.dtype))
    if x and like:
        g.emit("CastLike", [x, like])


# Places and shapes

@operator(0.7)
def crop_or_pad(g):
    x = g.pick_float(1, 4)
    if x:
        axis = g.integer(0, g.arrays[x].ndim - 1)
        g.emit("CenterCropPad", [x, g.fixed([g.integer(1, 2 * g.arrays[x].shape[axis])])], attributes={"axes": [axis]})


@operator(0.7)
def compress(g):
    x = g.pick_float(1, 4)
    if not x:
        return
    axis = g.integer(0, g.arrays[x].ndim - 1)
    chosen = g.rng.integers(0, 2, g.arrays[x].shape[axis]).astype(bool)
    chosen[g.integer(0, len(chosen) - 1)] = True
    g.emit("Compress", [x, g.constant(chosen)], attributes={"axis": axis})


@operator(0.7)
def reversed_sequences(g):
    x = g.pick_float(2, 4)
    if x:
        time = g.integer(0, 1)
        a = g.arrays[x]
        lengths = g.rng.integers(1, a.shape[time] + 1, a.shape[1 - time])
        g.emit("ReverseSequence", [x, g.constant(lengths.astype(np.int64))], attributes={"time_axis": time, "batch_axis": 1 - time})


@operator(0.7)
def determinant(g):
    x = g.pick(lambda array: array.dtype == FLOAT32 and array.ndim >= 2 and array.shape[-1] == array.shape[-2] <= 5)
    if x:
        g.emit("Det", [x])


@operator(0.7)
def made_of_shapes(g):
    """Constants by operators: ranges, fills, unit matrices, windows."""
    x = pick_single(g, 1)
    kind = g.choose(["Range", "ConstantOfShape", "EyeLike", "HannWindow", "HammingWindow", "BlackmanWindow"])
    size = g.arrays[x].shape[-1] if x else g.integer(1, 9)
    if kind == "Range":
        begin, step = g.integer(-3, 3), g.choose([-2, -1, 1, 3])
        dtype = g.choose([FLOAT32, INTS[0]])
        made = g.emit(kind, [g.constant(np.asarray(number, dtype)) for number in (begin, begin + step * size, step)])
    elif kind == "ConstantOfShape":
        made = g.emit(kind, [g.fixed([size])])
    elif kind == "EyeLike":
        y = pick_single(g, 2, 2)
        made = y and g.emit(kind, [y], attributes={"k": g.integer(-1, 1)})
    else:
        made = size > 1 and g.emit(kind, [g.constant(np.int64(size))], attributes={"periodic": g.integer(0, 1)})
    if made and x and g.arrays[made[0]].dtype == FLOAT32 and g.arrays[made[0]].shape[-1:] == g.arrays[x].shape[-1:]:
        g.emit("Mul", [x, made[0]])


@operator(0.7)
def columns_to_image(g):
    x = pick_single(g, 1)
    if not x:
        return
    batch, channels, height, width = g.integer(1, 2), g.integer(1, 2), g.integer(2, 4), g.integer(2, 4)
    block = [g.integer(1, 2), g.integer(1, 2)]
    shape = [batch, channels * block[0] * block[1], (height - block[0] + 1) * (width - block[1] + 1)]
    g.emit("Col2Im", [g.constant(g.random_array(shape, FLOAT32)), g.fixed([height, width]), g.fixed(block)])


@operator(0.7, trains=False)
def unpool(g):
    x = pick_single(g, 4, 4)
    if not x or min(g.arrays[x].shape[2:]) < 2 or any(size % 2 for size in g.arrays[x].shape[2:]):
        return
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    pooled = g.emit("MaxPool", [x], 2, window)
    if pooled:
        g.emit("MaxUnpool", pooled, attributes=window)


@operator(0.7, trains=False)
def sampled(g):
    """At points of a grid, some of which lie outside."""
    x = pick_single(g, 4, 4)
    if not x:
        return
    batch = g.arrays[x].shape[0]
    grid = g.constant((g.random_array([batch, g.integer(1, 4), g.integer(1, 4), 2], FLOAT32) * np.float32(0.6)).astype("f4"))
    if g.chance(0.4):
        theta = g.constant(g.random_array([batch, 2, 3], FLOAT32))
        made = g.emit("AffineGrid", [theta, g.fixed([batch, 1, g.integer(2, 4), g.integer(2, 4)])], attributes={"align_corners": g.integer(0, 1)})
        grid = made[0] if made else grid
    g.emit("GridSample", [x, grid], attributes={"mode": g.choose(["linear", "nearest"]), "align_corners": g.integer(0, 1),
                                                "padding_mode": g.choose(["zeros", "border"])})


@operator(0.5, trains=False)
def spectrum(g):
    x = pick_single(g, 2, 3)
    if not x:
        return
    signal = g.emit("Unsqueeze", [x, g.fixed([-1])], pooled=False)
    if signal:
        g.emit("DFT", [signal[0], "", g.constant(np.int64(-2))], attributes={"onesided": g.integer(0, 1)})


# Losses and recurrences

@operator(0.7)
def losses(g):
    x = pick_single(g, 2, 3)
    if not x or g.arrays[x].shape[1] < 2:
        return
    shape = [g.arrays[x].shape[0], *g.arrays[x].shape[2:]]
    labels = g.constant(g.rng.integers(0, g.arrays[x].shape[1], shape).astype(np.int64))
    reduction = {"reduction": g.choose(["mean", "sum", "none"])}
    if g.chance(0.5):
        g.emit("SoftmaxCrossEntropyLoss", [x, labels], attributes=reduction)
        return
    logarithms = g.emit("LogSoftmax", [x], attributes={"axis": 1}, pooled=False)
    if logarithms:
        g.emit("NegativeLogLikelihoodLoss", [logarithms[0], labels], attributes=reduction)


@operator(1)
def recurrent(g):
    x = pick_single(g, 3, 3)
    if not x or g.arrays[x].shape[0] > 9 or g.arrays[x].shape[2] > 17:
        return
    kind, hidden, inputs = g.choose(["RNN", "GRU", "LSTM"]), g.integer(1, 4), g.arrays[x].shape[2]
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    weights = [g.constant((g.random_array([1, gates * hidden, size], FLOAT32) * np.float32(0.5)).astype("f4")) for size in (inputs, hidden)]
    bias = [g.constant(g.random_array([1, 2 * gates * hidden], FLOAT32))] if g.chance(0.5) else []
    g.emit(kind, [x, *weights, *bias], 2, {"hidden_size": hidden})


@operator(0.7, trains=False)
def rotated(g):
    """Queries turned by the angles of their places."""
    x = pick_single(g, 4, 4)
    if not x or g.arrays[x].shape[3] % 2:
        return
    a = g.arrays[x]
    angles = g.random_array([a.shape[0], a.shape[2], a.shape[3] // 2], FLOAT32)
    g.emit("RotaryEmbedding", [x, g.constant(np.cos(angles)), g.constant(np.sin(angles))], attributes={"interleaved": g.integer(0, 1)})


# Integers that stand for floats

@operator(1.5, trains=False)
def quantized(g):
    """To 8 bits and back, at scales of which no value is a tie."""
    x = pick_single(g, 1)
    if not x:
        return
    if g.chance(0.3):
        made = g.emit("DynamicQuantizeLinear", [x], 3)
        if made:
            g.emit("DequantizeLinear", made)
        return
    target = g.choose([np.dtype("int8"), np.dtype("uint8")])
    scale = np.float32(g.rng.uniform(0.011, 0.2))
    zero = g.constant(np.asarray(g.integer(0 if target.kind == "u" else -9, 9), target))
    made = g.emit("QuantizeLinear", [x, g.constant(scale), zero])
    if made:
        g.emit("DequantizeLinear", [made[0], g.constant(scale), zero])


@operator(1, trains=False)
def whole_products(g):
    x = g.pick(lambda array: array.dtype in NARROW and array.dtype.itemsize == 1 and array.ndim >= 2)
    if not x:
        return
    a = g.arrays[x]
    zero, k = g.constant(np.asarray(2, a.dtype)), a.shape[-1]
    scales = [g.constant(np.float32(scale)) for scale in (0.07, 0.11, 0.9)]
    kind = g.choose(["MatMulInteger", "QLinearMatMul"] + ["ConvInteger", "QLinearConv"] * 2 * (a.ndim == 4))
    if "MatMul" in kind:
        other = g.constant(g.random_array([k, g.integer(1, 4)], a.dtype))
    else:
        other = g.constant(g.random_array([2, a.shape[1], 1, min(2, k)], a.dtype))
    if kind.startswith("Q"):
        g.emit(kind, [x, scales[0], zero, other, scales[1], zero, scales[2], zero])
    else:
        g.emit(kind, [x, other, zero, zero])
