"""Random small models as random pipelines: losses, the validation loss and all states are those of the same chunks on one stage, to the
last bit; losses are near those of the uncut model.

  random_pipelines.py FOLDER [--first SEED] [--count N] [--seconds S]

A model is an MLP, a CNN or a transformer with skips over any distance, tied weights, dropout, normalization, values whose gradient ends
(rounded, compared, detached) and a second term of the loss. A pipeline is a choice of each option that goes with stages: the mesh, the
schedule, where to cut, what is computed again, what is offloaded, precision, strategy, accumulation, clipping. A failure prints its seed,
the model's choices and both commands.
"""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import seed_runs  # noqa: E402

STEPS = 3
CLASSES = 6


class Graph:
    """An ONNX graph under construction: ops by name, weights by value."""

    def __init__(self, rng, ends):
        """`ends` draws the values whose gradient ends; None: there are none."""
        self.rng, self.ends, self.nodes, self.weights, self.inputs, self.ended = rng, ends, [], [], [], []

    def add(self, op, inputs, outputs=1, **attributes):
        names = [f"{op.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op.lower()}{len(self.nodes)}", **attributes))
        return names[0]

    def weight(self, *shape, scale=None, value=None):
        name = f"w{len(self.weights)}"
        scale = scale if scale is not None else shape[0] ** -0.5
        array = np.full(shape, value) if value is not None else self.rng.normal(0, scale, shape)
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def constant(self, array):
        name = f"constant{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def linear(self, x, width, out, weight=None):
        return self.add("Add", [self.add("MatMul", [x, weight or self.weight(width, out)]), self.weight(out, value=0.1)])

    def norm(self, x, width):
        return self.add("LayerNormalization", [x, self.weight(width, value=1), self.weight(width, value=0)], axis=-1)

    def batch_norm(self, x, width):
        statistics = [self.weight(width, value=v) for v in (1, 0, 0, 1)]
        return self.add("BatchNormalization", [x, *statistics], 3, training_mode=1)

    def dropout(self, x):
        return self.add("Dropout", [x, self.constant(np.float32(0.2)), self.constant(np.bool_(True))])

    def activation(self, x):
        return self.add(self.rng.choice(["Relu", "Tanh", "Sigmoid"]), [x])

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def end(self, x):
        """x without its gradient: rounded, compared or detached."""
        how = self.ends.choice(["Round", "Sign", "Floor", "Greater", "Identity"])
        if how == "Greater":
            return self.add("Cast", [self.add("Greater", [x, self.constant(np.float32(0.2))])], to=TensorProto.FLOAT)
        x = self.add(how, [x])
        if how == "Identity":  # as export_torch writes detach()
            call = f"call_function[target=torch.ops.aten.detach.default](args = (%{self.nodes[-1].input[0]},), kwargs = {{}})"
            self.nodes[-1].metadata_props.add(key="pkg.torch.onnx.fx_node", value=call)
        return x

    def besides(self, x, past):
        """x with a value whose gradient ends: a new one of x or of an earlier value, or one that earlier layers made. Such a value may
        cross stages after its gradient ended or before, alone or besides the value that it is made of, and have several users."""
        if self.ends is None or self.ends.random() < 0.4:
            return x
        if not self.ended or self.ends.random() < 0.6:
            self.ended.append(self.end(x if self.ends.random() < 0.5 else past[self.ends.integers(len(past))]))
        ended = self.ended[self.ends.integers(len(self.ended))]
        if self.ends.random() < 0.5:  # what makes a gradient for it
            ended = self.add("Mul", [ended, self.constant(np.float32(0.1))])
        else:
            ended = self.add("Mul", [self.add("Mul", [ended, self.add("Tanh", [x])]), self.constant(np.float32(0.1))])
        return self.add("Add", [x, ended])


def mlp(g):
    width, depth = int(g.rng.choice([8, 12])), int(g.rng.integers(4, 8))
    x = g.activation(g.linear(g.input("x", ["batch", 10]), 10, width))
    past, tied = [x], g.weight(width, width) if g.maybe() else None
    for _ in range(depth):
        x = g.linear(x, width, width, tied if tied and g.maybe(0.4) else None)
        if g.maybe(0.3):
            x = g.batch_norm(x, width) if g.maybe() else g.norm(x, width)
        x = g.activation(x)
        if g.maybe(0.3):
            x = g.dropout(x)
        if g.maybe(0.4):
            x = g.add("Add", [x, past[g.rng.integers(len(past))]])
        x = g.besides(x, past)
        past.append(x)
    return past, g.linear(x, width, CLASSES)


