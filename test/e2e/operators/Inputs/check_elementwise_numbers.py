"""Every elementwise function of the importer in f32, against float64: all exponents, both signs, subnormal and special numbers.

  check_elementwise_numbers.py FOLDER [--mantissas N] [--target TARGET] [--only compile|run]

--only: compile on one machine, run on another one, which has a GPU.
The error is at most 4 ulp of the result, where nothing else is said below. Infinities, NaN and overflow agree. Derivatives are compared
where float64 has them, with an absolute bound where the formula cancels.
"""
import argparse
import math
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

TINY = 2.0 ** -149  # the smallest f32 number


def each(function):
    return np.vectorize(function, otypes=["f8"])


def expm1(x):
    return np.expm1(x)


def gelu(x):
    return np.where(np.isneginf(x), np.nan, 0.5 * x * each(math.erfc)(-x / math.sqrt(2)))



def gelu_tanh_exactly(x):  # (1 + tanh u) / 2 = 1 / (1 + e^-2u)
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def mish(x):
    e = np.exp(np.minimum(x, 30))
    return x * (e * (e + 2) / (e * (e + 2) + 2))


# What the importer documents instead of 4 ulp.
def of_argument(x, want):  # results that cancel: ulp of the argument, 2^-23 |x|
    return 2.0 ** -23 * np.abs(x)


def of_factors(x, want):  # a product with a number that is subnormal itself, or rounded to 0
    return 2.0 ** -149 * np.maximum(np.abs(x), 1)


def of_one(x, want):
    return np.full_like(x, 2.0 ** -22)


A32, G32 = float(np.float32(1.67326319217681884765625)), float(np.float32(1.05070102214813232421875))
# name: operator, attributes, the function, and a bound beyond 4 ulp
FUNCTIONS = {
    "Abs": ("Abs", {}, np.abs), "Neg": ("Neg", {}, np.negative), "Sign": ("Sign", {}, np.sign), "Exp": ("Exp", {}, np.exp),
    "Log": ("Log", {}, np.log), "Sqrt": ("Sqrt", {}, np.sqrt), "Tanh": ("Tanh", {}, np.tanh), "Erf": ("Erf", {}, each(math.erf)),
    "Sin": ("Sin", {}, np.sin), "Cos": ("Cos", {}, np.cos), "Tan": ("Tan", {}, np.tan),
    "Asin": ("Asin", {}, np.arcsin), "Acos": ("Acos", {}, np.arccos), "Atan": ("Atan", {}, np.arctan), "Sinh": ("Sinh", {}, np.sinh), "Cosh": ("Cosh", {}, np.cosh),
    "Asinh": ("Asinh", {}, np.arcsinh), "Acosh": ("Acosh", {}, np.arccosh), "Atanh": ("Atanh", {}, np.arctanh),
    "Floor": ("Floor", {}, np.floor), "Ceil": ("Ceil", {}, np.ceil), "Round": ("Round", {}, np.rint), "Reciprocal": ("Reciprocal", {}, lambda x: 1 / x),
    "Relu": ("Relu", {}, lambda x: np.where(x <= 0, 0, x)), "Sigmoid": ("Sigmoid", {}, sigmoid),
    "LeakyRelu": ("LeakyRelu", {"alpha": 0.125}, lambda x: np.where(x < 0, 0.125 * x, x)),
    "ThresholdedRelu": ("ThresholdedRelu", {"alpha": 0.5}, lambda x: np.where(x > 0.5, x, 0)),
    "Elu": ("Elu", {"alpha": 0.5}, lambda x: np.where(x > 0, x, 0.5 * expm1(np.minimum(x, 0)))),
    "Selu": ("Selu", {}, lambda x: G32 * np.where(x > 0, x, A32 * expm1(np.minimum(x, 0)))),
    "Celu": ("Celu", {"alpha": 0.5}, lambda x: np.maximum(x, 0) + 0.5 * expm1(np.minimum(x, 0) / 0.5)),
    "HardSigmoid": ("HardSigmoid", {"alpha": 0.25}, lambda x: np.clip(0.25 * x + 0.5, 0, 1), of_one),
    "HardSwish": ("HardSwish", {}, lambda x: x * np.clip((x + 3) / 6, 0, 1)),
    "Softplus": ("Softplus", {}, softplus), "Softsign": ("Softsign", {}, lambda x: x / (1 + np.abs(x))), "Mish": ("Mish", {}, mish, of_factors),
    "Gelu": ("Gelu", {}, gelu, of_argument), "GeluTanh": ("Gelu", {"approximate": "tanh"}, gelu_tanh_exactly, of_argument),
    "Shrink": ("Shrink", {"lambd": 0.5, "bias": 0.25}, lambda x: np.where(x < -0.5, x + 0.25, np.where(x > 0.5, x - 0.25, 0))),
    "Swish": ("Swish", {}, lambda x: x * sigmoid(x), of_factors),
}


