"""What the benchmarks share: the models, how a program is timed, how a ratio is printed."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "export"), str(ROOT / "test" / "e2e" / "Inputs"), str(ROOT / "test" / "models")]

import make_weights  # noqa: E402  (test/models/make_weights.py)


def model_with_weights(name, folder):
    """The path of a test model's graph, its weights made below `folder`; gpt-nano, whose graph has its own, stays where it is."""
    if name == "gpt-nano":
        return ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx"
    file = f"{name}.torchscript.onnx"
    make_weights.make(ROOT / "test" / "models" / name / file, pathlib.Path(folder) / "models")
    return pathlib.Path(folder) / "models" / file


def compile_model(model, output, *options):
    subprocess.run(["cleave", "compile", str(model), "-o", str(output), *options], check=True, stderr=subprocess.DEVNULL)


def make_arrays(spec, samples, seed=3):
    """{input: array} for {input: (kind, per-sample shape, bound)}."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, (kind, shape, bound) in spec.items():
        full = (samples, *shape)
        arrays[name] = (rng.standard_normal(full).astype(np.float32) if kind == "float"
                        else np.ones(full, np.int64) if kind == "ones" else rng.integers(0, bound, full).astype(np.int64))
    return arrays


def cleave_step_seconds(program, arrays, steps, threads):
    """Median seconds of a training step after warm-up, from the program's own metrics."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [str(program), "train", "--steps", str(steps), "--lr", "1e-4", "--no-shuffle",
                   "--threads", str(threads), "--metrics", str(folder / "metrics.jsonl")]
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
            command += ["--data", f"{name}={folder / name}.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return statistics.median(row["step_s"] for row in rows[3:] if "step_s" in row)


def median_ratio(ours, theirs):
    """Pairwise ratios of runs taken in turn, so that a drifting machine hits both."""
    return statistics.median(o / t for o, t in zip(ours, theirs))
