"""What cleave.export_torch traces in the place of functions that the exporters do not know or write wrongly: values and gradients of PyTorch in
float64, and files without loops that are the module: traced_functions.py DIRECTORY. Needs torch."""
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import cleave
from cleave import comparison
from cleave.traceable import traceable


def compare(module, inputs, wanted, what):
    """`wanted`: tensors whose gradients are compared, beside the parameters."""
    wanted = [*module.parameters(), *wanted]

    def of(results):
        results = [result for result in results if result.requires_grad]
        directions = [torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view_as(result) for result in results]
        return [*results, *torch.autograd.grad(results, wanted, directions)]

    def flat(result):
        return [result] if isinstance(result, torch.Tensor) else [tensor for part in result for tensor in flat(part)]

    theirs = of(flat(module(*inputs)))
    with traceable("dynamo"):
        ours = of(flat(module(*inputs)))
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape and torch.allclose(one, other, rtol=1e-10, atol=1e-10), (what, (one - other).abs().max())


def export(module, inputs, path, exporter, **options):
    report = cleave.export_torch(module, inputs, path, quiet=True, exporter=exporter, **options)
    assert report.compared < 1e-5 and not {"Loop", "Scan", "If"} & {node.op_type for node in onnx.load(path).graph.node}, report


class Alignment(nn.Module):
    """PyTorch's gradient of the loss is right only behind a log_softmax."""

    def __init__(self, **options):
        super().__init__()
        self.loss = nn.CTCLoss(**options)

    def forward(self, scores, targets, used, wanted):
        return self.loss(scores.log_softmax(2).transpose(0, 1), targets, used, wanted)


def check_ctc(path):
    for blank in (0, 2):
        symbols = torch.tensor([value for value in range(5) if value != blank])
        targets = symbols[torch.randint(0, 4, (6, 3))]
        targets[0] = symbols[1]  # one symbol three times: two blanks are needed between
        targets[1, 1:], targets[2] = -1, 99  # behind the end anything may stand
        scores = torch.randn(6, 7, 5, dtype=torch.double, requires_grad=True)
        used, wanted = torch.tensor([7, 7, 4, 5, 6, 1]), torch.tensor([3, 1, 0, 3, 2, 1])
        for reduction in ("none", "sum", "mean"):
            compare(Alignment(blank=blank, reduction=reduction), (scores, targets, used, wanted), [scores], (blank, reduction))
        compare(Alignment(blank=blank), (scores[:2], targets[:2], (7, 6), (3, 1)), [scores], "lengths that are numbers")
    # Three frames are too few for a symbol three times.
    used[0] = 3
    compare(Alignment(blank=blank, zero_infinity=True), (scores, targets, used, wanted), [scores], "no alignment")
    with traceable("dynamo"):
        assert Alignment(blank=blank, reduction="none")(scores, targets, used, wanted)[0] == float("inf")
    targets = symbols[torch.randint(0, 4, (6, 3))]
    inputs = {"scores": scores.detach().float(), "targets": targets, "used": torch.full((6,), 7), "wanted": torch.full((6,), 2)}
    for exporter in ("dynamo", "torchscript"):
        export(Alignment(blank=blank), inputs, path, exporter)


class Outputs(nn.Module):
    def __init__(self, lstm):
        super().__init__()
        self.lstm = lstm

    def forward(self, x):
        return self.lstm(x)[0]


