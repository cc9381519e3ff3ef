"""Trains a model in every layout, lets every layout load every other's checkpoint, in one file or several, and save it again.

  resume_matrix.py MODEL FOLDER
"""
import json
import pathlib
import subprocess
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import compare_checkpoints  # noqa: E402
import training_cases  # noqa: E402

CASE = "mlp"
LAYOUTS = {
    "one": "",
    "dp2": "--mesh dp=2",
    "dp4": "--mesh dp=4 --bucket-size 4KiB",
    "zero1": "--mesh fsdp=2 --fsdp-strategy zero-1",
    "zero2": "--mesh fsdp=4 --fsdp-strategy zero-2",
    "grad": "--mesh fsdp=2 --fsdp-strategy shard-grad-op",
    "full2": "--mesh fsdp=2",
    "full4": "--mesh fsdp=4 --fsdp-units size=4KiB",
    "hybrid": "--mesh dp=2,fsdp=2",
    "server": "--mesh dp=4 --dp-sync parameter-server",
    "stages2": "--mesh pp=2 --micro-batches 4",
    "stages4": "--mesh fsdp=2,pp=4 --micro-batches 2 --schedule gpipe",
    "turns": "--mesh dp=2,pp=2 --micro-batches 4 --schedule interleaved-1f1b",
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")


def main():
    model, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    data = []
    for name, array in training_cases.data(CASE).items():
        np.save(folder / f"{name}.npy", array)
        data += ["--data", f"{name}={folder / name}.npy"]
    for name, options in LAYOUTS.items():
        run("cleave", "compile", model, "-o", folder / name, "--train", "--loss-output", "loss", "--global-batch", "16",
            "--optimizer", "adamw", *options.split())
        for form in ("sharded", "full"):
            run(folder / name, "train", *data, "--steps", "3", "--seed", "5", "--save", folder / f"{name}.{form}", "--checkpoint", form)
    pairs, hashes = 0, set()
    for source in LAYOUTS:
        expected = compare_checkpoints.read(folder / f"{source}.sharded")
        hashes.add(json.loads(next((folder / f"{source}.sharded").glob("*/checkpoint.json")).read_text())["state_layout"])
        if found := compare_checkpoints.difference(expected, compare_checkpoints.read(folder / f"{source}.full")):
            sys.exit(f"{source}: one file and several differ: {found}")
        for target in LAYOUTS:
            if source == target:
                continue
            forms = ("sharded", "full") if pairs % 2 else ("full", "sharded")  # of what is read, of what is written
            again = folder / f"{source}.{target}"
            run(folder / target, "train", *data, "--steps", "3", "--resume", folder / f"{source}.{forms[0]}", "--save", again,
                "--checkpoint", forms[1])
            if found := compare_checkpoints.difference(expected, compare_checkpoints.read(again)):
                sys.exit(f"{target} does not give back what {source} has saved ({forms[0]}): {found}")
            pairs += 1
    if len(hashes) != 1:
        sys.exit(f"the layouts' checkpoints hold the same tensors, and name them by {len(hashes)} hashes")
    print(f"{len(LAYOUTS)} layouts, {pairs} pairs: equal")


if __name__ == "__main__":
    main()
