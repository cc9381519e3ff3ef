"""torchrun_gpus.py SOURCE BUILD FOLDER    Programs of GPUs (the emulated device) as processes that no MPI has started, as under torchrun
and srun: NCCL joins them.

What they compute is the same bits as in threads, by the GPUs' own collectives and by the hosts' (which then also go by NCCL); checkpoints that
they have saved, also beside training, go on in threads and the other way round. What cannot be one run ends with an error that says what to do."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys

import numpy as np

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import launch  # noqa: E402
import training_cases  # noqa: E402

DATA = [part for key in training_cases.data("mlp") for part in ("--data", f"{key}={folder / key}.npy")]
LAUNCH = [sys.executable, source / "test/e2e/Inputs/launch.py"]
STEPS = 4


def start(command, **environment):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, check=False,
                          env=emulated.environment(build, CLEAVE_EMULATED_NCCL_FOLDER=str(folder / "ranks"), **environment))


def run(command, **environment):
    done = start(command, **environment)
    if done.returncode:
        sys.exit(f"FAILED: {command}: code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def refused(what, command, pattern, **environment):
    done = start(command, **environment)
    if done.returncode == 0 or not re.search(pattern, done.stderr):
        sys.exit(f"FAILED: {what}: code {done.returncode}, no {pattern!r} in\n{done.stdout}{done.stderr}")
    print(f"{what}: refused", flush=True)


def train(program, launcher, *options, steps=STEPS, **environment):
    """Losses, the bytes of the checkpoints, what was said, and where they are."""
    metrics, saved = folder / "metrics.jsonl", folder / f"saved-{len(os.listdir(folder))}"
    metrics.unlink(missing_ok=True)
    said = run([*launcher, folder / program, "train", "--no-shuffle", "--steps", steps, "--metrics", metrics, "--save", saved, "--save-every", "2", *options,
                *DATA], **environment)
    losses = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
    return losses, {str(p.relative_to(saved)): p.read_bytes() for p in sorted(saved.rglob("*.safetensors"))}, said, saved


def compile_model(program, model, *options):
    run(["cleave", "compile", model, "--train", "--loss-output", "loss", "--global-batch", "16", "--target", "cuda:sm_90", "-o", folder / program, *options])


def same(what, threads, processes, steps=STEPS):
    if threads[:2] != processes[:2] or len(threads[0]) != steps or not threads[1]:
        sys.exit(f"FAILED: {what}: {threads[0]} by threads, {processes[0]} by processes; {sorted(threads[1])}, {sorted(processes[1])}")
    print(f"{what}: {steps} losses and {len(threads[1])} files of states are the same bits", flush=True)


def layouts(model):
    for ranks, mesh in ((2, "dp=2"), (2, "fsdp=2"), (4, "dp=2,fsdp=2"), (4, "dp=4")):
        compile_model("program", model, "--mesh", mesh)
        threads = train("program", [], CLEAVE_EMULATED_DEVICES=str(ranks))
        for way, launcher, comm in (("nccl", [*LAUNCH, ranks], "nccl"), ("host", [*LAUNCH, ranks], "host"), ("srun", [*LAUNCH, "--slurm", ranks], "")):
            if way == "host":  # sums in the order of the hosts' rings
                threads = train("program", [], CLEAVE_EMULATED_DEVICES=str(ranks), CLEAVE_CUDA_COMM=comm)
            elif way == "srun":
                threads = train("program", [], CLEAVE_EMULATED_DEVICES=str(ranks))
            processes = train("program", launcher, CLEAVE_EMULATED_DEVICES=str(ranks), CLEAVE_CUDA_COMM=comm)
            same(f"{mesh}, {way}", threads, processes)


def checkpoints(model):
    devices = {"CLEAVE_EMULATED_DEVICES": "2"}
    compile_model("saves", model, "--mesh", "fsdp=2", "--save-async")
    for form in ("full", "sharded"):
        threads, processes = (train("saves", launcher, "--checkpoint", form, steps=2, **devices) for launcher in ([], [*LAUNCH, 2]))
        same(f"{form}, saved beside training", threads, processes, 2)
        if not re.search("--save-async: these processes talk by nccl alone", processes[2]) or "these processes" in threads[2]:
            sys.exit(f"FAILED: what is said of --save-async: {threads[2]} by threads, {processes[2]} by processes")
        one, other = (train("saves", launcher, "--resume", saved, **devices) for launcher, saved in (([], processes[3]), ([*LAUNCH, 2], threads[3])))
        same(f"{form}, gone on with", one, other, STEPS - 2)


def mistakes():
    one = [folder / "saves", "train", "--steps", "1", *DATA]
    refused("one GPU for two", [*LAUNCH, 2, *one], r"Duplicate GPU.*start one process for each GPU, or start them by mpirun", CLEAVE_EMULATED_DEVICES="1")
    devices = {"CLEAVE_EMULATED_DEVICES": "2"}
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = {**launch.variables(0, 2, 1), "CLEAVE_COMM_PORT": str(other.getsockname()[1])}
        taken = r"Call to bind failed: Address already in use; ranks meet at 127.0.0.1:\d+ \(MASTER_ADDR and CLEAVE_COMM_PORT\)"
        refused("a port that is taken", one, taken, **devices, **place)
    place = launch.variables(0, 2, launch.free_port())
    refused("a rank that never starts", one, r"rank 0 waited 2 s for the other ranks at 127.0.0.1:\d+ \(MASTER_ADDR and the port after MASTER_PORT\): all 2",
            CLEAVE_COMM_TIMEOUT_S="2", **devices, **place)
    refused("three processes", [*LAUNCH, 3, *one], r"started as 3 processes, but compiled for 2 ranks \(fsdp=2\); its launcher says RANK=", **devices)
    refused("no RANK", one, r"\(WORLD_SIZE=2\), but RANK is not set", **devices, **{**place, "RANK": ""})
    refused("no WORLD_SIZE", one, r"\(RANK=0\), but WORLD_SIZE is not set", **devices, **{**place, "WORLD_SIZE": ""})
    refused("no MASTER_PORT", one, "but MASTER_PORT is not set; rank 0 listens at the port after it", **devices, **{**place, "MASTER_PORT": ""})
    refused("an id without a port", one, "NCCL_COMM_ID='node': expected the address and port of rank 0", **devices, **place, NCCL_COMM_ID="node")
    refused("two programs", [*LAUNCH, 2, "sh", "-c", f'[ $RANK = 0 ] && exec "$@"; shift; exec {folder}/program4 "$@"', "sh", *one],
            "runs another compiled program than the first one", **devices)
    run([*LAUNCH, 2, *one], NCCL_COMM_ID=f"localhost:{launch.free_port()}", **devices)
    print("an id of the user's own: all is well", flush=True)


for key, array in training_cases.data("mlp").items():
    np.save(folder / f"{key}.npy", array)
run([sys.executable, source / "test/models/make_weights.py", folder / "models", source / training_cases.CASES["mlp"][0]])
mlp = next((folder / "models").rglob("*.onnx"))
compile_model("program4", mlp, "--mesh", "dp=2")
checkpoints(mlp)
mistakes()
layouts(mlp)
