"""Models that draw numbers which no sample reaches (the latent vectors of a generator): the losses are those of independent numbers.

  check_drawn_numbers.py FOLDER

u = RandomUniformLike(x) is uniform in [0, 1), and a sample's loss is the mean of its u w, with w = 1. Over n numbers, the mean is 1/2 with
the standard deviation sqrt(1 / 12 n). Numbers that repeat themselves k times have one that is sqrt(k) times as large.
"""
import json
import math
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, SAMPLES = 4, 1024


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout + done.stderr


def write_model(path):
    nodes = [helper.make_node("RandomUniformLike", ["x"], ["u"]), helper.make_node("Mul", ["u", "w"], ["y"]),
             helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
                               helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", WIDTH])],
                              [numpy_helper.from_array(np.ones(1, "f4"), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)


def write_generator(path):
    """A language model of 64 tokens, whose logits are random numbers."""
    nodes = [helper.make_node("Cast", ["ids"], ["f"], to=TensorProto.FLOAT), helper.make_node("Unsqueeze", ["f", "last"], ["column"]),
             helper.make_node("Expand", ["column", "shape"], ["x"]), helper.make_node("RandomUniformLike", ["x"], ["u"]),
             helper.make_node("Mul", ["x", "zero"], ["z"]), helper.make_node("Add", ["u", "z"], ["logits"])]
    constants = {"last": np.array([2]), "shape": np.array([1, 8, 64]), "zero": np.zeros(1, "f4")}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, 8])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 8, 64])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)


def deviation(numbers):
    return math.sqrt(1 / 12 / numbers)


def losses(folder, name, *options):
    """Of 64 steps without a learning rate."""
    run("cleave", "compile", folder / "m.onnx", "-o", folder / name, "--train", "--loss-output", "loss", "--optimizer", "sgd", *options)
    run(folder / name, "train", "--data", f"x={folder / 'x.npy'}", "--steps", 64, "--lr", 0, "--metrics", folder / f"{name}.jsonl")
    return np.array([json.loads(line)["loss"] for line in (folder / f"{name}.jsonl").read_text().splitlines() if "loss" in json.loads(line)])


def main():
    folder, failures = pathlib.Path(sys.argv[1]), []

    def expect(holds, what):
        failures.extend([] if holds else [what])

    write_model(folder / "m.onnx")
    np.save(folder / "x.npy", np.zeros((SAMPLES, WIDTH), "f4"))
    whole = losses(folder, "whole", "--dim", "batch=8")
    parts = losses(folder, "parts", "--dim", "batch=1", "--micro-batches", 8)
    ranks = losses(folder, "ranks", "--dim", "batch=2", "--micro-batches", 2, "--mesh", "dp=2")
    for name, found in {"whole": whole, "parts": parts, "ranks": ranks}.items():
        ratio = found.std() / deviation(8 * WIDTH)
        expect(0.7 < ratio < 1.4, f"{name}: the losses of steps deviate {ratio:.2f} times as much as those of independent numbers")
    expect(np.allclose(whole, parts, rtol=1e-6), "the numbers depend on the split into micro-batches")

    text = [run(folder / "whole", "evaluate", "--data", f"x={folder / 'x.npy'}") for _ in range(2)]
    found = float(text[0].split("loss ")[1].split()[0])
    expect(abs(found - 0.5) < 5 * deviation(SAMPLES * WIDTH), f"evaluate: a mean of {found} over {SAMPLES * WIDTH} numbers")
    expect(text[0].split("loss ")[1].split()[0] == text[1].split("loss ")[1].split()[0], "evaluate draws other numbers when it is repeated")
    np.save(folder / "nine.npy", np.zeros((9, WIDTH), "f4"))  # 1 more than a batch: copies of it would draw other numbers than it does
    left = run(folder / "whole", "evaluate", "--data", f"x={folder / 'nine.npy'}")
    expect("the last 1 of 9 samples are left out" in left and 0 < float(left.split("loss ")[1].split()[0]) < 1, f"evaluate of 9: {left}")

    run("cleave", "compile", folder / "m.onnx", "-o", folder / "infer", "--dim", "batch=8")
    for name in ("a", "b"):
        run(folder / "infer", "infer", "--input", f"x={folder / 'x.npy'}", "--output", f"y={folder / name}.npy")
    drawn, again = np.load(folder / "a.npy"), np.load(folder / "b.npy")
    expect(len(np.unique(drawn)) > 0.99 * drawn.size, f"infer: {len(np.unique(drawn))} numbers of {drawn.size} are different")
    expect(np.array_equal(drawn, again), "infer draws other numbers when it is repeated")

    write_generator(folder / "tokens.onnx")
    run("cleave", "compile", folder / "tokens.onnx", "-o", folder / "tokens")
    texts = [run(folder / "tokens", "generate", "--prompt-ids", 1, "--tokens", 64, "--temperature", 0, "--seed", seed) for seed in (1, 1, 2)]
    expect("no effect" not in texts[0], "generate says that --seed has no effect")
    generated = [text.splitlines()[0] for text in texts]
    different = len(set(generated[0].split(",")))
    expect(different > 24, f"generate: {different} of 64 tokens are different")  # 8 if all tokens had the numbers of one run
    expect(generated[0] == generated[1] != generated[2], "generate: the tokens do not follow --seed alone")
    print("\n".join(failures) or "drawn numbers: ok")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