def check_projections(path):
    for options in (dict(), dict(bidirectional=True, num_layers=2), dict(batch_first=True, bias=False, num_layers=2), dict(batch_first=True, bidirectional=True)):
        lstm = nn.LSTM(4, 6, proj_size=3, **options).double()
        x = torch.randn(5, 7, 4, dtype=torch.double, requires_grad=True)
        compare(lstm, (x,), [x], options)
        rows, samples = lstm.num_layers * (2 if lstm.bidirectional else 1), 5 if lstm.batch_first else 7
        state = [torch.randn(rows, samples, size, dtype=torch.double, requires_grad=True) for size in (3, 6)]
        compare(lstm, (x, tuple(state)), [x, *state], options)
        one = [tensor[:, 0].detach().requires_grad_() for tensor in state]  # one sample, without a dimension for it
        compare(lstm, (x[0],), [x], options)
        compare(lstm, (x[0], tuple(one)), [x, *one], options)
    for exporter in ("dynamo", "torchscript"):
        export(Outputs(lstm.float()), x.detach().float(), path, exporter)
        export(Outputs(lstm), x[0].detach().float(), path, exporter, batch_dims={"x": None})


class Packed(nn.Module):
    """`between`: what is done with the packed sequence before the layers."""

    def __init__(self, kind, between=lambda packed: packed, **options):
        super().__init__()
        self.layers, self.between, self.batch_first = getattr(nn, kind)(4, 3, **options), between, options.get("batch_first", False)

    def forward(self, x, lengths, hx=None):
        frames = x.shape[1 if self.batch_first else 0]
        packed = self.between(pack_padded_sequence(x, lengths, self.batch_first, enforce_sorted=False))
        assert isinstance(packed, nn.utils.rnn.PackedSequence)
        y, last = self.layers(packed, hx)
        y, lengths = pad_packed_sequence(y, self.batch_first, -1.0, total_length=frames + 1)
        return y, last, lengths


def check_packed(path):
    """Sequences in no order of their lengths: the values of PyTorch in float64 in place of its own packing, and files in which a layer is one node
    that nothing sorts for, also with dropout between the layers. Gradients are compared by check_random_modules.py."""
    def values(module, *inputs):
        y, last, lengths = module(*inputs)
        return [y, lengths, *(last if isinstance(last, tuple) else (last,))]

    lengths, names = torch.tensor([2, 5, 1, 3, 5]), ("dynamo", "torchscript")
    for kind in ("GRU", "LSTM", "RNN"):
        for options in ({}, {"bidirectional": True, "num_layers": 2, "batch_first": True, "dropout": 0.2}, {"bias": False},
                        {"proj_size": 2, "num_layers": 2} if kind == "LSTM" else {"nonlinearity": "relu"} if kind == "RNN" else {"num_layers": 2}):
            module = Packed(kind, **options).double().eval()
            x, rows = torch.randn(5, 5, 4, dtype=torch.double), (2 if "bidirectional" in options else 1) * options.get("num_layers", 1)
            hidden, cell = torch.randn(rows, 5, options.get("proj_size", 3), dtype=torch.double), torch.randn(rows, 5, 3, dtype=torch.double)
            for hx in (None, (hidden, cell) if kind == "LSTM" else hidden):
                with torch.no_grad():
                    theirs = values(module, x, lengths, hx)
                    with traceable("dynamo"):
                        ours = values(module, x, lengths, hx)
                for one, other in zip(ours, theirs, strict=True):
                    assert torch.allclose(one, other, rtol=1e-12, atol=1e-12), (kind, options)
            for exporter in names if kind == "LSTM" else names[:1] if kind == "GRU" else names[1:]:
                export(module.float().train(), (x.float(), lengths), path, exporter, batch_dims={} if module.batch_first else {"x": 1})
                operators = [node.op_type for node in onnx.load(path).graph.node]
                assert not {"TopK", "ScatterElements", "NonZero"} & set(operators), (exporter, operators)
                assert operators.count(kind) == (0 if module.layers.proj_size else module.layers.num_layers), (exporter, operators)
                assert operators.count("Dropout") == bool(module.layers.dropout), (exporter, operators)
                names_of = [len(a.strings) for node in onnx.load(path).graph.node if node.op_type == "RNN" for a in node.attribute if a.name == "activations"]
                assert set(names_of) <= {2 if module.layers.bidirectional else 1} and bool(names_of) == (kind == "RNN"), names_of
    for exporter in names:  # layers with dropout, of sequences that are not packed
        export(Outputs(nn.GRU(4, 3, num_layers=2, dropout=0.2)), x.float(), path, exporter, batch_dims={"x": 1})
    try:
        cleave.export_torch(Packed("GRU", lambda packed: packed._replace(data=packed.data * 2)), (x.float(), lengths), path, quiet=True)
    except cleave.export.ExportFailed as refused:
        assert "call pad_packed_sequence()" in str(refused), refused
    packed = pack_padded_sequence(x, lengths, enforce_sorted=False)  # PyTorch's functions are its own again
    assert type(packed) is nn.utils.rnn.PackedSequence and packed.sorted_indices is not None and pad_packed_sequence(packed)[0].shape == x.shape


