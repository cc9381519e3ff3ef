#!/usr/bin/env python3
"""ResNet-50, 64 images of 224 x 224, on a GPU against PyTorch (autocast, channels last, cudnn.benchmark, SGD with momentum), by random
images; see against_torch.py. Needs torchvision. Model FLOPs: those of convolutions and of the last layer, 2 per multiplication, 3 times for
training.

Statistics are those of one rank. The losses of random images fall fast, as four batches are taken again and again."""
import against_torch

BATCH, SIZE, CLASSES, BATCHES = 64, 224, 1000, 4
RATE, MOMENTUM = 0.01, 0.9
MULTIPLICATIONS = 4_089_184_256  # of an image


def module():
    import torch
    import torchvision
    from models import cnn
    torch.manual_seed(0)
    return cnn.WithLoss(torchvision.models.resnet50(num_classes=CLASSES))


def optimizer(model):
    import torch
    return torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM, fused=True)


def data(steps):
    import numpy as np
    random, images = np.random.default_rng(0), BATCH * min(steps, BATCHES)
    return {"x": random.standard_normal((images, 3, SIZE, SIZE), dtype=np.float32), "labels": random.integers(0, CLASSES, images)}


def export(path):
    from exporters import export_torchscript
    from models import cnn
    export_torchscript(module(), cnn.images(SIZE), ["logits", "loss"], str(path))


if __name__ == "__main__":
    against_torch.main(against_torch.Case(
        name="resnet50", script=__file__, compile=["--optimizer", f"sgd,momentum={MOMENTUM}"], module=module, optimizer=optimizer,
        rate=RATE, data=data, batch=BATCH, unit="images", units=BATCH, flops=6 * MULTIPLICATIONS * BATCH, pinned=True, channels_last=True,
        export=export))
