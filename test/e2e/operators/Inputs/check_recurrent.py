"""Random LSTM, GRU and RNN nodes: results against onnxruntime and the standard's formulas in float64, gradients against central
differences of those formulas. All nodes are one model; a step of SGD with rate 1 shows the gradients.

  check_recurrent.py FOLDER SEED COUNT [MESH]

With MESH (dp=2, fsdp=2), ranks share the batch. Half of the nodes get their weights as PyTorch's exporters write them: parameters with
the gates in PyTorch's order, cut and joined by Slice, Concat and Unsqueeze.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

BATCH, OPSET = 4, 17
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# Where the standard's gates lie in PyTorch's parameters.
ORDER = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN": [0]}
FUNCTIONS = {
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Softplus": lambda x: np.logaddexp(0, x),
}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


class Node:
    """One node. `data` are inputs [batch, ...]; `weights` are the standard's W, R, B and P."""

    def __init__(self, random, name):
        pick = lambda low, high: int(random.integers(low, high))
        chance = lambda p=0.5: bool(random.random() < p)
        self.name, self.operator = name, ["LSTM", "GRU", "RNN"][pick(0, 3)]
        self.length, size, self.hidden = pick(1, 7), pick(1, 5), pick(1, 6)
        direction = ["forward", "reverse", "bidirectional"][pick(0, 3)]
        self.count = 2 if direction == "bidirectional" else 1
        self.attributes = {"hidden_size": self.hidden}
        if direction != "forward" or chance():
            self.attributes["direction"] = direction
        if self.operator == "GRU" and chance(0.7):
            self.attributes["linear_before_reset"] = 1
        if chance(0.2):
            self.attributes["layout"] = 1
        if chance(0.3):
            names = ["Sigmoid", "Tanh", "Softsign"]
            self.attributes["activations"] = [names[pick(0, 3)] for _ in DEFAULTS[self.operator] * self.count]
        elif self.operator == "RNN" and chance():  # the standard's default, which is that of both directions also for one
            self.attributes["activations"] = ["Tanh", "Tanh"]
        rows = GATES[self.operator] * self.hidden
        draw = lambda *shape: random.normal(size=shape).astype("f4") * 0.5
        self.weights = {"W": draw(self.count, rows, size), "R": draw(self.count, rows, self.hidden)}
        if chance(0.8):
            self.weights["B"] = draw(self.count, 2 * rows)
        self.torch = chance()
        if self.operator == "LSTM" and not self.torch and chance(0.3):
            self.weights["P"] = draw(self.count, 3 * self.hidden)
        self.data = {"x": draw(BATCH, self.length, size)}
        self.zeros = chance(0.3)
        if not self.zeros and chance():
            self.data["h"] = draw(BATCH, self.count, self.hidden)
        if not self.zeros and self.operator == "LSTM" and chance():
            self.data["c"] = draw(BATCH, self.count, self.hidden)
        if chance(0.3):
            self.data["lengths"] = random.integers(1, self.length + 1, BATCH).astype("i4")
        self.outputs = ["Y", "Y_h", "Y_c"][:3 if self.operator == "LSTM" else 2]
        if chance(0.3):
            self.outputs[0] = ""

    def parameters(self):
        """What is trained, by name."""
        if not self.torch:
            return {f"{self.name}.{key}": array for key, array in self.weights.items()}
        result, rows = {}, GATES[self.operator] * self.hidden
        for d in range(self.count):
            parts = {"weight_ih": self.weights["W"][d], "weight_hh": self.weights["R"][d]}
            if "B" in self.weights:
                parts["bias_ih"], parts["bias_hh"] = self.weights["B"][d, :rows], self.weights["B"][d, rows:]
            for key, array in parts.items():
                result[f"{self.name}.{key}_l0{'_reverse' * d}"] = self.to_torch(array)
        return result

    def to_torch(self, array):
        gates = np.split(array, GATES[self.operator])
        placed = [None] * len(gates)
        for i, place in enumerate(ORDER[self.operator]):
            placed[place] = gates[i]
        return np.concatenate(placed)

    def weights_of(self, parameters):
        """The standard's weights of parameters like `parameters()`."""
        if not self.torch:
            return {key: parameters[f"{self.name}.{key}"] for key in self.weights}
        def joined(kind):
            arrays = [np.split(parameters[f"{self.name}.{kind}_l0{'_reverse' * d}"], GATES[self.operator]) for d in range(self.count)]
            return np.stack([np.concatenate([gates[place] for place in ORDER[self.operator]]) for gates in arrays])
        weights = {"W": joined("weight_ih"), "R": joined("weight_hh")}
        if "B" in self.weights:
            weights["B"] = np.concatenate([joined("bias_ih"), joined("bias_hh")], 1)
        return weights

    def state_port(self, key, nodes, initializers):
        """An initial state: data, zeros as exporters write them, or none."""
        port, batch_first = f"{self.name}.{key}", "layout" in self.attributes
        if key in self.data:
            if batch_first:
                return port
            nodes.append(helper.make_node("Transpose", [port], [f"{port}.turned"], perm=[1, 0, 2]))
            return f"{port}.turned"
        if not self.zeros or (key == "c" and self.operator != "LSTM"):
            return ""
        sizes = [f"{port}.count", f"{port}.batch", f"{port}.hidden"]
        initializers[sizes[0]], initializers[sizes[2]] = np.array([self.count]), np.array([self.hidden])
        if batch_first:
            sizes[:2] = sizes[1], sizes[0]
        nodes += [helper.make_node("Shape", [f"{self.name}.x"], [f"{port}.sizes"]),
                  helper.make_node("Slice", [f"{port}.sizes", "zero", "one"], [f"{port}.batch"]),
                  helper.make_node("Concat", sizes, [f"{port}.shape"], axis=0),
                  helper.make_node("ConstantOfShape", [f"{port}.shape"], [f"{port}.zeros"])]
        return f"{port}.zeros"

    def nodes(self, initializers):
        """What makes the node's inputs, the node, and what makes its loss, `NAME.loss`."""
        nodes, x = [], f"{self.name}.x"
        if "layout" not in self.attributes:
            nodes.append(helper.make_node("Transpose", [x], [f"{x}.turned"], perm=[1, 0, 2]))
            x = f"{x}.turned"
        inputs = [x, *self.weight_nodes(nodes, initializers), f"{self.name}.lengths" if "lengths" in self.data else "",
                  *(self.state_port(key, nodes, initializers) for key in "hc"), f"{self.name}.P" if "P" in self.weights else ""]
        while not inputs[-1]:
            inputs.pop()
        outputs = [f"{self.name}.{key}" if key else "" for key in self.outputs]
        nodes.append(helper.make_node(self.operator, inputs, outputs, name=self.name, **self.attributes))
        for port in filter(None, outputs):
            nodes += [helper.make_node("Mul", [port, port], [f"{port}.square"]),
                      helper.make_node("Add", [f"{port}.square", port], [f"{port}.sum"]),
                      helper.make_node("ReduceMean", [f"{port}.sum"], [f"{port}.mean"], keepdims=0)]
        nodes.append(helper.make_node("Sum", [f"{port}.mean" for port in outputs if port], [f"{self.name}.loss"]))
        return nodes

    def weight_nodes(self, nodes, initializers):
        initializers.update(self.parameters())
        if not self.torch:
            return [f"{self.name}.{key}" if key in self.weights else "" for key in ("W", "R", "B")]
        def standard(kind, d):
            port, parts = f"{self.name}.{kind}_l0{'_reverse' * d}", []
            for place in ORDER[self.operator]:
                bounds = [f"{self.name}.at{place}", f"{self.name}.at{place + 1}"]
                for bound, at in zip(bounds, (place, place + 1)):
                    initializers[bound] = np.array([at * self.hidden])
                parts.append(f"{port}.{place}")
                nodes.append(helper.make_node("Slice", [port, *bounds, "zero"], [parts[-1]]))
            nodes.append(helper.make_node("Concat", parts, [f"{port}.joined"], axis=0))
            return f"{port}.joined"
        def both(name, of):
            for d in range(self.count):
                nodes.append(helper.make_node("Unsqueeze", [of(d), "zero"], [f"{self.name}.{name}{d}"]))
            nodes.append(helper.make_node("Concat", [f"{self.name}.{name}{d}" for d in range(self.count)], [f"{self.name}.{name}"], axis=0))
            return f"{self.name}.{name}"
        def bias(d):
            port = f"{self.name}.bias{d}"
            nodes.append(helper.make_node("Concat", [standard("bias_ih", d), standard("bias_hh", d)], [port], axis=0))
            return port
        return [both("W", lambda d: standard("weight_ih", d)), both("R", lambda d: standard("weight_hh", d)),
                both("B", bias) if "B" in self.weights else ""]

    def ports(self):
        return {f"{self.name}.{key}": array for key, array in self.data.items()}

    def run(self, parameters):
        """The outputs by the standard's formulas, in float64."""
        weights = self.weights_of({name: np.float64(array) for name, array in parameters.items()})
        names = self.attributes.get("activations", DEFAULTS[self.operator] * self.count)
        each = len(DEFAULTS[self.operator])
        lengths = self.data.get("lengths", np.full(BATCH, self.length))
        y = np.zeros((self.length, self.count, BATCH, self.hidden))
        ends = [[], []]
        for d in range(self.count):
            functions = [FUNCTIONS[name] for name in names[d * each:][:each]]
            h, c = (np.float64(self.data[key][:, d]) if key in self.data else np.zeros((BATCH, self.hidden)) for key in "hc")
            backward = self.attributes.get("direction") == "reverse" or d == 1
            for step in range(self.length):
                # Each sample has steps of its own: the backward direction begins at its last one.
                for b in range(BATCH):
                    if step >= lengths[b]:
                        continue
                    t = lengths[b] - 1 - step if backward else step
                    h[b], c[b] = self.cell(functions, {k: w[d] for k, w in weights.items()}, np.float64(self.data["x"][b, t]), h[b], c[b])
                    y[t, d, b] = h[b]
            ends[0].append(h), ends[1].append(c)
        results = {"Y": y, "Y_h": np.stack(ends[0]), "Y_c": np.stack(ends[1])}
        if "layout" in self.attributes:
            results = {key: array.transpose(2, 0, 1, 3) if key == "Y" else array.transpose(1, 0, 2) for key, array in results.items()}
        return {key: results[key] for key in self.outputs if key}

    def cell(self, functions, weights, x, h, c):
        rows = GATES[self.operator] * self.hidden
        wb, rb = np.split(weights.get("B", np.zeros(2 * rows)), 2)
        from_x, from_h = np.split(weights["W"] @ x + wb, GATES[self.operator]), np.split(weights["R"] @ h + rb, GATES[self.operator])
        if self.operator == "RNN":
            return functions[0](from_x[0] + from_h[0]), c
        if self.operator == "GRU":
            z, r = (functions[0](a + b) for a, b in zip(from_x[:2], from_h[:2]))
            if self.attributes.get("linear_before_reset"):
                n = functions[1](from_x[2] + r * from_h[2])
            else:
                n = functions[1](from_x[2] + weights["R"][2 * self.hidden:] @ (r * h) + rb[2 * self.hidden:])
            return (1 - z) * n + z * h, c
        pi, po, pf = np.split(weights.get("P", np.zeros(3 * self.hidden)), 3)
        i, o, f, g = (a + b for a, b in zip(from_x, from_h))
        new = functions[0](f + pf * c) * c + functions[0](i + pi * c) * functions[1](g)
        return functions[0](o + po * new) * functions[2](new), new

    def loss(self, parameters):
        return sum((y * y + y).mean() for y in self.run(parameters).values())

    def gradients(self):
        parameters = {name: np.float64(array) for name, array in self.parameters().items()}
        result = {}
        for name, array in parameters.items():
            result[name] = np.zeros_like(array)
            for at in np.ndindex(array.shape):
                old, values = array[at], []
                for step in (1e-5, -1e-5):
                    array[at] = old + step
                    values.append(self.loss(parameters))
                array[at] = old
                result[name][at] = (values[0] - values[1]) / 2e-5
        return result


