"""Bytes sent by a rank in one step: as the plan says, as counted in a run, and as the formula of the ring has them.

  check_traffic.py PROGRAM INSPECT.json [CASE]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import training_cases


def counted_bytes(program, folder, steps=4, case="gpt-nano"):
    command = [program, "train", "--steps", str(steps), "--lr", "0.001", "--metrics", str(folder / "m.jsonl")]
    for name, array in training_cases.data(case).items():
        np.save(folder / f"{name}.npy", array)
        command += ["--data", f"{name}={folder / name}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    rows = [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]
    return {row["comm_bytes"] for row in rows if "comm_bytes" in row}


def main():
    program, inspected, case = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text()), (sys.argv[3:] or ["gpt-nano"])[0]
    ranks = inspected["ranks"]
    step = next(p for p in inspected["programs"] if p["name"] == "train_step")
    gradients = inspected["state"]["gradient"]
    scalars = 2 * ranks * 4  # the loss's sum and count, padded to one element a rank
    expected = 2 * (ranks - 1) * (gradients + scalars) // ranks
    if step["sent_bytes"] != expected:
        sys.exit(f"the plan sends {step['sent_bytes']} bytes, the ring needs {expected}")
    with tempfile.TemporaryDirectory() as folder:
        counted = counted_bytes(program, pathlib.Path(folder), case=case)
    if counted != {expected}:
        sys.exit(f"counted {sorted(counted)} bytes in the steps, planned {expected}")
    print(f"{expected} bytes a step: planned, counted, and 2 (N - 1) / N of {gradients} + {scalars}")


if __name__ == "__main__":
    main()
