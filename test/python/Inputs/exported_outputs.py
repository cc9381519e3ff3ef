"""What cleave.export_torch says of outputs that cannot be trained, compiled or compared as they are: without a gradient, of complex numbers, of a
shape that depends on values, and of a branch on a sign: exported_outputs.py DIRECTORY. Needs torch."""
import os
import sys

import onnx
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import cleave
from cleave.export_failure import ExportFailed

X = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
EXPORTERS = ("dynamo", "torchscript")


class Two(nn.Module):
    """`kind` makes the outputs of two layers and the input."""

    def __init__(self, kind):
        super().__init__()
        self.a, self.b, self.kind = nn.Linear(4, 4), nn.Linear(4, 4), kind

    def forward(self, x):
        return self.kind(self.a, self.b, x)


def report_of(kind, path, example=X, frozen=False, **options):
    torch.manual_seed(1)
    module = Two(kind)
    if frozen:
        module.requires_grad_(False)
    return cleave.export_torch(module, example, path, quiet=True, **options)


def refusal(kind, path, **options):
    if os.path.exists(path):
        os.remove(path)
    try:
        report_of(kind, path, **options)
    except (ExportFailed, ValueError) as error:
        assert not os.path.exists(path)
        return str(error)
    sys.exit("nothing was refused")


def check_gradients(path):
    """Without a gradient, the command is one for inference. A part without one is told, and not what has one, however it is written."""
    ended = [(lambda a, b, x: a(x).detach() + b(x).data), (lambda a, b, x: (a(x) + b(x)).argmax(1)), (lambda a, b, x: a(x) > b(x))]
    for exporter in EXPORTERS:
        for kind in ended:
            report = report_of(kind, path, exporter=exporter)
            assert report.parameters == 4 and report.command == f"cleave compile {path} -o outputs --dim batch=6", report
            assert len(report.notes) == 1 and "no output has a gradient: forward() ends it (detach(), numpy, no_grad()" in report.notes[0], report
        report = report_of(lambda a, b, x: a(x) + b(x), path, frozen=True, exporter=exporter)
        assert "--train" not in report.command and "--freeze" not in report.command, report
        assert len(report.notes) == 1 and report.notes[0].startswith("all parameters have requires_grad=False, so there is nothing to train"), report
        part = "2 parameters have no gradient (a.weight, a.bias), though outputs depend on them: forward() ends it"
        report = report_of(lambda a, b, x: a(x).detach() + b(x), path, exporter=exporter)
        assert len(report.notes) == 1 and report.notes[0].startswith(part) and "--train" in report.command, report
        report = report_of(lambda a, b, x: (a(x).detach(), b(x)), path, exporter=exporter)
        assert report.notes[0].startswith(part) and "output 'output', by which the command below trains, has no gradient" in report.notes[1], report
        report = report_of(lambda a, b, x: {"error": a(x).sum().detach(), "loss": b(x).sum()}, path, exporter=exporter)
        assert report.loss == "loss" and len(report.notes) == 1, report  # and not the scalar without a gradient
        for kind in (lambda a, b, x: a(x) * b(x).sign(), lambda a, b, x: (a(x), b.weight), lambda a, b, x: torch.where(x > 0, a(x), b(x)),
                     lambda a, b, x: (a(x), b(x).detach(), b(x)), lambda a, b, x: checkpoint(lambda y: b(y).tanh(), a(x), use_reentrant=True)):
            notes = report_of(kind, path, exporter=exporter).notes
            assert not any("no gradient" in note for note in notes), notes
        module = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), nn.LSTM(4, 3, batch_first=True))
        assert not any("no gradient" in note for note in cleave.export_torch(module, torch.randn(3, 2, 4), path, exporter=exporter, quiet=True).notes)
    said = refusal(lambda a, b, x: checkpoint(lambda y: a(y) + b(y), x, use_reentrant=True), path)  # of an input without a gradient: PyTorch has none
    assert "the gradient of 'a.weight' differs by inf (relative) from PyTorch's" in said, said
    report = report_of(lambda a, b, x: torch.from_numpy((a(x) + b(x)).detach().numpy()), path)
    assert "--train" not in report.command and "no output has a gradient" in report.notes[-1], report
    labels = torch.zeros(6, dtype=torch.long)
    said = refusal(ended[0], path, example=(X, labels), loss=nn.CrossEntropyLoss())
    assert "loss: its result has no gradient" in said, said


def check_complex(path):
    """Complex numbers are refused before an exporter runs, and may be computed with."""
    for exporter in (*EXPORTERS, None):
        said = refusal(lambda a, b, x: (a(x), torch.fft.rfft(b(x))), path, exporter=exporter, output_names=["y", "spectrum"])
        assert said.startswith("output 'spectrum' is complex (of shape [6, 3])") and "Return torch.view_as_real(y)" in said, said
    for kind in (lambda a, b, x: torch.view_as_real(torch.fft.rfft(a(b(x)))), lambda a, b, x: torch.fft.rfft(a(b(x))).abs()):
        assert report_of(kind, path, exporter="dynamo").compared < 1e-5


