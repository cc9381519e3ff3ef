#!/usr/bin/env python3
"""GPT-2 124M, context 1,024, on a GPU against PyTorch (autocast, scaled_dot_product_attention, fused AdamW), by random tokens; see
against_torch.py. Model FLOPs: 6 per weight and token, and 12 L T d for the attention."""
import against_torch

BATCH, CONTEXT, VOCABULARY, LAYERS, WIDTH, HEADS = 8, 1024, 50257, 12, 768, 12
TOKENS = BATCH * CONTEXT
RATE, DECAY = 3e-4, 0.01


def module():
    import torch
    from models import gpt
    torch.manual_seed(0)
    return gpt.GPT(vocabulary=VOCABULARY, context=CONTEXT, layers=LAYERS, heads=HEADS, width=WIDTH, spelling="sdpa")


def optimizer(model):
    import torch
    return torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)


def data(steps):
    import numpy as np
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (BATCH * steps, CONTEXT + 1))
    return {"tokens": tokens[:, :-1].copy(), "labels": tokens[:, 1:].copy()}


if __name__ == "__main__":
    against_torch.main(against_torch.Case(
        name="gpt2", script=__file__, compile=["--optimizer", f"adamw,weight_decay={DECAY}"], module=module, optimizer=optimizer, rate=RATE,
        data=data, batch=BATCH, unit="tokens", units=TOKENS,
        flops=TOKENS * (6 * (LAYERS * 12 * WIDTH**2 + VOCABULARY * WIDTH) + 12 * LAYERS * CONTEXT * WIDTH)))
