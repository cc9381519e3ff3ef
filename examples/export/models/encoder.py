"""PyTorch's own nn.TransformerEncoder with a classification head. Whatever `batch_first` says, its attention computes with the sequence as
dimension 0 and the batch as dimension 1."""
import torch
from torch import nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, batch_first, vocabulary=256, positions=16, width=32, layers=2, heads=4, classes=4):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=batch_first)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.classifier, self.batch_first = nn.Linear(width, classes), batch_first

    def forward(self, tokens, labels):
        x = self.word(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.encoder(x) if self.batch_first else self.encoder(x.transpose(0, 1)).transpose(0, 1)
        logits = self.classifier(x.mean(1))
        return logits, F.cross_entropy(logits, labels)


def example(batch_first):
    torch.backends.mha.set_fastpath_enabled(False)  # one fused operator of PyTorch's own, which no exporter knows
    inputs = {"tokens": torch.randint(0, 256, (2, 16)), "labels": torch.randint(0, 4, (2,))}
    return Classifier(batch_first), inputs, ["logits", "loss"]


def encoder_batch_first():
    return example(True)


def encoder_sequence_first():
    return example(False)
