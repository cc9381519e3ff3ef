"""Operators with attributes, sizes, types and values that files seldom have; see operators.py."""
import numpy as np
from onnx import TensorProto

from building import BOOL, INTS, NARROW, is_float, onnx_type
from operators import operator

FLOAT32 = np.dtype("f4")
WHOLE = [*INTS, *NARROW]


@operator(1.5)
def bent(g):
    """Activations whose attributes are negative, zero or above one."""
    x = g.pick(lambda array: array.dtype == FLOAT32)
    if not x:
        return
    factor = float(g.choose([-2.5, -1, -0.25, 0.3, 1, 3]))
    kinds = {"Elu": {"alpha": factor}, "LeakyRelu": {"alpha": factor}, "HardSigmoid": {"alpha": factor, "beta": 0.25},
             "Selu": {"alpha": factor, "gamma": float(g.choose([-1.5, 0.5, 2]))}, "Celu": {"alpha": factor}}
    if not g.trains:
        kinds |= {"Shrink": {"lambd": factor, "bias": float(g.choose([-0.5, 0, 0.5]))}, "ThresholdedRelu": {"alpha": factor}}
    kind = g.choose(list(kinds))
    g.emit(kind, [x], attributes=kinds[kind])


@operator(0.7)
def one_bound(g):
    """Clip by the lower or the upper bound alone, by none, or by a lower one that is above the upper."""
    x = g.pick(lambda array: is_float(array.dtype) or array.dtype in INTS and not g.trains)
    if x:
        low, high = (g.constant(np.asarray(number).astype(g.arrays[x].dtype)) for number in (-1, 2))
        g.emit("Clip", [x, *g.choose([[low], ["", high], [], [high, low]])])


@operator(0.7)
def scaled_product(g):
    """Gemm without a bias, or with a factor that is zero or negative; of integers, too."""
    x = g.pick(lambda array: array.ndim == 2 and (is_float(array.dtype) or array.dtype in INTS and not g.trains))
    if not x:
        return
    a = g.arrays[x]
    k, n, factors = a.shape[1], g.choose(g.sizes), [-1.5, 0.0, 1.0, 2.0] if is_float(a.dtype) else [1.0]
    weight = (g.random_array([k, n], "f4") / (np.sqrt(k) if is_float(a.dtype) else 0.3)).astype(a.dtype)
    bias = [g.constant(g.random_array([n], a.dtype))] if g.chance(0.5) else []
    g.emit("Gemm", [x, g.constant(weight), *bias], attributes={"alpha": g.choose(factors), "beta": g.choose(factors)})


@operator(0.7)
def long_pad(g):
    """By as many elements as a mode allows, with negative amounts and with an axes input."""
    def fits(array):
        return 1 <= array.ndim <= 4 and min(array.shape) > 1 and (is_float(array.dtype) or not g.trains and array.dtype in WHOLE)

    x = g.pick(fits)
    if not x:
        return
    size, axis = g.arrays[x].shape[-1], g.choose([-1, g.arrays[x].ndim - 1])
    mode = g.choose(["reflect", "edge", "wrap", "constant"])
    most = size - 1 if mode in ("reflect", "wrap") else 3 * size
    amounts = [g.integer(0, most), g.integer(0, most)]
    if g.chance(0.3):
        amounts[g.integer(0, 1)] = -1
        if mode != "constant":
            amounts = [-1, 0]
    g.emit("Pad", [x, g.fixed(amounts), "", g.fixed([axis])], attributes={"mode": mode})


@operator(0.7)
def long_slice(g):
    """Ends far beyond the dimension, from the end, and steps backward that leave some out."""
    x = g.pick(lambda array: array.ndim >= 1 and (is_float(array.dtype) or not g.trains))
    if x:
        axis, step = g.integer(-g.arrays[x].ndim, -1), g.choose([-3, -2, -1, 2, 5])
        far = [2**63 - 1, -2**63] if step > 0 else [-2**63, 2**63 - 1]
        begin = g.choose([far[1], -1 if step < 0 else 0, -2 if step < 0 else 1])
        g.emit("Slice", [x, *(g.fixed([n]) for n in (begin, far[0], axis, step))])


# Integers where floats are usual

