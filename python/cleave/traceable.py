"""Functions of PyTorch that the exporters write as a loop over samples, and what is traced in their place: the same numbers by operations
that take the whole batch."""
import contextlib

import torch
import torch.nn.functional as F


def _embedding_bag(original):
    def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                      per_sample_weights=None, include_last_offset=False, padding_idx=None):
        if not isinstance(input, torch.Tensor) or input.dim() != 2 or max_norm is not None or scale_grad_by_freq:
            return original(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights,
                            include_last_offset, padding_idx)
        rows = F.embedding(input, weight, padding_idx)  # [bags, entries, features]
        if padding_idx is not None and padding_idx < 0:
            padding_idx += weight.shape[0]
        counts = None if padding_idx is None else (input != padding_idx).unsqueeze(-1)  # such entries are in no bag
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.unsqueeze(-1)
        if mode == "max":
            if counts is None:
                return rows.amax(1)
            most = torch.where(counts, rows, torch.finfo(rows.dtype).min).amax(1)
            return torch.where(counts.any(1), most, 0.0)  # a bag without entries is 0
        if counts is None:
            return rows.sum(1) if mode == "sum" else rows.mean(1)
        counts = counts.to(rows.dtype)
        total = (rows * counts).sum(1)
        return total if mode == "sum" else total / counts.sum(1).clamp(min=1)
    return embedding_bag


@contextlib.contextmanager
def traceable():
    """While this holds, `nn.EmbeddingBag` of inputs [bags, entries] is an embedding and a sum. Inputs with `offsets` stay as they are."""
    original = F.embedding_bag
    F.embedding_bag = _embedding_bag(original)
    try:
        yield
    finally:
        F.embedding_bag = original