def cnn(g):
    channels, depth = int(g.rng.choice([4, 6])), int(g.rng.integers(3, 6))
    conv = lambda x, n: g.add("Conv", [x, g.weight(channels, n, 3, 3, scale=0.3), g.weight(channels, value=0)], pads=[1, 1, 1, 1])
    x = g.activation(conv(g.input("x", ["batch", 2, 6, 6]), 2))
    past = [x]
    for _ in range(depth):
        x = conv(x, channels)
        if g.maybe():
            x = g.batch_norm(x, channels)
        x = g.activation(x)
        if g.maybe():
            x = g.add("Add", [x, past[g.rng.integers(len(past))]])
        x = g.besides(x, past)
        past.append(x)
    x = g.add("Flatten", [g.add("GlobalAveragePool", [x])])
    return past, g.linear(x, channels, CLASSES)


def transformer(g):
    width, length, words, depth = 8, 6, 11, int(g.rng.integers(2, 4))
    table = g.weight(words, width)
    x = g.add("Gather", [table, g.input("x", ["batch", length], TensorProto.INT64)])
    past = [x]
    for _ in range(depth):
        n = g.norm(x, width)
        q, k, v = (g.linear(n, width, width) for _ in range(3))
        scores = g.add("Mul", [g.add("MatMul", [q, g.add("Transpose", [k], perm=[0, 2, 1])]), g.constant(np.float32(0.35))])
        a = g.add("MatMul", [g.add("Softmax", [scores], axis=-1), v])
        x = g.add("Add", [x, g.dropout(a) if g.maybe() else a])
        n = g.norm(x, width)
        x = g.add("Add", [x, g.linear(g.activation(g.linear(n, width, 2 * width)), 2 * width, width)])
        x = g.besides(x, past)
        past.append(x)
    if g.maybe():
        x = g.add("Add", [x, past[0]])
    x = g.add("ReduceMean", [x], axes=[1], keepdims=0)
    if g.maybe():  # tied with the table
        logits = g.add("MatMul", [x, g.add("Transpose", [table], perm=[1, 0])])
        return past, g.linear(logits, words, CLASSES)
    return past, g.linear(x, width, CLASSES)


