"""Parameters may have every name: one model is trained with plain names and with odd ones, and the weights are compared to the last bit.

odd_names.py FOLDER: for each list of names, saves in both forms, resumes from the first save, exports, and loads the checkpoint as weights.
"""

import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PLAIN = ["a", "b", "c", "d"]
NAMES = [
    ["w", "w@8", "w#exp_avg", "w#exp_avg@8"],  # the keys of slices and of the optimizer's states
    ["scalar.lr", "scalar.step", "scalar.lr#exp_avg", "scalar.lr~"],  # the names of scalars
    ["w[0]", "w*", "a=b", "w,é|;:"],  # the characters of options
]
STEPS = ["--no-shuffle", "--steps", "4", "--lr", "0.1"]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)


def make_model(path, names):
    random = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for i, name in enumerate(names):
        weights.append(numpy_helper.from_array(random.standard_normal((4, 4)).astype("f4"), name))
        nodes += [helper.make_node("MatMul", [last, name], [f"m{i}"]), helper.make_node("Tanh", [f"m{i}"], [f"t{i}"])]
        last = f"t{i}"
    nodes += [helper.make_node("Mul", [last, last], ["square"]), helper.make_node("ReduceMean", ["square"], ["loss"], keepdims=0)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])]
    graph = helper.make_graph(nodes, "names", inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def exported(folder, checkpoint, names):
    run("cleave", "export", checkpoint, "--model", folder / "m.onnx", "-o", folder / "out.onnx")
    tensors = {t.name: numpy_helper.to_array(t).tobytes() for t in onnx.load(folder / "out.onnx").graph.initializer}
    return [tensors[name] for name in names]


def train(folder, names):
    """Returns the weights of each way to the end of the training."""
    folder.mkdir()
    make_model(folder / "m.onnx", names)
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "m", "--train", "--loss-output", "loss", "--optimizer", "adamw",
        "--dim", "batch=4", "--mesh", "fsdp=2", "--fsdp-strategy", "zero-3")
    data = folder / "x.npy"
    np.save(data, np.random.default_rng(1).standard_normal((32, 4)).astype("f4"))
    results = []
    for form in ("sharded", "full"):
        saved, resumed, loaded = folder / form, folder / (form + ".resumed"), folder / (form + ".loaded")
        run(folder / "m", "train", "--data", f"x={data}", *STEPS, "--checkpoint", form, "--save", saved, "--save-every", "2")
        run(folder / "m", "train", "--data", f"x={data}", *STEPS, "--checkpoint", form, "--save", resumed, "--resume", saved / "step-00000002")
        run(folder / "m", "train", "--data", f"x={data}", *STEPS[:1], "--steps", "1", "--lr", "0", "--save", loaded, "--weights", saved)
        results += [exported(folder, each, names) for each in (saved, resumed, loaded)]
    return results


def main():
    folder = pathlib.Path(sys.argv[1])
    expected = train(folder / "plain", PLAIN)
    assert len(set(expected[0])) == len(PLAIN)  # no two weights could be mistaken for each other
    for i, names in enumerate(NAMES):
        for way, (got, wanted) in enumerate(zip(train(folder / str(i), names), expected)):
            assert wanted == expected[0] and got == wanted, (names, way)
        print(f"{names}: equal".encode("ascii", "backslashreplace").decode())


if __name__ == "__main__":
    main()
