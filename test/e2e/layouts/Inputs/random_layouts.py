"""Random combinations of a model, a layout and options: the losses are those of one rank in f32, or an error says why there is no such program.

  random_layouts.py FOLDER [--first SEED] [--count N] [--seconds S]

A case has two halves. What it computes: model, loss, optimizer, clipping, frozen parameters, groups, batch, learning rates (class Task). How
it is computed: mesh, strategy, schedule, micro-batches, precision, buckets, prefetch, threads (class Layout). Each task is compiled for one
rank in f32, with one and with several micro-batches; the spread of these, which differ by the order of sums alone, is what a layout may
differ by. In 16 bits it is the error of one rank in that precision. Compared are losses, the norm of the first step's gradients, the loss on
validation data, and the loss of the layout's checkpoint in the program of one rank. Options that must change no bit are added to a second
program, whose losses are equal.

An error is right only where REASONS says why a layout is impossible, and its text says it. random_pipelines.py does the same for random
graphs, chunks, recomputation, offloading and the server. A failure prints its seed and its commands.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto

ROOT = pathlib.Path(__file__).resolve().parents[4]
STEPS = 4

# Model -> file, bounds of integer inputs, patterns of parameters that may be frozen, learning rate of (sgd, adam).
MODELS = {
    "mlp": ("test/models/mlp/mlp.torchscript.onnx", {"labels": 10}, ["fc1.*", "*.bias", "fc3.weight", "fc1.*,fc2.*", "fc2.*,fc3.*"], (0.05, 2e-3)),
    "mlp-dynamo": ("test/models/mlp/mlp.dynamo.onnx", {"labels": 10}, ["fc2.*", "*.bias", "fc3.*,fc1.weight"], (0.05, 2e-3)),
    "cnn": ("test/models/mnist-cnn/mnist-cnn.torchscript.onnx", {"labels": 10}, ["conv1.*", "*.bias"], (0.01, 2e-4)),
    "bert": ("test/models/bert-tiny/bert-tiny.dynamo23.onnx", {"labels": 2, "input_ids": 1000, "token_type_ids": 2, "attention_mask": 2},
             ["*embeddings*", "*.bias", "layers.1.*", "layers.*"], (0.02, 5e-4)),
    "gpt2": ("test/models/gpt2-tiny/gpt2-tiny.dynamo.onnx", {"labels": 256, "tokens": 256}, ["*wte*", "*.bias", "h.*"], (0.02, 5e-4)),
    "encoder": ("test/models/encoder-sequence-first/encoder-sequence-first.torchscript.onnx", {"labels": 4, "tokens": 256}, ["*.bias"],
                (0.02, 5e-4)),
    "t5": ("test/models/t5-tiny/t5-tiny.dynamo.onnx", {"labels": 256, "input_ids": 256, "attention_mask": 2}, ["shared.*", "*.0.attention.*", "encoder.*", "decoder.*"],
           (0.02, 5e-4)),
}
WITHOUT_LOSS = {"mlp": "logits", "mlp-dynamo": "logits", "cnn": "output", "bert": "logits"}  # their scores, for --loss KIND

# Why a layout may be impossible: the class, and what its message says.
REASONS = {
    "the batch cannot be divided so": r"--global-batch: \d+ is not a multiple of \d+ \(",
    "the schedule takes other numbers of micro-batches":
        r"--schedule: schedule \S+ (needs at least as many micro-batches as chunks: \d+ for|takes micro-batches in rounds of one for each)",
    "there are fewer places to cut than stages": r"cannot be cut into|has only \d+",
    "the option would mean nothing": r"nothing is gathered ahead|a unit's gradients are one bucket; use --fsdp-units|no blocks to compute again",
    "nothing is left that the pattern could name":
        r"--(freeze|buffers|param-group|init): pattern '\S+' matches none of \d+|no parameter has a gradient: all are frozen",
}


class Failure(Exception):
    pass


class Impossible(Exception):
    pass


def run(command, folder):
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, cwd=folder)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(command)}\nwaits") from None
    if done.returncode == 0:
        return done.stdout
    errors = [line for line in done.stderr.splitlines() if line and not line.startswith("note: ")]
    for reason, text in REASONS.items():
        if command[:2] == ["cleave", "compile"] and done.returncode in (1, 2) and len(errors) == 1 and re.search(text, errors[0]):
            raise Impossible(f"{reason}: {errors[0]}")
    raise Failure(f"{' '.join(map(repr, command))}\nended with {done.returncode}: {done.stderr[-1500:]}")


@dataclass
class Task:
    """What is computed."""
    seed: int
    model: str = ""
    loss: str = ""
    options: list = field(default_factory=list)
    train: list = field(default_factory=list)
    batch: int = 0

    def __post_init__(self):
        rng = np.random.default_rng(20_000 + self.seed)
        pick = lambda *of: of[rng.integers(len(of))]
        self.model = list(MODELS)[self.seed % len(MODELS)]
        path, self.bounds, patterns, rates = MODELS[self.model]
        self.path = ROOT / path
        self.loss = pick("", "", "cross-entropy", "mse") if self.model in WITHOUT_LOSS else ""
        optimizer = pick("sgd", "sgd,momentum=0.9", "sgd,momentum=0.9,nesterov=true,weight_decay=0.01", "adam", "adamw,weight_decay=0.1",
                         "adadelta")
        rate = 1.0 if "adadelta" in optimizer else rates["sgd" not in optimizer]
        self.options = ["--optimizer", optimizer]
        for option, chance in (("--freeze", 0.3), ("--buffers", 0.15), ("--param-group", 0.3)):
            left = [pattern for pattern in patterns if pattern not in self.options]  # what is frozen has no group
            if rng.random() < chance and left:
                self.options += [option, pick(*left) + (pick(":lr_scale=0.5", ":weight_decay=0") if option == "--param-group" else "")]
        if "--buffers" not in self.options and rng.random() < 0.3:  # drawn, in parts, on every layout alike
            self.options += ["--init", "*weight=kaiming_uniform(a=2)"] if self.model.startswith("mlp") else []
            self.options += ["--init", "uniform(a=-0.1,b=0.1)"]
        self.train = ["--lr", str(rate)]
        if rng.random() < 0.5:
            self.train += ["--clip-grad-norm", pick("0.1", "1")]
        if rng.random() < 0.4:
            self.train += ["--lr-schedule", pick("cosine,warmup=2", "linear", "step,size=2,gamma=0.5")]
        self.batch = pick(12, 24, 24, 48)

    def write(self, folder):
        """The model's file, with the loss that --loss makes or its own, and the data."""
        folder.mkdir(parents=True, exist_ok=True)
        run([sys.executable, ROOT / "test/models/make_weights.py", folder, self.path], folder)
        model = onnx.load(folder / self.path.parent.name / self.path.name)
        graph = model.graph
        inputs = [i for i in graph.input if i.name not in {t.name for t in graph.initializer}]
        self.loss_options = ["--loss-output", "loss"]
        self.file = folder / self.path.parent.name / self.path.name
        if self.loss:
            extracted = onnx.utils.Extractor(model)
            inputs = [i for i in inputs if i.name != "labels"]
            graph_of_scores = extracted.extract_model([i.name for i in inputs], [WITHOUT_LOSS[self.model]])
            self.file, self.loss_options = folder / "model.onnx", ["--loss", self.loss]
            onnx.save(graph_of_scores, self.file)
        rng = np.random.default_rng(self.seed)
        count, self.data, self.validation = STEPS * self.batch, [], []
        arrays = {i.name: self.array(rng, i, count) for i in inputs}
        if self.loss:
            classes = next(o for o in graph.output if o.name == WITHOUT_LOSS[self.model]).type.tensor_type.shape.dim[-1].dim_value
            arrays["labels"] = rng.normal(size=(count, classes)).astype("f4") if self.loss == "mse" else rng.integers(0, self.bounds["labels"], count)
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            np.save(folder / f"{name}-val.npy", array[:self.batch + self.batch // 2 + 1])
            self.data += ["--data", f"{name}={folder / name}.npy"]
            self.validation += ["--val-data", f"{name}={folder / name}-val.npy"]

    def array(self, rng, value, count):
        kind = value.type.tensor_type
        shape = (count, *(d.dim_value for d in kind.shape.dim[1:]))
        if kind.elem_type == TensorProto.FLOAT:
            return rng.normal(size=shape).astype(np.float32)
        if value.name == "attention_mask":  # as long as a sequence without its padding
            return (np.arange(shape[1]) < rng.integers(shape[1] // 2, shape[1] + 1, (count, 1))).astype(np.int64)
        return rng.integers(1, self.bounds[value.name], shape) if self.bounds[value.name] > 2 else rng.integers(0, 2, shape)


SCHEDULES = ["naive", "gpipe", "1f1b", "eager-1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "dualpipe-v"]


class Layout:
    """How it is computed: `options` with `train`, and `neutral` with `neutral_train`, which change no bit."""

    def __init__(self, seed, batch, has_blocks=False):
        rng = np.random.default_rng(30_000 + seed)
        pick = lambda *of: of[rng.integers(len(of))]
        maybe = lambda chance, *options: list(options) if rng.random() < chance else []
        sizes = {axis: pick(1, 1, 2, 2, 2, 3, 4, 6) for axis in ("dp", "fsdp", "pp")}
        while np.prod(list(sizes.values())) > 8 or (batch % (sizes["dp"] * sizes["fsdp"]) and rng.random() < 0.9):
            sizes[pick(*sizes)] = 1
        dp, fsdp, pp = sizes.values()
        axes = [f"{axis}={size}" for axis, size in sizes.items() if size > 1 or rng.random() < 0.1]
        mesh = ",".join(rng.permutation(axes) if rng.random() < 0.4 else axes)
        micro = pick(1, 2, 3, 4) if pp == 1 else pick(1, 3, 4, 4, 8, 12)
        while micro > 1 and batch % (dp * fsdp * micro) and rng.random() < 0.9:  # mostly one that divides
            micro -= 1
        self.precision = pick("", "", "", "bf16", "fp16", "param=bf16,reduce=f32", "reduce=bf16")
        self.options = [*(["--mesh", mesh] if mesh else []), "--micro-batches", str(micro), "--global-batch", str(batch)]
        self.options += [*(["--precision", self.precision] if self.precision else []),
                         *(["--loss-scale", pick("1024", "dynamic,init=1024")] if self.precision == "fp16" else [])]
        self.neutral, self.neutral_train = [], maybe(0.5, "--threads", str(pick(2, 3)))
        if fsdp > 1:
            strategy = pick("full-shard", "shard-grad-op", "zero-2", "zero-1", "no-shard")
            self.options += ["--fsdp-strategy", strategy]
        if fsdp > 1 and strategy in ("full-shard", "shard-grad-op"):
            self.options += maybe(0.3, "--fsdp-units", pick("size=4KiB", "size=100KiB", "auto"))
            self.neutral += maybe(0.4, "--forward-prefetch", "off") + maybe(0.4, "--backward-prefetch", pick("post", "none"))
            self.neutral += maybe(0.3, "--gathers-in-flight", str(pick(1, 3)))
        if dp * fsdp > 1:
            self.options += maybe(0.5, "--grad-sync", pick("every", "last"))
            self.options += maybe(0.4, "--loss-average", pick("global", "rank"))
        if pp > 1:
            self.options += ["--schedule", pick(*SCHEDULES)] + maybe(0.4, "--stage-split", pick("uniform", "parameters"))
        if fsdp == 1 or strategy in ("zero-2", "zero-1", "no-shard") or rng.random() < 0.1:
            self.options += maybe(0.4, "--bucket-size", pick("2KiB", "64KiB", "1MiB"))
        if dp > 1 and fsdp == 1 and pp == 1:  # with stages: random_pipelines.py
            self.options += maybe(0.3, "--dp-sync", "parameter-server")
        if pp == 1:
            self.neutral += maybe(0.3, "--offload", pick("params,grads,optimizer", "activations", "optimizer"))
            self.neutral += maybe(0.3 * has_blocks, "--recompute", "blocks")
        self.neutral += maybe(0.3, "--save-async")


def train(task, name, options, train_options, folder):
    """Losses, the first norm of gradients, the loss on validation data."""
    metrics, checkpoints = folder / f"{name}.jsonl", folder / f"{name}.checkpoints"
    metrics.unlink(missing_ok=True)
    run(["cleave", "compile", task.file, "-o", folder / name, "--train", *task.loss_options, *task.options, *options], folder)
    run([folder / name, "train", "--steps", STEPS, "--seed", 7, "--no-shuffle", *task.train, *train_options, *task.data, *task.validation,
         "--metrics", metrics, "--save", checkpoints], folder)
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    if len(losses) != STEPS or not np.all(np.isfinite(losses)):
        raise Failure(f"{name} {' '.join(options)}\nlosses {losses}")
    return losses, rows[0].get("grad_norm"), next(row["val_loss"] for row in reversed(rows) if "val_loss" in row)


EPSILON = {"bf16": 2.0 ** -8, "fp16": 2.0 ** -11}


class Reference:
    """One rank: the exact losses, and how far others may be from them."""

    def __init__(self, task, folder):
        self.task, self.folder, self.known = task, folder, {}
        task.write(folder)
        self.exact = self.of("", 1)

    def of(self, precision, micro):
        key = precision, micro
        if key not in self.known:
            scale = ["--loss-scale", "1024"] if precision == "fp16" else []
            name = "one" if key == ("", 1) else "near"
            self.known[key] = train(self.task, name, [*(["--precision", precision] if precision else []), *scale, "--global-batch",
                                                      str(self.task.batch), "--micro-batches", str(micro)], [], self.folder)
        return self.known[key]

    def bounds(self, precision):
        """Of each step, of the validation loss, and of the norm's relative error."""
        exact = np.array(self.exact[0])
        size = np.maximum(1, np.abs(exact))
        others = [self.of("", self.task.batch // 2), self.of("", 4)]
        bound = np.maximum(1e-6 * size, 4 * np.maximum.accumulate(np.max([np.abs(np.array(o[0]) - exact) for o in others], axis=0)))
        norm = 1e-4
        if precision:
            kind = "fp16" if precision == "fp16" else "bf16"
            reduced = [self.of(precision, 1), self.of(precision, 4)]
            error = np.maximum.accumulate(np.max([np.abs(np.array(r[0]) - exact) for r in reduced], axis=0))
            bound = np.maximum(bound, np.maximum(3 * error, EPSILON[kind] * size))
            norm = max(8 * EPSILON[kind], 3 * max(abs((r[1] or 0) / (self.exact[1] or 1) - 1) for r in reduced))
        return bound, 4 * bound[-1], norm


def judge(ours, reference, precision):
    (losses, norm, validation), (exact, exact_norm, exact_validation) = ours, reference.exact
    bound, bound_validation, bound_norm = reference.bounds(precision)
    for step, (loss, right, allowed) in enumerate(zip(losses, exact, bound), 1):
        if not abs(loss - right) <= allowed:
            return f"step {step}: loss {loss}, on one rank {right}, {abs(loss - right):.2e} above {allowed:.2e}"
    if exact_norm is not None and not abs(norm - exact_norm) <= bound_norm * exact_norm:
        return f"the first norm of gradients is {norm}, on one rank {exact_norm}"
    if not abs(validation - exact_validation) <= bound_validation:
        return f"validation loss {validation}, on one rank {exact_validation}, {abs(validation - exact_validation):.2e} above {bound_validation:.2e}"
    return None


def evaluate(task, folder):
    """The loss of the layout's checkpoint in the program of one rank."""
    shown = run([folder / "one", "evaluate", *(part.replace("--val-data", "--data") for part in task.validation), "--weights", folder / "ours.checkpoints"],
                folder)
    return float(re.search(r"loss ([-\d.e+]+)", shown)[1])


def check(seed, folder, references):
    tasks = 3 * len(MODELS)  # so that several layouts share what is compiled for one rank
    task = Task(seed % tasks)
    layout = Layout(seed, task.batch, task.model not in ("mlp", "mlp-dynamo", "cnn"))
    told = f"seed {seed}: {task.model} {' '.join([*([task.loss] if task.loss else []), *task.options, *task.train, *layout.options])}"
    try:
        place = folder / str(task.seed)
        if task.seed not in references:
            references[task.seed] = Reference(task, place)
        reference = references[task.seed]
        ours = train(reference.task, "ours", layout.options, [], place)
        if wrong := judge(ours, reference, layout.precision):
            raise Failure(f"{wrong}\n{ours}\n{reference.exact}")
        run(["cleave", "verify", place / "ours"], place)
        if not layout.precision and abs((loss := evaluate(reference.task, place)) - ours[2]) > 1e-5 * max(1, abs(ours[2])):
            raise Failure(f"validation loss {ours[2]}, of the checkpoint on one rank {loss}")
        if layout.neutral or layout.neutral_train:
            told += f" + {' '.join(layout.neutral + layout.neutral_train)}"
            if (same := train(reference.task, "same", layout.options + layout.neutral, layout.neutral_train, place)) != ours:
                raise Failure(f"{ours}\nwith options that change no bit {same}")
    except Impossible as impossible:
        return f"{told}\n  impossible, {impossible}", False
    except Failure as failure:
        raise Failure(f"{told}\n{failure}") from failure
    return told, True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--step", type=int, default=1, help="from seed to seed; 21 keeps to one task")
    parser.add_argument("--seconds", type=float, default=1e9)
    arguments = parser.parse_args()
    folder, references = arguments.folder.resolve(), {}
    failed, equal, done, begin = 0, 0, 0, time.monotonic()
    for seed in range(arguments.first, arguments.first + arguments.count * arguments.step, arguments.step):
        if time.monotonic() - begin > arguments.seconds:
            break
        done += 1
        try:
            told, ran = check(seed, folder, references)
            equal += ran
            print(told, flush=True)
        except Failure as failure:
            failed += 1
            print(f"FAILED {failure}", flush=True)
    print(f"{done} layouts: {equal} equal, {done - equal - failed} impossible for a reason, {failed} failed")
    sys.exit(failed > 0 or 2 * equal < done)


if __name__ == "__main__":
    main()
