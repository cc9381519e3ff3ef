"""Records what optimizers do to one small parameter: writes optimizers.json beside this script.

PyTorch's optimizers where PyTorch has them; the papers' formulas in numpy in float64 (test/e2e/training/Inputs/check_optimizers.py) for Lion and LAMB.
Run with a Python that has torch:  python record_optimizers.py
Gradients are given, not computed: the file is about the update rules and about clip_grad_norm_ alone.
"""
import json
import pathlib
import sys

import numpy as np
import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e" / "training" / "Inputs"))
from check_optimizers import RULES  # noqa: E402

STEPS, SIZE = 4, 6
CASES = [
    ("sgd", torch.optim.SGD, {}, None),
    ("sgd,momentum=0.9", torch.optim.SGD, {"momentum": 0.9}, None),
    ("sgd,momentum=0.9,dampening=0.3,weight_decay=0.05", torch.optim.SGD,
     {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}, None),
    ("sgd,momentum=0.8,nesterov=true,weight_decay=0.1", torch.optim.SGD,
     {"momentum": 0.8, "nesterov": True, "weight_decay": 0.1}, None),
    ("sgd,momentum=0.9", torch.optim.SGD, {"momentum": 0.9}, 0.5),
    ("adam", torch.optim.Adam, {}, None),
    ("adam,beta1=0.8,beta2=0.95,eps=1e-4,weight_decay=0.1", torch.optim.Adam,
     {"betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.1}, None),
    ("adamw", torch.optim.AdamW, {}, None),
    ("adamw,weight_decay=0.3", torch.optim.AdamW, {"weight_decay": 0.3}, 0.25),
    ("adadelta", torch.optim.Adadelta, {}, None),
    ("adadelta,rho=0.8,weight_decay=0.1", torch.optim.Adadelta, {"rho": 0.8, "weight_decay": 0.1}, None),
    ("rmsprop", torch.optim.RMSprop, {}, None),
    ("rmsprop,alpha=0.9,eps=1e-4,momentum=0.8,weight_decay=0.1,centered=true", torch.optim.RMSprop,
     {"alpha": 0.9, "eps": 1e-4, "momentum": 0.8, "weight_decay": 0.1, "centered": True}, 0.5),
    ("adagrad", torch.optim.Adagrad, {}, None),
    ("adagrad,lr_decay=0.3,weight_decay=0.1,initial_accumulator_value=0.2,eps=1e-4", torch.optim.Adagrad,
     {"lr_decay": 0.3, "weight_decay": 0.1, "initial_accumulator_value": 0.2, "eps": 1e-4}, None),
    ("lion", None, {"weight_decay": 0}, None),
    ("lion,beta1=0.7,beta2=0.8,weight_decay=0.2", None, {"beta1": 0.7, "beta2": 0.8, "weight_decay": 0.2}, 0.5),
    ("lamb", None, {"weight_decay": 0.01}, None),
    ("lamb,beta1=0.7,beta2=0.8,eps=1e-3,weight_decay=0.2", None, {"beta1": 0.7, "beta2": 0.8, "eps": 1e-3, "weight_decay": 0.2}, 0.5),
]


class Formula:
    """A rule of check_optimizers.py in the form of a torch optimizer."""

    def __init__(self, parameters, rule, settings, lr):
        self.parameter, self.rule, self.settings, self.state, self.step_number = parameters[0], rule, settings, {}, 0
        self.param_groups = [{"lr": lr}]
        self.value = self.parameter.detach().numpy().astype(np.float64)

    def step(self):
        self.step_number += 1
        self.value = self.rule(self.settings, self.state, self.value, self.parameter.grad.numpy().astype(np.float64),
                               self.param_groups[0]["lr"], self.settings["weight_decay"], self.step_number)
        self.parameter.data = torch.from_numpy(self.value.astype(np.float32))


def record(text, kind, arguments, clip):
    generator = torch.Generator().manual_seed(3)
    start = torch.randn(SIZE, generator=generator)
    gradients = torch.randn(STEPS, SIZE, generator=generator)
    rates = [0.1, 0.05, 0.2, 0.01]
    parameter = torch.nn.Parameter(start.clone())
    optimizer = kind([parameter], lr=rates[0], **arguments) if kind else Formula([parameter], RULES[text.split(",")[0]], arguments, rates[0])
    parameters, norms = [], []
    for rate, gradient in zip(rates, gradients):
        optimizer.param_groups[0]["lr"] = rate
        parameter.grad = gradient.clone()
        limit = float("inf") if clip is None else clip
        norms.append(torch.nn.utils.clip_grad_norm_([parameter], limit).item())
        optimizer.step()
        parameters.append(parameter.detach().tolist())
    return {"optimizer": text, "clip": clip, "lr": rates, "start": start.tolist(), "gradients": gradients.tolist(),
            "norms": norms, "parameters": parameters}


if __name__ == "__main__":
    cases = [record(*case) for case in CASES]
    target = pathlib.Path(__file__).with_name("optimizers.json")
    target.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
