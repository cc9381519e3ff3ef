"""In 16-bit types an operator is computed in f32 and rounded once: its result, and its gradient.

  check_inner_precision.py FOLDER [OPERATOR...]

The types are those of --precision in an f32 model, and a model's own. Each operator stands between two products, y = f(x W) I with identities for x
and I, so that its operand, its result and both gradients are of the narrow type. Operands go over the type's range. What f makes is compared with f
in float64 of the rounded operand, and the gradient with the complex step (f(h + i t)'s imaginary part over t, which does not cancel). Both must be
within one unit in the last place of the narrow type; of an operator that adds up a row, beside it within 2^-17 of the row's largest number, for sums
are in f32. In a model of 16-bit types some gradients are, as PyTorch's, functions of the rounded result (tanh's 1 - y^2): those are compared with the
function of the result that the model gives.
"""
import math
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import checkpoint_states  # noqa: E402

ROWS, COLUMNS, OPSET = 48, 40, 24
STEP = 1e-150
erf = np.vectorize(math.erf)
# Digits (the leading one too), the least exponent, the largest number.
ELEMENTS = {"bf16": helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16), "fp16": np.float16}
TYPES = {"bf16": (8, -126, float.fromhex("0x1.fep127")), "fp16": (11, -14, 65504.0)}


def at(x):
    return x.real


def where(condition, yes, no):
    return np.where(condition, yes, no)


def magnitude(x):
    return where(at(x) > 0, x, -x)


def clamped(x, low, high):
    return where(at(x) < low, low, where(at(x) > high, high, x))


def first_order(value, slope):
    """A function of a number and of its complex step: numpy's own lose digits of the real part."""
    return lambda x: value(x.real) + 1j * x.imag * slope(x.real) if np.iscomplexobj(x) else value(x)


erf_of = first_order(erf, lambda x: 2 / math.sqrt(math.pi) * np.exp(-np.square(x)))
log1p = first_order(np.log1p, lambda x: 1 / (1 + x))
expm1 = first_order(np.expm1, np.exp)


def softplus(x):
    return where(at(x) > 0, x + log1p(np.exp(-magnitude(x))), log1p(np.exp(-magnitude(x))))


def sigmoid(x):
    decay = np.exp(-magnitude(x))
    return where(at(x) > 0, 1 / (1 + decay), decay / (1 + decay))


def tanh(x):
    decay = expm1(-2 * magnitude(x))
    y = -decay / (2 + decay)
    return where(at(x) > 0, y, -y)


def asinh(x):
    a = magnitude(x)
    y = log1p(a + a * a / (np.sqrt(a * a + 1) + 1))
    return where(at(x) > 0, y, -y)


def atanh(x):
    a = magnitude(x)
    y = log1p(2 * a / (1 - a)) / 2
    return where(at(x) > 0, y, -y)


def gelu_tanh(x):
    return x / 2 * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def elu(x, alpha=1.0):
    return where(at(x) > 0, x, alpha * expm1(clamped(x, -1e4, 0)))


