"""Trains a step of many micro-batches in 16 bits, in several layouts. The sum of their gradients is that of float64: a sum in bf16 stops
growing when it is 256 times as large as its terms, and one in fp16 at 2,048 times.

  check_micro_batch_sums.py FOLDER
"""
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

MICRO, FEATURES, WIDTH = {"bf16": 1024, "fp16": 4096}, 32, 64
LAYOUTS = {
    "one rank": [],
    "dp": ["--mesh", "dp=2"],
    "dp, every": ["--mesh", "dp=2", "--grad-sync", "every"],
    "parameter server, every": ["--mesh", "dp=2", "--dp-sync", "parameter-server", "--grad-sync", "every"],
    "zero-1": ["--mesh", "fsdp=2", "--fsdp-strategy", "zero-1"],
    "full-shard": ["--mesh", "fsdp=2"],
    "full-shard, last": ["--mesh", "fsdp=2", "--grad-sync", "last"],
    "hybrid": ["--mesh", "dp=2,fsdp=2"],
    "pipeline": ["--mesh", "pp=2"],
}


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], **attributes)


def build(weights, path):
    """All rows of x are alike, and so are all gradients of a micro-batch of one sample."""
    info = helper.make_tensor_value_info
    nodes = [node("MatMul", ["x", "first"], "h"), node("MatMul", ["h", "last"], "y"), node("ReduceMean", ["y"], "loss", keepdims=0)]
    graph = helper.make_graph(nodes, "sums", [info("x", TensorProto.FLOAT, ["batch", FEATURES])], [info("loss", TensorProto.FLOAT, [])],
                              [helper.make_tensor(name, TensorProto.FLOAT, value.shape, value.ravel()) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
    return result.stdout


def main():
    folder = pathlib.Path(sys.argv[1])
    weights = {"first": numpy.full((FEATURES, WIDTH), 0.25, "f4"), "last": numpy.full((WIDTH, 1), 0.5, "f4")}
    build(weights, folder / "m.onnx")
    failures = cases = 0
    for precision, micro in MICRO.items():
        numpy.save(folder / "x.npy", numpy.ones((4 * micro, FEATURES), "f4"))
        for name, options in LAYOUTS.items():
            if precision == "fp16" and name not in ("one rank", "full-shard"):
                continue
            run("cleave", "compile", folder / "m.onnx", "-o", folder / "e", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", "batch=1",
                "--micro-batches", micro, "--precision", precision, *options)
            run(folder / "e", "train", "--data", f"x={folder}/x.npy", "--steps", 1, "--no-shuffle", "--lr", 1, "--save", folder / "c", "--checkpoint", "full")
            states = read_states(folder / "c")
            wanted = {"first": numpy.full((FEATURES, WIDTH), 0.25 - 0.5), "last": numpy.full((WIDTH, 1), 0.5 - 0.25 * FEATURES)}
            for weight, value in wanted.items():
                cases += 1
                found = states[weight].astype("f8")
                if not numpy.allclose(found, value, rtol=4e-3):
                    print(f"{precision}, {name}, {weight}: {found.ravel()[:3]}, expected {value.ravel()[0]}")
                    failures += 1
    print(f"{cases} sums, {failures} failures")


main()