class Products(nn.Module):
    def forward(self, x):
        return torch.cumprod(x, 1) + x.cumprod(dim=-1) * 2


def check_products(path):
    for sizes in ((3, 1, 2), (3, 4, 5), (2, 7, 1)):
        x = torch.randn(sizes, dtype=torch.double)
        x[0, 0, 0] = x[-1, -1, -1] = 0
        compare(Products(), (x.requires_grad_(),), [x], sizes)
    with traceable("dynamo"):
        assert torch.full((40,), 2, dtype=torch.int32).cumprod(0)[-1] == 2 ** 40 and torch.tensor(3.0).cumprod(0) == 3
        # Products of parts are beyond float32 here, the running ones are not.
        far = torch.tensor([1e-3] * 12 + [1e5] * 14 + [1e-5] * 12 + [-1.0] * 300)
        torch.testing.assert_close(far.cumprod(0).double(), torch.tensor(np.cumprod(far.double().numpy())), rtol=1e-6, atol=0)
        assert torch.tensor([1.0, 0.0] + [1e6] * 98).cumprod(0)[1:].eq(0).all()
    for exporter in ("dynamo", "torchscript"):
        export(Products(), torch.randn(3, 4, 5), path, exporter)


class Extremes(nn.Module):
    def forward(self, x):
        (most, first), (least, last) = torch.cummax(x, 1), x.cummin(dim=-1)
        return most * 2 + least, x.cummax(-2).values, first.to(x.dtype) * x + last


def check_extremes(path):
    """Values, places and gradients with ties, NaN and infinities, of numbers of every type."""
    for sizes in ((3, 1, 2), (3, 4, 5), (2, 7, 1)):
        x = torch.randint(0, 3, sizes).double()
        compare(Extremes(), (x.requires_grad_(),), [x], sizes)
    for kind in (torch.float, torch.int64, torch.uint8, torch.bool):
        for _ in range(20):
            x = torch.randint(0, 4, (5, 9)).to(kind)
            if kind == torch.float:
                x[torch.rand(5, 9) < 0.1], x[torch.rand(5, 9) < 0.1] = float("nan"), float("-inf")
            for name in ("cummax", "cummin"):
                theirs = getattr(x, name)(1)
                with traceable("dynamo"):
                    ours = getattr(torch, name)(x, 1)
                assert torch.equal(ours.indices, theirs.indices) and ours.values.dtype == kind, (x, ours, theirs)
                assert torch.equal(ours.values.nan_to_num(9), theirs.values.nan_to_num(9)) if kind == torch.float else torch.equal(ours.values, theirs.values)
    for exporter in ("dynamo", "torchscript"):
        export(Extremes(), torch.randn(3, 4, 5), path, exporter)


class LogSigmoids(nn.Module):
    def forward(self, x):
        return nn.functional.logsigmoid(x) + nn.LogSigmoid()(2 * x)


