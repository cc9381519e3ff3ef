"""Predicted against measured step times, on this machine: predicted / measured, 1 is right.

  predictions.py [--steps N] [--machine FILE] [--layouts one,dp2,fsdp2,pp2] [MODEL...]

One thread a rank. `cleave calibrate` runs first where --machine names no file. Measured are the median step, the tenth percentile of steps, and
the processor time of a step and rank, which other work on the machine disturbs least: for one rank it is what a step takes when nobody
disturbs it."""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

import common

# model -> samples of one rank and micro-batch
BATCH = {"mlp": 8, "mnist-cnn-no-dropout": 32, "gpt-nano": 8, "bert-tiny": 8, "resnet18": 8, "gpt-25m": 4}
LAYOUTS = {"one": [], "dp2": ["--mesh", "dp=2"], "fsdp2": ["--mesh", "fsdp=2"], "pp2": ["--mesh", "pp=2", "--micro-batches", "4"]}
RANKS = {"one": 1, "dp2": 2, "fsdp2": 2, "pp2": 2}


def predicted_seconds(program, machine):
    shown = subprocess.run(["cleave", "inspect", program, "--target-machine", machine, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(shown)["predicted"]["seconds"]


def measure(name, layout, machine, steps, folder):
    program = folder / f"{name}-{layout}"
    common.compile_model(common.model_with_weights(name, folder), program, "--train", "--loss-output", "loss", "--optimizer", "adamw", "--dim",
                         f"batch={BATCH[name]}", "--target", "host,threads=1", "--target-machine", machine, *LAYOUTS[layout])
    predicted = predicted_seconds(program, machine)
    steps = max(8, min(steps, int(20 / predicted)))
    samples = BATCH[name] * (4 if layout == "pp2" else RANKS[layout])
    arrays = common.make_arrays(common.INPUTS[name], samples * min(steps, 8))
    _, _, start_up = common.cleave_run(program, arrays, common.WARM_UP, 1)
    rows, _, used = common.cleave_run(program, arrays, steps, 1)
    times = sorted(row["step_s"] for row in rows[common.WARM_UP:])
    median, tenth = statistics.median(times), times[len(times) // 10]
    processor = (used - start_up) / (steps - common.WARM_UP) / RANKS[layout]
    print(f"{name:20} {layout:6} predicted {predicted * 1e3:9.3f} ms  processor {processor * 1e3:9.3f} ({predicted / processor:.2f})  "
          f"median {median * 1e3:9.3f} ({predicted / median:.2f})  tenth percentile {tenth * 1e3:9.3f} ({predicted / tenth:.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=BATCH)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--machine")
    parser.add_argument("--layouts", default="one,dp2,fsdp2,pp2")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        machine = options.machine or str(folder / "machine.json")
        if not options.machine:
            subprocess.run(["cleave", "calibrate", "-o", machine], check=True)
        for name in options.models or BATCH:
            for layout in options.layouts.split(","):
                measure(name, layout, machine, options.steps, folder)


main()
