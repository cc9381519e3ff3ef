"""A random training job on many layouts: ranks, micro-batches and strategies change how a step is computed, not what.

Each job runs on one rank and on some of LAYOUTS. After a step of SGD every parameter must have moved as on one rank, but for rounding, and
every loss and the norm of all gradients must be the same; what the one rank computes is compared with differences in f64 (training.py), if
nothing is drawn at random. Jobs whose loss the compiler says to be averaged over micro-batches may differ there, and have that average.
Evaluation and inference take other numbers of samples (partial.py), and `--loss-average rank` gives the mean of the ranks' own losses. SAME
are options that must not change one bit of a layout's losses and state.
"""
import json

import numpy as np

import compare_checkpoints
import partial
import samples
import training

RATE = 2.0**-7
LAYOUTS = {
    "micro4": (1, 4, []),
    "micro2": (1, 2, ["--bucket-size", "256"]),
    "dp2": (2, 1, ["--mesh", "dp=2"]),
    "dp4": (4, 1, ["--mesh", "dp=4", "--bucket-size", "300"]),
    "dp2-micro2": (2, 2, ["--mesh", "dp=2", "--micro-batches", "2"]),
    "dp2-micro2-every": (2, 2, ["--mesh", "dp=2", "--grad-sync", "every"]),
    "server": (2, 1, ["--mesh", "dp=2", "--dp-sync", "parameter-server"]),
    "fsdp2": (2, 1, ["--mesh", "fsdp=2"]),
    "fsdp2-small": (2, 2, ["--mesh", "fsdp=2", "--fsdp-units", "size=256"]),
    "fsdp2-last": (2, 2, ["--mesh", "fsdp=2", "--grad-sync", "last"]),
    "fsdp4": (4, 2, ["--mesh", "fsdp=4"]),
    "zero-1": (2, 2, ["--mesh", "fsdp=2", "--fsdp-strategy", "zero-1"]),
    "zero-2": (2, 2, ["--mesh", "fsdp=2", "--fsdp-strategy", "zero-2"]),
    "shard-grad-op": (2, 2, ["--mesh", "fsdp=2", "--fsdp-strategy", "shard-grad-op"]),
    "no-shard": (2, 1, ["--mesh", "fsdp=2", "--fsdp-strategy", "no-shard"]),
    "dp2-fsdp2": (4, 2, ["--mesh", "dp=2,fsdp=2"]),
    "dp2-fsdp2-zero-1": (4, 1, ["--mesh", "dp=2,fsdp=2", "--fsdp-strategy", "zero-1"]),
    "dp2-fsdp2-zero-2": (4, 2, ["--mesh", "dp=2,fsdp=2", "--fsdp-strategy", "zero-2", "--bucket-size", "256"]),
}
SAME = [["--recompute", "blocks"], ["--offload", "activations"], ["--offload", "params,grads,optimizer"],
        ["--recompute", "blocks", "--offload", "activations,params,grads,optimizer"]]


class Runner:
    """Compiles and trains one job in its folder."""

    def __init__(self, job, folder, arguments, compile_model, run, wrong):
        self.folder, self.compile_model, self.run, self.wrong = folder, compile_model, run, wrong
        job.save(folder / "graph.onnx")
        self.loss, self.data, self.notes = job.g.outputs[0], list(arguments), {}
        for name, array in job.data.items():
            if name in job.g.inputs:
                np.save(folder / f"{name}.npy", array)
                self.data += ["--data", f"{name}={folder}/{name}.npy"]

    def train(self, name, micro, options):
        """The losses, the checkpoints after one step and after all, and the norms of all gradients."""
        program, saved, metrics = (self.folder / f"{name}{end}" for end in ("", ".saved", ".jsonl"))
        options = [*options, "--micro-batches", str(micro)] if micro > 1 and "--micro-batches" not in options else options
        try:
            self.notes[name] = self.compile_model(self.folder / "graph.onnx", program, "--train", "--loss-output", self.loss, "--optimizer",
                                                  "sgd,momentum=0.9", "--global-batch", str(samples.BATCH), *options)
        except self.wrong as error:
            raise self.wrong(f"{name} {' '.join(options)}: {error}")
        code, said = self.run([program, "train", "--no-shuffle", "--steps", str(samples.STEPS), "--lr", str(RATE), *self.data, "--save", saved,
                               "--save-every", "1", "--metrics", metrics])
        if code:
            raise self.wrong(f"{name} {' '.join(options)} does not train (status {code}): {said.strip().splitlines()[-3:]}")
        rows = [row for row in map(json.loads, metrics.read_text().splitlines()) if "loss" in row]
        first = compare_checkpoints.read(saved / "step-00000001")
        return [row["loss"] for row in rows], first, compare_checkpoints.read(saved), [row["grad_norm"] for row in rows]


def updates(job, checkpoint):
    """The gradient of every parameter, from its first update; in 16 bits from the master copy."""
    tensors, found = checkpoint[0], {}
    for name in job.parameters:
        entry = tensors.get((name, "master")) or tensors.get((name, ""))
        if entry:
            after = np.frombuffer(entry[2], "f4").reshape(entry[1]).astype("f8")
            found[name] = (job.g.arrays[name].astype("f8") - after) / RATE
    return found


