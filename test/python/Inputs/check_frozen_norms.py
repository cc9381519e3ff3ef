"""Modules in training whose BatchNorm is in eval(): check_frozen_norms.py FOLDER. What cleave.export_torch writes of them keeps the statistics and
trains scale and bias, as PyTorch does in float64."""
import pathlib
import shlex
import subprocess
import sys

import numpy as np
import torch
from torch import nn

import cleave

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e" / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

folder, RATE = pathlib.Path(sys.argv[1]), 0.5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm1, self.second, self.norm2 = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3), nn.BatchNorm1d(3)
        for norm in (self.norm1, self.norm2):
            nn.init.normal_(norm.weight, 1, 0.1)
            nn.init.normal_(norm.running_mean)
            nn.init.uniform_(norm.running_var, 0.5, 2)

    def forward(self, x):
        return self.norm2(self.second(torch.tanh(self.norm1(self.first(x)))))


def check(exporter, kept):
    torch.manual_seed(3)
    module, x, target = Net().train(), torch.randn(8, 4), torch.randn(8, 3)
    for name in kept:
        module.get_submodule(name).eval()
    path = folder / f"{exporter}{len(kept)}.onnx"
    report = cleave.export_torch(module, (x, target), path, loss=nn.MSELoss(), exporter=exporter, quiet=True)
    assert not report.notes and "--batch-norm" not in report.command, report
    program = folder / path.stem
    words = shlex.split(report.command)
    words[words.index("-o") + 1] = str(program)
    compiled = subprocess.run([*words, "--optimizer", "sgd"], check=True, timeout=120, capture_output=True, text=True)
    assert ("keeps its running statistics, as in eval()" in compiled.stderr) == bool(kept), compiled.stderr
    assert "Dropout would be gone" not in compiled.stderr, compiled.stderr
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "labels.npy", target.numpy())
    subprocess.run([program, "train", "--data", f"{report.inputs[0]}={folder}/x.npy", "--data", f"labels={folder}/labels.npy", "--lr", str(RATE),
                    "--steps", "1", "--save", folder / "saved"], check=True, timeout=120, capture_output=True)
    trained = read_states(folder / "saved")
    module.double()
    nn.MSELoss()(module(x.double()), target.double()).backward()
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        if value.is_floating_point():
            expected = value.detach() - RATE * value.grad if value.grad is not None else value
            assert np.allclose(trained[name], expected.numpy(), rtol=1e-5, atol=1e-6), (exporter, kept, name, trained[name], expected)


for exporter in ("dynamo", "torchscript"):
    for kept in ((), ("norm1",), ("norm1", "norm2")):
        check(exporter, kept)
print("frozen norms are as in PyTorch")