def with_attributes(operator, function, bound=None, **lists):
    """More values of an operator's attributes; `function` takes x and one of each."""
    for values in zip(*lists.values()):
        name = f"{operator}.{'.'.join(map(str, values))}"
        more = [bound] if bound else []
        single = [float(np.float32(value)) for value in values]
        FUNCTIONS[name] = (operator, dict(zip(lists, values)), lambda x, single=single: function(x, *single), *more)


with_attributes("LeakyRelu", lambda x, a: np.where(x < 0, a * x, x), alpha=[0.01, 0.0, 3.0, -0.5])
with_attributes("ThresholdedRelu", lambda x, a: np.where(x > a, x, 0), alpha=[1.0, 0.0, -2.0, 1e30])
with_attributes("Elu", lambda x, a: np.where(x > 0, x, a * expm1(np.minimum(x, 0))), of_factors, alpha=[1.0, 3.0, -0.5, 1e-6])
with_attributes("Celu", lambda x, a: np.maximum(x, 0) + np.minimum(0, a * expm1(np.minimum(x, 0) / a)), of_factors, alpha=[1.0, 3.0, 0.01])
with_attributes("HardSigmoid", lambda x, a, b: np.clip(a * x + b, 0, 1), of_one, alpha=[0.2, 1.0, -0.5], beta=[0.5, 0.0, 0.3])
with_attributes("Shrink", lambda x, l, b: np.where(x < -l, x + b, np.where(x > l, x - b, 0)), of_one, lambd=[0.5, 2.0, 0.0], bias=[0.0, 1.5, -0.25])
# alpha x is rounded, and the exponential of it multiplies that error by its size.
with_attributes("Swish", lambda x, a: x * sigmoid(a * x), lambda x, want: np.maximum(of_factors(x, want), 2.0 ** -23 * np.abs(x * want)),
                alpha=[2.0, 0.5, 1.702])
# Of two operands, x and y (pairs_of): the first of the standard's variadic ones, too.
PAIRS = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Max": np.maximum, "Min": np.minimum,
         "Sum": np.add, "Mean": lambda x, y: np.float64(np.float32(x + y)) / 2, "PRelu": lambda x, y: np.where(x < 0, x * y, x), "FMod": np.fmod}
LIMITS = [(-1.0, 1.0), (0.0, 6.0), (-np.inf, 0.25), (2.0 ** -140, np.inf)]
POWERS = [2.0, 3.0, 4.0, 0.5, -0.5, -1.0, 1.0, 0.0, 0.75, 2.5, -3.0, 7.0, -8.0, 1.0 / 3]
BASES = [2.0, 0.5, 10.0, 1.5]
DIVISORS = [1.0, 3.0, -0.7, 1e-3, 6.2831855]


KNOWN_POWERS = {2.0: np.square, 3.0: lambda x: x ** 3, 4.0: lambda x: x ** 4, 0.5: np.sqrt, -0.5: lambda x: 1 / np.sqrt(x), -1.0: lambda x: 1 / x, 1.0: lambda x: x}


