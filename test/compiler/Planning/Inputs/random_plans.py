"""random_plans.py [--stop-after PHASE] WEIGHTS FOLDER --plans N [--first SEED]: plans of small models under options drawn at random.

As emit_plans.py, with a mesh, a sharding strategy, a schedule, types, recomputation and offloading drawn for each seed: what no list of
layouts has together. Writes FOLDER/SEED-MODEL.plan (or .mlir); FOLDER/options.txt has the command of each. Options that do not
go together are refused by an error that names one, which is counted; anything else fails."""
import argparse
import collections
import math
import pathlib
import random
import subprocess
import sys

import emit_plans

OPTIMIZERS = ["sgd", "sgd,momentum=0.9", "sgd,momentum=0.9,nesterov=true", "adam", "adamw", "adadelta"]
SCHEDULES = ["naive", "gpipe", "1f1b", "eager-1f1b", "interleaved-1f1b", "interleaved-1f1b,chunks=3", "zb-h1", "zb-h2", "dualpipe-v"]
PRECISIONS = ["bf16", "fp16", "param=bf16", "reduce=bf16", "param=bf16,reduce=f32", "param=fp16,reduce=fp16"]
RECOMPUTE = ["never", "none", "blocks", "every=2", "first=1", "segments=2"]
OFFLOAD = ["params", "grads", "optimizer", "activations"]
STRATEGIES = ["full-shard", "shard-grad-op", "zero-2", "zero-1", "no-shard"]
LEAST_SHARE_COMPILED = 0.25  # of the drawn options; less says that the draws are no test


def draw(seed):
    """A model and its options."""
    rng = random.Random(seed)
    some = lambda share: rng.random() < share
    mesh = {"dp": rng.choice([1, 1, 2, 3]), "fsdp": rng.choice([1, 1, 2, 2, 4]), "pp": rng.choice([1, 1, 2, 2, 4])}
    while math.prod(mesh.values()) > 8:
        mesh[rng.choice(list(mesh))] = 1
    micro = rng.choice([1, 2, 3]) if mesh["pp"] == 1 else rng.choice([1, 2, 4]) * mesh["pp"]
    batch = math.prod(mesh.values()) // mesh["pp"] * micro * rng.choice([1, 2])
    options = ["--optimizer", rng.choice(OPTIMIZERS), "--micro-batches", str(micro)]
    axes = [axis for axis in mesh if mesh[axis] > 1]
    rng.shuffle(axes)
    if axes:
        options += ["--mesh", ",".join(f"{axis}={mesh[axis]}" for axis in axes)]
    if mesh["dp"] > 1:
        options += ["--dp-sync", "parameter-server"] if some(0.2) else []
        options += ["--bucket-size", rng.choice(["1KiB", "8KiB", "64KiB"])] if some(0.4) else []
    if mesh["fsdp"] > 1:
        options += ["--fsdp-strategy", rng.choice(STRATEGIES)] if some(0.6) else []
        options += ["--grad-sync", rng.choice(["every", "last"])] if micro > 1 and some(0.5) else []
        options += ["--forward-prefetch", "off"] if some(0.2) else []
        options += ["--backward-prefetch", rng.choice(["post", "none"])] if some(0.3) else []
        options += ["--gathers-in-flight", str(rng.choice([1, 3]))] if some(0.3) else []
        options += ["--fsdp-units", rng.choice(["size=1KiB", "size=16KiB"])] if some(0.2) else []
    if mesh["pp"] > 1:
        options += ["--schedule", rng.choice(SCHEDULES)] if some(0.8) else []
        options += ["--stage-split", rng.choice(["uniform", "parameters"])] if some(0.3) else []
    if some(0.4):
        options += ["--precision", rng.choice(PRECISIONS)]
    if some(0.4):
        options += ["--recompute", rng.choice(RECOMPUTE)]
    if some(0.3):
        options += ["--offload", ",".join(kind for kind in OFFLOAD if some(0.5)) or "params"]
    if some(0.15):
        options += ["--save-async"]
    if some(0.15):
        options += ["--loss-average", "rank"]
    model, (name, *training) = rng.choice(list(emit_plans.MODELS.items()))
    return model, [name, *training[:-1], str(batch), *options]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after")
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--plans", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    suffix, output = (".mlir", ["--stop-after", given.stop_after]) if given.stop_after else (".plan", ["--emit", "plan"])
    given.folder.mkdir(parents=True, exist_ok=True)
    lines, failures, refusals = [], [], collections.Counter()
    for seed in range(given.first, given.first + given.plans):
        model, (name, *options) = draw(seed)
        path = given.folder / f"{seed}-{model}{suffix}"
        command = ["cleave", "compile", str(given.weights / name), *options, *output, "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        lines.append(f"{'compiled' if done.returncode == 0 else 'refused'} {' '.join(command)}\n{done.stderr if done.returncode else ''}")
        if done.returncode:
            error = done.stderr.splitlines()[0] if done.stderr else ""
            if done.returncode not in (1, 2) or not error.startswith("cleave: error: --"): # an option, by its name
                failures.append(f"FAILED: {' '.join(command)}\n{done.stderr}")
                continue
            refusals[error[len("cleave: error: "):][:120]] += 1
    (given.folder / "options.txt").write_text("\n".join(lines))
    for error, count in refusals.most_common():
        print(f"{count} refused: {error}")
    if failures:
        sys.exit("\n".join(failures))
    if sum(refusals.values()) > (1 - LEAST_SHARE_COMPILED) * given.plans:
        sys.exit("FAILED: too few of the drawn options compile")


if __name__ == "__main__":
    main()
