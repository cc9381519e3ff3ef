"""Random masks are replaced by cleave.export_torch's comparison as by the compiler: check_random_masks.py DIRECTORY. Needs torch.

Stochastic depth and dropout in all their forms are compared with the module. What the compiler draws in inference, too, is not, and a note says so.
Nor is what differs because a mask is not divided by its probability."""
import subprocess
import sys

import onnx
import torch
import torch.nn.functional as F
from torch import nn

import cleave
from cleave.inference_form import DRAWING


def path_of(x, keep=0.8):
    return x.new_empty([x.shape[0]] + [1] * (x.dim() - 1)).bernoulli_(keep)


def compared(x, keep=0.8):
    return (torch.rand_like(x) < keep).to(x.dtype)


# Masks that are factors alone: identities in eval().
MASKS = {
    "dropout in place": lambda x: F.dropout(x, 0.2, True, inplace=True), "dropout2d": lambda x: F.dropout2d(x.view(-1, 3, 2, 1), 0.2, True).flatten(1),
    "path": lambda x: x * path_of(x) / 0.8, "path divided": lambda x: x * path_of(x).div_(0.8),
    "floored": lambda x: x.div(0.8) * (0.8 + torch.rand([x.shape[0], 1])).floor_(), "compared": lambda x: x * compared(x) / 0.8,
    "above": lambda x: x * (torch.rand_like(x) > 0.2).float() / 0.8, "number on the left": lambda x: x * (0.8 >= torch.rand_like(x)).float() / 0.8,
    "bernoulli": lambda x: x * torch.bernoulli(torch.full_like(x, 0.8)) / 0.8, "two": lambda x: x * path_of(x) * compared(x, 0.5) / 0.4,
    "in other shapes": lambda x: (x.view(-1, 2, 3) * compared(x).reshape(-1, 2, 3).mul(1 / 0.8)).flatten(1),
}
# What is drawn in inference, too.
DRAWS = {
    "normal": lambda x: x + torch.randn_like(x), "uniform": lambda x: x + torch.rand_like(x), "added": lambda x: x + compared(x) * 2,
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.2, True), "squared": lambda x: (lambda m: x * (m * m))(compared(x)),
    "counted": lambda x: (lambda m: x * m / m.sum(1, keepdim=True).clamp(min=1))(compared(x)), "of the values": lambda x: x * torch.bernoulli(x.sigmoid()),
}
# Masks that eval() has no factor for: trained as they are, other in inference.
UNDIVIDED = {"path": lambda x: x * path_of(x), "input": lambda x: x * compared(x, 0.85), "in place": lambda x: x * torch.empty_like(x).bernoulli_(0.5)}
NOT_IN_TORCHSCRIPT = ("dropout2d", "alpha dropout")


class Random(nn.Module):
    def __init__(self, function, always=False):
        super().__init__()
        self.first, self.function, self.always = nn.Linear(6, 6), function, always

    def forward(self, x):
        x = self.first(x)
        return {"plain": self.plain(x), "drawn": self.function(x * 1) if self.training or self.always else x}

    def plain(self, x):
        return x.mean(1)


class Other(Random):
    """An output without a mask that is another one in eval()."""

    def plain(self, x):
        return x.mean(1) if self.training else x.sum(1)


def compiler_draws(path):
    """Whether the compiler says that it draws numbers in inference."""
    done = subprocess.run(["cleave", "compile", path, "-o", path + ".model", "--dim", "batch=4", "--emit", "plan"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return "random numbers are drawn in inference" in done.stdout + done.stderr


def export(function, path, exporter):
    return cleave.export_torch(Random(function), torch.randn(4, 6), path, quiet=True, exporter=exporter)


def check_families(path):
    try:
        import torchvision
    except ImportError:
        return
    module = nn.Sequential(nn.Conv2d(3, 3, 1), torchvision.ops.StochasticDepth(0.3, "row"), torchvision.ops.StochasticDepth(0.3, "batch"), nn.ReLU(),
                           nn.Dropout(0.2, inplace=True))
    for exporter in ("dynamo", "torchscript"):
        report = cleave.export_torch(module, torch.randn(4, 3, 4, 4), path, quiet=True, exporter=exporter)
        assert not report.notes and report.compared < 1e-5, report


def check_undivided(path):
    """Training is the module's, and a note says that inference is not. Another difference is refused."""
    for exporter in ("dynamo", "torchscript"):
        for name, function in UNDIVIDED.items():
            report = export(function, path, exporter)
            note, = report.notes
            assert note.startswith("inference of Cleave multiplies by the probability of a random mask where eval() may not"), note
            draws = [node.name or node.output[0] for node in onnx.load(path).graph.node if node.op_type in DRAWING]
            assert len(draws) == 1 and f"'{draws[0]}' (" in note and "left out of the comparison: drawn." in note, (exporter, name, note)
            assert report.compared < 1e-5 and not compiler_draws(path), (exporter, name, report)
        try:
            cleave.export_torch(Other(UNDIVIDED["path"]), torch.randn(4, 6), path, quiet=True, exporter=exporter)
            sys.exit("another file was not refused")
        except cleave.export.ExportFailed as refused:
            assert "the exporter's file is not the module: output 'plain' differs" in str(refused), refused


def main():
    torch.manual_seed(0)
    path = f"{sys.argv[1]}/masks.onnx"
    for exporter in ("dynamo", "torchscript"):
        for name, function in {**MASKS, **DRAWS}.items():
            if exporter == "torchscript" and name in NOT_IN_TORCHSCRIPT:
                continue
            report = export(function, path, exporter)
            if name in MASKS:
                assert not report.notes and report.compared < 1e-5, (exporter, name, report)
            else:  # the other output is compared
                note, = report.notes
                assert note.startswith("the file draws random numbers in inference, too, by the nodes '") and note.endswith("; not compared with the module: drawn"), note
                assert report.compared < 1e-5, (exporter, name, report)
            assert compiler_draws(path) == (name in DRAWS), (exporter, name)
        # A mask that the module draws in eval(), too.
        module, x = Random(MASKS["compared"], always=True), torch.randn(4, 6)
        state = torch.get_rng_state()
        note, = cleave.export_torch(module, x, path, quiet=True, exporter=exporter).notes
        assert note.startswith("the module draws random numbers in eval(), where Cleave replaces random masks"), note
        assert torch.equal(state, torch.get_rng_state()), "the random state has changed"
    check_families(path)
    check_undivided(path)
    print("random masks are the compiler's")


main()
