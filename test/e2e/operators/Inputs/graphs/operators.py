"""Random operators. Each function takes a Graph and adds one operator, or a few; it may find nothing to do."""
import numpy as np

from building import BOOL, ELEMENTS, INTS, NARROW, is_float, onnx_type

OPERATORS = []  # (weight, function, may be trained)


def operator(weight=1.0, trains=True):
    def add(function):
        OPERATORS.append((weight, function, trains))
        return function
    return add


SMOOTH = ["Sigmoid", "Tanh", "Neg", "Erf", "Sin", "Cos", "Softplus", "Softsign", "Mish", "Gelu", "Identity", "Relu", "Abs", "LeakyRelu",
          "Elu", "HardSigmoid"]
IN_SINGLE = ["HardSwish", "Selu"]  # the reference has their constants in f32
STEPS = ["Sign", "Floor", "Ceil", "Round", "ThresholdedRelu", "Shrink"]


@operator(6)
def unary(g):
    x = g.pick_float()
    if x:
        in_single = g.arrays[x].dtype == np.float32  # the standard has Celu in f32 alone
        g.emit(g.choose(SMOOTH + ["Celu"] * in_single + IN_SINGLE * (in_single and not g.trains)), [x])


@operator(1, trains=False)
def step(g):
    x = g.pick_float()
    if x:
        g.emit(g.choose(STEPS), [x])


@operator(2)
def guarded(g):
    """Functions with a limited domain, of |x| + 0.5."""
    x = g.pick_float()
    if not x:
        return
    half = g.constant(np.array(0.5, g.arrays[x].dtype))
    size = g.emit("Abs", [x])
    positive = size and g.emit("Add", [size[0], half])
    if positive:
        kind = g.choose(["Log", "Sqrt", "Reciprocal", "Pow", "Div"])
        if kind == "Pow":
            g.emit("Pow", [positive[0], g.constant(np.array(g.choose([-1, 0.5, 2, 3, 1.7]), g.arrays[x].dtype))])
        elif kind == "Div":
            y = partner(g, positive[0])
            if y:
                g.emit("Div", [y, positive[0]])
        else:
            g.emit(kind, positive)


@operator(1)
def exponential(g):
    x = g.pick(lambda array: is_float(array.dtype) and array.astype("f8").max(initial=0) < 6)
    if x:
        g.emit("Exp", [x])


@operator(1)
def clip(g):
    x = g.pick_float()
    if x:
        dtype = g.arrays[x].dtype
        g.emit("Clip", [x, g.constant(np.array(-0.7, dtype)), g.constant(np.array(0.9, dtype))])


def partner(g, x):
    """A value of x's type that broadcasts with it: another one, one made to fit, or a constant."""
    a = g.arrays[x]

    def fits(b):
        try:
            return b.dtype == a.dtype and np.prod(np.broadcast_shapes(a.shape, b.shape), dtype=int) <= ELEMENTS
        except ValueError:
            return False

    kind = g.integer(0, 6)
    if kind == 6:
        return x
    if kind <= 2:
        found = g.pick(fits)
        if found:
            return found
    if kind == 3:
        same = g.pick(lambda b: b.dtype == a.dtype and b.size == a.size)
        if same:
            made = g.emit("Reshape", [same, g.fixed(a.shape)])
            return made and made[0]
    if kind == 4 and a.ndim >= 2 and a.shape[-1] == a.shape[-2]:
        order = [*range(a.ndim - 2), a.ndim - 1, a.ndim - 2]
        made = g.emit("Transpose", [x], attributes={"perm": order})
        return made and made[0]
    shape = [size if g.chance(0.6) else 1 for size in a.shape][g.integer(0, a.ndim):]
    if g.chance(0.3):
        return g.constant(np.full(shape, g.integer(1, 3)).astype(a.dtype), pooled=True)
    return g.constant(g.random_array(shape, a.dtype), pooled=True)


@operator(7)
def binary(g):
    x = g.pick_float()
    y = x and partner(g, x)
    if y:
        pair = [x, y] if g.chance(0.5) else [y, x]
        g.emit(g.choose(["Add", "Sub", "Mul", "Max", "Min", "Mean", "Sum", "Add", "Mul"]), pair)


