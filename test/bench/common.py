"""What the benchmarks share: the models, how a program is timed, how a ratio is printed."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "export"), str(ROOT / "test" / "e2e" / "Inputs"), str(ROOT / "test" / "models")]

import make_weights  # noqa: E402  (test/models/make_weights.py)
import training_cases  # noqa: E402  (test/e2e/Inputs/training_cases.py)

# {model: {input: (kind, per-sample shape, bound)}}
INPUTS = {name: case[2] for name, case in training_cases.CASES.items()}
INPUTS["gpt-25m"] = {name: ("int", (128,), 256) for name in ("tokens", "labels")}

WARM_UP = 3  # steps


def model_with_weights(name, folder):
    """The path of a test model's graph, its weights made below `folder`; gpt-nano, whose graph has its own, stays where it is."""
    if name == "gpt-nano":
        return ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx"
    graph = next((ROOT / "test" / "models" / name).glob("*.torchscript.onnx"), None) or next((ROOT / "test" / "models" / name).glob("*.onnx"))
    make_weights.make(graph, pathlib.Path(folder) / "models")
    return pathlib.Path(folder) / "models" / graph.name


def compile_model(model, output, *options, compiler="cleave"):
    run = subprocess.run([compiler, "compile", str(model), "-o", str(output), *options], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)


def make_arrays(spec, samples, seed=3):
    """{input: array} for {input: (kind, per-sample shape, bound)}."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, (kind, shape, bound) in spec.items():
        full = (samples, *shape)
        arrays[name] = (rng.standard_normal(full).astype(np.float32) if kind == "float"
                        else np.ones(full, np.int64) if kind == "ones" else rng.integers(0, bound, full).astype(np.int64))
    return arrays


def cleave_run(program, arrays, steps, threads):
    """The metrics of a training run by step, its printed report, and the processor seconds that it took. `threads`: of each rank."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [str(program), "train", "--steps", str(steps), "--lr", "1e-4", "--no-shuffle",
                   "--threads", str(threads), "--metrics", str(folder / "metrics.jsonl")]
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            command += ["--data", f"{name}={folder / name}.npy"]
        before = os.times()
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        after = os.times()
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return [row for row in rows if "step_s" in row], run.stdout + run.stderr, used


def cleave_step_seconds(program, arrays, steps, threads):
    """Median seconds of a training step after warm-up, from the program's own metrics."""
    return statistics.median(row["step_s"] for row in cleave_run(program, arrays, steps, threads)[0][WARM_UP:])


def cleave_training(program, arrays, steps, ranks, threads):
    """{"step_s", "cpu_s", "peak_bytes", "planned_bytes"} as torch_baseline.py has them, of a rank. `threads`: of each rank."""
    _, _, start_up = cleave_run(program, arrays, WARM_UP, threads)
    rows, report, used = cleave_run(program, arrays, steps, threads)
    planned, measured = re.search(r"memory: planned .* x ([0-9.]+ \w+)\), measured peak ([0-9.]+ \w+) above", report).groups()
    return {"step_s": statistics.median(row["step_s"] for row in rows[WARM_UP:]),
            "cpu_s": (used - start_up) / (steps - WARM_UP) / ranks,
            "peak_bytes": byte_count(measured) / ranks, "planned_bytes": byte_count(planned)}


def byte_count(text):
    number, unit = text.split()
    return float(number) * {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


def torch_training(name, batch, steps, ranks, threads, strategy, mode):
    """What torch_baseline.py prints; None where it does not run."""
    script = pathlib.Path(__file__).with_name("torch_baseline.py")
    command = [sys.executable, str(script), name, *(str(number) for number in (batch, steps, ranks, threads)), strategy, mode]
    run = subprocess.run(command, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 and run.stdout.strip() else None


def median_ratio(ours, theirs):
    """Pairwise ratios of runs taken in turn, so that a drifting machine hits both."""
    return statistics.median(o / t for o, t in zip(ours, theirs))


def print_comparison(label, ours, theirs):
    """One line for {name: runs}: the best step of each, ratios of steps, processor time and peak memory, ours / theirs."""
    print(f"{label}: cleave {min(run['step_s'] for run in ours) * 1e3:.1f} ms, peak {min(run['peak_bytes'] for run in ours) / 2**20:.1f} MiB "
          f"(planned {ours[0]['planned_bytes'] / 2**20:.1f})")
    for name, runs in theirs.items():
        if None in runs:
            print(f"  against {name}: did not run")
            continue
        ratios = {key: median_ratio([run[key] for run in ours], [run[key] for run in runs]) for key in runs[0]}
        print(f"  against {name}: {min(run['step_s'] for run in runs) * 1e3:.1f} ms, peak {min(run['peak_bytes'] for run in runs) / 2**20:.1f} MiB; "
              f"ratios: step {ratios['step_s']:.2f}, processor time {ratios['cpu_s']:.2f}, peak {ratios['peak_bytes']:.2f}", flush=True)
