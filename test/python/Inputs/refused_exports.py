"""What cleave.export_torch refuses, the note when the batch is a constant of the module, one tensor given as two inputs, bags, the loss that
is proposed, and a crash of onnxruntime: refused_exports.py DIRECTORY. Needs torch."""
import contextlib
import dataclasses
import os
import resource
import sys

import onnx
import onnxruntime
import torch
from torch import nn

import cleave
from cleave.unwritten import unwritten


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


class Chosen(nn.Module):
    def forward(self, x):
        return x[x > 0]


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else 3 * x


class NoForm(nn.Module):
    def forward(self, x):
        return torch.linalg.eigvals(x.view(-1, 2, 2)).real


class Handles(nn.Module):
    """An error that the module handles itself is no cause."""
    def forward(self, x):
        try:
            open("/nowhere/cache")
        except OSError:
            if x.sum() > -1e9:
                x = x * 2
        return x


class Named(nn.Module):
    """A parameter of an output's name, and, with `clash`, of an input's."""
    def __init__(self, clash):
        super().__init__()
        self.loss = nn.Parameter(torch.ones(4))
        if clash:
            self.register_buffer("x", torch.ones(4))

    def forward(self, x):
        return {"loss": (x * self.loss).sum()}


class Homonyms(nn.Module):
    """Parameters and a buffer of the names that torch.export gives to what operations make; results that are one value, an input and a parameter."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.t, self.relu, self.mul = (nn.Parameter(torch.tensor(value)) for value in (0.5, 0.25, 2.0))
        self.register_buffer("val_0", torch.tensor(3.0))

    def forward(self, x):
        y = torch.relu(self.fc(x).t().t()) * self.relu * self.mul * self.t * self.val_0
        return y, y, x, self.t, y + 1


class OwnLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return {"logits": self.fc(x), "loss": self.fc(x).sum()}


def check_output_names(path):
    """A name of the file is of one value, whatever module, exporter and caller call theirs."""
    x, module = torch.randn(2, 4), Homonyms()
    for exporter in ("dynamo", "torchscript"):
        for names in (None, ["linear", "add", "mul_1", "t_1", "val_1"]):
            report = cleave.export_torch(module, {"x": x}, path, output_names=names, exporter=exporter, quiet=True)
            graph = onnx.load(path).graph
            assert report.compared < 1e-6 and not report.notes and [value.name for value in graph.input] == ["x"], report
            assert {tensor.name for tensor in graph.initializer} >= {"fc.weight", "fc.bias", "t", "relu", "mul", "val_0"}, graph.initializer
            assert names is None or [value.name for value in graph.output] == names, graph.output
        for names, what in ((["a", "b", "a", "c", "d"], "'a' is also the name of another output"), (["a", "b", "x", "c", "d"], "'x' is also the name of an input"),
                            (["a", "b", "t", "c", "d"], "'t' is also the name of a parameter or a buffer")):
            said = refusal(lambda: cleave.export_torch(module, {"x": x}, path, output_names=names, exporter=exporter))
            assert said.startswith("WrongUse: output_names: ") and what in said and "give another one" in said, said
        labels = torch.randint(0, 2, (2,))
        report = cleave.export_torch(OwnLoss(), (x, labels), path, loss=nn.CrossEntropyLoss(), exporter=exporter, quiet=True)
        assert report.outputs == ["logits", "loss", "loss_2"] and report.loss == "loss_2" and "--loss-output loss_2" in report.command, report
        said = refusal(lambda: cleave.export_torch(OwnLoss(), (x, labels), path, loss=nn.CrossEntropyLoss(), output_names=["logits", "loss"], exporter=exporter))
        assert "'loss' is also the name of the output that loss= makes" in said, said


class Pair(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.a, self.b, self.kind = nn.Linear(4, 3), nn.Linear(4, 3), kind

    def forward(self, x):
        return self.kind(self.a(x), self.b(x))


def check_losses_of_several_outputs(path):
    """A loss gets all that forward() returns, as in PyTorch; one that takes a tensor gets the first."""
    x, target = torch.randn(4, 4), torch.randn(4, 3)
    losses = [(Pair(lambda a, b: (a, b)), lambda output, target: nn.functional.mse_loss(output[1], target)),
              (Pair(lambda a, b: {"a": a, "b": b}), lambda output, target: nn.functional.mse_loss(output["b"], target)),
              (Pair(lambda a, b: (b, a)), nn.MSELoss())]
    for exporter in ("dynamo", "torchscript"):
        for module, loss in losses:
            cleave.export_torch(module, {"x": x, "target": target}, path, loss=loss, exporter=exporter, quiet=True)
            made = onnxruntime.InferenceSession(path).run(["loss"], {"x": x.numpy(), "target": target.numpy()})[0]
            expected = nn.functional.mse_loss(module.b(x), target)
            assert abs(float(made) - float(expected)) < 1e-5, (exporter, made, expected)
    refusal(lambda: cleave.export_torch(losses[0][0], {"x": x, "target": target}, path, loss=lambda output, target: output["c"], quiet=True))


class DetachedInPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        y = self.fc(x)
        return y * y.clone().detach_()


def check_detached_in_place(path):
    """torch.export leaves detach_() out: it is refused, and the other exporter writes the file."""
    x = torch.randn(2, 4)
    assert "y = y.detach()" in refusal(lambda: cleave.export_torch(DetachedInPlace(), {"x": x}, path, exporter="dynamo", quiet=True))
    assert cleave.export_torch(DetachedInPlace(), {"x": x}, path, quiet=True).exporter == "torchscript"


class Clamping(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        nn.init.constant_(self.weight, 2)

    def forward(self, x):
        with torch.no_grad():
            self.weight.clamp_(-1, 1)
        return super().forward(x)


class Projected(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, x):
        self.weight.data.clamp_(-0.1, 0.1)
        return super().forward(x)


class OfParameters(nn.Linear):
    """Whose numbers change in training, and are constants in a trace."""
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, x):
        return super().forward(x) * self.weight.norm().item()


class HookedInside(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, x):
        y = super().forward(x)
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient * 2)
        return y


class InPlace(nn.Linear):
    """Changes a result in place where no gradient is recorded."""
    def __init__(self, by_data):
        super().__init__(4, 4)
        self.by_data = by_data

    def forward(self, x):
        y = super().forward(x)
        if self.by_data:
            y.data.clamp_(-0.5, 0.5)
            return y * 3
        with torch.no_grad():
            y[:, 0] = 0
        return y * 3


class OfDetached(nn.Linear):
    """Changes what detach() gives in place, and so its own result. The exporters record that the gradient ends there; PyTorch does not."""
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, x):
        y = super().forward(x)
        y.detach().clamp_(-0.5, 0.5)
        return y * 3


class Switched(nn.Module):
    """Has a parameter without a gradient for a while."""
    def __init__(self, kind):
        super().__init__()
        self.first, self.last, self.dropout = nn.Linear(4, 4), nn.Linear(4, 4), kind(0.3)

    def forward(self, x):
        self.first.weight.requires_grad_(False)
        y = self.first(x)
        self.first.weight.requires_grad_(True)
        return self.last(self.dropout(y))


def check_gradients(path):
    """A trace with other gradients than the module is refused, whatever makes them differ; the same ones are told."""
    x = torch.randn(6, 4)
    os.remove(path)
    for exporter in ("dynamo", "torchscript", None):
        for module, name in ((Switched(nn.Dropout), "first.weight"), (OfDetached(), "weight")):
            said = refusal(lambda: cleave.export_torch(module, x, path, exporter=exporter, quiet=True))
            assert not os.path.exists(path), said
            if exporter == "dynamo" or name == "first.weight":  # TorchScript forgets the change, too, and the outputs differ
                assert f"would not train as the module does: the gradient of '{name}' differs by" in said, said
    for exporter in ("dynamo", "torchscript"):
        encoder = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        recurrent = nn.Sequential(nn.LSTM(4, 3, 2, dropout=0.4, bidirectional=True, batch_first=True))
        for module, example in ((encoder, torch.randn(4, 5, 4)), (recurrent, torch.randn(4, 5, 4)), (nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Tanh()), x)):
            report = cleave.export_torch(module, example, path, exporter=exporter, quiet=True)
            assert report.gradients is not None and report.gradients < 1e-4, report
    assert "; gradients are equal)" in str(cleave.export_torch(nn.Linear(4, 4), x, path, quiet=True))
    os.remove(path)
    assert cleave.export_torch(Switched(nn.Dropout), x, path, check=False, quiet=True).gradients is None
    os.remove(path)


class Centered(nn.Linear):
    """Near zero for equal samples; the form of losses that compare samples."""
    def __init__(self, scales):
        super().__init__(4, 4)
        self.scales = scales

    def forward(self, x):
        y = super().forward(x)
        y = y - y.mean(0)
        return y / (y.std(0) + 1e-5) if self.scales else y


class Paired(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, x):
        y = super().forward(x)
        return (1 - nn.functional.cosine_similarity(y[0::2], y[1::2])).mean()


class OfValues(nn.Linear):
    """Whose trace has the largest number of the example as a constant."""
    def __init__(self):
        super().__init__(4, 4)

    def forward(self, x):
        y = super().forward(x)
        return y * y.abs().max().item()


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        x = self.fc(x)
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * x.detach().mean(0))
        return x - self.mean.detach() * 0


class Moving(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 5)
        self.register_buffer("spread", torch.full([1], float("nan")).expand(5))  # one number in memory
        self.register_buffer("cache", torch.zeros(1, 3))
        self.register_buffer("late", None)

    def forward(self, x):
        y = self.fc(x)
        self.cache = y.detach()
        self.late = y.detach() if self.late is None else self.late
        return torch.where(torch.isnan(self.spread), y, 0)


def check_buffers(path):
    """The module has the states that it had, whatever forward() does with them."""
    module = Moving()
    before = dict(module._buffers)
    cleave.export_torch(module, torch.randn(2, 4), path, exporter="torchscript", quiet=True)
    assert all(module._buffers[name] is value for name, value in before.items()) and not module.cache.any()
    for module, example in ((Clamping().requires_grad_(False), torch.randn(2, 4)), (nn.Embedding(5, 4, max_norm=0.1), torch.tensor([[0, 1], [2, 2]]))):
        kept = {name: value.clone() for name, value in module.state_dict().items()}
        cleave.export_torch(module, example, path, quiet=True)
        assert all(torch.equal(kept[name], value) for name, value in module.state_dict().items()), module


def check_unwritten(path):
    """What no file has is told, and nothing is told of modules that have none of it."""
    x, indices = torch.randn(2, 4), torch.tensor([[0, 1], [2, 2]])
    hooked = nn.Linear(4, 4)
    hooked.weight.register_hook(lambda gradient: gradient * 2)
    watched = nn.Sequential(nn.Linear(4, 4))
    watched[0].register_full_backward_hook(lambda module, given, made: None)
    said = refusal(lambda: cleave.export_torch(Clamping(), x, path, quiet=True))
    assert "refused_exports.py:" in said and "changes a tensor in place where no gradient is recorded" in said, said
    said = refusal(lambda: cleave.export_torch(Projected(), x, path, quiet=True))
    assert "changes a tensor in place where no gradient is recorded" in said, said
    cases = [(Clamping().requires_grad_(False), x, "forward() changes parameters itself (weight)"),
             (OfParameters(), x, "makes numbers of Python of tensors (refused_exports.py:"), (HookedInside(), x, "are not in the file (a tensor in forward())"),
             (Counting(), x, "changes buffers in training (mean)"), (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None)), x, "averages the statistics"),
             (nn.Embedding(5, 4, max_norm=0.5), indices, "max_norm"), (hooked, x, "hooks of gradients are not in the file (weight)"),
             (watched, x, "hooks of gradients are not in the file (0)")]
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))  # which the TorchScript exporter cannot write
    before = {name: value.clone() for name, value in spectral.named_buffers()}
    spectral(x)
    assert ["changes buffers in training (parametrizations.weight.0._u" in note for note in unwritten(spectral, before)] == [True]
    for module, example, text in cases:
        report = cleave.export_torch(module, example, path, exporter="torchscript", check=False, quiet=True)
        assert sum(text in note for note in report.notes) == 1, (text, report.notes)
    for module in (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Linear(4, 4).double(), nn.Sequential(nn.Dropout(), nn.LayerNorm(4))):
        report = cleave.export_torch(module, x.to(next(iter([p.dtype for p in module.parameters()]), x.dtype)), path, exporter="torchscript", quiet=True)
        assert not report.notes, report.notes
    for exporter in ("dynamo", "torchscript"):
        for by_data in (False, True):
            said = refusal(lambda: cleave.export_torch(InPlace(by_data), x, path, exporter=exporter, quiet=True))
            assert "in place where no gradient is recorded" in said and "y = y + (f(y) - y).detach()" in said, said
        for module in (Centered(False), Centered(True), Paired()):
            assert cleave.export_torch(module, torch.randn(6, 4), path, exporter=exporter, quiet=True).compared < 1e-5
        for off in (torch.no_grad, torch.inference_mode):
            module = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
            with off():
                cleave.export_torch(module, x, path, exporter=exporter, quiet=True)
            assert "Identity" not in [node.op_type for node in onnx.load(path).graph.node]  # which a detach() is
    assert torch.autograd.Function.apply.__func__.__module__ == "torch.autograd.function"
    observed = nn.Linear(4, 4)
    observed.register_forward_hook(lambda module, given, made: None)
    cleave.export_torch(observed, x, path, quiet=True)
    for kind in (torch.complex64, torch.float8_e4m3fn):  # of parameters that nothing uses
        odd = nn.Linear(4, 4)
        odd.odd = nn.Parameter(torch.zeros(3).to(kind), requires_grad=False)
        cleave.export_torch(odd, x, path, exporter="torchscript", quiet=True)
    cleave.export_torch(nn.LazyLinear(4), x, path, exporter="torchscript", quiet=True)
    said = refusal(lambda: cleave.export_torch(OfValues(), x, path, exporter="torchscript", quiet=True))
    assert "with half of each number of the example; " in said, said
    assert not cleave.export_torch(OfValues(), x, path, exporter="dynamo", quiet=True).notes
    root = nn.Linear(4, 4)
    root.register_forward_hook(lambda module, given, made: made * 2)
    assert "Linear itself has a forward hook" in refusal(lambda: cleave.export_torch(root, x, path))
    said = refusal(lambda: cleave.export_torch(nn.Linear(4, 4), (x, torch.tensor([1, 2])), path, loss=lambda y, t: (y.argmax(1) == t).float().mean()))
    assert "its result has no gradient" in said, said
    for exporter in ("dynamo", "torchscript"):
        said = refusal(lambda: cleave.export_torch(nn.Embedding(5, 4, scale_grad_by_freq=True), indices, path, exporter=exporter, quiet=True))
        assert "scale_grad_by_freq=True, which Cleave cannot train" in said, said
        assert "'x' is also the name of a parameter or a buffer" in refusal(lambda: cleave.export_torch(Named(True), x, path, exporter=exporter))
        report = cleave.export_torch(Named(False), x, path, exporter=exporter, quiet=True)
        assert report.outputs == ["loss_2"] and report.parameters == 1 and report.compared < 1e-6, report


@contextlib.contextmanager
def small_files():
    """While this holds, no file may have more than 100 bytes, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def check_files(path):
    """A failed export leaves an older file as it was, and a new one nowhere."""
    cleave.export_torch(nn.Linear(4, 4), torch.randn(2, 4), path, quiet=True)
    with open(path, "rb") as file:
        older = file.read()
    held = sorted(os.listdir(os.path.dirname(path)))
    for place in (path, path + ".new"):
        for module, exporter, words in ((NoForm(), None, "NoForm cannot be exported"), (Chosen(), None, "a shape depends on the values"),
                                        (Branch(), "torchscript", "the exporter's file is not the module")):
            said = refusal(lambda: cleave.export_torch(module, torch.randn(2, 4), place, exporter=exporter, quiet=True))
            assert said.startswith(f"ExportFailed: {words}") or said.startswith(f"ValueShapes: {words}"), said
        for exporter in ("dynamo", "torchscript"):
            with small_files():
                said = refusal(lambda: cleave.export_torch(nn.Linear(4, 4), torch.randn(2, 4), place, exporter=exporter, quiet=True))
            assert said == f"ExportFailed: {place} cannot be written: File too large; make room, or give another folder", said
    with open(path, "rb") as file:
        assert file.read() == older
    assert sorted(os.listdir(os.path.dirname(path))) == held
    link, folder = path + ".link", path + ".folder"
    os.mkdir(folder)
    os.symlink(os.path.join(os.path.abspath(folder), "m.onnx"), link)
    cleave.export_torch(nn.Linear(4, 4), torch.randn(2, 4), link, quiet=True)
    assert os.path.islink(link) and os.listdir(folder) == ["m.onnx"], os.listdir(folder)
    os.mkfifo(path + ".fifo")
    for special in ("/dev/null", path + ".fifo"):
        said = refusal(lambda: cleave.export_torch(nn.Linear(4, 4), torch.randn(2, 4), special, quiet=True))
        assert said.startswith(f"WrongUse: path: '{special}' is neither a regular file nor a new name"), said
        assert os.path.exists(special) and not os.path.isfile(special)
    assert cleave.export_torch(Handles(), torch.ones(2, 4), path, quiet=True).exporter == "torchscript"


