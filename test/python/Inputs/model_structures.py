"""Small modules with structures that libraries of models rarely have: graphs, spectrograms, speech, sampled images, experts, flows, windows that are put back.

STRUCTURES maps a name to a function that makes the module, how it is called, and a function from a batch size to its inputs."""
import torch
from torch import nn
from torch.nn import functional


def plain(module, x):
    return module(x)


def of_shape(*shape):
    return lambda batch: {"x": torch.randn(batch, *shape)}


class GraphAttention(nn.Module):
    """Messages along fixed edges, with a softmax over the edges that meet at a node."""

    def __init__(self, edges=9, nodes=6):
        super().__init__()
        self.first, self.message, self.score, self.last = nn.Linear(5, 8), nn.Linear(8, 8), nn.Linear(16, 1), nn.Linear(8, 3)
        self.register_buffer("source", torch.randint(0, nodes, (edges,)))
        self.register_buffer("target", torch.randint(0, nodes, (edges,)))

    def forward(self, x):
        h = torch.relu(self.first(x))
        message = self.message(h)[:, self.source]
        weight = functional.leaky_relu(self.score(torch.cat([h[:, self.source], h[:, self.target]], -1)), 0.2).exp()
        places = self.target[None, :, None].expand(x.shape[0], -1, message.shape[-1])
        total = torch.zeros_like(h).scatter_add(1, places, message * weight)
        weights = torch.zeros_like(h[..., :1]).scatter_add(1, places[..., :1], weight)
        return self.last(h + total / (weights + 1e-6))


class GraphOfData(nn.Module):
    """Edges are an input; the largest message counts."""

    def __init__(self):
        super().__init__()
        self.first, self.last, self.own = nn.Linear(5, 8), nn.Linear(8, 3), nn.Parameter(torch.zeros(1))

    def forward(self, x, edges):
        h = self.first(x)
        messages = h.gather(1, edges[..., :1].expand(-1, -1, 8))
        largest = torch.zeros_like(h).scatter_reduce(1, edges[..., 1:].expand(-1, -1, 8), messages, "amax", include_self=True)
        return self.last(torch.relu((1 + self.own) * h + largest)).sum(1)


class DiffusionUNet(nn.Module):
    """Embedded times, group norms, attention at the bottom, a transposed convolution and a skip."""

    def __init__(self, width=8):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 2 * width))
        self.stem, self.down, self.middle = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.norm, self.attention = nn.GroupNorm(4, 2 * width), nn.MultiheadAttention(2 * width, 2, batch_first=True)
        self.up, self.last_norm, self.last = nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.GroupNorm(2, 2 * width), nn.Conv2d(2 * width, 3, 3, padding=1)
        self.register_buffer("frequencies", torch.exp(-torch.arange(8) / 8 * 9.2))

    def forward(self, x, t):
        angles = t[:, None] * self.frequencies
        stem = self.stem(x)
        h = self.down(functional.silu(stem)) + self.time(torch.cat([angles.sin(), angles.cos()], -1))[:, :, None, None]
        h = h + self.middle(functional.silu(self.norm(h)))
        rows = h.flatten(2).transpose(1, 2)
        h = h + self.attention(rows, rows, rows, need_weights=False)[0].transpose(1, 2).reshape(h.shape)
        return self.last(functional.silu(self.last_norm(torch.cat([self.up(h), stem], 1))))


class Spectrogram(nn.Module):
    """A short-time transform, bands, and a recurrent layer in both directions."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("bands", torch.rand(9, 6))
        self.layer, self.last = nn.GRU(6, 7, batch_first=True, bidirectional=True), nn.Linear(14, 3)

    def forward(self, x):
        z = torch.stft(x, 16, 8, window=self.window, return_complex=False, center=False)
        power = (z[..., 0] ** 2 + z[..., 1] ** 2).transpose(1, 2) @ self.bands
        return self.last(self.layer(torch.log(power + 1e-3))[0])


class Folded(nn.Module):
    """Windows that are taken apart and put back, padding that goes round, a pool of squares."""

    def __init__(self):
        super().__init__()
        self.linear, self.convolution = nn.Linear(12, 12), nn.Conv2d(3, 3, 3, padding=1, padding_mode="circular")

    def forward(self, x):
        columns = torch.tanh(self.linear(functional.unfold(x, 2, stride=2).transpose(1, 2))).transpose(1, 2)
        y = self.convolution(functional.pad(functional.fold(columns, (6, 8), 2, stride=2), (1, 1, 1, 1), mode="reflect"))
        return y + functional.lp_pool2d(functional.pad(x, (2, 2, 2, 2)), 2, 3, stride=1)


class SpatialTransformer(nn.Module):
    """An image that is sampled at places which the image itself decides."""

    def __init__(self, mode):
        super().__init__()
        self.places, self.convolution, self.mode = nn.Linear(3 * 6 * 7, 6), nn.Conv2d(3, 4, 3), mode
        nn.init.normal_(self.places.weight, std=0.02)
        self.places.bias.data = torch.tensor([1, 0.1, 0, 0, 0.9, 0.05])

    def forward(self, x):
        grid = functional.affine_grid(self.places(x.flatten(1)).view(-1, 2, 3), x.size(), align_corners=False)
        return self.convolution(functional.grid_sample(x, grid, mode=self.mode, align_corners=False, padding_mode="border"))


class Cells(nn.Module):
    """Two recurrent cells in a loop that the exporter unrolls."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.LSTMCell(5, 6), nn.GRUCell(6, 6), nn.Linear(6, 2)

    def forward(self, x):
        h = c = g = torch.zeros(x.shape[0], 6, dtype=x.dtype)
        results = []
        for step in range(x.shape[1]):
            h, c = self.first(x[:, step], (h, c))
            g = self.second(h, g)
            results.append(self.last(g))
        return torch.stack(results, 1)


