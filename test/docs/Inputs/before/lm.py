"""A language model without a loss."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(256, 8), nn.Linear(8, 256)

    def forward(self, tokens):
        return self.head(self.table(tokens))


torch.manual_seed(0)
module = Model()
