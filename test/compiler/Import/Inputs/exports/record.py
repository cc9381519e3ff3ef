#!/usr/bin/env python3
"""Records what torch.onnx.export makes of small modules, in its default form and in the form that trains, by both exporters:
record.py OUT (needs torch 2.13, onnx, onnxscript). The files are inputs of ../../export-forms.test.

Metadata but the signature is left out: it holds the paths of the machine."""
import pathlib
import sys
import warnings

import onnx
import torch
from torch import nn

warnings.filterwarnings("ignore")
out = pathlib.Path(sys.argv[1])


class Loss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return (self.model(x) ** 2).mean()


class Buffers(nn.Module):
    """Normalization by fixed numbers, a table of positions, rotary frequencies, and a scalar; one parameter that is of one element, too."""

    def __init__(self):
        super().__init__()
        position, frequency = torch.arange(6.0)[:, None], torch.exp(torch.arange(0, 8, 2.0) * -1.15)
        table = torch.zeros(1, 6, 8)
        table[0, :, 0::2], table[0, :, 1::2] = torch.sin(position * frequency), torch.cos(position * frequency)
        self.register_buffer("mean", torch.tensor([0.4, 0.5, 0.6, 0.7, 0.4, 0.5, 0.6, 0.7]))
        self.register_buffer("positions", table)
        self.register_buffer("inv_freq", 1.0 / 100 ** (torch.arange(0, 8) / 8))
        self.register_buffer("embed_scale", torch.tensor(2.8))
        self.gain = nn.Parameter(torch.ones(1))
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        return self.fc((x - self.mean) * self.embed_scale + self.positions * self.inv_freq) * self.gain


class Tied(nn.Module):
    """An embedding that is the head, too, and layers that begin with equal values without being one."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(8, 4)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2, enable_nested_tensor=False)
        self.head = nn.Linear(4, 8, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x.argmax(-1))))


MODULES = {
    "norm": lambda: nn.Sequential(nn.Conv1d(6, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 4, 3, bias=False), nn.BatchNorm1d(4)),
    "norm-dropout": lambda: nn.Sequential(nn.Conv1d(6, 4, 3), nn.BatchNorm1d(4), nn.Dropout(0.2)),
    "buffers": Buffers,
    "tied": Tied,
}
TRAINING = torch.onnx.TrainingMode.TRAINING
FORMS = {
    "torchscript-default": {"dynamo": False},
    "torchscript-unfolded": {"dynamo": False, "do_constant_folding": False},
    "torchscript-named": {"dynamo": False, "training": TRAINING},
    "torchscript-training": {"dynamo": False, "training": TRAINING, "do_constant_folding": False},
    "dynamo-default": {"dynamo": True},
    "dynamo-unfolded": {"dynamo": True, "optimize": False},
    "dynamo-optimized": {"dynamo": True},
    "dynamo-training": {"dynamo": True, "optimize": False},
}


def record(name, form):
    torch.manual_seed(0)
    model = Loss(MODULES[name]()).train(form in ("torchscript-named", "torchscript-training", "dynamo-optimized", "dynamo-training"))
    options = dict(FORMS[form])
    if options["dynamo"]:
        options.update(dynamic_shapes={"x": {0: torch.export.Dim("batch", min=2)}}, external_data=False, verbose=False)
    else:
        options.update(dynamic_axes={"x": {0: "batch"}}, opset_version=17)
    path = out / f"{name}.{form}.onnx"
    torch.onnx.export(model, (torch.randn(3, 6, 8),), str(path), input_names=["x"], output_names=["loss"], **options)
    exported = onnx.load(path)
    exported.doc_string = ""
    for part in [exported, exported.graph, *exported.graph.node, *exported.graph.initializer, *exported.graph.value_info,
                 *exported.graph.input, *exported.graph.output]:
        kept = [entry for entry in part.metadata_props if entry.key.endswith("graph_signature")]
        del part.metadata_props[:]
        part.metadata_props.extend(kept)
        part.doc_string = ""
    del exported.graph.value_info[:]
    onnx.save(exported, path)


for module in MODULES:
    for form in FORMS:
        record(module, form)