def assigned(a, b, x):
    y = a(b(x)).clone()
    y[y > 0] = 0
    return y


def check_shapes(path):
    """A shape that depends on values is refused. One that depends on constants, or on the batch, is not."""
    chosen = [lambda a, b, x: a(b(x))[x > 0], lambda a, b, x: a(b(x))[b(x) > 0].mean(), lambda a, b, x: (a(b(x)), x.nonzero()),
              lambda a, b, x: a(b(x)).unique(), lambda a, b, x: a(b(x))[torch.where(x[:, 0] > 0)[0]]]
    for exporter in (*EXPORTERS, None):
        for kind in chosen:
            said = refusal(kind, path, exporter=exporter)
            assert said.startswith("a shape depends on the values of the inputs (at '") and "torch.where(x > 0, x, 0)" in said, said
            assert "torch.export, tried first" not in said, said  # it would say the same again
    sized = [lambda a, b, x: a(b(x))[:, :int(x.abs().max()) + 1], lambda a, b, x: a(b(x)).sum(1, keepdim=True) * torch.arange(int(x.abs().max()) + 2),
             lambda a, b, x: a(b(x)).sum(1, keepdim=True) * torch.ones(int(x.abs().max()) + 2),
             lambda a, b, x: a(b(x)).repeat_interleave((x[:, 0] > 0).long() + 1, 0)]
    for kind, exporter in [(kind, None) for kind in sized] + [(sized[-1], "torchscript")]:  # the last one in the body of a Loop
        said = refusal(kind, path, exporter=exporter)
        assert said.startswith("a size depends on the values of the inputs (at '") and "compute with the largest size" in said, said
    said = refusal(sized[0], path, exporter="torchscript")  # which has the example's size
    assert "in the file and" in said and "with half of each number" in said and "batch must not" not in said, said
    report = report_of(assigned, path)  # torch.export counts the elements, and TorchScript writes a Where
    assert report.exporter == "torchscript" and len(report.notes) == 1 and "has shapes that depend on values" in report.notes[0], report
    mask, wide = torch.tensor([True, False, True, True]), torch.ones(4, 4).triu().bool()
    kept = [lambda a, b, x: a(b(x))[:, mask], lambda a, b, x: a(b(x))[torch.arange(x.shape[0]) % 2 == 0],
            lambda a, b, x: (a(x)[x > 0], b(a(x)))[1], lambda a, b, x: a(b(x)).clone().masked_fill(x > 0, 0)]
    for exporter in EXPORTERS:
        for kind in kept + [lambda a, b, x: (a(b(x))[:, :, None] * x[:, None])[:, wide]] * (exporter == "dynamo"):
            assert report_of(kind, path, exporter=exporter).compared < 1e-5
    report_of(kept[0], path)
    assert "NonZero" in [node.op_type for node in onnx.load(path).graph.node]


def looked_up(a, b, x):
    return a(b.weight[(x.abs() * 2).long().clamp(max=3)].sum(1)) + nn.functional.embedding((x[:, 0] * 1.9).long(), b.weight) + b.bias


def check_signs(path):
    """A branch on a sign is found. Modules that are not defined for negative numbers, or not with a mask of them, are as before."""
    said = refusal(lambda a, b, x: a(x) if x.sum() > 0 else b(x), path)
    assert "with half of each number of the example, with the other sign; a branch on" in said and "torch.export, tried first" in said, said
    refusal(lambda a, b, x: a(x) * (1 if x[0, 0] > 0 else 2) + b(x), path, exporter="torchscript")
    positive = X.abs() + 0.1
    kinds = [lambda a, b, x: a(b(x.log())), lambda a, b, x: a(b(x.sqrt())), lambda a, b, x: a(b(x)) / x.sum(1, keepdim=True).clamp(min=1e-6),
             looked_up, lambda a, b, x: a(b(x.clamp(min=1e-10).log())), lambda a, b, x: a(b(x)) / (x.sum() + 1e-9),
             lambda a, b, x: a(b(x)) * x.pow(0.3), lambda a, b, x: a(torch.distributions.Exponential(x).log_prob(b(x).exp())),
             lambda a, b, x: (a(b(x.log())), x.log().argmax(1)),
             lambda a, b, x: torch.atan2(a(x), x.round()) + b(x)]
    for kind in kinds:
        for exporter in EXPORTERS:
            report = report_of(kind, path, example=positive, exporter=exporter)
            assert report.compared < 1e-4 and not report.notes, report

    class Masked(nn.Linear):
        def forward(self, x, mask):
            return ((super().forward(x) + mask).softmax(1) * x).sum(1, keepdim=True)

    for fill in (-1e4, -65504, float("-inf")):
        mask = torch.zeros(6, 4).masked_fill(torch.arange(4) > 1, fill)
        for exporter in EXPORTERS:
            report = cleave.export_torch(Masked(4, 4), (X, mask), path, exporter=exporter, quiet=True)
            assert report.compared < 1e-5 and not report.notes, report


def main():
    path = f"{sys.argv[1]}/outputs.onnx"
    check_gradients(path)
    check_complex(path)
    check_shapes(path)
    check_signs(path)


main()
