"""Exports small modules with cleave.export_torch: record_exports.py DIRECTORY. Needs torch.

The files in test/python/Inputs/exported are what it wrote (torch 2.13); exported-models.test trains them without torch. Where torch is
installed, export-torch.test runs this script and expects the same reports."""
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

import cleave


def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), {"input": torch.randn(4, 8)}, {}


class Net(nn.Module):
    """Batch norm, dropout, a buffer that normalizes the image, and a frozen first layer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.drop, self.fc = nn.Dropout(0.25), nn.Linear(4 * 4 * 4, 10)
        self.conv1.requires_grad_(False)

    def forward(self, image):
        x = F.relu(self.bn1(self.conv1(image - self.mean)))
        return self.fc(self.drop(F.relu(self.bn2(self.conv2(x)))).flatten(1))


def cnn():
    return Net(), {"image": torch.randn(4, 3, 8, 8), "labels": torch.randint(0, 10, (4,))}, {"loss": nn.CrossEntropyLoss()}


class Language(nn.Module):
    """A table of positions as a buffer, an encoder, and an output projection tied to the embedding."""

    def __init__(self, vocabulary=32, context=8, width=16):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        angles = torch.arange(context).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * -0.5)
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], 1).unsqueeze(0))
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens) + self.positions))


def language():
    return Language(), {"tokens": torch.randint(0, 32, (4, 8))}, {}


def main():
    directory = pathlib.Path(sys.argv[1])
    for build in (mlp, cnn, language):
        for exporter in ("dynamo", "torchscript"):
            torch.manual_seed(0)
            module, inputs, options = build()
            before = {name: value.clone() for name, value in module.state_dict().items()}
            path = directory / f"{build.__name__}.{exporter}.onnx"
            report = cleave.export_torch(module, inputs, path, exporter=exporter, quiet=True, **options)
            assert report.compared is not None and report.compared < 1e-5, report
            assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items()), "the module has changed"
            assert module.training and "forward" not in vars(module)
            lines = [f"{report.parameters} parameters, {report.buffers} buffers: {', '.join(report.inputs)} -> {', '.join(report.outputs)}"]
            lines += [f"note: {note}" for note in report.notes]
            path.with_suffix(".txt").write_text("\n".join(lines + [report.command.replace(str(path), path.name)]) + "\n")


main()
