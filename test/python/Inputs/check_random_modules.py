"""Random torch modules, trained by Cleave in random layouts and by PyTorch in float64: losses and weights of three steps.

  check_random_modules.py FOLDER [--families] [--first N] [--count N]

A seed decides everything: the module (up to nine operations on values of rank 2 to 5, some used twice, some with weights), the exporter, the
loss, the optimizer with settings that are not the usual ones, the schedule of the rate, and the layout. With --families the modules are those of
families.py, one after the other, also with gradients that are clipped, fused attention and layers that are computed again. What PyTorch itself
loses in float32 is allowed three times over. It needs torch; cleave is taken from PATH, and cleave.export_torch from PYTHONPATH.
"""
import argparse
import contextlib
import copy
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import cleave
from cleave.exported_file import ExportFailed
from families import FAMILIES

STEPS, MOST_ELEMENTS, LARGEST = 3, 6000, 50
UNARY = [torch.tanh, torch.sigmoid, torch.relu, torch.exp, torch.neg, torch.abs, torch.sin, torch.erf, functional.gelu, functional.silu,
         functional.softplus, functional.leaky_relu, functional.hardswish, functional.elu, lambda x: x * x, lambda x: 1 / (x * x + 1),
         lambda x: torch.log(x * x + 1), lambda x: torch.sqrt(x * x + 0.1), lambda x: x.clamp(-1, 1), lambda x: torch.where(x > 0, x, x * 0.2 + 1),
         lambda x: functional.gelu(x, approximate="tanh")]
BINARY = [torch.add, torch.mul, torch.sub, torch.maximum, torch.minimum, lambda x, y: x / (y * y + 1),
          lambda x, y: torch.where(x > y, x, y * 0.5), lambda x, y: x * (y > 0).to(x.dtype)]
# Over one dimension, which stays or goes.
REDUCTIONS = [torch.mean, torch.sum, torch.amax, torch.amin, torch.logsumexp, lambda x, d, keepdim: x.norm(dim=d, keepdim=keepdim),
              lambda x, d, keepdim: x.var(d, unbiased=False, keepdim=keepdim), lambda x, d, keepdim: (x * 0.3 + 1).prod(d, keepdim=keepdim),
              lambda x, d, keepdim: x.max(d, keepdim=keepdim)[0]]
LAYOUTS = {"one": ([], 1), "micro": (["--micro-batches", "2"], 2), "dp": (["--mesh", "dp=2"], 2), "dp3": (["--mesh", "dp=3"], 3),
           "fsdp": (["--mesh", "fsdp=2"], 2), "zero-1": (["--mesh", "fsdp=2", "--fsdp-strategy", "zero-1"], 2),
           "zero-2": (["--mesh", "dp=2,fsdp=2", "--fsdp-strategy", "zero-2"], 4), "offload": (["--offload", "params,grads,optimizer"], 1),
           "server": (["--mesh", "dp=2", "--dp-sync", "parameter-server"], 2), "pp": (["--mesh", "pp=2", "--micro-batches", "3"], 3),
           "dp-pp": (["--mesh", "dp=2,pp=2", "--micro-batches", "2", "--schedule", "zb-h1"], 4)}
FAMILY_LAYOUTS = {**LAYOUTS, "dp-fsdp": (["--mesh", "dp=2,fsdp=2"], 4), "fsdp-pp": (["--mesh", "fsdp=2,pp=2", "--micro-batches", "2"], 4),
                  "gather-once": (["--mesh", "fsdp=2", "--fsdp-strategy", "shard-grad-op", "--micro-batches", "2"], 4)}