def compare(job, expected, got, error):
    """What differs from the run on one rank by more than rounding, or None."""
    (losses, first, _, norms), (others, second, _, other_norms) = expected, got
    size = abs(losses[0]) + 1e-3
    for step, (one, other) in enumerate(zip(losses, others, strict=True), 1):
        if not abs(one - other) <= error * 10 ** (step - 1) * (abs(one) + size):
            return f"step {step}: loss {other!r}, on one rank {one!r}"
    if not abs(norms[0] - other_norms[0]) <= 20 * error * norms[0] + 1e-6:
        return f"the norm of all gradients is {other_norms[0]!r}, on one rank {norms[0]!r}"
    ours, theirs = updates(job, second), updates(job, first)
    if ours.keys() != theirs.keys():
        return f"parameters {sorted(ours)}, on one rank {sorted(theirs)}"
    largest = max((np.abs(g).max() for g in theirs.values()), default=0)
    for name, gradient in theirs.items():
        step = 2.0**-23 * np.abs(job.g.arrays[name]).max() / RATE
        allowed = 20 * error * np.abs(gradient).max() + error * largest + 2 * step
        worst = np.abs(gradient - ours[name]).max()
        if not worst <= allowed:
            return f"gradient of {name} is off by {worst:.3g}, above {allowed:.3g} (largest {np.abs(gradient).max():.3g})"
    return None


def compare_with_differences(job, one, wrong):
    """As training.check has it; the loss, too."""
    if any(node.op_type == "Dropout" for node in job.g.nodes):
        return 0, 0
    found, rng, compared = updates(job, one[1]), np.random.default_rng(1), 0
    loss, names = training.Loss(job.g), sorted(found)
    if not abs(one[0][0] - loss({})) <= 1e-4 * (abs(loss({})) + 1):
        raise wrong(f"on one rank: loss {one[0][0]!r}, expected {loss({})!r}")
    groups = [names, names] + [[name] for name in names[:3]]
    for group in groups:
        direction = {name: rng.standard_normal(found[name].shape) for name in group}
        expected = loss.slope(direction)
        if expected is None:
            continue
        compared += 1
        ours = sum(float((found[name] * direction[name]).sum()) for name in group)
        size = sum(float(np.abs(found[name] * direction[name]).sum()) for name in group)
        rounding = sum(float((np.abs(job.g.arrays[name]) * np.abs(direction[name])).sum()) for name in group) * 2.0**-23 / RATE
        if not abs(ours - expected) <= 5e-3 * abs(expected) + 1e-4 * size + rounding + 2e-5:
            raise wrong(f"on one rank: gradient along {group} is {ours:.6g}, expected {expected:.6g}")
    return compared, len(groups)


def average_of_micro_batches(job, micro):
    """The loss of the first step where the compiler says that it is averaged over micro-batches of one rank."""
    size = samples.BATCH // micro
    losses = [partial.numbers(job, job.g.outputs, size, first) for first in range(0, samples.BATCH, size)]
    return np.mean([float(loss[0]) for loss in losses]) if None not in losses else np.nan


def check_average_of_ranks(job, runner):
    """With --loss-average rank the loss is the mean of those of the ranks' own samples, or the compiler refuses it."""
    try:
        losses = runner.train("ranks", 1, ["--mesh", "dp=2", "--loss-average", "rank"])[0]
    except runner.wrong as error:
        if "the loss cannot be averaged per rank" in str(error) or "the loss is not a number" in str(error):  # a rank where nothing counts
            return
        raise
    average = average_of_micro_batches(job, 2)
    if abs(losses[0] - average) > 1e-4 * (abs(average) + 1):
        raise runner.wrong(f"--loss-average rank: loss {losses[0]!r}, expected {average!r}")


def excused(job, runner, name, losses):
    """Whether the compiler says that the loss of micro-batches is not that of the batch; then it is what docs/training.md says."""
    ranks, micro, _ = LAYOUTS[name]
    if micro == 1:
        return False
    if "the loss is averaged over batches of" in runner.notes[name]:
        average = average_of_micro_batches(job, micro) if ranks == 1 and not job.draws and not job.counts else np.nan
        return not abs(losses[0] - average) > 1e-4 * (abs(average) + 1)
    return "the term counts less than with" in runner.notes[name]


def check(seed, folder, compile_model, run, wrong):
    try:
        job = samples.grow(seed)
    except samples.Rejected:
        return 0, (0, 0)
    if not job.parameters:
        return 0, (0, 0)
    rng = np.random.default_rng(seed + 1)
    clip = ["--clip-grad-norm", "0.25"] if rng.random() < 0.2 else []
    runner = Runner(job, folder, clip, compile_model, run, wrong)
    reduced = ["--precision", "bf16"] if rng.random() < 0.2 else []
    one = runner.train("one", 1, reduced)
    numbers = (0, 0) if reduced or clip else compare_with_differences(job, one, wrong)
    if not reduced and not job.draws:
        partial.check(job, runner, rng)
        if job.averages and rng.random() < 0.4:
            check_average_of_ranks(job, runner)
    error = 3e-2 if reduced else 2e-6
    for name in rng.choice(list(LAYOUTS), 3, replace=False):
        _, micro, options = LAYOUTS[name]
        plain = runner.train(name, micro, options + reduced)
        reason = compare(job, one, plain, error)
        if reason and not excused(job, runner, name, plain[0]):
            raise wrong(f"{name} {' '.join(options + reduced)}: {reason}")
        same = SAME[rng.integers(len(SAME))]
        if "blocks" in same and not job.blocks:
            continue
        other = runner.train(f"{name}-same", micro, options + reduced + same)
        if other[0] != plain[0] or compare_checkpoints.difference(plain[2], other[2]):
            raise wrong(f"{name} {' '.join(options + reduced + same)} is not bitwise the same: losses {other[0]}, without {plain[0]}; "
                        f"{compare_checkpoints.difference(plain[2], other[2])}")
    return len(job.g.nodes), numbers
