"""Infinities, NaN and -0 through operators, as inputs, as initializers and as constants that may be folded, against onnxruntime; slices with
all signs of start, end and step; the statistics of a LayerNormalization of f64.

  check_special_numbers.py FOLDER
"""
import itertools
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

INF, NAN = np.inf, np.nan
ROWS = [[INF], [-INF], [NAN], [5.0], [INF, 1], [INF, INF], [-INF, -INF], [-INF, 1], [NAN, 1], [1, NAN], [INF, NAN], [NAN, INF], [INF, -INF], [1, -INF]]
OF_ROWS = [("Softmax", {"axis": 0}), ("LogSoftmax", {"axis": 0}), *[(f"Reduce{name}", {"keepdims": 0}) for name in
           ("Max", "Min", "Sum", "LogSumExp", "L1", "L2", "Mean", "LogSum", "Prod", "SumSquare")]]
NUMBERS = np.float32([NAN, INF, -INF, 0.0, -0.0, 1, -1, 0.3, NAN])
ELEMENTWISE = [*[(name, [], {}) for name in (
    "Sign Relu Abs Neg Floor Ceil Round Sqrt Reciprocal Exp Log Tanh Erf Sigmoid Softplus Softsign Elu Celu Selu HardSigmoid HardSwish LeakyRelu Mish Gelu Shrink "
    "Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh IsNaN IsInf").split()],
    ("Max", [[0.5]], {}), ("Min", [[0.5]], {}), ("Max", [[NAN]], {}), ("Min", [[NAN]], {}), ("Clip", [-0.5, 0.5], {}), ("Clip", [NAN, 0.5], {}),
    ("Clip", [-0.5, NAN], {}), ("Clip", [0.5, -0.5], {}), ("PRelu", [[0.2]], {}), ("ThresholdedRelu", [], {"alpha": -0.5}), ("Mod", [[0.4]], {"fmod": 1}),
    *[(name, [[other]], {}) for name in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal") for other in (0.0, NAN, INF)]]
LOGIC = ("Greater", "Less", "Equal", "IsNaN", "IsInf")


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


class Model:
    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.nodes, self.initializers, self.inputs, self.outputs, self.rules = [], [], {}, {}, {}

    def value(self, array, kind):
        name = f"v{len(self.inputs) + len(self.initializers) + len(self.nodes)}.{kind}"
        if kind == "input":
            self.inputs[name] = array
        elif kind == "initializer":
            self.initializers.append(numpy_helper.from_array(array, name))
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        return name

    def add(self, rule, operator, inputs, element=TensorProto.FLOAT, outputs=1, **attributes):
        names = [f"y{len(self.outputs) + i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        for name in names:
            self.outputs[name], self.rules[name] = element, rule

    def check(self, bound):
        types = {np.dtype("f4"): TensorProto.FLOAT, np.dtype("f8"): TensorProto.DOUBLE}
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info(n, types[a.dtype], a.shape) for n, a in self.inputs.items()],
                                  [helper.make_tensor_value_info(n, t, None) for n, t in self.outputs.items()], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=9)
        path = self.folder / f"{self.name}.onnx"
        onnx.save(model, path)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        expected = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, self.inputs)
        run("cleave", "compile", path, "-o", self.folder / self.name)
        arguments = []
        for name, array in self.inputs.items():
            np.save(self.folder / f"{name}.npy", array)
            arguments += ["--input", f"{name}={self.folder}/{name}.npy"]
        arguments += [part for name in self.outputs for part in ("--output", f"{name}={self.folder}/{name}.npy")]
        run(self.folder / self.name, "infer", *arguments)
        failures = 0
        for name, want in zip(self.outputs, expected):
            got, rule = np.load(self.folder / f"{name}.npy"), self.rules[name]
            want = rule[1] if isinstance(rule, tuple) else np.asarray(want)
            same = got.shape == want.shape and np.allclose(np.float64(got), np.float64(want), rtol=bound, atol=1e-30, equal_nan=True)
            if not same or (not isinstance(rule, tuple) and got.dtype != want.dtype):
                failures += 1
                print(f"{rule}: {got.dtype} {got.tolist()}, expected {want.dtype} {want.tolist()}")
        return failures, len(self.outputs)


def special_numbers(folder):
    model = Model(folder, "special")
    for kind in ("input", "initializer", "constant"):
        for (operator, attributes), row in itertools.product(OF_ROWS, ROWS):
            rule = f"{operator} of {kind} {row}"
            # onnxruntime's maximum loses a NaN that does not come first; numpy's does not.
            if np.isnan(row).any() and operator in ("ReduceMax", "ReduceMin", "ReduceLogSumExp"):
                rule = (rule, np.float32(NAN))
            model.add(rule, operator, [model.value(np.float32(row), kind)], **attributes)
        for operator, others, attributes in ELEMENTWISE:
            names = [model.value(np.asarray(v, "f4"), kind) for v in (NUMBERS, *others)]
            element = TensorProto.BOOL if operator.startswith(LOGIC) else TensorProto.FLOAT
            model.add(f"{operator} of {kind} {others}", operator, names, element, **attributes)
    return model.check(1e-5)


def slices(folder):
    model = Model(folder, "slices")
    largest = 2 ** 63 - 1
    for size in (1, 2, 4):
        bounds = [*range(-size - 2, size + 3), -largest - 1, largest]
        data = {kind: model.value(np.arange(1, size + 1, dtype="f4"), kind) for kind in ("input", "constant")}
        for step, (kind, source) in itertools.product((-largest - 1, -3, -2, -1, 1, 2, largest), data.items()):
            parts = []
            for start, end in itertools.product(bounds, bounds):
                if step < 0 and end == largest:
                    continue  # the standard clamps it to size - 1, onnxruntime takes it for -1
                arguments = [model.value(np.int64([v]), "constant") for v in (start, end, 0, step)]
                parts += [f"p{len(model.nodes)}", model.value(np.float32([-1]), "constant")]
                model.nodes.append(helper.make_node("Slice", [source, *arguments], [parts[-2]]))
            model.add(f"slices of {size} by {step} of {kind}", "Concat", parts, axis=0)
    return model.check(0)


def statistics(folder):
    model = Model(folder, "statistics")
    x = np.random.default_rng(0).standard_normal((3, 5)) * 3 + 1
    names = [model.value(a, "input") for a in (x, np.ones(5), np.zeros(5))]
    model.nodes.append(helper.make_node("LayerNormalization", names, ["y0", "y1", "y2"]))
    for name, element in [("y0", TensorProto.DOUBLE), ("y1", TensorProto.FLOAT), ("y2", TensorProto.FLOAT)]:
        model.outputs[name], model.rules[name] = element, f"LayerNormalization of f64: {name}"
    return model.check(1e-6)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    wrong, count = (sum(each) for each in zip(special_numbers(target), slices(target), statistics(target)))
    if wrong:
        sys.exit(f"{wrong} failures")
    print(f"{count} results")
