"""Trains one step of models of one parameter each, and compares loss and gradient with float64 in numpy.

  check_gradient_ends.py FOLDER

A node's metadata is what torch.onnx.export(dynamo=True) writes: the call that the node stands for.
"""
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402


def call(target, *arguments):
    return f"%node : [num_users=1] = call_function[target=torch.ops.{target}](args = ({', '.join(arguments)},), kwargs = {{}})"


def node(kind, inputs, output, metadata=None, **attributes):
    made = helper.make_node(kind, inputs, [output], **attributes)
    if metadata:
        entry = made.metadata_props.add()
        entry.key, entry.value = "pkg.torch.onnx.fx_node", metadata
    return made


def constant(name, value):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value)))


def sigmoid(x):
    return np.exp(-np.logaddexp(0, -x))


def tensor_bounds(*names):
    """a clamped to [-3, 3] by torch.clamp with bounds that torch.export takes for tensors of these names."""
    said = call("aten.clamp.Tensor", "%a", *names)
    return [constant("lo", np.float32(-3)), constant("hi", np.float32(3)), node("Max", ["a", "lo"], "m", said), node("Min", ["m", "hi"], "y", said)]


def clip(said):
    """a clamped to [-3, 3] by a Clip."""
    return [constant("lo", np.float32(-3)), constant("hi", np.float32(3)), node("Clip", ["a", "lo", "hi"], "y", said)]


def column_maxima(dim):
    """In place of the nine numbers of a, [3, 3], the largest of each column. `dim` is what the metadata says."""
    return [constant("s", np.int64([3, 3])), constant("t", np.int64([1, 9])), constant("zero", np.float32(0)), node("Reshape", ["a", "s"], "m"),
            constant("axes", np.int64([0])), node("ReduceMax", ["m", "axes"], "k", call("aten.max.dim", "%m", str(dim)), keepdims=0),
            node("Mul", ["m", "zero"], "z"), node("Add", ["z", "k"], "r"), node("Reshape", ["r", "t"], "y")]


def slopes_of_column_maxima(a):
    """The gradient of a sum of the columns' maxima, weighted by v, over v."""
    table, v = a.reshape(3, 3), np.linspace(0.5, 1.5, 9).reshape(3, 3)
    return ((table == table.max(0)) * v.sum(0) / v).reshape(9)


def norm_of_one(p):
    """The norm of each number by itself."""
    said = call("aten.linalg_vector_norm.default", "%a", str(p))
    return [constant("p", np.float32(p)), constant("root", np.float32(1 / p)), node("Abs", ["a"], "b", said), node("Pow", ["b", "p"], "c", said),
            node("Pow", ["c", "root"], "y", said)]