def numbers(mantissas):
    """All signs and exponents (those of subnormal numbers and of infinity among them), some mantissas, and what is near a change of formula."""
    random = np.random.default_rng(1)
    bits = [(exponent << 23) | int(mantissa) for exponent in range(256)
            for mantissa in [0, 1, 2, 0x7fffff, 0x400000, *random.integers(0, 1 << 23, mantissas)]]
    bits = np.array(bits, "u4")
    x = np.concatenate([bits, bits | np.uint32(1 << 31)]).view("f4")
    steps = np.concatenate([np.arange(-110, 110, 0.0625), np.pi / 4 * np.arange(-64, 65), [1e-3, 3e-4, 88.7228, 88.72284, 89.4159, 89.416, 103.97]])
    near = np.float32(steps)
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    specials = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo("f4").max, np.finfo("f4").min, np.finfo("f4").tiny, TINY, -TINY])
    x = np.concatenate([x, *around, specials])
    return np.where(np.isnan(x), np.float32(np.nan), x)  # one NaN, a quiet one


def pairs_of(x):
    """For each number another one: of any size, of its own size, and itself or nearly so, in turn."""
    random = np.random.default_rng(2)
    with np.errstate(all="ignore"):
        alike = x * np.float32(random.uniform(-2, 2, x.size))
        near = np.nextafter(x, np.float32(random.choice([-np.inf, np.inf], x.size))) * random.choice(np.float32([1, -1]), x.size)
    y = np.choose(np.arange(x.size) % 4, [random.permutation(x), alike, near, x])
    return np.where(np.isnan(y), np.float32(np.nan), np.float32(y))


def ulp_error(got, want):
    """In ulp of the f32 number nearest to `want`; 0 where both are the same infinity or NaN."""
    got, rounded = np.float64(got), np.float64(np.float32(want))
    exponent = np.frexp(np.where(np.isfinite(want) & (want != 0), want, 1.0))[1]
    unit = np.ldexp(1.0, np.maximum(np.where(want == 0, -149, exponent - 24), -149))
    with np.errstate(all="ignore"):
        error = np.abs(got - want) / unit
    same = (np.isnan(got) & np.isnan(want)) | (got == rounded)
    # The largest number instead of an infinity to which the exact result rounds, and the other way round.
    edge = np.isfinite(want) & (np.abs(want) > 3.4028220e38) & (np.isinf(got) | np.isinf(rounded)) & (np.sign(got) == np.sign(want)) & (np.abs(got) > 3.4e38)
    return np.where(same | edge, 0, np.where(np.isfinite(error), error, np.inf))


def save(path, nodes, inputs, outputs, constants):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in inputs.items()],
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
                              [numpy_helper.from_array(np.float32(a), n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10), path)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def cases(x):
    """name: (node's operator, its inputs, attributes, expected, bound)"""
    x8 = np.float64(x)
    found = {}
    with np.errstate(all="ignore"):
        for name, (operator, attributes, function, *bound) in FUNCTIONS.items():
            found[name] = (operator, ["x"], attributes, function(x8), bound[0](x8, function(x8)) if bound else 0)
        for index, exponent in enumerate(POWERS):
            found[f"Pow.{index}"] = ("Pow", ["x", float(np.float32(exponent))], {}, np.power(x8, np.full_like(x8, np.float32(exponent))), 0)
        for index, (exponent, function) in enumerate(KNOWN_POWERS.items()):  # of a known exponent: products, roots and quotients
            found[f"PowKnown.{index}"] = ("Pow", ["x", ("known", exponent)], {}, function(x8), 0)
        for index, base in enumerate(BASES):
            found[f"PowOf.{index}"] = ("Pow", [float(np.float32(base)), "x"], {}, np.power(np.float64(np.float32(base)), x8), 0)
        for index, divisor in enumerate(DIVISORS):
            found[f"Mod.{index}"] = ("Mod", ["x", float(np.float32(divisor))], {"fmod": 1}, np.fmod(x8, np.float64(np.float32(divisor))), 0)
        found["PRelu"] = ("PRelu", ["x", 0.125], {}, np.where(x8 < 0, 0.125 * x8, x8), 0)
        y8 = np.float64(pairs_of(x))
        for name, function in PAIRS.items():
            operator, attributes = ("Mod", {"fmod": 1}) if name == "FMod" else (name, {})
            found[f"{name}.pairs"] = (operator, ["x", "y"], attributes, function(x8, y8), 0)
        for index, (least, largest) in enumerate(LIMITS):
            found[f"Clip.{index}"] = ("Clip", ["x", ("known", least), ("known", largest)], {}, np.clip(x8, np.float32(least), np.float32(largest)), 0)
    return found


