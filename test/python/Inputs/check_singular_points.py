"""Gradients where a derivative is a convention: at kinks, at the bounds of clamps, at ties, at zeros of norms, and at the zeros of divisions. And
gradients that end although the outputs do not show it.

  check_singular_points.py FOLDER

Each function has a parameter of its own. Files of both exporters train one step of SGD with rate 1, which shows the gradients; PyTorch in float64
is the reference. Needs torch.
"""
import pathlib
import subprocess
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import cleave
from check_random_modules import saved

KINKS = torch.tensor([[-6, -3, -2, -1, -0.5, 0], [0, 0.5, 1, 2, 3, 6]])
# Ties, a row of zeros, a row of equal numbers.
ROWS = torch.tensor([[1.0, 1, 0, 1, -1, 0], [0, 0, 0, 0, 0, 0], [2, 2, 2, 2, 2, 2], [-1, 3, 3, -1, 0, 0]])
HALF = torch.tensor([[0, 0, 1, 1, 2, 2]])

AT_KINKS = {
    "abs": torch.abs, "abs-power": lambda v: v.abs().pow(1.5), "atan2": lambda v: torch.atan2(v, torch.zeros_like(v)),
    "atan2-both": lambda v: torch.atan2(v, v.abs()), "clamp-above": lambda v: v.clamp(max=1), "clamp-below": lambda v: v.clamp_min(0),
    "clamp-floats": lambda v: v.clamp(-1.0, 1.0), "clamp-integers": lambda v: v.clamp(-1, 1), "clamped-exp": lambda v: v.clamp(-2, 2).exp(),
    "deadzone": lambda v: torch.sign(v) * F.relu(v.abs() - 1), "elu": F.elu,
    "gaussian-nll": lambda v: F.gaussian_nll_loss(v, torch.ones_like(v), v * v, eps=1, reduction="none"), "hardshrink": lambda v: F.hardshrink(v, 1), "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish, "hardtanh": lambda v: F.hardtanh(v, -1, 1), "leaky": lambda v: F.leaky_relu(v, 0.1),
    "logsigmoid": lambda v: F.logsigmoid(v * 40), "maximum": lambda v: torch.maximum(v, torch.zeros_like(v)),
    "max-self": lambda v: torch.max(v, v.abs()), "minimum": lambda v: torch.minimum(v, torch.ones_like(v)),
    "norm-of-one": lambda v: v.unsqueeze(-1).norm(dim=-1), "power-0": lambda v: v.pow(0), "power-1": lambda v: v.pow(1),
    "power-3": lambda v: v ** 3, "prelu": lambda v: F.prelu(v, v.new_full((1,), 0.25)),
    "relu": F.relu, "relu6": F.relu6, "sinc": lambda v: torch.sinc(v), "softplus": lambda v: F.softplus(v, 2, 4),
    "softshrink": lambda v: F.softshrink(v, 1), "tent": lambda v: (1 - v.abs()).clamp(min=0), "where": lambda v: torch.where(v >= 0, v, v * 0.2),
    "xlogy": lambda v: torch.xlogy(v, v.detach().abs()), "xlogy-number": lambda v: torch.xlogy(v, 2.0),
}
OF_ROWS = {
    "amax": lambda v: v.amax(-1), "amin": lambda v: v.amin(-1), "adaptive-max-pool": lambda v: F.adaptive_max_pool1d(v[:, None], 2),
    "bce": lambda v: F.binary_cross_entropy((v * 60).sigmoid(), torch.ones_like(v) * 0.5, reduction="none"),
    "bce-softmax": lambda v: F.binary_cross_entropy((v * 60).softmax(-1), torch.ones_like(v) * 0.5, reduction="none"),
    "bce-squeezed": lambda v: F.binary_cross_entropy((v * 60).unsqueeze(-1).sigmoid().squeeze(-1), torch.ones_like(v), reduction="none"),
    "cdist": lambda v: torch.cdist(v, v), "cdist-1.5": lambda v: torch.cdist(v, v, 1.5), "cdist-3": lambda v: torch.cdist(v, v[:2] * 0, 3),
    "cummax": lambda v: v.cummax(-1)[0], "cummin": lambda v: torch.cummin(v, -1).values,
    "cosine": lambda v: F.cosine_similarity(v, torch.ones_like(v) * 1e-6, -1), "cumprod": lambda v: v.cumprod(-1),
    "frobenius": lambda v: torch.linalg.norm(v.view(4, 2, 3), dim=(1, 2)), "matrix-norm": lambda v: torch.linalg.matrix_norm(v.view(4, 2, 3)),
    "max": lambda v: v.max(-1)[0], "max-pool": lambda v: F.max_pool1d(v[:, None], 3, 1, 1), "min": lambda v: v.min(-1)[0],
    "norm-0.5": lambda v: v.norm(0.5, -1), "norm-1": lambda v: v.norm(1, -1), "norm-1.5": lambda v: torch.linalg.vector_norm(v, 1.5, -1),
    "norm-2": lambda v: v.norm(dim=-1), "norm-3": lambda v: v.norm(3, -1), "norm-inf": lambda v: v.norm(float("inf"), -1),
    "normalize": lambda v: F.normalize(v, dim=-1), "normalize-3": lambda v: F.normalize(v + 1, 3, -1),
    "pairwise-distance": lambda v: F.pairwise_distance(v, torch.zeros_like(v)), "prod": lambda v: v.prod(-1), "std": lambda v: v.std(-1),
    "std-biased": lambda v: v.std(-1, correction=0), "std-mean": lambda v: torch.cat(torch.std_mean(v, -1)),
    "var-mean": lambda v: torch.cat(torch.var_mean(v, -1, correction=0)),
    "scatter-amax": lambda v: torch.zeros_like(v)[:, :3].scatter_reduce(1, HALF.expand(4, -1), v, "amax"),
}


