"""Attention of the standard whose plain formula leaves the numbers: half precision whose products are beyond the type before they are scaled, and
queries that see no key, which the standard has zeros for.

  check_attention_masks.py FOLDER

numpy in float64 is the reference; onnxruntime has the same where it knows the form. Each model with --attention plain and fused.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
from onnx import helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from small_models import Checks  # noqa: E402

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
    names = ["q", "k", "v"] + [key if key in given else "" for key in ("mask", "past_k", "past_v", "lengths")]
    while not names[-1]:
        names.pop()
    node = helper.make_node("Attention", names, ["y"], **attributes)
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
    late = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], bool)  # the first row does not say which queries see a key
    check(checks, "late_known", full, attention(q, k, v, late), 1e-5, initializers={"mask": late})
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


def order(checks):
    """Two selects of scores: the outer one's number stands where both take a score away. The causal mask is outer, then inner."""
    q, k, v = numbers(1, 2, KEYS, SIZE), numbers(1, 2, KEYS, SIZE), numbers(1, 2, KEYS, SIZE)
    padded, causal = np.array([[[[False, False, True, True]]]]), np.tri(KEYS, dtype=bool)
    make = helper.make_node
    for fill in (-2.0, -1e9):
        for outer in ("causal", "padded"):
            first, second = (("padded", fill), ("causal", -np.inf)) if outer == "causal" else (("causal", -np.inf), ("padded", fill))
            scores = np.float64(q) @ np.float64(k).swapaxes(-1, -2) / np.sqrt(SIZE)
            for name, number in (first, second):
                scores = np.where({"padded": padded, "causal": causal}[name], scores, number)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            want = weights / weights.sum(-1, keepdims=True) @ np.float64(v)
            nodes = [make("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), make("MatMul", ["q", "kt"], ["product"]), make("Mul", ["product", "scale"], ["s0"]),
                     make("Where", [first[0], "s0", f"of_{first[0]}"], ["s1"]), make("Where", [second[0], "s1", f"of_{second[0]}"], ["s2"]),
                     make("Softmax", ["s2"], ["w"], axis=-1), make("MatMul", ["w", "v"], ["y"])]
            known = {"scale": np.float32(SIZE ** -0.5), "causal": causal, "of_padded": np.float32(fill), "of_causal": np.float32(-np.inf)}
            for how in ("plain", "fused"):
                checks.check(f"{outer}_outside_{-int(fill)}_{how}", nodes, {"q": q, "k": k, "v": v, "padded": padded}, {"y": want.astype("f4")}, 1e-5,
                             ["--attention", how], how == "plain", initializers=known)


def seen(queries, keys, offset=0, left=-1, right=-1):
    """The keys of a query at p = offset + its index are those from p - left to p + right; -1 is no bound."""
    p, key = np.arange(queries)[:, None] + np.asarray(offset)[..., None, None], np.arange(keys)
    return ((left < 0) | (key >= p - left)) & ((right < 0) | (key <= p + right))


def windows(checks):
    """Sliding windows (opset 25), with all other masks; onnxruntime of this release does not know them."""
    q, k, v = numbers(2, 2, 6, SIZE), numbers(2, 2, 6, SIZE), numbers(2, 2, 6, SIZE)
    full = {"q": q, "k": k, "v": v}
    for left, right in ((2, 0), (2, 1), (-1, 1), (0, -1), (7, 9)):
        check(checks, f"window_{left}_{right}", full, attention(q, k, v, seen(6, 6, 0, left, right)), 1e-5, opset=25, peer=False,
              left_window_size=left, right_window_size=right)
    check(checks, "window_causal", full, attention(q, k, v, seen(6, 6, 0, 1, 0)), 1e-5, opset=25, peer=False, left_window_size=1, right_window_size=3, is_causal=1)
    mask = random.random((2, 1, 6, 6)) < 0.4  # some queries see no key, and some none of their window
    visible = mask & seen(6, 6, 0, 1, 1)
    check(checks, "window_mask", full | {"mask": mask}, attention(q, k, v, visible), 1e-5, opset=25, peer=False, left_window_size=1, right_window_size=1)
    check(checks, "window_known", full, attention(q, k, v, visible), 1e-5, {"mask": mask}, opset=25, peer=False, left_window_size=1, right_window_size=1)
    added = numbers(6, 6)
    # A mask ends before the last keys, which it hides: queries whose window has none of its keys see no key.
    for columns in (1, 4):
        short = np.ones((6, columns), bool)
        visible = np.pad(short, ((0, 0), (0, 6 - columns))) & seen(6, 6, 0, 1, 0)
        for how, given, known in (("given", {"mask": short}, None), ("known", {}, {"mask": short})):
            check(checks, f"window_short_{columns}_{how}", full | given, attention(q, k, v, visible), 1e-5, known, opset=25, peer=False,
                  left_window_size=1, right_window_size=0)
    check(checks, "window_added", full | {"mask": added}, attention(q, k, v, seen(6, 6, 0, 2), added), 1e-5, opset=25, peer=False, left_window_size=2)
    # After a cache; and of queries beyond the last key, which see none.
    past = {"past_k": numbers(2, 2, 3, SIZE), "past_v": numbers(2, 2, 3, SIZE)}
    keys, values = (np.concatenate([past[name], full[name[-1]]], 2) for name in past)
    check(checks, "window_past", full | past, attention(q, keys, values, seen(6, 9, 3, 2, 0)), 1e-5, opset=25, peer=False, left_window_size=2, is_causal=1)
    short = full | {"k": k[:, :, :3], "v": v[:, :, :3]}
    check(checks, "window_beyond", short, attention(q, k[:, :, :3], v[:, :, :3], seen(6, 3, 0, 1)), 1e-5, opset=25, peer=False, left_window_size=1)
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], left_window_size=-2)
    checks.refuse("window_-2", "`left_window_size` must be -1, for none, or a number of 0 or more; got -2", [node], full, {"y": q}, opset=25)


