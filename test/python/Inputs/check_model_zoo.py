"""Models of libraries (timm, transformers, torchvision) and structures of their own, small, against PyTorch: inference in float32, and three
steps of SGD in a layout that the name and --seed choose, losses and every parameter against float64.

  check_model_zoo.py FOLDER [NAME...] [--only PREFIX] [--seed N] [--layout NAME] [--exporter dynamo|torchscript] [--no-infer]

Needs torch, and the library of a family; cleave is taken from PATH, and cleave.export_torch from PYTHONPATH. Batches are odd, sequences have 7 tokens.
Dropout is off. Of batch norm, ranks share their statistics, and there is one micro-batch. A family that PyTorch does not export is told, and is no failure.
What PyTorch itself loses in float32 is allowed twice over.
"""
import argparse
import contextlib
import copy
import io
import logging
import pathlib
import random
import re
import shutil
import sys
import warnings
import zlib

import numpy as np
import onnxruntime
import torch
from torch import nn
from torch.nn import functional

import cleave
from check_random_modules import differences, run, saved
from cleave.exported_file import ExportFailed
from cleave.traceable import traceable
from model_zoo import ZOO

STEPS, RATE = 3, 0.05
OPSETS = {"dynamo": None, "torchscript": 20}  # some operations need more than PyTorch's default, 17
ANY = {"one": ([], 1), "dp": (["--mesh", "dp=2"], 2), "fsdp": (["--mesh", "fsdp=2"], 2), "recompute": (["--recompute", "blocks"], 1),
       "zero-1": (["--mesh", "fsdp=2", "--fsdp-strategy", "zero-1"], 2), "zero-2": (["--mesh", "fsdp=2", "--fsdp-strategy", "zero-2"], 2),
       "dp-fsdp": (["--mesh", "dp=2,fsdp=2"], 4), "fsdp-recompute": (["--mesh", "fsdp=2", "--recompute", "blocks"], 2)}
PARTS = {"micro": (["--micro-batches", "2"], 2), "1f1b": (["--mesh", "pp=2", "--micro-batches", "2", "--schedule", "1f1b"], 2),
         "gpipe": (["--mesh", "pp=2", "--micro-batches", "2", "--schedule", "gpipe"], 2), "zb-h1": (["--mesh", "pp=2", "--micro-batches", "2", "--schedule", "zb-h1"], 2),
         "dp-pp": (["--mesh", "dp=2,pp=2", "--micro-batches", "2"], 4), "fsdp-pp": (["--mesh", "fsdp=2,pp=2", "--micro-batches", "2"], 4)}
RATES_OF_DROPOUT = ("p", "drop_prob", "dropout", "attention_dropout", "activation_dropout", "layerdrop", "attn_dropout", "dropout_prob", "hidden_dropout")


def wrapped(module, call, names):
    """A module whose forward() has the inputs' names, as export_torch wants them."""
    spaces = {}
    exec(f"def forward(self, {', '.join(names)}):\n    return self.call(self.inner, {', '.join(names)})\n", spaces)
    made = type("Wrapped", (nn.Module,), {"forward": spaces["forward"]})()
    made.inner, made.call = module, call
    for part in module.modules():
        for name in RATES_OF_DROPOUT:
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
    return made


def part_of(data, begin, end, kind=None):
    return {name: value[begin:end].to(kind) if kind and value.is_floating_point() else value[begin:end] for name, value in data.items()}


def in_torch(module, kind, data, target, batch):
    module = copy.deepcopy(module).to(kind).train()
    optimizer, losses = torch.optim.SGD(module.parameters(), lr=RATE), []
    for step in range(STEPS):
        begin, end = step * batch, (step + 1) * batch
        optimizer.zero_grad()
        loss = functional.mse_loss(module(**part_of(data, begin, end, kind)), target[begin:end].to(kind))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.detach().double().numpy() for name, value in module.named_parameters()}


def ports(option, folder, names):
    return [part for name in names for part in (option, f"{name}={folder}/{name}.npy")]


def write(folder, arrays):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in arrays.items():
        np.save(folder / f"{name}.npy", value.numpy())


