"""Trains models that differ in how the loss is put together, in every layout of 8 samples, against float64 in numpy.

  check_sum_losses.py FOLDER

Besides the losses of the table, random ones of two to four terms: sums, means, means over the targets that count, a maximum and a penalty, with
weights that are 0, negative or tiny. Those of one loss that are not 0 have one count: two have no common one, of which the compiler prints a note.

A sum over samples must stay one however the samples are dealt out, and a mean must stay a mean. With --loss-average rank, the loss is the
mean of the losses of all ranks and micro-batches, of a sum, too, as torch's DDP has it. 0.5 * sum is the mean of a
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
RANDOM_LOSSES = 10
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
    "switched-off-count": (counted("base") + reduce("ReduceSum", "x", "inputs") + [helper.make_node("Div", ["inputs", "m.count"], ["each"])] +
                           scaled("each", "nothing", 0.0) + [helper.make_node("Add", ["base", "nothing"], ["loss"])], counted_weights),
    "sum-and-mean": (reduce("ReduceSum", "squares", "s") + reduce("ReduceMean", "squares", "m") + [
        helper.make_node("Sub", ["s", "m"], ["loss"])], 1 - 1 / (SAMPLES * CLASSES)),
}


def counted_below(t):
    return (t < 0.5) / (t < 0.5).sum()


def mean_of_counted(name, comparison, bound):
    """The mean of the squares of targets on one side of the bound."""
    return [helper.make_node("Constant", [], [f"{name}.bound"], value_float=bound), helper.make_node(comparison, ["t", f"{name}.bound"], [f"{name}.kept"]),
            helper.make_node("Cast", [f"{name}.kept"], [f"{name}.mask"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["squares", f"{name}.mask"], [f"{name}.masked"]), *reduce("ReduceSum", f"{name}.masked", f"{name}.sum"),
            *reduce("ReduceSum", f"{name}.mask", f"{name}.count"), helper.make_node("Div", [f"{name}.sum", f"{name}.count"], [name])]


def penalty(name):
    return [helper.make_node("Mul", ["w", "w"], [f"{name}.ww"]), *reduce("ReduceSum", f"{name}.ww", name)]


# Of each term: its nodes, the factor of its squares (None: a maximum has none), and the count that it has.
TERMS = {
    "sum": (lambda name: reduce("ReduceSum", "squares", name), lambda t: 1, "none"),
    "mean": (lambda name: reduce("ReduceMean", "squares", name), lambda t: 1 / t.size, "none"),
    "above": (lambda name: mean_of_counted(name, "Greater", 0.0), counted_weights, "above"),
    "below": (lambda name: mean_of_counted(name, "Less", 0.5), counted_below, "below"),
    "largest": (lambda name: reduce("ReduceMax", "squares", name), None, "whole"),
    "penalty": (penalty, None, ""),
}


def random_loss(random):
    """Two to four terms. Those that are on have one count, and a penalty goes with all."""
    kinds = random.choice(list(TERMS), int(random.integers(2, 5)))
    counts = [TERMS[kind][2] for kind in kinds if kind not in ("largest", "penalty")]
    count = random.choice(counts) if counts else "none"
    nodes, sums, factors, factor_of_weights, words = [], [], [], 0.0, []
    for i, kind in enumerate(kinds):
        make, factor, own = TERMS[kind]
        weight = float(random.choice([0.7, -0.25, 1e-6, 0.0, 2.0])) if own in ("", count) else 0.0
        words.append(f"{weight:g} {kind}")
        nodes += make(f"term{i}") + scaled(f"term{i}", f"scaled{i}", weight)
        sums.append(f"scaled{i}")
        if kind == "penalty":
            factor_of_weights += weight
        elif factor:
            factors.append((weight, factor))
    nodes.append(helper.make_node("Sum", sums, ["loss"]))
    return " + ".join(words), (nodes, lambda t: sum((w * f(t) for w, f in factors), 0.0), factor_of_weights)


RANK_SUMS = ("sum", "half-sum", "eighth-sum")
RANK_LOSSES = (*RANK_SUMS, "mean", "twice-mean", "batch-mean")


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
    drawn = []
    while len(drawn) < RANDOM_LOSSES:
        name, loss = random_loss(random)
        if any(not word.startswith("0 ") for word in name.split(" + ")):
            drawn.append((name, loss))
    for number, (name, (nodes, factor, *penalty)) in enumerate([*LOSSES.items(), *drawn]):
        model = folder / f"{number}.onnx"
        build(nodes, weights, model)
        for layout in LAYOUTS if name in LOSSES else LAYOUTS[2::2]:
            for average in ("global", "rank"):
                if average == "rank" and (layout[2] == 1 or name not in RANK_LOSSES):
                    continue  # no rank's part can be told there
                parts = layout[1] * layout[2] if average == "rank" and name in RANK_SUMS else 1
                wanted = expected(factor / parts if parts > 1 else factor, sum(penalty), weights, x.astype(numpy.float64), t.astype(numpy.float64))
                losses = trained(folder, model, layout, average)
                if len(losses) != STEPS or not numpy.allclose(losses, wanted, rtol=1e-5, atol=1e-9):
                    print(f"{name}, batch x micro-batches x ranks = {layout}, {average}: {losses}, expected {wanted}")
                    failed += 1
    if failed:
        sys.exit(f"{failed} layouts differ")


main()
