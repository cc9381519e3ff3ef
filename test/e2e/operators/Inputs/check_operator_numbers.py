"""Operators where a plain formula overflows, cancels or divides by zero: results of one model that holds all cases, and gradients of
another, whose parameters are the operators' inputs.

  check_operator_numbers.py FOLDER
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

INF, NAN = np.inf, np.nan
OPSET = 26


def f4(values):
    return np.array(values, "f4")


def f2(values):
    return np.array(values, "f2")


def standard(x, axes):
    x = np.float64(x)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def softplus(x):
    return np.logaddexp(0, np.float64(x))


SMALL, ANGLES = f4([-20, -17, -10, 0, 5, 100]), f4([100, 1e3, 1e5, 1e8, 3, -50, 1e-3])
ROWS, PLANES = f2(np.arange(24).reshape(2, 3, 4) ** 2 % 17), f2(np.arange(16).reshape(1, 4, 4) ** 2 % 11)
LONG = f4(np.arange(600) % 7)
HUGE = 2 ** 60 + 1
# Every running result is a number, but the products and sums of some of the parts are not.
FAR, ZERO_FAR = f4([1e-3] * 12 + [1e5] * 14 + [1e-5] * 12 + [-1] * 90), f4([1, 0] + [1e6] * 98)
SWINGS, LARGE = f4([1e30, 1e-30] * 200), f4([-3e38] + [0] * 11 + [3e38, 3e38, -3e38] + [0] * 113)
QUERIES = f4([[[[1, 0], [0, 1]]]])

# name, operator, attributes, inputs (the last constants of kind i8 or in CONSTANT are known at compile time), expected, bound
CASES = [
    ("softplus", "Softplus", {}, [SMALL], softplus(SMALL), 1e-6),
    ("softplus_half", "Softplus", {}, [f2([-8, -10, 2])], softplus([-8, -10, 2]), 1e-3),
    ("mean_half", "ReduceMean", {"keepdims": 0}, [f2([60000] * 3)], 60000, 1e-3),
    ("pool_half", "GlobalAveragePool", {}, [np.full((1, 2, 64, 64), 20, "f2")], np.full((1, 2, 1, 1), 20), 1e-3),
    ("norm_half", "ReduceL2", {"keepdims": 0}, [f2([300, 400])], 500, 1e-3),
    ("layer_half", "LayerNormalization", {}, [ROWS, f2([1, 2, 3, 4])], standard(ROWS, -1) * [1, 2, 3, 4], 2e-3),
    ("group_half", "GroupNormalization", {"num_groups": 2}, [PLANES, np.ones(4, "f2"), np.zeros(4, "f2")],
     standard(PLANES.reshape(1, 2, 8), -1).reshape(1, 4, 4), 2e-3),
    ("instance_half", "InstanceNormalization", {}, [ROWS, np.ones(3, "f2"), np.zeros(3, "f2")], standard(ROWS, -1), 2e-3),
    ("rms_half", "RMSNormalization", {}, [f2([[300, -300]]), f2([1, 1])], [[1, -1]], 1e-3),
    ("lse_lowest", "ReduceLogSumExp", {"keepdims": 0}, [f4([-INF, -INF])], -INF, 0),
    ("lse_infinite", "ReduceLogSumExp", {"keepdims": 0}, [f4([INF, 1])], INF, 0),
    ("lse_large", "ReduceLogSumExp", {"keepdims": 0}, [f4([1000, 1000])], 1000 + np.log(2), 1e-6),
    ("cumsum_infinite", "CumSum", {}, [f4([1, 2, INF, 3, 4]), np.int64(0)], [1, 3, INF, INF, INF], 0),
    ("cumsum_nan", "CumSum", {"reverse": 1, "exclusive": 1}, [f4([1, NAN, 3, 4]), np.int64(0)], [NAN, 7, 4, 0], 0),
    ("cumsum_long", "CumSum", {}, [LONG, np.int64(0)], np.cumsum(LONG), 0),
    ("cumsum_back", "CumSum", {"reverse": 1, "exclusive": 1}, [LONG, np.int64(0)], np.cumsum(LONG[::-1])[::-1] - LONG, 0),
    ("cumsum_last", "CumSum", {}, [f4([0] * 599 + [INF]), np.int64(0)], [0] * 599 + [INF], 0),
    ("cumsum_large", "CumSum", {}, [LARGE, np.int64(0)], np.cumsum(LARGE), 0),
    ("cumsum_large_f64", "CumSum", {}, [np.float64(LARGE) * 5e269, np.int64(0)], np.cumsum(np.float64(LARGE) * 5e269), 0),
    ("cumprod_far", "CumProd", {}, [FAR, np.int64(0)], np.cumprod(np.float64(FAR)), 1e-6),
    ("cumprod_back", "CumProd", {"reverse": 1, "exclusive": 1}, [FAR, np.int64(0)], f4(np.cumprod(np.float64(FAR)[::-1])[::-1] / FAR), 1e-6),
    ("cumprod_swings", "CumProd", {}, [SWINGS, np.int64(0)], np.cumprod(np.float64(SWINGS)), 1e-6),
    ("cumprod_f64", "CumProd", {}, [np.float64(SWINGS) ** 10, np.int64(0)], np.cumprod(np.float64(SWINGS) ** 10), 1e-11),
    ("cumprod_zero", "CumProd", {}, [ZERO_FAR, np.int64(0)], [1] + [0] * 99, 0),
    ("cumprod_infinite", "CumProd", {}, [f4([2] * 70 + [INF, -1, 0, 1]), np.int64(0)], [2.0 ** i for i in range(1, 71)] + [INF, -INF, NAN, NAN], 0),
    ("cumprod_end", "CumProd", {}, [f4([2] * 200), np.int64(0)], [2.0 ** i if i < 128 else INF for i in range(1, 201)], 0),
    ("deviation", "MeanVarianceNormalization", {"axes": [0, 1]}, [f4([[1e-5, 2e-5, 4e-5]])],
     (lambda x: (x - x.mean()) / x.std())(np.float64([1, 2, 4]))[None], 1e-3),
    ("loss_ignored", "SoftmaxCrossEntropyLoss", {"ignore_index": 1}, [f4([[0, -INF], [0, 0]]), np.int64([1, 0])], np.log(2), 1e-6),
    ("mask_short", "Attention", {"scale": 0.0}, [QUERIES, QUERIES, QUERIES, np.ones((2, 1), bool)], QUERIES[:, :, [0, 0]], 1e-6),
    ("mask_added", "Attention", {"scale": 0.0}, [QUERIES, QUERIES, QUERIES, np.zeros((2, 1), "f4")], QUERIES[:, :, [0, 0]], 1e-6),
    ("sine", "Sin", {}, [ANGLES], np.sin(np.float64(ANGLES)), 1e-6),
    ("cosine", "Cos", {}, [ANGLES], np.cos(np.float64(ANGLES)), 1e-6),
    ("log_tiny", "Log", {}, [f4([1e-40, 1e-45, 0, 1, 1e-37])], [np.log(1e-40), np.log(2.0 ** -149), -INF, 0, np.log(1e-37)], 2e-6),
    ("pad_huge", "Pad", {}, [np.int64([5, HUGE]), np.int64([1, 1]), np.int64(HUGE)], [HUGE, 5, HUGE, HUGE], 0),
]
CONSTANT = {"CumSum": [1], "CumProd": [1], "Pad": [1, 2]}


def product_gradient(x):
    """Of the sum of all running products: the sum, over the places from an element on, of the product of the other factors."""
    others = [np.cumprod(np.concatenate([[np.prod(x[:i])], x[i + 1:]])) for i in range(len(x))]
    return [running.sum() for running in others]


ZEROS = f4([[0, 0, 0], [3, 0, 4]])
# name, operator, attributes, the parameter, expected gradient of the sum of the results
GRADIENTS = [
    ("softplus", "Softplus", {}, SMALL, 1 / (1 + np.exp(-np.float64(SMALL)))),
    ("norm", "ReduceL2", {"keepdims": 0}, f4([0, 0, 0]), [0, 0, 0]),
    ("norm_away", "ReduceL2", {"keepdims": 0}, f4([3, 4]), [0.6, 0.8]),
    # d (a + b) / |(a, b)| at (3, 4): 1/5 - 7 * (3, 4) / 125
    ("unit", "LpNormalization", {"axis": -1}, ZEROS, [[0, 0, 0], [0.2 - 21 / 125, 0.2, 0.2 - 28 / 125]]),
    ("deviation", "MeanVarianceNormalization", {"axes": [0]}, f4([2, 2, 2]), [0, 0, 0]),
    ("cumsum", "CumSum", {}, f4([1, 2, 3, 4, 5]), [5, 4, 3, 2, 1]),
    ("cumsum_large", "CumSum", {}, f4([0] * 70), np.arange(70, 0, -1)),
    ("cumprod", "CumProd", {}, f4([0.5, -2, 1.5, 0.25] * 20), product_gradient(np.float64([0.5, -2, 1.5, 0.25] * 20))),
    ("cumprod_zero", "CumProd", {}, f4([0.5, -2, 0, 1.5] + [1] * 70), product_gradient(np.float64([0.5, -2, 0, 1.5] + [1] * 70))),
]


def kind(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def save(path, nodes, inputs, outputs, constants):
    def port(name, array):
        return helper.make_tensor_value_info(name, kind(array), array.shape)
    graph = helper.make_graph(nodes, "g", [port(*item) for item in inputs.items()],
                              [helper.make_tensor_value_info(name, element, None) for name, element in outputs.items()],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10), path)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)


def check_results(folder):
    nodes, inputs, outputs, constants = [], {}, {}, {}
    for name, operator, attributes, arrays, _, _ in CASES:
        ports = [f"{name}.{i}" for i in range(len(arrays))]
        for i, port in enumerate(ports):
            (constants if i in CONSTANT.get(operator, []) else inputs)[port] = np.asarray(arrays[i])
        nodes.append(helper.make_node(operator, ports, [name], **attributes))
        outputs[name] = kind(np.asarray(arrays[0]))
    save(folder / "results.onnx", nodes, inputs, outputs, constants)
    run("cleave", "compile", folder / "results.onnx", "-o", folder / "results")
    arguments = []
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    for name in outputs:
        arguments += ["--output", f"{name}={folder}/{name}.out.npy"]
    run(folder / "results", "infer", *arguments)
    failures = 0
    for name, _, _, _, expected, bound in CASES:
        got, expected = np.load(folder / f"{name}.out.npy"), np.asarray(expected)
        # Integers exactly; the softplus of -20 to some of its own digits.
        same = np.array_equal(got, expected) if got.dtype.kind == "i" else np.allclose(
            got.astype("f8"), expected, rtol=bound, atol=bound if name in ("sine", "cosine") or got.dtype == "f2" else 0, equal_nan=True)
        if got.shape != expected.shape or not same:
            failures += 1
            print(f"{name}: {got.tolist()}, expected {expected.tolist()}")
    return failures


def check_gradients(folder):
    nodes, constants, total = [], {}, "zero"
    one = {"x": np.zeros((1, 1), "f4")}
    nodes.append(helper.make_node("ReduceMean", ["x"], ["zero"], keepdims=0))
    for name, operator, attributes, parameter, _ in GRADIENTS:
        extra = ["axis"] if operator in ("CumSum", "CumProd") else []
        # One number of the data is added, so that nothing is computed at compile time.
        nodes += [helper.make_node("Add", [f"{name}.w", "zero"], [f"{name}.x"]),
                  helper.make_node(operator, [f"{name}.x", *extra], [f"{name}.y"], **attributes),
                  helper.make_node("ReduceSum", [f"{name}.y"], [f"{name}.s"], keepdims=0),
                  helper.make_node("Add", [total, f"{name}.s"], [f"{name}.t"])]
        constants[f"{name}.w"], total = parameter, f"{name}.t"
    nodes.append(helper.make_node("Identity", [total], ["loss"]))
    nodes.insert(0, helper.make_node("Constant", [], ["axis"], value=numpy_helper.from_array(np.int64(0))))
    save(folder / "gradients.onnx", nodes, one, {"loss": onnx.TensorProto.FLOAT}, constants)
    run("cleave", "compile", folder / "gradients.onnx", "-o", folder / "gradients", "--train", "--loss-output", "loss", "--optimizer", "sgd")
    np.save(folder / "x.npy", one["x"])
    run(folder / "gradients", "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--data", f"x={folder}/x.npy", "--save", folder / "saved")
    states, failures = read_states(folder / "saved"), 0
    for name, _, _, parameter, expected in GRADIENTS:
        gradient = np.float64(parameter) - states[f"{name}.w"]
        if not np.allclose(gradient, expected, rtol=1e-5, atol=1e-5):
            failures += 1
            print(f"gradient of {name}: {gradient.tolist()}, expected {np.asarray(expected).tolist()}")
    return failures


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    failed = check_results(target) + check_gradients(target)
    if failed:
        sys.exit(f"{failed} failures")
    print(f"{len(CASES)} results\n{len(GRADIENTS)} gradients")
