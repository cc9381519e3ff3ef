"""Labels that `--loss cross-entropy` and `nll` do not count, against PyTorch's float64 (ignored_labels.json, which record_ignored_labels.py
writes): losses and the weights after some steps, in layouts whose ranks and micro-batches have different numbers of labels that count, or none;
evaluations, steps in which nothing counts, and what is said of labels that are no class.

  check_ignored_labels.py FOLDER
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES, HIDDEN, CLASSES, TOKENS, BATCH, STEPS, RATE = 3, 6, 5, 4, 8, 3, 0.5
SHAPES = {"samples": (), "tokens": (TOKENS,), "images": (2, 2)}  # of one sample's labels
# name: shape of the labels, kind of the loss, what is ignored (None: nothing), further options
CASES = {"samples": ("samples", "cross-entropy", -100, []), "tokens": ("tokens", "cross-entropy", -100, []),
         "images": ("images", "cross-entropy", -100, []), "nll": ("tokens", "nll", -100, []),
         "a class": ("tokens", "cross-entropy", 3, ["--loss-ignore-index", "3"]),
         "none": ("tokens", "cross-entropy", None, ["--loss-ignore-index", "none"])}
LAYOUTS = {"one": ["--dim", "batch=8"], "micro": ["--dim", "batch=2", "--micro-batches", "4"], "dp2": ["--dim", "batch=4", "--mesh", "dp=2"],
           "fsdp2": ["--dim", "batch=4", "--mesh", "fsdp=2"], "fsdp2 micro": ["--dim", "batch=2", "--mesh", "fsdp=2", "--micro-batches", "2"],
           "dp2 pp2": ["--dim", "batch=2", "--mesh", "dp=2,pp=2", "--micro-batches", "2"], "dp2 micro": ["--dim", "batch=1", "--mesh", "dp=2", "--micro-batches", "4"],
           "rank": ["--dim", "batch=4", "--mesh", "dp=2", "--loss-average", "rank"]}

# Of runs in which a step has no label that counts: the rate, and the optimizer.
EMPTY = {"sgd": (0.5, "sgd,momentum=0.9,weight_decay=0.1"), "adamw": (0.05, "adamw,weight_decay=0.1")}


def without_labels(labels, ranks):
    """The labels of the second step are ignored; of several ranks, those of the last one."""
    labels = labels.copy()
    labels[2 * BATCH - BATCH // ranks:2 * BATCH] = -100
    return labels


def data_of(shape, ignored):
    """x [samples, tokens, features] or [samples, features], labels, and the two weights. In each step the last quarter of the samples, which is a
    micro-batch or a part of a rank's samples, has no label that counts, and the others have some that do not."""
    random = np.random.default_rng(11)
    w1, w2 = random.standard_normal((FEATURES, HIDDEN)).astype("f4"), random.standard_normal((HIDDEN, CLASSES)).astype("f4")
    tokens = int(np.prod(SHAPES[shape]))
    x = random.standard_normal((STEPS * BATCH, *((tokens,) if shape != "samples" else ()), FEATURES)).astype("f4")
    labels = random.integers(0, CLASSES, (len(x), *SHAPES[shape]))
    if ignored is not None:
        labels[random.random(labels.shape) < 0.3] = ignored
        labels.reshape(STEPS, 4, -1)[:, 3] = ignored
    return x, labels, w1, w2


def save(path, shape, kind, w1, w2):
    nodes = [("MatMul", ["x", "w1"], "a", {}), ("Tanh", ["a"], "h", {}), ("MatMul", ["h", "w2"], "s", {})]
    constants = {"w1": w1, "w2": w2}
    if shape == "images":  # classes in dimension 1
        nodes += [("Transpose", ["s"], "t", {"perm": [0, 2, 1]}), ("Reshape", ["t", "shape"], "y", {})]
        constants["shape"] = np.int64([-1, CLASSES, *SHAPES[shape]])
    else:
        nodes.append(("LogSoftmax", ["s"], "y", {"axis": -1}) if kind == "nll" else ("Identity", ["s"], "y", {}))
    inner = {"samples": [FEATURES], "tokens": [TOKENS, FEATURES], "images": [TOKENS, FEATURES]}[shape]
    out = {"samples": [CLASSES], "tokens": [TOKENS, CLASSES], "images": [CLASSES, 2, 2]}[shape]
    graph = helper.make_graph([helper.make_node(operator, inputs, [output], **attributes) for operator, inputs, output, attributes in nodes], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *inner])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", *out])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)


def must(*command):
    done = run(*command)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def weights_in(folder):
    data = next(folder.rglob("model.safetensors")).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    begins = {name: header[name]["data_offsets"] for name in ("w1", "w2")}
    return {name: np.frombuffer(data[8 + size + begin:8 + size + end], "f4").reshape(header[name]["shape"]) for name, (begin, end) in begins.items()}