class Experts(nn.Module):
    """Two of four experts for each token."""

    def __init__(self, count=4):
        super().__init__()
        self.router = nn.Linear(6, count)
        self.wide, self.narrow = nn.Parameter(torch.randn(count, 6, 9) * 0.3), nn.Parameter(torch.randn(count, 9, 6) * 0.3)

    def forward(self, x):
        chances = self.router(x).softmax(-1)
        best, places = chances.topk(2, -1)
        gate = torch.zeros_like(chances).scatter(-1, places, best / best.sum(-1, keepdim=True))
        hidden = functional.gelu(torch.einsum("btd,edh->bteh", x, self.wide))
        return (torch.einsum("bteh,ehd->bted", hidden, self.narrow) * gate[..., None]).sum(2)


class Flow(nn.Module):
    """A coupling of halves, and the logarithm of a determinant."""

    def __init__(self):
        super().__init__()
        self.mix, self.net = nn.Parameter(torch.eye(4) + torch.randn(4, 4) * 0.2), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4))

    def forward(self, x):
        a, b = (x @ self.mix.T).chunk(2, 1)
        scale, shift = self.net(a).chunk(2, 1)
        return torch.cat([a, b * scale.exp() + shift, scale.sum(1, keepdim=True) + torch.linalg.det(self.mix).abs().log()], 1)


class Volume(nn.Module):
    """Three spatial dimensions, there and back."""

    def __init__(self):
        super().__init__()
        self.down, self.norm, self.up, self.last = nn.Conv3d(2, 4, 3, 2, 1), nn.InstanceNorm3d(4), nn.ConvTranspose3d(4, 3, 2, 2), nn.Conv3d(3, 1, 1)

    def forward(self, x):
        return self.last(torch.relu(self.up(functional.max_pool3d(functional.elu(self.norm(self.down(x))), 3, 1, 1))))


class Speech(nn.Module):
    """Frames that meet symbols in an order which nobody gave, and a recurrent layer whose state is projected."""

    def __init__(self):
        super().__init__()
        self.frames, self.memory, self.symbols = nn.Conv1d(3, 6, 3, stride=2), nn.LSTM(6, 8, proj_size=4, bidirectional=True, batch_first=True), nn.Linear(8, 5)

    def forward(self, x, targets, counts):
        scores = self.symbols(self.memory(self.frames(x).transpose(1, 2))[0]).log_softmax(2)
        return functional.ctc_loss(scores.transpose(0, 1), targets, torch.full_like(counts, scores.shape[1]), counts, reduction="none")


class StraightThrough(nn.Module):
    """A value that is rounded on the way there and not on the way back, and a part that another part's gradient does not reach."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.other = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x):
        h = torch.tanh(self.first(x))
        h = h + ((h * 4).round() / 4 - h).detach()
        return self.second(h) + self.other(h.detach())


STRUCTURES = {
    "graph-attention": lambda: (GraphAttention(), plain, of_shape(6, 5)),
    "graph-of-data": lambda: (GraphOfData(), lambda m, x, e: m(x, e), lambda b: {"x": torch.randn(b, 6, 5), "e": torch.randint(0, 6, (b, 9, 2))}),
    "diffusion": lambda: (DiffusionUNet(), lambda m, x, t: m(x, t), lambda b: {"x": torch.randn(b, 3, 8, 8), "t": torch.rand(b) * 100}),
    "spectrogram": lambda: (Spectrogram(), plain, of_shape(80)),
    "folded": lambda: (Folded(), plain, of_shape(3, 6, 8)),
    "spatial": lambda: (SpatialTransformer("bilinear"), plain, of_shape(3, 6, 7)),
    "spatial-cubic": lambda: (SpatialTransformer("bicubic"), plain, of_shape(3, 6, 7)),
    "cells": lambda: (Cells(), plain, of_shape(5, 5)),
    "experts": lambda: (Experts(), plain, of_shape(7, 6)),
    "flow": lambda: (Flow(), plain, of_shape(4)),
    "speech": lambda: (Speech(), lambda m, x, t, n: m(x, t, n),
                       lambda b: {"x": torch.randn(b, 3, 17), "t": torch.randint(1, 5, (b, 3)), "n": torch.randint(1, 4, (b,))}),
    "straight-through": lambda: (StraightThrough(), plain, of_shape(4)),
    "volume": lambda: (Volume(), plain, of_shape(2, 4, 6, 8)),
}