FAMILY_OPTIONS = [[], ["--recompute", "every=1"], ["--attention", "fused"]]
OPTIMIZERS = [("sgd", torch.optim.SGD, {}, 0.05), ("sgd", torch.optim.SGD, {"momentum": 0.3, "dampening": 0.5, "weight_decay": 0.1}, 0.05),
              ("sgd", torch.optim.SGD, {"momentum": 0.9, "nesterov": True}, 0.02),
              ("adam", torch.optim.Adam, {"eps": 1e-3, "weight_decay": 0.1}, 0.01),
              ("adamw", torch.optim.AdamW, {"beta1": 0.5, "beta2": 0.7, "eps": 1e-3}, 0.01),
              ("adadelta", torch.optim.Adadelta, {"rho": 0.5, "eps": 1e-3}, 1.0),
              ("rmsprop", torch.optim.RMSprop, {"alpha": 0.5, "momentum": 0.8, "centered": True, "eps": 0.1}, 0.005),
              ("adagrad", torch.optim.Adagrad, {"lr_decay": 0.3, "initial_accumulator_value": 0.2, "eps": 1e-3}, 0.05)]
# Of operations that both exporters know.
LOSSES = [functional.mse_loss, lambda y, t: (y - t).abs().mean(), functional.binary_cross_entropy_with_logits,
          lambda y, t: torch.where((y - t).abs() < 0.7, 0.5 * (y - t) ** 2, 0.7 * ((y - t).abs() - 0.35)).mean()]
SCHEDULES = {"constant": lambda step: 1.0, "step,size=1,gamma=0.5": lambda step: 0.5 ** step, "linear": lambda step: 1 - step / STEPS}


class RandomModule(nn.Module):
    """`steps` are functions of earlier values, and the places of those. Shapes are tried out on two batches of unequal size."""

    def __init__(self, choose, shape):
        super().__init__()
        example, other = torch.randn(6, *shape), torch.randn(4, *shape)
        self.choose, self.steps, self.count = choose, [], 0
        self.stem = nn.Linear(example.shape[-1], choose.choice([1, 2, 3, 5, 6, 8]))
        values, others = [self.stem(example)], [self.stem(other)]
        for _ in range(choose.randint(3, 9)):
            for _ in range(20):
                step = self.draw(values)
                result, second = self.tried(step, values), self.tried(step, others)
                if result is not None and second is not None and result.shape[1:] == second.shape[1:]:
                    values.append(result)
                    others.append(second)
                    self.steps.append(step)
                    break
        self.drop_unused(len(values) - 1)

    # Steps that lead nowhere, and weights of these or of steps that were refused, would have no gradient.
    def drop_unused(self, last):
        used = {0, last}
        for i in range(last, 0, -1):
            used |= set(self.steps[i - 1][1]) if i in used else set()
        places = {old: new for new, old in enumerate(sorted(used))}
        self.steps = [(function, [places[i] for i in of]) for i, (function, of) in enumerate(self.steps, 1) if i in used]
        names = {name for function, _ in self.steps if (name := getattr(function, "weights", None))}
        for name in [name for name, _ in [*self.named_children(), *self.named_parameters(recurse=False)]]:
            if name != "stem" and name not in names:
                delattr(self, name)

    def tried(self, step, values):
        try:
            result = step[0](self, *[values[i] for i in step[1]])
        except (RuntimeError, IndexError, ValueError):
            return None
        fits = 2 <= result.dim() <= 5 and result.numel() <= MOST_ELEMENTS and result.shape[0] == values[0].shape[0]
        return result if fits and result.isfinite().all() and result.abs().max() < LARGEST else None

    def named(self, made):
        self.count += 1
        name = f"{'p' if isinstance(made, nn.Parameter) else 'm'}{self.count}"
        setattr(self, name, made)
        return name

    def draw(self, values):
        choose, place = self.choose, self.choose.choice([len(values) - 1, len(values) - 1, self.choose.randrange(len(values))])
        x, other = values[place], choose.randrange(len(values))
        dim = choose.randrange(1, x.dim())
        size = x.shape[dim]

        def weighted(function, name):
            function.weights = name
            return function

        def module(made):
            name = self.named(made)
            return weighted(lambda m, x: getattr(m, name)(x), name)

        def unary():
            return choose.choice(UNARY)

        def reduction():
            reduce, keeps = choose.choice(REDUCTIONS), choose.random() < 0.6
            return lambda x: reduce(x, dim, keepdim=keeps)

        def part():
            begin, step = choose.randrange(size), choose.choice([1, 1, 2])
            end = choose.randrange(begin, size) + 1
            return lambda x: x[(slice(None),) * dim + (slice(begin, end, step),)]

        def order():
            dims = [0, *choose.sample(range(1, x.dim()), x.dim() - 1)]
            return lambda x: x.permute(dims)

        def pick():
            places = torch.tensor([choose.randrange(size) for _ in range(choose.randint(1, size + 1))])
            return lambda x: x.index_select(dim, places)

        def top():
            count, largest = choose.randint(1, size), choose.random() < 0.5
            return lambda x: x.topk(count, dim, largest=largest)[0]

        def pad():
            widths, value = [0, 0] * (x.dim() - 1 - dim) + [choose.choice([0, 1, 2]), choose.choice([0, 1])], choose.choice([0.0, 1.0])
            return lambda x: functional.pad(x, widths, value=value)

        def roll():
            by = choose.choice([1, 2, -1])
            return lambda x: x.roll(by, dim)

        def norm():
            return module(choose.choice([nn.LayerNorm, nn.RMSNorm])(x.shape[-1]))

        def linear():
            return module(nn.Linear(x.shape[-1], choose.choice([1, 2, 4, 5, 7]), bias=choose.random() < 0.7))

        def weight():
            name = self.named(nn.Parameter(torch.randn([choose.choice([1, n]) for n in x.shape[1:]]) * 0.4))
            combine = choose.choice([torch.add, torch.mul])
            return weighted(lambda m, x: combine(x, getattr(m, name)), name)

        def convolution():
            return module(nn.Conv1d(x.shape[1], choose.choice([1, 2, 4]), choose.choice([1, 3]), padding=1))

        of_self = {norm, linear, weight, convolution}
        kinds = [unary, unary, unary, reduction, part, order, pick, top, pad, roll, norm, linear, linear, weight, convolution,
                 lambda: lambda x: x.softmax(dim), lambda: lambda x: x.cumsum(dim), lambda: lambda x: x.flatten(1),
                 lambda: lambda x: x.unsqueeze(dim), lambda: lambda x: x @ x.transpose(-1, -2)]
        if choose.random() < 0.2:
            combine = choose.choice(BINARY + [lambda x, y: torch.cat([x, y * 0.5, x], dim)])
            return (lambda m, x, y: combine(x, y)), (place, other)
        kind = choose.choice(kinds)
        function = kind()
        return (function if kind in of_self else lambda m, x: function(x)), (place,)

    def forward(self, x):
        values = [self.stem(x)]
        for function, places in self.steps:
            values.append(function(self, *[values[i] for i in places]))
        return values[-1]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")


