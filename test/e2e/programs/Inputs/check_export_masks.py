"""`cleave export` of models with random masks (stochastic depth): check_export_masks.py CHECKPOINT MODEL.onnx FOLDER

MODEL has the input x [batch, 64] and the output logits [batch, 10]. Each case adds a mask in one of the spellings of frameworks, and an
output made with it. Where the mask is a factor, the exported file must not draw: it gives what eval() of the module gives, found here by
hand, and what `infer` of the compiled file gives. Where it is more than a factor, the nodes must stay as they are, and be told. The compiler
and cleave.export_torch's comparison (inference_form.py) must see the same masks."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from cleave.inference_form import first_nodes, inference_copy, is_drawing

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


class Case:
    def __init__(self, name, expected):
        self.name, self.expected, self.nodes, self.types = name, expected, [], []

    def add(self, op, operands, result, **attributes):
        self.nodes.append(helper.make_node(op, operands, [f"{self.name}.{result}"], **attributes))
        return f"{self.name}.{result}"

    def number(self, value, result, type=FLOAT, shape=()):
        return self.add("Constant", [], result, value=helper.make_tensor("", type, shape, [value]))

    def uniform(self, **attributes):
        """[batch, 1], as torch.rand(batch, 1) is exported."""
        sizes = self.add("Slice", [self.add("Shape", ["logits"], "shape"), self.number(0, "zero", TensorProto.INT64, [1]),
                                   self.number(1, "one", TensorProto.INT64, [1])], "n")
        zeros = self.add("ConstantOfShape", [self.add("Concat", [sizes, f"{self.name}.one"], "sizes", axis=0)], "zeros")
        return self.add("RandomUniformLike", [zeros], "u", **attributes)

    def typed(self, value, type=FLOAT):
        self.types.append(helper.make_tensor_value_info(value, type, None))
        return value

    def apply(self, mask, kept=0.75):
        self.add("Mul", ["logits", self.add("Div", [mask, self.number(kept, "kept")], "scaled")], "out")
        return self


def compared(name, op, number, left, expected=1.0):
    case = Case(name, expected)
    u, c = case.uniform(dtype=FLOAT), case.number(number, "c")
    case.apply(case.add("Cast", [case.add(op, [u, c] if left else [c, u], "less")], "mask", to=FLOAT))
    return case


def cases():
    yield compared("less", "Less", 0.75, True)                 # torchvision and timm, by TorchScript
    yield compared("atmost", "LessOrEqual", 0.75, True)
    yield compared("atleast", "GreaterOrEqual", 0.25, True)    # torch.rand(...) >= drop
    yield compared("greater", "Greater", 0.25, True)
    yield compared("turned", "Less", 0.25, False)              # drop < rand
    yield compared("turned2", "GreaterOrEqual", 0.75, False)
    yield compared("always", "Less", 1.5, True, 1 / 0.75)
    case = Case("like", 1.0)                                   # Bernoulli, by torch.export
    u = case.uniform(high=1.0, low=0.0)
    less = case.add("Less", [u, case.add("CastLike", [case.number(0.75, "p"), u], "p_cast")], "less")
    yield case.apply(case.typed(case.add("CastLike", [less, f"{case.name}.zeros"], "mask")))
    case = Case("floor", 1.0)                                  # transformers
    yield case.apply(case.add("Floor", [case.add("Add", [case.number(0.75, "keep"), case.uniform(dtype=FLOAT)], "sum")], "mask"))
    case = Case("shaped", 1.0)                                 # the mask goes through shapes
    less = case.add("Less", [case.uniform(dtype=FLOAT), case.number(0.75, "c")], "less")
    mask = case.add("Cast", [less], "mask", to=FLOAT)
    wide = case.add("Expand", [mask, f"{case.name}.shape"], "wide")
    again = case.add("Reshape", [wide, f"{case.name}.shape"], "again")
    yield case.apply(case.add("Identity", [again], "same"))
    case = Case("fixed", 1.0)                                  # a mask for all samples
    u = case.add("RandomUniform", [], "u", shape=[1, 10])
    yield case.apply(case.add("Cast", [case.add("Less", [u, case.number(0.75, "c")], "less")], "mask", to=FLOAT))
    case = Case("dropout", 1.0)                                # the standard's own, in training form
    ratio, training = case.number(0.25, "ratio"), case.add("Constant", [], "training", value=helper.make_tensor("", TensorProto.BOOL, [], [True]))
    case.add("Dropout", ["logits", ratio, training], "out")
    yield case

    case = Case("noise", None)                                 # numbers that are added are drawn in inference, too
    case.add("Add", ["logits", case.uniform(dtype=FLOAT)], "out")
    yield case
    case = Case("shown", None)                                 # a mask that is used otherwise
    mask = case.add("Cast", [case.add("Less", [case.uniform(dtype=FLOAT), case.number(0.75, "c")], "less")], "mask", to=FLOAT)
    case.add("Add", ["logits", case.add("Mul", ["logits", mask], "product")], "sum")
    case.add("Add", [f"{case.name}.sum", mask], "out")
    yield case
    for name in ("squared", "twice"):                          # m * m is m, whose expectation is not that of m times itself
        case = Case(name, None)
        mask = case.add("Cast", [case.add("Less", [case.uniform(dtype=FLOAT), case.number(0.75, "c")], "less")], "mask", to=FLOAT)
        if name == "squared":
            case.add("Mul", ["logits", case.add("Mul", [mask, mask], "square")], "out")
        else:
            case.add("Mul", [case.add("Mul", ["logits", mask], "once"), mask], "out")
        yield case
    case = Case("range", None)                                 # not between 0 and 1
    u = case.uniform(dtype=FLOAT, low=-1.0, high=1.0)
    yield case.apply(case.add("Cast", [case.add("Less", [u, case.number(0.75, "c")], "less")], "mask", to=FLOAT))
    case = Case("whole", None)                                 # an integer mask: its expectation would be rounded to 0
    less = case.add("Less", [case.uniform(dtype=FLOAT), case.number(0.75, "c")], "less")
    mask = case.add("Cast", [case.add("Cast", [less], "whole", to=TensorProto.INT64)], "mask", to=FLOAT)
    yield case.apply(mask)


def make(model, chosen):
    made = onnx.ModelProto.FromString(model.SerializeToString())
    for case in chosen:
        made.graph.node.extend(case.nodes)
        made.graph.value_info.extend(case.types)
        made.graph.output.append(helper.make_tensor_value_info(f"{case.name}.out", FLOAT, ["batch", 10]))
    onnx.checker.check_model(made)
    return made


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check(checkpoint, model, folder, chosen):
    made, path = make(model, chosen), folder / "changed" / sys.argv[2].split("/")[-1]  # the checkpoint is of a model of this name
    path.parent.mkdir(exist_ok=True)
    onnx.save(made, path)
    said = run("cleave", "export", checkpoint, "--model", path, "-o", folder / "out.onnx")
    result = onnx.load(folder / "out.onnx")
    onnx.checker.check_model(result, full_check=True)
    read = {name for node in result.graph.node for name in node.input}
    kept = [tensor.name for tensor in result.graph.initializer] + [node.output[0] for node in result.graph.node if node.op_type == "Constant"]
    assert set(kept) <= read, set(kept) - read
    draws = [node.output[0] for node in result.graph.node if node.op_type.startswith("Random")]
    expected = [f"{case.name}.u" for case in chosen if case.expected is None]
    assert draws == expected, (draws, expected)
    assert all(f"'{name}' (Random" in said for name in draws[:3]), said
    assert ("note: the file draws random numbers in every run" in said) == bool(draws), said
    x = np.random.default_rng(0).random((4, 64), np.float32)
    np.save(folder / "x.npy", x)
    names = ["logits"] + [f"{case.name}.out" for case in chosen if case.expected is not None]
    feeds = {"x": x, "labels": np.zeros(4, np.int64)}
    session = onnxruntime.InferenceSession(str(folder / "out.onnx"), providers=["CPUExecutionProvider"])
    results = dict(zip(names, session.run(names, {value.name: feeds[value.name] for value in session.get_inputs()})))
    compared, masked = inference_copy(made)
    random = first_nodes(compared.graph, is_drawing)
    assert set(random) == {f"{case.name}.out" for case in chosen if case.expected is None} and all(random.values()), random
    assert set(masked) == {f"{case.name}.out" for case in chosen if case.expected is not None and case.name != "dropout"}, masked
    session = onnxruntime.InferenceSession(compared.SerializeToString(), providers=["CPUExecutionProvider"])
    theirs = dict(zip(names, session.run(names, {value.name: feeds[value.name] for value in session.get_inputs()})))  # of other weights
    said = run("cleave", "compile", path, "-o", folder / "made", "--dim", "batch=4")
    assert ("random numbers are drawn in inference" in said) == bool(random), said
    run(folder / "made", "infer", "--input", f"x={folder}/x.npy", "--weights", checkpoint,
        *[word for name in names for word in ("--output", f"{name}={folder}/{name}.npy")])
    for case in chosen:
        if case.expected is None:
            continue
        got = results[f"{case.name}.out"]
        assert np.allclose(theirs[f"{case.name}.out"], theirs["logits"] * np.float32(case.expected), rtol=1e-6, atol=0), case.name
        assert np.allclose(got, results["logits"] * np.float32(case.expected), rtol=1e-6, atol=0), case.name
        ours = np.load(folder / f"{case.name}.out.npy")
        assert np.allclose(got, ours, rtol=1e-5, atol=1e-6), (case.name, abs(got - ours).max())


def check_long(checkpoint, model, folder, length=100000):
    """Long chains of nodes that hand on the number and the mask: the rule must not need a frame of the stack for each of them."""
    case = Case("long", 1.0)
    number = case.number(0.75, "c")
    for i in range(length):
        number = case.add("Identity", [number], f"c{i}")
    mask = case.add("Cast", [case.add("Less", [case.uniform(dtype=FLOAT), number], "less")], "mask", to=FLOAT)
    for i in range(length):
        mask = case.add("Identity", [mask], f"m{i}")
    path = folder / "changed" / sys.argv[2].split("/")[-1]
    onnx.save(make(model, [case.apply(mask)]), path)
    said = run("cleave", "export", checkpoint, "--model", path, "-o", folder / "long.onnx")
    assert "draws random numbers" not in said, said
    assert not any(node.op_type.startswith("Random") for node in onnx.load(folder / "long.onnx").graph.node)


def main():
    checkpoint, path, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    model, chosen = onnx.load(path), list(cases())
    for case in chosen:
        check(checkpoint, model, folder, [case])
    check(checkpoint, model, folder, chosen)
    check_long(checkpoint, model, folder)
    print(f"masks: {len(chosen)} cases, {sum(case.expected is None for case in chosen)} of them still draw")


main()
