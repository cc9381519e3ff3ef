"""Indices in range and out of range, of every operator that takes some, wherever they come from.

  check_index_ranges.py FOLDER SEED [COUNT]

The product of three lists: operators with an index operand; where the indices come from (constants of the file, an input, or computed in
the graph by one of several ways); and the numbers (in range, too large, too negative). In range the results are onnxruntime's. Out of
range onnxruntime refuses, and so does Cleave: constants when the file is compiled, an input's before the program begins, computed ones when
a kernel meets them, each by value, range and place. OneHot gives zeros there, as the standard says. With COUNT, so many programs are drawn.
"""
import pathlib
import random
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

CLASSES, IGNORED = 5, -100


class Operator:
    """`place` is the index operand's, `shape` its shape; it may hold lowest to size - 1, and `other`."""

    def __init__(self, kind, name, operands, place, shape, size, lowest=None, other=None, **attributes):
        self.kind, self.name, self.operands, self.place, self.attributes = kind, name, operands, place, attributes
        self.shape, self.size, self.other = shape, size, other
        self.lowest = -size if lowest is None else lowest
        self.is_loss = "Loss" in kind
        self.is_total = kind == "OneHot"
        self.is_split = kind.endswith("ND") and shape[-1] > 1  # into parts of the indices, each with a range

    def node(self):
        inputs = [f"a{i}" for i in range(len(self.operands))]
        inputs.insert(self.place, "i")
        return helper.make_node(self.kind, inputs, ["out"], name="tested", **self.attributes)

    def expected(self):
        return f"{self.lowest} to {self.size - 1}" + (f", or {self.other}" if self.other is not None else "")


def numbers(*shape):
    return np.random.default_rng(len(shape)).integers(-9, 9, shape).astype(np.float32) / 4


def operators():
    x, scores = numbers(4, 6), numbers(3, CLASSES)
    loss = dict(place=1, shape=(3,), size=CLASSES, lowest=0)
    for axis in (0, 1):
        yield Operator("Gather", f"gather-{axis}", [x], 1, (2, 3), x.shape[axis], axis=axis)
    yield Operator("GatherElements", "gather-elements-one", [x], 1, (4, 1), 6, axis=1)
    yield Operator("GatherElements", "gather-elements", [x], 1, (4, 3), 6, axis=1)
    yield Operator("GatherND", "gather-nd-1", [x], 1, (5, 1), 4)
    yield Operator("GatherND", "gather-nd-2", [numbers(6, 6)], 1, (5, 2), 6)
    yield Operator("GatherND", "gather-nd-batch", [x], 1, (4, 1), 6, batch_dims=1)
    yield Operator("ScatterElements", "scatter-elements", [x, numbers(4, 1)], 1, (4, 1), 6, axis=1)
    yield Operator("ScatterElements", "scatter-elements-add", [x, numbers(4, 3)], 1, (4, 3), 6, axis=1, reduction="add")
    yield Operator("ScatterND", "scatter-nd", [x, numbers(1, 6)], 1, (1, 1), 4)
    yield Operator("ScatterND", "scatter-nd-max", [numbers(6, 6), numbers(3)], 1, (3, 2), 6, reduction="max")
    yield Operator("OneHot", "one-hot", [np.array(5), np.array([0, 2], np.float32)], 0, (3,), 5)
    yield Operator("SoftmaxCrossEntropyLoss", "cross-entropy", [scores], **loss)
    yield Operator("SoftmaxCrossEntropyLoss", "cross-entropy-ignored", [scores], other=IGNORED, ignore_index=IGNORED, **loss)
    yield Operator("SoftmaxCrossEntropyLoss", "cross-entropy-rows", [scores, numbers(CLASSES) + 3], reduction="none", **loss)
    yield Operator("NegativeLogLikelihoodLoss", "nll", [scores], reduction="sum", **loss)


# From what the model is given to the indices: nodes that make `i`, and what is given for wanted indices. The last has the numbers wrapped
# by a narrow type, so that what is given may lie out of range where the index does not.
def shifted(i):
    return [helper.make_node("Sub", ["given", "one"], ["i"])], {"one": np.array(1)}, i + 1


def sliced(i):
    given = np.concatenate([np.full((1, *i.shape[1:]), 10**6), i])
    names = ["given", "from", "to"]
    return [helper.make_node("Slice", names, ["i"])], {"from": np.array([1]), "to": np.array([len(given)])}, given


def rounded(i):
    return [helper.make_node("Cast", ["given"], ["i"], to=TensorProto.INT64)], {}, i.astype(np.float32)


def wrapped(i):
    nodes = [helper.make_node("Cast", ["given"], ["narrow"], to=TensorProto.INT8),
             helper.make_node("Cast", ["narrow"], ["i"], to=TensorProto.INT64)]
    return nodes, {}, i + 256


def of_bytes(i):
    return [helper.make_node("Cast", ["given"], ["i"], to=TensorProto.INT64)], {}, i.astype(np.int8)


def as_given(i):
    return [helper.make_node("Identity", ["given"], ["i"])], {}, i


SOURCES = {"input": as_given, "bytes": of_bytes, "shifted": shifted, "sliced": sliced, "rounded": rounded, "wrapped": wrapped}
CHECKED_AT_INPUT = ("input", "bytes")