def check_logsigmoid(path):
    """Finite where the sigmoid is 0 in float32, also with onnxruntime."""
    x = torch.tensor([[-300.0, -95, -25, -1], [0, 1, 25, 300]])
    deep = x.double().requires_grad_()
    compare(LogSigmoids(), (deep,), [deep], "logsigmoid")
    for exporter in ("dynamo", "torchscript"):
        export(LogSigmoids(), x, path, exporter)
        assert "Sigmoid" not in {node.op_type for node in onnx.load(path).graph.node}


class SoftLoss(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.loss = nn.CrossEntropyLoss(**options)

    def forward(self, x, target):
        return self.loss(2 * x, target)


def check_soft_labels(path):
    """Targets that are probabilities, of classes and of pixels; class numbers stay as they are."""
    weight = torch.linspace(0.5, 1.5, 5)
    for shape in ((4, 5), (4, 5, 3, 2)):
        x, target = torch.randn(shape, dtype=torch.double, requires_grad=True), torch.randn(shape, dtype=torch.double).softmax(1)
        for options in ({}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.2, "weight": weight.double()}):
            compare(SoftLoss(**options), (x, target), [x], ("soft labels", options))
    compare(SoftLoss(), (x, torch.randint(0, 5, (4, 3, 2))), [x], "class numbers")
    for exporter in ("dynamo", "torchscript"):
        export(SoftLoss(label_smoothing=0.1, weight=weight), (torch.randn(4, 5), torch.randn(4, 5).softmax(1)), path, exporter)