def check_bags(path):
    """EmbeddingBag on a batch: the numbers and gradients of PyTorch in float64, and a file without loops that is the module."""
    from cleave.traceable import traceable
    for mode, padding, weighted in [(m, p, w) for m in ("sum", "mean", "max") for p in (None, 0, -1) for w in (False, True) if not w or m == "sum"]:
        bag = nn.EmbeddingBag(7, 3, mode=mode, padding_idx=padding).double()
        ids = torch.randint(0, 7, (6, 4))
        ids[0], ids[1] = 0, 6  # a bag of padding alone
        inputs = [ids, None, torch.rand(6, 4, dtype=torch.double, requires_grad=True)] if weighted else [ids]
        direction = torch.rand(6, 3, dtype=torch.double)
        plain = bag(*inputs)
        with traceable("dynamo"):
            traced = bag(*inputs)
        wanted = [bag.weight] + inputs[2:]
        for ours, theirs in zip([traced, *torch.autograd.grad(traced, wanted, direction)], [plain, *torch.autograd.grad(plain, wanted, direction)]):
            assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12), (mode, padding, weighted)
    report = cleave.export_torch(nn.EmbeddingBag(7, 3, padding_idx=0), torch.randint(0, 7, (4, 5)), path, quiet=True)
    assert report.compared < 1e-5 and not {"Loop", "Scan", "If"} & {node.op_type for node in onnx.load(path).graph.node}, report