def model_of(operator, source, indices):
    constants = {f"a{i}": array for i, array in enumerate(operator.operands)}
    inputs, nodes, given = [], [], indices
    if source == "constant":
        constants["i"] = indices
    else:
        nodes, more, given = SOURCES[source](indices)
        constants.update(more)
        inputs = [helper.make_tensor_value_info("given", helper.np_dtype_to_tensor_dtype(given.dtype), given.shape)]
    output = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    graph = helper.make_graph([*nodes, operator.node()], "g", inputs, [output],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model), given


def wanted(model, given):
    """What onnxruntime has; None where it refuses."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {"given": given} if session.get_inputs() else {})[0]
    except Exception:  # of no common class
        return None


def good_and_bad(operator, draw):
    """Indices in range; the same with one element out of range, by its number."""
    size, lowest = operator.size, operator.lowest
    # Without equal ones: of several updates of one element the last stays, which onnxruntime does not promise.
    good = draw.permutation(np.arange(lowest if draw.random() < 0.5 else 0, size))
    good = np.resize(good[:size], operator.shape).astype(np.int64)
    if operator.kind.startswith("Scatter"):
        good = np.resize(draw.permutation(size), operator.shape).astype(np.int64)
    if operator.other is not None:
        good.flat[0] = operator.other
    bad = {}
    for number in {size, size + 40, lowest - 1, -size - 1, -size - 20}:
        array = good.copy()
        array.flat[draw.integers(1, array.size) if array.size > 1 else 0] = number
        bad[number] = array
    return good, bad


class Trial:
    def __init__(self, folder):
        self.folder, self.failures, self.runs = folder, 0, 0

    def compile(self, model, name):
        onnx.save(model, self.folder / f"{name}.onnx")
        return subprocess.run(["cleave", "compile", self.folder / f"{name}.onnx", "-o", self.folder / name], capture_output=True, text=True,
                              timeout=300, check=False)

    def infer(self, name, given):
        np.save(self.folder / f"{name}.given.npy", given)
        result = self.folder / f"{name}.out.npy"
        result.unlink(missing_ok=True)
        port = [] if given is None else ["--input", f"given={self.folder / name}.given.npy"]
        run = subprocess.run([self.folder / name, "infer", *port, "--output", f"out={result}"], capture_output=True, text=True, timeout=300,
                             check=False)
        return np.load(result) if run.returncode == 0 else None, run.stderr

    def expect(self, holds, what, text=""):
        self.runs += 1
        if not holds:
            self.failures += 1
            print(f"{what}: {text}")

    def same(self, got, expected):
        return got is not None and got.shape == expected.shape and np.allclose(got, expected, rtol=1e-5, atol=1e-6)

    def refused(self, text, operator, number, at):
        place = {"file": "'tested'", "input": "input 'given' holds the (index|label|value)", "kernel": "'tested'"}[at]
        expected = "" if at == "file" else re.escape(operator.expected()) if at == "kernel" else f"expected {operator.lowest} to"
        return re.search(place, text) and re.search(rf"(?<![-\d]){number}(?!\d)", text) and re.search(expected, text) and "Traceback" not in text

    def constants(self, operator, draw):
        good, bad = good_and_bad(operator, draw)
        model, _ = model_of(operator, "constant", good)
        log = self.compile(model, operator.name)
        got, error = self.infer(operator.name, None) if log.returncode == 0 else (None, log.stderr)
        self.expect(self.same(got, wanted(model, None)), f"{operator.name}, constants {good.tolist()}", error)
        for number, array in bad.items():
            model, _ = model_of(operator, "constant", array)
            log, what = self.compile(model, operator.name), f"{operator.name}, constant {number}"
            if operator.is_total:
                got, error = self.infer(operator.name, None) if log.returncode == 0 else (None, log.stderr)
                self.expect(self.same(got, wanted(model, None)), what, error)
            else:
                self.expect(log.returncode == 1 and self.refused(log.stderr, operator, number, "file"), what, log.stderr)

    def given(self, operator, source, draw):
        good, bad = good_and_bad(operator, draw)
        model, given = model_of(operator, source, good)
        log, name = self.compile(model, f"{operator.name}-{source}"), f"{operator.name}-{source}"
        if log.returncode:
            self.expect(False, name, log.stderr)
            return
        got, error = self.infer(name, given)
        self.expect(self.same(got, wanted(model, given)), f"{name}, {good.tolist()}", error)
        at = "input" if source in CHECKED_AT_INPUT and not operator.is_split else "kernel"
        for number, array in bad.items():
            given, what = model_of(operator, source, array)[1], f"{name}, {number}"
            expected = wanted(model, given)
            got, error = self.infer(name, given)
            if operator.is_total:
                self.expect(self.same(got, expected), what, error)
                continue
            # Losses have labels from 0, by the standard; onnxruntime counts negative ones from the end.
            self.expect(expected is None or (operator.is_loss and number < 0), f"{what}, onnxruntime", expected)
            self.expect(got is None and self.refused(error, operator, number, at), what, error)


def main():
    folder, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    draw, trial = np.random.default_rng(seed), Trial(folder)
    programs = [(operator, source) for operator in operators() for source in ["constant", *SOURCES]]
    if len(sys.argv) > 3:
        programs = random.Random(seed).sample(programs, int(sys.argv[3]))
    for operator, source in programs:
        if source == "constant":
            trial.constants(operator, draw)
        else:
            trial.given(operator, source, draw)
    print(f"{len(programs)} programs, {trial.runs} checks: {trial.failures} failures")
    sys.exit(trial.failures > 0)


main()
