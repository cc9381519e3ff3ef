"""A loss divided by a count that is kept from zero, where in some batches nothing counts: two micro-batches, and two ranks, give what one batch
of all samples gives.

  check_empty_batches.py FOLDER
"""
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES, SAMPLES = 3, 8

# name: nodes from the mask `m` [batch] to the divisor `n`, and the divisor of all samples.
COUNTS = {
    "at-least": ([("ReduceSum", ["m"], "s", {"keepdims": 0}), ("Max", ["s", "one"], "n", {})], lambda m: max(m.sum(), 1)),
    "clip": ([("ReduceSum", ["m"], "s", {"keepdims": 0}), ("Clip", ["s", "one"], "n", {})], lambda m: max(m.sum(), 1)),
    "where": ([("ReduceSum", ["m"], "s", {"keepdims": 0}), ("Greater", ["s", "zero"], "g", {}), ("Where", ["g", "s", "one"], "n", {})],
              lambda m: m.sum() if m.sum() > 0 else 1),
    "plus": ([("ReduceSum", ["m"], "s", {"keepdims": 0}), ("Add", ["s", "one"], "n", {})], lambda m: m.sum() + 1),
    "whole": ([("Cast", ["m"], "i", {"to": TensorProto.INT64}), ("ReduceSum", ["i"], "s", {"keepdims": 0}), ("Max", ["s", "whole"], "t", {}),
               ("Cast", ["t"], "n", {"to": TensorProto.FLOAT})], lambda m: max(m.sum(), 1)),
    "mean": ([("ReduceMean", ["m"], "s", {"keepdims": 0}), ("Max", ["s", "half"], "n", {})], lambda m: max(m.mean(), 0.5)),
    "both": ([("ReduceSum", ["m"], "s", {"keepdims": 0}), ("Max", ["s", "one"], "t", {}), ("Add", ["t", "half"], "n", {})], lambda m: max(m.sum(), 1) + 0.5),
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def save(path, count, w, penalty):
    nodes = [("MatMul", ["x", "w"], "y", {}), ("Mul", ["y", "y"], "q", {}), ("Mul", ["q", "m"], "c", {}),
             ("ReduceMean" if count == "mean" else "ReduceSum", ["c"], "total", {"keepdims": 0}), *COUNTS[count][0],
             ("Div", ["total", "n"], "mean" if penalty else "loss", {})]
    if penalty:
        nodes += [("ReduceSumSquare", ["w"], "squares", {"keepdims": 0}), ("Mul", ["squares", "half"], "penalty", {}), ("Add", ["mean", "penalty"], "loss", {})]
    constants = {"one": np.float32(1), "zero": np.float32(0), "half": np.float32(0.5), "whole": np.int64(1)}
    made = [helper.make_node("Constant", [], [n], value=numpy_helper.from_array(np.asarray(v))) for n, v in constants.items()]
    made += [helper.make_node(operator, inputs, [output], **attributes) for operator, inputs, output, attributes in nodes]
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES]),
                                          helper.make_tensor_value_info("m", TensorProto.FLOAT, ["batch"])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def read_parameter(folder):
    path = next(folder.rglob("*.safetensors"))
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + size])["w"]
    begin, end = entry["data_offsets"]
    return np.frombuffer(data[8 + size + begin:8 + size + end], "f4")


def check(folder, count, mask, penalty=False):
    random = np.random.default_rng(3)
    w, x = random.standard_normal(FEATURES).astype("f4"), random.standard_normal((SAMPLES, FEATURES)).astype("f4")
    save(folder / "m.onnx", count, w, penalty)
    np.save(folder / "x.npy", x)
    np.save(folder / "m.npy", mask)
    x8, m8, w8 = np.float64(x), np.float64(mask), np.float64(w)
    divisor = COUNTS[count][1](m8) * (SAMPLES if count == "mean" else 1)
    loss, gradient = (m8 * (x8 @ w8) ** 2).sum() / divisor, 2 * (x8.T @ (m8 * (x8 @ w8))) / divisor
    if penalty:
        loss, gradient = loss + 0.5 * (w8 ** 2).sum(), gradient + w8
    failures = 0
    for name, options in {"one": ["--dim", "batch=8"], "micro": ["--dim", "batch=2", "--micro-batches", "4"],
                          "ranks": ["--dim", "batch=4", "--mesh", "dp=2"], "both": ["--dim", "batch=2", "--mesh", "dp=2", "--micro-batches", "2"]}.items():
        program = folder / f"{count}-{name}"
        run("cleave", "compile", folder / "m.onnx", "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", *options)
        run(program, "train", "--no-shuffle", "--steps", "1", "--lr", "0.25", "--data", f"x={folder}/x.npy", "--data", f"m={folder}/m.npy",
            "--metrics", folder / "metrics.jsonl", "--save", folder / f"{program.name}.saved")
        got = [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines() if "loss" in json.loads(line)][0]
        update = np.float64(w) - read_parameter(folder / f"{program.name}.saved")
        (folder / "metrics.jsonl").unlink()
        if not (abs(got - loss) <= 1e-5 * abs(loss) and np.allclose(update, 0.25 * gradient, rtol=1e-4, atol=1e-6)):
            failures += 1
            print(f"{count}{', penalty' * penalty}, {name}, mask {mask}: loss {got}, expected {loss}; update {update}, expected {0.25 * gradient}")
    return failures


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    masks = [np.float32([1, 1, 0, 1, 0, 0, 0, 0]), np.float32([0, 0, 0, 0, 0, 0, 0.25, 0]), np.zeros(SAMPLES, "f4")]
    failed = sum(check(target, count, mask) for count in COUNTS for mask in masks[:3 if count in ("at-least", "mean") else 1])
    failed += sum(check(target, count, masks[0], penalty=True) for count in ("at-least", "plus", "both"))
    if failed:
        sys.exit(f"{failed} failures")
    print(f"{len(COUNTS)} guarded counts")