def compiled(options, name, *arguments):
    """The program of NAME.onnx."""
    if options.only != "run":
        run("cleave", "compile", options.folder / f"{name}.onnx", "-o", options.folder / name, "--target", options.target, *arguments)
    return options.folder / name


def check_results(options):
    folder, x = options.folder, numbers(options.mantissas)
    all_cases, nodes, constants = cases(x), [], {}
    for name, (operator, inputs, attributes, _, _) in all_cases.items():
        ports = []
        for index, value in enumerate(inputs):
            ports.append(value if isinstance(value, str) else f"{name}.c{index}")
            if isinstance(value, tuple):
                known = numpy_helper.from_array(np.array(value[1], "f4"), ports[-1])
                nodes.append(helper.make_node("Constant", [], [ports[-1]], value=known))
            elif not isinstance(value, str):
                constants[ports[-1]] = np.float32([value])
        nodes.append(helper.make_node(operator, ports, [name], **attributes))
    save(folder / "all.onnx", nodes, {"x": x, "y": pairs_of(x)}, all_cases, constants)
    program = compiled(options, "all")
    if options.only == "compile":
        return 0, 0
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", pairs_of(x))
    run(program, "infer", "--input", f"x={folder}/x.npy", "--input", f"y={folder}/y.npy", *[part for name in all_cases for part in ("--output", f"{name}={folder}/{name}.npy")])
    failures = 0
    for name, (_, _, _, want, bound) in all_cases.items():
        got = np.load(folder / f"{name}.npy")
        error = ulp_error(got, want)
        with np.errstate(all="ignore"):
            bad = (error > 4) & ~(np.abs(got - want) <= bound)
        worst = int(np.argmax(np.where(bad, error, -1) if bad.any() else np.where(np.isfinite(x), error, 0)))
        print(f"{name:16} {error[worst]:8.3g} ulp at {x[worst]!r}: {got[worst]!r}, expected {want[worst]!r}" + ("  WRONG" if bad.any() else ""))
        failures += bool(bad.any())
    return failures, len(all_cases)


# By central differences of the float64 functions; at kinks there are none.
SMOOTH = ["Exp", "Log", "Sqrt", "Tanh", "Erf", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Reciprocal", "Sigmoid", "Softplus", "Softsign", "Mish", "Swish", "Gelu",
          "GeluTanh", "Elu", "Selu", "Celu", "Asinh", "Acosh", "Atanh", "Asin", "Acos", "Atan"]
# Where a function has derivatives, if not everywhere.
POINTS = {"Acosh": lambda x: np.float32(1) + np.abs(x), **dict.fromkeys(("Atanh", "Asin", "Acos"), lambda x: x / (1 + np.abs(x)))}
# Near 1, differences cancel in float64, too.
SLOPES = {"Acosh": lambda x: 1 / np.sqrt((x - 1) * (x + 1)), "Asin": lambda x: 1 / np.sqrt((1 - x) * (1 + x)), "Acos": lambda x: -1 / np.sqrt((1 - x) * (1 + x))}


