"""lost_gpu_ranks.py SOURCE BUILD FOLDER    Ranks that talk by NCCL (the stand-in) and of which one is lost, silent, or refuses a launch.

Each run must end with an error, in bounded time, that says which rank, and which instruction was waited in or has failed."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import launch  # noqa: E402
import training_cases  # noqa: E402

ENVIRONMENT = emulated.environment(build, CLEAVE_MPI_MODULE=str(build / "lib/libcleave_comm_mpi.so"), CLEAVE_EMULATED_DEVICES="2",
                                   CLEAVE_CUDA_COMM="nccl", CLEAVE_EMULATED_NCCL_FOLDER=str(folder / "ranks"))
INSTRUCTION = r"program 'train_step', instruction \d+ \((all_reduce|reduce_scatter|all_gather)"


def start(launcher, steps, program="program", **environment):
    metrics = folder / "metrics.jsonl"
    metrics.unlink(missing_ok=True)
    command = [*launcher, folder / program, "train", "--no-shuffle", "--steps", steps, "--lr", "1e-9", "--metrics", metrics]
    for key in training_cases.data("mlp"):
        command += ["--data", f"{key}={folder / key}.npy"]
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env={**ENVIRONMENT, **environment}), metrics


def expect(what, process, seconds, *patterns):
    begin = time.monotonic()
    try:
        text = process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"{what}: not over after {seconds} s: {process.communicate()[1]}")
    missing = [pattern for pattern in patterns if not re.search(pattern, text)]
    if process.returncode == 0 or missing:
        sys.exit(f"{what}: code {process.returncode}, no {missing} in:\n{text}")
    print(f"{what}: an error after {time.monotonic() - begin:.1f} s that names it")


def steps_done(metrics):
    return len(metrics.read_text().splitlines()) if metrics.exists() else 0


for key, array in training_cases.data("mlp").items():
    np.save(folder / f"{key}.npy", array)
subprocess.run([sys.executable, source / "test/models/make_weights.py", folder / "models", source / training_cases.CASES["mlp"][0]],
               check=True)
model = next((folder / "models").rglob("*.onnx"))
for program, mesh in (("program", "fsdp=2"), ("groups", "dp=2,fsdp=2")):
    subprocess.run(["cleave", "compile", model, "--train", "--loss-output", "loss", "--global-batch", "16", "--mesh", mesh, "--target",
                    "cuda:sm_90", "-o", folder / program], check=True)

# A rank that never comes to the communicator of all ranks, or to one of a group; the ranks being threads, then processes.
mpirun = ["mpirun", "--oversubscribe", "-n"]
torchrun = [sys.executable, source / "test/e2e/Inputs/launch.py"]
JOINING = r"this rank was joining the others by NCCL|processes must be started, and have the same address"
for program, ranks, number in (("program", "2", 1), ("groups", "4", 2)):
    for way, launcher in (("threads", []), ("processes", [*mpirun, ranks]), ("processes of torchrun", [*torchrun, ranks])):
        process, _ = start(launcher, 1, program, CLEAVE_EMULATED_NCCL_STALL_SETUP=f"1,{number}", CLEAVE_COMM_TIMEOUT_S="2",
                           CLEAVE_EMULATED_DEVICES=ranks)
        expect(f"communicator {number}, {way}", process, 60, r"waited 2 s for (another rank|the other ranks at)", JOINING)

# A rank that never comes to an operation, the ranks being threads: eager, and in a graph that is replayed. A communicator that a graph has
# captured ends only after the graph is destroyed, and the last one of the process only after all of them.
for program, ranks, graphs in (("program", "2", "0"), ("program", "2", "1"), ("groups", "4", "1")):
    process, _ = start([], 20, program, CLEAVE_EMULATED_NCCL_STALL="1,40", CLEAVE_COMM_TIMEOUT_S="2", CLEAVE_CUDA_GRAPHS=graphs,
                       CLEAVE_EMULATED_DEVICES=ranks)
    expect(f"a silent thread of {ranks}, graphs {graphs}", process, 60, r"waited 2 s for another rank", "this rank was in " + INSTRUCTION)
process, _ = start([], 20, CLEAVE_EMULATED_FAIL_LAUNCH="30", CLEAVE_CUDA_GRAPHS="0")
expect("a launch that is refused", process, 60, r"instruction \d+ \(launch @", "cuLaunchKernel failed with error 701")

for by, launcher, rank_one in (("", mpirun, b"OMPI_COMM_WORLD_RANK=1\0"), (" of torchrun", torchrun, b"RANK=1\0")):
    process, _ = start([*launcher, "2"], 20, CLEAVE_EMULATED_NCCL_STALL="1,40", CLEAVE_COMM_TIMEOUT_S="2")
    expect(f"a silent process{by}", process, 60, r"waited 2 s for another rank", "this rank was in " + INSTRUCTION)
    process, metrics = start([*launcher, "2"], 100000000)
    while steps_done(metrics) < 10 and process.poll() is None:
        time.sleep(0.05)
    children = [int(p) for p in subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()]
    victim = next(p for p in children if rank_one in pathlib.Path(f"/proc/{p}/environ").read_bytes())
    os.kill(victim, signal.SIGKILL)
    expect(f"a process that dies{by}", process, 60, rf"rank 1 \(process {victim}\) has died|rank 1 is lost")

# A rank that is silent while the hosts agree on something: theirs goes by NCCL, too.
process, _ = start([*torchrun, "2"], 20, CLEAVE_EMULATED_NCCL_STALL="1,3", CLEAVE_COMM_TIMEOUT_S="2")
expect("a silent host", process, 60, r"rank [01] waited 2 s for rank [01]; CLEAVE_COMM_TIMEOUT_S sets the limit")


def killed(ranks, victim):
    """Each survivor names the victim by itself: no launcher is there."""
    port = launch.free_port()
    processes = []
    for rank in range(ranks):
        process, metrics = start([], 100000000, "groups", CLEAVE_EMULATED_DEVICES=str(ranks), **launch.variables(rank, ranks, port))
        processes.append(process)
    while steps_done(metrics) < 3:
        if any(process.poll() is not None for process in processes):
            sys.exit(f"no training: {[process.communicate()[1] for process in processes]}")
        time.sleep(0.05)
    processes[victim].kill()
    pattern = rf"error: rank {victim} \(process {processes[victim].pid}\) has died.*this process was in step \d+"
    for rank, process in enumerate(processes):
        if rank != victim:
            expect(f"rank {victim} of {ranks} is killed, rank {rank}", process, 60, pattern)


for each in (0, 1, 3):
    killed(4, each)