def port(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), ["batch", *array.shape[1:]])


def model_of(nodes, loss):
    initializers, protos, inputs = {"zero": np.array([0]), "one": np.array([1])}, [], {}
    for node in nodes:
        protos += node.nodes(initializers)
        inputs.update(node.ports())
    outputs = [helper.make_tensor_value_info(f"{node.name}.{key}", onnx.TensorProto.FLOAT, None) for node in nodes for key in node.outputs if key]
    if loss:
        protos.append(helper.make_node("Sum", [f"{node.name}.loss" for node in nodes], ["loss"]))
        outputs = [helper.make_tensor_value_info("loss", onnx.TensorProto.FLOAT, [])]
    graph = helper.make_graph(protos, "g", [port(*item) for item in inputs.items()], outputs,
                              [numpy_helper.from_array(array, name) for name, array in initializers.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8), inputs


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)}: {done.stderr}")
    return done.stdout + done.stderr


def differs(got, expected, bound):
    return got.shape != expected.shape or not np.linalg.norm(got - expected) <= bound * max(np.linalg.norm(expected), 1e-2)


def check_onnxruntime(nodes):
    """What onnxruntime has of the nodes is what the formulas give: they are the standard's. How many it has."""
    count = 0
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for node in nodes:
        model, inputs = model_of([node], loss=False)
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            theirs = session.run(None, inputs)
        except Exception:
            continue
        count += 1
        for key, got in zip(filter(None, node.outputs), theirs):
            if differs(got, node.run(node.parameters())[key], 1e-5):
                sys.exit(f"{node.name}: onnxruntime differs from the formulas: {node.operator} {node.attributes}, output {key}")
    return count