def saved(folder):
    data = next(folder.rglob("model.safetensors")).read_bytes()
    size = int.from_bytes(data[:8], "little")
    entries = {name: entry for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__" and entry["dtype"] == "F32"}
    return {name: np.frombuffer(data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]], "f4").reshape(entry["shape"])
            for name, entry in entries.items()}


def in_torch(module, kind, loss, arrays, batch, optimizer, rate, schedule, clip=None):
    """Losses, and weights after the last step, in that type. `clip`: the largest norm of all gradients."""
    module = copy.deepcopy(module).to(kind)
    _, make, settings, _ = optimizer
    options = {key: value for key, value in settings.items() if key not in ("beta1", "beta2")}
    if "beta1" in settings:
        options["betas"] = (settings["beta1"], settings["beta2"])
    steps, losses = make(module.parameters(), lr=rate, **options), []
    for step in range(STEPS):
        steps.param_groups[0]["lr"] = rate * SCHEDULES[schedule](step)
        x, y = (torch.from_numpy(array[step * batch:(step + 1) * batch]).to(kind) for array in arrays)
        steps.zero_grad()
        value = loss(module(x), y)
        value.backward()
        if clip:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        steps.step()
        losses.append(value.item())
    return losses, {name: value.detach().double().numpy() for name, value in module.named_parameters()}


