"""emulated_checkpoints.py SOURCE BUILD FOLDER    Checkpoints move between programs for the host and for the emulated CUDA device.

A run of four steps on one target is stopped after two, and goes on from its checkpoint on the other target and in another layout: its
losses are those of four steps on the host, within 1e-5. The same of a checkpoint that the C API has saved."""
import json
import pathlib
import subprocess
import sys

import numpy as np

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402

ENVIRONMENT = emulated.environment(build, CLEAVE_EMULATED_DEVICES="2")


def run(*command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stdout[-1500:]}{result.stderr[-3000:]}")


def train(program, steps, name, *options):
    metrics = folder / f"{name}.jsonl"
    metrics.unlink(missing_ok=True)
    run(folder / program, "train", *data, "--no-shuffle", "--steps", steps, "--lr", "1e-3", "--metrics", metrics, *options)
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    return {line["step"]: line["loss"] for line in lines if "loss" in line}


def goes_on(second, checkpoint, how):
    losses = train(second, 4, f"{checkpoint.name}.2", "--save", checkpoint, "--resume", "auto")
    worst = max(abs(losses[step] - expected[step]) / expected[step] for step in losses)
    if sorted(losses) != [3, 4] or not worst <= 1e-5:
        sys.exit(f"{how}: {losses}; expected {expected}")
    print(f"{how}: losses within {worst:.1e}")


data = []
for key, array in training_cases.data("mlp").items():
    np.save(folder / f"{key}.npy", array)
    data += ["--data", f"{key}={folder / key}.npy"]
run(sys.executable, source / "test/models/make_weights.py", folder / "models", source / training_cases.CASES["mlp"][0])
model = next((folder / "models").rglob("*.onnx"))
for target in ("host", "cuda:sm_90"):
    for layout, options in (("one", []), ("fsdp", ["--mesh", "fsdp=2"])):
        run("cleave", "compile", model, "--train", "--loss-output", "loss", "--optimizer", "adamw", "--global-batch", "16", "--target",
            target, *options, "-o", folder / f"{target[:4]}-{layout}")
expected = train("host-one", 4, "expected")
for first, second in (("host-one", "cuda-fsdp"), ("cuda-fsdp", "host-one"), ("host-fsdp", "cuda-one"), ("cuda-one", "cuda-fsdp")):
    checkpoint = folder / f"{first}.{second}"
    train(first, 2, f"{first}.{second}.1", "--save", checkpoint)
    goes_on(second, checkpoint, f"{first} to {second}")

run("cleave", "compile", model, "--train", "--loss-output", "loss", "--optimizer", "adamw", "--global-batch", "16", "--target", "cuda:sm_90",
    "--emit", "shared", "-o", folder / "libcuda-api.so")
(folder / "api.py").write_text(f"""
import sys
sys.path.insert(0, {str(source / "python")!r})
import cleave, numpy
model, data = cleave.Model({str(folder / "libcuda-api.so")!r}), {{name: numpy.load({str(folder)!r} + f"/{{name}}.npy") for name in {list(training_cases.data("mlp"))!r}}}
for step in range(2):
    model.train_step(lr=1e-3, **{{name: array[16 * step:16 * (step + 1)] for name, array in data.items()}})
model.save({str(folder / "api")!r})
""")
run(sys.executable, folder / "api.py")
goes_on("host-one", folder / "api", "C API to host-one")