def check_crash(path):
    """A process that dies while it compares is a note, and the file is there."""
    import cleave.comparison
    script = f"{sys.argv[1]}/run_onnx.py"
    with open(script, "w") as file:
        file.write("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    place, cleave.comparison.__file__ = cleave.comparison.__file__, script
    report = cleave.export_torch(nn.Linear(4, 2), torch.randn(4, 4), path, quiet=True)
    cleave.comparison.__file__ = place
    assert report.compared is None and "it crashed: Segmentation fault" in report.notes[0] and onnx.load(path), report


class Windows(nn.Module):
    """TorchScript writes another order of dimensions for unfold(-2, ...), which does not fit what follows."""
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.first(x).unfold(-2, 2, 1).sum(-1))


def check_invalid_files(path):
    """torch.export's file of a 3D convolution without a bias is mended. Where it is not valid, TorchScript writes the file, or there is none. A file
    that onnxruntime cannot load is not valid, unless onnxruntime does not have an operator or a version."""
    import cleave.comparison
    assert "is not valid ONNX" in refusal(lambda: cleave.export_torch(Windows(), torch.randn(3, 5, 8), path, quiet=True, exporter="torchscript"))
    assert cleave.export_torch(Windows(), torch.randn(3, 5, 8), path, quiet=True).compared < 1e-5
    for reason in ("NOT_IMPLEMENTED : Could not find an implementation for X(1)", "FAIL : Load model from m.onnx failed:Fatal error: d:X(-1) is not a "
                   "registered function/op", "FAIL : Load model from m.onnx failed:... Unsupported model IR version: 99, max supported IR version: 12"):
        cleave.comparison._check_valid(f"[ONNXRuntimeError] : 1 : {reason}")
    convolution, image = nn.Conv3d(2, 4, 3, bias=False), torch.randn(3, 2, 5, 5, 5)
    for exporter in ("dynamo", "torchscript"):
        report = cleave.export_torch(convolution, image, path, quiet=True, exporter=exporter)
        assert report.compared < 1e-5 and report.notes == [], report
        assert [len(node.input) for node in onnx.load(path).graph.node if node.op_type == "Conv"] == [2], report
    mending, cleave.exported_file._drop_zero_biases = cleave.exported_file._drop_zero_biases, lambda model: None
    report = cleave.export_torch(convolution, image, path, quiet=True)
    assert report.exporter == "torchscript" and report.parameters == 1 and report.compared < 1e-5, report
    assert len(report.notes) == 1 and "torch.export's file is not valid" in report.notes[0], report
    assert "is not valid ONNX" in refusal(lambda: cleave.export_torch(convolution, image, path, quiet=True, exporter="dynamo"))
    cleave.exported_file._drop_zero_biases = mending


