"""Evaluates small models in several layouts, and compares loss and accuracy with float64 in numpy.

  check_evaluation.py FOLDER

The model picks one of CLASSES for each of TOKENS positions of a sample; `m` is a mask of positions, `t` numbers from which
a mask can be made. What differs is how the losses of the positions become one number.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES, TOKENS, FEATURES, CLASSES = 13, 4, 3, 5
LAYOUTS = [("--dim", "batch=8"), ("--dim", "batch=3", "--mesh", "dp=2"), ("--dim", "batch=2", "--micro-batches", "2")]
NUMBERS = {"zero": np.float32(0), "one": np.float32(1), "ten": np.float32(10), "half": np.float32(0.5), "four": np.float32(4), "izero": np.int64(0), "flat": np.int64([-1]),
           "rows": np.int64([-1, CLASSES]), "tokens": np.int64([1]), "class_weights": np.float32([1, 2, 0.5, 3, 0])}
FLAT = [("Reshape", ["y", "flat"], "labels"), ("Reshape", ["scores", "rows"], "flat_scores")]
LOSSES = [("SoftmaxCrossEntropyLoss", ["flat_scores", "labels"], "flat_losses", {"reduction": "none"}), ("Shape", ["y"], "shape"),
          ("Reshape", ["flat_losses", "shape"], "l")]
MASKED = [("Mul", ["l", "m"], "q"), ("ReduceSum", ["q"], "S", {"keepdims": 0})]
COUNT = [("ReduceSum", ["m"], "c", {"keepdims": 0})]


def divided(nodes):
    return MASKED + nodes + [("Div", ["S", "n"], "loss")]


def mean_of(losses, counted):
    return (losses * counted).sum() / counted.sum()


# name: nodes from `l` to `loss`, the loss of all samples, which positions count for the accuracy (None: there is none), what a message must say.
# Functions take the losses l, the mask m, t and the labels y.
CASES = {
    "plain": ([("ReduceMean", ["l"], "loss", {"keepdims": 0})], lambda l, m, t, y: l.mean(), lambda m, t, y: m * 0 + 1, ""),
    "count": (divided(COUNT + [("Identity", ["c"], "n")]), lambda l, m, t, y: mean_of(l, m), lambda m, t, y: m, ""),
    "plus": (divided(COUNT + [("Add", ["c", "one"], "n")]), lambda l, m, t, y: (l * m).sum() / (m.sum() + 1), lambda m, t, y: m, ""),
    "at-least": (divided(COUNT + [("Clip", ["c", "ten"], "n")]), lambda l, m, t, y: (l * m).sum() / max(m.sum(), 10), lambda m, t, y: m, ""),
    "where": (divided(COUNT + [("Greater", ["c", "ten"], "g"), ("Where", ["g", "c", "half"], "n")]),
              lambda l, m, t, y: (l * m).sum() / (m.sum() if m.sum() > 10 else 0.5), lambda m, t, y: m, ""),
    "both": (divided(COUNT + [("Max", ["c", "ten"], "d"), ("Add", ["d", "half"], "n")]),
             lambda l, m, t, y: (l * m).sum() / (max(m.sum(), 10) + 0.5), lambda m, t, y: m, ""),
    "mean-count": ([("Mul", ["l", "m"], "q"), ("ReduceMean", ["q"], "S", {"keepdims": 0}), ("ReduceMean", ["m"], "c", {"keepdims": 0}), ("Add", ["c", "half"], "n"),
                    ("Div", ["S", "n"], "loss")], lambda l, m, t, y: (l * m).mean() / (m.mean() + 0.5), lambda m, t, y: m, ""),
    "masked-mean": ([("Mul", ["l", "m"], "q"), ("ReduceMean", ["q"], "loss", {"keepdims": 0})], lambda l, m, t, y: (l * m).mean(), lambda m, t, y: m, ""),
    "of-tokens": ([("Equal", ["t", "izero"], "pad"), ("Not", ["pad"], "kept"), ("Cast", ["kept"], "k", {"to": TensorProto.FLOAT}), ("Mul", ["l", "k"], "q"),
                   ("ReduceSum", ["q"], "S", {"keepdims": 0}), ("ReduceSum", ["k"], "n", {"keepdims": 0}), ("Div", ["S", "n"], "loss")],
                  lambda l, m, t, y: mean_of(l, t != 0), lambda m, t, y: t != 0, ""),
    "where-tokens": ([("Equal", ["t", "izero"], "pad"), ("Where", ["pad", "zero", "l"], "q"), ("ReduceMean", ["q"], "loss", {"keepdims": 0})],
                     lambda l, m, t, y: (l * (t != 0)).mean(), lambda m, t, y: t != 0, ""),
    "per-sample": ([("Mul", ["l", "m"], "q"), ("ReduceSum", ["q", "tokens"], "s", {"keepdims": 0}), ("ReduceSum", ["m", "tokens"], "c", {"keepdims": 0}),
                    ("Div", ["s", "c"], "d"), ("ReduceMean", ["d"], "loss", {"keepdims": 0})],
                   lambda l, m, t, y: ((l * m).sum(1) / m.sum(1)).mean(), lambda m, t, y: m, ""),
    # The first position of a sample says whether the whole sample counts.
    "sample-mask": ([("ReduceMean", ["l", "tokens"], "s", {"keepdims": 0}), ("ReduceMax", ["t", "tokens"], "x1", {"keepdims": 0}), ("Greater", ["x1", "itwo"], "g"),
                     ("Cast", ["g"], "k", {"to": TensorProto.FLOAT}), ("Mul", ["s", "k"], "q"), ("ReduceMean", ["q"], "loss", {"keepdims": 0})],
                    lambda l, m, t, y: (l.mean(1) * (t.max(1) > 2)).mean(), lambda m, t, y: (t.max(1, keepdims=True) > 2) * np.ones_like(m), ""),
    "class-weights": ([("Gather", ["class_weights", "y"], "k"), ("Mul", ["l", "k"], "q"), ("ReduceMean", ["q"], "loss", {"keepdims": 0})],
                      lambda l, m, t, y: (l * NUMBERS["class_weights"][y]).mean(), lambda m, t, y: m * 0 + 1, ""),
    "focal": ([("Neg", ["l"], "lp"), ("Exp", ["lp"], "p"), ("Sub", ["one", "p"], "f"), ("Mul", ["f", "m"], "fm"), ("Mul", ["fm", "l"], "q"),
               ("ReduceMean", ["q"], "loss", {"keepdims": 0})], lambda l, m, t, y: ((1 - np.exp(-l)) * m * l).mean(), lambda m, t, y: m, ""),
    "hard": ([("Greater", ["l", "one"], "g"), ("Cast", ["g"], "k", {"to": TensorProto.FLOAT}), ("Mul", ["l", "k"], "q"), ("ReduceMean", ["q"], "loss", {"keepdims": 0})],
             lambda l, m, t, y: (l * (l > 1)).mean(), None, "gives no accuracy: which positions the loss counts depends on parameters"),
}
NUMBERS["itwo"] = np.int64(2)


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)


def compiled(folder, nodes, inputs, weights, layout):
    """The messages of the compilation to folder/e."""
    made = [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value))) for name, value in NUMBERS.items()]
    made += [helper.make_node(node[0], node[1], [node[2]], **(node[3] if len(node) > 3 else {})) for node in nodes]
    types = {np.dtype("f4"): TensorProto.FLOAT, np.dtype("i8"): TensorProto.INT64}
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info(n, types[v.dtype], ["batch", *v.shape[1:]]) for n, v in inputs.items()],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [numpy_helper.from_array(v, n) for n, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "m.onnx")
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
    done = run("cleave", "compile", folder / "m.onnx", "-o", folder / "e", "--train", "--loss-output", "loss", "--optimizer", "sgd", *layout)
    if done.returncode:
        sys.exit(f"{folder.name}: {done.stderr}")
    return done.stdout + done.stderr


def data(folder, inputs):
    return [part for name in inputs for part in ("--data", f"{name}={folder / name}.npy")]


def evaluated(folder, inputs):
    """Loss, accuracy, number of samples, and all that is said."""
    done = run(folder / "e", "evaluate", *data(folder, inputs))
    found = re.search(r"loss (\S+)(?:  accuracy (\S+)%)?  \((\d+) samples\)", done.stdout)
    if not found:
        return None, None, None, done.stdout + done.stderr
    return float(found[1]), found[2] and float(found[2]) / 100, int(found[3]), done.stdout + done.stderr


def expect(what, found, wanted, tolerance=2e-5):
    right = found == wanted if None in (found, wanted) else abs(found - wanted) <= tolerance * max(1, abs(wanted))
    if not right:
        print(f"{what}: {found}, expected {wanted}")
    return not right


def classification(folder):
    random = np.random.default_rng(5)
    x, w = random.standard_normal((SAMPLES, TOKENS, FEATURES)).astype("f4"), random.standard_normal((FEATURES, CLASSES)).astype("f4")
    m = (random.random((SAMPLES, TOKENS)) > 0.6).astype("f4")
    m[:, 0] = 1
    t, y = random.integers(0, 4, (SAMPLES, TOKENS)), random.integers(0, CLASSES, (SAMPLES, TOKENS))
    scores = x.astype("f8") @ w.astype("f8")
    logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    losses, right = -np.take_along_axis(logs, y[..., None], -1)[..., 0], scores.argmax(-1) == y
    total = failures = 0
    for name, (nodes, loss, counts, message) in CASES.items():
        used = {part for node in nodes for part in node[1]}
        inputs = {n: v for n, v in (("x", x), ("m", m), ("t", t), ("y", y)) if n in used | {"x", "y"}}
        for layout in LAYOUTS if name in ("plus", "mean-count", "per-sample") else LAYOUTS[:1]:
            (folder / name).mkdir(exist_ok=True)
            said = compiled(folder / name, [("MatMul", ["x", "w"], "scores")] + FLAT + LOSSES + nodes, inputs, {"w": w}, layout)
            found, accuracy, samples, _ = evaluated(folder / name, inputs)
            what = f"{name} {' '.join(layout)}"
            counted = counts(m.astype("f8"), t, y) if counts else None
            failures += expect(what + ", loss", found, loss(losses, m.astype("f8"), t, y)) + expect(what + ", samples", samples, SAMPLES)
            failures += expect(what + ", accuracy", accuracy, None if counted is None else mean_of(right, counted), 6e-5)
            failures += expect(what + ", message", message in said, True)
            total += 1
    return total, failures


def two_heads(folder):
    """Of two cross-entropies the message names the labels of which the accuracy is."""
    random = np.random.default_rng(6)
    inputs = {"x": random.standard_normal((8, FEATURES)).astype("f4"), "y": random.integers(0, 2, 8), "z": random.integers(0, 3, 8)}
    weights = {"v": random.standard_normal((FEATURES, 2)).astype("f4"), "w": random.standard_normal((FEATURES, 3)).astype("f4")}
    nodes = [("MatMul", ["x", "v"], "a"), ("MatMul", ["x", "w"], "b"), ("SoftmaxCrossEntropyLoss", ["a", "y"], "p"), ("SoftmaxCrossEntropyLoss", ["b", "z"], "q"),
             ("Mul", ["q", "half"], "r"), ("Add", ["p", "r"], "loss")]
    folder.mkdir()
    said = compiled(folder, nodes, inputs, weights, ("--dim", "batch=8"))
    named = re.search(r"the loss has 2 cross-entropies; the accuracy of an evaluation is that of the labels of input '(.)'", said)
    if not named:
        print(f"two heads: {said}")
        return 1, 1
    scores = inputs["x"].astype("f8") @ weights["v" if named[1] == "y" else "w"].astype("f8")
    return 1, expect("two heads", evaluated(folder, inputs)[1], (scores.argmax(1) == inputs[named[1]]).mean(), 6e-5)


SQUARES = [("Mul", ["x", "w"], "a"), ("Mul", ["a", "a"], "e")]


def other_losses(folder):
    """Losses that are no mean over samples: the root of a mean, a largest loss; a sum."""
    inputs = {"x": np.float32([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]) * 0.5}
    squares = inputs["x"].astype("f8")**2
    failures = 0
    for name, nodes, value in (("root", [("ReduceMean", ["e"], "mean", {"keepdims": 0}), ("Sqrt", ["mean"], "loss")], lambda e: e.mean()**0.5),
                               ("largest", [("ReduceMax", ["e"], "loss", {"keepdims": 0})], lambda e: e.max())):
        (folder / name).mkdir()
        said = compiled(folder / name, SQUARES + nodes, inputs, {"w": np.float32([1])}, ("--dim", "batch=4"))
        loss, _, samples, told = evaluated(folder / name, inputs)
        failures += expect(name, loss, np.mean([value(squares[i:i + 4]) for i in (0, 4, 8)])) + expect(f"{name}, samples", samples, 12)
        failures += expect(f"{name}, message", "the last 1 of 13 samples are left out" in told, True)
        failures += expect(f"{name}, note", "depends on that number" in said, True)
        short = {"x": inputs["x"][:3]}
        np.save(folder / name / "x.npy", short["x"])
        failures += expect(f"{name}, 3 samples", "fewer than one global batch of 4, and the loss is not a sum over samples divided by a count" in evaluated(folder / name, short)[3], True)
    (folder / "sum").mkdir()
    said = compiled(folder / "sum", SQUARES + [("ReduceSum", ["e"], "loss", {"keepdims": 0})], inputs, {"w": np.float32([1])}, ("--dim", "batch=4"))
    failures += expect("sum", evaluated(folder / "sum", inputs)[0], squares.sum() * 4 / 13)
    failures += expect("sum, note", "that of 4 samples, a global batch, and depends on that number: it is a sum over samples" in said, True)
    return 3, failures


def rank_average(folder):
    """The loss of a step with --loss-average rank is the mean of the ranks' means, whose gradient it follows."""
    random = np.random.default_rng(7)
    inputs = {"x": random.standard_normal(8).astype("f4"), "m": np.float32([1, 0, 0, 0, 1, 1, 1, 1])}
    nodes = SQUARES + [("Mul", ["e", "m"], "q"), ("ReduceSum", ["q"], "S", {"keepdims": 0}), ("ReduceSum", ["m"], "C", {"keepdims": 0}), ("Div", ["S", "C"], "loss")]
    squares, m = inputs["x"].astype("f8")**2, inputs["m"]
    total = failures = 0
    for average, layout, parts in (("global", ("--dim", "batch=4", "--mesh", "dp=2"), 1), ("rank", ("--dim", "batch=4", "--mesh", "dp=2"), 2),
                                   ("rank", ("--dim", "batch=2", "--mesh", "dp=2", "--micro-batches", "2"), 4)):
        here = folder / f"{average}-{parts}"
        here.mkdir()
        kept = m if parts < 4 else np.float32([1, 0, 0, 1, 1, 1, 1, 1])
        given = dict(inputs, m=kept)
        compiled(here, nodes, given, {"w": np.float32([1])}, layout + ("--loss-average", average))
        done = run(here / "e", "train", *data(here, given), "--steps", 1, "--no-shuffle", "--lr", 0.1, "--metrics", here / "log")
        if done.returncode:
            sys.exit(done.stderr)
        wanted = np.mean([mean_of(a, b) for a, b in zip(np.split(squares, parts), np.split(kept, parts))])
        failures += expect(f"--loss-average {average} {' '.join(layout)}", json.loads((here / "log").read_text().splitlines()[0])["loss"], wanted)
        total += 1
    here = folder / "rank-sum"
    here.mkdir()
    compiled(here, SQUARES + [("ReduceSum", ["e"], "loss", {"keepdims": 0})], {"x": inputs["x"]}, {"w": np.float32([1])},
             ("--dim", "batch=2", "--mesh", "dp=2", "--micro-batches", "2", "--loss-average", "rank"))
    failures += expect("a sum with --loss-average rank, in batches of 4", evaluated(here, {"x": inputs["x"]})[0], squares.sum() / 2)
    return total + 1, failures


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]).resolve()
    results = [classification(target), two_heads(target / "heads"), other_losses(target), rank_average(target)]
    print(f"{sum(total for total, _ in results)} evaluations, {sum(failures for _, failures in results)} failures")
