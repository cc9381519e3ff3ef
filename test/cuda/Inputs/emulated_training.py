"""emulated_training.py SOURCE BUILD FOLDER [--seeds=N] [--ways=A,B] [--same=OPTIONS] [--target=CHIP] CASE...    CASE is model:precision:steps[:options of cleave compile]

Trains each case on the host and on the emulated CUDA device. The losses of every step must agree (relative 1e-5 in f32, the
rounding of the type in bf16 and fp16), and N (two) runs on the device, under different seeds of its adversarial timing, must
save the same bytes. A finding of the device (a race, an access out of bounds, memory that nothing wrote, a leak) fails the
run: the context is lost, or the process ends with code 99.

--ways runs the one program of a case in several ways (WAYS), each under seeds of its own. The bytes of a way must be those of the one
before it, or of its own second run: either says that they depend neither on the seed nor on what else differs. It ends with a line
for each way, `WAY: ok, ...` or `WAY: failed, ...`.

--same compiles each case once more with these options of cleave compile, which must change the plan. Losses and bytes of the checkpoint
must be those without them."""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402

TARGET = next((argument[9:] for argument in sys.argv[4:] if argument.startswith("--target=")), "sm_90")
TOLERANCE = {"f32": 1e-5, "bf16": 1e-2, "fp16": 2e-3}
WAYS = {"graph": {}, "no-graph": {"CLEAVE_CUDA_GRAPHS": "0"}, "shared": {"CLEAVE_EMULATED_DEVICES": "1", "CLEAVE_CUDA_COMM": "host"}}
NCCL = {"CLEAVE_EMULATED_DEVICES": "4", "CLEAVE_CUDA_COMM": "nccl"}  # a device for each rank, in the ways that say nothing else


class Wrong(Exception):
    pass


def run(command, **environment):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=emulated.environment(build, **environment),
                            check=False)
    if result.returncode:
        raise Wrong(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stdout[-1500:]}{result.stderr[-3000:]}")
    return result.stdout + result.stderr


def losses(path, key="loss"):
    """Of all steps: the loss, or another of a step's metrics."""
    return [json.loads(line)[key] for line in path.read_text().splitlines() if "loss" in json.loads(line)]


def apart(found, expected):
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True))


def saved(path):
    return {p.relative_to(path): p.read_bytes() for p in sorted(path.rglob("*.safetensors"))}


def model_file(name):
    """The model with its weights: those of test/models are made from a seed."""
    path = source / training_cases.CASES[name][0]
    if "test/models" not in str(path):
        return path
    made = folder / "models" / path.parent.name / path.name
    if not made.exists():
        run([sys.executable, source / "test/models/make_weights.py", folder / "models", path])
    return made


class Case:
    """A model, compiled for the host and for a device, and run on the host."""

    def __init__(self, case):
        self.name, name = case, case.split(":")[0]
        _, precision, steps, *options = case.split(":")
        options = options[0].split() if options else []
        self.here = folder / "".join(c if c.isalnum() or c in "-." else "_" for c in case)
        self.here.mkdir(parents=True)
        self.steps, self.tolerance, self.ranks = int(steps), TOLERANCE[precision], "--mesh" in options
        data = []
        for key, array in training_cases.data(name).items():
            np.save(self.here / f"{key}.npy", array)
            data += ["--data", f"{key}={self.here / key}.npy"]
        compile_ = ["cleave", "compile", model_file(name), "--train", "--loss-output", "loss", "--optimizer",
                    training_cases.OPTIMIZERS["adamw"][0], "--precision", precision, *options]
        if "--global-batch" not in options:
            compile_ += ["--global-batch", training_cases.CASES[name][1]]
        self.compile = compile_
        run([*compile_, "-o", self.here / "host"])
        run([*compile_, "-o", self.here / "gpu", "--target", f"cuda:{TARGET}"])
        self.arguments = ["train", *data, "--no-shuffle", "--steps", steps, "--lr", training_cases.rate(name, "adamw")]
        run([self.here / "host", *self.arguments, "--metrics", self.here / "host.jsonl", "--threads", 1])
        self.expected = losses(self.here / "host.jsonl")

    def outcome(self, seed, program="gpu", **environment):
        """Losses, and the bytes of the checkpoint, of one run on the device; and how far the losses are from the host's."""
        metrics, checkpoint = self.here / f"gpu{seed}.jsonl", self.here / f"saved{seed}"
        run([self.here / program, *self.arguments, "--metrics", metrics, "--save", checkpoint],
            CLEAVE_EMULATED_SEED=str(seed), CLEAVE_EMULATED_LEAKS="fail", CLEAVE_EMULATED_NCCL_LIMIT_S="900", **environment)
        found, kept = losses(metrics), saved(checkpoint)
        shutil.rmtree(checkpoint)
        if len(found) != self.steps or len(self.expected) != self.steps or not kept:
            raise Wrong(f"{self.name}: {len(found)} and {len(self.expected)} losses instead of {self.steps}, {len(kept)} files saved")
        worst = apart(found, self.expected)
        if not worst <= self.tolerance:
            raise Wrong(f"{self.name}: losses {found} on the emulated device, {self.expected} on the host: {worst:.1e} apart")
        norms = losses(metrics, "grad_norm"), losses(self.here / "host.jsonl", "grad_norm")  # a first step's loss knows no gradient
        if not apart(*norms) <= 10 * self.tolerance:
            raise Wrong(f"{self.name}: norms of the gradient {norms[0]} on the emulated device, {norms[1]} on the host")
        if self.ranks and losses(metrics, "comm_bytes") != losses(self.here / "host.jsonl", "comm_bytes"):
            raise Wrong(f"{self.name}: other numbers of bytes than the host's are sent")
        return (found, kept), worst


