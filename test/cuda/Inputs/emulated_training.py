"""emulated_training.py SOURCE BUILD FOLDER [--seeds=N] CASE...    CASE is model:precision:steps[:options of cleave compile]

Trains each case on the host and on the emulated CUDA device. The losses of every step must agree (relative 1e-5 in f32, the
rounding of the type in bf16 and fp16), and N (two) runs on the device, under different seeds of its adversarial timing, must
save the same bytes. A finding of the device (a race, an access out of bounds, memory that nothing wrote, a leak) fails the
run: the context is lost, or the process ends with code 99."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402

TOLERANCE = {"f32": 1e-5, "bf16": 1e-2, "fp16": 2e-3}
LIBRARIES = {"CLEAVE_LIBCUDA": "cuda", "CLEAVE_LIBCUBLASLT": "cublaslt", "CLEAVE_LIBNCCL": "nccl"}


def run(command, **environment):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stdout[-1500:]}{result.stderr[-3000:]}")
    return result.stdout + result.stderr


def losses(path, key="loss"):
    """Of all steps: the loss, or another of a step's metrics."""
    return [json.loads(line)[key] for line in path.read_text().splitlines() if "loss" in json.loads(line)]


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


def train(case):
    name, precision, steps, *options = case.split(":")
    options = options[0].split() if options else []
    here = folder / "".join(c if c.isalnum() or c in "-." else "_" for c in case)
    here.mkdir(parents=True)
    data = []
    for key, array in training_cases.data(name).items():
        np.save(here / f"{key}.npy", array)
        data += ["--data", f"{key}={here / key}.npy"]
    compile_ = ["cleave", "compile", model_file(name), "--train", "--loss-output", "loss", "--optimizer",
                training_cases.OPTIMIZERS["adamw"][0], "--precision", precision, *options]
    if "--global-batch" not in options:
        compile_ += ["--global-batch", training_cases.CASES[name][1]]
    run([*compile_, "-o", here / "host"])
    run([*compile_, "-o", here / "gpu", "--target", "cuda:sm_90"])
    arguments = ["train", *data, "--no-shuffle", "--steps", steps, "--lr", training_cases.rate(name, "adamw")]
    run([here / "host", *arguments, "--metrics", here / "host.jsonl", "--threads", 1])
    libraries = {variable: build / f"test-lib/libcleave_emulated_{library}.so" for variable, library in LIBRARIES.items()}
    for seed in range(1, seeds + 1):
        run([here / "gpu", *arguments, "--metrics", here / f"gpu{seed}.jsonl", "--save", here / f"saved{seed}"],
            CLEAVE_EMULATED_SEED=str(seed), CLEAVE_EMULATED_LEAKS="fail", **{k: str(v) for k, v in libraries.items()})
    expected, found = losses(here / "host.jsonl"), losses(here / "gpu1.jsonl")
    if len(found) != int(steps) or len(expected) != int(steps):
        sys.exit(f"{case}: {len(found)} and {len(expected)} losses instead of {steps}")
    worst = max(abs(a - b) / abs(b) for a, b in zip(found, expected))
    if not worst <= TOLERANCE[precision]:
        sys.exit(f"{case}: losses {found} on the emulated device, {expected} on the host: {worst:.1e} apart")
    if "--mesh" in options and losses(here / "gpu1.jsonl", "comm_bytes") != losses(here / "host.jsonl", "comm_bytes"):
        sys.exit(f"{case}: other numbers of bytes than the host's are sent")
    kept = saved(here / "saved1")
    for seed in range(2, seeds + 1):
        if losses(here / f"gpu{seed}.jsonl") != found or saved(here / f"saved{seed}") != kept or not kept:
            sys.exit(f"{case}: runs 1 and {seed} on the emulated device differ")
    print(f"{case}: {steps} steps, losses within {worst:.1e} of the host's, {seeds} seeds alike")


seeds, cases = 2, sys.argv[4:]
if cases[0].startswith("--seeds="):
    seeds = int(cases.pop(0).partition("=")[2])
for each in cases:
    train(each)
