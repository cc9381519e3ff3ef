#!/usr/bin/env python3
"""Packs what a machine with a GPU runs (run.py): pack.py --build BUILD --output FOLDER [--models A,B] [--precisions f32,bf16] [--layouts one,dp2].

For each case of test/e2e/Inputs/training_cases.py: the program for cuda:sm_90, the data, and the losses of the same program for this
host, which runs here. The folder also holds attention's kernels by mma.sync and by wgmma (attention.py), and the libraries that the programs
need and that a CUDA machine lacks; it needs no compiler."""
import argparse
import itertools
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "test" / "e2e" / "Inputs"), str(ROOT / "test" / "cuda" / "Inputs")]

import attention_texts  # noqa: E402
import numpy as np  # noqa: E402
import training_cases  # noqa: E402

LIBRARIES = ("libgomp",)
# Several ranks share the GPU. Frames, recomputation and host memory are paths of their own in the device.
LAYOUTS = {"one": [], "micro2": ["--micro-batches", "2"], "recompute": ["--recompute", "blocks"], "offload": ["--offload", "activations"],
           "dp2": ["--mesh", "dp=2"], "fsdp2": ["--mesh", "fsdp=2"], "dp2-fsdp2": ["--mesh", "dp=2,fsdp=2"],
           "server": ["--mesh", "dp=2", "--dp-sync", "parameter-server"], "pp2": ["--mesh", "pp=2", "--micro-batches", "2"]}


def compile_case(options, case, optimizer, layout, precision, target, output):
    path, batch, _ = training_cases.CASES[case]
    model = options.output / "models" / case / pathlib.Path(path).name
    extra = LAYOUTS[layout] + options.more.split() + (["--batch-norm", "sync"] if case == "resnet18" else [])
    return subprocess.run([options.build / "bin" / "cleave", "compile", ROOT / path if case == "gpt-nano" else model, "-o", output,
                           "--train", "--loss-output", "loss", "--optimizer", {**training_cases.OPTIMIZERS, **training_cases.FURTHER}[optimizer][0],
                           "--global-batch", str(batch), "--precision", precision, "--target", target, *extra],
                          capture_output=True, text=True)


def pack(options, case, optimizer, layout, precision):
    key, folder, data = f"{case}.{optimizer}.{layout}.{precision}", options.output, []
    for name, array in training_cases.data(case).items():
        np.save(folder / f"{case}.{name}.npy", array)
        data += ["--data", f"{name}={case}.{name}.npy"]
    arguments = ["train", *data, "--no-shuffle", "--steps", str(options.steps), "--lr", str(training_cases.rate(case, optimizer))]
    (folder / f"{key}.args").write_text("\n".join(arguments))
    for target, suffix in (("host", ".host"), ("cuda:sm_90", ".cuda")):
        result = compile_case(options, case, optimizer, layout, precision, target, folder / (key + suffix))
        if result.returncode:
            return f"{key} for {target}: {result.stderr.strip()}"
    subprocess.run(["strip", folder / f"{key}.cuda"], check=True)
    run = subprocess.run([f"./{key}.host", *arguments, "--metrics", f"{key}.host.json"], cwd=folder, capture_output=True, text=True)
    (folder / f"{key}.host").unlink()
    return None if run.returncode == 0 else f"{key} on the host: {run.stderr.strip()}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--models", default="mlp,gpt-nano,mnist-cnn-no-dropout,bert-tiny,t5-tiny")
    parser.add_argument("--precisions", default="f32,bf16")
    parser.add_argument("--optimizers", default="adamw")
    parser.add_argument("--layouts", default="one")
    parser.add_argument("--more", default="", help="further options of cleave compile")
    parser.add_argument("--steps", type=int, default=training_cases.STEPS)
    options = parser.parse_args()
    options.output = options.output.resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    models = options.models.split(",")
    files = [str(ROOT / training_cases.CASES[model][0]) for model in models if model != "gpt-nano"]
    subprocess.run([sys.executable, str(ROOT / "test" / "models" / "make_weights.py"), str(options.output / "models"), *files], check=True,
                   stdout=subprocess.DEVNULL)
    failures = []
    for case, optimizer, layout, precision in itertools.product(models, options.optimizers.split(","), options.layouts.split(","),
                                                               options.precisions.split(",")):
        failure = pack(options, case, optimizer, layout, precision)
        failures += [failure] if failure else []
        print(f"{case} {optimizer} {layout} {precision}: {failure or 'packed'}", flush=True)
    shutil.rmtree(options.output / "models")
    program = next(options.output.glob("*.cuda"))
    (options.output / "lib").mkdir(exist_ok=True)
    for line in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.splitlines():
        name, _, path = line.strip().partition(" => ")
        if name.startswith(LIBRARIES):
            shutil.copy(path.split()[0], options.output / "lib" / name)
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    (options.output / "commit").write_text(commit)
    attention_texts.write(options.build, options.output)
    for script in ("attention.py", "run.py"):
        shutil.copy(HERE / script, options.output / script)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
