"""Makes the small models that several guides use: mlp.onnx and language.onnx. Needs torch; beside this file lies what it wrote."""
import torch
from torch import nn

import cleave


class Language(nn.Module):
    def __init__(self, vocabulary=32, context=8, width=32):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.block(x))


torch.manual_seed(0)
cleave.export_torch(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), torch.randn(2, 8), "mlp.onnx",
                    output_names=["logits"])
cleave.export_torch(Language(), {"tokens": torch.randint(0, 32, (2, 8))}, "language.onnx", output_names=["logits"])