def differences(got, exact, rounded, before):
    for step, (loss, right, near) in enumerate(zip(got[0], exact[0], rounded[0], strict=True), 1):
        if not abs(loss - right) <= 2 * abs(near - right) + 1e-6 * max(1, abs(right)):
            yield f"step {step}: loss {loss}, expected {right}"
    for name, right in exact[1].items():
        named = [key for key in got[1] if key == name or key.endswith("." + name)]
        ours = got[1][min(named, key=len)] if named else before[name]
        norm = np.linalg.norm
        allowed = 2 * norm(rounded[1][name] - right) + 1e-6 * norm(right) + 2e-4 * norm(right - before[name]) + 1e-9
        if not norm(ours - right) <= allowed:
            yield f"{name}: off by {norm(ours - right):.2e}, {allowed:.2e} is allowed; the steps have moved it by {norm(right - before[name]):.2e}"


def random_case(choose):
    """A module, what it is, the shape of a sample, the layout's name, options and parts, and the limit of the gradients' norm."""
    shape = choose.choice([(4,), (5, 4), (3, 5), (1, 4), (5, 1), (2, 3, 4)])
    module = RandomModule(choose, shape)
    layout = choose.choice(sorted(LAYOUTS))
    return module, f"{len(module.steps)} operations", shape, layout, *LAYOUTS[layout], None


def family_case(choose, seed):
    name = sorted(FAMILIES)[seed % len(FAMILIES)]
    make, shape = FAMILIES[name]
    layout, more, clip = choose.choice(sorted(FAMILY_LAYOUTS)), choose.choice(FAMILY_OPTIONS), choose.choice([None, None, 0.1])
    options, parts = FAMILY_LAYOUTS[layout]
    return make(), f"{name} {' '.join(more)}".strip(), shape, layout, options + more, parts, clip


def check(folder, seed, families):
    choose = random.Random(seed)
    torch.manual_seed(seed)
    module, what, shape, layout, options, parts, clip = family_case(choose, seed) if families else random_case(choose)
    loss, optimizer, schedule = choose.choice(LOSSES), choose.choice(OPTIMIZERS), choose.choice(sorted(SCHEDULES))
    samples = choose.choice([1, 2, 3, 5])
    batch, rate = samples * parts, optimizer[3]
    x = torch.randn(STEPS * batch, *shape)
    y = torch.rand(STEPS * batch, *module(x[:6]).shape[1:])
    before = {name: value.detach().double().numpy().copy() for name, value in module.named_parameters()}
    described = f"{seed}: {layout}, {optimizer[0]}, {schedule}, batch {batch}, {what}" + (f", clipped at {clip}" if clip else "")
    arrays = x.numpy(), y.numpy()
    exact, rounded = (in_torch(module, kind, loss, arrays, batch, optimizer, rate, schedule, clip) for kind in (torch.float64, torch.float32))
    if not np.isfinite(exact[0]).all():
        return print(f"{described}: PyTorch diverges", flush=True)
    folder.mkdir(parents=True)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            cleave.export_torch(module, {"x": x[:2], "labels": y[:2]}, str(folder / "m.onnx"), loss=loss, check=False, quiet=True,
                                exporter=choose.choice(["dynamo", "torchscript"]))
    except ExportFailed as failure:
        return print(f"{described}: PyTorch does not export it: {failure}", flush=True)
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "y.npy", y.numpy())
    settings = ",".join([optimizer[0], *(f"{key}={str(value).lower()}" for key, value in optimizer[2].items())])
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "m", "--train", "--loss-output", "loss", "--optimizer", settings,
        "--dim", f"batch={samples}", *options)
    run(folder / "m", "train", "--no-shuffle", "--steps", STEPS, "--lr", rate, "--lr-schedule", schedule,
        *(["--clip-grad-norm", clip] if clip else []), "--data", f"x={folder}/x.npy", "--data",
        f"labels={folder}/y.npy", "--save", folder / "s", "--checkpoint", "full", "--metrics", folder / "losses.jsonl")
    losses = [float(value) for value in re.findall(r'"loss": ([^,]+)', (folder / "losses.jsonl").read_text())]
    wrong = list(differences((losses, saved(folder / "s")), exact, rounded, before))
    print(f"{described}: {'; '.join(wrong) or 'equal'}", flush=True)
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--families", action="store_true")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=8)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    bad = [seed for seed in range(chosen.first, chosen.first + chosen.count) if check(chosen.folder / str(seed), seed, chosen.families)]
    sys.exit(f"wrong: {bad}" if bad else 0)
