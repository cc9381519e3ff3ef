#!/usr/bin/env python3
"""GPT-2 124M, context 1,024, on a GPU against PyTorch: gpt2.py run FOLDER [--rounds N] [--steps N] [--modes eager,compile]

FOLDER holds what `gpt2.py pack FOLDER --model MODEL.onnx` compiled on a machine without a GPU. There, run needs torch and safetensors: both
train the same weights in bf16 (PyTorch: autocast, scaled_dot_product_attention, fused AdamW) on the same random tokens, in turn, and it
prints the median step of each, tokens per second, the ratio, the share of a measured product of 8192^3 (model FLOPs: 6 per weight and
token, and 12 L T d for the attention), and how far the losses are apart."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH, CONTEXT, VOCABULARY, LAYERS, WIDTH, HEADS = 8, 1024, 50257, 12, 768, 12
RATE, DECAY = 3e-4, 0.01


def pack(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([options.build / "bin" / "cleave", "compile", options.model, "--train", "--loss-output", "loss", "--optimizer",
                    f"adamw,weight_decay={DECAY}", "--global-batch", str(BATCH), "--precision", "bf16", "--init", "normal(std=0.02)",
                    "--target", "cuda:sm_90", *options.options, "-o", options.folder / "gpt2.cuda"], check=True)
    subprocess.run(["strip", options.folder / "gpt2.cuda"], check=True)


def module():
    import torch
    sys.path[:0] = [str(ROOT / "examples" / "export")]
    from models import gpt
    torch.manual_seed(0)
    return gpt.GPT(vocabulary=VOCABULARY, context=CONTEXT, layers=LAYERS, heads=HEADS, width=WIDTH, spelling="sdpa")


def prepare(folder, steps):
    """Weights and tokens for both."""
    import numpy as np
    from safetensors.torch import save_file
    state = {name: tensor.contiguous() for name, tensor in module().named_parameters()}
    save_file(state, folder / "weights.safetensors")
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH * steps, CONTEXT + 1))
    np.save(folder / "tokens.npy", tokens[:, :-1].copy())
    np.save(folder / "labels.npy", tokens[:, 1:].copy())


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


def theirs(folder, mode, steps):
    """One PyTorch run in a process of its own: [median step in seconds, losses, peak bytes]."""
    result = subprocess.run([sys.executable, __file__, "torch", folder, "--modes", mode, "--steps", str(steps)], capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stderr[-3000:])
    return json.loads(result.stdout.splitlines()[-1])


def torch_run(folder, mode, steps):
    import numpy as np
    import torch
    torch.set_float32_matmul_precision("high")
    model = module().cuda()
    step_of = torch.compile(model) if mode == "compile" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    tokens, labels = (torch.from_numpy(np.load(folder / f"{name}.npy")).cuda() for name in ("tokens", "labels"))
    seconds, losses = [], []
    for step in range(steps):
        part = slice(BATCH * step, BATCH * (step + 1))
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            loss = step_of(tokens[part], labels[part])[1]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    print(json.dumps([statistics.median(seconds[5:]), losses, torch.cuda.max_memory_allocated()]))


def ours(folder, steps, program="gpt2.cuda"):
    environment = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join([str(folder / "lib"), str(folder.parent / "check" / "lib"),
                                                                    os.environ.get("LD_LIBRARY_PATH", "")])}
    result = subprocess.run([folder / program, "train", "--data", f"tokens={folder / 'tokens.npy'}", "--data",
                             f"labels={folder / 'labels.npy'}", "--no-shuffle", "--steps", str(steps), "--lr", str(RATE), "--weights",
                             folder / "weights.safetensors", "--metrics", folder / "ours.jsonl"], env=environment, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{program}: {result.stdout[-500:]}{result.stderr[-1500:]}")
    rows = [row for row in map(json.loads, (folder / "ours.jsonl").read_text().splitlines()) if "loss" in row]
    return [statistics.median(row["step_s"] for row in rows[5:]), [row["loss"] for row in rows], None]


def run(options):
    prepare(options.folder, options.steps)
    peak = ceiling()
    programs = sorted(path.name for path in options.folder.glob("*.cuda"))
    runs = {name: [] for name in [*programs, *options.modes.split(",")]}
    for _ in range(options.rounds):
        for name in runs:
            runs[name].append(ours(options.folder, options.steps, name) if name in programs else theirs(options.folder, name, options.steps))
    tokens = BATCH * CONTEXT
    flops = tokens * (6 * (LAYERS * 12 * WIDTH**2 + VOCABULARY * WIDTH) + 12 * LAYERS * CONTEXT * WIDTH)
    print(f"a product of 8192^3 in bf16: {peak:.0f} TFLOP/s")
    for name, found in runs.items():
        step = statistics.median(r[0] for r in found)
        line = f"{name:14} {step * 1e3:8.2f} ms  {tokens / step:9.0f} tokens/s  MFU of the product {flops / step / 1e12 / peak:.3f}"
        for mode in options.modes.split(","):
            line += f"  {step / statistics.median(r[0] for r in runs[mode]):.2f} of {mode}"
        if found[0][2]:
            line += f"  peak {found[0][2] / 2**30:.2f} GiB"
        else:
            against = runs[options.modes.split(",")[0]][0][1]
            line += f"  losses apart {max(abs(a - b) / b for a, b in zip(found[0][1], against)):.1e}, last {found[0][1][-1]:.4f}"
        print(line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["pack", "run", "torch"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--options", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--modes", default="eager,compile")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if options.command == "torch":
        return torch_run(options.folder, options.modes, options.steps)
    return pack(options) if options.command == "pack" else run(options)


if __name__ == "__main__":
    main()
