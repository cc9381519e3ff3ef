"""A model of the scores of 6 frames for 5 symbols, and targets of up to 3 symbols."""
import torch
from torch import nn
from torch.nn import functional as F

import cleave


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(4, 5)

    def forward(self, x):
        return self.scores(x)


torch.manual_seed(0)
module, x = Model(), torch.randn(2, 6, 4)
targets, frames, symbols = torch.randint(1, 5, (2, 3)), torch.full((2,), 6), torch.tensor([3, 2])