@operator(2, trains=False)
def integers(g):
    x = g.pick(lambda array: array.dtype in INTS)
    y = x and partner(g, x)
    if not y:
        return
    kind = g.choose(["Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Neg", "Abs", "Sign"])
    if kind in ("Neg", "Abs", "Sign"):
        g.emit(kind, [x])
    elif kind not in ("Div", "Mod") or (g.arrays[y] != 0).all():
        g.emit(kind, [x, y])


@operator(0.5, trains=False)
def narrow_integers(g):
    x = g.pick(lambda array: array.dtype in NARROW)
    y = x and partner(g, x)
    if y:
        g.emit(g.choose(["Add", "Sub", "Mul", "Max", "Min", "BitwiseAnd", "BitwiseXor"]), [x, y])


@operator(0.5, trains=False)
def tests_of_floats(g):
    x = g.pick(lambda array: array.dtype == np.float32)
    if x:
        g.emit(g.choose(["IsNaN", "IsInf"]), [x])


@operator(2, trains=False)
def compare(g):
    x = g.pick(lambda array: array.dtype != BOOL)
    y = x and partner(g, x)
    if y:
        g.emit(g.choose(["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]), [x, y])


@operator(1, trains=False)
def logic(g):
    x = g.pick(lambda array: array.dtype == BOOL)
    y = x and partner(g, x)
    if y:
        kind = g.choose(["And", "Or", "Xor", "Not"])
        g.emit(kind, [x] if kind == "Not" else [x, y])


@operator(2)
def where(g):
    x = g.pick(lambda array: array.dtype != BOOL)
    y = x and partner(g, x)
    if not y:
        return
    shape = np.broadcast_shapes(g.arrays[x].shape, g.arrays[y].shape)

    def fits(b):
        try:
            return b.dtype == BOOL and np.prod(np.broadcast_shapes(shape, b.shape), dtype=int) <= ELEMENTS
        except ValueError:
            return False
    mask = g.pick(fits) if not g.trains else None
    g.emit("Where", [mask or g.constant(g.random_array(shape, BOOL)), x, y])


@operator(2, trains=False)
def cast(g):
    x = g.pick()
    source, target = g.arrays[x].dtype, g.choose([*g.floats, *INTS, BOOL, *NARROW])
    if is_float(source) and target in NARROW and np.abs(g.arrays[x].astype("f8")).max(initial=0) > 100:
        return
    if target.kind == "u" and (g.arrays[x].astype("f8") < 0).any():
        return
    if source != target:
        g.emit("Cast", [x], attributes={"to": onnx_type(target)})


# Reductions

@operator(5)
def reduce(g):
    x = g.pick_float(1)
    if not x:
        return
    rank = g.arrays[x].ndim
    axes = sorted(g.rng.choice(rank, g.integer(1, rank), replace=False).tolist())
    if g.chance(0.3):
        axes = [axis - rank for axis in axes]
    kinds = ["Sum", "Max", "Min", "Mean", "SumSquare", "L1", "L2", "LogSumExp", "Sum", "Mean", "Max"]
    kind = g.choose(kinds if g.trains else kinds + ["Prod"])
    g.emit(f"Reduce{kind}", [x, g.fixed(axes)], attributes={"keepdims": g.integer(0, 1)})


@operator(1, trains=False)
def reduce_integers(g):
    x = g.pick(lambda array: not is_float(array.dtype) and array.dtype != "int16" and array.ndim >= 1)  # the standard has none of i16
    if x:
        kinds = ["Sum", "Max", "Min"] if g.arrays[x].dtype in INTS else ["Max", "Min"]
        g.emit(f"Reduce{g.choose(kinds)}", [x, g.fixed([g.integer(0, g.arrays[x].ndim - 1)])],
               attributes={"keepdims": g.integer(0, 1)})


@operator(1, trains=False)
def extremum(g):
    x = g.pick(lambda array: array.ndim >= 1 and array.dtype != BOOL)
    if x:
        g.emit(g.choose(["ArgMax", "ArgMin"]), [x], attributes={
            "axis": g.integer(0, g.arrays[x].ndim - 1), "keepdims": g.integer(0, 1)})


@operator(3)
def softmax(g):
    x = g.pick_float(1)
    if x:
        kind = g.choose(["Softmax", "LogSoftmax", "Softmax"] + ([] if g.trains else ["Hardmax"]))
        g.emit(kind, [x], attributes={"axis": g.integer(-g.arrays[x].ndim, g.arrays[x].ndim - 1)})


@operator(1)
def extremum_mask(g):
    """Where the elements are that equal the largest, or 1 / how many there are."""
    x = g.pick_float(1)
    if not x or g.trains:
        return
    largest = g.emit("ReduceMax", [x, g.fixed([g.integer(0, g.arrays[x].ndim - 1)])], attributes={"keepdims": 1})
    equal = largest and g.emit("Equal", [x, largest[0]])
    if equal:
        g.emit("Cast", equal, attributes={"to": onnx_type(g.arrays[x].dtype)})


@operator(1)
def running_sum(g):
    x = g.pick(lambda array: array.ndim >= 1 and (is_float(array.dtype) or array.dtype in INTS and not g.trains))
    if x:
        g.emit("CumSum", [x, g.constant(np.int64(g.integer(0, g.arrays[x].ndim - 1)))],
               attributes={"exclusive": g.integer(0, 1), "reverse": g.integer(0, 1)})


# Normalizations

def pick_normalized(g, low, high=9):
    """Not f64, whose statistics the standard has in f32."""
    return g.pick(lambda array: is_float(array.dtype) and array.dtype != np.float64 and low <= array.ndim <= high)


@operator(2)
def layer_norm(g):
    x = pick_normalized(g, 1)
    if x:
        a, axis = g.arrays[x], g.integer(0, g.arrays[x].ndim - 1)
        scale, bias = (g.constant(g.random_array(a.shape[axis:], a.dtype)) for _ in range(2))
        g.emit("LayerNormalization", [x, scale, bias][:g.integer(2, 3)], attributes={"axis": axis, "epsilon": 0.01})


@operator(1)
def channel_norm(g):
    x = pick_normalized(g, 3, 5)
    if not x:
        return
    a = g.arrays[x]
    channels = a.shape[1]
    scale, bias = (g.constant(g.random_array([channels], a.dtype)) for _ in range(2))
    kind = g.choose(["BatchNormalization", "InstanceNormalization", "GroupNormalization"])
    if kind == "BatchNormalization":
        if not g.trains:
            mean, variance = g.random_array([channels], a.dtype), np.abs(g.random_array([channels], a.dtype)) + a.dtype.type(0.5)
            g.emit(kind, [x, scale, bias, g.constant(mean), g.constant(variance)])
    elif kind == "GroupNormalization":
        groups = g.choose([n for n in range(1, channels + 1) if channels % n == 0])
        g.emit(kind, [x, scale, bias], attributes={"num_groups": groups, "epsilon": 0.01})
    else:
        g.emit(kind, [x, scale, bias], attributes={"epsilon": 0.01})


@operator(0.7)
def other_norm(g):
    x = g.pick_float(2, 4)
    if not x:
        return
    rank = g.arrays[x].ndim
    kind = g.choose(["LpNormalization", "MeanVarianceNormalization", "LRN"])
    if kind == "LpNormalization":
        g.emit(kind, [x], attributes={"axis": g.integer(0, rank - 1), "p": g.integer(1, 2)})
    elif kind == "MeanVarianceNormalization":
        # Not over one element, whose deviation is zero.
        axes = [axis for axis in range(rank) if g.chance(0.7)]
        if np.prod([g.arrays[x].shape[axis] for axis in axes]) > 2 and (g.arrays[x].dtype == np.float32 or g.trains):
            g.emit(kind, [x], attributes={"axes": axes})
    elif rank == 4:
        g.emit(kind, [x], attributes={"size": 3})
