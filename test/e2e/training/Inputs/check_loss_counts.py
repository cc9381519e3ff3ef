"""Losses that are divided by a count: the numbers of all samples together, whatever the micro-batches and ranks are, or a note that says that they
are averaged, or a refusal. Losses, trained weights and evaluations are compared with numpy in float64.

  check_loss_counts.py FOLDER
"""
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from small_models import Checks, command, graph  # noqa: E402

FEATURES, CLASSES, SAMPLES, RATE = 5, 3, 8, 0.5
node = helper.make_node
random = np.random.default_rng(0)
W = random.standard_normal((FEATURES, CLASSES)).astype("f4")
X = random.standard_normal((SAMPLES, FEATURES)).astype("f4")
M = np.float32([1, 0, 0, 1, 1, 1, 0, 1])
ONE, MICRO, MORE, RANKS, BOTH, STAGES = (
    ["--dim", "batch=8"], ["--dim", "batch=4", "--micro-batches", "2"], ["--dim", "batch=2", "--micro-batches", "4"], ["--dim", "batch=4", "--mesh", "dp=2"],
    ["--dim", "batch=2", "--mesh", "dp=2", "--micro-batches", "2"], ["--dim", "batch=4", "--mesh", "pp=2", "--micro-batches", "2"])
RANK = ["--loss-average", "rank"]
AVERAGED, EVALUATED = "the loss is averaged over batches of", "an evaluation averages the loss over batches of"
SHARE = "a term counts less in a larger batch"


class Nodes(list):
    """Nodes by their operators: add("Mul", "a", "b") gives the name of the result."""

    def add(self, operator, *inputs, to=None, element=None, **attributes):
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        attributes |= {"to": element} if element else {}
        result = to or f"v{len(self)}"
        self.append(node(operator, names, [result], **attributes))
        return result

    def constant(self, number):
        if isinstance(number, list):
            return self.add("Constant", value_ints=number)
        return self.add("Constant", value_float=float(number))

    def sum(self, value, axes=None, to=None):
        return self.add("ReduceSum", value, *([axes] if axes else []), keepdims=0, to=to)


def setup(nodes):
    """The squares of a linear layer, [batch, CLASSES], and of each sample, [batch]."""
    h = nodes.add("MatMul", "x", "w")
    nodes.add("Mul", h, h, to="squares")
    nodes.sum("squares", [1], to="each")
    nodes.add("Mul", "each", "m", to="kept")


def penalized(nodes, value):
    weights = nodes.sum(nodes.add("Mul", "w", "w"))
    nodes.add("Add", value, nodes.add("Mul", weights, 0.1), to="loss")


def squares_by(nodes, count):
    nodes.add("Div", nodes.sum("squares"), count, to="loss")


def kept_by(nodes, count, to="loss"):
    return nodes.add("Div", nodes.sum("kept"), count, to=to)


def cast(nodes, value, kind):
    return nodes.add("Cast", nodes.add("Cast", value, element=kind), element=TensorProto.FLOAT)


def half(nodes):
    return nodes.add("Mul", nodes.sum("m"), 0.5)  # 2.5 of the five samples that count


# A cast that cuts is a part of the count.
def cut_guard(nodes):
    squares_by(nodes, cast(nodes, nodes.add("Max", half(nodes), 1.0), TensorProto.INT32))


def cut_count(nodes):
    squares_by(nodes, cast(nodes, nodes.add("Add", half(nodes), 1e-3), TensorProto.INT64))


def cut_choice(nodes):
    low = nodes.add("LessOrEqual", cast(nodes, half(nodes), TensorProto.INT32), 2.0)
    squares_by(nodes, nodes.add("Where", low, 2.0, half(nodes)))


def truth(nodes):
    squares_by(nodes, cast(nodes, nodes.add("Max", half(nodes), 1.0), TensorProto.BOOL))


# Divided by the count element by element.
def spread_kept(nodes):
    nodes.sum(nodes.add("Div", "kept", nodes.sum("m")), to="loss")


def spread_each(nodes):
    nodes.sum(nodes.add("Div", "each", nodes.sum("m")), to="loss")


def spread_rows(nodes):
    rows = nodes.add("Mul", "squares", nodes.add("Unsqueeze", "m", [1]))
    nodes.sum(nodes.sum(nodes.add("Div", rows, nodes.sum("m")), [1]), to="loss")


# Weights that are normalized over the batch: the micro-batches' losses are averaged, and a note says so.
def normalized(nodes):
    nodes.sum(nodes.add("Mul", "each", nodes.add("Div", "m", nodes.sum("m"))), to="loss")


# A part of the count, and a number beside it.
def quarter_plus(nodes):
    kept_by(nodes, nodes.add("Add", nodes.add("Mul", nodes.sum("m"), 0.25), 1.0))


def half_at_least(nodes):
    kept_by(nodes, nodes.add("Max", half(nodes), 4.0))


