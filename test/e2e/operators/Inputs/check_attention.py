"""Trains the models of attention_models.py with --attention plain and fused: losses must agree, on one rank and on two.

  check_attention.py FOLDER [--only NAME,NAME...] [--bound RELATIVE] [options of compile]

Prints for each spelling what its attention became.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

import attention_models

STEPS = 3


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, timeout=600, capture_output=True, text=True).stdout


def losses(folder, name, how, options):
    program = folder / f"{name}-{how}"
    run("cleave", "compile", folder / f"{name}.onnx", "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd",
        "--dim", "batch=2", "--attention", how, *options)
    run("cleave", "verify", program)
    metrics = folder / f"{name}-{how}.jsonl"
    data = [part for port in ("x", "target") for part in ("--data", f"{port}={folder / port}.npy")]
    run(program, "train", *data, "--no-shuffle", "--steps", STEPS, "--lr", "0.3", "--metrics", metrics)
    return [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]


def form_of(folder, name):
    """The kinds of attention in the training step."""
    text = folder / f"{name}.mlir"
    run("cleave", "compile", folder / f"{name}.onnx", "-o", text, "--train", "--loss-output", "loss", "--attention", "fused",
        "--dim", "batch=2", "--emit", "mlir", "--stop-after", "step")
    found = re.search(r"cleave\.attention_grad (.*)", text.read_text())
    if not found:
        return "plain"
    return " ".join(["fused", *(word for word in ("mask", "dropout", "causal") if re.search(rf"\b{word}\b", found[1]))])


def main():
    folder, options = pathlib.Path(sys.argv[1]), sys.argv[2:]
    spellings = [spelling.__name__ for spelling in attention_models.SPELLINGS]
    if options[:1] == ["--only"]:
        spellings, options = options[1].split(","), options[2:]
    bound = 2e-6  # the order of sums differs; in 16 bits what is rounded, too
    if options[:1] == ["--bound"]:
        bound, options = float(options[1]), options[2:]
    rows, width = (dim.dim_value for dim in onnx.load(folder / "plain.onnx").graph.input[0].type.tensor_type.shape.dim[1:])
    random = np.random.default_rng(3)
    ranks = int(next((option.split("=")[1] for option in options if option.startswith("dp=")), 1))
    for port in ("x", "target"):
        batch = random.standard_normal((2 * ranks, rows, width)).astype(np.float32)
        np.save(folder / f"{port}.npy", np.concatenate([batch] * STEPS))
    for name in spellings:
        plain, fused = (losses(folder, name, how, options) for how in ("plain", "fused"))
        apart = max(abs(a - b) / abs(a) for a, b in zip(plain, fused, strict=True))
        if not (apart <= bound and plain[-1] < plain[0]):
            sys.exit(f"{name}: losses {plain} and {fused}, {apart:.1e} apart")
        print(f"{name}: {form_of(folder, name)}")


main()
