"""Compares a compiled program's inference with onnxruntime on the same file and the same random inputs.

  compare_onnxruntime.py MODEL.onnx PROGRAM --dim batch=4 [--bound 1e-5] [--ranks N] [--high name=N]

Floating-point inputs are standard normal; integer inputs are uniform in [0, high). The error of an output is
||ours - theirs|| / ||theirs|| in the 2-norm, and must not exceed the bound.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


def bindings(texts):
    return {name: int(value) for name, value in (text.split("=") for text in texts)}


def inference_form(path):
    """The model in inference form, serialized: exports in training form would drop out, and normalize by the batch's statistics."""
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "Dropout":
            del node.input[1:]
        if node.op_type == "BatchNormalization":
            del node.output[1:]
            for attribute in node.attribute:
                if attribute.name == "training_mode":
                    attribute.i = 0
    return model.SerializeToString()


def inference_session(path, options=None):
    return onnxruntime.InferenceSession(inference_form(path), options, providers=["CPUExecutionProvider"])


def make_inputs(session, dims, high, seed):
    """One array for each graph input; `dims` binds the symbolic dimensions."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for port in session.get_inputs():
        shape = [size if isinstance(size, int) else dims[size] for size in port.shape]
        kind = TYPES[port.type]
        if np.issubdtype(kind, np.floating):
            arrays[port.name] = rng.standard_normal(shape).astype(kind)
        else:
            arrays[port.name] = rng.integers(0, high.get(port.name, 2), shape).astype(kind)
    return arrays


def run_program(program, arrays, outputs, folder, extra):
    command = [program, "infer", *extra]
    for name, array in arrays.items():
        path = folder / f"in-{len(command)}.npy"
        np.save(path, array)
        command += ["--input", f"{name}={path}"]
    paths = {}
    for name in outputs:
        paths[name] = folder / f"out-{len(command)}.npy"
        command += ["--output", f"{name}={paths[name]}"]
    subprocess.run(command, check=True, timeout=300)
    return {name: np.load(path) for name, path in paths.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("program")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--high", action="append", default=[])
    parser.add_argument("--bound", type=float, default=1e-5)
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--skip", action="append", default=[], help="outputs that are not compared")
    options = parser.parse_args()

    session = inference_session(options.model)
    arrays = make_inputs(session, bindings(options.dim), bindings(options.high), seed=7)
    names = [port.name for port in session.get_outputs() if port.name not in options.skip]
    expected = dict(zip(names, session.run(names, arrays)))
    extra = ["--ranks", str(options.ranks)] if options.ranks else []
    with tempfile.TemporaryDirectory() as folder:
        actual = run_program(options.program, arrays, names, pathlib.Path(folder), extra)

    worst = 0.0
    for name in names:
        theirs, ours = expected[name].astype(np.float64), actual[name].astype(np.float64)
        if theirs.shape != ours.shape:
            sys.exit(f"{name}: shape {ours.shape}, expected {theirs.shape}")
        error = np.linalg.norm(ours - theirs) / max(np.linalg.norm(theirs), 1e-30)
        print(f"{name}: relative error {error:.2e}")
        worst = max(worst, error)
        if not np.isfinite(ours).all():
            sys.exit(f"{name}: not finite")
    if not worst <= options.bound:
        sys.exit(f"error {worst:.2e} is above {options.bound:.0e}")
    print(f"{sum(each.size for each in expected.values())} numbers equal within the bound: the largest relative error is {worst:.1e}")


if __name__ == "__main__":
    main()
