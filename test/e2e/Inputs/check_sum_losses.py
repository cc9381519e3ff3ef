"""Trains models that differ in how the loss is put together, in every layout of 8 samples, against float64 in numpy.

  check_sum_losses.py FOLDER

A sum over samples must stay one however the samples are dealt out, and a mean must stay a mean. 0.5 * sum is the mean of a
batch of 2, and sum / batch is a sum where the batch is 1: what is seen in one compiled graph does not tell.
"""
import json
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper

SAMPLES, FEATURES, CLASSES, RATE, STEPS = 8, 4, 2, 0.01, 3
LAYOUTS = [(8, 1, 1), (4, 2, 1), (2, 4, 1), (1, 8, 1), (2, 2, 2), (1, 4, 2), (1, 2, 4)]  # bound batch, micro-batches, ranks


def reduce(kind, source, target, axes=None):
    inputs = [source]
    nodes = []
    if axes is not None:
        nodes.append(helper.make_node("Constant", [], [target + ".axes"], value_ints=axes))
        inputs.append(target + ".axes")
    return nodes + [helper.make_node(kind, inputs, [target], keepdims=0)]


def scaled(source, target, factor):
    return [helper.make_node("Constant", [], [target + ".factor"], value_float=factor),
            helper.make_node("Mul", [source, target + ".factor"], [target])]


def batch_mean(source, target):
    return reduce("ReduceSum", source, "total") + [
        helper.make_node("Shape", ["x"], ["shape"], start=0, end=1),
        helper.make_node("Squeeze", ["shape"], ["count"]),
        helper.make_node("Cast", ["count"], ["count.float"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["total", "count.float"], [target])]


def penalized(nodes, factor):
    """`nodes` make `base`; added to it is factor * |w|^2."""
    return nodes + [helper.make_node("Mul", ["w", "w"], ["ww"])] + reduce("ReduceSum", "ww", "norm") + scaled(
        "norm", "penalty", factor) + [helper.make_node("Add", ["base", "penalty"], ["loss"])]


def counted(target):
    """The mean of the squares whose target is positive."""
    return [helper.make_node("Constant", [], ["zero"], value_float=0.0), helper.make_node("Greater", ["t", "zero"], ["kept"]),
            helper.make_node("Cast", ["kept"], ["mask"], to=TensorProto.FLOAT), helper.make_node("Mul", ["squares", "mask"], ["masked"]),
            *reduce("ReduceSum", "masked", "m.sum"), *reduce("ReduceSum", "mask", "m.count"),
            helper.make_node("Div", ["m.sum", "m.count"], [target])]


def counted_weights(t):
    return (t > 0) / (t > 0).sum()


def relative(kind, over, target):
    """The squares by those of the targets, one reduced as a sum and the other as a mean."""
    return [helper.make_node("Mul", ["t", "t"], ["tt"]), *reduce(kind, "squares", "above"), *reduce(over, "tt", "below"),
            helper.make_node("Div", ["above", "below"], [target])]


# The nodes that make `loss` of `squares`, the factor of the sum of all squares that it is (or each square's, of the
# targets), and the factor of the sum of all squared weights.
LOSSES = {
    "sum": (reduce("ReduceSum", "squares", "loss"), 1),
    "half-sum": (reduce("ReduceSum", "squares", "s") + scaled("s", "loss", 0.5), 0.5),
    "eighth-sum": (reduce("ReduceSum", "squares", "s") + scaled("s", "loss", 0.125), 0.125),
    "mean": (reduce("ReduceMean", "squares", "loss"), 1 / (SAMPLES * CLASSES)),
    "twice-mean": (reduce("ReduceSum", "squares", "s", [1]) + reduce("ReduceMean", "s", "m") + scaled("m", "loss", 2.0), 2 / SAMPLES),
    "batch-mean": (batch_mean("squares", "loss"), 1 / SAMPLES),
    "mean-then-sum": (reduce("ReduceMean", "squares", "m", [0]) + reduce("ReduceSum", "m", "loss"), 1 / SAMPLES),
    "two-sums": (reduce("ReduceSum", "squares", "s") + scaled("s", "h", 0.5) + [helper.make_node("Add", ["s", "h"], ["loss"])], 1.5),
    "sum-penalty": (penalized(reduce("ReduceSum", "squares", "base"), 0.5), 1, 0.5),
    "mean-penalty": (penalized(reduce("ReduceMean", "squares", "base"), 0.5), 1 / (SAMPLES * CLASSES), 0.5),
    "counted-penalty": (penalized(counted("base"), 0.5), counted_weights, 0.5),
    "sum-by-mean": (relative("ReduceSum", "ReduceMean", "loss"), lambda t: 1 / (t * t).mean()),
    "mean-by-sum": (relative("ReduceMean", "ReduceSum", "loss"), lambda t: 1 / (t * t).sum() / t.size),
    "batch-mean-penalty": (penalized(reduce("ReduceSum", "squares", "base"), 0.5)[:-1] + [
        helper.make_node("Add", ["base", "penalty"], ["total.all"])] + batch_mean("total.all", "loss"), 1 / SAMPLES, 0.5 / SAMPLES),
    "switched-off": (reduce("ReduceMean", "squares", "base") + reduce("ReduceSum", "squares", "s") + scaled("s", "nothing", 0.0) + [
        helper.make_node("Add", ["base", "nothing"], ["loss"])], 1 / (SAMPLES * CLASSES)),
    "sum-and-mean": (reduce("ReduceSum", "squares", "s") + reduce("ReduceMean", "squares", "m") + [
        helper.make_node("Sub", ["s", "m"], ["loss"])], 1 - 1 / (SAMPLES * CLASSES)),
}


RANK_LOSSES = ("sum", "half-sum", "eighth-sum", "mean", "twice-mean", "batch-mean")


def build(nodes, weights, path):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Sub", ["y", "t"], ["d"]),
         helper.make_node("Mul", ["d", "d"], ["squares"]), *nodes],
        "losses",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES]),
         helper.make_tensor_value_info("t", TensorProto.FLOAT, ["batch", CLASSES])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel())])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def expected(factor, penalty, weights, x, t):
    weights = weights.astype(numpy.float64)
    losses = []
    for step in range(STEPS):
        part = slice(step * SAMPLES, (step + 1) * SAMPLES)
        d = x[part] @ weights - t[part]
        each = factor(t[part]) if callable(factor) else factor
        losses.append(float((each * d * d).sum() + penalty * (weights * weights).sum()))
        weights = weights - RATE * 2 * (x[part].T @ (each * d) + penalty * weights)
    return losses


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")


