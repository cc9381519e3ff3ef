"""Wrong arguments of cleave.export_torch are refused before anything runs, each with what was expected: export_arguments.py DIRECTORY. Needs torch."""
import ast
import os
import pathlib
import sys

import numpy as np
import onnx
import torch
from torch import nn

import cleave
from cleave.export import _Job

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
            ({"batch_dims": {"input": -1}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got -1"),
            ({"batch_dims": {"input": 2}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got 2"),
            ({"batch_dims": {"input": "batch"}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got 'batch'"),
            ({"batch_dims": {"input": True}}, "WrongUse: batch_dims: 'input' has dimensions 0 and 1; got True"),
            ({"batch_dims": {"x": 0}}, "WrongUse: batch_dims: no input 'x'; inputs: input"),
            ({"batch_dims": 0}, "TypeError: batch_dims: expected a dict from inputs to dimensions, as in {'input': 1}; got 0"),
            ({"batch_dims": [0]}, "TypeError: batch_dims: expected a dict"),
            ({"opset": 9}, "WrongUse: opset: expected 13 to 27; got 9"), ({"opset": 30}, "WrongUse: opset: expected 13 to 27; got 30"),
            ({"opset": "18"}, "WrongUse: opset: expected 13 to 27; got '18'"), ({"opset": 0}, "WrongUse: opset: expected 13 to 27; got 0"),
            ({"loss": nn.MSELoss}, "TypeError: loss is a class; give nn.MSELoss()"), ({"loss": Never}, "TypeError: loss is a class; give Never()"),
            ({"loss": "mse"}, "TypeError: loss: expected a function or a module, as in nn.MSELoss(); got 'mse' (without a loss here, 'cleave compile --loss'"),
            ({"loss": Never(2, 2)}, "ValueError: loss: it has parameters of its own"),
            ({"output_names": "logits"}, "TypeError: output_names: 'logits' is no list of names; give a list, as in ['logits']"),
            ({"output_names": 1}, "TypeError: output_names: expected a list of names, as in ['logits']; got 1"),
            ({"output_names": [None]}, "TypeError: output_names: expected a list of names"), ({"output_names": [""]}, "TypeError: output_names: expected a list of names"),
            ({"exporter": "onnx"}, "ValueError: exporter: expected None, 'dynamo' or 'torchscript'; got 'onnx'"),
            ({"exporter": ["dynamo"]}, "ValueError: exporter: expected None, 'dynamo' or 'torchscript'; got ['dynamo']"),
            ({"check": "no"}, "TypeError: check: expected True or False; got 'no'"), ({"quiet": 1}, "TypeError: quiet: expected True or False; got 1")):
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
    check_opsets(path)
    check_nan(path)
    check_attributes()


main()