# All models: a = x * w with w = 1, so that the gradient of w is that of `a` times x. name: nodes from `a` to `y`; y and dy/da at a. The loss is sum(y * v).
# A name that ends with a version of PyTorch is a file of its exporter.
KINKS = np.float32([-6, -3, -2, -1, 0, 1, 2, 3, 6])
DEEP = np.float32([-3e4, -200, -104, -90, -80, -1, 0, 1, 80, 90, 104, 200, 3e4])
ELEMENTWISE = {
    "detach": ([node("Exp", ["a"], "e"), node("Identity", ["e"], "d", call("aten.detach.default", "%e")), node("Mul", ["a", "d"], "y")], KINKS,
               lambda a: a * np.exp(a), lambda a: np.exp(a)),
    "straight-through": ([node("Round", ["a"], "r"), node("Sub", ["r", "a"], "s"), node("Identity", ["s"], "d", call("aten.detach.default", "%s")),
                          node("Add", ["a", "d"], "y")], KINKS + np.float32(0.25), lambda a: np.round(a), lambda a: a * 0 + 1),
    "identity": ([node("Identity", ["a"], "y", call("aten.alias.default", "%a"))], KINKS, lambda a: a, lambda a: a * 0 + 1),
    "hard-swish": ([node("HardSwish", ["a"], "y")], KINKS, lambda a: a * np.clip(a / 6 + 0.5, 0, 1),
                   lambda a: np.where(a <= -3, 0, np.where(a >= 3, 1, a / 3 + 0.5))),
    "hard-sigmoid": ([node("HardSigmoid", ["a"], "y", alpha=1 / 6)], KINKS, lambda a: np.clip(a / 6 + 0.5, 0, 1), lambda a: (np.abs(a) < 3) / 6),
    "clamp": ([constant("lo", np.float32(-3)), constant("hi", np.float32(3)), node("Clip", ["a", "lo", "hi"], "y", call("aten.clamp.default", "%a", "-3", "3"))],
              KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) < 3) * 1.0),
    "clip-below": ([constant("lo", np.float32(-1)), node("Clip", ["a", "lo"], "y")], KINKS, lambda a: np.maximum(a, -1), lambda a: (a > -1) * 1.0),
    "clip-above": ([constant("hi", np.float32(2)), node("Clip", ["a", "", "hi"], "y")], KINKS, lambda a: np.minimum(a, 2), lambda a: (a < 2) * 1.0),
    # The lower bound is above the upper one, so all numbers are the upper one, and its gradient is the sum of v: 9.
    "bounds-crossed": ([constant("lo", np.float32(2)), node("ReduceMin", ["a"], "hi", keepdims=0), node("Mul", ["a", "lo"], "b"),
                        node("Clip", ["b", "lo", "hi"], "y")], KINKS, lambda a: a * 0 + a.min(), lambda a: (a == a.min()) * 9 / 0.5),
    # What the metadata says never changes a value.
    "max-of-columns": (column_maxima(0), KINKS, lambda a: np.tile(a.reshape(3, 3).max(0), 3), slopes_of_column_maxima),
    "max-of-other-dimension": (column_maxima(1), KINKS, lambda a: np.tile(a.reshape(3, 3).max(0), 3), slopes_of_column_maxima),
    "bound-without-number": ([constant("none", np.float32(np.nan)), constant("two", np.float32(2)),
                              node("Max", ["a", "none"], "m", call("aten.clamp_min.default", "%a", "%scalar_tensor")), node("IsNaN", ["m"], "i"),
                              node("Where", ["i", "two", "m"], "y")], KINKS, lambda a: a * 0 + 2, lambda a: a * 0),
    "hardtanh": ([constant("lo", np.float32(-3)), constant("hi", np.float32(3)),
                  node("Clip", ["a", "lo", "hi"], "y", call("aten.hardtanh.default", "%a", "-3.0", "3.0"))],
                 KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) < 3) * 1.0),
    # Bounds that are integers in PyTorch's source have no gradient. Those that are tensors share it where they are equal.
    "clamp-integers": (tensor_bounds("%scalar_tensor_default", "%scalar_tensor_default_1"), KINKS, lambda a: np.clip(a, -3, 3),
                       lambda a: (np.abs(a) < 3) * 1.0),
    "clamp-tensors": (tensor_bounds("%lo", "%hi"), KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) < 3) + (np.abs(a) == 3) / 2),
    # PyTorch before 2.15: a number that equals a bound of clamp has its gradient, and one that equals a bound of hardtanh has none.
    "clamp-2.13": (clip(call("aten.clamp.default", "%a", "-3", "3")), KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) <= 3) * 1.0),
    "clamp_min-2.13": ([constant("lo", np.float32(-1)), node("Clip", ["a", "lo"], "y", call("aten.clamp_min.default", "%a", "-1"))], KINKS,
                       lambda a: np.maximum(a, -1), lambda a: (a >= -1) * 1.0),
    "clip-below-2.13": ([constant("lo", np.float32(-1)), node("Clip", ["a", "lo"], "y")], KINKS, lambda a: np.maximum(a, -1), lambda a: (a >= -1) * 1.0),
    "hardtanh-2.13": (clip(call("aten.hardtanh.default", "%a", "-3.0", "3.0")), KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) < 3) * 1.0),
    "clip-2.13": (clip(None), KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) < 3) * 1.0),
    "clamp-integers-2.13": (tensor_bounds("%scalar_tensor_default", "%scalar_tensor_default_1"), KINKS, lambda a: np.clip(a, -3, 3),
                            lambda a: (np.abs(a) <= 3) * 1.0),
    "clamp-tensors-2.13": (tensor_bounds("%lo", "%hi"), KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) <= 3) * 1.0),
    "clamp_min-tensor-2.13": ([constant("lo", np.float32(-3)), node("Max", ["a", "lo"], "y", call("aten.clamp_min.Tensor", "%a", "%lo"))], KINKS,
                              lambda a: np.maximum(a, -3), lambda a: (a >= -3) * 1.0),
    "clamp_max-tensor-2.13": ([constant("hi", np.float32(3)), node("Min", ["a", "hi"], "y", call("aten.clamp_max.Tensor", "%a", "%hi"))], KINKS,
                              lambda a: np.minimum(a, 3), lambda a: (a <= 3) * 1.0),
    "clamp-2.15": (clip(call("aten.clamp.default", "%a", "-3", "3")), KINKS, lambda a: np.clip(a, -3, 3), lambda a: (np.abs(a) < 3) * 1.0),
    "clamped-log": ([constant("lo", np.float32(-100)), node("Log", ["a"], "l"), node("Clip", ["l", "lo"], "y")], np.float32([0, 0.5, 1, 2]),
                    lambda a: np.maximum(np.log(np.maximum(a, 1e-300)), -100), lambda a: np.where(a > 0, 1 / np.maximum(a, 0.5), 0)),
    **{f"norm-{p}": (norm_of_one(p), KINKS, np.abs, np.sign) for p in (0.5, 1.5, 3)},
    "log-sigmoid": ([node("Sigmoid", ["a"], "s"), node("Log", ["s"], "y")], DEEP, lambda a: -np.logaddexp(0, -a), lambda a: sigmoid(-a)),
    "log-of-the-rest": ([constant("one", np.float32(1)), node("Sigmoid", ["a"], "s"), node("Sub", ["one", "s"], "r"), node("Log", ["r"], "y")], DEEP,
                        lambda a: -np.logaddexp(0, a), lambda a: -sigmoid(a)),
}


