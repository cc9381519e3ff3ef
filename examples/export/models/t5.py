"""T5, an encoder and a decoder: relative position biases shared by all layers of a side, RMS norms, no linear biases, cross attention, and one
embedding for the encoder, the decoder and, scaled, the output."""
import math

import torch
from torch import nn
import torch.nn.functional as F

IGNORED = -100  # a label that does not count: padding


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class RelativeBias(nn.Module):
    """A number for each head and bucket of distances: exact ones while they are small, then logarithmic ones."""

    def __init__(self, heads, buckets=16, distance=32, two_sided=True):
        super().__init__()
        self.table = nn.Embedding(buckets, heads)
        self.buckets, self.distance, self.two_sided = buckets, distance, two_sided

    def bucket(self, offsets):
        buckets, first = self.buckets, 0
        if self.two_sided:
            buckets //= 2
            first = (offsets > 0).long() * buckets
            offsets = offsets.abs()
        else:
            offsets = -torch.clamp(offsets, max=0)
        exact = buckets // 2
        far = exact + (torch.log(offsets.float().clamp(min=1) / exact) / math.log(self.distance / exact) * (buckets - exact)).long()
        return first + torch.where(offsets < exact, offsets, far.clamp(max=buckets - 1))

    def forward(self, length):
        positions = torch.arange(length)
        return self.table(self.bucket(positions[None, :] - positions[:, None])).permute(2, 0, 1)[None]


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.heads, self.dropout = heads, nn.Dropout(dropout)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory, bias):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        weights = self.dropout(F.softmax(q @ k.transpose(-1, -2) + bias, dim=-1))  # T5 does not scale
        return self.o((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, inner, dropout, crosses):
        super().__init__()
        self.attention, self.attention_norm = Attention(width, heads, dropout), RMSNorm(width)
        if crosses:
            self.cross, self.cross_norm = Attention(width, heads, dropout), RMSNorm(width)
        self.wi, self.wo, self.feed_norm = nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False), RMSNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, bias, memory=None, memory_bias=None):
        y = self.attention_norm(x)
        x = x + self.dropout(self.attention(y, y, bias))
        if memory is not None:
            x = x + self.dropout(self.cross(self.cross_norm(x), memory, memory_bias))
        return x + self.dropout(self.wo(self.dropout(F.relu(self.wi(self.feed_norm(x))))))


class T5(nn.Module):
    def __init__(self, vocabulary=256, width=64, layers=2, heads=4, inner=128, dropout=0.1):
        super().__init__()
        self.shared = nn.Embedding(vocabulary, width)
        self.encoder = nn.ModuleList(Block(width, heads, inner, dropout, crosses=False) for _ in range(layers))
        self.decoder = nn.ModuleList(Block(width, heads, inner, dropout, crosses=True) for _ in range(layers))
        self.encoder_bias, self.decoder_bias = RelativeBias(heads), RelativeBias(heads, two_sided=False)
        self.encoder_norm, self.decoder_norm = RMSNorm(width), RMSNorm(width)
        self.dropout, self.scale = nn.Dropout(dropout), width ** -0.5

    def encode(self, input_ids, mask):
        x, bias = self.dropout(self.shared(input_ids)), self.encoder_bias(input_ids.shape[1]) + mask
        for block in self.encoder:
            x = block(x, bias)
        return self.dropout(self.encoder_norm(x))

    def decode(self, labels, memory, mask):
        """The decoder sees the labels one place later, beginning with token 0, which stands for ignored labels too."""
        tokens = torch.cat([torch.zeros_like(labels[:, :1]), labels[:, :-1]], dim=1)
        tokens = tokens.masked_fill(tokens == IGNORED, 0)
        length = labels.shape[1]
        later = torch.ones(length, length, dtype=memory.dtype).triu(1) * torch.finfo(torch.float32).min
        x, bias = self.dropout(self.shared(tokens)), self.decoder_bias(length) + later
        for block in self.decoder:
            x = block(x, bias, memory, mask)
        return self.dropout(self.decoder_norm(x))

    def forward(self, input_ids, attention_mask, labels):
        mask = (1.0 - attention_mask[:, None, None, :].to(self.shared.weight.dtype)) * torch.finfo(torch.float32).min
        x = self.decode(labels, self.encode(input_ids, mask), mask)
        logits = F.linear(x * self.scale, self.shared.weight)
        return logits, F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)


def t5_tiny():
    labels = torch.randint(1, 256, (2, 16))
    labels[:, -3:] = IGNORED
    inputs = {"input_ids": torch.randint(1, 256, (2, 24)), "attention_mask": torch.ones(2, 24, dtype=torch.long), "labels": labels}
    return T5(), inputs, ["logits", "loss"]
