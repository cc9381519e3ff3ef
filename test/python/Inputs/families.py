"""Small modules with the structure of model families that people train: each has one example of every part that makes the family special.

FAMILIES maps a name to a function that makes the module, and to the shape of a sample."""
import math

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class RootMeanSquare(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class ConvNeXt(nn.Module):
    """Patches, a depthwise 7 x 7 convolution, a norm over channels that come last, and a scale for each channel."""

    def __init__(self, width=8):
        super().__init__()
        self.patches, self.depthwise = nn.Conv2d(3, width, 4, 4), nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.wide, self.narrow = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale, self.head = nn.Parameter(torch.full((width,), 0.1)), nn.Linear(width, 3)

    def forward(self, x):
        x = self.patches(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        x = x + (self.narrow(functional.gelu(self.wide(y))) * self.scale).permute(0, 3, 1, 2)
        return self.head(x.mean((2, 3)))


class Swin(nn.Module):
    """Attention in shifted windows with a table of relative positions, and a merge of patches."""

    def __init__(self, width=8, window=2, shift=1, size=4):
        super().__init__()
        self.window, self.shift = window, shift
        self.stem, self.qkv, self.out, self.norm = nn.Linear(3, width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)
        self.table, self.merge = nn.Parameter(torch.randn((2 * window - 1) ** 2, 2) * 0.2), nn.Linear(4 * width, 5)
        places = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        apart = (places[:, :, None] - places[:, None]).permute(1, 2, 0) + window - 1
        self.register_buffer("offsets_of_pairs", apart[..., 0] * (2 * window - 1) + apart[..., 1])
        regions, parts = torch.zeros(1, size, size, 1), (slice(0, -window), slice(-window, -shift), slice(-shift, None))
        for number, (rows, columns) in enumerate((rows, columns) for rows in parts for columns in parts):
            regions[:, rows, columns] = number
        regions = self.windows(regions).squeeze(-1)
        differ = regions[:, None] - regions[:, :, None]
        self.register_buffer("mask", torch.where(differ != 0, -100.0, 0.0))

    def windows(self, x):
        _, height, width, channels = x.shape
        x = x.view(-1, height // self.window, self.window, width // self.window, self.window, channels)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.window ** 2, channels)

    def forward(self, x):
        x = self.stem(x)
        _, height, width, channels = x.shape
        size = self.window ** 2
        y = self.windows(torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2)))
        q, k, v = self.qkv(y).reshape(-1, size, 3, 2, channels // 2).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q * (channels // 2) ** -0.5 @ k.transpose(-2, -1) + self.table[self.offsets_of_pairs.view(-1)].view(size, size, 2).permute(2, 0, 1)
        scores = scores.view(-1, len(self.mask), 2, size, size) + self.mask[None, :, None]
        y = self.out((scores.view(-1, 2, size, size).softmax(-1) @ v).transpose(1, 2).reshape(-1, size, channels))
        y = y.view(-1, height // self.window, width // self.window, self.window, self.window, channels).permute(0, 1, 3, 2, 4, 5)
        x = x + torch.roll(y.reshape(-1, height, width, channels), (self.shift, self.shift), (1, 2))
        return self.merge(torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1))


class SqueezeAndExcite(nn.Module):
    """An inverted bottleneck of EfficientNet and MobileNetV3."""

    def __init__(self, width=4):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.GroupNorm(2, width)
        self.expand, self.depthwise = nn.Conv2d(width, 4 * width, 1), nn.Conv2d(4 * width, 4 * width, 5, 2, 2, groups=4 * width)
        self.squeeze, self.excite = nn.Conv2d(4 * width, 2, 1), nn.Conv2d(2, 4 * width, 1)
        self.project, self.head = nn.Conv2d(4 * width, width, 1), nn.Linear(width, 3)

    def forward(self, x):
        y = functional.silu(self.depthwise(functional.silu(self.expand(functional.silu(self.norm(self.stem(x)))))))
        y = y * torch.sigmoid(self.excite(functional.silu(self.squeeze(functional.adaptive_avg_pool2d(y, 1)))))
        return self.head(functional.hardswish(self.project(y)).flatten(2).mean(-1))


def rotated(x):
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


class Llama(nn.Module):
    """Rotary positions, keys and values shared by groups of heads, and a gated layer. `fused`: scaled_dot_product_attention."""

    def __init__(self, fused, width=16, heads=4, groups=2):
        super().__init__()
        self.fused, self.heads, self.groups, self.each = fused, heads, groups, width // heads
        self.stem, self.norm, self.second = nn.Linear(4, width), RootMeanSquare(width), RootMeanSquare(width)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.each, bias=False) for _ in range(2))
        self.gate, self.up, self.down = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False), nn.Linear(24, width, bias=False)
        self.register_buffer("inv_freq", 100 ** (-torch.arange(0, self.each, 2).float() / self.each))

    def forward(self, x):
        x = self.stem(x)
        length = x.shape[1]
        y = self.norm(x)
        q, k, v = (part.unflatten(-1, (-1, self.each)).transpose(1, 2) for part in (self.q(y), self.k(y), self.v(y)))
        angles = torch.arange(length, dtype=x.dtype)[:, None] * self.inv_freq[None]
        angles = torch.cat([angles, angles], -1)
        q, k = (part * angles.cos() + rotated(part) * angles.sin() for part in (q, k))
        k, v = (part.repeat_interleave(self.heads // self.groups, 1) for part in (k, v))
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            y = (q @ k.transpose(-1, -2) / math.sqrt(self.each)).masked_fill(later, float("-inf")).softmax(-1) @ v
        x = x + self.out(y.transpose(1, 2).flatten(2))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Mamba(nn.Module):
    """A selective scan by cumulative sums, after a causal depthwise convolution."""

    def __init__(self, width=6, states=3):
        super().__init__()
        self.states, self.enter, self.leave = states, nn.Linear(4, 2 * width), nn.Linear(width, 4)
        self.convolution, self.select, self.rate = nn.Conv1d(width, width, 3, padding=2, groups=width), nn.Linear(width, 2 * states + 1), nn.Linear(1, width)
        self.decay, self.skip = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(width, 1)), nn.Parameter(torch.ones(width))

    def forward(self, x):
        u, z = self.enter(x).chunk(2, -1)
        u = functional.silu(self.convolution(u.transpose(1, 2))[..., :x.shape[1]].transpose(1, 2))
        rate, into, out = self.select(u).split([1, self.states, self.states], -1)
        rate = functional.softplus(self.rate(rate))
        passed = (rate[..., None] * -torch.exp(self.decay)).cumsum(1)
        state = torch.exp(passed) * (torch.exp(-passed) * (rate * u)[..., None] * into[:, :, None]).cumsum(1)
        return self.leave(((state * out[:, :, None]).sum(-1) + u * self.skip) * functional.silu(z))


class Recommender(nn.Module):
    """DLRM: tables that are indexed by numbers of the sample, and the products of all pairs of vectors."""

    def __init__(self):
        super().__init__()
        self.tables, self.bottom, self.top = nn.Parameter(torch.randn(3, 7, 4) * 0.3), nn.Linear(5, 4), nn.Linear(10, 2)

    def forward(self, x):
        dense, rows = functional.relu(self.bottom(x[:, :5])), (x[:, 5:8].abs() * 3).long().clamp(0, 6)
        vectors = torch.stack([dense] + [self.tables[i][rows[:, i]] for i in range(3)], 1)
        first, second = zip(*[(i, j) for i in range(4) for j in range(i)])
        return self.top(torch.cat([dense, (vectors @ vectors.transpose(1, 2))[:, list(first), list(second)]], 1))


class UNet(nn.Module):
    def __init__(self, up, width=4):
        super().__init__()
        self.up, self.norm = up, nn.InstanceNorm2d(width, affine=True)
        self.enter, self.below, self.middle = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 2 * width, 3, padding=1), nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.lift = nn.ConvTranspose2d(2 * width, width, 2, 2) if up == "transposed" else nn.Conv2d(2 * width, width, 1)
        self.join, self.out = nn.Conv2d(2 * width, width, 3, padding=1), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = functional.relu(self.norm(self.enter(x)))
        y = self.lift(self.middle(functional.relu(self.below(functional.max_pool2d(kept, 2)))))
        if self.up == "bilinear":
            y = functional.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        elif self.up == "nearest":
            y = functional.interpolate(y, scale_factor=2, mode="nearest")
        return self.out(functional.relu(self.join(torch.cat([kept, y], 1))))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers, self.out = getattr(nn, kind)(4, 5, 2, batch_first=True, bidirectional=True), nn.Linear(10, 3)

    def forward(self, x):
        return self.out(self.layers(x)[0])