class EachLoss(nn.Module):
    """One loss for each sample, and what reduces them. `options`: those of cross_entropy."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x, target):
        losses = nn.functional.cross_entropy(x, target, reduction="none", **self.options)
        others = nn.functional.nll_loss(x.log_softmax(1), target, self.options.get("weight"), ignore_index=2, reduction="none")
        return (losses.sum() / 5 + losses.view_as(target).logsumexp(0) + (losses[:, None] * x.detach()).softmax(0).mean() + losses.topk(2)[0].mean()
                + others.mean(0) + (others.softmax(0) * others.view_as(target)).sum())


def check_losses_of_samples(path):
    """torch.export gives these losses the shape of one number, and leaves out what reduces them."""
    target = torch.tensor([0, 4, 2, 2, 1, 3])
    for kind in (torch.double, torch.float):
        weight, x = torch.linspace(0.5, 1.5, 5, dtype=kind), torch.randn(6, 5, dtype=kind, requires_grad=kind == torch.double)
        if kind == torch.double:
            for options in ({}, {"weight": weight, "ignore_index": 2}, {"weight": weight, "label_smoothing": 0.1}):
                compare(EachLoss(**options), (x, target), [x], ("losses of samples", options))
        else:
            for exporter in ("dynamo", "torchscript"):
                export(EachLoss(weight=weight, ignore_index=2), (x, target), path, exporter)
    with traceable("dynamo"):
        for shape, wanted in (((5,), ()), ((6, 5, 3), (6, 3))):
            x = torch.randn(shape)
            assert nn.functional.cross_entropy(x, x.argmax(min(1, x.dim() - 1)), reduction="none").shape == wanted


class GaussianLoss(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.loss = nn.GaussianNLLLoss(**options)

    def forward(self, x, target):
        return sum(self.loss(x, target, var).sum() for var in ((x * x), (x * x)[:, :1], x.exp().mean(1)))


def check_gaussian_loss(path):
    """Variances of each value and of each sample, some of them below eps, where their gradient does not end."""
    x, target = torch.randn(6, 5, dtype=torch.double, requires_grad=True), torch.randn(6, 5, dtype=torch.double)
    for options in ({}, {"full": True, "reduction": "sum"}, {"eps": 0.5, "reduction": "none"}):
        compare(GaussianLoss(**options), (x, target), [x], ("gaussian", options))
    for exporter in ("dynamo", "torchscript"):
        export(GaussianLoss(**options), (x.detach().float(), target.float()), path, exporter)


class Distances(nn.Module):
    def forward(self, x, other):
        return torch.cdist(x, other), torch.cdist(x, x, p=3.0), torch.cdist(x[:, None], other[None, :2], 1)


def check_distances(path):
    x, other = (torch.randn(6, 5, dtype=torch.double, requires_grad=True) for _ in range(2))
    compare(Distances(), (x, other), [x, other], "cdist")
    for exporter in ("dynamo", "torchscript"):
        export(Distances(), (x.detach().float(), other.detach().float()), path, exporter)


class Parts(nn.Module):
    """Two batches in one pass, and its parts."""

    def __init__(self, *cuts):
        super().__init__()
        self.cuts = cuts

    def forward(self, x, other):
        parts = [part for cut in self.cuts for part in cut(torch.cat([x, other]), x)]
        return sum((i + 1) * part.exp().mean() for i, part in enumerate(parts))


def check_parts(path):
    """Parts of the batch hold for any batch, and those of other dimensions stay one operation."""
    cuts = [lambda z, x: z.chunk(2), lambda z, x: torch.chunk(x, 2), lambda z, x: z.split(x.shape[0]), lambda z, x: torch.split(z, x.shape[0], dim=0),
            lambda z, x: z.split([x.shape[0], x.shape[0]]), lambda z, x: z.t().split(z.shape[0] // 2, 1),
            lambda z, x: z.split_with_sizes([x.shape[0] // 2, z.shape[0] - x.shape[0] // 2])]
    others = [lambda z, x: z.chunk(4, -1), lambda z, x: torch.split(z, [1, 5], 1), lambda z, x: z.split(4, dim=1)]
    for exporter in ("dynamo", "torchscript"):
        for given in (cuts, others):
            export(Parts(*given), (torch.randn(4, 6), torch.randn(4, 6)), path, exporter)
            operators = {node.op_type for node in onnx.load(path).graph.node}
            assert operators & {"Slice", "Split", "SplitToSequence"} <= ({"Slice"} if given is cuts else {"Split", "SplitToSequence"}), (exporter, operators)
    x = torch.randn(5, 7)
    with traceable("dynamo"):
        assert [part.shape[0] for part in x.chunk(4)] == [2, 2, 1] and [part.shape[0] for part in x.split(2)] == [2, 2, 1]
    # torch.export cannot say how many parts there are, and writes the example's sizes.
    report = cleave.export_torch(Parts(lambda z, x: z.chunk(4)), (torch.randn(4, 6), torch.randn(4, 6)), path, quiet=True)
    assert report.exporter == "torchscript" and report.compared < 1e-5 and "torch.export's file has a fixed batch" in report.notes[0], report
    try:
        cleave.export_torch(Parts(lambda z, x: z.split(4)), (torch.randn(4, 6), torch.randn(4, 6)), path, quiet=True, exporter="dynamo")
        sys.exit("a file of one batch was written")
    except cleave.export.ExportFailed as refused:
        assert "Got: 8 Expected: 4" in str(refused) and "an exporter may write sizes as constants" in str(refused), refused


class Spectral(nn.Module):
    """Two passes, each with a power iteration, as for the real and the generated images of a GAN."""

    def __init__(self, normalize):
        super().__init__()
        self.first, self.second = normalize(nn.Linear(6, 4)), normalize(nn.Conv1d(1, 3, 2))

    def forward(self, x):
        return self.second(self.first(x).unsqueeze(1)).sum((1, 2)) + self.first(2 * x).tanh().sum(1)


def check_spectral_norms(path):
    """Vectors that have not converged: the file is the module in training, and no gradient reaches the power iteration."""
    for normalize in (nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm):
        module, x = Spectral(normalize), torch.randn(4, 6)
        for value in module.buffers():
            value.copy_(nn.functional.normalize(torch.randn_like(value), dim=0))
        before = {name: value.clone() for name, value in module.state_dict().items()}
        for exporter in ("dynamo", "torchscript"):
            export(module, x, path, exporter)
            calls = [entry.value for node in onnx.load(path).graph.node for entry in node.metadata_props if entry.key.endswith("fx_node")]
            assert sum("aten.detach.default" in call for call in calls) >= 6, calls
            assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
        note, = cleave.export_torch(module, x, path, quiet=True).notes
        assert "spectral_norm begins its power iteration at them in each step" in note, note


class FiniteGradients(nn.Module):
    """A probability of 0 and of 1, and rows of equal numbers, as PyTorch's own functions differentiate them."""

    def __init__(self, weight=None, reduction="mean"):
        super().__init__()
        self.loss = nn.BCELoss(weight, reduction=reduction)

    def forward(self, x, target):
        spread = torch.cat([x.std(1), x.std(dim=0, correction=0), torch.std(x, 1, unbiased=False), x.std().reshape(1)])
        spread = torch.cat([spread, *torch.std_mean(x, 1), *torch.std_mean(x, dim=0, correction=0), torch.std_mean(x)[0].reshape(1)])
        return self.loss(torch.sigmoid(x * 3), target), spread