def log_softmax(a):
    return a - a.max() - np.log(np.exp(a - a.max()).sum())


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout + done.stderr


def compile_command(folder, nodes, inputs, weights):
    folder.mkdir()
    types = {np.dtype("f4"): TensorProto.FLOAT, np.dtype("i8"): TensorProto.INT64}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, types[v.dtype], ["batch", *v.shape[1:]]) for n, v in inputs.items()],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [numpy_helper.from_array(v, n) for n, v in weights.items()])
    version = {"2.13": "2.13.0+cu130", "2.15": "2.15.0a0"}.get(folder.name.rpartition("-")[2], "")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10, producer_name="pytorch", producer_version=version),
              folder / "m.onnx")
    size = len(next(iter(inputs.values())))
    return ["cleave", "compile", folder / "m.onnx", "-o", folder / "e", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", f"batch={size}"]


def refused(*model):
    """What compile says of a model that it refuses."""
    done = subprocess.run([str(part) for part in compile_command(*model)], capture_output=True, text=True, timeout=300)
    return done.stderr if done.returncode == 1 else f"exit code {done.returncode}"


def trained(folder, nodes, inputs, weights):
    """Loss and gradients of one step, by the difference that a step of rate 1 makes, and what compile said."""
    said = run(*compile_command(folder, nodes, inputs, weights))
    data = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        data += ["--data", f"{name}={folder / name}.npy"]
    run(folder / "e", "train", *data, "--steps", 1, "--no-shuffle", "--lr", 1, "--save", folder / "c", "--metrics", folder / "log")
    raw = next((folder / "c").rglob("*.safetensors")).read_bytes()
    end = 8 + struct.unpack("<Q", raw[:8])[0]
    entries = json.loads(raw[8:end])
    gradients = {}
    for name, value in weights.items():
        begin, stop = entries[name]["data_offsets"]
        gradients[name] = value.astype("f8") - np.frombuffer(raw[end + begin:end + stop], "f4").reshape(value.shape)
    return json.loads((folder / "log").read_text().splitlines()[0])["loss"], gradients, said


def expect(what, found, wanted, size=1e-5):
    right = np.all(np.abs(np.asarray(found) - wanted) <= size * np.maximum(1, np.abs(wanted)))
    if not right:
        print(f"{what}: {found}, expected {wanted}")
    return not right


def elementwise(folder):
    """Each number has a parameter of its own, so that every gradient is seen; x = 1 and w = a."""
    failures = 0
    for name, (nodes, points, value, slope) in ELEMENTWISE.items():
        x, v = np.ones((1, len(points)), "f4"), np.linspace(0.5, 1.5, len(points)).astype("f4")[None]
        made = [node("Mul", ["x", "w"], "a")] + nodes + [node("Mul", ["y", "v"], "q"), node("ReduceSum", ["q"], "loss", keepdims=0)]
        loss, gradients, _ = trained(folder / name, made, {"x": x, "v": v}, {"w": points})
        a = points.astype("f8")
        # The difference of two numbers of 3e4 has an error of 2e-3.
        bound = 1e-5 + np.abs(a) * 2.0**-23
        failures += expect(f"{name}, loss", loss, (value(a) * v[0]).sum(), 1e-5)
        failures += expect(f"{name}, gradient", gradients["w"], slope(a) * v[0], bound)
    return len(ELEMENTWISE), failures


def softmax(folder):
    points = np.float32([0, -3, -104, -200, -1e3])
    v = np.float32([[0.5, 1, -2, 0.25, 1.5]])
    made = [node("Mul", ["x", "w"], "a"), node("Softmax", ["a"], "s", axis=1), node("Log", ["s"], "y"), node("Mul", ["y", "v"], "q"),
            node("ReduceSum", ["q"], "loss", keepdims=0)]
    loss, gradients, _ = trained(folder / "softmax", made, {"x": np.ones((1, 5), "f4"), "v": v}, {"w": points})
    a = points.astype("f8")
    logs = log_softmax(a)
    return 1, expect("log-softmax, loss", loss, (logs * v).sum()) + expect("log-softmax", gradients["w"], v[0] - np.exp(logs) * v.sum(), 1e-4)


def embedding(folder):
    """The row of padding_idx is read, and never changed."""
    t, v = np.int64([[0, 2, 0], [1, 0, 3]]), np.random.default_rng(1).standard_normal((2, 3, 4)).astype("f4")
    table = np.random.default_rng(2).standard_normal((5, 4)).astype("f4")
    failures = 0
    for name, padding in (("embedding", None), ("padding", 0)):
        arguments = ("%w", "%t") + (() if padding is None else (str(padding),))
        made = [node("Gather", ["w", "t"], "y", call("aten.embedding.default", *arguments), axis=0), node("Mul", ["y", "v"], "q"),
                node("ReduceSum", ["q"], "loss", keepdims=0)]
        loss, gradients, _ = trained(folder / name, made, {"t": t, "v": v}, {"w": table})
        wanted = np.zeros((5, 4))
        np.add.at(wanted, t, v.astype("f8"))
        if padding is not None:
            wanted[padding] = 0
        failures += expect(f"{name}, loss", loss, (table.astype("f8")[t] * v).sum()) + expect(name, gradients["w"], wanted)
    made[0] = node("Gather", ["w", "t"], "y", call("aten.embedding.default", "%w", "%t", "-1", "True"), axis=0)
    said = refused(folder / "frequency", made, {"t": t, "v": v}, {"w": table})
    if "scale_grad_by_freq=True" not in said:
        failures += 1
        print(f"scale_grad_by_freq: {said}")
    return 3, failures


def smoothing(folder):
    """torch.nn.CrossEntropyLoss(label_smoothing=0.1) with weights of classes and an ignored label, in float64; the gradient by differences."""
    classes, epsilon = 4, 0.1
    y, v = np.int64([1, 3, 2, -100, 0]), np.random.default_rng(3).standard_normal((5, classes)).astype("f4")
    w, weights = np.zeros(classes, "f4") + np.float32(0.25), np.float32([1, 2, 0.5, 1.5])

    def wanted(w, weighted, reduction):
        logs = np.stack([log_softmax(row) for row in v.astype("f8") * w])
        table = weights.astype("f8") if weighted else np.ones(classes)
        kept = [i for i in range(len(y)) if y[i] >= 0]
        total = sum((1 - epsilon) * -logs[i, y[i]] * table[y[i]] + epsilon / classes * -(logs[i] * table).sum() for i in kept)
        return total / sum(table[y[i]] for i in kept) if reduction == "mean" else total

    failures = 0
    for weighted, reduction in ((False, "mean"), (True, "mean"), (True, "sum")):
        name = f"smoothing-{'weighted' if weighted else 'plain'}-{reduction}"
        arguments = ("%a", "%y", "%c" if weighted else "None", "1" if reduction == "mean" else "2", "-100", "0.1")
        made = [*([constant("c", weights)] if weighted else []), node("Mul", ["v", "w"], "a"),
                node("SoftmaxCrossEntropyLoss", ["a", "y", *(["c"] if weighted else [])], "loss", call("aten.cross_entropy_loss.default", *arguments),
                     ignore_index=-100, reduction=reduction)]
        loss, gradients, said = trained(folder / name, made, {"v": v, "y": y}, {"w": w})
        steps = np.eye(classes) * 1e-5
        slopes = [(wanted(w + h, weighted, reduction) - wanted(w - h, weighted, reduction)) / 2e-5 for h in steps]
        failures += expect(f"{name}, loss", loss, wanted(w.astype("f8"), weighted, reduction)) + expect(name, gradients["w"], np.array(slopes))
        failures += said.count("label_smoothing=0.1 is applied") != 1
        said = run("cleave", "compile", folder / name / "m.onnx", "-o", folder / name / "i", "--dim", f"batch={len(y)}")
        run(folder / name / "i", "infer", "--input", f"v={folder / name / 'v.npy'}", "--input", f"y={folder / name / 'y.npy'}", "--output",
            f"loss={folder / name / 'loss.npy'}")
        inferred = np.load(folder / name / "loss.npy")
        failures += expect(f"{name}, loss of an inference program", inferred, wanted(w.astype("f8"), weighted, reduction))
        failures += said.count("label_smoothing=0.1 is applied") != 1
    return 3, failures


def decaying(folder):
    """A parameter that the model rounds has a gradient of zeros, and decays as in PyTorch; one that it compares has none, and stays. In layouts whose
    ranks and stages share them out."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(5)
    weights = {name: random.standard_normal((6, 6)).astype("f4") for name in ("first", "rounded", "compared", "last")}
    made = [node("MatMul", ["x", "first"], "a"), node("MatMul", ["x", "rounded"], "b"), node("Round", ["b"], "r"), node("Greater", ["a", "compared.row"], "g"),
            node("Where", ["g", "a", "r"], "h"), node("Tanh", ["h"], "t"), node("MatMul", ["t", "last"], "y"), node("Mul", ["y", "y"], "q"),
            node("ReduceMean", ["q"], "loss", keepdims=0)]
    made.insert(0, node("Slice", ["compared", "zero", "one", "zero"], "compared.row"))
    made[:0] = [constant("zero", np.int64([0])), constant("one", np.int64([1]))]
    graph = helper.make_graph(made, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], [numpy_helper.from_array(v, n) for n, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), folder / "m.onnx")
    np.save(folder / "x.npy", random.standard_normal((16, 6)).astype("f4"))
    layouts = {"one": [], "dp": ["--mesh", "dp=2"], "fsdp": ["--mesh", "fsdp=2"], "zero": ["--mesh", "dp=2,fsdp=2", "--fsdp-strategy", "zero-1"],
               "pp": ["--mesh", "pp=2", "--micro-batches", "2"], "16 bits": ["--mesh", "fsdp=2", "--precision", "bf16"]}
    failures = 0
    for name, options in layouts.items():
        said = run("cleave", "compile", folder / "m.onnx", "-o", folder / "e", "--train", "--loss-output", "loss", "--optimizer", "adamw,weight_decay=0.5",
                   "--dim", "batch=4", *options)
        run(folder / "e", "train", "--data", f"x={folder}/x.npy", "--steps", 1, "--no-shuffle", "--lr", 0.25, "--save", folder / name, "--checkpoint", "full")
        states = read_states(folder / name)
        failures += expect(f"decay, {name}", states["rounded"], weights["rounded"].astype("f8") * (1 - 0.25 * 0.5))
        kept = states.get("compared", weights["compared"])  # a constant is in no checkpoint
        failures += expect(f"decay of what is compared, {name}", kept, weights["compared"].astype("f8"))
        failures += expect(f"update, {name}", float(np.abs(states["last"] - weights["last"]).min() > 1e-3), 1)
        for text in ("weight decay alone changes them: rounded at", "not trained, because the gradient ends at a decision or a detach(): compared at"):
            if said.count(text) != 1:
                failures += 1
                print(f"{name}: expected {text!r}; got {said}")
    return len(layouts), failures


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]).resolve()
    results = [elementwise(target), softmax(target), embedding(target), smoothing(target), decaying(target / "decay")]
    print(f"{sum(total for total, _ in results)} gradients, {sum(failures for _, failures in results)} failures")