def check_inference(folder, module, data, exporter):
    module = copy.deepcopy(module).eval()
    with torch.no_grad():
        right = module(**data).numpy()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), traceable("dynamo"):
            torch.onnx.export(module, tuple(data.values()), folder / "e.onnx", input_names=list(data), output_names=["y"], dynamo=exporter == "dynamo",
                              opset_version=OPSETS[exporter])
    except Exception as failure:  # PyTorch's, of many kinds
        return f"not exported for inference ({type(failure).__name__})", False
    try:
        onnxruntime.InferenceSession(folder / "e.onnx")
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:  # which it says of shapes that do not fit
        return "exported for inference as a file that is not valid", False
    write(folder, data)
    run("cleave", "compile", folder / "e.onnx", "-o", folder / "e")
    run(folder / "e", "infer", *ports("--input", folder, data), "--output", f"y={folder}/y.npy")
    error = np.abs(np.load(folder / "y.npy") - right).max() / (np.abs(right).max() + 1e-9)
    return f"inference off by {error:.0e}", not error < 1e-4


def check_training(folder, module, data, target, exporter, options, samples, batch):
    example = {name: value[:samples] for name, value in data.items()}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        cleave.export_torch(module, {**example, "labels": target[:samples]}, str(folder / "m.onnx"), loss=functional.mse_loss, quiet=True, exporter=exporter,
                            opset=OPSETS[exporter])
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "m", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", f"batch={samples}", *options)
    write(folder, {**data, "labels": target})
    run(folder / "m", "train", "--no-shuffle", "--steps", STEPS, "--lr", RATE, *ports("--data", folder, [*data, "labels"]), "--save", folder / "s",
        "--checkpoint", "full", "--metrics", folder / "losses.jsonl")
    losses = [float(value) for value in re.findall(r'"loss": ([^,]+)', (folder / "losses.jsonl").read_text())]
    before = {name: value.detach().double().numpy().copy() for name, value in module.named_parameters()}
    exact, rounded = (in_torch(module, kind, data, target, batch) for kind in (torch.float64, torch.float32))
    return list(differences((losses, saved(folder / "s")), exact, rounded, before))


def check(folder, name, chosen):
    seed = zlib.crc32(name.encode()) + chosen.seed
    choose = random.Random(seed)
    torch.manual_seed(seed)
    module, call, inputs = ZOO[name]()
    module = wrapped(module, call, list(inputs(1)))
    has_statistics = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in module.modules())
    layouts = ANY if has_statistics else {**ANY, **PARTS}
    layout, exporter = chosen.layout or choose.choice(sorted(layouts)), chosen.exporter or choose.choice(["dynamo", "torchscript"])
    options, parts = layouts[layout]
    if has_statistics and "--mesh" in options:
        options = [*options, "--batch-norm", "sync"]
    samples = 4 if has_statistics else 3
    batch = samples * parts
    data = inputs(STEPS * batch)
    with torch.no_grad():
        target = torch.randn(STEPS * batch, *copy.deepcopy(module)(**part_of(data, 0, batch)).shape[1:])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said, wrong = ("", False) if chosen.no_infer else check_inference(folder, module, part_of(data, 0, samples), exporter)
    described = f"{name}: {exporter}, {layout}, {said}"
    try:
        found = check_training(folder, module, data, target, exporter, options, samples, batch)
    except ExportFailed as failure:
        print(f"{described}; PyTorch does not export it: {str(failure)[:150]}", flush=True)
        return wrong
    except RuntimeError as failure:
        found = [str(failure)[-900:]]
    print(f"{described}: {'; '.join(found[:4]) or ('WRONG' if wrong else 'equal')}", flush=True)
    return wrong or bool(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layout")
    parser.add_argument("--exporter")
    parser.add_argument("--no-infer", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    wanted = arguments.names or [name for name in sorted(ZOO) if name.startswith(arguments.only)]
    bad = [name for name in wanted if check(arguments.folder / name, name, arguments)]
    sys.exit(f"wrong: {bad}" if bad else 0)
