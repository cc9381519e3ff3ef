"""What cleave.export_torch refuses, the note when the batch is a constant of the module, and one tensor given as two inputs: refused_exports.py DIRECTORY. Needs torch."""
import sys

import onnx
import torch
from torch import nn

import cleave


def refusal(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    sys.exit("nothing was refused")


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x.reshape(4, 4))


class Item(nn.Module):
    def forward(self, x):
        return x * int(x.sum().item()) if x.sum().item() > 0 else x.numpy()


def main():
    path = f"{sys.argv[1]}/refused.onnx"
    linear = nn.Linear(4, 2)
    assert "batch of 1" in refusal(lambda: cleave.export_torch(linear, torch.randn(1, 4), path))
    assert "no argument 'y'; it takes input" in refusal(lambda: cleave.export_torch(linear, {"y": torch.randn(4, 4)}, path))
    assert "expected a torch.nn.Module; got builtin_function_or_method" in refusal(lambda: cleave.export_torch(torch.relu, torch.randn(4, 4), path))
    assert "'input' is of type int" in refusal(lambda: cleave.export_torch(linear, {"input": 3}, path))
    assert "expected None, 'dynamo' or 'torchscript'; got 'onnx'" in refusal(
        lambda: cleave.export_torch(linear, torch.randn(4, 4), path, exporter="onnx"))
    assert "the exporter's file is not the module" in refusal(lambda: cleave.export_torch(Item(), torch.ones(4, 4), path))
    assert "batch must not be a constant" in refusal(lambda: cleave.export_torch(Fixed(), torch.randn(4, 4), path, quiet=True))
    report = cleave.export_torch(Fixed(), torch.randn(4, 4), path, batch_dims={"x": None}, quiet=True)
    assert "--dim" not in report.command and report.compared < 1e-5, report
    labels = torch.randint(0, 2, (4,))
    report = cleave.export_torch(linear, (torch.randn(4, 4), labels), path, loss=nn.CrossEntropyLoss(label_smoothing=0.1), quiet=True)
    assert len(report.notes) == 1 and "label smoothing" in report.notes[0] and report.compared < 1e-5, report
    report = cleave.export_torch(linear, (torch.randn(4, 4), labels), path, loss=nn.CrossEntropyLoss(), output_names=["logits"], quiet=True)
    assert (report.inputs, report.outputs, report.loss) == (["input", "labels"], ["logits", "loss"], "loss"), report
    # One tensor given as two inputs stays two inputs of the file.
    tokens = torch.randint(0, 8, (4, 6))
    model = nn.Sequential(nn.Embedding(8, 4), nn.Linear(4, 8))
    cleave.export_torch(model, {"input": tokens, "targets": tokens}, path, output_names=["logits"], quiet=True,
                        loss=lambda logits, targets: nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()))
    read = [node.input[1] for node in onnx.load(path).graph.node if node.op_type == "Gather" and node.input[0] == "0.weight"]
    assert read == ["input"], read


main()