def softmax(x):
    e = np.exp(x - at(x).max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def log_softmax(x):
    shifted = x - at(x).max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def standardized(x, epsilon, groups=1):
    g = x.reshape(len(x), groups, -1)
    centred = g - g.mean(2, keepdims=True)
    return (centred / np.sqrt((centred * centred).mean(2, keepdims=True) + epsilon)).reshape(x.shape)


def lrn(x, size=5, alpha=1e-4, beta=0.75, bias=1.0):
    padded = np.pad(x * x, ((0, 0), ((size - 1) // 2, size // 2)))
    squares = sum(padded[:, i:i + x.shape[1]] for i in range(size))
    return x / (bias + alpha / size * squares)**beta


def lp_pool(x, p):
    """Windows of 3 places, 0 beyond the ends. Even exponents, and 1, of which the complex step is |x|'s slope."""
    raised = magnitude(x) if p == 1 else x**p
    padded = np.pad(raised, ((0, 0), (0, 0), (1, 1)))
    total = padded[:, :, :-2] + padded[:, :, 1:-1] + padded[:, :, 2:]
    return total ** (1 / p)


def pooled(f):
    return lambda x: f(x.reshape(ROWS, 8, 5)).reshape(x.shape)


def largest(x):
    """Equal ones share the gradient."""
    isLargest = at(x) == at(x).max(1, keepdims=True)
    return where(isLargest, x, 0).sum(1, keepdims=True) / isLargest.sum(1, keepdims=True)


def average_pool(x):
    """As lp_pool, but what lies beyond the ends does not count."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    ones = np.pad(np.ones(x.shape), ((0, 0), (0, 0), (1, 1)))
    return sum(padded[:, :, i:i + x.shape[2]] for i in range(3)) / sum(ones[:, :, i:i + x.shape[2]] for i in range(3))


def max_pool(x):
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    best = padded[:, :, :-2]
    for i in (1, 2):  # the first of equal ones
        other = padded[:, :, i:i + x.shape[2]]
        best = where(at(other) > at(best), other, best)
    return best


WINDOW = {"kernel_shape": [3], "pads": [1, 1]}
ROW = np.arange(COLUMNS) * 8.0 - 96
NEIGHBOURS = [np.eye(COLUMNS) + sign * np.eye(COLUMNS, k=1) for sign in (1, -1)]
SMALL = float(np.float32(1 / 80))
WIDE, HALF_LINE, AROUND = (-3e4, 3e4), (1e-3, 3e4), (-12.0, 12.0)
# name: (operator, attributes, further inputs, range of operands, f of the operand and of inputs that are numbers[, the shape it works in])
OPERATORS = {
    "Asinh": ("Asinh", {}, [], WIDE, asinh),
    "Acosh": ("Acosh", {}, [], (1.01, 3e4), lambda x: np.log(x + np.sqrt(x - 1) * np.sqrt(x + 1))),
    "Atanh": ("Atanh", {}, [], (-0.99, 0.99), atanh),
    "Sinh": ("Sinh", {}, [], (-11.0, 11.0), np.sinh),
    "Cosh": ("Cosh", {}, [], (-11.0, 11.0), np.cosh),
    "Atan": ("Atan", {}, [], WIDE, np.arctan),
    "Asin": ("Asin", {}, [], (-0.98, 0.98), np.arcsin),
    "Acos": ("Acos", {}, [], (-0.98, 0.98), np.arccos),
    "Tan": ("Tan", {}, [], (-1.5, 1.5), np.tan),
    "Sin": ("Sin", {}, [], (-30.0, 30.0), np.sin),
    "Cos": ("Cos", {}, [], (-30.0, 30.0), np.cos),
    "Exp": ("Exp", {}, [], (-17.0, 10.5), np.exp),
    "Log": ("Log", {}, [], HALF_LINE, np.log),
    "Sqrt": ("Sqrt", {}, [], HALF_LINE, np.sqrt),
    "Reciprocal": ("Reciprocal", {}, [], (1e-2, 3e2), lambda x: 1 / x),
    "Erf": ("Erf", {}, [], (-4.0, 4.0), erf_of),
    "Tanh": ("Tanh", {}, [], AROUND, tanh),
    "Sigmoid": ("Sigmoid", {}, [], AROUND, sigmoid),
    "Softplus": ("Softplus", {}, [], WIDE, softplus),
    "Softsign": ("Softsign", {}, [], WIDE, lambda x: x / (1 + magnitude(x))),
    "Mish": ("Mish", {}, [], WIDE, lambda x: x * tanh(softplus(x))),
    "Swish": ("Swish", {"alpha": 1.5}, [], WIDE, lambda x: x * sigmoid(1.5 * x)),
    "Gelu": ("Gelu", {}, [], (-3.0, 3e4), lambda x: x / 2 * (1 + erf_of(x / math.sqrt(2)))),
    "GeluTanh": ("Gelu", {"approximate": "tanh"}, [], (-3.0, 3e4), gelu_tanh),
    "Elu": ("Elu", {"alpha": 0.7}, [], WIDE, lambda x: elu(x, 0.7)),
    "Selu": ("Selu", {}, [], WIDE, lambda x: 1.05070102214813232421875 * elu(x, 1.67326319217681884765625)),
    "Celu": ("Celu", {"alpha": 0.3}, [], WIDE, lambda x: where(at(x) > 0, x, 0.3 * expm1(clamped(x, -1e3, 0) / 0.3))),
    "LeakyRelu": ("LeakyRelu", {"alpha": 0.3}, [], WIDE, lambda x: where(at(x) > 0, x, 0.3 * x)),
    "ThresholdedRelu": ("ThresholdedRelu", {}, [], WIDE, lambda x: where(at(x) > 1, x, 0)),
    "Shrink": ("Shrink", {"bias": 0.3, "lambd": 0.7}, [], WIDE, lambda x: where(at(x) < -0.7, x + 0.3, where(at(x) > 0.7, x - 0.3, 0))),
    "HardSigmoid": ("HardSigmoid", {}, [], WIDE, lambda x: clamped(0.2 * x + 0.5, 0, 1)),
    "HardSwish": ("HardSwish", {}, [], WIDE, lambda x: x * clamped(x / 6 + 0.5, 0, 1)),
    "PRelu": ("PRelu", {}, [0.1], WIDE, lambda x, slope: where(at(x) > 0, x, slope * x)),
    "Clip": ("Clip", {}, [-100.5, 200.5], WIDE, clamped),
    "Pow4": ("Pow", {}, [4.0], (-15.0, 15.0), lambda x, _: x**4),
    "Pow1.3": ("Pow", {}, [1.25], HALF_LINE[:1] + (4e3,), lambda x, _: x**1.25),
    "Abs": ("Abs", {}, [], WIDE, magnitude),
    "Neg": ("Neg", {}, [], WIDE, lambda x: -x),
    "Relu": ("Relu", {}, [], WIDE, lambda x: where(at(x) > 0, x, 0)),
    "Softmax": ("Softmax", {"axis": -1}, [], AROUND, softmax),
    "LogSoftmax": ("LogSoftmax", {"axis": -1}, [], WIDE, log_softmax),
    "LpNormalization": ("LpNormalization", {"axis": -1}, [], WIDE, lambda x: x / np.sqrt((x * x).sum(1, keepdims=True))),
    "L1Normalization": ("LpNormalization", {"axis": -1, "p": 1}, [], WIDE, lambda x: x / magnitude(x).sum(1, keepdims=True)),
    "MeanVarianceNormalization": ("MeanVarianceNormalization", {"axes": [1]}, [], WIDE, lambda x: standardized(x, 0) ),
    "LayerNormalization": ("LayerNormalization", {}, ["scale"], WIDE, lambda x: standardized(x, 1e-5)),
    "RMSNormalization": ("RMSNormalization", {}, ["scale"], WIDE, lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)),
    "LRN": ("LRN", {"size": 5}, [], WIDE, lrn, (ROWS, COLUMNS, 1, 1)),
    "InstanceNormalization": ("InstanceNormalization", {}, ["channels", "none"], WIDE, lambda x: standardized(x, 1e-5, 8), (ROWS, 8, 5)),
    "GroupNormalization": ("GroupNormalization", {"num_groups": 4}, ["channels", "none"], WIDE, lambda x: standardized(x, 1e-5, 4), (ROWS, 8, 5)),
    "LpPool": ("LpPool", WINDOW, [], (-3e4, 3e4), pooled(lambda x: lp_pool(x, 2)), (ROWS, 8, 5)),
    "LpPool1": ("LpPool", WINDOW | {"p": 1}, [], (-1e4, 1e4), pooled(lambda x: lp_pool(x, 1)), (ROWS, 8, 5)),
    "LpPool4": ("LpPool", WINDOW | {"p": 4}, [], (-3e4, 3e4), pooled(lambda x: lp_pool(x, 4)), (ROWS, 8, 5)),
    "GlobalLpPool": ("GlobalLpPool", {}, [], (-1e4, 1e4), lambda x: np.sqrt((x * x).sum(1, keepdims=True)), (ROWS, 1, COLUMNS)),
    "AveragePool": ("AveragePool", WINDOW, [], WIDE, pooled(average_pool), (ROWS, 8, 5)),
    "MaxPool": ("MaxPool", WINDOW, [], WIDE, pooled(max_pool), (ROWS, 8, 5)),
    "GlobalAveragePool": ("GlobalAveragePool", {}, [], WIDE, lambda x: x.mean(1, keepdims=True), (ROWS, 1, COLUMNS)),
    "Gemm": ("Gemm", {"alpha": SMALL}, ["large"], WIDE, lambda x: x * (64 * SMALL)),
    "GemmBias": ("Gemm", {"alpha": SMALL, "beta": 0.75}, ["large", "row"], WIDE, lambda x: x * (64 * SMALL) + 0.75 * ROW),
    "GemmTransposed": ("Gemm", {"alpha": SMALL, "transB": 1}, ["large", "column"], WIDE, lambda x: x * (64 * SMALL) + 96),
    "GemmPlain": ("Gemm", {"transB": 1}, ["large", "row"], (-500.0, 500.0), lambda x: x * 64 + ROW),
    "EinsumThree": ("Einsum", {"equation": "ij,jk,kl->il"}, ["sums", "differences"], (-2e4, 2e4), lambda x: x @ NEIGHBOURS[0] @ NEIGHBOURS[1]),
    "Mean": ("Mean", {}, ["h", "h"], (-5e4, 5e4), lambda x: x),
    "CumSum": ("CumSum", {}, [np.int64(1)], (-1e3, 1e3), lambda x: x.cumsum(1)),
    "ReduceMax": ("ReduceMax", {}, [np.array([1])], WIDE, largest),
    "ReduceMean": ("ReduceMean", {}, [np.array([1])], WIDE, lambda x: x.mean(1, keepdims=True)),
    "ReduceL2": ("ReduceL2", {}, [np.array([1])], (-5e3, 5e3), lambda x: np.sqrt((x * x).sum(1, keepdims=True))),
    "ReduceLogSumExp": ("ReduceLogSumExp", {}, [np.array([1])], WIDE,
                        lambda x: np.log(np.exp(x - at(x).max(1, keepdims=True)).sum(1, keepdims=True)) + at(x).max(1, keepdims=True)),
    "ReduceLogSum": ("ReduceLogSum", {}, [np.array([1])], HALF_LINE, lambda x: np.log(x.sum(1, keepdims=True))),
    "ReduceSumSquare": ("ReduceSumSquare", {}, [np.array([1])], (-30.0, 30.0), lambda x: (x * x).sum(1, keepdims=True)),
}
SUMS = {"Softmax", "LogSoftmax", "LpNormalization", "L1Normalization", "MeanVarianceNormalization", "LayerNormalization", "RMSNormalization", "LRN",
        "InstanceNormalization", "GroupNormalization", "CumSum", "ReduceL2", "ReduceLogSumExp", "ReduceLogSum", "ReduceSumSquare", "Mean", "LpPool", "LpPool1", "LpPool4",
        "GlobalLpPool", "AveragePool", "GlobalAveragePool", "ReduceMean", "EinsumThree"}
# Values between the products of one operator are rounded to the precision that --precision gives, as those between operators (InnerValues.h).
OWN_ALONE = {"EinsumThree"}
# Where results cancel (1 + erf of negative numbers, a product and what is added to it), or slopes do (1 - y^2 of tanh, (e^x - 1) + 1 of Elu), in PyTorch as here: parts of the operand, or
# of one where that is larger.
CANCELLING = {"HardSigmoid": (2.0**-22, 0), "Gelu": (2.0**-22, 2.0**-22), "GeluTanh": (2.0**-21, 2.0**-21), "Tanh": (0, 2.0**-22), "Sigmoid": (0, 2.0**-23),
              "Elu": (0, 2.0**-23), "Selu": (0, 2.0**-22), "Celu": (0, 2.0**-23), "GemmBias": (2.0**-24, 0), "GemmTransposed": (2.0**-24, 0)}
# In a model of 16-bit types the gradient is one of the rounded result y: of y, the operand and the gradient of y.
OF_RESULT = {
    "Exp": lambda y, h, g: y * g,
    "Sqrt": lambda y, h, g: g / (2 * y),
    "Reciprocal": lambda y, h, g: -g * y / h,
    "Tanh": lambda y, h, g: (1 - y * y) * g,
    "Sigmoid": lambda y, h, g: y * (1 - y) * g,
    "Softmax": lambda y, h, g: y * (g - (g * y).sum(1, keepdims=True)),
    "LogSoftmax": lambda y, h, g: g - np.exp(y) * g.sum(1, keepdims=True),
}
KINKS = [-3.0, -2.5, -0.7, 0.0, 0.7, 1.0, 2.5, 3.0]  # of a slope, of which both sides' are right


def rounded(x, precision):
    """To nearest, ties to even."""
    digits, least, largest = TYPES[precision]
    _, exponent = np.frexp(x)
    unit = np.ldexp(1.0, np.maximum(exponent - 1, least) - (digits - 1))
    return np.clip(np.round(x / unit) * unit, -largest, largest)


def ulp(x, precision):
    digits, least, _ = TYPES[precision]
    _, exponent = np.frexp(x)
    return np.ldexp(1.0, np.maximum(exponent - 1, least) - (digits - 1))


def operands(low, high, random):
    """Half of them uniform, half spread over exponents; none so near to zero or a kink that its side is in doubt."""
    uniform = random.uniform(low, high, ROWS * COLUMNS // 2)
    size = np.exp(random.uniform(math.log(2.0**-9), math.log(max(abs(low), abs(high))), ROWS * COLUMNS // 2))
    sign = np.where(random.random(len(size)) < 0.5, -1, 1) if low < 0 else 1
    spread = np.clip(size * sign, low, high)
    return random.permutation(np.concatenate([uniform, spread])).reshape(ROWS, COLUMNS)


FROZEN = {"eye": np.eye(COLUMNS), "one": np.ones((1, 1)), "scale": np.ones(COLUMNS), "channels": np.ones(8), "none": np.zeros(8), "large": 64 * np.eye(COLUMNS),
          "sums": NEIGHBOURS[0], "differences": NEIGHBOURS[1],
          "row": ROW, "column": np.full((ROWS, 1), 96.0)}


def frozen(nodes):
    return sorted(FROZEN.keys() & {name for node in nodes for name in node.input})


def save(path, names, weights, seeds, training, element):
    """`element` is the model's type: f4, or a 16-bit one. Its input and its output are f4 in any case."""
    nodes, tensors, outputs, terms = [], [], [], []
    made = helper.np_dtype_to_tensor_dtype(np.dtype(element))
    narrow = np.dtype(element) != np.float32

    def constant(name, array):
        nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))

    if narrow:
        nodes.append(helper.make_node("Cast", ["x"], ["x.narrow"], to=made))
    for name in names:
        kind, attributes, more, _, function, *shape = OPERATORS[name]
        inputs = [f"{name}.h"]
        for i, given in enumerate(more):
            if isinstance(given, str):
                inputs.append(f"{name}.h" if given == "h" else given)
            else:
                array = np.asarray(given)
                constant(f"{name}.given{i}", array.astype("i8" if array.dtype.kind == "i" else element))
                inputs.append(f"{name}.given{i}")
        tensors.append(numpy_helper.from_array(weights[name].astype(element), f"{name}.w"))
        nodes.append(helper.make_node("MatMul", ["x.narrow" if narrow else "x", f"{name}.w"], [f"{name}.h"]))
        result = f"{name}.f"
        if shape:
            constant(f"{name}.shape", np.array(shape[0]))
            nodes.append(helper.make_node("Reshape", [inputs[0], f"{name}.shape"], [f"{name}.in"]))
            inputs[0] = f"{name}.in"
            result = f"{name}.out"
        nodes.append(helper.make_node(kind, inputs, [result], **attributes))
        columns = seeds[name].shape[1]
        if shape:
            constant(f"{name}.back", np.array([ROWS, columns]))
            nodes.append(helper.make_node("Reshape", [result, f"{name}.back"], [f"{name}.f"]))
        nodes.append(helper.make_node("MatMul", [f"{name}.f", "eye" if columns > 1 else "one"], [f"{name}.y" if narrow else f"{name}.z"]))
        if narrow:
            nodes.append(helper.make_node("Cast", [f"{name}.y"], [f"{name}.z"], to=TensorProto.FLOAT))
        outputs.append(helper.make_tensor_value_info(f"{name}.z", TensorProto.FLOAT, [ROWS, columns]))
        if training:
            constant(f"{name}.c", seeds[name].astype("f4"))
            nodes += [helper.make_node("Mul", [f"{name}.z", f"{name}.c"], [f"{name}.term"]),
                      helper.make_node("ReduceSum", [f"{name}.term"], [f"{name}.sum"], keepdims=0)]
            terms.append(f"{name}.sum")
    if training:
        nodes.append(helper.make_node("Sum", terms, ["loss"]))
        outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
    read = frozen(nodes)
    tensors += [numpy_helper.from_array(FROZEN[name].astype(element), name) for name in read]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, ROWS])], outputs, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11), path)
    return read


