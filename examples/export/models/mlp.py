"""A multi-layer perceptron with its loss inside the graph."""
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, features=64, hidden=128, classes=10):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, classes)

    def forward(self, x, labels):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        logits = self.fc3(x)
        return logits, nn.functional.cross_entropy(logits, labels)


def example():
    return MLP(), {"x": torch.randn(4, 64), "labels": torch.randint(0, 10, (4,))}, ["logits", "loss"]