def trained(folder, model, layout, average):
    batch, micro, ranks = layout
    program = folder / f"{model.stem}-{batch}-{micro}-{ranks}"
    options = ["--mesh", f"dp={ranks}"] if ranks > 1 else []
    run(["cleave", "compile", model, "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim",
                    f"batch={batch}", "--micro-batches", str(micro), "--loss-average", average, *options])
    metrics = folder / "metrics.json"
    metrics.unlink(missing_ok=True)
    run([program, "train", "--data", f"x={folder}/x.npy", "--data", f"t={folder}/t.npy", "--no-shuffle", "--steps",
                    str(STEPS), "--lr", str(RATE), "--metrics", metrics])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def main():
    folder = pathlib.Path(sys.argv[1])
    random = numpy.random.default_rng(0)
    weights = random.normal(size=(FEATURES, CLASSES)).astype(numpy.float32)
    x = random.normal(size=(SAMPLES * STEPS, FEATURES)).astype(numpy.float32)
    t = random.normal(size=(SAMPLES * STEPS, CLASSES)).astype(numpy.float32)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "t.npy", t)
    failed = 0
    for name, (nodes, factor, *penalty) in LOSSES.items():
        model = folder / f"{name}.onnx"
        build(nodes, weights, model)
        wanted = expected(factor, sum(penalty), weights, x.astype(numpy.float64), t.astype(numpy.float64))
        for layout in LAYOUTS:
            for average in ("global", "rank"):
                if average == "rank" and (layout[2] == 1 or name not in RANK_LOSSES):
                    continue  # no rank's part can be told there
                losses = trained(folder, model, layout, average)
                if len(losses) != STEPS or not numpy.allclose(losses, wanted, rtol=1e-5):
                    print(f"{name}, batch x micro-batches x ranks = {layout}, {average}: {losses}, expected {wanted}")
                    failed += 1
    if failed:
        sys.exit(f"{failed} layouts differ")


main()
