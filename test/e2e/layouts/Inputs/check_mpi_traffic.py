"""Bytes that Open MPI's own monitoring component counts in a run are those that the plan and the program state.

  check_mpi_traffic.py PROGRAM INSPECT.json CASE [options of the program]

The component counts messages below MPI's interface, knowing nothing of plans. Each rank must send steps x sent_bytes of the plan's
train_step, all of it to the next rank of the ring: to the byte, in the steps that a longer run has more. What processes agree on
before the first step is told by the shorter run; it is less than AGREED bytes.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import training_cases  # noqa: E402

STEPS = 4
AGREED = 1024


def run(program, ranks, case, folder, steps, options):
    """Every rank's {receiver: bytes}, and the bytes of each step as the program counted them."""
    monitoring = {"pml_monitoring_enable": 2, "pml_monitoring_enable_output": 3, "pml_monitoring_filename": folder / "sent"}
    command = ["mpirun", "-n", str(ranks), "--oversubscribe"]
    for key, value in monitoring.items():
        command += ["--mca", key, str(value)]
    command += [program, "train", "--steps", str(steps), "--threads", "1", "--metrics", str(folder / "m.jsonl"), *options]
    for name, array in training_cases.data(case).items():
        np.save(folder / f"{name}.npy", array)
        command += ["--data", f"{name}={folder / name}.npy"]
    quiet = {**os.environ, "CLEAVE_COMM_HEARTBEAT_S": "0"}  # no beats among the messages
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300, env=quiet)
    sent = []
    for rank in range(ranks):
        rows = [line.split() for line in (folder / f"sent.{rank}.prof").read_text().splitlines()]
        sent.append({int(row[2]): int(row[3]) for row in rows if row[0] == "E" and int(row[3])})  # E: external, not MPI's own
    return sent, [json.loads(line)["comm_bytes"] for line in (folder / "m.jsonl").read_text().splitlines()]


def run_steps(program, ranks, case, options):
    """Every rank's {receiver: bytes} of STEPS steps behind the first, those of the start and the first step, and run()'s counts."""
    with tempfile.TemporaryDirectory() as folder:
        start, _ = run(program, ranks, case, pathlib.Path(folder), 1, options)
    with tempfile.TemporaryDirectory() as folder:
        sent, counted = run(program, ranks, case, pathlib.Path(folder), 1 + STEPS, options)
    steps = [{peer: after[peer] - before.get(peer, 0) for peer in after if after[peer] != before.get(peer, 0)}
             for before, after in zip(start, sent)]
    return steps, start, counted


def main():
    program, inspected, case, *options = sys.argv[1:]
    plan = json.loads(pathlib.Path(inspected).read_text())
    planned = next(p for p in plan["programs"] if p["name"] == "train_step")["sent_bytes"]
    steps, start, counted = run_steps(program, plan["ranks"], case, options)
    for rank, (peers, before) in enumerate(zip(steps, start)):
        expected = {(rank + 1) % plan["ranks"]: planned * STEPS}
        if peers != expected:
            sys.exit(f"rank {rank} sent {peers} by MPI's own count, expected {expected}")
        agreed = sum(before.values()) - planned
        if not 0 <= agreed < AGREED:
            sys.exit(f"rank {rank} sent {agreed} bytes beside its first step, by MPI's own count")
    if counted != [planned] * (1 + STEPS):
        sys.exit(f"the program counted {counted} bytes in its steps; planned {planned}")
    print(f"{planned} bytes a step and rank: planned, counted by the program, counted by Open MPI")


if __name__ == "__main__":
    main()
