#!/usr/bin/env python3
"""ONNX's own node tests, changed: mutated_node_tests.py SCRATCH [--seed N] [--models N] [--seconds N].

A test's operand gets another shape, type or special values, an attribute another value, an input or output more or less; inputs become
known at compile time, or dimensions symbols; the nodes go into a function of their opset, in a file of another one. `cleave compile` must
refuse the model with one line that begins with `cleave: error: ` and leave nothing, or make a program that gives what onnxruntime gives (where
that runs the model), or the standard's own reference implementation: on NaN and infinities the two differ from each other. One program in
twelve at least must be compared. More of them: another seed."""
import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

E2E = pathlib.Path(__file__).resolve().parents[3] / "e2e"
sys.path[:0] = [str(E2E / "Inputs"), str(E2E / "operators" / "Inputs" / "graphs")]
import containers  # noqa: E402
import fast_linker  # noqa: E402

CPU_SECONDS, ADDRESS_SPACE = 30, 8 << 30
FORK = multiprocessing.get_context("fork")
TYPES = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.UINT8,
         TensorProto.INT8]
INTEGERS = [0, 1, -1, 2, 3, -2, 4, 7, 100, -100, 2**31, -2**31, 2**62, -2**63, 2**63 - 1]
REALS = [0, 1, -1, .5, 2, -2, 1e30, 1e-30, float("inf")]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e4, 1e-7]
TEXTS = [b"", b"constant", b"reflect", b"edge", b"wrap", b"SAME_UPPER", b"VALID", b"sum", b"mean", b"none", b"linear", b"nearest", b"tanh",
         b"add", b"max", b"\xff", b"ij,jk->ik"]
# Random numbers; conversions of numbers that the target cannot hold, which the standard leaves open; batch norm, of which a program for inference
# has the inference form.
APART = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Dropout", "Cast", "CastLike",
         "BatchNormalization", "Mod", "Pow"}
INTERNAL = ["PLEASE submit", "LLVM ERROR", "failed to legalize", "operand #", "'linalg.", "'arith.", "'vector.", "'memref.", "terminate called"]