def check_gradients(options):
    """The parameter is 0 and added to a constant, so that after one step it is the gradient, unrounded."""
    folder = options.folder
    size = np.float32(2.0 ** np.arange(-20, 4, 0.37))
    x = np.concatenate([size, -size])
    points = {name: POINTS.get(name, np.positive)(x) for name in SMOOTH}
    nodes, constants = [], {f"{name}.at": points[name] for name in SMOOTH}
    total = None
    for name in SMOOTH:
        operator, attributes, *_ = FUNCTIONS[name]
        constants[f"{name}.w"] = np.zeros_like(x)
        source = f"{name}.x"
        nodes.append(helper.make_node("Add", [f"{name}.w", f"{name}.at"], [source]))
        if name in ("Log", "Sqrt"):
            nodes.append(helper.make_node("Abs", [source], [f"{name}.a"]))
            source = f"{name}.a"
        nodes += [helper.make_node(operator, [source], [f"{name}.y"], **attributes), helper.make_node("ReduceSum", [f"{name}.y"], [f"{name}.s"], keepdims=0)]
        if total:
            nodes.append(helper.make_node("Add", [total, f"{name}.s"], [f"{name}.t"]))
        total = f"{name}.t" if total else f"{name}.s"
    # fmod(a, b) = a - trunc(a / b) b
    divisors = np.where(np.arange(x.size) % 2 == 0, np.float32(0.7), np.float32(-0.3))
    constants.update({"Mod.a.at": x, "Mod.b.at": divisors, "Mod.a.w": np.zeros_like(x), "Mod.b.w": np.zeros_like(x)})
    nodes += [helper.make_node("Add", [f"Mod.{which}.w", f"Mod.{which}.at"], [f"Mod.{which}"]) for which in "ab"]
    nodes += [helper.make_node("Mod", ["Mod.a", "Mod.b"], ["Mod.y"], fmod=1), helper.make_node("ReduceSum", ["Mod.y"], ["Mod.s"], keepdims=0),
              helper.make_node("Add", [total, "Mod.s"], ["Mod.t"])]
    total = "Mod.t"
    one = {"x": np.zeros((1, 1), "f4")}
    nodes += [helper.make_node("ReduceMean", ["x"], ["zero"], keepdims=0), helper.make_node("Add", [total, "zero"], ["loss"])]
    save(folder / "gradients.onnx", nodes, one, ["loss"], constants)
    program = compiled(options, "gradients", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--freeze", "*.at")
    if options.only == "compile":
        return 0
    np.save(folder / "x.npy", one["x"])
    run(program, "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--data", f"x={folder}/x.npy", "--save", folder / "saved")
    states, failures = read_states(folder / "saved"), 0
    for name in SMOOTH:
        function = (lambda x, f=FUNCTIONS[name][2]: f(np.abs(x))) if name in ("Log", "Sqrt") else FUNCTIONS[name][2]
        x8 = np.float64(points[name])
        distance = 1 - np.abs(x8) if name == "Atanh" else np.abs(x8)  # of 0 or the end
        step = np.maximum(distance, 1e-3 if name not in ("Log", "Sqrt", "Reciprocal", "Atanh") else 0) * 1e-5
        want = (8 * (function(x8 + step) - function(x8 - step)) - (function(x8 + 2 * step) - function(x8 - 2 * step))) / (12 * step)
        want = SLOPES[name](x8) if name in SLOPES else want
        got = -np.float64(states[f"{name}.w"])
        kink = (np.abs(x8) < 1e-2) & np.isin(name, ["Selu", "Elu", "Celu", "Softsign"])
        bad = ~(np.abs(got - want) <= 2e-6 * np.maximum(np.abs(want), 1)) & ~kink
        if bad.any():
            failures += 1
            worst = np.argmax(np.where(bad, np.abs(got - want), 0))
            print(f"gradient of {name} at {x[worst]!r}: {got[worst]!r}, expected {want[worst]!r}")
    for which, want in (("a", np.ones_like(x)), ("b", -np.trunc(np.float64(x) / np.float64(divisors)))):
        if not np.array_equal(-states[f"Mod.{which}.w"], want):
            failures += 1
            print(f"gradient of Mod by {which}: {-states[f'Mod.{which}.w']}, expected {want}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--mantissas", type=int, default=40, help="random ones of each exponent")
    parser.add_argument("--target", default="host")
    parser.add_argument("--only", choices=["compile", "run"])
    options = parser.parse_args()
    wrong, count = check_results(options)
    wrong += check_gradients(options)
    if wrong:
        sys.exit(f"{wrong} failures")
    if options.only != "compile":
        print(f"{count} functions, {len(SMOOTH) + 2} derivatives")


if __name__ == "__main__":
    main()
