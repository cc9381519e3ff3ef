"""The norm of all gradients where its square is infinite in f32: what is clipped, and that nothing else changes an update. The rule is
PyTorch's: without --clip-grad-norm the norm is reported alone; with it every gradient is multiplied by min(1, limit / (norm + 1e-6)).
Where a gradient is infinite the step ends the run.

  check_gradient_norm.py FOLDER
"""
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES, SAMPLES = 5, 8
LAYOUTS = {"one": ["--dim", "batch=8"], "micro": ["--dim", "batch=2", "--micro-batches", "4"], "dp": ["--dim", "batch=4", "--mesh", "dp=2"],
           "fsdp": ["--dim", "batch=4", "--mesh", "fsdp=2"], "reduced": ["--dim", "batch=8", "--precision", "param=fp16,reduce=f32", "--loss-scale", "4"]}
# gradients of v and w, the clip, and the learning rate
CASES = {"large": (1e25, 3e24, None, 1e-25), "large-clipped": (1e25, 3e24, 0.5, 1), "small-clipped": (1e-3, 2e-3, 1e-3, 1),
         "under-the-limit": (1e-3, 2e-3, 1, 1), "infinite": (np.inf, 2e-3, None, 1), "infinite-clipped": (np.inf, 2e-3, 1, 1)}


def run(*command, expected_error=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if bool(done.returncode) != bool(expected_error) or (expected_error and expected_error not in done.stderr):
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}, expected: {expected_error or 'success'}\n{done.stderr}")


def save(path):
    """loss = mean over samples of x.v and z.w, so that the gradients are the means of x and z."""
    nodes = [("Mul", ["x", "v"], "a"), ("Mul", ["z", "w"], "b"), ("Add", ["a", "b"], "c")]
    made = [helper.make_node(operator, inputs, [output]) for operator, inputs, output in nodes]
    made += [helper.make_node("ReduceSum", ["c", "last"], ["rows"], keepdims=0), helper.make_node("ReduceMean", ["rows"], ["loss"], keepdims=0)]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", FEATURES]) for name in "xz"]
    weights = [numpy_helper.from_array(np.zeros(FEATURES, "f4"), name) for name in "vw"]
    weights.append(numpy_helper.from_array(np.int64([1]), "last"))
    graph = helper.make_graph(made, "g", inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def read_parameters(folder):
    """Both, however many files they lie in."""
    found = {name: np.zeros(FEATURES) for name in "vw"}
    for path in sorted(folder.rglob("*.safetensors")):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + size])
        for name in found:
            entry = header.get(f"{name}#master") or header.get(name)
            if entry:
                begin, end = entry["data_offsets"]
                found[name] = np.frombuffer(data[8 + size + begin:8 + size + end], "f4").astype("f8")
    return found


def expected(v, w, clip, rate):
    """What SGD changes, by PyTorch's rule in float64."""
    gradients = {"v": np.full(FEATURES, v), "w": np.full(FEATURES, w) * np.arange(1, FEATURES + 1)}
    norm = np.sqrt(sum((g ** 2).sum() for g in gradients.values()))
    factor = 1.0 if clip is None else min(1.0, clip / (norm + 1e-6))
    return norm, {name: -rate * factor * g for name, g in gradients.items()}


def check(folder, layout, case):
    v, w, clip, rate = CASES[case]
    random = np.random.default_rng(5)
    spread = random.permuted(np.tile(np.float64([0.5, 1.5]), (FEATURES, SAMPLES // 2)), axis=1).T  # of mean 1
    np.save(folder / "x.npy", np.ascontiguousarray(spread * min(v, 2e38), "f4"))  # eight of 2e38 have an infinite sum, and a finite loss
    np.save(folder / "z.npy", np.ascontiguousarray(spread * w * np.arange(1, FEATURES + 1), "f4"))
    saved, metrics = folder / f"{layout}-{case}", folder / "metrics.jsonl"
    is_lost = np.isinf(v)
    run(folder / layout, "train", "--no-shuffle", "--steps", "1", "--lr", rate, "--data", f"x={folder}/x.npy", "--data", f"z={folder}/z.npy",
        "--metrics", metrics, "--save", saved, *(["--clip-grad-norm", clip] if clip is not None else []),
        expected_error="step 1: the loss is finite, but the norm of its gradients is infinite" if is_lost else None)
    if is_lost:
        return int(any(saved.rglob("*.safetensors")))
    row = [json.loads(line) for line in metrics.read_text().splitlines() if "grad_norm" in line][0]
    metrics.unlink()
    norm, updates = expected(v, w, clip, rate)
    got = read_parameters(saved)
    error = 2e-3 if layout == "reduced" else 1e-5  # inputs and gradients of 11 bits, or of 24
    if np.isclose(row["grad_norm"], norm, rtol=error) and all(np.allclose(got[name], updates[name], rtol=error) for name in got):
        return 0
    print(f"{layout}, {case}: norm {row['grad_norm']}, expected {norm}; updates {got}, expected {updates}")
    return 1


def main():
    folder = pathlib.Path(sys.argv[1])
    save(folder / "m.onnx")
    failures = 0
    for layout, options in LAYOUTS.items():
        run("cleave", "compile", folder / "m.onnx", "-o", folder / layout, "--train", "--loss-output", "loss", "--optimizer", "sgd", *options)
        # 16 bits hold no such inputs, and there an infinite gradient skips the step (overflow.test)
        cases = ["small-clipped", "under-the-limit"] if layout == "reduced" else CASES
        failures += sum(check(folder, layout, case) for case in cases)
    if failures:
        sys.exit(f"{failures} failures")
    print(f"{len(LAYOUTS)} layouts")


if __name__ == "__main__":
    main()
