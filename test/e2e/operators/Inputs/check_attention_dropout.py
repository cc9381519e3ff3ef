"""Trains attention with dropout in every layout of 8 samples, plain and fused: the same probabilities are dropped, wherever the samples lie,
and the losses are those of float64 with the same mask.

  check_attention_dropout.py FOLDER [MODEL...]

The reference is numpy's: the mask by Philox 4x32-10 of the element's index in the global batch, the gradient by hand.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import attention_models

SAMPLES, ROWS, STEPS, LR, SEED = 8, 27, 3, 0.3, 1234567890123
HEADS, WIDTH, RATE = 4, 32, 0.3
# Micro-batches, and the mesh.
LAYOUTS = [(1, ""), (2, ""), (4, ""), (1, "dp=2"), (2, "dp=2"), (1, "fsdp=2"), (2, "fsdp=2"), (1, "dp=2,fsdp=2")]


def philox(counters, seed):
    """Four words for each counter of four words."""
    words, key = [counters[..., i].astype(np.uint64) for i in range(4)], [seed & 0xffffffff, seed >> 32]
    low = np.uint64(0xffffffff)
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(second >> np.uint64(32)) ^ words[1] ^ np.uint64(key[0]), second & low,
                 (first >> np.uint64(32)) ^ words[3] ^ np.uint64(key[1]), first & low]
        key = [(key[0] + 0x9E3779B9) & 0xffffffff, (key[1] + 0xBB67AE85) & 0xffffffff]
    return np.stack(words, -1)


def kept(shape, step, site=0):
    """By which dropout multiplies each probability of the global batch."""
    index = np.arange(np.prod(shape), dtype=np.uint64)
    group = index // np.uint64(4)
    counters = np.stack([group & np.uint64(0xffffffff), group >> np.uint64(32), np.full_like(group, step), np.full_like(group, site)], -1)
    words = np.take_along_axis(philox(counters, SEED), (index % np.uint64(4)).astype(np.int64)[:, None], 1)[:, 0]
    uniform = (words >> np.uint64(8)).astype(np.float64) * 2.0 ** -24
    return np.where(uniform >= np.float32(RATE), 1 / (1 - RATE), 0.0).reshape(shape)


class Model:
    """Attention with fewer heads of keys and values than of queries where `groups` is not 1. `is_causal`, `is_flat`: batch and heads are one dimension."""

    def __init__(self, name, is_causal=False, groups=1, is_flat=False, is_windowed=False):
        self.name, self.is_causal, self.groups, self.is_flat, self.is_windowed = name, is_causal, groups, is_flat, is_windowed
        random, size = np.random.default_rng(5), WIDTH // HEADS
        shapes = {"query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH // groups), "value": (WIDTH, WIDTH // groups), "out": (WIDTH, WIDTH)}
        self.weights = {k: random.normal(0, WIDTH ** -0.5, s).astype(np.float32) for k, s in shapes.items()}
        self.scale = size ** -0.5

    def visible(self):
        rows, columns = np.indices((ROWS, ROWS))
        return rows >= columns if self.is_causal else np.abs(rows - columns) < 5 if self.is_windowed else np.ones((ROWS, ROWS), bool)

    def save(self, path):
        g = attention_models.Graph(ROWS, HEADS, WIDTH)
        heads = {name: self.heads(g, name) for name in ("query", "key", "value")}
        scores = g.op("Mul", g.op("MatMul", heads["query"], g.op("Transpose", heads["key"], perm=[0, 2, 1] if self.is_flat else [0, 1, 3, 2])), g.number(self.scale))
        if not self.visible().all():
            scores = g.op("Where", g.constant(self.visible()), scores, g.number(-np.inf if self.is_causal else -1e9))
        y = g.op("MatMul", g.weights(scores, RATE), heads["value"])
        if self.is_flat:
            y = g.op("Reshape", y, g.constant([-1, HEADS, ROWS, WIDTH // HEADS]))
        joined = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.constant([0, 0, WIDTH]))
        difference = g.op("Sub", g.op("MatMul", joined, g.parameter(self.weights["out"], "out")), "target")
        loss = g.op("ReduceMean", g.op("Mul", difference, difference), keepdims=0)
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", ROWS, WIDTH]) for name in ("x", "target")]
        onnx.save(attention_models.finish(g, ports, loss), path)

    def heads(self, g, name):
        heads = HEADS if name == "query" else HEADS // self.groups
        product = g.op("MatMul", "x", g.parameter(self.weights[name], name))
        split = g.op("Transpose", g.op("Reshape", product, g.constant([0, 0, heads, WIDTH // HEADS])), perm=[0, 2, 1, 3])
        if heads != HEADS:  # as repeat_interleave is exported
            wide = g.op("Expand", g.op("Unsqueeze", split, g.constant([2])), g.constant([1, 1, self.groups, 1, 1]))
            split = g.op("Reshape", wide, g.constant([0, HEADS, ROWS, WIDTH // HEADS]))
        return g.op("Reshape", split, g.constant([-1, ROWS, WIDTH // HEADS])) if self.is_flat else split

    def reference(self, x, target):
        """Losses and norms of the gradient of STEPS steps of SGD, in float64."""
        w, results = {k: v.astype(np.float64) for k, v in self.weights.items()}, []
        size = WIDTH // HEADS

        def split(name, part):
            heads = (part @ w[name]).reshape(SAMPLES, ROWS, -1, size).transpose(0, 2, 1, 3)
            return heads if name == "query" else np.repeat(heads, self.groups, 1)

        def merged(name, part, gradient):
            if name != "query":
                gradient = gradient.reshape(SAMPLES, -1, self.groups, ROWS, size).sum(2)
            return np.einsum("brw,brh->wh", part, gradient.transpose(0, 2, 1, 3).reshape(SAMPLES, ROWS, -1))

        for step in range(STEPS):
            part, wanted = (a[step * SAMPLES:(step + 1) * SAMPLES].astype(np.float64) for a in (x, target))
            q, k, v = (split(name, part) for name in ("query", "key", "value"))
            scores = np.where(self.visible(), q @ k.transpose(0, 1, 3, 2) * self.scale, -np.inf)
            p = np.exp(scores - scores.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            z = kept(p.shape, step + 1)  # steps are counted from 1
            joined = ((p * z) @ v).transpose(0, 2, 1, 3).reshape(SAMPLES, ROWS, WIDTH)
            difference = joined @ w["out"] - wanted
            of_out = 2 * difference / difference.size
            of_y = (of_out @ w["out"].T).reshape(SAMPLES, ROWS, HEADS, size).transpose(0, 2, 1, 3)
            of_p = of_y @ v.transpose(0, 1, 3, 2) * z
            of_scores = p * (of_p - (p * of_p).sum(-1, keepdims=True)) * self.scale
            gradients = {"out": np.einsum("brw,brh->wh", joined, of_out), "query": merged("query", part, of_scores @ k),
                         "key": merged("key", part, of_scores.transpose(0, 1, 3, 2) @ q), "value": merged("value", part, (p * z).transpose(0, 1, 3, 2) @ of_y)}
            results.append([(difference ** 2).mean(), np.sqrt(sum((g ** 2).sum() for g in gradients.values()))])
            w = {name: value - LR * gradients[name] for name, value in w.items()}
        return np.array(results)


MODELS = [Model("plain"), Model("causal", is_causal=True), Model("window", is_windowed=True), Model("grouped", is_causal=True, groups=2), Model("flat", is_flat=True)]


def run(command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
    return result.stdout


def trained(folder, model, how, layout, *options):
    micro, mesh = layout
    ranks = int(np.prod([int(axis.split("=")[1]) for axis in mesh.split(",")])) if mesh else 1
    program, metrics = folder / f"{model}-{how}", folder / "metrics.json"
    run(["cleave", "compile", folder / f"{model}.onnx", "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--attention", how,
         "--dim", f"batch={SAMPLES // ranks // micro}", "--micro-batches", micro, *(["--mesh", mesh] if mesh else []), *options])
    run(["cleave", "verify", program])
    if ("dropout_grad" in run(["cleave", "inspect", "--text", program])) != (how == "fused"):
        sys.exit(f"{model}, micro-batches and mesh {layout}: --attention {how} is something else")
    metrics.unlink(missing_ok=True)
    run([program, "train", "--data", f"x={folder}/x.npy", "--data", f"target={folder}/target.npy", "--no-shuffle", "--steps", STEPS, "--lr", LR, "--seed", SEED,
         "--metrics", metrics])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return np.array([[row["loss"], row["grad_norm"]] for row in rows if "loss" in row])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    x, target = (random.standard_normal((SAMPLES * STEPS, ROWS, WIDTH)).astype(np.float32) for _ in range(2))
    np.save(folder / "x.npy", x)
    np.save(folder / "target.npy", target)
    failed = 0
    for model in [each for each in MODELS if each.name in (sys.argv[2:] or [each.name])]:
        model.save(folder / f"{model.name}.onnx")
        expected, farthest = model.reference(x, target), 0
        for layout in LAYOUTS:
            for how in ("plain", "fused"):
                got = trained(folder, model.name, how, layout)
                apart = np.abs(got / expected - 1).max() if got.shape == expected.shape else np.inf
                farthest = max(farthest, apart)
                if not apart <= 5e-6:
                    print(f"{model.name} {how}, micro-batches and mesh {layout}: {got.tolist()}, expected {expected.tolist()}")
                    failed += 1
        print(f"{model.name}: {len(LAYOUTS)} layouts, plain and fused; float64 within {farthest:.0e}")
        first, again = (trained(folder, model.name, "fused", (2, "dp=2"), "--recompute", how) for how in ("never", "blocks"))
        if (first != again).any():
            print(f"{model.name}: recomputation changes {first.tolist()} to {again.tolist()}")
            failed += 1
    if failed:
        sys.exit(f"{failed} differ")


main()
