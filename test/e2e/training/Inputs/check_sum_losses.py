"""Trains models that differ in how the loss is put together, in every layout of 8 samples, against float64 in numpy.

  check_sum_losses.py FOLDER [COUNT]

Besides the losses of the table, losses of two to four terms, COUNT of them random (only these, and each in fewer layouts, if COUNT is given):
sums, means, means over the targets that count, a penalty, the number of samples, and terms that micro-batches change, with weights that are 0,
negative or tiny. If the compiler prints the note that the loss is averaged, the loss must be the mean of those of the micro-batches, and
otherwise that of the whole batch.

A sum over samples must stay one however the samples are dealt out, and a mean must stay a mean. With --loss-average rank, the loss is the
mean of the losses of all ranks and micro-batches, of a sum, too, as torch's DDP has it. 0.5 * sum is the mean of a
batch of 2, and sum / batch is a sum where the batch is 1: what is seen in one compiled graph does not tell.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper

SAMPLES, FEATURES, CLASSES, RATE, STEPS = 8, 4, 2, 0.01, 3
RANDOM_LOSSES = 10
NOTE = "the loss is averaged over batches of"
LAYOUTS = [(8, 1, 1), (4, 2, 1), (2, 4, 1), (1, 8, 1), (2, 2, 2), (1, 4, 2), (1, 2, 4)]  # bound batch, micro-batches, ranks
MIXED_LAYOUTS = [(2, 4, 1), (2, 2, 2)]


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


def mean_of_counted(name, comparison, bound, squares="squares"):
    """The mean of the squares of targets on one side of the bound."""
    return [helper.make_node("Constant", [], [f"{name}.bound"], value_float=bound), helper.make_node(comparison, ["t", f"{name}.bound"], [f"{name}.kept"]),
            helper.make_node("Cast", [f"{name}.kept"], [f"{name}.mask"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [squares, f"{name}.mask"], [f"{name}.masked"]), *reduce("ReduceSum", f"{name}.masked", f"{name}.sum"),
            *reduce("ReduceSum", f"{name}.mask", f"{name}.count"), helper.make_node("Div", [f"{name}.sum", f"{name}.count"], [name])]


def penalty(name):
    return [helper.make_node("Mul", ["w", "w"], [f"{name}.ww"]), *reduce("ReduceSum", f"{name}.ww", name)]


def products(name):
    """Each sample's difference by those of all: the sum is that of the squares of sums over the batch."""
    return [*reduce("ReduceSum", "d", f"{name}.all", [0]), helper.make_node("Mul", ["d", f"{name}.all"], [name])]


def meeting(name):
    return products(f"{name}.products") + reduce("ReduceSum", f"{name}.products", name)


def meeting_and_sum(name):
    """Added before they are summed."""
    return [*products(f"{name}.products"), helper.make_node("Add", ["squares", f"{name}.products"], [f"{name}.both"]),
            *reduce("ReduceSum", f"{name}.both", name)]


def size(name):
    return [helper.make_node("Shape", ["x"], [f"{name}.shape"], start=0, end=1), helper.make_node("Squeeze", [f"{name}.shape"], [f"{name}.count"]),
            helper.make_node("Cast", [f"{name}.count"], [name], to=TensorProto.FLOAT)]


def placed(name):
    """The squares by the places of their samples in the batch."""
    numbers = [helper.make_node("Constant", [], [f"{name}.{i}"], value_int=i) for i in (0, 1)]
    return size(f"{name}.size") + numbers + [
        helper.make_node("Range", [f"{name}.0", f"{name}.size.count", f"{name}.1"], [f"{name}.range"]),
        helper.make_node("Cast", [f"{name}.range"], [f"{name}.places"], to=TensorProto.FLOAT),
        helper.make_node("Constant", [], [f"{name}.axes"], value_ints=[1]),
        helper.make_node("Unsqueeze", [f"{name}.places", f"{name}.axes"], [f"{name}.column"]), helper.make_node("Mul", ["squares", f"{name}.column"], [name])]


def of_squares(factor):
    """The value of the sum of the squares by their factors, and its derivative by the differences."""
    return lambda d, t: ((factor(t) * d * d).sum(), 2 * factor(t) * d)


def places(t):
    return numpy.arange(len(t))[:, None]


def of_squares_of_largest(d, t):
    return (d * d).max(), 2 * d * (d * d == (d * d).max())


