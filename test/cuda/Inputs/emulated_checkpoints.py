"""emulated_checkpoints.py SOURCE BUILD FOLDER    Checkpoints move between programs for the host and for the emulated CUDA device.

A run of four steps on one target is stopped after two, and goes on from its checkpoint on the other target and in another layout: its
losses are those of four steps on the host, within 1e-5. A checkpoint that the C API saves has the trained state on both."""
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
    losses = train(second, 4, f"{first}.{second}.2", "--save", checkpoint, "--resume", "auto")
    worst = max(abs(losses[step] - expected[step]) / expected[step] for step in losses)
    if sorted(losses) != [3, 4] or not worst <= 1e-5:
        sys.exit(f"{first} to {second}: {losses}; expected {expected}")
    print(f"{first} to {second}: losses within {worst:.1e}")

# The C API feeds batches of its caller, so its checkpoints begin with the first sample again: compared with what it does on the host.
api = {}
for target in ("host", "cuda:sm_90"):
    library, checkpoint = folder / f"lib{target[:4]}-api.so", folder / f"{target[:4]}-api"
    run("cleave", "compile", model, "--train", "--loss-output", "loss", "--optimizer", "adamw", "--global-batch", "16", "--target", target,
        "--emit", "shared", "-o", library)
    run(sys.executable, "-c", """
import sys
sys.path.insert(0, sys.argv[1])
import cleave, numpy
model, data = cleave.Model(sys.argv[3]), {name: numpy.load(f"{sys.argv[2]}/{name}.npy") for name in sys.argv[5:]}
for step in range(2):
    model.train_step(lr=1e-3, **{name: array[16 * step:16 * (step + 1)] for name, array in data.items()})
model.save(sys.argv[4])
""", source / "python", folder, library, checkpoint, *training_cases.data("mlp"))
    api[target] = train("host-one", 4, f"{target[:4]}-api.2", "--save", checkpoint, "--resume", "auto")
worst = max(abs(api["cuda:sm_90"][step] / api["host"][step] - 1) for step in (3, 4))
if not worst <= 1e-5 or not api["host"][3] < 0.95 * expected[1]:  # the first batch again, after two steps
    sys.exit(f"C API: {api}; expected equal losses after two steps, and {expected}")
print(f"C API to host-one: losses within {worst:.1e}")