class Mutator:
    def __init__(self, rng, scratch):
        self.rng, self.scratch = rng, scratch
        folder = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
        left_out = ("adagrad", "adam", "momentum", "training", "sequence", "optional", "string", "regex", "tfidf", "image", "float8", "int4", "uint4",
                    "FLOAT8", "INT4", "float4", "FLOAT4", "E8M0", "int2")
        self.tests = sorted(path.parent for path in folder.glob("*/model.onnx") if not any(word in path.parent.name for word in left_out))

    def shape(self, shape):
        shape, choice = list(shape), self.rng.random()
        if choice < .5 and shape:
            shape[self.rng.randrange(len(shape))] = self.rng.choice([0, 1, 1, 2, 3, 5, 17])
        elif choice < .65:
            shape.insert(self.rng.randint(0, len(shape)), self.rng.choice([1, 1, 2, 0]))
        elif choice < .85 and shape:
            shape.pop(self.rng.randrange(len(shape)))
        else:
            shape = [1] * self.rng.choice([0, 1, 6, 9])
        return shape if np.prod(shape, dtype=np.float64) < 1 << 16 else [2]

    def array(self, kind, shape):
        numbers, dtype = np.random.default_rng(self.rng.randrange(1 << 30)), helper.tensor_dtype_to_np_dtype(kind)
        if kind == TensorProto.BOOL:
            return numbers.random(shape) < .5
        if np.issubdtype(dtype, np.integer):
            return numbers.integers(0 if kind == TensorProto.UINT8 else -3, 6, shape).astype(dtype)
        array = np.asarray(numbers.standard_normal(shape))
        if self.rng.random() < .1 and array.size:
            array.flat[self.rng.randrange(array.size)] = self.rng.choice(SPECIAL)
        return array.astype(dtype)

    def attribute(self, attribute):
        if attribute.type == onnx.AttributeProto.INT:
            attribute.i = self.rng.choice(INTEGERS if self.rng.random() < .3 else INTEGERS[:6])
        elif attribute.type == onnx.AttributeProto.FLOAT:
            attribute.f = self.rng.choice(REALS)
        elif attribute.type == onnx.AttributeProto.STRING:
            attribute.s = self.rng.choice(TEXTS)
        elif attribute.type == onnx.AttributeProto.INTS:
            numbers = list(attribute.ints)
            if numbers and self.rng.random() < .6:
                numbers[self.rng.randrange(len(numbers))] = self.rng.choice(INTEGERS[:8])
            elif numbers and self.rng.random() < .5:
                numbers.pop()
            else:
                numbers.append(self.rng.choice(INTEGERS[:6]))
            del attribute.ints[:]
            attribute.ints.extend(numbers)

    def change(self, node, arrays, kinds):
        name = self.rng.choice(list(arrays)) if arrays else None
        choice = self.rng.random()
        if choice < .35 and name:
            arrays[name] = self.array(kinds[name], self.shape(arrays[name].shape))
        elif choice < .45 and name:
            kind, old = self.rng.choice(TYPES), kinds[name]
            for other in arrays:
                if kinds[other] == old and (other == name or self.rng.random() < .8):
                    kinds[other], arrays[other] = kind, self.array(kind, arrays[other].shape)
        elif choice < .7 and node.attribute:
            self.attribute(self.rng.choice(node.attribute))
        elif choice < .8 and node.input:
            node.input[self.rng.randrange(len(node.input))] = self.rng.choice(["", *node.input])
        elif choice < .85 and node.input:
            node.input.pop()
        elif choice < .9 and node.attribute:
            node.attribute.pop()
        elif name:
            arrays[name] = self.array(kinds[name], arrays[name].shape)

    def make(self):
        """A model, the arrays of its inputs, and options; None where a test has other inputs than tensors."""
        folder = self.rng.choice(self.tests)
        model = onnx.load(folder / "model.onnx")
        graph, arrays = model.graph, {}
        for i, info in enumerate(graph.input):
            tensor = TensorProto()
            try:
                tensor.ParseFromString((folder / f"test_data_set_0/input_{i}.pb").read_bytes())
                arrays[info.name] = np.ascontiguousarray(numpy_helper.to_array(tensor)).reshape(tuple(tensor.dims))
            except Exception:
                return None
        kinds = {info.name: info.type.tensor_type.elem_type for info in graph.input}
        if any(kind not in TYPES for kind in kinds.values()):
            return None
        node = self.rng.choice(graph.node)
        for _ in range(self.rng.choice([0, 1, 1, 2, 3])):
            self.change(node, arrays, kinds)
        inputs, dims = [], {}
        for name, array in arrays.items():
            small = array.size <= 16 and kinds[name] in (TensorProto.INT64, TensorProto.INT32)
            if self.rng.random() < (.8 if small else .15):
                graph.initializer.append(numpy_helper.from_array(array, name))
                continue
            shape = list(array.shape)
            if shape and self.rng.random() < .15:
                at = self.rng.randrange(len(shape))
                if shape[at] > 0:
                    dims[f"d{len(dims)}"] = shape[at]
                    shape[at] = f"d{len(dims) - 1}"
            inputs.append(helper.make_tensor_value_info(name, kinds[name], shape))
        outputs = [onnx.ValueInfoProto(name=output.name) for output in graph.output]
        del graph.input[:], graph.output[:]
        graph.input.extend(inputs)
        graph.output.extend(outputs)
        options = ["--dim=" + ",".join(f"{name}={size}" for name, size in dims.items())] if dims else []
        enclosed = in_function(self.rng, model) if self.rng.random() < .2 else model
        return folder.name, model, enclosed, {info.name: arrays[info.name] for info in inputs}, options


def in_function(rng, model):
    """The nodes in a function of the file's opset, with attributes of its own; the file itself has another opset."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    enclosing = containers.Enclosing(model, {}, np.random.default_rng(rng.randrange(1 << 30)), fixed=False)
    call = enclosing.function(containers.Part(model.graph, 0, len(model.graph.node)))
    del model.graph.node[:]
    model.graph.node.extend(call)
    model.ir_version = max(model.ir_version, 10)
    for entry in model.opset_import:
        if entry.domain == "" and rng.random() < .7:
            entry.version = rng.choice([13, 17, 20, 22])
    return model


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def run(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", preexec_fn=limited, timeout=600)


def in_child(call, *arguments):
    """What the call returns; None where its process dies: some changed models crash onnxruntime."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=lambda: sender.send(call(*arguments)))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None
    finally:
        process.join()


def reference(model, arrays):
    """What onnxruntime gives; None where it does not run the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.graph_optimization_level = 4, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, arrays)
    except Exception:
        return None


def standards(model, arrays):
    """What the standard's reference implementation gives; None where it does not run the model."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in ReferenceEvaluator(model).run(None, arrays)]
    except Exception:
        return None


def pads_below_zero(node, shapes):
    """A transposed convolution of auto_pad SAME whose window is smaller than its step: the standard's text, its shape inference and
    onnxruntime have three answers."""
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if node.op_type != "ConvTranspose" or not given.get("auto_pad", b"").startswith(b"SAME"):
        return False
    window = shapes.get(node.input[1], [])[2:]
    dilations, strides = given.get("dilations", [1] * len(window)), given.get("strides", [1] * len(window))
    return any((size - 1) * dilation + 1 < stride for size, dilation, stride in zip(window, dilations, strides))