# A penalty is whole where the count's guard acts.
def penalty_at_least(nodes):
    penalized(nodes, kept_by(nodes, nodes.add("Max", nodes.sum("m"), 10.0), to="base"))


def penalty_plus(nodes):
    penalized(nodes, kept_by(nodes, nodes.add("Add", nodes.sum("m"), 3.0), to="base"))


def penalty_of_mean(nodes):
    count = nodes.add("Max", nodes.add("ReduceMean", "m", keepdims=0), 0.9)
    penalized(nodes, nodes.add("Div", nodes.add("ReduceMean", "kept", keepdims=0), count, to="base"))


# What every batch adds to the sum, beside a count that is guarded once. The number in the loss, and none of samples.
def sum_plus(nodes):
    nodes.add("Div", nodes.add("Add", nodes.sum("kept"), 1.0), nodes.add("Add", nodes.sum("m"), 1.0), to="loss")


def share_plus(nodes):
    nodes.add("Div", nodes.add("ReduceMean", "kept", keepdims=0), nodes.add("Add", nodes.sum("m"), 1.0), to="loss")


def batch(nodes):
    return nodes.add("Cast", nodes.add("Gather", nodes.add("Shape", "m"), nodes.add("Constant", value_int=0)), element=TensorProto.FLOAT)


# A count and a sum in which the batch's size is a number, and a mean that is divided by it.
def plus_batch(nodes):
    kept_by(nodes, nodes.add("Add", nodes.sum("m"), batch(nodes)))


def mean_by_batch(nodes):
    nodes.add("Div", kept_by(nodes, nodes.sum("m"), to="mean"), batch(nodes), to="loss")


# With a batch of two this is their mean, too.
def half_sum(nodes):
    nodes.add("Mul", nodes.sum("kept"), 0.5, to="loss")


# The samples in the second dimension, and inside of the only one.
def features_first(nodes):
    turned = nodes.add("Mul", nodes.add("Transpose", "squares", perm=[1, 0]), "m")
    nodes.add("Div", nodes.sum(turned), nodes.sum("m"), to="loss")


def features_first_flat(nodes):
    flat = nodes.add("Reshape", nodes.add("Transpose", "squares", perm=[1, 0]), [-1])
    mask = nodes.add("Reshape", nodes.add("Expand", "m", [CLASSES, 1]), [-1])
    nodes.add("Div", nodes.sum(nodes.add("Mul", flat, mask)), nodes.sum(mask), to="loss")


def kept(of_count):
    return lambda m: m[:, None] / of_count(m.sum())


def all_by(of_count):
    return lambda m: np.ones_like(m)[:, None] / of_count(m.sum())


# Of each loss: its factor of each square by the mask, and of the sum of squared weights.
LOSSES = {
    cut_guard: (all_by(lambda n: int(max(n / 2, 1))), 0),
    cut_count: (all_by(lambda n: int(n / 2 + 1e-3)), 0),
    cut_choice: (all_by(lambda n: 2 if int(n / 2) <= 2 else n / 2), 0),
    truth: (all_by(lambda n: 1), 0),
    spread_kept: (kept(lambda n: n), 0),
    spread_each: (all_by(lambda n: n), 0),
    spread_rows: (kept(lambda n: n), 0),
    normalized: (kept(lambda n: n), 0),
    quarter_plus: (kept(lambda n: n / 4 + 1), 0),
    half_at_least: (kept(lambda n: max(n / 2, 4)), 0),
    penalty_at_least: (kept(lambda n: max(n, 10)), 0.1),
    penalty_plus: (kept(lambda n: n + 3), 0.1),
    penalty_of_mean: (lambda m: m[:, None] / len(m) / max(m.mean(), 0.9), 0.1),
    sum_plus: (kept(lambda n: n + 1), 0),
    mean_by_batch: (lambda m: m[:, None] / m.sum() / len(m), 0),
    share_plus: (lambda m: m[:, None] / len(m) / (m.sum() + 1), 0),
    features_first: (kept(lambda n: n), 0),
    features_first_flat: (kept(lambda n: 3 * n), 0),
}


def build(path, make):
    nodes = Nodes()
    setup(nodes)
    make(nodes)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES]), helper.make_tensor_value_info("m", TensorProto.FLOAT, ["batch"])]
    model = helper.make_model(graph(nodes, inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], {"w": W}),
                              opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def expected(factor, penalty, parts, samples=(X, M)):
    """The loss, and the weights after a step: the mean of the losses of `parts` equal parts of the samples."""
    w, loss, slope = W.astype("f8"), 0.0, 0.0
    for x, m in zip(*(np.split(one.astype("f8"), parts) for one in samples)):
        h = x @ w
        each = factor(m) * np.ones_like(h)
        loss += ((each * h * h).sum() + penalty * (w * w).sum()) / parts
        slope += (2 * x.T @ (each * h) + 2 * penalty * w) / parts
    return loss, w - RATE * slope


