"""Parameters that are called as the compiler calls things of its own: the same losses as with plain names.

  symbol_names.py FOLDER

The names are all symbols of the phases of a first compilation, and a few that would look like lines of a plan.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

STRANGE = ["w0.grad", "w0.exp_avg", "w0.exp_avg_sq", "x\n}\nprogram @fake \033[31m", "a\"b", "%0", "@w0", " ", "server", "worker", "micro",
           "micro.first", "snapshot", "init", "infer", "output", "host.persistent", "c1", "c1.fwd", "c0.bwd_x",
           "w0.grad.c0", "scalar.micro.c1"]
LAYOUTS = {"dp": ["--mesh", "dp=2"], "server": ["--mesh", "dp=2", "--dp-sync", "parameter-server"],
           "fsdp": ["--mesh", "fsdp=2", "--micro-batches", "2", "--save-async"],
           "chunks": ["--micro-batches", "2", "--insert", "import=request-stages{stages=2 split-backward=true}"]}


def write_model(path, names):
    """loss = mean((x + w0 + w1 + ...)^2)"""
    random = np.random.default_rng(5)
    weights = [onnx.numpy_helper.from_array(random.standard_normal(4).astype(np.float32), name) for name in names]
    nodes, value = [], "x"
    for i, name in enumerate(names):
        nodes.append(onnx.helper.make_node("Add", [value, name], [f"sum{i}"]))
        value = f"sum{i}"
    nodes.append(onnx.helper.make_node("Mul", [value, value], ["square"]))
    nodes.append(onnx.helper.make_node("ReduceMean", ["square"], ["loss"], keepdims=0))
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 4])
    loss = onnx.helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])
    graph = onnx.helper.make_graph(nodes, "g", [x], [loss], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


def losses(folder, name, options):
    program, metrics = folder / name, folder / f"{name}.jsonl"
    compiled = ["cleave", "compile", folder / f"{name}.onnx", "-o", program, "--train", "--loss-output", "loss", "--global-batch", "4",
                "--dump-phases", folder / f"{name}.phases", *options]
    subprocess.run(compiled, check=True, stdout=subprocess.DEVNULL, timeout=120)
    for command in ["verify", "inspect"]:
        subprocess.run(["cleave", command, program], check=True, stdout=subprocess.DEVNULL, timeout=120)
    subprocess.run([program, "train", "--data", f"x={folder / 'x.npy'}", "--steps", "3", "--lr", "0.1", "--metrics", metrics], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]


def symbols(folder):
    found = set(STRANGE)
    for phase in folder.glob("*.phases/*.mlir"):
        found |= set(re.findall(r"@([A-Za-z_][\w.$]*)", phase.read_text()))
    return sorted(found)


def main():
    folder = pathlib.Path(sys.argv[1])
    np.save(folder / "x.npy", np.random.default_rng(6).standard_normal((16, 4)).astype(np.float32))
    write_model(folder / "first.onnx", ["w0", "w1"])
    for options in LAYOUTS.values():
        losses(folder, "first", options)
    names = symbols(folder)
    plain = [f"p{i:03}" for i in range(len(names))]
    for layout, options in LAYOUTS.items():
        write_model(folder / "named.onnx", names)
        write_model(folder / "plain.onnx", plain)
        ours, expected = losses(folder, "named", options), losses(folder, "plain", options)
        if ours != expected or len(ours) != 3 or ours[0] == ours[2]:
            sys.exit(f"{layout}: losses {ours}, with plain names {expected}")
    infer = folder / "infer"
    subprocess.run(["cleave", "compile", folder / "named.onnx", "-o", infer, "--dim", "batch=2", "--mesh", "dp=2"], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    subprocess.run(["cleave", "verify", infer], check=True, stdout=subprocess.DEVNULL, timeout=120)
    text = subprocess.run(["cleave", "inspect", folder / "named", "--text"], check=True, capture_output=True, text=True).stdout
    if "\033" in text or re.search(r"^program @fake", text, re.MULTILINE):
        sys.exit("a name stands unquoted in the text of the plan")
    print(f"{len(names)} names")


if __name__ == "__main__":
    main()
