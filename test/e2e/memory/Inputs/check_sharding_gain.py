"""Splitting states over fsdp plans no more memory than leaving them whole, or says so with both figures.

  check_sharding_gain.py FOLDER        models of sharding_models.py

Every model is planned with dp=N and with fsdp=N, for optimizers with and without state of their own, for batches of few and of many
activations, and for strategies that split less.
"""
import json
import pathlib
import re
import subprocess
import sys

import sharding_models

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
NOTE = re.compile(r"note: with --fsdp-strategy [a-z0-9-]+ a rank needs ([\d.]+) (\w+), with whole states .*? ([\d.]+) (\w+):")
# Models in which splitting must save memory whatever the optimizer is; the others are too small, or nearly one parameter.
MUST_SAVE = {"deep", "residual", "growing", "alternating", "scales", "convolutions", "inverted"}


# Optimizer, batch, ranks, strategy.
CASES = [("sgd", 2, 2, "full-shard"), ("sgd", 64, 2, "full-shard"), ("adamw", 2, 2, "full-shard"), ("sgd", 2, 4, "full-shard"),
         ("adamw", 2, 2, "zero-2"), ("sgd", 2, 2, "zero-2"), ("sgd", 2, 2, "shard-grad-op"), ("adamw", 2, 2, "zero-1")]


def planned(model, output, mesh, optimizer, batch):
    """The bytes of one rank, and what the compiler said."""
    command = ["cleave", "compile", model, "-o", output, "--emit", "plan", "--train", "--loss-output", "loss", "--dim", f"batch={batch}",
               "--mesh", *mesh, "--optimizer", optimizer]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    plan = json.loads(subprocess.run(["cleave", "inspect", output, "--json"], check=True, capture_output=True, text=True).stdout)
    return plan["memory"]["total"], said.stdout + said.stderr


def agrees(number, unit, value):
    return abs(float(number) * UNITS[unit] - value) <= 0.0051 * UNITS[unit]


def main():
    folder = pathlib.Path(sys.argv[1])
    wrong, noted = [], 0
    for make in sharding_models.MODELS:
        name = make.__name__
        for optimizer, batch, ranks, strategy in CASES:
            case = f"{name} {optimizer} batch {batch} over {ranks} {strategy}"
            whole, _ = planned(folder / f"{name}.onnx", folder / "whole.plan", [f"dp={ranks}"], optimizer, batch)
            mesh = [f"fsdp={ranks}", "--fsdp-strategy", strategy]
            split, said = planned(folder / f"{name}.onnx", folder / "split.plan", mesh, optimizer, batch)
            note = NOTE.search(said)
            print(f"{case}: {whole} whole, {split} split ({split / whole:.2f})" + (", noted" if note else ""))
            if (split > whole) != bool(note):
                wrong.append(f"{case}: {split} split, {whole} whole, and the compiler says: {note and note[0]}")
            if note and not (agrees(note[1], note[2], split) and agrees(note[3], note[4], whole)):
                wrong.append(f"{case}: the note has other figures than the plans, {split} and {whole}: {note[0]}")
            if name in MUST_SAVE and strategy in ("full-shard", "zero-2") and split >= whole:
                wrong.append(f"{case}: splitting saves nothing")
            noted += bool(note)
    if not noted:
        wrong.append("no model is noted: `tiny` is there to be")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
