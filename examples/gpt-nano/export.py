#!/usr/bin/env python3
"""Writes gpt-nano.onnx beside itself: weights as initialized by PyTorch, inputs `tokens` and `labels` (int64 [batch, 64]), outputs `logits`
and `loss`. Needs torch and onnx; the result is committed, so that using it needs neither."""
import pathlib
import sys

import onnx
import torch

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "export"))

from exporters import export_torchscript  # noqa: E402
from model import CONTEXT, VOCABULARY, GPTNano  # noqa: E402


def main():
    torch.manual_seed(1337)
    path = here / "gpt-nano.onnx"
    tokens = torch.randint(0, VOCABULARY, (2, CONTEXT))
    export_torchscript(GPTNano(), {"tokens": tokens, "labels": tokens.clone()}, ["logits", "loss"], str(path))
    model = onnx.load(path)
    names = [tensor.name for tensor in model.graph.initializer]
    assert not {"wte.weight", "lm_head.weight"} <= set(names), "the tied embedding must be one initializer"
    parameters = sum(onnx.numpy_helper.to_array(tensor).size for tensor in model.graph.initializer)
    print(f"{path.name}: {len(model.graph.node)} nodes, {len(names)} initializers, {parameters} parameters")


if __name__ == "__main__":
    main()
