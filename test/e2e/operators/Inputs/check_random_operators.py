"""The operators that draw random numbers: their distributions, that numbers depend on seed, step, node and place alone and on no layout, and
what evaluation makes of a mask.

  check_random_operators.py FOLDER
"""
import json
import math
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, COLUMNS = 96, 640
FLOAT = TensorProto.FLOAT


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def save(path, nodes, inputs, outputs, weights=None):
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()],
                              [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


# Distributions

def normal(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


# output: its node, and the distribution function
CONTINUOUS = {
    "uniform": (helper.make_node("RandomUniform", [], ["uniform"], shape=[ROWS, COLUMNS], low=-1.0, high=3.0), lambda x: (x + 1) / 4),
    "uniform_like": (helper.make_node("RandomUniformLike", ["x"], ["uniform_like"]), lambda x: x),
    "normal": (helper.make_node("RandomNormal", [], ["normal"], shape=[ROWS, COLUMNS]), normal),
    "normal_like": (helper.make_node("RandomNormalLike", ["x"], ["normal_like"], mean=2.0, scale=0.5), lambda x: normal((x - 2) / 0.5)),
    "half": (helper.make_node("RandomNormalLike", ["x"], ["half"], dtype=TensorProto.FLOAT16), normal),
    "double": (helper.make_node("RandomNormal", [], ["double"], shape=[ROWS, COLUMNS], dtype=TensorProto.DOUBLE), normal),
    "seeded": (helper.make_node("RandomUniform", [], ["seeded"], shape=[ROWS, COLUMNS], seed=7.0), lambda x: x),
    "other_seed": (helper.make_node("RandomUniform", [], ["other_seed"], shape=[ROWS, COLUMNS], seed=8.0), lambda x: x),
}
KINDS = {"half": TensorProto.FLOAT16, "double": TensorProto.DOUBLE}


def check_distribution(name, array, distribution):
    """Kolmogorov and Smirnov's distance, rows and columns included: neighbours must not depend on each other."""
    ordered = np.sort(array.astype("f8").ravel())
    count = len(ordered)
    reached = distribution(ordered)
    distance = max(np.abs(reached - np.arange(1, count + 1) / count).max(), np.abs(reached - np.arange(count) / count).max())
    limit = 2.0 / math.sqrt(count) + (1e-3 if array.dtype == np.float16 else 0)
    if not distance <= limit:
        sys.exit(f"{name}: the distribution is off by {distance:.4f}, above {limit:.4f}")
    ranks = reached.mean() - distribution(array.astype("f8"))
    for axis in (0, 1):
        pair = (ranks * np.roll(ranks, 1, axis)).mean() * 12
        if not abs(pair) <= 5 / math.sqrt(count):
            sys.exit(f"{name}: neighbours along dimension {axis} correlate by {pair:.4f}")


def check_distributions(folder):
    nodes = [node for node, _ in CONTINUOUS.values()] + [helper.make_node("Bernoulli", ["x"], ["drawn"], dtype=TensorProto.INT64)]
    scores = np.log(np.float32([[1, 2, 7], [5, 0, 5]]) * 3)  # logarithms up to a constant; one class is never drawn
    nodes += [helper.make_node("Constant", [], ["scores"], value=numpy_helper.from_array(scores, "scores")),
              helper.make_node("Multinomial", ["scores"], ["classes"], dtype=TensorProto.INT64, sample_size=20000)]
    kinds = {name: KINDS.get(name, FLOAT) for name in CONTINUOUS} | {"drawn": TensorProto.INT64, "classes": TensorProto.INT64}
    save(folder / "draws.onnx", nodes, {"x": [ROWS, COLUMNS]}, kinds)
    said = run("cleave", "compile", folder / "draws.onnx", "-o", folder / "draws")
    if "random numbers are drawn in inference" not in said:
        sys.exit(f"compile does not say that inference draws: {said}")
    probability = np.linspace(0, 1, ROWS * COLUMNS, dtype="f4").reshape(ROWS, COLUMNS)
    np.save(folder / "x.npy", probability)
    found = []
    for attempt in "ab":
        run(folder / "draws", "infer", "--input", f"x={folder}/x.npy",
            *[part for name in kinds for part in ("--output", f"{name}={folder}/{name}.{attempt}.npy")])
        found.append({name: np.load(folder / f"{name}.{attempt}.npy") for name in kinds})
    first, second = found
    for name in kinds:
        if first[name].tobytes() != second[name].tobytes():
            sys.exit(f"{name}: two calls of one program draw different numbers")
    for name, (_, distribution) in CONTINUOUS.items():
        check_distribution(name, first[name], distribution)
    flat = [first[name].astype("f4").tobytes() for name in CONTINUOUS]
    if len(set(flat)) != len(flat):
        sys.exit("two nodes draw the same numbers")
    for row, parts in zip(first["classes"], ([0.1, 0.2, 0.7], [0.5, 0, 0.5])):
        for number, part in enumerate(parts):
            if abs((row == number).mean() - part) > 4 * math.sqrt(part * (1 - part) / row.size):
                sys.exit(f"Multinomial: class {number} has {(row == number).mean():.3f}, expected {part}")
    drawn = first["drawn"]
    if set(np.unique(drawn)) != {0, 1} or drawn.ravel()[0] != 0:
        sys.exit("Bernoulli gives more than zeros and ones, or a one of probability 0")
    for begin in range(0, ROWS, 8):  # a tenth of the probabilities at a time
        part, expected = drawn[begin:begin + 8].mean(), probability[begin:begin + 8].mean()
        if abs(part - expected) > 4 * math.sqrt(0.25 / (8 * COLUMNS)):
            sys.exit(f"Bernoulli: rows {begin} to {begin + 7} have {part:.3f} ones, expected {expected:.3f}")


# Layouts and evaluation

BATCH, FEATURES, KEPT = 8, 32, 0.75


def mask_nodes(form):
    """A mask of the input's shape, as exporters write it; kept with the probability 0.75, in which all arithmetic is exact."""
    if form == "floor":
        return [helper.make_node("RandomUniformLike", ["x"], ["u"]), helper.make_node("Add", ["u", "kept"], ["s"]),
                helper.make_node("Floor", ["s"], ["mask"])]
    if form == "less":
        return [helper.make_node("RandomUniformLike", ["x"], ["u"]), helper.make_node("Less", ["u", "kept"], ["b"]),
                helper.make_node("Cast", ["b"], ["mask"], to=FLOAT)]
    return [helper.make_node("Mul", ["x", "zero"], ["z"]), helper.make_node("Add", ["z", "kept"], ["p"]),
            helper.make_node("Bernoulli", ["p"], ["mask"])]


LAYOUTS = {"one": [], "micro": ["--micro-batches", "4"], "dp2": ["--mesh", "dp=2"], "dp4": ["--mesh", "dp=4"], "fsdp2": ["--mesh", "fsdp=2"],
           "both": ["--mesh", "dp=2,fsdp=2", "--micro-batches", "2"], "dp2-micro": ["--mesh", "dp=2", "--micro-batches", "2"]}


def check_layouts(folder, form):
    """The loss is a sum of whole numbers, so that it is the same to the last bit where the same elements are drawn."""
    nodes = [helper.make_node("Constant", [], [name], value_float=value) for name, value in (("kept", KEPT), ("zero", 0.0))]
    nodes += mask_nodes(form)
    nodes += [helper.make_node("Mul", ["x", "mask"], ["y"]), helper.make_node("Mul", ["y", "w"], ["v"]),
              helper.make_node("ReduceSum", ["v"], ["loss"], keepdims=0)]
    save(folder / "mask.onnx", nodes, {"x": ["batch", FEATURES]}, {"loss": FLOAT}, {"w": np.ones(FEATURES, "f4")})
    x = np.tile(np.arange(BATCH * FEATURES, dtype="f4").reshape(BATCH, FEATURES) * 4, (3, 1))
    np.save(folder / "x.npy", x)
    found = {}
    for layout, options in LAYOUTS.items():
        said = run("cleave", "compile", folder / "mask.onnx", "-o", folder / "mask", "--train", "--loss-output", "loss", "--optimizer", "sgd",
                   "--global-batch", BATCH, *options)
        if ("random numbers are drawn in evaluation" in said) != (form == "bernoulli"):
            sys.exit(f"{form}: a mask that is no constant's is drawn in evaluation, too, and the others are not; compile says: {said}")
        for seed in (1, 2) if layout == "one" else (1,):
            metrics = folder / "metrics.jsonl"
            metrics.unlink(missing_ok=True)
            # A rate at which w stays 1.
            run(folder / "mask", "train", "--no-shuffle", "--steps", 3, "--lr", "1e-30", "--seed", seed, "--data", f"x={folder}/x.npy",
                "--val-data", f"x={folder}/x.npy", "--eval-every", 3, "--metrics", metrics)
            rows = [json.loads(line) for line in metrics.read_text().splitlines()]
            found[layout, seed] = [row["loss"] for row in rows if "loss" in row]
            evaluated = [row["val_loss"] for row in rows if "val_loss" in row]
    losses, other = found["one", 1], found["one", 2]
    whole = float(x[:BATCH].sum())
    if len(set(losses)) != 3 or not all(loss % 4 == 0 and 0.5 * whole < loss < whole for loss in losses) or losses == other:
        sys.exit(f"{form}: steps and seeds do not draw anew: losses {losses}, with another seed {other}, of {whole} in all")
    for (layout, seed), ours in found.items():
        if seed == 1 and ours != losses:
            sys.exit(f"{form}: {layout} has the losses {ours}, one rank {losses}")
    if form != "bernoulli" and (not evaluated or abs(evaluated[-1] / (KEPT * whole) - 1) > 1e-6 and abs(evaluated[-1] * BATCH / (KEPT * whole) - 1) > 1e-6):
        sys.exit(f"{form}: an evaluation gives {evaluated}, expected {KEPT * whole}")


def main():
    folder = pathlib.Path(sys.argv[1])
    check_distributions(folder)
    for form in ("floor", "less", "bernoulli"):
        check_layouts(folder, form)
    print(f"{len(CONTINUOUS) + 1} distributions, {len(LAYOUTS)} layouts")


if __name__ == "__main__":
    main()