def check_finite_gradients(path):
    x = torch.tensor([[-300.0, 300, 0.5, -1], [2, 2, 2, 2], [0, 0, 0, 0]])
    target = torch.tensor([[1.0, 0, 0.3, 1], [0, 1, 0.5, 1], [1, 0, 1, 0]])
    for weight in (None, torch.linspace(0.5, 2, 4)):
        for reduction in ("mean", "sum", "none"):
            deep = x.double().requires_grad_()
            compare(FiniteGradients(None if weight is None else weight.double(), reduction), (deep, target.double()), [deep], ("finite", reduction))
    for exporter in ("dynamo", "torchscript"):
        export(FiniteGradients(), (x, target), path, exporter)


class Ends(nn.Module):
    def forward(self, x):
        return x + (x.round() - x).detach()


@torch.jit.script
def ends_if_positive(x):
    if x.sum() > 0:
        y = x.detach() * 2
    else:
        y = x
    return y


class EndsInBranch(nn.Module):
    def forward(self, x):
        return ends_if_positive(x)


def check_detached(path):
    """Both exporters write an Identity that says what it was, and no operation of ours."""
    for exporter in ("dynamo", "torchscript"):
        export(Ends(), torch.randn(3, 4), path, exporter)
        model = onnx.load(path)
        calls = [entry.value for node in model.graph.node if node.op_type == "Identity" for entry in node.metadata_props if entry.key.endswith("fx_node")]
        assert sum("aten.detach.default" in call for call in calls) == 1, (exporter, calls)
        assert {node.domain for node in model.graph.node} == {""} and "cleave.torch" not in {used.domain for used in model.opset_import}, exporter
    assert cleave.export_torch(EndsInBranch(), torch.ones(3, 4), path, quiet=True, exporter="torchscript").compared < 1e-5
    torch.onnx.export(Ends(), torch.randn(3, 4), path, dynamo=False)  # other exports stay as they were
    assert {node.domain for node in onnx.load(path).graph.node} == {""}


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.padded, self.last, self.whole = nn.Embedding(5, 3, padding_idx=1), nn.Embedding(5, 3, padding_idx=-1), nn.Embedding(5, 3)

    def forward(self, tokens):
        return self.padded(tokens).sum(1) + self.last(tokens).mean(1) + self.whole(tokens).amax(1)