def check_results(folder, nodes, options):
    model, inputs = model_of(nodes, loss=False)
    onnx.save(model, folder / "infer.onnx")
    run("cleave", "compile", folder / "infer.onnx", "-o", folder / "infer", *options)
    arguments = []
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    for node in nodes:
        for key in filter(None, node.outputs):
            arguments += ["--output", f"{node.name}.{key}={folder}/{node.name}.{key}.npy"]
    run(folder / "infer", "infer", *arguments)
    failures = 0
    for node in nodes:
        for key, expected in node.run(node.parameters()).items():
            got = np.load(folder / f"{node.name}.{key}.npy")
            if differs(got, expected, 1e-5):
                failures += 1
                print(f"{node.name}: {node.operator} {node.attributes} of {list(node.data)}, output {key}:\n{got}\nexpected\n{expected}")
    return failures


def check_gradients(folder, nodes, options):
    model, inputs = model_of(nodes, loss=True)
    onnx.save(model, folder / "train.onnx")
    run("cleave", "compile", folder / "train.onnx", "-o", folder / "train", "--train", "--loss-output", "loss", "--optimizer", "sgd", *options)
    arguments = [word for name in inputs for word in ("--data", f"{name}={folder}/{name}.npy")]
    run(folder / "train", "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--save", folder / "saved", "--checkpoint", "full", *arguments)
    states, failures = read_states(folder / "saved"), 0
    for node in nodes:
        for name, expected in node.gradients().items():
            got = np.float64(node.parameters()[name]) - states[name]
            if differs(got, expected, 2e-5):
                failures += 1
                print(f"gradient of {name}, {node.operator} {node.attributes} of {list(node.data)}:\n{got}\nexpected\n{expected}")
    return failures


def main():
    folder, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    mesh = sys.argv[4] if len(sys.argv) > 4 else ""
    ranks = int(mesh.split("=")[1]) if mesh else 1
    options = ["--dim", f"batch={BATCH // ranks}", *(["--mesh", mesh] if mesh else [])]
    random = np.random.default_rng(seed)
    nodes = [Node(random, f"n{i}") for i in range(count)]
    known = check_onnxruntime(nodes)
    # Inference has no state to be split.
    failures = check_results(folder, nodes, [option.replace("fsdp", "dp") for option in options]) + check_gradients(folder, nodes, options)
    print(f"{count} nodes, {known} of them checked with onnxruntime, too: {failures} failures")
    sys.exit(failures > 0 or known * 3 < count)


main()
