"""A random training job on many layouts: ranks, micro-batches and strategies change how a step is computed, not what.

Each job runs on one rank and on some of LAYOUTS. After a step of SGD every parameter must have moved as on one rank, but for rounding, and
every loss and the norm of all gradients must be the same; what the one rank computes is compared with differences in f64 (training.py), if
nothing is drawn at random. SAME are options that must not change one bit of a layout's losses and state.
"""
import json

import numpy as np

import compare_checkpoints
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
        self.loss, self.data = job.g.outputs[0], list(arguments)
        for name, array in job.data.items():
            if name in job.g.inputs:
                np.save(folder / f"{name}.npy", array)
                self.data += ["--data", f"{name}={folder}/{name}.npy"]

    def train(self, name, micro, options):
        """The losses, the checkpoints after one step and after all, and the norms of all gradients."""
        program, saved, metrics = (self.folder / f"{name}{end}" for end in ("", ".saved", ".jsonl"))
        options = [*options, "--micro-batches", str(micro)] if micro > 1 and "--micro-batches" not in options else options
        try:
            self.compile_model(self.folder / "graph.onnx", program, "--train", "--loss-output", self.loss, "--optimizer", "sgd,momentum=0.9",
                               "--global-batch", str(samples.BATCH), *options)
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


def compare_with_differences(job, checkpoint, wrong):
    """As training.check has it."""
    if any(node.op_type == "Dropout" for node in job.g.nodes):
        return 0, 0
    found, rng, compared = updates(job, checkpoint), np.random.default_rng(1), 0
    loss, names = training.Loss(job.g), sorted(found)
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
    numbers = (0, 0) if reduced or clip else compare_with_differences(job, one[1], wrong)
    error = 3e-2 if reduced else 2e-6
    for name in rng.choice(list(LAYOUTS), 3, replace=False):
        _, micro, options = LAYOUTS[name]
        plain = runner.train(name, micro, options + reduced)
        reason = compare(job, one, plain, error)
        if reason:
            raise wrong(f"{name} {' '.join(options + reduced)}: {reason}")
        same = SAME[rng.integers(len(SAME))]
        if "blocks" in same and not job.blocks:
            continue
        other = runner.train(f"{name}-same", micro, options + reduced + same)
        if other[0] != plain[0] or compare_checkpoints.difference(plain[2], other[2]):
            raise wrong(f"{name} {' '.join(options + reduced + same)} is not bitwise the same: losses {other[0]}, without {plain[0]}; "
                        f"{compare_checkpoints.difference(plain[2], other[2])}")
    return len(job.g.nodes), numbers
