"""Attention of the standard whose plain formula leaves the numbers: half precision whose products are beyond the type before they are scaled, and
queries that see no key, which the standard has zeros for.

  check_attention_masks.py FOLDER

numpy in float64 is the reference; onnxruntime has the same where it knows the form. Each model with --attention plain and fused.
"""
import json
import subprocess
import sys

import numpy as np
from onnx import helper

from small_models import Checks

random = np.random.default_rng(0)
QUERIES, KEYS, SIZE = 3, 4, 8


def attention(q, k, v, visible, added=0.0):
    """`visible` [..., queries, keys] says which keys a query sees."""
    scores = np.float64(q) @ np.float64(k).swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + added
    scores = np.where(visible, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ np.float64(v)


def numbers(*shape):
    return random.standard_normal(shape).astype("f4")


def check(checks, name, inputs, want, bound, initializers=None, opset=23, peer=True, **attributes):
    given = {key: np.float32(0) for key in initializers or {}} | inputs
    node = helper.make_node("Attention", [key for key in ("q", "k", "v", "mask") if key in given], ["y"], **attributes)
    for how in ("plain", "fused"):
        checks.check(f"{name}_{how}", [node], inputs, {"y": want.astype(inputs["q"].dtype)}, bound, ["--attention", how], peer and how == "plain",
                     initializers=initializers, opset=opset)


def half_precision(checks):
    q, k = (np.full((1, 2, n, 64), 40, "f2") for n in (QUERIES, KEYS))  # a product of 102400; scaled, 12800
    v = numbers(1, 2, KEYS, SIZE).astype("f2")
    check(checks, "half_equal", {"q": q, "k": k, "v": v}, attention(q, k, v, True), 2e-3)
    k[:, :, 1::2] *= -1  # every other key is as far below as the others are above
    check(checks, "half_apart", {"q": q, "k": k, "v": v}, attention(q, k, v, True), 2e-3)


def masks(checks):
    q, k, v = numbers(2, 2, QUERIES, SIZE), numbers(2, 2, KEYS, SIZE), numbers(2, 2, KEYS, SIZE)
    full = {"q": q, "k": k, "v": v}
    hides = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]], bool)
    check(checks, "boolean", full | {"mask": hides}, attention(q, k, v, hides), 1e-5)
    check(checks, "boolean_known", full, attention(q, k, v, hides), 1e-5, initializers={"mask": hides})
    check(checks, "opset24", full | {"mask": hides}, attention(q, k, v, hides), 1e-5, opset=24)
    added = np.where(hides, numbers(QUERIES, KEYS), np.float32(-np.inf)).astype("f4")
    check(checks, "added", full | {"mask": added}, attention(q, k, v, hides, np.where(hides, added, 0)), 1e-5)
    # One sample of a padded batch is all padding.
    padded = np.array([[1, 1, 0, 0], [0, 0, 0, 0]], bool).reshape(2, 1, 1, KEYS)
    check(checks, "padding", full | {"mask": padded}, attention(q, k, v, padded), 1e-5, peer=False)
    # No key of the mask is among those that a causal query sees.
    late = np.array([[0, 1, 1, 1], [0, 0, 1, 1], [1, 0, 0, 0]], bool)
    check(checks, "causal", full | {"mask": late}, attention(q, k, v, late & np.tri(QUERIES, KEYS, dtype=bool)), 1e-5, is_causal=1)
    # Every query sees a key.
    check(checks, "visible", full | {"mask": ~hides}, attention(q, k, v, ~hides), 1e-5)


def gradients(checks):
    """The mean of the squares of what attends, with a padded sample: finite, and as the numerical derivative of float64 has it."""
    x, w = numbers(2, QUERIES, SIZE), numbers(SIZE, SIZE)
    mask = np.ones((2, 1, 1, QUERIES), bool)
    mask[1] = False
    make = helper.make_node
    nodes = [make("MatMul", ["x", "w"], ["q"]), make("Attention", ["q", "x", "x", "mask"], ["y"], q_num_heads=1, kv_num_heads=1),
             make("Mul", ["y", "y"], ["s"]), make("ReduceMean", ["s"], ["loss"], keepdims=0)]
    path = checks.model("gradients", nodes, {"x": x, "mask": mask}, {"loss": np.float32(0)}, initializers={"w": w}, opset=23)

    def loss(weights):
        return (attention(np.float64(x) @ weights, x, x, mask[:, 0]) ** 2).mean()

    def slope(i, j, step=1e-5):
        both = [loss(np.float64(w) + sign * step * (np.arange(SIZE)[:, None] == i) * (np.arange(SIZE) == j)) for sign in (1, -1)]
        return (both[0] - both[1]) / (2 * step)

    want = [loss(w), np.sqrt(sum(slope(i, j) ** 2 for i in range(SIZE) for j in range(SIZE)))]
    for name, array in (("x", x), ("mask", mask)):
        np.save(checks.folder / f"{name}.npy", array)
    for how in ("plain", "fused"):
        program = path.with_suffix(f".{how}")
        subprocess.run(["cleave", "compile", path, "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--attention", how],
                       check=True, capture_output=True)
        done = subprocess.run([program, "train", "--no-shuffle", "--steps", "1", "--lr", "0.1", "--clip-grad-norm", "1e30", "--metrics", f"{program}.jsonl",
                               f"--data=x={checks.folder}/x.npy", f"--data=mask={checks.folder}/mask.npy"], capture_output=True, text=True)
        if done.returncode:
            checks.note(f"gradients {how}", done.stderr)
            continue
        step = json.loads(open(f"{program}.jsonl").readline())
        checks.same(f"gradients {how}", [step["loss"], step["grad_norm"]], want, 1e-4)


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    for part in (half_precision, masks, gradients):
        part(all_checks)
    all_checks.end()
