"""BERT with a classification head: embeddings of words, positions and types, post-norm encoder layers, pooler."""
import math

import torch
from torch import nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dense = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.intermediate, self.output = nn.Linear(width, inner), nn.Linear(inner, width)
        self.output_norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout, self.heads = nn.Dropout(dropout), heads

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + mask
        context = torch.matmul(self.dropout(F.softmax(scores, dim=-1)), v)
        context = context.permute(0, 2, 1, 3).contiguous().flatten(2)
        x = self.attention_norm(x + self.dropout(self.dense(context)))
        return self.output_norm(x + self.dropout(self.output(F.gelu(self.intermediate(x)))))


class Bert(nn.Module):
    def __init__(self, vocabulary=1000, positions=64, width=64, layers=2, heads=4, classes=2, dropout=0.1):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, width, padding_idx=0), nn.Embedding(positions, width)
        self.token_type = nn.Embedding(2, width)
        self.norm, self.dropout = nn.LayerNorm(width, eps=1e-12), nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(width, heads, 4 * width, dropout) for _ in range(layers))
        self.pooler, self.classifier = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, input_ids, attention_mask, token_type_ids, labels):
        positions = torch.arange(input_ids.shape[1], device=input_ids.device).unsqueeze(0)
        x = self.word(input_ids) + self.token_type(token_type_ids) + self.position(positions)
        x = self.dropout(self.norm(x))
        mask = attention_mask[:, None, None, :].to(x.dtype)
        mask = (1.0 - mask) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        pooled = torch.tanh(self.pooler(x[:, 0]))
        logits = self.classifier(self.dropout(pooled))
        return logits, F.cross_entropy(logits, labels)


def example(model, vocabulary, tokens):
    inputs = {"input_ids": torch.randint(0, vocabulary, (2, tokens)), "attention_mask": torch.ones(2, tokens, dtype=torch.long),
              "token_type_ids": torch.zeros(2, tokens, dtype=torch.long), "labels": torch.randint(0, 2, (2,))}
    return model, inputs, ["logits", "loss"]


def bert_tiny():
    return example(Bert(), 1000, 32)


def bert_base():
    """The published size: 110 million parameters."""
    return example(Bert(vocabulary=30522, positions=512, width=768, layers=12, heads=12), 30522, 128)
