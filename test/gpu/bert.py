#!/usr/bin/env python3
"""BERT-base, 32 texts of 128 tokens, on a GPU against PyTorch (autocast, fused AdamW), by random tokens; see against_torch.py. Nothing is
dropped, so that losses can be compared, and no token is 0, whose embedding PyTorch alone would keep. Model FLOPs: 6 per weight
of the layers and token, and 12 L T d for the attention."""
import against_torch

BATCH, CONTEXT, VOCABULARY, LAYERS, WIDTH, HEADS = 32, 128, 30522, 12, 768, 12
TOKENS = BATCH * CONTEXT
RATE, DECAY = 2e-5, 0.01


def module():
    import torch
    from models import bert
    torch.manual_seed(0)
    model = bert.Bert(vocabulary=VOCABULARY, positions=512, width=WIDTH, layers=LAYERS, heads=HEADS, dropout=0.0)
    for part in model.modules():
        if isinstance(part, torch.nn.Linear | torch.nn.Embedding):
            torch.nn.init.normal_(part.weight, std=0.02)
    return model


def optimizer(model):
    import torch
    return torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)


def data(steps):
    import numpy as np
    random, texts = np.random.default_rng(0), BATCH * steps
    return {"input_ids": random.integers(1, VOCABULARY, (texts, CONTEXT)), "attention_mask": np.ones((texts, CONTEXT), np.int64),
            "token_type_ids": np.zeros((texts, CONTEXT), np.int64), "labels": random.integers(0, 2, texts)}


def export(path):
    from exporters import export_torchscript
    from models import bert
    export_torchscript(*bert.example(module(), VOCABULARY, CONTEXT), str(path))


if __name__ == "__main__":
    against_torch.main(against_torch.Case(
        name="bert", script=__file__, compile=["--optimizer", f"adamw,weight_decay={DECAY}"], module=module, optimizer=optimizer, rate=RATE,
        data=data, batch=BATCH, unit="tokens", units=TOKENS, flops=TOKENS * (6 * LAYERS * 12 * WIDTH**2 + 12 * LAYERS * CONTEXT * WIDTH),
        export=export))