def train(name, seeds):
    case = Case(name)
    first, worst = case.outcome(1)
    for seed in range(2, seeds + 1):
        if case.outcome(seed)[0] != first:
            raise Wrong(f"{name}: runs 1 and {seed} on the emulated device differ")
    print(f"{name}: {case.steps} steps, losses within {worst:.1e} of the host's, {seeds} seeds alike")


def train_with(name, options):
    """The case's program, and the one that is compiled with more options."""
    case = Case(name)
    environment = NCCL if case.ranks else {}
    run([*case.compile, *options, "-o", case.here / "changed", "--target", f"cuda:{TARGET}"])
    plans = [run(["cleave", "inspect", case.here / program, "--text"]) for program in ("gpu", "changed")]
    if plans[0].split("\n", 1)[1] == plans[1].split("\n", 1)[1]:
        raise Wrong(f"{name}: {' '.join(options)} does not change the plan")
    (plain, worst), (changed, _) = case.outcome(1, **environment), case.outcome(2, "changed", **environment)
    if plain[0] != changed[0]:
        raise Wrong(f"{name}: losses {changed[0]} with {' '.join(options)}, {plain[0]} without")
    differ = sorted(str(path) for path in plain[1].keys() | changed[1].keys() if plain[1].get(path) != changed[1].get(path))
    if differ:
        raise Wrong(f"{name}: the checkpoint differs with {' '.join(options)}: {', '.join(differ)}")
    size = sum(map(len, plain[1].values()))
    print(f"{name}: {case.steps} losses and {size} bytes of checkpoint equal with {' '.join(options)}; losses within {worst:.1e} of the host's")


def train_in_ways(name, ways):
    """Whether all went well; a way that fails does not hide the others."""
    case, seed, before, good = Case(name), 0, None, True
    for way in ways:
        environment = {**(NCCL if case.ranks else {}), **WAYS[way]}
        try:
            seed += 1
            found, worst = case.outcome(seed, **environment)
            alike = f"the bytes of {before[1]}" if before and before[0] == found else ""
            if not alike:
                seed += 1
                if case.outcome(seed, **environment)[0] != found:
                    raise Wrong(f"{name}: seeds {seed - 1} and {seed} differ")
                alike = "2 seeds alike"
            before = (found, way)
            print(f"{way}: ok, {case.steps} steps, losses within {worst:.1e} of the host's, {alike}", flush=True)
        except Wrong as wrong:
            good = False
            print(f"{way}: failed, " + " ".join(str(wrong).split())[-600:], flush=True)
    return good


def main():
    options = dict(argument[2:].split("=", 1) for argument in sys.argv[4:] if argument.startswith(("--seeds=", "--ways=", "--same=")))
    cases = [argument for argument in sys.argv[4:] if not argument.startswith(("--seeds=", "--ways=", "--same=", "--target="))]
    try:
        for case in cases:
            if "same" in options:
                train_with(case, options["same"].split())
            elif "ways" not in options:
                train(case, int(options.get("seeds", 2)))
            elif not train_in_ways(case, options["ways"].split(",")):
                sys.exit(1)
    except Wrong as wrong:
        sys.exit(str(wrong))


main()
