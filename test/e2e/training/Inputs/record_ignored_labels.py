"""Writes ignored_labels.json: the losses and weights that check_ignored_labels.py compares with, by PyTorch in float64. Needs torch.

  record_ignored_labels.py
"""
import json
import pathlib

import torch
import torch.nn.functional as F

from check_ignored_labels import BATCH, CASES, CLASSES, EMPTY, RATE, SHAPES, STEPS, data_of, without_labels


def scores_of(x, w1, w2, shape):
    scores = torch.tanh(x @ w1) @ w2
    return scores.transpose(1, 2).reshape(-1, CLASSES, *SHAPES[shape]) if shape == "images" else scores


def loss_of(scores, labels, shape, kind, ignored):
    """PyTorch has the classes in dimension 1."""
    if shape == "tokens":
        scores = scores.transpose(1, 2)
    options = {} if ignored == -100 else {"ignore_index": -1 if ignored is None else ignored}
    return F.cross_entropy(scores, labels, **options) if kind == "cross-entropy" else F.nll_loss(F.log_softmax(scores, 1), labels, **options)


def trained(case, ranks):
    """`ranks`: the mean of so many ranks' own means, as DDP has it."""
    shape, kind, ignored, _ = CASES[case]
    arrays = data_of(shape, ignored)
    x, labels = torch.tensor(arrays[0]).double(), torch.tensor(arrays[1])
    w1, w2 = (torch.tensor(array).double().requires_grad_() for array in arrays[2:])
    losses = []
    for step in range(STEPS):
        parts = [slice(step * BATCH + rank * BATCH // ranks, step * BATCH + (rank + 1) * BATCH // ranks) for rank in range(ranks)]
        loss = sum(loss_of(scores_of(x[part], w1, w2, shape), labels[part], shape, kind, ignored) for part in parts) / ranks
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, (w1, w2))
        with torch.no_grad():
            for weight, gradient in zip((w1, w2), gradients):
                weight -= RATE * gradient
    return {"losses": losses, "w1": w1.tolist(), "w2": w2.tolist()}


def trained_without(name, ranks):
    """The second step has no label that counts: its loss is NaN, its gradients are 0, and the optimizer takes the step. Of several ranks the last has none."""
    shape, kind, ignored, _ = CASES["tokens"]
    rate, settings = EMPTY[name][0], {"sgd": {"momentum": 0.9, "weight_decay": 0.1}, "adamw": {"weight_decay": 0.1}}[name]
    arrays = data_of(shape, ignored)
    x, labels = torch.tensor(arrays[0]).double(), torch.tensor(without_labels(arrays[1], ranks))
    w1, w2 = (torch.tensor(array).double().requires_grad_() for array in arrays[2:])
    optimizer = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[name]([w1, w2], lr=rate, **settings)
    for step in range(STEPS):
        optimizer.zero_grad()
        for rank in range(ranks):
            part = slice(step * BATCH + rank * BATCH // ranks, step * BATCH + (rank + 1) * BATCH // ranks)
            (loss_of(scores_of(x[part], w1, w2, shape), labels[part], shape, kind, ignored) / ranks).backward()
        optimizer.step()
    return {"w1": w1.tolist(), "w2": w2.tolist()}


def evaluated(case, samples=21):
    shape, kind, ignored, _ = CASES[case]
    x, labels, w1, w2 = (torch.tensor(array) for array in data_of(shape, ignored))
    scores = scores_of(x[:samples].double(), w1.double(), w2.double(), shape)
    right = scores.argmax(1 if shape == "images" else -1) == labels[:samples]
    return {"loss": loss_of(scores, labels[:samples], shape, kind, ignored).item(), "accuracy": right[labels[:samples] != ignored].double().mean().item()}


if __name__ == "__main__":
    recorded = {case: {"global": trained(case, 1), "rank": trained(case, 2), "evaluation": evaluated(case)} for case in CASES}
    recorded["empty"] = {name: {"global": trained_without(name, 1), "rank": trained_without(name, 2)} for name in EMPTY}
    path = pathlib.Path(__file__).parent / "ignored_labels.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n")