def trained_weights(folder):
    data = next(folder.rglob("model.safetensors")).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    begin, stop = json.loads(data[8:end])["w"]["data_offsets"]
    return np.frombuffer(data[end + begin:end + stop], "f4").reshape(W.shape)


def compiled(folder, make, layout):
    build(folder / "model.onnx", make)
    return command("cleave", "compile", folder / "model.onnx", "-o", folder / "program", "--train", "--loss-output", "loss", "--optimizer", "sgd", *layout)


def check(checks, make, layout, parts=1, note="", evaluated=False):
    folder, name = checks.folder, f"{make.__name__} {' '.join(layout)}"
    done = compiled(folder, make, layout)
    told = done.stdout + done.stderr
    if done.returncode:
        return checks.note(name, told)
    checks.note(f"{name}, note", "" if (note in told if note else AVERAGED not in told and "depends on that number" not in told) else told)
    loss, weights = expected(*LOSSES[make], parts)
    data = [f"--data=x={folder}/x.npy", f"--data=m={folder}/m.npy"]
    for old in (folder / "save", folder / "metrics"):
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    done = command(folder / "program", "train", *data, "--no-shuffle", "--steps", "1", "--lr", RATE, "--metrics", folder / "metrics", "--save",
                   folder / "save", "--checkpoint", "full")
    if done.returncode:
        return checks.note(name, done.stderr)
    checks.same(f"{name}, loss", json.loads((folder / "metrics").read_text().splitlines()[0])["loss"], loss, 2e-6)
    checks.same(f"{name}, weights", trained_weights(folder / "save"), weights.astype("f4"), 1e-5)
    if evaluated:
        done = command(folder / "program", "evaluate", *data)
        words = done.stdout.split()
        got = float(words[words.index("loss") + 1]) if "loss" in words else done.stdout + done.stderr
        checks.same(f"{name}, evaluate", np.float64(got) if isinstance(got, float) else got, np.float64(loss), 1e-5)


def check_batches(checks, make, constant, note):
    """An evaluation of two batches of four: the mean of their losses, and a note that says so."""
    told = compiled(checks.folder, make, ["--dim", "batch=4"])
    text = told.stdout + told.stderr
    checks.note(f"{make.__name__} in batches, note", "" if note in text else text)
    done = command(checks.folder / "program", "evaluate", f"--data=x={checks.folder}/x.npy", f"--data=m={checks.folder}/m.npy")
    words = done.stdout.split()
    got = float(words[words.index("loss") + 1]) if "loss" in words else done.stdout + done.stderr
    means = [expected(*LOSSES[make], 1, one)[0] + constant(one[1]) for one in zip(np.split(X, 2), np.split(M, 2))]
    checks.same(f"{make.__name__} in batches", np.float64(got) if isinstance(got, float) else got, np.float64(np.mean(means)), 1e-5)


def refuse(checks, make, layout, text):
    done = compiled(checks.folder, make, layout)
    is_refused = done.returncode and text in done.stderr
    checks.note(f"{make.__name__} {' '.join(layout)}", "" if is_refused else f"not refused with '{text}': {done.stdout}{done.stderr}")


def main():
    checks = Checks(sys.argv[1])
    np.save(checks.folder / "x.npy", X)
    np.save(checks.folder / "m.npy", M)
    for make in (cut_guard, cut_count, cut_choice, truth):
        check(checks, make, ONE, note=AVERAGED)
    for make in (spread_kept, spread_each, spread_rows):
        check(checks, make, MICRO, evaluated=True)
    for make in (spread_kept, quarter_plus):
        check(checks, make, STAGES, evaluated=True)
    check(checks, normalized, MICRO, parts=2, note=AVERAGED)
    for make in (quarter_plus, half_at_least):
        for layout in (MICRO, MORE, BOTH):
            check(checks, make, layout, evaluated=layout is MICRO)
    for make in (penalty_at_least, penalty_plus, penalty_of_mean):
        check(checks, make, ONE, note=EVALUATED)
    check(checks, mean_by_batch, MICRO, note=SHARE + "; an evaluation gives the average over such batches", evaluated=True)
    check_batches(checks, penalty_plus, lambda m: 0, note=EVALUATED)
    check_batches(checks, sum_plus, lambda m: 1 / (m.sum() + 1), note=SHARE)
    check_batches(checks, share_plus, lambda m: 0, note=SHARE)
    told = compiled(checks.folder, half_sum, ["--dim", "batch=2"]).stderr
    checks.note("half_sum, note", "" if "it is a sum over samples and not a mean" in told else told)
    for make in (features_first, features_first_flat):
        for layout in (MICRO, RANKS):
            check(checks, make, [*layout, *RANK], parts=2)
    for make, reason in ((spread_kept, "it is not a sum divided"), (share_plus, "a term shrinks as the batch grows"), (plus_batch, "a rank's samples is unknown")):
        refuse(checks, make, [*RANKS, *RANK], reason)
    checks.end()


main()