# Of each term: its nodes; its value and its derivative by the differences (None: a penalty); the count that it has ("": any); whether micro-batches
# have it exactly. An evaluation gives a term that grows with the batch for a batch of SAMPLES.
TERMS = {
    "sum": (lambda name: reduce("ReduceSum", "squares", name), of_squares(lambda t: 1), "none", True),
    "mean": (lambda name: reduce("ReduceMean", "squares", name), of_squares(lambda t: 1 / t.size), "none", True),
    "above": (lambda name: mean_of_counted(name, "Greater", 0.0), of_squares(counted_weights), "above", True),
    "below": (lambda name: mean_of_counted(name, "Less", 0.5), of_squares(counted_below), "below", True),
    "penalty": (penalty, None, "", True),
    "size": (size, lambda d, t: (len(d), 0 * d), "", True),
    "largest": (lambda name: reduce("ReduceMax", "squares", name), of_squares_of_largest, "whole", False),
    "meeting": (meeting, lambda d, t: ((d.sum(0)**2).sum(), 2 * d.sum(0) + 0 * d), "whole", False),
    "meeting-and-sum": (meeting_and_sum, lambda d, t: ((d.sum(0)**2).sum() + (d * d).sum(), 2 * d.sum(0) + 2 * d), "whole", False),
    "log-size": (lambda name: size(f"{name}.size") + [helper.make_node("Log", [f"{name}.size"], [name])], lambda d, t: (numpy.log(len(d)), 0 * d),
                 "whole", False),
    "mean-by-log-size": (lambda name: reduce("ReduceMean", "squares", f"{name}.mean") + size(f"{name}.size") + [
        helper.make_node("Log", [f"{name}.size"], [f"{name}.log"]), helper.make_node("Mul", [f"{name}.mean", f"{name}.log"], [name])],
                         of_squares(lambda t: numpy.log(len(t)) / t.size), "whole", False),
    "placed": (lambda name: placed(f"{name}.by") + reduce("ReduceSum", f"{name}.by", name), of_squares(places), "whole", False),
    "placed-above": (lambda name: placed(f"{name}.by") + mean_of_counted(name, "Greater", 0.0, f"{name}.by"),
                     of_squares(lambda t: places(t) * counted_weights(t)), "above", False),
}
COUNTS = {"above": lambda t: (t > 0).sum(), "below": lambda t: (t < 0.5).sum()}
GROWING = ("sum", "size")
MIXTURES = ["1 sum + 1 meeting", "0.125 meeting-and-sum", "1 largest + 2 sum", "1 above + 0.5 sum", "1 sum + 1 size", "1 sum + -0.25 log-size",
            "1 mean-by-log-size", "0.7 mean + 0.7 size", "1 placed-above + 2 above", "1 placed-above + 1 above + 2 penalty", "1 sum + 0 largest"]


def random_words(random):
    """Two to four terms with their weights, one of them of samples."""
    while True:
        kinds = random.choice(list(TERMS), int(random.integers(2, 5)))
        weights = random.choice([0.7, -0.25, 1e-6, 0.0, 2.0], len(kinds))
        if any(weight and kind not in ("penalty", "size", "log-size") for weight, kind in zip(weights, kinds)):
            return " + ".join(f"{weight:g} {kind}" for weight, kind in zip(weights, kinds))


def terms_of(words):
    return [(float(weight), kind) for weight, kind in (word.split() for word in words.split(" + "))]


def nodes_of(words):
    nodes = []
    for i, (weight, kind) in enumerate(terms_of(words)):
        nodes += TERMS[kind][0](f"term{i}") + scaled(f"term{i}", f"scaled{i}", weight)
    return nodes + [helper.make_node("Sum", [f"scaled{i}" for i in range(len(terms_of(words)))], ["loss"])]


def counts_of(words):
    """The counts of the terms that are on."""
    return {TERMS[kind][2] for weight, kind in terms_of(words) if weight} - {""}


def is_exact(words):
    """True if micro-batches do not change the loss."""
    return len(counts_of(words)) < 2 and all(TERMS[kind][3] for weight, kind in terms_of(words) if weight)


def mixture(words, weights, x, t, grown=1):
    """The loss and its derivative by the weights. Terms that grow with the batch are divided by `grown`."""
    d, loss, slope = x @ weights - t, 0.0, 0 * weights
    for weight, kind in terms_of(words):
        if kind == "penalty":
            loss, slope = loss + weight * (weights * weights).sum(), slope + 2 * weight * weights
        else:
            value, by_d = TERMS[kind][1](d, t)
            part = weight / (grown if kind in GROWING else 1)
            loss, slope = loss + part * value, slope + part * x.T @ by_d
    return loss, slope


def averaged(words, weights, x, t, batches):
    """The mean of the losses of batches, which are lists of samples: that of their sums and counts if there is one count."""
    counts = counts_of(words)
    each = [float(COUNTS[min(counts)](t[batch])) if len(counts) == 1 and counts <= COUNTS.keys() else 1.0 for batch in batches]
    parts = [mixture(words, weights, x[batch], t[batch]) for batch in batches]
    return tuple(sum(share * part[i] for share, part in zip(each, parts)) / sum(each) for i in (0, 1))


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


def expected(loss, weights, x, t):
    """The losses of all steps. `loss` gives that of a step's samples, and its derivative."""
    weights, losses = weights.astype(numpy.float64), []
    for part in (slice(step * SAMPLES, (step + 1) * SAMPLES) for step in range(STEPS)):
        value, slope = loss(weights, x[part], t[part])
        losses.append(float(value))
        weights = weights - RATE * slope
    return losses