@operator(2, trains=False)
def whole_numbers(g):
    x = g.pick(lambda array: array.dtype in WHOLE and array.ndim >= 1)
    if not x:
        return
    a, kinds = g.arrays[x], ["TopK"] + ["Relu"] * (g.arrays[x].dtype.kind == "i")
    if a.dtype in INTS:
        kinds += ["ReduceL1", "ReduceSumSquare", "PRelu", "Pow", "MatMul", "Einsum", "CumSum"]
    if a.dtype.itemsize == 1 and a.ndim in (3, 4):
        kinds += ["MaxPool"] * 4
    kind = g.choose(kinds)
    if kind == "TopK":
        g.emit(kind, [x, g.fixed([g.integer(1, a.shape[-1])])], 2)
    elif kind.startswith("Reduce"):
        g.emit(kind, [x, g.fixed([g.integer(-a.ndim, -1)])], attributes={"keepdims": g.integer(0, 1)})
    elif kind == "PRelu":
        g.emit(kind, [x, g.constant(g.random_array([a.shape[-1]], a.dtype))])
    elif kind == "Pow":
        g.emit(kind, [x, g.constant(g.integer(0, 3) * np.ones([], a.dtype))])
    elif kind == "MatMul":
        g.emit(kind, [x, g.constant(g.random_array([a.shape[-1], 3], a.dtype))])
    elif kind == "Einsum":
        g.emit(kind, [x, x], attributes={"equation": "...i,...i->...i"})
    elif kind == "CumSum":
        g.emit(kind, [x, g.constant(np.int64(-1))])
    elif kind == "MaxPool":
        g.emit(kind, [x], attributes={"kernel_shape": [min(2, size) for size in a.shape[2:]]})
    else:
        g.emit(kind, [x])


# Values near the ends of a type

def near_the_end(g, x, shape=None):
    """A constant of x's type whose sums, squares or products are beyond the type, where it has 16 bits; otherwise a large one."""
    a = g.arrays[x]
    size = {2: 2e4 if a.dtype == np.float16 else 1e18}.get(a.dtype.itemsize, 1e18)
    array = np.abs(g.random_array(shape or a.shape, "f8")).clip(0.2, 2) * size
    return g.constant((array if g.chance(0.5) else array * g.rng.choice([-1, 1], array.shape)).astype(a.dtype))


@operator(1.5, trains=False)
def divided_sums(g):
    """What an operator sums is beyond the type; what it divides the sum by brings it back."""
    x = g.pick(lambda array: is_float(array.dtype) and array.dtype != np.float64 and 1 <= array.ndim <= 4 and array.shape[-1] > 1)
    if not x:
        return
    a, rank = g.arrays[x], g.arrays[x].ndim
    large = near_the_end(g, x)
    kind = g.choose(["ReduceMean", "LayerNormalization", "Softmax", "LogSoftmax", "Mean", "Gemm", "LpNormalization", "AveragePool",
                     "InstanceNormalization", "ReduceLogSumExp", "RMSNormalization"])
    small = g.constant(np.asarray(1e-4 if a.dtype == np.float16 else 1e-18).astype(a.dtype))
    ones = g.constant(np.ones(a.shape[-1:], a.dtype))
    if kind in ("ReduceMean", "ReduceLogSumExp"):
        made = g.emit(kind, [large, g.fixed([-1])], pooled=False, largest=np.inf)
    elif kind in ("LayerNormalization", "RMSNormalization"):
        made = g.emit(kind, [large, ones], attributes={"axis": -1})
    elif kind in ("Softmax", "LogSoftmax"):
        made = g.emit(kind, [large], pooled=False, largest=np.inf)
    elif kind == "LpNormalization":
        made = g.emit(kind, [large], attributes={"axis": -1, "p": g.integer(1, 2)})
    elif kind == "Mean":
        made = g.emit(kind, [large, large, large, large], pooled=False, largest=np.inf)
    elif kind == "Gemm" and rank == 2:
        both = a.dtype == np.float16 and g.chance(0.5)
        weight = near_the_end(g, x, [a.shape[1], 3]) if both else g.constant(g.random_array([a.shape[1], 3], a.dtype))
        made = g.emit(kind, [large, weight], attributes={"alpha": float(g.choose([1e-4, 1e-8]))}, pooled=False, largest=np.inf)
    elif kind == "AveragePool" and rank in (3, 4):
        made = g.emit(kind, [large], attributes={"kernel_shape": [1] * (rank - 3) + [min(4, a.shape[-1])]}, pooled=False, largest=np.inf)
    elif kind == "InstanceNormalization" and rank in (3, 4):
        scale = g.constant(np.ones(a.shape[1:2], a.dtype))
        made = g.emit(kind, [large, scale, scale])
    else:
        return
    if made:
        g.emit("Mul", [made[0], small])


