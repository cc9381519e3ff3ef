#!/usr/bin/env python3
"""check_double_numbers.py SCRATCH: elementwise functions in f64 against the C library's, over the exponents of both signs.

At most 4 ulp. Functions that are small where x is (expm1, log1p, erf and what is made of them) must not lose their digits there."""
import math
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

BOUND, SMALLEST_NORMAL = 4.0, 2.0**-1022
SCALE, ALPHA = 1.05070102214813232421875, 1.67326319217681884765625  # Selu's, f32 numbers


def softplus(x):
    return math.log1p(math.exp(x)) if x < 0 else x + math.log1p(math.exp(-x))


FUNCTIONS = {
    "Erf": math.erf, "Exp": math.exp, "Sin": math.sin, "Cos": math.cos, "Tan": math.tan, "Sinh": math.sinh, "Cosh": math.cosh,
    "Asinh": math.asinh, "Acosh": lambda x: math.acosh(x) if x >= 1 else math.nan, "Atanh": lambda x: math.atanh(x) if abs(x) < 1 else math.nan,
    "Asin": lambda x: math.asin(x) if abs(x) <= 1 else math.nan, "Acos": lambda x: math.acos(x) if abs(x) <= 1 else math.nan, "Atan": math.atan,
    "Tanh": math.tanh, "Sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan, "Log": lambda x: math.log(x) if x > 0 else math.nan,
    "Sigmoid": lambda x: 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x)), "Softplus": softplus,
    "Softsign": lambda x: x / (1 + abs(x)), "Elu": lambda x: x if x > 0 else math.expm1(x),
    "Selu": lambda x: SCALE * (x if x > 0 else ALPHA * math.expm1(x)),
    "Mish": lambda x: x * math.tanh(softplus(x)), "Reciprocal": lambda x: 1 / x}


def main():
    scratch = pathlib.Path(sys.argv[1])
    magnitudes = np.concatenate([np.logspace(-300, 2.8, 1500), np.linspace(.01, 30, 1500)])
    x = np.concatenate([-magnitudes, magnitudes])
    graph = helper.make_graph([helper.make_node(name, ["x"], [name]) for name in FUNCTIONS], "g",
                              [helper.make_tensor_value_info("x", TensorProto.DOUBLE, x.shape)],
                              [onnx.ValueInfoProto(name=name) for name in FUNCTIONS])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), scratch / "m.onnx")
    np.save(scratch / "x.npy", x)
    subprocess.run(["cleave", "compile", scratch / "m.onnx", "-o", scratch / "m"], check=True, stdout=subprocess.DEVNULL)
    outputs = [word for name in FUNCTIONS for word in ("--output", f"{name}={scratch / name}.npy")]
    subprocess.run([scratch / "m", "infer", "--input", f"x={scratch / 'x.npy'}", *outputs], check=True, stdout=subprocess.DEVNULL)
    wrong = 0
    for name, function in FUNCTIONS.items():
        found, expected = np.load(scratch / f"{name}.npy"), np.array([function(float(one)) for one in x])
        with np.errstate(all="ignore"):
            error = np.abs(found - expected) / np.spacing(np.maximum(np.abs(expected), SMALLEST_NORMAL))
        error = np.where((found == expected) | (np.isnan(found) & np.isnan(expected)), 0, error)
        worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
        if not error[worst] <= BOUND:
            wrong += 1
            print(f"FAILED {name}({x[worst]}) = {found[worst]}; expected {expected[worst]}, {error[worst]:.3g} ulp away")
    print(f"{len(FUNCTIONS)} functions of {len(x)} numbers in f64, {wrong} wrong")
    sys.exit(wrong != 0)


main()