class WrittenOut(nn.Module):
    """An LSTM as a loop of Python."""

    def __init__(self):
        super().__init__()
        self.gates, self.out = nn.Linear(9, 20), nn.Linear(5, 3)

    def forward(self, x):
        state = cell = x.new_zeros(x.shape[0], 5)
        results = []
        for step in range(x.shape[1]):
            enter, forget, new, leave = self.gates(torch.cat([x[:, step], state], -1)).chunk(4, -1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
            state = torch.sigmoid(leave) * torch.tanh(cell)
            results.append(self.out(state))
        return torch.stack(results, 1)


class Wav2Vec(nn.Module):
    """Strided convolutions of a signal, a group norm with one channel each, and positions by a grouped convolution."""

    def __init__(self, width=4):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv1d(1, width, 10, 5, bias=False), nn.GroupNorm(width, width), nn.Conv1d(width, width, 3, 2, bias=False)
        self.positions, self.last, self.out = nn.Conv1d(width, width, 4, padding=2, groups=2), nn.LayerNorm(width), nn.Linear(width, 3)

    def forward(self, x):
        x = functional.gelu(self.second(functional.gelu(self.norm(self.first(x)))))
        return self.out(self.last((x + functional.gelu(self.positions(x)[..., :-1])).transpose(1, 2)))


class RelativePositions(nn.Module):
    """T5: a learned bias for each bucket of distances. Transformer-XL: a shift by padding and reshaping. ALiBi: a slope."""

    def __init__(self, width=8, length=5):
        super().__init__()
        self.stem, self.q, self.k, self.v, self.norm = nn.Linear(4, width), *(nn.Linear(width, width, bias=False) for _ in range(3)), RootMeanSquare(width)
        self.buckets, self.places, self.shared = nn.Embedding(6, 2), nn.Parameter(torch.randn(length, width // 2) * 0.3), nn.Parameter(torch.randn(width // 2) * 0.3)

    def forward(self, x):
        x = self.stem(x)
        length, y = x.shape[1], self.norm(x)
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in (self.q(y), self.k(y), self.v(y)))
        apart = torch.arange(length)[None] - torch.arange(length)[:, None]
        far = 2 + (torch.log(apart.abs().float().clamp(min=1) / 2) / math.log(4)).long()
        bucket = (apart > 0).long() * 3 + torch.where(apart.abs() < 2, apart.abs(), far).clamp(max=2)
        shifted = functional.pad(q @ self.places.T, (1, 0)).reshape(-1, 2, length + 1, length)[:, :, 1:]
        scores = (q + self.shared) @ k.transpose(-1, -2) + shifted + self.buckets(bucket).permute(2, 0, 1)[None] - apart.abs() * 0.25
        return x + (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class Experts(nn.Module):
    """The best two experts of each token. `gathers`: their weights are gathered; else all are computed, and the others get zero."""

    def __init__(self, gathers, width=6, experts=4):
        super().__init__()
        self.gathers, self.experts, self.gate, self.enter = gathers, experts, nn.Linear(4, experts), nn.Linear(4, width)
        self.first, self.second = nn.Parameter(torch.randn(experts, width, 8) * 0.4), nn.Parameter(torch.randn(experts, 8, width) * 0.4)

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(2, -1)
        weight, x = weight / weight.sum(-1, keepdim=True), self.enter(x)
        if self.gathers:
            y = torch.einsum("btd,btkdf->btkf", x, self.first[chosen])
            return torch.einsum("btkf,btkfd,btk->btd", functional.relu(y), self.second[chosen], weight)
        share = (functional.one_hot(chosen, self.experts).to(x.dtype) * weight[..., None]).sum(-2)
        y = torch.einsum("btef,efd->bted", functional.gelu(torch.einsum("btd,edf->btef", x, self.first)), self.second)
        return (y * share[..., None]).sum(2)


class Tied(nn.Module):
    """A transformer whose scores are products with the embedding."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(9, 6), nn.Parameter(torch.randn(1, 5, 6) * 0.1)
        self.layer, self.bias = nn.TransformerEncoderLayer(6, 2, 10, dropout=0.0, batch_first=True, norm_first=True), nn.Parameter(torch.zeros(9))

    def forward(self, x):
        rows = (x.abs() * 3).long().clamp(0, 8)
        return self.layer(self.tokens(rows) + self.places) @ self.tokens.weight.T + self.bias


class Contrast(nn.Module):
    """CLIP: cosines with a learned temperature."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.temperature = nn.Linear(5, 4), nn.Linear(3, 4), nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        left, right = functional.normalize(self.left(x[..., :5]), dim=-1), functional.normalize(self.right(x[..., 5:]), dim=-1)
        return left @ right.transpose(-1, -2) * self.temperature.exp()


class Decisions(nn.Module):
    """The nearest row of a codebook, sums by computed indices, ranks, and a choice by a comparison with a mean."""

    def __init__(self):
        super().__init__()
        self.enter, self.codes, self.out = nn.Linear(4, 3), nn.Parameter(torch.randn(5, 3)), nn.Linear(3, 2)

    def forward(self, x):
        z = self.enter(x)
        z = z + self.codes[(z[..., None, :] - self.codes).pow(2).sum(-1).argmin(-1)] * 0.5
        ranked, order = z.sort(1, descending=True)
        z = ranked * 0.3 + torch.gather(torch.tanh(z), 1, order).cumsum(1) * 0.2
        z = torch.where(z > z.mean(1, keepdim=True), z / (z.amax(1, keepdim=True).abs() + 0.5), functional.softsign(z))
        group = (x[..., 0].abs() * 2).long().clamp(0, 3)
        return self.out(z.new_zeros(z.shape[0], 4, 3).scatter_add(1, group[..., None].expand_as(z), z))


class Packed(nn.Module):
    """Recurrent layers over sequences whose lengths are in no order: their outputs, and their last states."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layers, width = getattr(nn, kind)(4, 3, **options), options.get("proj_size", 3) * (2 if options.get("bidirectional") else 1)
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        lengths = (x[..., 0] > -0.3).sum(1).clamp(min=1).cpu()
        y, last = self.layers(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        y, _ = pad_packed_sequence(y, total_length=x.shape[1], padding_value=0.5)
        states = last if isinstance(last, tuple) else (last,)
        return torch.cat([self.out(y).mean(0), *(state.transpose(0, 1).flatten(1) for state in states)], 1)


class Angles(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.out = nn.Linear(4, 5), nn.Linear(10, 2)

    def forward(self, x):
        y = torch.tanh(self.enter(x)) * 0.9
        return self.out(torch.cat([torch.asin(y) + torch.acos(y * 0.5), torch.atan(y * 3)], -1))


FAMILIES = {
    "angles": (Angles, (4,)), "bilinear-unet": (lambda: UNet("bilinear"), (3, 8, 8)), "contrast": (Contrast, (3, 8)), "convnext": (ConvNeXt, (3, 8, 8)),
    "decisions": (Decisions, (5, 4)), "experts": (lambda: Experts(False), (3, 4)), "fused-llama": (lambda: Llama(True), (6, 4)),
    "gathered-experts": (lambda: Experts(True), (3, 4)), "gru": (lambda: Recurrent("GRU"), (3, 4)), "llama": (lambda: Llama(False), (6, 4)),
    "lstm": (lambda: Recurrent("LSTM"), (3, 4)), "mamba": (Mamba, (5, 4)), "nearest-unet": (lambda: UNet("nearest"), (3, 6, 6)),
    "packed-gru": (lambda: Packed("GRU", bidirectional=True, num_layers=2), (5, 4)),
    "packed-lstm": (lambda: Packed("LSTM", bidirectional=True), (5, 4)),
    "packed-projections": (lambda: Packed("LSTM", proj_size=2, bidirectional=True), (4, 4)),
    "packed-rnn": (lambda: Packed("RNN", nonlinearity="relu", bias=False, num_layers=2), (5, 4)), "recommender": (Recommender, (8,)),
    "relative": (RelativePositions, (5, 4)), "squeeze": (SqueezeAndExcite, (3, 9, 9)), "swin": (Swin, (4, 4, 3)),
    "tied": (Tied, (5,)), "transposed-unet": (lambda: UNet("transposed"), (3, 8, 8)), "wav2vec": (Wav2Vec, (1, 64)), "written-out": (WrittenOut, (4, 4)),
}
