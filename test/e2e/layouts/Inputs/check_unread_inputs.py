"""A program's inputs do not depend on the layout: check_unread_inputs.py FOLDER.

Of the inputs x, z and t of a model the loss needs x and t. z is for a second output alone, or for nothing: with stages and without, training and
evaluation take all three, and give the same losses. The same holds for inference, where nothing needs z."""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYOUTS = ["", "--mesh pp=2", "--mesh pp=2 --schedule zb-h1 --recompute blocks", "--mesh dp=2,pp=2 --dp-sync parameter-server"]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def write_model(path, aux):
    """y = tanh(tanh(x a) b) c, and the mean of (y - t)^2; with `aux` also z a."""
    nodes = [("MatMul", "x a", "p"), ("Tanh", "p", "q"), ("MatMul", "q b", "r"), ("Tanh", "r", "s"), ("MatMul", "s c", "y"), ("Sub", "y t", "d"), ("Mul", "d d", "e"),
             ("ReduceMean", "e", "loss")] + aux
    rng = np.random.default_rng(1)
    outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []), helper.make_tensor_value_info(aux[0][2] if aux else "y", TensorProto.FLOAT, ["batch", 4])]
    graph = helper.make_graph([helper.make_node(op, takes.split(), [makes], **({"keepdims": 0} if op == "ReduceMean" else {})) for op, takes, makes in nodes], "g",
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in "xzt"], outputs,
                              [numpy_helper.from_array(rng.standard_normal((4, 4), "f4"), name) for name in "abc"])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def inputs_of(program):
    """Of each program its inputs that some kind of ranks has."""
    found = {}
    for line in run("cleave", "inspect", program, "--text").splitlines():
        if entry := re.match(r"program @(\w+) entry", line):
            name = entry[1]
        elif (port := re.match(r"  input %(\w+) ", line)) and not line.endswith(" absent"):
            found.setdefault(name, set()).add(port[1])
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    data = []
    for seed, name in enumerate("xzt"):
        np.save(folder / f"{name}.npy", np.random.default_rng(seed).standard_normal((8, 4), "f4"))
        data += ["--data", f"{name}={folder / name}.npy"]
    for aux in ([("MatMul", "z a", "aux")], []):
        write_model(folder / "unread.onnx", aux)
        expected = None
        for layout in LAYOUTS:
            program = folder / "unread"
            batch = 2 if "dp=2" in layout else 4
            run("cleave", "compile", folder / "unread.onnx", "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", f"batch={batch}", "--micro-batches", 2,
                *layout.split())
            assert inputs_of(program) == {"train_step": set("xzt"), "evaluate": set("xzt")}, (aux, layout, inputs_of(program))
            run(program, "train", *data, "--steps", 3, "--no-shuffle", "--lr", 0.1, "--metrics", folder / "log", "--save", folder / "saved")
            losses = [row["loss"] for row in map(json.loads, (folder / "log").read_text().splitlines()) if "loss" in row]
            losses.append(float(re.search(r"loss (\S+?),? ", run(program, "evaluate", *data) + " ")[1]))
            expected = expected or losses
            assert len(losses) == 4 and losses[0] != losses[1] and np.allclose(losses, expected, rtol=1e-5), (aux, layout, losses, expected)
        run("cleave", "compile", folder / "unread.onnx", "-o", folder / "unread", "--emit", "plan", "--dim", "batch=4", "--mesh", "pp=2")
        assert inputs_of(folder / "unread") == {"infer": set("xzt")}, (aux, inputs_of(folder / "unread"))


main()
