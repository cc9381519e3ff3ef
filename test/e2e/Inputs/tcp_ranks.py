"""tcp_ranks.py FOLDER SOURCE    Programs of several ranks as processes that meet by TCP.

Losses and checkpoints are those of threads, bit for bit; predictions, evaluation and generated tokens, too. A rank that is killed, in whatever
place, ends the others with an error that names it."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np

import launch

folder, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
LAUNCH = [sys.executable, str(source / "test/e2e/Inputs/launch.py")]
MLP_DATA = ["--data", f"x={folder / 'x.npy'}", "--data", f"labels={folder / 'y.npy'}"]


def run(what, command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="surrogateescape", timeout=300, cwd=folder, **options)
    if done.returncode != 0:
        sys.exit(f"FAILED: {what}: code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def compile_model(name, model, *options):
    run(f"compile {name}", ["cleave", "compile", model, "-o", folder / name, *options])


def losses(path):
    return [json.loads(line)["loss"] for line in path.read_text().splitlines()]


def checkpoint_bytes(path):
    """Of all files but those whose text has times."""
    return {file.name: file.read_bytes() for file in sorted(path.rglob("*.safetensors"))}


def same_training(name, ranks, data, slurm=False):
    results = []
    for way, launcher in (("threads", []), ("tcp", [*LAUNCH, *(["--slurm"] if slurm else []), ranks])):
        metrics, saved = folder / f"{name}.{way}.jsonl", folder / f"{name}.{way}.ckpt"
        metrics.unlink(missing_ok=True)
        run(f"{name} by {way}", [*launcher, folder / name, "train", *data, "--steps", 6, "--metrics", metrics, "--save", saved, "--save-every", 3])
        states = checkpoint_bytes(saved / "step-00000006")
        results.append((losses(metrics), states))
    if results[0] != results[1] or len(results[0][0]) != 6 or not results[0][1]:
        sys.exit(f"FAILED: {name}: {results[0][0]} by threads, {results[1][0]} by TCP; states {[sorted(r[1]) for r in results]}")
    print(f"{name}: 6 losses and {len(results[0][1])} files of states are the same bits", flush=True)


def same_output(what, ranks, command):
    threads, processes = run(what, command), run(what, [*LAUNCH, ranks, *command])
    if threads != processes or not threads.strip():
        sys.exit(f"FAILED: {what}: {threads!r} by threads, {processes!r} by TCP")
    print(f"{what}: the same", flush=True)


def killed(ranks, name, victim):
    metrics = folder / "killed.jsonl"
    metrics.unlink(missing_ok=True)
    port = launch.free_port()
    command = [str(folder / name), "train", *MLP_DATA, "--steps", "100000000", "--lr", "1e-6", "--metrics", str(metrics)]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, **launch.variables(rank, ranks, port)}) for rank in range(ranks)]
    while not metrics.exists() or metrics.read_text().count('"loss"') < 3:
        if any(process.poll() is not None for process in processes):
            sys.exit(f"FAILED: {name} does not train: {[process.communicate()[1] for process in processes]}")
        time.sleep(0.02)
    processes[victim].send_signal(signal.SIGKILL)
    begin = time.monotonic()
    for rank, process in enumerate(processes):
        try:
            text = process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            sys.exit(f"FAILED: rank {rank} hangs after rank {victim} was killed: {process.communicate()[1]}")
        if rank != victim and (process.returncode != 1 or not re.search(rf"error: rank {victim} .*this process was in step \d+", text)):
            sys.exit(f"FAILED: rank {rank} ends with {process.returncode} after rank {victim} was killed: {text}")
    print(f"rank {victim} of {ranks} was killed: all others name it")
    if time.monotonic() - begin > 30:
        sys.exit("FAILED: that took longer than 30 s")


def main():
    train = ["--train", "--loss-output", "loss", "--optimizer", "adamw", "--dim", "batch=8"]
    model = folder / "mlp/mlp.torchscript.onnx"
    for name, mesh, ranks in (("dp", "dp=2", 2), ("fsdp", "fsdp=2", 2), ("grid", "dp=2,fsdp=2", 4), ("server", "dp=4", 4)):
        compile_model(name, model, *train, "--mesh", mesh, *(["--dp-sync", "parameter-server"] if name == "server" else []))
        same_training(name, ranks, MLP_DATA)
    compile_model("stages", model, *train, "--mesh", "pp=2,dp=2", "--micro-batches", "2", "--schedule", "1f1b")
    same_training("stages", 4, MLP_DATA, slurm=True)
    same_output("evaluate", 2, [folder / "dp", "evaluate", *MLP_DATA])
    compile_model("gpt", source / "examples/gpt-nano/gpt-nano.onnx", "--dim", "batch=1", "--mesh", "dp=2")
    same_output("generate", 2, [folder / "gpt", "generate", "--prompt", "ab", "--tokens", "12"])
    for victim in (0, 1, 3):
        killed(4, "grid", victim)
    killed(2, "dp", 1)


if __name__ == "__main__":
    main()