def listed(factor, penalty, parts):
    """A loss of the table. With --loss-average rank, a sum is the mean of `parts` sums."""
    def loss(weights, x, t):
        d = x @ weights - t
        each = (factor(t) if callable(factor) else factor) / parts
        return (each * d * d).sum() + penalty * (weights * weights).sum(), 2 * (x.T @ (each * d) + penalty * weights)
    return loss


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
    return result.stdout + result.stderr


def trained(folder, model, layout, average):
    """The losses, the program, and what the compiler says."""
    batch, micro, ranks = layout
    program = folder / f"{model.stem}-{batch}-{micro}-{ranks}"
    options = ["--mesh", f"dp={ranks}"] if ranks > 1 else []
    said = run(["cleave", "compile", model, "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", f"batch={batch}",
                "--micro-batches", str(micro), "--loss-average", average, *options])
    metrics = folder / "metrics.json"
    metrics.unlink(missing_ok=True)
    run([program, "train", *data(folder), "--no-shuffle", "--steps", str(STEPS), "--lr", str(RATE), "--metrics", metrics])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row], program, said


def data(folder):
    return [part for name in "xt" for part in ("--data", f"{name}={folder}/{name}.npy")]


def is_near(found, wanted):
    return len(found) == len(wanted) and numpy.allclose(found, wanted, rtol=2e-5, atol=1e-6)


def check_mixture(folder, model, words, layout, weights, x, t):
    """A loss of which no note says that it is averaged is that of the whole batch, and with the note it is the mean of the micro-batches'."""
    batch, micro, ranks = layout
    losses, program, said = trained(folder, model, layout, "global")
    parts = [[rank * batch * micro + part * batch + i for rank in range(ranks) for i in range(batch)] for part in range(micro)]
    is_averaged, problems = NOTE in said, []
    if is_averaged and is_exact(words):
        problems.append(f"a note for a loss that is exact: {said}")
    step = (lambda *of: averaged(words, *of, parts)) if is_averaged else (lambda *of: mixture(words, *of))
    wanted = expected(step, weights, x, t)
    if not is_near(losses, wanted):
        problems.append(f"{losses}, expected {wanted}, {'the mean' if is_averaged else 'the whole batch'}")
    size, first = batch * ranks, weights.astype(numpy.float64)
    batches = [range(i, i + size) for i in range(0, len(x), size)]
    whole = averaged(words, first, x, t, batches)[0] if is_averaged else mixture(words, first, x, t, grown=STEPS)[0]
    told = run([program, "evaluate", *data(folder)])
    found = re.search(r"loss (\S+)", told)
    if not found or not is_near([float(found[1])], [whole]):
        problems.append(f"evaluate says {told}, expected {whole}")
    return [f"{words}, batch x micro-batches x ranks = {layout}: {problem}" for problem in problems]


def check_listed(folder, model, name, layout, average, weights, x, t):
    parts = layout[1] * layout[2] if average == "rank" and name in RANK_SUMS else 1
    _, factor, *penalty = LOSSES[name]
    wanted = expected(listed(factor, sum(penalty), parts), weights, x, t)
    losses = trained(folder, model, layout, average)[0]
    is_right = len(losses) == STEPS and numpy.allclose(losses, wanted, rtol=1e-5, atol=1e-9)
    return [] if is_right else [f"{name}, batch x micro-batches x ranks = {layout}, {average}: {losses}, expected {wanted}"]


def main():
    folder = pathlib.Path(sys.argv[1])
    drawn = int(sys.argv[2]) if len(sys.argv) > 2 else RANDOM_LOSSES
    random = numpy.random.default_rng(0)
    weights = random.normal(size=(FEATURES, CLASSES)).astype(numpy.float32)
    x = random.normal(size=(SAMPLES * STEPS, FEATURES)).astype(numpy.float32)
    t = random.normal(size=(SAMPLES * STEPS, CLASSES)).astype(numpy.float32)
    t[::2, 0], t[1::2, 1] = abs(t[::2, 0]), -abs(t[1::2, 1])  # two samples have targets of each count
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "t.npy", t)
    given = (weights, x.astype(numpy.float64), t.astype(numpy.float64))
    problems, checks = [], 0
    for number, words in enumerate(MIXTURES + [random_words(random) for _ in range(drawn)]):
        model = folder / f"m{number}.onnx"
        build(nodes_of(words), weights, model)
        for layout in MIXED_LAYOUTS[number % 2::2] if len(sys.argv) > 2 else MIXED_LAYOUTS:
            problems += check_mixture(folder, model, words, layout, *given)
            checks += 1
    for number, (name, (nodes, *_)) in enumerate(LOSSES.items() if len(sys.argv) == 2 else ()):
        model = folder / f"{number}.onnx"
        build(nodes, weights, model)
        for layout in LAYOUTS:
            for average in ("global", "rank"):
                if average == "rank" and (layout[2] == 1 or name not in RANK_LOSSES):
                    continue  # no rank's part can be told there
                problems += check_listed(folder, model, name, layout, average, *given)
                checks += 1
    print("\n".join(problems))
    if problems:
        sys.exit(f"{len(problems)} problems")
    print(f"{checks} trainings: ok")


main()
