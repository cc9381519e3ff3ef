"""Random DFT nodes: results against numpy in float64 and onnxruntime where it has them, gradients against central differences of numpy's.
All nodes of an opset are one model; a step of SGD with rate 1 shows the gradients.

  check_fourier.py FOLDER SEED COUNT [MESH]

With MESH (dp=2, fsdp=2), ranks share the batch. Lengths go from 1 over primes to those that are computed in two rounds.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

BATCH = 4
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 64, 97, 127, 180, 256, 360, 509, 600, 1021, 1024]
LONG = [2048, 3000, 4096]  # in rounds, one-sided inverses too


class Node:
    """y = DFT(x + p), with a loss of the mean of w y^2."""

    def __init__(self, random, name, opset):
        pick = lambda values: values[random.integers(len(values))]
        self.name, self.opset, self.random = name, opset, random
        self.inverse, self.one_sided = bool(random.integers(2)), bool(random.integers(2))
        complex_input = self.inverse if self.one_sided else bool(random.integers(2))
        rank = int(random.integers(2, 4))  # of the signal, with the batch
        self.axis = int(random.integers(1, rank))
        shape = [BATCH] + [int(random.integers(1, 5)) for _ in range(rank - 1)]
        is_long = random.random() < 0.15
        size = shape[self.axis] = pick(LONG if is_long else LENGTHS)
        if is_long:
            shape[1:self.axis] = [1] * (self.axis - 1)
            shape[self.axis + 1:] = [1] * (rank - self.axis - 1)
        to_real = self.one_sided and self.inverse
        if to_real:
            shape[self.axis] = size // 2 + 1
        self.length = 2 * (shape[self.axis] - 1) if to_real else shape[self.axis]
        self.given = self.length < 1 or random.random() < 0.4
        if self.given:
            self.length = pick([size, size, max(1, size - int(random.integers(1, 9))), size + int(random.integers(1, 9))])
        self.x = random.normal(size=[*shape, 2 if complex_input else 1]).astype("f4")
        self.p = random.normal(size=[1, *self.x.shape[1:]]).astype("f4")
        self.w = random.normal(size=[1, *self.run(self.x).shape[1:]]).astype("f4")

    def describe(self):
        return (f"opset {self.opset}, {self.x.shape} along {self.axis}, length {self.length if self.given else None}, "
                f"inverse {self.inverse}, onesided {self.one_sided}")

    def run(self, x):
        """numpy's, in float64."""
        x = np.float64(x)
        z = x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]
        if self.one_sided:
            y = (np.fft.irfft if self.inverse else np.fft.rfft)(z, self.length, self.axis)
        else:
            y = (np.fft.ifft if self.inverse else np.fft.fft)(z, self.length, self.axis)
        return y[..., None] if np.isrealobj(y) else np.stack([y.real, y.imag], -1)

    def loss(self, p):
        return (np.float64(self.w) * self.run(self.x + np.float64(p)) ** 2).mean()

    def gradient_at(self, at):
        """The loss is quadratic, so that differences are exact whatever the step."""
        step = np.zeros(self.p.shape)
        step[at] = 1
        return (self.loss(self.p + step) - self.loss(self.p - step)) / 2

    def protos(self, constants):
        name, attributes, inputs = self.name, {"inverse": int(self.inverse), "onesided": int(self.one_sided)}, [f"{self.name}.z"]
        axis = self.axis - self.random.integers(2) * (self.x.ndim)  # from either end
        if self.given:
            constants[f"{name}.length"] = np.array(self.length)
            inputs.append(f"{name}.length")
        if self.opset < 20:
            attributes["axis"] = int(axis)
        elif self.axis != self.x.ndim - 2:
            constants[f"{name}.axis"] = np.array(int(axis))
            inputs += [""] * (2 - len(inputs)) + [f"{name}.axis"]
        constants.update({f"{name}.p": self.p, f"{name}.w": self.w})
        return [helper.make_node("Add", [f"{name}.x", f"{name}.p"], [f"{name}.z"]),
                helper.make_node("DFT", inputs, [f"{name}.y"], name=name, **attributes),
                helper.make_node("Mul", [f"{name}.y", f"{name}.y"], [f"{name}.square"]),
                helper.make_node("Mul", [f"{name}.square", f"{name}.w"], [f"{name}.weighted"]),
                helper.make_node("ReduceMean", [f"{name}.weighted"], [f"{name}.loss"], keepdims=0)]


