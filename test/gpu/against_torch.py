"""What gpt2.py, resnet50.py and bert.py share: Cleave and PyTorch train a model in bf16 on a GPU, with the same weights and data, in turn.

SCRIPT run FOLDER [--rounds N] [--steps N] [--modes eager,compile]. FOLDER holds what `SCRIPT pack FOLDER --model MODEL.onnx` compiled on a
machine without a GPU (`SCRIPT export MODEL.onnx` writes the model, where the script says so). Where the GPU is, run needs torch and
safetensors. It prints the median step of each program of FOLDER and of each mode of PyTorch, what they take in a second, the share of a
measured product of 8192^3, the ratio, the peak of memory (of Cleave the plan's, of PyTorch its allocator's), and how far the losses are
from those of PyTorch's first mode.

A step lasts until its loss is on the host. Batches are taken again from the first where there are fewer of them than steps. A program of
Cleave copies each batch to the GPU in its step. PyTorch has all of them there before the first step, or, where they are `pinned`, copies
each from pinned memory in its step."""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples" / "export")]  # models, exporters


@dataclasses.dataclass
class Case:
    name: str                   # of the program: NAME.cuda
    script: str
    compile: list               # options of cleave compile
    module: typing.Callable     # the model in PyTorch, of a fixed seed; its second result is the loss
    optimizer: typing.Callable  # of a model
    rate: float
    data: typing.Callable       # of a number of steps: arrays of whole batches by name, in the order of the model's inputs
    batch: int
    unit: str                   # what is counted
    units: int                  # of a step
    flops: int                  # of the model in a step
    pinned: bool = False
    channels_last: bool = False
    export: typing.Callable = None  # of a path


def pack(case, options):
    options.folder.mkdir(parents=True, exist_ok=True)
    program = options.folder / f"{case.name}.cuda"
    subprocess.run([options.build / "bin" / "cleave", "compile", options.model, "--train", "--loss-output", "loss", "--global-batch",
                    str(case.batch), "--precision", "bf16", "--init", "normal(std=0.02)", "--target", "cuda:sm_90", *case.compile,
                    *options.options, "-o", program], check=True)
    subprocess.run(["strip", program], check=True)


def prepare(case, folder, steps):
    """Weights and data for both."""
    import numpy as np
    from safetensors.torch import save_file
    model = case.module()
    kept = model.state_dict()
    buffers = [(name, tensor) for name, tensor in model.named_buffers() if name in kept and tensor.is_floating_point()]
    state = {name: tensor.detach().contiguous() for name, tensor in [*model.named_parameters(), *buffers]}
    save_file(state, folder / "weights.safetensors")
    for name, array in case.data(steps).items():
        np.save(folder / f"{name}.npy", array)


def ceiling():
    """TFLOP/s of a bf16 product of 8192^3."""
    import torch
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    times = []
    for _ in range(20):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        a @ b
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return 2 * 8192**3 / statistics.median(times) / 1e12


def torch_run(case, folder, mode, steps):
    import numpy as np
    import torch
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    form = torch.channels_last if case.channels_last else torch.contiguous_format
    model = case.module().cuda().to(memory_format=form)
    step_of = torch.compile(model) if mode == "compile" else model
    optimizer = case.optimizer(model)
    data = [torch.from_numpy(np.load(folder / f"{name}.npy")) for name in case.data(0)]
    data = [[part.pin_memory() if case.pinned else part.cuda() for part in array.split(case.batch)] for array in data]
    seconds, losses = [], []
    for step in range(steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        inputs = [parts[step % len(parts)].to("cuda", non_blocking=True) for parts in data]
        inputs = [part.to(memory_format=form) if part.dim() == 4 else part for part in inputs]
        with torch.autocast("cuda", torch.bfloat16):
            loss = step_of(*inputs)[1]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    print(json.dumps([statistics.median(seconds[5:]), losses, torch.cuda.max_memory_allocated()]))


def theirs(case, folder, mode, steps):
    """One PyTorch run in a process of its own: [median step in seconds, losses, peak bytes]."""
    result = subprocess.run([sys.executable, case.script, "torch", folder, "--modes", mode, "--steps", str(steps)], capture_output=True,
                            text=True)
    if result.returncode:
        raise RuntimeError(result.stderr[-3000:])
    return json.loads(result.stdout.splitlines()[-1])


def ours(case, folder, program, steps):
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join([str(folder / "lib"), str(folder.parent / "check" / "lib"),
                                                                    os.environ.get("LD_LIBRARY_PATH", "")])}
    data = [word for name in case.data(0) for word in ("--data", f"{name}={folder / name}.npy")]
    result = subprocess.run([folder / program, "train", *data, "--no-shuffle", "--steps", str(steps), "--lr", str(case.rate), "--weights",
                             folder / "weights.safetensors", "--metrics", folder / "ours.jsonl"], env=environment, capture_output=True,
                            text=True)
    if result.returncode:
        raise RuntimeError(f"{program}: {result.stdout[-500:]}{result.stderr[-1500:]}")
    rows = [row for row in map(json.loads, (folder / "ours.jsonl").read_text().splitlines()) if "loss" in row]
    plan = subprocess.run([folder / program, "inspect", "--json"], env=environment, capture_output=True, text=True, check=True).stdout
    return [statistics.median(row["step_s"] for row in rows[5:]), [row["loss"] for row in rows], json.loads(plan)["memory"]["total"]]


def run(case, options):
    prepare(case, options.folder, options.steps)
    peak = ceiling()
    programs, modes = sorted(path.name for path in options.folder.glob("*.cuda")), options.modes.split(",")
    runs = {name: [] for name in [*programs, *modes]}
    for _ in range(options.rounds):
        for name in list(runs):  # what ran is told at once, and what fails does not take the others with it
            try:
                runs[name].append((ours if name in programs else theirs)(case, options.folder, name, options.steps))
                print(f"{name}: {runs[name][-1][0] * 1e3:.2f} ms", flush=True)
            except RuntimeError as error:
                print(f"{name} failed: {error}", flush=True)
                del runs[name]
    failed = len(runs) < len(programs) + len(modes)
    modes = [mode for mode in modes if mode in runs]
    print(f"a product of 8192^3 in bf16: {peak:.0f} TFLOP/s")
    for name, found in runs.items():
        step = statistics.median(r[0] for r in found)
        line = (f"{name:14} {step * 1e3:8.2f} ms  {case.units / step:9.0f} {case.unit}/s  "
                f"MFU of the product {case.flops / step / 1e12 / peak:.3f}")
        for mode in modes:
            line += f"  {step / statistics.median(r[0] for r in runs[mode]):.2f} of {mode}"
        line += f"  peak {found[0][2] / 2**30:.2f} GiB"
        if modes and name != modes[0]:
            against = runs[modes[0]][0][1]
            line += f"  losses apart {max(abs(a - b) / b for a, b in zip(found[0][1], against)):.1e}, last {found[0][1][-1]:.4f}"
        print(line, flush=True)
    return 1 if failed else 0


def main(case):
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["export", "pack", "run", "torch"] if case.export else ["pack", "run", "torch"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--options", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--modes", default="eager,compile")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if options.command == "export":
        return case.export(options.folder)
    if options.command == "torch":
        return torch_run(case, options.folder, options.modes, options.steps)
    sys.exit(pack(case, options) if options.command == "pack" else run(case, options))