class Checks:
    def __init__(self, folder, recorded):
        self.folder, self.recorded, self.done, self.failures = folder, recorded, 0, 0

    def expect(self, what, right):
        self.done += 1
        if not right:
            self.failures += 1
            print(f"FAILED: {what}")

    def compile(self, case, layout, optimizer="sgd"):
        shape, kind, ignored, options = CASES[case]
        x, labels, w1, w2 = data_of(shape, ignored)
        save(self.folder / "m.onnx", shape, kind, w1, w2)
        np.save(self.folder / "x.npy", x)
        np.save(self.folder / "labels.npy", labels)
        must("cleave", "compile", self.folder / "m.onnx", "-o", self.folder / "m", "--train", "--loss", kind, "--optimizer", optimizer, *options, *layout)
        return x, labels

    def train(self, steps, labels="labels.npy", rate=RATE):
        return run(self.folder / "m", "train", "--no-shuffle", "--steps", steps, "--lr", rate, "--data", f"x={self.folder}/x.npy",
                   "--data", f"labels={self.folder}/{labels}", "--metrics", self.folder / "metrics.jsonl", "--save", self.folder / "saved", "--checkpoint", "full")

    def check_layout(self, case, name):
        what, wanted = f"{case}, {name}", self.recorded[case]["rank" if name == "rank" else "global"]
        self.compile(case, LAYOUTS[name])
        must("rm", "-rf", self.folder / "saved", self.folder / "metrics.jsonl")
        done = self.train(STEPS)
        if done.returncode:
            return self.expect(f"{what}: {done.stderr}", False)
        losses = [json.loads(line)["loss"] for line in (self.folder / "metrics.jsonl").read_text().splitlines()]
        self.expect(f"{what}: losses {losses}, PyTorch has {wanted['losses']}", np.allclose(losses, wanted["losses"], rtol=1e-6, atol=1e-6))
        saved = weights_in(self.folder / "saved")
        for weight in ("w1", "w2"):
            difference = abs(saved[weight] - np.float64(wanted[weight])).max()
            self.expect(f"{what}: {weight} differs by {difference}", difference < 2e-6)

    def check_evaluation(self, case):
        """The last batch is not full, and every label counts once."""
        x, labels = self.compile(case, ["--dim", "batch=2", "--mesh", "dp=2"])
        samples = 21
        np.save(self.folder / "x.npy", x[:samples])
        np.save(self.folder / "labels.npy", labels[:samples])
        said = must(self.folder / "m", "evaluate", "--data", f"x={self.folder}/x.npy", "--data", f"labels={self.folder}/labels.npy")
        found = re.search(r"loss (\S+)  accuracy (\S+)%  \((\d+) samples\)", said)
        wanted = self.recorded[case]["evaluation"]
        self.expect(f"{case}: {said}, PyTorch has {wanted}", found and abs(float(found[1]) - wanted["loss"]) < 1e-4 and
                    abs(float(found[2]) - 100 * wanted["accuracy"]) < 6e-3 and int(found[3]) == samples)

    def check_messages(self):
        def refused(text, steps=1):
            done = self.train(steps, "other.npy")
            self.expect(f"expected {text!r}; got {done.stdout}{done.stderr}", done.returncode == 1 and text in done.stderr)

        _, labels = self.compile("tokens", LAYOUTS["one"])
        other = labels.copy()
        other[1, 2] = -99
        np.save(self.folder / "other.npy", other)
        refused("holds the label -99; expected 0 to 4, or -100 (not counted)")
        other[1, 2] = -100
        np.save(self.folder / "other.npy", other)
        self.compile("none", LAYOUTS["one"])
        refused("holds the value -100; expected 0 to 4")

    def check_empty_step(self, optimizer, name):
        """A step without a label that counts: its loss is not a number, its gradients are 0, and training goes on, as PyTorch's does."""
        what, kind = f"{optimizer}, {name}, a step without labels", "rank" if name == "rank" else "global"
        rate, settings = EMPTY[optimizer]
        _, labels = self.compile("tokens", LAYOUTS[name], settings)
        np.save(self.folder / "other.npy", without_labels(labels, 2 if kind == "rank" else 1))
        must("rm", "-rf", self.folder / "saved", self.folder / "metrics.jsonl")
        done = self.train(STEPS, "other.npy", rate)
        if done.returncode:
            return self.expect(f"{what}: {done.stderr}", False)
        self.expect(f"{what}: {done.stdout}", kind == "rank" or "step 2  all labels are ignored" in done.stdout)
        lines = [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]
        self.expect(f"{what}: {lines}", lines[1]["loss"] is None and (kind == "rank" or lines[1]["grad_norm"] == 0))
        saved = weights_in(self.folder / "saved")
        for weight in ("w1", "w2"):
            difference = abs(saved[weight] - np.float64(self.recorded["empty"][optimizer][kind][weight])).max()
            self.expect(f"{what}: {weight} differs by {difference}", difference < 2e-6)


def main():
    folder = pathlib.Path(sys.argv[1])
    checks = Checks(folder, json.loads((pathlib.Path(__file__).parent / "ignored_labels.json").read_text()))
    for case in CASES:
        for name in LAYOUTS if case == "tokens" else ("one", "micro", "dp2 pp2"):
            checks.check_layout(case, name)
    for case in ("tokens", "images"):
        checks.check_evaluation(case)
    for optimizer, names in {"adamw": ("one", "fsdp2 micro", "rank"), "sgd": ("micro", "dp2", "dp2 pp2", "rank")}.items():
        for name in names:
            checks.check_empty_step(optimizer, name)
    checks.check_messages()
    print(f"{checks.done} checks, {checks.failures} failures")
    sys.exit(checks.failures != 0)


if __name__ == "__main__":
    main()
