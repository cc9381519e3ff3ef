"""Compile time: GPT-2 124M in seconds, 48 layers against 12, dp=1024 against dp=2 (bounds: 20 s, 4.5, 1.1).

Models are built here with examples/export/models/gpt.py (torch is needed for the export only), without weights worth
keeping: compile time does not depend on their values.
"""
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch

import common  # noqa: F401  (puts examples/export on the path)
from exporters import export_torchscript
from models import gpt

os.environ["CLEAVE_KERNEL_CACHE"] = "off"  # each compilation is to do all of its work


def export(path, layers, width, heads, vocabulary, context):
    model = gpt.GPT(vocabulary=vocabulary, context=context, layers=layers, heads=heads, width=width)
    tokens = torch.randint(0, vocabulary, (2, context))
    export_torchscript(model, {"tokens": tokens, "labels": tokens.clone()}, ["logits", "loss"], str(path))


def seconds(model, output, *options):
    """Median of three whole compilations to a linked training executable."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(["cleave", "compile", str(model), "-o", str(output), "--train", "--loss-output", "loss", *options],
                       check=True, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        export(folder / "gpt2.onnx", 12, 768, 12, 50257, 1024)
        print(f"GPT-2 124M, dp=2: {seconds(folder / 'gpt2.onnx', folder / 'gpt2', '--dim', 'batch=1', '--mesh', 'dp=2'):.1f} s")
        for layers in (12, 48):
            export(folder / f"l{layers}.onnx", layers, 128, 4, 256, 64)
        twelve, fortyeight = (seconds(folder / f"l{n}.onnx", folder / "l", "--dim", "batch=8") for n in (12, 48))
        print(f"48 layers / 12 layers: {fortyeight:.2f} s / {twelve:.2f} s = {fortyeight / twelve:.2f}")
        few, many = (seconds(folder / "l12.onnx", folder / "l", "--dim", "batch=8", "--mesh", f"dp={n}") for n in (2, 1024))
        print(f"dp=1024 / dp=2: {many:.2f} s / {few:.2f} s = {many / few:.2f}")


if __name__ == "__main__":
    main()
