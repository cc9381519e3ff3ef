"""GPT-2 in three spellings: explicit attention (nanoGPT), scaled_dot_product_attention, and Hugging Face's Conv1D form."""
import math

import torch
from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, context, spelling):
        super().__init__()
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.heads, self.spelling = heads, spelling
        if spelling == "explicit":
            mask = torch.tril(torch.ones(context, context)).view(1, 1, context, context)
            self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for t in self.c_attn(x).split(width, dim=2))
        if self.spelling == "explicit":
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, context, spelling, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, context, spelling)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def forward(self, x):
        x = x + self.drop(self.attn(self.ln_1(x)))
        return x + self.drop(self.c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh")))


class GPT(nn.Module):
    def __init__(self, vocabulary=256, context=64, layers=4, heads=4, width=128, spelling="explicit", dropout=0.0):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads, context, spelling, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight  # tied: one tensor, used as table and as output projection
        self.apply(self.initialize)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers))

    @staticmethod
    def initialize(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens, labels):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.reshape(-1))


class Conv1D(nn.Module):
    """Hugging Face's linear layer: the weight lies [in, out], applied by addmm."""

    def __init__(self, out, inp):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inp, out).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(x.size()[:-1] + (self.bias.numel(),))


class NewGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class HFBlock(nn.Module):
    def __init__(self, width, heads, context, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.attn_proj = Conv1D(3 * width, width), Conv1D(width, width)
        self.c_fc, self.c_proj = Conv1D(4 * width, width), Conv1D(width, 4 * width)
        self.act, self.heads, self.width = NewGELU(), heads, width
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()
        mask = torch.tril(torch.ones((context, context), dtype=torch.bool)).view(1, 1, context, context)
        self.register_buffer("bias", mask, persistent=False)

    def split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.width // self.heads)).permute(0, 2, 1, 3)

    def attention(self, x):
        q, k, v = (self.split(t) for t in self.c_attn(x).split(self.width, dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores / torch.full([], v.size(-1) ** 0.5, dtype=scores.dtype)
        n = q.size(-2)
        lowest = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype)
        scores = torch.where(self.bias[:, :, :n, :n], scores, lowest)
        y = torch.matmul(self.drop(F.softmax(scores, dim=-1)), v).permute(0, 2, 1, 3).contiguous()
        return self.drop(self.attn_proj(y.view(y.size()[:-2] + (self.width,))))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.drop(self.c_proj(self.act(self.c_fc(self.ln_2(x)))))


class HFGPT(nn.Module):
    def __init__(self, vocabulary=256, context=64, layers=2, heads=4, width=64, dropout=0.1):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(HFBlock(width, heads, context, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens, labels):
        positions = torch.arange(0, tokens.size(-1), dtype=torch.long, device=tokens.device).unsqueeze(0)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        shifted, targets = logits[..., :-1, :].contiguous(), labels[..., 1:].contiguous()
        return logits, F.cross_entropy(shifted.view(-1, shifted.size(-1)), targets.view(-1))


def tokens(context, vocabulary=256):
    return {"tokens": torch.randint(0, vocabulary, (2, context)), "labels": torch.randint(0, vocabulary, (2, context))}


def gpt2_tiny():
    return GPT(layers=2, width=64, context=32), tokens(32), ["logits", "loss"]


def gpt2_sdpa():
    return GPT(layers=2, width=64, context=32, spelling="sdpa", dropout=0.1), tokens(32), ["logits", "loss"]


def gpt_25m():
    """25.4 million parameters: what benchmarks of sharded training take where gpt-nano is too small."""
    return GPT(layers=8, heads=8, width=512, context=128, spelling="sdpa"), tokens(128), ["logits", "loss"]


def gpt2_hf():
    return HFGPT(), tokens(32), ["logits", "loss"]