def run(*command):
    done = subprocess.run([str(word) for word in command], timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\n{done.stdout}")


def gradient_of(function, h, seed):
    gradient = np.empty_like(h)
    for column in range(h.shape[1]):
        moved = h.astype(complex)
        moved[:, column] += 1j * STEP
        gradient[:, column] = (function(moved).imag / STEP * seed).sum(1)
    return gradient


def compare(name, what, found, right, h, precision):
    digits, _, largest = TYPES[precision]
    bound = ulp(right, precision) + 2.0**-126  # below that, an exponential may be zero
    if name in SUMS:
        bound = bound + 2.0**-17 * np.abs(right).max(1, keepdims=True)
    bound = bound + CANCELLING.get(name, (0, 0))[what.startswith("gradient")] * np.maximum(np.abs(h), 1)
    if what.startswith("gradient"):
        found = np.where(np.isin(h, KINKS), right, found)
    beyond = np.abs(right) > largest
    error = np.where(beyond, np.where(np.abs(found) >= largest, 0, np.inf), np.abs(found - right) / bound)
    error = np.where(np.isnan(error), np.inf, error)
    if (error > 1).any():
        worst = np.unravel_index(error.argmax(), error.shape)
        print(f"{name}, {what}: {(error > 1).sum()} of {error.size} wrong, at {h[worst[0], min(worst[1], h.shape[1] - 1)]:.6g}: "
              f"{found[worst]:.7g} for {right[worst]:.7g}")
        return 1
    return 0


def takes_half(kind):
    """Whether the standard has the operator in 16 bits: Celu it has in f32 alone."""
    schema = onnx.defs.get_schema(kind, OPSET)
    allowed = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    return "tensor(float16)" in allowed.get(schema.inputs[0].type_str, [])


def function_of(name, own, precision):
    """f of the operand alone: other numbers are the model's, of its type."""
    _, _, more, _, function, *_ = OPERATORS[name]
    numbers = [float(rounded(given, precision) if own else np.float32(given)) for given in more if isinstance(given, float)]
    return lambda x: function(x, *numbers)


def results(folder, model, names, types):
    run("cleave", "compile", model, "-o", folder / "program", *types)
    run(folder / "program", "infer", "--input", f"x={folder}/x.npy", *(w for n in names for w in ("--output", f"{n}.z={folder}/{n}.npy")))
    return {name: np.load(folder / f"{name}.npy").astype("f8") for name in names}


def gradients(folder, model, names, types, constants):
    saved = folder / "saved"
    shutil.rmtree(saved, ignore_errors=True)
    run("cleave", "compile", model, "-o", folder / "program", "--train", "--loss-output", "loss", "--optimizer", "sgd,momentum=0.9",
        "--freeze", ",".join(constants), *types)
    run(folder / "program", "train", "--data", f"x={folder}/x.npy", "--no-shuffle", "--steps", 1, "--lr", 0, "--save", saved)
    states = checkpoint_states.read_states(saved)
    return {name: next(states[key] for key in states if key.startswith(f"{name}.w#") and "momentum" in key).astype("f8") for name in names}


def check(folder, names, precision, own, random):
    names = [name for name in names if (takes_half(OPERATORS[name][0]) if own else name not in OWN_ALONE)]
    h = {name: rounded(operands(*OPERATORS[name][3], random), precision) for name in names}
    functions = {name: function_of(name, own, precision) for name in names}
    right = {name: functions[name](h[name]) for name in names}
    seeds = {name: random.choice([-1.0, -0.5, 0.25, 0.5, 1.0, 1.5], right[name].shape) for name in names}
    element = ELEMENTS[precision] if own else np.float32
    what = f"a model of {precision}" if own else f"--precision {precision}"
    model = folder / f"{precision}.{'own' if own else 'reduced'}.onnx"
    save(model, names, h, seeds, False, element)
    found = results(folder, model, names, () if own else ("--precision", precision))
    wrong = sum(compare(name, f"result of {what}", found[name], right[name], h[name], precision) for name in names)
    constants = save(model, names, h, seeds, True, element)
    types = [] if own else ["--precision", f"param={precision},reduce=f32"]
    slopes = gradients(folder, model, names, types + ["--loss-scale", "none"] * (precision == "fp16"), constants)
    for name in names:
        if own and name in OF_RESULT:
            slope = OF_RESULT[name](found[name], h[name], seeds[name])
        else:
            slope = gradient_of(functions[name], h[name], seeds[name])
        wrong += compare(name, f"gradient of {what}", slopes[name], slope, h[name], precision)
    return wrong


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(OPERATORS)
    random = np.random.default_rng(7)
    np.save(folder / "x.npy", np.eye(ROWS, dtype="f4"))
    wrong = sum(check(folder, names, precision, own, random) for own in (False, True) for precision in TYPES)
    print(f"{len(names)} operators, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
