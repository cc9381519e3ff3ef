#!/usr/bin/env python3
"""Exports one of the example models: export.py MODEL torchscript|dynamo OUT.onnx"""
import sys

from exporters import EXPORTERS
from models import bert, cnn, encoder, gpt, mlp, t5

MODELS = {
    "mlp": mlp.example, "mnist-cnn": cnn.mnist_cnn, "mnist-cnn-no-dropout": cnn.mnist_cnn_no_dropout,
    "alexnet": cnn.alexnet, "vgg11-bn": cnn.vgg11_bn, "resnet18": cnn.resnet18,
    "gpt2-tiny": gpt.gpt2_tiny, "gpt2-sdpa": gpt.gpt2_sdpa, "gpt2-hf": gpt.gpt2_hf, "gpt-25m": gpt.gpt_25m, "bert-tiny": bert.bert_tiny, "t5-tiny": t5.t5_tiny,
    "bert-base": bert.bert_base, "encoder-batch-first": encoder.encoder_batch_first, "encoder-sequence-first": encoder.encoder_sequence_first,
}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in MODELS or sys.argv[2] not in EXPORTERS:
        sys.exit(f"usage: export.py {'|'.join(MODELS)} {'|'.join(EXPORTERS)} OUT.onnx")
    model, inputs, outputs = MODELS[sys.argv[1]]()
    EXPORTERS[sys.argv[2]](model, inputs, outputs, sys.argv[3])


if __name__ == "__main__":
    main()