class Ignores(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x, other):
        return self.linear(x)


def check_ignored_inputs(path):
    """The report names the inputs that the file has, and the command binds their dimensions alone."""
    for exporter in ("dynamo", "torchscript"):
        report = cleave.export_torch(Ignores(), (torch.randn(4, 4), torch.randn(3, 4)), path, quiet=True, exporter=exporter)
        assert report.inputs == [value.name for value in onnx.load(path).graph.input], report
        missing = "other" not in report.inputs
        assert missing == ("the file has no input 'other': no output depends on it" in report.notes) and missing == ("batch_other" not in report.command), report


def check_losses(path):
    for shape, loss in (((5,), "cross-entropy"), ((1,), "mse"), ((), "mse"), ((3, 1), "mse"), ((3, 5), "cross-entropy"), ((1, 4, 4), "mse")):
        size = max(1, torch.Size(shape).numel())
        module = nn.Sequential(nn.Linear(4, size), nn.Unflatten(1, shape) if shape else nn.Flatten(0))
        report = cleave.export_torch(module, torch.randn(2, 4), path, check=False, quiet=True, exporter="torchscript")
        assert f"--loss {loss} " in report.command, (shape, report.command)


class Bessel(nn.Module):
    def forward(self, x):
        return torch.special.bessel_j0(x)