def precision(checks):
    """The softmax of f32 scores in f64, and of f16 scores in f32, as Cleave computes them anyhow; integers are none."""
    for kind, wide, bound in (("f4", 11, 1e-6), ("f2", 1, 2e-3)):
        q, k, v = (numbers(1, 1, n, SIZE).astype(kind) for n in (QUERIES, KEYS, KEYS))
        check(checks, f"softmax_{kind}", {"q": q, "k": k, "v": v}, attention(q, k, v, True), bound, peer=False, softmax_precision=wide)
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], softmax_precision=7)
    checks.refuse("softmax_7", "`softmax_precision` 7 is not a floating-point type", [node], {"q": q, "k": k, "v": v}, {"y": q}, opset=23)


def lengths(checks):
    """Keys that are a buffer, of which each sample fills a part (opset 24): its queries are the last ones of this part."""
    q, k, v = numbers(4, 2, QUERIES, SIZE), numbers(4, 2, 6, SIZE), numbers(4, 2, 6, SIZE)
    given = {"q": q, "k": k, "v": v, "lengths": np.int64([6, 3, 1, 0])}  # one has less keys than queries, and one none
    filled = np.arange(6) < given["lengths"][:, None, None, None]
    check(checks, "lengths", given, attention(q, k, v, filled), 1e-5, opset=24, peer=False)
    for name, bounds in (("causal", {"right": 0}), ("window", {"left": 1, "right": 1})):
        visible = filled & seen(QUERIES, 6, given["lengths"] - QUERIES, **bounds)[:, None]
        attributes = {"is_causal": 1} if name == "causal" else {f"{side}_window_size": size for side, size in bounds.items()}
        check(checks, f"lengths_{name}", given, attention(q, k, v, visible), 1e-5, opset=25, peer=False, **attributes)
        known = {key: given[key] for key in "qkv"}
        check(checks, f"lengths_{name}_known", known, attention(q, k, v, visible), 1e-5, {"lengths": given["lengths"]}, opset=25, peer=False, **attributes)
    nodes = [helper.make_node("Attention", ["q", "k", "v", "", "", "", "lengths"], ["y"])]
    checks.refuse("lengths_7", "`nonpad_kv_seqlen` holds 7; expected 0 to 6", nodes, known, {"y": q}, initializers={"lengths": np.int64([6, 7, 1, 0])}, opset=24)
    got = checks.run(checks.model("lengths_-1", nodes, given, {"y": q}, opset=24), given | {"lengths": np.int64([6, -1, 1, 0])}, ["y"])
    checks.note("lengths_-1", "" if isinstance(got, str) and "expected 0 to 6" in got else f"expected a refusal, got {got}")


def gradients(checks):
    """The mean of the squares of what attends, with a padded sample, and with a window: finite, and as the numerical derivative of float64 has it."""
    x, w = numbers(2, QUERIES, SIZE), numbers(SIZE, SIZE)
    mask = np.ones((2, 1, 1, QUERIES), bool)
    mask[1] = False
    for name, opset, attributes in (("padded", 23, {}), ("window", 25, {"left_window_size": 1, "right_window_size": 0})):
        visible = mask[:, 0] & seen(QUERIES, QUERIES, 0, *attributes.values())
        slopes(checks, name, {"x": x, "mask": mask}, w, visible, opset, attributes)


def slopes(checks, name, given, w, visible, opset, attributes):
    x, make = given["x"], helper.make_node
    nodes = [make("MatMul", ["x", "w"], ["q"]), make("Attention", ["q", "x", "x", "mask"], ["y"], q_num_heads=1, kv_num_heads=1, **attributes),
             make("Mul", ["y", "y"], ["s"]), make("ReduceMean", ["s"], ["loss"], keepdims=0)]
    path = checks.model(f"gradients_{name}", nodes, given, {"loss": np.float32(0)}, initializers={"w": w}, opset=opset)

    def loss(weights):
        return (attention(np.float64(x) @ weights, x, x, visible) ** 2).mean()

    def slope(i, j, step=1e-5):
        both = [loss(np.float64(w) + sign * step * (np.arange(SIZE)[:, None] == i) * (np.arange(SIZE) == j)) for sign in (1, -1)]
        return (both[0] - both[1]) / (2 * step)

    want = [loss(w), np.sqrt(sum(slope(i, j) ** 2 for i in range(SIZE) for j in range(SIZE)))]
    for key, array in given.items():
        np.save(checks.folder / f"{key}.npy", array)
    for how in ("plain", "fused"):
        program = path.with_suffix(f".{how}")
        subprocess.run(["cleave", "compile", path, "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--attention", how],
                       check=True, capture_output=True)
        done = subprocess.run([program, "train", "--no-shuffle", "--steps", "1", "--lr", "0.1", "--clip-grad-norm", "1e30", "--metrics", f"{program}.jsonl",
                               f"--data=x={checks.folder}/x.npy", f"--data=mask={checks.folder}/mask.npy"], capture_output=True, text=True)
        if done.returncode:
            checks.note(f"gradients {name} {how}", done.stderr)
            continue
        step = json.loads(open(f"{program}.jsonl").readline())
        checks.same(f"gradients {name} {how}", [step["loss"], step["grad_norm"]], want, 1e-4)


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    for part in (half_precision, masks, order, windows, precision, lengths, gradients):
        part(all_checks)
    all_checks.end()