def block(v):
    with torch.no_grad():
        scale = v.abs().sum(-1, keepdim=True) + 1
    return v / scale


def block_in_block(v):
    with torch.no_grad():
        half = v / 2
        with torch.enable_grad():
            square = v * v
        return square * half.exp()  # has no gradient, but v below has one


def switched(v):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    largest = v.max()
    torch.set_grad_enabled(before)
    return v * largest


@torch.no_grad()
def sizes(v):
    return v.norm(dim=-1, keepdim=True)


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        return v.tanh()

    @staticmethod
    def backward(ctx, gradient):
        raise AssertionError("no gradient comes here")


@torch.no_grad()
def through_function(v):
    return Tanh.apply(v)


@torch.no_grad()
def transposed(v):
    return v.T


# Where PyTorch records no gradient; and the recomputation of checkpoint(), which runs without gradients at first and has them.
OF_ROWS.update({
    "ends-block": block, "ends-block-in-block": lambda v: v * block_in_block(v), "ends-data": lambda v: v * v.data.tanh(),
    "ends-decorated": lambda v: v * sizes(v), "ends-float": lambda v: v * float(v.abs().max()), "ends-item": lambda v: v * v[2].sum().item(),
    "ends-function": lambda v: v * through_function(v), "ends-in-checkpoint": lambda v: checkpoint(block, v, use_reentrant=True),
    "ends-switched": switched, "ends-transposed": lambda v: v * transposed(v).T, "ends-tolist": lambda v: v * v[3].tolist()[1],
    "goes-on-checkpoint": lambda v: checkpoint(lambda w: w.tanh() * w, v, use_reentrant=False),
    "goes-on-reentrant": lambda v: checkpoint(lambda w: w.tanh() * w, v, use_reentrant=True),
})
# TorchScript does not say to which of equal numbers the gradient of max(dim) goes (docs/models.md).
LEFT_OUT = {"dynamo": [], "torchscript": ["max", "min"]}
# Before 2.15, PyTorch's clamp had the gradient 1 at its bounds.
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 15):
    LEFT_OUT = {exporter: [*names, *(name for name in AT_KINKS if "clamp" in name or name == "tent")] for exporter, names in LEFT_OUT.items()}


class Points(nn.Module):
    """Parameters k0, k1, ... of AT_KINKS and r0, r1, ... of OF_ROWS."""

    def __init__(self, names):
        super().__init__()
        self.at = [name for name in AT_KINKS if name in names], [name for name in OF_ROWS if name in names]
        for letter, functions, start in zip("kr", self.at, (KINKS, ROWS)):
            for i in range(len(functions)):
                self.register_parameter(f"{letter}{i}", nn.Parameter(start.clone()))

    def forward(self, x):
        total = x.sum(1) * 0
        for letter, functions, table in zip("kr", self.at, (AT_KINKS, OF_ROWS)):
            for i, name in enumerate(functions):
                y = table[name](getattr(self, f"{letter}{i}"))
                total = total + (y.flatten() * torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype)).sum() * x[:, 0]
        return total.mean()

    def names(self):
        return {f"{letter}{i}": name for letter, functions in zip("kr", self.at) for i, name in enumerate(functions)}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    return done.stderr if done.returncode else ""


def differences(folder, names, exporter):
    """One line for each function with another gradient. If a gradient is no number, which ends the step, or if torch.export cannot trace all numbers
    of Python together, each half is tried by itself."""
    folder.mkdir()
    module, x = Points(names), torch.ones(2, 1)
    np.save(folder / "x.npy", x.numpy())
    try:
        cleave.export_torch(module, {"x": x}, folder / "m.onnx", quiet=True, check=False, exporter=exporter, opset=18)
        failed = ""
    except Exception as error:  # the reason decides nothing: a function that fails alone is a finding
        failed = str(error)
    failed = failed or run("cleave", "compile", folder / "m.onnx", "-o", folder / "m", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim",
                 "batch=2")
    failed = failed or run(folder / "m", "train", "--no-shuffle", "--steps", 1, "--lr", 1, "--data", f"x={folder}/x.npy", "--save", folder / "s",
                           "--checkpoint", "full")
    if failed and len(names) == 1:
        return [f"{names[0]}: {failed.splitlines()[-1][:200]}"]
    if failed:
        half = len(names) // 2
        return differences(folder / "a", names[:half], exporter) + differences(folder / "b", names[half:], exporter)
    exact, trained, found = Points(names).double(), saved(folder / "s"), []
    exact(x.double()).backward()
    for parameter, name in module.names().items():
        before, wanted = getattr(module, parameter).detach().double().numpy(), getattr(exact, parameter).grad.numpy()
        got = before - trained.get(parameter, before)
        wrong = ~(np.abs(got - wanted) <= 2e-5 * (1 + np.abs(wanted)))
        if wrong.any():
            found.append(f"{name}: at {before[wrong]} {got[wrong]}, expected {wanted[wrong]}")
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    for exporter, left_out in LEFT_OUT.items():
        names = [name for name in [*AT_KINKS, *OF_ROWS] if name not in left_out]
        found = differences(folder / exporter, names, exporter)
        print("\n".join([f"{exporter}: {line}" for line in found]) or f"{exporter}: the gradients of {len(names)} functions are PyTorch's")


main()