@dataclasses.dataclass
class Scores:
    logits: torch.Tensor
    extra: object = None


class Wide(nn.Module):
    """Arguments and results of other kinds than tensors."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x, mask=None, double=False):
        return Scores(self.fc(x) * (2 if double else 1))


class Refuses(nn.Module):
    """Takes no batch but those that `takes` says."""

    def __init__(self, takes):
        super().__init__()
        self.linear, self.takes = nn.Linear(4, 2), takes

    def forward(self, x):
        if not self.takes(self, x):
            raise ValueError("I do not take this batch")
        return self.linear(x)


def check_refused_batches(path):
    """A module may refuse the larger batch that the check makes: the file is compared for the example's. If it refuses the example in eval(),
    nothing is left behind."""
    report = cleave.export_torch(Refuses(lambda _, x: x.shape[0] == 4), torch.randn(4, 4), path, quiet=True, exporter="torchscript")
    assert report.compared < 1e-5 and "ValueError: I do not take this batch), so the file was not compared with it for that" in report.notes[0]
    sorted_rows = Refuses(lambda _, x: bool((x[1:, 0] <= x[:-1, 0]).all()))
    report = cleave.export_torch(sorted_rows, torch.randn(4, 4).sort(0, descending=True)[0], path, quiet=True, exporter="torchscript")
    assert report.compared < 1e-5 and report.notes == [], report
    said = refusal(lambda: cleave.export_torch(Refuses(lambda module, _: module.training), torch.randn(4, 4), path, quiet=True))
    assert "fails in eval(), so the file cannot be compared" in said, said


def check_causes(linear, path):
    """Each cause has its own words, and the original exception behind it; nothing half-written is left."""
    x, labels = torch.randn(4, 4), torch.randint(0, 2, (4,))

    def fails(wanted, cause, *arguments, **options):
        try:
            cleave.export_torch(*arguments, **{"quiet": True, **options})
        except Exception as error:
            assert wanted in str(error) and "forward() must" not in str(error), error
            assert cause is None or isinstance(error.__cause__, cause), repr(error.__cause__)
            return
        sys.exit(f"nothing was refused: {wanted}")

    fails("there is no folder", None, linear, x, path + ".none/model.onnx")
    fails("is a folder; give the name", None, linear, x, os.path.dirname(path))
    for name, kind in {"b.pt": "a file of PyTorch", "b.PTH": "a file of PyTorch", "pytorch_model.bin": "a file of weights",
                       "b.safetensors": "a safetensors file", "x.npy": "an array of numpy"}.items():
        named = os.path.join(os.path.dirname(path), name)
        fails(f"path: '{named}' is the name of {kind}, and export_torch writes an ONNX model; give a name such as "
              f"'{os.path.splitext(named)[0]}.onnx'", None, linear, x, named)
        assert not os.path.exists(named)
    fails("has a byte 0, which no name has", None, linear, x, path + "\0.onnx")
    fails("/proc/m.onnx cannot be written", OSError, linear, x, "/proc/m.onnx")
    fails("'input' has a batch of 0, so nothing could be compared; give 2 or more", None, linear, x[:0], path)
    fails("'input' is sparse, and an input of an ONNX file is not; give input.to_dense()", None, linear, x.to_sparse(), path)
    fails("Linear fails in PyTorch, before anything is exported", RuntimeError, linear, torch.randn(4, 5), path)
    fails("the module's parameters are float16 on cpu", RuntimeError, nn.Linear(4, 2).half(), x, path)
    fails("loss: it fails in PyTorch", TypeError, linear, (x, labels), path, loss=lambda output, labels: nn.functional.cross_entropy(output))
    fails("loss: expected one number", None, linear, (x, labels), path, loss=nn.CrossEntropyLoss(reduction="none"))
    fails("no ONNX form of this operation", Exception, Bessel(), x, path, exporter="torchscript")
    fails("got ndarray (torch.from_numpy(x)", None, linear, x.numpy(), path)
    fails("forward() needs 'input2', too; it takes input1, input2", None, nn.Bilinear(4, 4, 2), x, path)
    fails("has no values (it is on the device meta)", None, nn.Linear(4, 2, device="meta"), x, path)
    kept, torch.onnx.export = torch.onnx.export, lambda *_, **__: __import__("absent_package")
    fails("needs the Python package 'absent_package'", ModuleNotFoundError, linear, x, path)
    torch.onnx.export = kept
    assert not os.path.exists(path)
    report = cleave.export_torch(Wide(), {"x": x, "mask": None, "double": True}, path, quiet=True)
    assert report.outputs == ["logits"] and report.inputs == ["x"] and "double=True" in report.notes[0] and report.compared < 1e-5, report
    report = cleave.export_torch(nn.ReLU(), x, path, quiet=True)
    assert "--train" not in report.command, report
    report = cleave.export_torch(nn.Linear(4, 2).bfloat16(), x.bfloat16(), path, quiet=True)
    assert report.compared is None and "bfloat16" in report.notes[0], report
    report = cleave.export_torch(nn.DataParallel(linear), x, path, quiet=True)
    assert [t.name for t in onnx.load(path).graph.initializer] == ["weight", "bias"], report


def main():
    torch.manual_seed(1)
    path = f"{sys.argv[1]}/refused.onnx"
    linear = nn.Linear(4, 2)
    assert "batch of 1" in refusal(lambda: cleave.export_torch(linear, torch.randn(1, 4), path))
    assert "no argument 'y'; it takes input" in refusal(lambda: cleave.export_torch(linear, {"y": torch.randn(4, 4)}, path))
    assert "expected a torch.nn.Module; got builtin_function_or_method" in refusal(lambda: cleave.export_torch(torch.relu, torch.randn(4, 4), path))
    assert "'input' is of type int" in refusal(lambda: cleave.export_torch(linear, {"input": 3}, path))
    assert "expected None, 'dynamo' or 'torchscript'; got 'onnx'" in refusal(
        lambda: cleave.export_torch(linear, torch.randn(4, 4), path, exporter="onnx"))
    check_causes(linear, path)
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
    check_bags(path)
    check_buffers(path)
    check_crash(path)
    check_ignored_inputs(path)
    check_invalid_files(path)
    check_files(path)
    check_losses(path)
    check_refused_batches(path)
    check_output_names(path)
    check_losses_of_several_outputs(path)
    check_detached_in_place(path)
    check_gradients(path)
    check_unwritten(path)


main()