def check_padding(path):
    """Which row has no gradient: both exporters write a Gather that says so."""
    for exporter in ("dynamo", "torchscript"):
        export(Embeddings(), torch.randint(0, 5, (3, 4)), path, exporter)
        model = onnx.load(path)
        calls = {node.input[0]: entry.value for node in model.graph.node if node.op_type == "Gather" for entry in node.metadata_props
                 if entry.key.endswith("fx_node") and "aten.embedding" in entry.value}
        places = {name: call.partition("args = (")[2].partition(")")[0].split(", ")[2:] for name, call in calls.items()}
        assert places["padded.weight"] == ["1"] and places["last.weight"] == ["4"], (exporter, calls)
        assert places["whole.weight"] in ([], ["-1"]), (exporter, calls)  # no row
        assert {node.domain for node in model.graph.node} == {""}, exporter


class Clamps(nn.Module):
    """hardtanh, relu6 and maximum are no clamps, also below one, and have other gradients at their bounds."""
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        clamps = y.clamp(-1.0, 1.0) + y.clamp(min=-0.5) + torch.clamp_max(y, 0.5) + y.clamp(min=self.linear.bias, max=self.linear.bias + 1)
        clamps = clamps + nn.functional.hardtanh(y, 0, 1).clamp(max=self.linear.bias)
        clamps = clamps + torch.maximum(y, self.linear.weight[0]).clamp(max=self.linear.bias + 1)
        return clamps + nn.functional.hardtanh(y, -2, 2) + nn.functional.relu6(y)


def check_clamps(path):
    """Which Clip, Max and Min is a clamp: both exporters write nodes that say so."""
    for exporter in ("dynamo", "torchscript"):
        export(Clamps(), torch.randn(3, 4), path, exporter)
        model = onnx.load(path)
        nodes = [node for node in model.graph.node if node.op_type in ("Clip", "Max", "Min")]
        clamps = [node.op_type for node in nodes if any("aten.clamp" in entry.value for entry in node.metadata_props if entry.key.endswith("fx_node"))]
        assert sorted(clamps) == ["Clip", "Clip", "Clip", "Max", "Min", "Min", "Min"] and len(nodes) == 11, (exporter, clamps)
        assert {node.domain for node in model.graph.node} == {""}, exporter


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.round()

    @staticmethod
    def backward(context, gradient):
        return gradient


class OwnGradients(nn.Module):
    def __init__(self, *functions):
        super().__init__()
        self.linear, self.functions = nn.Linear(4, 4), functions

    def forward(self, x):
        for function in self.functions:
            x = function(self.linear(x))
        return x