@operator(1)
def long_running(g):
    """Running sums and products of more elements than a block has; a block's own are beyond the type, and no result is."""
    if g.trains:
        return
    count, large = g.integer(65, 300), g.integer(4, 12)
    if g.chance(0.5):
        x = np.zeros(count, "f4")
        for at in g.rng.choice(count - 1, 6, replace=False):
            x[at] = 3e38 if x[:at].sum() <= 0 else -3e38
        x[-1], kind = 1, "CumSum"
        running = np.cumsum(x, dtype="f8")
        if not (np.abs(running) < 3.3e38).all():
            return
    else:
        powers = np.repeat([-2.5, 2.5, -2.5, 0.0], [large, 2 * large, large, count])[:count] * g.choose([-1, 1])
        x, kind = (10.0**powers).astype("f4"), "CumProd"
    name = g.constant(x)
    last = g.constant(np.int64(0))
    before = g.emit("Mul", [name, g.constant(np.float32(1))], pooled=False, largest=np.inf)
    made = before and g.emit(kind, [before[0], last], attributes={"reverse": g.integer(0, 1)}, pooled=False, largest=np.inf)
    if made and kind == "CumSum":
        g.emit("Mul", [made[0], g.constant(np.float32(1e-38))])
    elif made:
        size = g.emit("Abs", made, pooled=False, largest=np.inf)
        g.emit("Log", size)


@operator(0.7, trains=False)
def far_cast(g):
    """Floats beyond an integer's range become its ends, and what is no number becomes 0."""
    x = g.pick(lambda array: is_float(array.dtype) and array.size < 500)
    if not x:
        return
    a, target = g.arrays[x], g.choose([np.dtype("int64"), np.dtype("int32"), np.dtype("int16"), np.dtype("int8"), np.dtype("uint8")])
    values = np.array([np.inf, -np.inf, np.nan, 3e9, -3e9, 300, -300, -1, 40000, 6e4])
    large = g.constant(g.rng.choice(values, a.shape).astype(a.dtype))
    added = g.emit("Add", [x, large], pooled=False, largest=None) if g.chance(0.5) else [large]
    whole = added and g.emit("Cast", added, attributes={"to": onnx_type(target)}, pooled=False, largest=np.inf)
    back = whole and g.emit("Cast", whole, attributes={"to": TensorProto.FLOAT}, pooled=False, largest=np.inf)
    if back:
        g.ours = True
        g.emit("Mul", [back[0], g.constant(np.float32(2.0 ** (1 - 8 * target.itemsize)))])


# Attention

@operator(1.5, trains=False)
def attention(g):
    """With rows of which every key is masked, and products beyond the type before they are scaled."""
    dtype = g.choose([dtype for dtype in g.floats if dtype != np.float64] or [FLOAT32])
    heads, groups, queries, keys, width = g.integer(1, 2), g.integer(1, 2), g.integer(1, 5), g.integer(1, 6), g.choose([2, 8, 64])
    size = 40 if dtype.itemsize == 2 and g.chance(0.5) else 1
    q, k, v = (g.constant((g.random_array([2, h, n, width], "f4") * s).astype(dtype))
               for h, n, s in ((heads * groups, queries, size), (heads, keys, size), (heads, keys, 1)))
    mask = g.rng.integers(0, 2, [queries, keys]).astype(bool)
    mask[g.integer(0, queries - 1)] = False
    kind = g.integer(0, 2)
    inputs = [q, k, v]
    if kind == 1:
        inputs.append(g.constant(mask))
    elif kind == 2:
        inputs.append(g.constant(np.where(mask, 0, -np.inf).astype(dtype)))
    if g.emit("Attention", inputs, attributes={"is_causal": g.integer(0, 1)}) and kind:
        g.ours = True
