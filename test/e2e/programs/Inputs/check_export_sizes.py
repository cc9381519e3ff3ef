"""`cleave export --outputs`, where only the size of a dropped input is read: check_export_sizes.py CHECKPOINT MODEL.onnx FOLDER

MODEL has the inputs x [batch, 64] and labels [batch], and the output logits. Each case adds nodes that read the size of the batch, or of
another dimension, off some input, an output made with it, and says which inputs that output needs. All cases are tried alone, and all in one
file. onnxruntime must give the same bits with the inputs that are left, whatever the batch."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

INTEGER = TensorProto.INT64


def constant(name, values):
    return helper.make_node("Constant", [], [name], value=helper.make_tensor("", INTEGER, np.shape(values), np.ravel(values)))


class Case:
    """The nodes and types of one case; names begin with the case's own."""

    def __init__(self, name, *needs):
        self.name, self.needs, self.nodes, self.types = name, ["x", *needs], [], []

    def add(self, op, operands, result, **attributes):
        self.nodes.append(helper.make_node(op, operands, [f"{self.name}.{result}"], **attributes))
        return f"{self.name}.{result}"

    def number(self, values, result):
        self.nodes.append(constant(f"{self.name}.{result}", values))
        return f"{self.name}.{result}"

    def finish(self, sizes):
        """The output: logits, and a tensor of ones of this shape behind it."""
        ones = self.add("ConstantOfShape", [sizes], "ones", value=helper.make_tensor("", TensorProto.FLOAT, [1], [1.0]))
        total = self.add("ReduceSum", [ones], "total", keepdims=0)
        self.nodes.append(helper.make_node("Add", ["logits", total], [f"{self.name}.out"]))
        return self


def cases():
    case = Case("range")  # as torch.export writes it
    yield case.finish(case.add("Shape", ["labels"], "n", start=0, end=1))
    case = Case("gather")  # as TorchScript writes it
    yield case.finish(case.add("Gather", [case.add("Shape", ["labels"], "s"), case.number([0], "i")], "n"))
    case = Case("last")
    yield case.finish(case.add("Shape", ["labels"], "n", start=-1))
    case = Case("several")
    yield case.finish(case.add("Shape", ["pairs"], "n"))
    case = Case("numbers")
    yield case.finish(case.add("Shape", ["pairs"], "n", start=1))
    case = Case("typed")  # of a value that is made of the input, and has a type in the file
    value = case.add("Cast", ["labels"], "value", to=TensorProto.FLOAT)
    case.types.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch"]))
    yield case.finish(case.add("Shape", [value], "n"))
    case = Case("untyped", "labels")
    yield case.finish(case.add("Shape", [case.add("Cast", ["labels"], "value", to=TensorProto.FLOAT)], "n"))
    case = Case("names")  # names that new nodes would have are taken
    taken = [case.number([5], name) for name in ("n.shape", "n.index", "n.shape_")]
    sizes = case.add("Shape", ["labels"], "n")
    case.add("Concat", [sizes, *taken], "all", axis=0)
    yield case.finish(case.add("ReduceProd", [f"{case.name}.all"], "product", keepdims=1))
    case = Case("other", "alone")  # a symbol that no other input has
    yield case.finish(case.add("Shape", ["alone"], "n"))
    case = Case("read", "labels")  # its values are needed as well
    size, most = case.add("Shape", ["labels"], "n"), case.add("ReduceMax", ["labels"], "most", keepdims=1)
    yield case.finish(case.add("Concat", [size, most], "both", axis=0))


def add(model, chosen):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    graph.input.append(helper.make_tensor_value_info("pairs", INTEGER, ["batch", 2]))
    graph.input.append(helper.make_tensor_value_info("alone", INTEGER, ["length"]))
    for case in chosen:
        graph.node.extend(case.nodes)
        graph.value_info.extend(case.types)
        graph.output.append(helper.make_tensor_value_info(f"{case.name}.out", TensorProto.FLOAT, ["batch", 10]))
    onnx.checker.check_model(model)
    return model


def run(path, output, batch):
    rng = np.random.default_rng(batch)
    feeds = {"x": rng.random((batch, 64), np.float32), "labels": rng.integers(0, 10, batch), "pairs": rng.integers(0, 9, (batch, 2)),
             "alone": np.arange(3)}
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return names, session.run([output], {name: feeds[name] for name in names})[0]


def check(checkpoint, model, folder, case):
    def export(name, *options):
        subprocess.run(["cleave", "export", checkpoint, "--model", path, "-o", folder / name, *options], check=True,
                       stdout=subprocess.DEVNULL)

    path = folder / "changed" / sys.argv[2].split("/")[-1]  # the checkpoint is of a model of this name
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, path)
    export("whole.onnx")
    output = f"{case.name}.out"
    export("part.onnx", "--outputs", output)
    onnx.checker.check_model(onnx.load(folder / "part.onnx"), full_check=True)
    for batch in (1, 4):
        names, got = run(folder / "part.onnx", output, batch)
        expected = run(folder / "whole.onnx", output, batch)[1]
        if sorted(names) != sorted(case.needs) or not np.array_equal(got, expected):
            sys.exit(f"{case.name}: inputs {names}, expected {case.needs}; difference {abs(got - expected).max()}")
    if {"labels", "pairs"} & set(case.needs):  # what reads values stays as it was
        ours = [n for n in onnx.load(folder / "part.onnx").graph.node if n.op_type == "Shape"]
        if [list(n.input) for n in ours] != [list(n.input) for n in case.nodes if n.op_type == "Shape"]:
            sys.exit(f"{case.name}: a size that needed no change has changed")


def main():
    checkpoint, path, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    model, chosen = onnx.load(path), list(cases())
    together = add(model, chosen)
    for case in chosen:
        check(checkpoint, add(model, [case]), folder, case)
        check(checkpoint, together, folder, case)
    print(f"sizes: {len(chosen)} cases")


main()
