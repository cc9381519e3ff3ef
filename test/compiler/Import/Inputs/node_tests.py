#!/usr/bin/env python3
"""ONNX's own node tests against the importer: node_tests.py IMPORTER [PATTERN [AT_LEAST]]

Every test whose operators are known must import and give the recorded output. Inputs that must be known at compile time (shapes, axes) are
made initializers. Prints the tests that fail, and how many passed or were refused with a message. It is a failure, too, when fewer than
AT_LEAST pass."""
import fnmatch
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from interpret import ImportFailed, run_model

arguments = [argument for argument in sys.argv[1:] if argument != "--refused"]
importer, pattern, at_least = arguments + ["*", "1"][len(arguments) - 1:]
data = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
counts = {"passed": 0, "refused": 0, "skipped": 0, "failed": 0}


def load(path, info):
    if info.type.WhichOneof("value") != "tensor_type":
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(tensor)


def attempt(model, inputs, fixed):
    """Imports with the inputs in `fixed` as initializers."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for info in [i for i in changed.graph.input if i.name in fixed]:
        changed.graph.input.remove(info)
        changed.graph.initializer.append(onnx.numpy_helper.from_array(inputs[info.name], info.name))
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(changed.SerializeToString())
        file.flush()
        return run_model(importer, file.name, inputs, *dims(changed, inputs))


def dims(model, inputs):
    bound = {}
    for info in model.graph.input:
        for i, dim in enumerate(info.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value"):
                bound[dim.dim_param or f"{info.name}:{i}"] = inputs[info.name].shape[i]
    return ["--dim=" + ",".join(f"{name}={size}" for name, size in bound.items())] if bound else []


# Recorded with the fraction of a length (1.2 for 2 elements at scale 0.6), where the standard's text has the length of the resized tensor. What
# onnxruntime gives is expected instead: it leaves these two out of its own run of the tests, and PyTorch's exporters rely on the text.
AGAINST_TEXT = {f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("linear", "cubic")}


def runtime_results(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)


DRAWS = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}  # no numbers to compare


def check(folder):
    model = onnx.load(folder / "model.onnx")
    if any(node.op_type in DRAWS for node in model.graph.node):
        return "skipped", "draws"
    try:
        inputs = {info.name: load(folder / f"test_data_set_0/input_{i}.pb", info) for i, info in enumerate(model.graph.input)}
        expected = [load(folder / f"test_data_set_0/output_{i}.pb", info) for i, info in enumerate(model.graph.output)]
    except Exception:
        return "skipped", "unreadable"
    if any(value is None for value in [*inputs.values(), *expected]):
        return "skipped", "not tensors"
    if folder.name in AGAINST_TEXT:
        expected = runtime_results(model, inputs)
    names = list(inputs)
    message = ""
    for fixed in ([], [n for n in names[1:] if inputs[n].dtype.kind in "iub"], names[1:], names):
        try:
            actual = attempt(model, inputs, fixed)
        except ImportFailed as error:
            if not str(error).startswith("error: "):
                return "failed", f"crash: {error}"
            message = str(error)
            continue
        except Exception as error:
            return "failed", f"{type(error).__name__}: {str(error)[:150]}"
        for a, b in zip(actual, expected):
            if a.shape != b.shape:
                return "failed", f"shape {a.shape}, expected {b.shape}"
            # ml_dtypes have no arithmetic of their own
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            if not np.allclose(a, b, rtol=2e-3 if "float16" in folder.name else 1e-3, atol=1e-4, equal_nan=True):
                return "failed", f"largest difference {np.nanmax(np.abs(a - b))}"
        return "passed", ""
    return "refused", message


reasons = {}
for folder in sorted(data.iterdir()):
    # Without --train, batch norm uses the running statistics and dropout keeps all, whatever the file says.
    if not fnmatch.fnmatch(folder.name, pattern) or "training_mode" in folder.name or "training_dropout" in folder.name:
        continue
    outcome, why = check(folder)
    counts[outcome] += 1
    if outcome == "failed":
        print(f"FAILED {folder.name}: {why}")
    if outcome == "refused":
        reasons.setdefault(why.split(".onnx: ")[-1], []).append(folder.name)
if "--refused" in sys.argv:
    for why, tests in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"refused {len(tests)}: {why} ({', '.join(tests[:2])})")
print(", ".join(f"{count} {name}" for name, count in counts.items()))
sys.exit(counts["failed"] > 0 or counts["passed"] < int(at_least))