def check_own_gradients(path):
    """A file has no backward() of the module's own, and the report says so; where no parameter is before it there is nothing to say."""
    def quantized(x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    def checkpointed(x):
        return torch.utils.checkpoint.checkpoint(torch.tanh, x, use_reentrant=True)

    def notes(module, name="torchscript"):
        return cleave.export_torch(module, torch.randn(3, 4), path, quiet=True, exporter=name, check=False).notes

    for exporter in ("dynamo", "torchscript"):
        first, = notes(OwnGradients(Rounded.apply), exporter)
        assert "forward() of Rounded (torch.autograd.Function) and not backward()" in first, first
        assert notes(OwnGradients(torch.tanh), exporter) == []
    first, second = notes(OwnGradients(Rounded.apply, quantized))
    assert "Rounded" in first and "the rounding of fake quantization" in second, (first, second)
    assert not any("autograd" in note for note in notes(OwnGradients(checkpointed)))
    assert not any("autograd" in note for note in notes(nn.Sequential(OwnGradients(lambda x: x * Rounded.apply(x.detach())))))


class Whole(nn.Module):
    """A function of whole numbers, and a parameter, without which a file trains nothing."""
    def __init__(self, function):
        super().__init__()
        self.function, self.scale = function, nn.Parameter(torch.ones(()))

    def forward(self, a, b):
        return self.function(a, b), ((a + b) * 0).float().sum() * self.scale


def in_place(function):
    def of_copy(a, b):
        copy = a.clone()
        function(copy, b)
        return copy
    return of_copy


WHOLE = {"floor": lambda a, b: torch.div(a, b, rounding_mode="floor"), "trunc": lambda a, b: a.div(other=b, rounding_mode="trunc"),
         "hours": lambda a, b: torch.divide(a, 3600, rounding_mode="floor"), "in place": in_place(lambda a, b: a.div_(b, rounding_mode="trunc")),
         "//": lambda a, b: a // b, "// 7": lambda a, b: a // 7, "7 //": lambda a, b: (7 << 40) // b, "//=": in_place(lambda a, b: a.floor_divide_(b)),
         "%": lambda a, b: a % b, "fmod": torch.fmod, ">>": lambda a, b: a >> 3, "<<": lambda a, b: a << 3, "addcmul": lambda a, b: torch.addcmul(a, b, b, value=2),
         "round": lambda a, b: a.round() + torch.trunc(b), "**": lambda a, b: b ** 2, "sum": lambda a, b: a.sum(1), "cumsum": lambda a, b: a.cumsum(1),
         "max": lambda a, b: torch.max(a, b) - a.amin(1, True), "sort": lambda a, b: a.sort(1)[0], "clamp": lambda a, b: a.clamp(-(1 << 40) - 1, (1 << 40) + 1)}


def whole_numbers(samples):
    """[samples, 3] of both signs: some above 2^24, which float32 rounds, and small ones; no zero in the second."""
    a = torch.randint(-(1 << 44), 1 << 44, (samples, 3))
    a[::2] >>= 30
    b = torch.randint(1, 1 << 30, (samples, 3))
    b[::2] >>= 18
    return a, b.clamp(min=1) * torch.randint(0, 2, (samples, 3)).mul(2).sub(1)


def check_whole_numbers(path):
    """The file computes other whole numbers than the example exactly."""
    for name, function in WHOLE.items():
        for exporter in ("dynamo", "torchscript"):
            cleave.export_torch(Whole(function), whole_numbers(4), path, exporter=exporter, output_names=["y", "loss"], quiet=True)
            a, b = whole_numbers(300)
            session = onnxruntime.InferenceSession(path)
            feeds = {key: value.numpy() for key, value in {"a": a, "b": b}.items() if key in {port.name for port in session.get_inputs()}}
            assert np.array_equal(session.run(["y"], feeds)[0], function(a, b).numpy()), (name, exporter)
    print("whole numbers are exact")


class Sums:
    """A job whose outputs are a mean minus the same mean in another order, 0 but for rounding errors, and the mean itself."""
    output_names = ["nothing", "sum"]

    def run(self, inputs):
        x = inputs["x"].numpy() / len(inputs["x"])
        forward, backward = np.cumsum(x)[-1], np.cumsum(x[::-1])[-1]  # in f32, one number after the other
        return [np.asarray([float(forward - backward)]), np.asarray([float(forward)])]


def check_rounding(_):
    """Of the two outputs, a difference as large as the first one is of rounding errors; one that the module itself does not have is not, and a
    difference of the mean is none."""
    x = {"x": torch.linspace(0.1, 1.7, 3000) ** 2}
    nothing, total = Sums().run(x)
    assert nothing[0], "the orders of the sum give the same bits"
    assert comparison._is_of_rounding(Sums(), x, "nothing", nothing, 1.0)
    assert not comparison._is_of_rounding(Sums(), x, "nothing", nothing, 1e6)
    assert not comparison._is_of_rounding(Sums(), x, "sum", total, 1e-2)
    print("what is 0 but for rounding errors is not compared")


def main():
    torch.manual_seed(0)
    for check in (check_ctc, check_projections, check_packed, check_products, check_extremes, check_logsigmoid, check_soft_labels, check_losses_of_samples, check_gaussian_loss,
                  check_distances, check_parts, check_spectral_norms, check_finite_gradients, check_detached, check_padding, check_clamps, check_own_gradients,
                  check_whole_numbers, check_rounding):
        check(f"{sys.argv[1]}/{check.__name__}.onnx")


main()
