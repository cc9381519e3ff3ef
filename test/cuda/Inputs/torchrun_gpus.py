"""torchrun_gpus.py SOURCE BUILD FOLDER    Programs of GPUs (the emulated device) as processes that meet by TCP, as under torchrun.

NCCL's id goes that way, and what the ranks then compute is the same bits as in threads, with a GPU each and with one that they share."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402

DATA = [part for key in training_cases.data("mlp") for part in ("--data", f"{key}={folder / key}.npy")]
STEPS = 4


def run(command, **environment):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, check=False,
                          env=emulated.environment(build, CLEAVE_EMULATED_NCCL_FOLDER=str(folder / "ranks"), **environment))
    if done.returncode:
        sys.exit(f"FAILED: {command}: code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def train(program, launcher, **environment):
    metrics, saved = folder / "metrics.jsonl", folder / f"saved-{len(os.listdir(folder))}"
    metrics.unlink(missing_ok=True)
    run([*launcher, folder / program, "train", "--no-shuffle", "--steps", STEPS, "--metrics", metrics, "--save", saved, *DATA], **environment)
    losses = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
    return losses, {str(p.relative_to(saved)): p.read_bytes() for p in sorted(saved.rglob("*.safetensors"))}


for key, array in training_cases.data("mlp").items():
    np.save(folder / f"{key}.npy", array)
run([sys.executable, source / "test/models/make_weights.py", folder / "models", source / training_cases.CASES["mlp"][0]])
model = next((folder / "models").rglob("*.onnx"))
for ranks, mesh in ((2, "dp=2"), (4, "dp=2,fsdp=2")):
    run(["cleave", "compile", model, "--train", "--loss-output", "loss", "--global-batch", "16", "--mesh", mesh, "--target", "cuda:sm_90", "-o",
         folder / "program"])
    launcher = [sys.executable, source / "test/e2e/Inputs/launch.py", ranks]
    for way, devices, comm in (("nccl", ranks, "nccl"), ("shared", 1, "host")):
        settings = {"CLEAVE_EMULATED_DEVICES": str(devices), "CLEAVE_CUDA_COMM": comm}
        threads, processes = train("program", [], **settings), train("program", launcher, **settings)
        if threads != processes or len(threads[0]) != STEPS or not threads[1]:
            sys.exit(f"FAILED: {mesh}, {way}: {threads[0]} by threads, {processes[0]} by processes")
        print(f"{mesh}, {way}: {STEPS} losses and {len(threads[1])} files of states are the same bits", flush=True)