def masked_loss(g, logits, labels, least):
    """The mean over some of the samples, or their sum divided by `least` where they are fewer."""
    each = g.add("SoftmaxCrossEntropyLoss", [logits, labels], reduction="none")
    mask = g.add("Cast", [g.add("Less", [labels, g.constant(np.int64(CLASSES // 2))])], to=TensorProto.FLOAT)
    bound = g.add("Constant", [], value=numpy_helper.from_array(np.float32(least)))  # an initializer would be trained
    count = g.add("Max", [g.add("ReduceSum", [mask], keepdims=0), bound])
    return g.add("Div", [g.add("ReduceSum", [g.add("Mul", [each, mask])], keepdims=0), count])


def model(seed, path):
    rng, late = np.random.default_rng(seed), np.random.default_rng([seed, 14])  # late: added last; the test's own seeds draw none of it
    ends = np.random.default_rng([seed, 25])
    g = Graph(rng, ends if ends.random() < 0.5 else None)
    kind = [mlp, cnn, transformer][seed % 3]
    past, logits = kind(g)
    labels = g.input("labels", ["batch"], TensorProto.INT64)
    loss = g.add("SoftmaxCrossEntropyLoss", [logits, labels], reduction=str(rng.choice(["mean", "sum"])))
    if late.random() < 0.3:
        loss = masked_loss(g, logits, labels, late.choice([1, 20]))
    has_terms = rng.random() < 0.4
    if has_terms:  # a second term, of the middle of the model
        middle = past[len(past) // 2]
        term = g.add("ReduceMean", [g.add("Mul", [middle, middle])], keepdims=0)
        loss = g.add("Add", [loss, g.add("Mul", [term, g.constant(np.float32(0.1))])])
    if late.random() < 0.3:  # a penalty on a weight of some stage
        weight = str(late.choice([tensor.name for tensor in g.weights if len(tensor.dims) > 1]))
        penalty = g.add("ReduceSumSquare", [weight], keepdims=0)
        loss, has_terms = g.add("Add", [loss, g.add("Mul", [penalty, g.constant(np.float32(0.01))])]), True
    g.nodes.append(helper.make_node("Identity", [loss], ["loss"]))
    graph = helper.make_graph(g.nodes, "random", g.inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], g.weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(proto)
    onnx.save(proto, path)
    return g, kind.__name__, any(node.op_type == "BatchNormalization" for node in g.nodes), has_terms


SCHEDULES = {"naive": 1, "gpipe": 1, "1f1b": 1, "eager-1f1b": 1, "interleaved-1f1b": 2, "zb-h1": 1, "zb-h2": 1, "dualpipe-v": 2}
SPLIT = ("zb-h1", "zb-h2", "dualpipe-v")


def choose(seed, has_batch_norm, has_terms):
    """The options of the pipeline, of the one stage that it is compared with, and of the uncut model."""
    rng = np.random.default_rng(10_000 + seed)
    pick = lambda *of: of[rng.integers(len(of))]
    schedule = list(SCHEDULES)[seed % len(SCHEDULES)]
    stages = 2 if SCHEDULES[schedule] == 2 else pick(2, 2, 3)
    micro = stages * pick(1, 2, 3) if schedule != "dualpipe-v" else 4 * pick(1, 2)
    mesh = pick("", "", "dp=2", "fsdp=2")
    if mesh and stages > 2:
        mesh = ""
    more = ["--optimizer", pick("sgd,momentum=0.9", "adamw,weight_decay=0.01"), "--micro-batches", str(micro)]
    precision = pick("", "", "bf16", "fp16")
    if precision:
        more += ["--precision", precision] + (["--loss-scale", "dynamic,init=256"] if precision == "fp16" else [])
    if has_batch_norm:
        more += ["--batch-norm", pick("local", "sync", "local-deferred", "sync-deferred")]
    if mesh == "fsdp=2":
        more += ["--fsdp-strategy", pick("full-shard", "shard-grad-op", "zero-2", "zero-1")]
    elif mesh == "dp=2":
        more += ["--dp-sync", pick("all-reduce", "parameter-server")]
    if mesh and rng.random() < 0.4:
        more += ["--grad-sync", pick("every", "last")]
    if rng.random() < 0.3:
        more += ["--loss-average", pick("global", "rank") if not has_terms else "global"]  # a rank's mean is that of one sum
    alone = []  # what the pipeline alone does, and what changes no bit
    if rng.random() < 0.2:  # other kernels, in all of them
        more += ["--recompute", "never"]
    elif (recompute := pick("none", "blocks", "every=2")) != "none":
        alone += ["--recompute", recompute, "--recompute-when", pick("always", "except-last", "never")]
    if (offload := pick("", "", "activations", "optimizer,activations", "params,grads,optimizer,activations")):
        alone += ["--offload", offload]
    cut = pick("auto", "auto", "uniform", "parameters")
    request = f"stages={stages * SCHEDULES[schedule]} split={cut}" + (" split-backward=true" if schedule in SPLIT else "")
    pipeline = [*more, *alone, "--mesh", ",".join(filter(None, [mesh, f"pp={stages}"])), "--schedule", schedule, "--stage-split", cut]
    one = [*more, *(["--mesh", mesh] if mesh else []), "--insert", "import=request-stages{" + request + "}"]
    uncut = [*more, *(["--mesh", mesh] if mesh else [])]
    train = ["--clip-grad-norm", "0.5"] if rng.random() < 0.6 else []
    tolerance = {"": 1e-4, "bf16": 5e-2, "fp16": 1e-2}[precision]
    return pipeline, one, uncut, train, tolerance, (2 if mesh else 1) * micro * 2


class Failure(Exception):
    pass


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}\n{done.stdout[-500:]}{done.stderr[-1500:]}")


class Outcome:
    """What a run leaves: the losses, that of validation last, and every tensor of the checkpoint by its bytes."""

    def __init__(self, losses, tensors):
        self.losses, self.tensors = losses, tensors

    def difference(self, other):
        if self.losses != other.losses:
            return f"losses {self.losses}, the same chunks on one stage {other.losses}"
        names = [name for name in sorted(self.tensors.keys() | other.tensors.keys()) if self.tensors.get(name) != other.tensors.get(name)]
        return f"states differ: {', '.join(names)}" if names else ""


def tensors_of(checkpoints):
    """Bytes by name, with the type."""
    tensors = {}
    for path in checkpoints.glob("*/*.safetensors"):
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        for name, entry in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[name] = (entry["dtype"], tuple(entry["shape"]), data[8 + size + begin:8 + size + end])
    return tensors


def outcome(folder, name, options, train, data):
    program, metrics, checkpoints = folder / name, folder / f"{name}.jsonl", folder / f"{name}.ckpt"
    metrics.unlink(missing_ok=True)
    shutil.rmtree(checkpoints, ignore_errors=True)
    run(["cleave", "compile", folder / "model.onnx", "-o", program, "--train", "--loss-output", "loss", "--dim", "batch=2", *options])
    command = [program, "train", "--steps", STEPS, "--lr", "0.05" if "sgd" in " ".join(options) else "0.003", "--seed", 3, "--threads", 1, *train]
    for key, array in data.items():
        np.save(folder / f"{key}.npy", array)
        command += ["--data", f"{key}={folder / key}.npy", "--val-data", f"{key}={folder / key}.npy"]
    run([*command, "--no-shuffle", "--metrics", metrics, "--save", checkpoints, "--checkpoint", "full"])
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    losses = [float("nan" if line[key] is None else line[key]) for key in ("loss", "val_loss") for line in lines if key in line]  # null: not finite
    return Outcome(losses, tensors_of(checkpoints))


def check(seed, folder):
    g, kind, has_batch_norm, has_terms = model(seed, folder / "model.onnx")
    pipeline, one, uncut, train, tolerance, batch = choose(seed, has_batch_norm, has_terms)
    rng = np.random.default_rng(seed)
    shapes = {i.name: (i.type.tensor_type.elem_type, [d.dim_value for d in i.type.tensor_type.shape.dim][1:]) for i in g.inputs}
    data = {"labels": rng.integers(0, CLASSES, STEPS * batch)}
    element, shape = shapes["x"]
    data["x"] = rng.integers(0, 11, (STEPS * batch, *shape)) if element == TensorProto.INT64 else \
        rng.normal(size=(STEPS * batch, *shape)).astype(np.float32)
    told = f"seed {seed}: {kind}, {' '.join(pipeline)}"
    try:
        ours = outcome(folder, "pipeline", pipeline, train, data)
        expected = outcome(folder, "one", one, train, data)
        # Adam moves what has no gradient by the sign of rounding errors.
        whole = outcome(folder, "uncut", uncut, train, data) if seed % 4 == 0 and "adamw" not in " ".join(uncut) else ours
    except (Failure, subprocess.TimeoutExpired) as failure:
        raise Failure(f"{told}\n{failure}") from failure
    if len(ours.losses) != STEPS + 1 or not np.all(np.isfinite(ours.losses)) or not ours.tensors:
        raise Failure(f"{told}\nlosses {ours.losses}, {len(ours.tensors)} tensors")
    if difference := ours.difference(expected):
        raise Failure(f"{told}\n{difference}\n{' '.join(one)}")
    # Runs that diverge turn rounding errors into any difference.
    diverge = all(not np.max(each.losses) <= 100 * each.losses[0] for each in (ours, whole))
    if not diverge and not np.allclose(ours.losses, whole.losses, rtol=tolerance, atol=tolerance):
        raise Failure(f"{told}\nlosses {ours.losses}\nuncut: {whole.losses}\n{' '.join(uncut)}")
    return told


def main():
    arguments = seed_runs.parser().parse_args()
    seed_runs.prepare(arguments)
    seed_runs.run(arguments, lambda seed: check(seed, arguments.folder), Failure, "pipelines")


if __name__ == "__main__":
    main()