def model_of(nodes, loss):
    constants, protos = {}, []
    for node in nodes:
        protos += node.protos(constants)
    inputs = [helper.make_tensor_value_info(f"{node.name}.x", TensorProto.FLOAT, ["batch", *node.x.shape[1:]]) for node in nodes]
    outputs = [helper.make_tensor_value_info(f"{node.name}.y", TensorProto.FLOAT, None) for node in nodes]
    if loss:
        protos.append(helper.make_node("Sum", [f"{node.name}.loss" for node in nodes], ["loss"]))
        outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
    graph = helper.make_graph(protos, "g", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", nodes[0].opset)], ir_version=9)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)}: {done.stderr}")


def differs(got, expected, bound):
    return got.shape != expected.shape or not np.linalg.norm(got - expected) <= bound * max(np.linalg.norm(expected), 1e-3)


def of_onnxruntime(node):
    """None where it does not have the node, or takes another length for it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model_of([node], loss=False).SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run([f"{node.name}.y"], {f"{node.name}.x": node.x})[0]
    except Exception:  # of no common class
        return None


def check(folder, nodes, mesh):
    ranks = int(mesh.split("=")[1]) if mesh else 1
    options, failures, known = ["--dim", f"batch={BATCH // ranks}", *(["--mesh", mesh] if mesh else [])], 0, 0
    for node in nodes:
        np.save(folder / f"{node.name}.x.npy", node.x)
    if not mesh:
        onnx.save(model_of(nodes, loss=False), folder / "infer.onnx")
        run("cleave", "compile", folder / "infer.onnx", "-o", folder / "infer", *options)
        run(folder / "infer", "infer", *(word for n in nodes for word in ("--input", f"{n.name}.x={folder}/{n.name}.x.npy",
                                                                         "--output", f"{n.name}.y={folder}/{n.name}.y.npy")))
        for node in nodes:
            got, theirs, expected = np.load(folder / f"{node.name}.y.npy"), of_onnxruntime(node), node.run(node.x + node.p)
            known += theirs is not None and not differs(theirs, expected, 1e-4)
            if differs(got, expected, 1e-6):
                failures += 1
                print(f"{node.describe()}: {got.ravel()[:8]}\nexpected {expected.ravel()[:8]}")
    onnx.save(model_of(nodes, loss=True), folder / "train.onnx")
    run("cleave", "compile", folder / "train.onnx", "-o", folder / "train", "--train", "--loss-output", "loss", "--optimizer", "sgd",
        "--buffers", ",".join(f"{n.name}.w" for n in nodes), *options)
    run(folder / "train", "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--save", folder / "saved", "--checkpoint", "full",
        *(word for n in nodes for word in ("--data", f"{n.name}.x={folder}/{n.name}.x.npy")))
    states = read_states(folder / "saved")
    for node in nodes:
        places = [tuple(at) for at in np.argwhere(np.ones(node.p.shape))]
        places = [places[i] for i in node.random.permutation(len(places))[:12]]
        moved = np.float64(node.p) - states[f"{node.name}.p"]
        got, expected = np.array([moved[at] for at in places]), np.array([node.gradient_at(at) for at in places])
        # What a parameter of about 1 moves by is known to 1e-7.
        if not np.allclose(got, expected, rtol=1e-4, atol=1e-6 + 1e-5 * np.abs(moved).max()):
            failures += 1
            print(f"gradient of {node.describe()}: {got}\nexpected {expected}")
    return failures, known


def main():
    folder, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    mesh = sys.argv[4] if len(sys.argv) > 4 else ""
    random, total = np.random.default_rng(seed), 0
    for opset in (17, 20):
        (folder / str(opset)).mkdir(parents=True, exist_ok=True)
        nodes = [Node(random, f"n{i}", opset) for i in range(count)]
        failures, known = check(folder / str(opset), nodes, mesh)
        print(f"opset {opset}: {count} nodes, {known} as onnxruntime has them: {failures} failures")
        total += failures
    sys.exit(total > 0)


main()
