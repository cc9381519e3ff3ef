"""Wrong arguments of cleave.export_torch are refused before anything runs, each with what was expected: export_arguments.py DIRECTORY. Needs torch."""
import ast
import importlib.util
import os
import pathlib
import sys

import numpy as np
import onnx
import torch
from torch import nn

import cleave
from cleave.export import _Job
from cleave.inference_form import first_nodes, inference_copy, is_drawing

X = torch.randn(4, 4)


class Never(nn.Linear):
    """A module that must not run."""

    def forward(self, input):
        sys.exit("forward() has run")


def refusal(*arguments, **options):
    try:
        cleave.export_torch(*arguments, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    sys.exit(f"nothing was refused: {options or arguments}")


def check_refusals(path):
    module = Never(4, 2)
    for options, wanted in (
            ({"batch_dims": {"input": -3}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got -3"),
            ({"batch_dims": {"input": 2}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got 2"),
            ({"batch_dims": {"input": "batch"}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got 'batch'"),
            ({"batch_dims": {"input": True}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got True"),
            ({"batch_dims": {"input": 1.0}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got 1.0"),
            ({"batch_dims": {"x": 0}}, "WrongUse: batch_dims: no input 'x'; inputs: input"),
            ({"batch_dims": 0}, "TypeError: batch_dims: expected a dict from inputs to dimensions, as in {'input': 1}; got 0"),
            ({"batch_dims": [0]}, "TypeError: batch_dims: expected a dict"),
            ({"opset": 9}, "WrongUse: opset: expected 13 to 27; got 9"), ({"opset": 30}, "WrongUse: opset: expected 13 to 27; got 30"),
            ({"opset": 18.0}, "WrongUse: opset: expected 13 to 27; got 18.0"), ({"opset": True}, "WrongUse: opset: expected 13 to 27; got True"),
            ({"opset": "18"}, "WrongUse: opset: expected 13 to 27; got '18'"), ({"opset": 0}, "WrongUse: opset: expected 13 to 27; got 0"),
            ({"loss": nn.MSELoss}, "TypeError: loss is a class; give nn.MSELoss()"), ({"loss": Never}, "TypeError: loss is a class; give Never()"),
            ({"loss": "mse"}, "TypeError: loss: expected a function or a module, as in nn.MSELoss(); got 'mse' (without a loss here, 'cleave compile --loss'"),
            ({"loss": Never(2, 2)}, "ValueError: loss: it has parameters of its own"),
            ({"output_names": "logits"}, "TypeError: output_names: 'logits' is no list of names; give a list, as in ['logits']"),
            ({"output_names": 1}, "TypeError: output_names: expected a list of names, as in ['logits']; got 1"),
            ({"output_names": [None]}, "TypeError: output_names: expected a list of names"), ({"output_names": [""]}, "TypeError: output_names: expected a list of names"),
            ({"output_names": b"logits"}, "TypeError: output_names: expected a list of names"),
            ({"output_names": {"a", "b"}}, "TypeError: output_names: a set has no order; give a list, in the order of forward(); got {"),
            ({"exporter": "onnx"}, "ValueError: exporter: expected None, 'dynamo' or 'torchscript'; got 'onnx'"),
            ({"exporter": ["dynamo"]}, "ValueError: exporter: expected None, 'dynamo' or 'torchscript'; got ['dynamo']"),
            ({"check": "no"}, "TypeError: check: expected True or False; got 'no'"), ({"quiet": 2}, "TypeError: quiet: expected True or False; got 2"),
            ({"check": None}, "TypeError: check: expected True or False; got None"), ({"check": X}, "TypeError: check: expected True or False; got tensor(")):
        said = refusal(module, X, path, **options)
        assert said.startswith(wanted), (options, said)
    for arguments, wanted in (
            ((Never, X, path), "TypeError: module is a class; give Never()"), ((nn.ReLU, X, path), "TypeError: module is a class; give nn.ReLU()"),
            ((module, X.numpy(), path), "TypeError: example_inputs: expected a tensor, a tuple of tensors or a dict; got ndarray (torch.from_numpy(x) makes"),
            ((module, {"input": X.numpy()}, path), "TypeError: example_inputs: 'input' is of type ndarray (torch.from_numpy(x) makes a tensor of it); expected"),
            ((module, (X.tolist(),), path), "TypeError: example_inputs: 'input' is of type list; expected a tensor"),
            ((module, {1: X}, path), "TypeError: example_inputs: expected names of arguments as keys; got 1"),
            ((module, {}, path), "ValueError: example_inputs: none of them is an argument of forward(), which takes input"),
            ((module, X, None), "TypeError: path: expected the name of the file to write, as in 'model.onnx'; got None"),
            ((module, X, ""), "TypeError: path: expected the name of the file to write"), ((module, X, path + ".none/m.onnx"), "FileNotFoundError: path: there is no folder"),
            ((module, X, os.path.dirname(path)), "IsADirectoryError: path: ")):
        said = refusal(*arguments)
        assert said.startswith(wanted), (arguments, said)
    said = refusal(Never(4, 2), torch.tensor(1.0), path, batch_dims={"input": 0})
    assert said.startswith("WrongUse: batch_dims: 'input' has no dimensions; got 0"), said
    assert not os.path.exists(path)


class Optional(nn.Linear):
    def forward(self, x, mask=None):
        y = super().forward(x)
        return {"a": y, "b": y.sum() if mask is None else (y * mask).sum()}


def check_accepted(path):
    """Numbers of numpy, any iterable of names, dimensions from the last one, and arguments that an example leaves out."""
    module = Optional(4, 2)
    names = {"first": None, "second": None}
    for output_names in (names.keys(), names, iter(names), (name for name in names), np.array(list(names))):
        report = cleave.export_torch(module, X, path, output_names=output_names, check=1, quiet=np.bool_(True), opset=np.int64(18), exporter="torchscript")
        assert report.outputs == list(names) and report.compared < 1e-5, report
        assert [used.version for used in onnx.load(path).opset_import if not used.domain] == [18]
    assert cleave.export_torch(module, X, path, check=np.bool_(False), quiet=1, exporter="torchscript").compared is None
    for example, batch_dims, dim in (({"x": X}, {"mask": 1}, 0), ({"x": X, "mask": None}, {"x": np.int64(-2), "mask": -7}, 0), ({"x": X}, {"mask": None}, 0),
                                     ({"x": torch.randn(3, 5, 4)}, {"x": -2}, 1), ({"x": torch.randn(3, 5, 4)}, {"x": torch.tensor(1)}, 1)):
        job = _Job(module, example, path, None, None, batch_dims)
        assert job.batch_dims == {"x": dim} and job.example_batch == example["x"].shape[dim], (batch_dims, job.batch_dims)
    assert _Job(module, X, path, None, None, {"x": -1}).batch_dims == {"x": 1}
    report = cleave.export_torch(module, torch.randn(3, 5, 4), path, batch_dims={"x": -2, "mask": 0}, quiet=True)
    assert "--dim batch=5 --batch-dim batch" in report.command and report.compared < 1e-5, report
    said = refusal(module, X, path, batch_dims={"mask": "all"})
    assert said == "WrongUse: batch_dims: expected the number of a dimension for 'mask', or None; got 'all'", said
    os.remove(path)


def check_opsets(path):
    """The file has the opset that was asked for, or there is none."""
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.1))
    for opset, exporter in ((18, "dynamo"), (22, "dynamo"), (13, "torchscript"), (17, "torchscript"), (13, None), (27, None), (np.int64(20).item(), None)):
        report = cleave.export_torch(module, X, path, opset=opset, exporter=exporter, quiet=True)
        assert [used.version for used in onnx.load(path).opset_import if not used.domain] == [opset] and report.compared < 1e-5, report
    os.remove(path)
    said = refusal(module, X, path, opset=13, exporter="dynamo")
    assert "the exporter has written opset 18 in place of 13; give opset=18, or the other exporter=" in said and not os.path.exists(path), said
    said = refusal(module, X, path, opset=27, exporter="torchscript")
    assert "this exporter does not write that opset: give another opset=, or the other exporter=" in said and not os.path.exists(path), said


class Nowhere(nn.Linear):
    def forward(self, input):
        return super().forward(input).abs().neg().sqrt()


def check_nan(path):
    """An output that is NaN everywhere is told, once, whatever the number of batches."""
    for exporter in ("dynamo", "torchscript"):
        notes = cleave.export_torch(Nowhere(4, 2), X, path, exporter=exporter, quiet=True).notes
        assert [note.startswith("output 'output' is NaN in the file and in the module") for note in notes] == [True], notes


class Moves(nn.Module):
    """A buffer in bfloat16, and a forward() that is an attribute of the module, as some libraries put it there. `config`: as of Hugging Face."""

    def __init__(self):
        super().__init__()
        self.linear, self.config = nn.Linear(4, 2), type("Config", (), {"use_cache": True})()
        self.register_buffer("scale", torch.tensor([0.5, 2.0], dtype=torch.bfloat16))
        self.forward = self.run

    def run(self, x, steps=None):
        assert not self.config.use_cache
        return self.linear(x) * self.scale.float()


def check_rare(path):
    """What few modules need: each of these has a line of its own in the package."""
    for exporter in ("dynamo", "torchscript"):
        module = Moves()
        forward = module.forward
        report = cleave.export_torch(module.eval(), X, path, exporter=exporter, quiet=True)
        assert module.forward is forward and module.config.use_cache and not module.training and ": 2 parameters, 1 buffer, inputs x" in str(report) and report.compared < 1e-5, report
        assert [t.data_type for t in onnx.load(path).graph.initializer if t.name == "scale"] == [onnx.TensorProto.BFLOAT16]
    turned = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 2))
    turned[0].requires_grad_(False)
    report = cleave.export_torch(turned, {"input": torch.randn(3, 5, 4)}, path, batch_dims={"input": 1}, quiet=False)
    assert report.command.endswith("--dim batch=5 --batch-dim batch --freeze '0.*'") and f"compile: {report.command}" in str(report), report
    found, importlib.util.find_spec = importlib.util.find_spec, lambda name, *rest: None if name == "onnxruntime" else found(name, *rest)
    try:
        report = cleave.export_torch(nn.Linear(4, 2), X, path, quiet=True, exporter="torchscript")
    finally:
        importlib.util.find_spec = found
    assert report.compared is None and "onnxruntime is not installed" in report.notes[0] and "(outputs not compared; gradients are equal)" in str(report), report
    scripted = torch.jit.trace(nn.Linear(4, 2), X)
    nothing = type("Nothing", (nn.Linear,), {"forward": lambda self, input: None})(4, 2)
    for module, options, wanted in ((scripted, {}, "a module of torch.jit cannot be exported"), (nothing, {}, "returns no tensor, but NoneType"),
                                    (nn.Linear(4, 2), {"output_names": ["a", "b"]}, "forward() returns 1 tensor; got 2 names")):
        said = refusal(module, X, path, **options)
        assert wanted in said, said
    said = refusal(nn.Linear(4, 2), (X, X), path)
    assert "forward() takes 1 input (input); got 2" in said, said


def check_functions():
    """Older exporters write operations as functions of the file, masks as well."""
    node, model = onnx.helper.make_node, onnx.helper.make_model
    number = onnx.helper.make_tensor("", onnx.TensorProto.FLOAT, [], [0.75])
    sets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("own", 1)]
    path = onnx.helper.make_function("own", "Path", ["x"], ["y"], [
        node("RandomUniformLike", ["x"], ["u"]), node("Constant", [], ["c"], value=number), node("Less", ["u", "c"], ["l"]),
        node("Cast", ["l"], ["m"], to=onnx.TensorProto.FLOAT), node("Div", ["m", "c"], ["s"]), node("Mul", ["x", "s"], ["y"])], sets[:1])
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    made = model(onnx.helper.make_graph([node("Path", ["x"], ["y"], domain="own")], "g", ports[:1], ports[1:]), opset_imports=sets, functions=[path])
    copy, masked = inference_copy(made)
    assert list(masked) == ["y"] and not copy.functions and not first_nodes(copy.graph, is_drawing), copy
    # A number that is drawn in a branch is one of the branch.
    branch = onnx.helper.make_graph([node("RandomNormalLike", ["x"], ["r"])], "b", [], [onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [2])])
    truth = onnx.helper.make_tensor("", onnx.TensorProto.BOOL, [], [True])
    nodes = [node("Constant", [], ["t"], value=truth), node("If", ["t"], ["y"], name="choice", then_branch=branch, else_branch=branch)]
    copy, masked = inference_copy(model(onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:]), opset_imports=sets[:1]))
    assert not masked and first_nodes(copy.graph, is_drawing) == {"y": ["'choice' (If)"]}, copy


def check_attributes():
    """What the package reads of an export is there from the beginning, also where only a rare module needs it."""
    job, folder = _Job(nn.Linear(4, 2), X, "m.onnx", None, None, None), pathlib.Path(cleave.__file__).parent
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "job":
                assert hasattr(job, node.attr), f"{file.name}:{node.lineno}: job.{node.attr}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "report":
                assert hasattr(job.report, node.attr), f"{file.name}:{node.lineno}: report.{node.attr}"


def main():
    torch.manual_seed(0)
    path = f"{sys.argv[1]}/arguments.onnx"
    check_refusals(path)
    check_accepted(path)
    check_opsets(path)
    check_nan(path)
    check_rare(path)
    check_functions()
    check_attributes()


main()