def is_undefined(model, arrays):
    """Whether the standard leaves the result open: the mean of nothing, the largest number where there is a NaN (Cleave has NaN for both),
    paddings below 0, a transform of numbers that are not finite. Of integers, onnxruntime rounds within a log-sum-exp."""
    operators = {node.op_type for node in model.graph.node}
    given = {**arrays, **{tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}}
    shapes = {name: array.shape for name, array in given.items()}
    return (("DFT" in operators and any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in given.values()))
            or any(node.op_type == "ReduceLogSumExp" and node.input[0] in given and given[node.input[0]].dtype.kind in "iu" for node in model.graph.node)
            or ("ReduceMean" in operators and any(array.size == 0 for array in given.values()))
            or (operators & {"MaxPool", "GlobalMaxPool"} and any(array.dtype.kind == "f" and np.isnan(array).any() for array in given.values()))
            or any(pads_below_zero(node, shapes) for node in model.graph.node))


def difference(found, expected):
    return "; ".join(filter(None, map(differs, found, expected)))


def differs(found, expected):
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if found.dtype.kind != "f":
        return "" if np.array_equal(found, expected) else f"{found.ravel()[:6]} instead of {expected.ravel()[:6]}"
    bound = 2e-2 if found.dtype == np.float16 else 1e-4
    with np.errstate(all="ignore"):
        equal = np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=bound, atol=bound, equal_nan=True)
    return "" if equal else f"{found.ravel()[:6]} instead of {expected.ravel()[:6]}"


def refused(result, output):
    """What is wrong with how a model was refused."""
    lines = [line for line in result.stderr.strip().splitlines() if not line.startswith("note: ")]
    if result.returncode not in (1, 2):
        return f"ended with {result.returncode}: {result.stderr[-300:]}"
    if not lines or not lines[0].startswith("cleave: error: ") or any(word in result.stderr for word in INTERNAL):
        return f"no message for users: {result.stderr[:300]}"
    return "left a file" if output.exists() else ""


def check(name, model, enclosed, arrays, options, scratch, counts):
    """`enclosed`: what Cleave compiles; what it computes is the model's."""
    path, output = scratch / "m.onnx", scratch / "m"
    for old in scratch.iterdir():
        old.unlink()
    path.write_bytes(enclosed.SerializeToString())
    result = run(["cleave", "compile", str(path), "-o", str(output), *options])
    if result.returncode != 0:
        counts["refused"] += 1
        return refused(result, output)
    expected = in_child(reference, model, arrays)
    operators = {node.op_type for node in model.graph.node}
    # Of reductions over nothing onnxruntime leaves the dimension 0; the standard has neutral elements.
    if expected is None or operators & APART or any(array.size == 0 for array in expected) or is_undefined(model, arrays):
        counts["compiled"] += 1
        return ""
    command = [str(output), "infer"]
    for input_name, array in arrays.items():
        np.save(scratch / f"{input_name}.npy", array)
        command += ["--input", f"{input_name}={scratch / input_name}.npy"]
    for i, info in enumerate(model.graph.output):
        command += ["--output", f"{info.name}={scratch / f'out{i}'}.npy"]
    result = run(command)
    if result.returncode in (1, 2) and len(result.stderr.strip().splitlines()) == 1:
        counts["refused its data"] += 1  # labels out of range, inputs that nothing depends on
        return ""
    if result.returncode != 0:
        return f"the program ended with {result.returncode}: {result.stderr[-300:]}"
    found = [np.load(scratch / f"out{i}.npy") for i in range(len(expected))]
    counts["equal"] += 1
    wrong = difference(found, expected)
    if wrong and (other := standards(model, arrays)) is not None and not difference(found, other):
        counts["equal to the reference alone"] += 1
        return ""
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=int, default=1 << 30)
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    shutil.rmtree(options.scratch / "now", ignore_errors=True)
    (options.scratch / "now").mkdir(parents=True)
    fast_linker.use(options.scratch)
    mutator, counts, failures, begin = Mutator(random.Random(options.seed), options.scratch), collections.Counter(), 0, time.time()
    while sum(counts.values()) < options.models and time.time() < begin + options.seconds:
        made = mutator.make()
        if made is None:
            continue
        try:
            wrong = check(*made, options.scratch / "now", counts)
        except subprocess.TimeoutExpired:
            wrong = "did not end"
        if wrong:
            failures += 1
            kept = options.scratch / f"{options.seed}-{failures}-{made[0]}.onnx"
            kept.write_bytes(made[2].SerializeToString())
            print(f"FAILED {kept} {' '.join(made[4])}: {wrong}", flush=True)
    total, compared = sum(counts.values()), counts["equal"]
    # Of many models about one in six is compared; a compiler that refuses nearly all of them shows nothing.
    if total >= 20 and compared * 12 < total:
        failures += 1
        print(f"FAILED: {compared} of {total} programs were compared with onnxruntime; expected at least {-(-total // 12)}")
    print(f"{total} changed node tests, {failures} wrong: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
