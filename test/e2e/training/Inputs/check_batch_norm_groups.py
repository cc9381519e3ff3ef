"""BatchNormalization with --batch-norm local takes each rank's samples, wherever they lie, or is refused with what to do instead; sync takes all.
Losses against numpy in float64.

  check_batch_norm_groups.py FOLDER
"""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from small_models import Checks, command, graph  # noqa: E402

FEATURES, CHANNELS, SAMPLES, EPSILON = 4, 3, 8, 1e-5
random = np.random.default_rng(3)
X, M = random.standard_normal((SAMPLES, FEATURES)).astype("f4"), random.standard_normal(SAMPLES).astype("f4")
W = random.standard_normal((FEATURES, CHANNELS)).astype("f4")
node = helper.make_node


def build(path, batch_dim):
    """Layers of x and of x^2, stacked so that the samples are dimension `batch_dim` of [2, batch] or [batch, 2], flattened and normalized."""
    nodes = [node("Constant", [], ["at"], value_ints=[1 - batch_dim]), node("Constant", [], ["rows"], value_ints=[-1, CHANNELS]),
             node("Constant", [], ["last"], value_ints=[1]), node("Constant", [], ["line"], value_ints=[-1]),
             node("MatMul", ["x", "w"], ["h0"]), node("Mul", ["x", "x"], ["xx"]), node("MatMul", ["xx", "w"], ["h1"]),
             node("Unsqueeze", ["h0", "at"], ["u0"]), node("Unsqueeze", ["h1", "at"], ["u1"]), node("Concat", ["u0", "u1"], ["stack"], axis=1 - batch_dim),
             node("Reshape", ["stack", "rows"], ["flat"]),
             node("BatchNormalization", ["flat", "scale", "shift", "mean", "variance"], ["y", "m1", "v1"], name="norm", training_mode=1, epsilon=EPSILON),
             node("Mul", ["y", "y"], ["y2"]), node("Mul", ["y2", "y"], ["y3"]), node("ReduceSum", ["y3", "last"], ["each"], keepdims=0),
             node("Unsqueeze", ["m", "at"], ["mu"]), node("Concat", ["mu", "mu"], ["mm"], axis=1 - batch_dim), node("Reshape", ["mm", "line"], ["ml"]),
             node("Mul", ["each", "ml"], ["kept"]), node("ReduceMean", ["kept"], ["loss"], keepdims=0)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES]), helper.make_tensor_value_info("m", TensorProto.FLOAT, ["batch"])]
    ones, zeros = np.ones(CHANNELS, "f4"), np.zeros(CHANNELS, "f4")
    model = helper.make_model(graph(nodes, inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                                    {"w": W, "scale": ones, "shift": zeros, "mean": zeros, "variance": ones}),
                              opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def loss(x, m):
    """Of samples that are normalized together."""
    rows = np.concatenate([x @ np.float64(W), (x * x) @ np.float64(W)])
    y = (rows - rows.mean(0)) / np.sqrt(rows.var(0) + EPSILON)
    return ((y ** 3).sum(1) * np.concatenate([m, m])).mean()


def check(checks, batch_dim, layout, parts=0):
    """`parts` groups of samples that are normalized, or 0: refused."""
    folder, name = checks.folder, f"samples in dimension {batch_dim}, {' '.join(layout)}"
    build(folder / "model.onnx", batch_dim)
    done = command("cleave", "compile", folder / "model.onnx", "-o", folder / "program", "--train", "--loss-output", "loss", "--optimizer", "sgd", *layout)
    if not parts:
        wanted = ["norm", "each rank takes the statistics of its own samples", "use --batch-norm sync, or put the batch first"]
        return checks.note(name, "" if done.returncode and all(word in done.stderr for word in wanted) else f"not refused: {done.stdout}{done.stderr}")
    if done.returncode:
        return checks.note(name, done.stderr)
    metrics = folder / "metrics"
    metrics.unlink(missing_ok=True)
    done = command(folder / "program", "train", f"--data=x={folder}/x.npy", f"--data=m={folder}/m.npy", "--no-shuffle", "--steps", "1", "--lr", "0.1",
                   "--metrics", metrics)
    if done.returncode:
        return checks.note(name, done.stderr)
    want = np.mean([loss(x, m) for x, m in zip(np.split(np.float64(X), parts), np.split(np.float64(M), parts))])
    checks.same(name, json.loads(metrics.read_text().splitlines()[0])["loss"], want, 1e-5)


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    np.save(all_checks.folder / "x.npy", X)
    np.save(all_checks.folder / "m.npy", M)
    ranks = ["--dim", "batch=4", "--mesh", "dp=2"]
    check(all_checks, 1, ranks)
    check(all_checks, 1, [*ranks, "--batch-norm", "sync"], 1)
    check(all_checks, 1, ["--dim", "batch=4", "--micro-batches", "2"], 2)
    check(all_checks, 0, ranks, 2)
    check(all_checks, 0, [*ranks, "--batch-norm", "sync"], 1)
    all_checks.end()
