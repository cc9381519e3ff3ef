"""The tutorials' pipelines, trained for some steps and held against PyTorch: AlexNet and VGG-19 (10 classes) on pp=2, T5-small on
fsdp=2,pp=2 in bf16. Not a timing: it prints how far losses are from PyTorch's in float64, as a part of what DESIGN's bound allows, which
is twice the error of PyTorch's own runs in the same precision, and 1e-6 at least. Exit code 1 where one is above. Then the idle time of
the two stages, predicted and measured.

Graphs and weights are made here by PyTorch, without dropout; transformers makes T5. It needs requirements-pipeline.txt.

  tutorials.py [--size PIXELS] [--steps N] [--required] [alexnet|vgg19|t5-small ...]

AlexNet always sees 224 pixels, which is the only size that its pooling can be exported for; --size is VGG-19's (default 64). The last line has the
largest error of each. Without PyTorch nothing is done, which is a failure with --required: they are cells of the full table (tutorials/*).
"""
import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import common

BATCH, MICRO_BATCHES = 2, 4  # samples of a micro-batch in all data ranks
ORDERS = 3  # runs of PyTorch in float32, with samples in different orders
RATE = 1e-5
FLOOR = 1e-6


def without_dropout(module):
    from torch import nn
    for name, child in module.named_children():
        if isinstance(child, nn.Dropout):
            setattr(module, name, nn.Identity())
        without_dropout(child)
    return module


def images(size):
    return {"x": ("float", (3, size, size), None), "labels": ("int", (), 10)}


def alexnet(options):
    from models import cnn
    return cnn.WithLoss(cnn.AlexNet(classes=10)), images(224), ["logits", "loss"]


def vgg19(options):
    from models import cnn
    return cnn.WithLoss(cnn.VGG19(classes=10, size=options.size)), images(options.size), ["logits", "loss"]


def t5_small(options):
    """transformers' T5ForConditionalGeneration of the published size: 60 million parameters, tied embeddings."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8, dropout_rate=0.0,
                      decoder_start_token_id=0, use_cache=False, attn_implementation="eager")

    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = T5ForConditionalGeneration(config)

        def forward(self, input_ids, decoder_input_ids, labels):
            logits = self.net(input_ids=input_ids, decoder_input_ids=decoder_input_ids).logits
            return logits, torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), labels.reshape(-1))

    spec = {"input_ids": ("int", (64,), 32128), "decoder_input_ids": ("int", (32,), 32128), "labels": ("int", (32,), 32128)}
    return WithLoss(), spec, ["logits", "loss"]


MODELS = {"alexnet": (alexnet, "f32", ["--mesh", "pp=2"]), "vgg19": (vgg19, "f32", ["--mesh", "pp=2"]),
          "t5-small": (t5_small, "bf16", ["--mesh", "fsdp=2,pp=2"])}


def loss_of(module, inputs, kind):
    return module(*(a.to(kind) if a.is_floating_point() else a for a in inputs))[-1]


def torch_losses(module, arrays, steps, kind, order=0):
    """AdamW. In bf16 parameters, activations and gradients are rounded, the loss and the optimizer's parameters are in float32, as FSDP
    with MixedPrecision has it."""
    import torch
    module = copy.deepcopy(module).to(kind).train()
    parameters = list(module.parameters())
    masters = [p.detach().float().requires_grad_() for p in parameters] if kind == torch.bfloat16 else parameters
    optimizer = torch.optim.AdamW(masters, lr=RATE, weight_decay=0.01)
    batch, losses = BATCH * MICRO_BATCHES, []
    picks = np.random.default_rng(order).permutation(batch) if order else np.arange(batch)
    for step in range(steps):
        inputs = [torch.from_numpy(array[step * batch:(step + 1) * batch][picks]) for array in arrays.values()]
        loss = loss_of(module, inputs, kind)
        module.zero_grad()
        loss.backward()
        for master, parameter in zip(masters, parameters):
            if master is not parameter:
                master.grad = parameter.grad.float()
        optimizer.step()
        with torch.no_grad():
            for master, parameter in zip(masters, parameters):
                if master is not parameter:
                    parameter.copy_(master)
        losses.append(float(loss.detach()))
    return losses


def reference(module, arrays, steps, precision):
    """PyTorch's losses in float64, and at each step the largest error up to there of its own runs."""
    import torch
    exact = torch_losses(module, arrays, steps, torch.float64)
    kind, orders = (torch.bfloat16, 1) if precision == "bf16" else (torch.float32, ORDERS)
    if precision == "bf16":
        import record_mixed  # test/e2e/Inputs: losses are computed in float32
        record_mixed.patch_losses()
    runs = [torch_losses(module, arrays, steps, kind, order) for order in range(orders)]
    errors = [max(abs(run[step] - exact[step]) for run in runs) for step in range(steps)]
    return exact, np.maximum.accumulate(errors)


def compiled(name, folder, precision, mesh, spec, module, outputs):
    import exporters
    import torch
    inputs = {key: torch.from_numpy(array) for key, array in common.make_arrays(spec, 2).items()}
    exporters.EXPORTERS["torchscript"](module, inputs, outputs, str(folder / f"{name}.onnx"))
    data_ranks = 2 if "fsdp=2" in mesh[-1] else 1
    options = ["--precision", precision] if precision != "f32" else []
    common.compile_model(folder / f"{name}.onnx", folder / name, "--train", "--loss-output", "loss", "--optimizer", "adamw,weight_decay=0.01",
                         "--dim", f"batch={BATCH // data_ranks}", "--micro-batches", str(MICRO_BATCHES), *mesh, *options)
    return folder / name


def our_losses(program, arrays, steps, folder):
    command = [str(program), "train", "--steps", str(steps), "--lr", str(RATE), "--no-shuffle", "--metrics", str(folder / "metrics.jsonl"),
               "--trace", str(folder / "trace.json")]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        command += ["--data", f"{name}={folder / name}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def train(name, options, folder):
    import torch
    torch.manual_seed(0)
    make, precision, mesh = MODELS[name]
    module, spec, outputs = make(options)
    module = without_dropout(module)
    arrays = common.make_arrays(spec, BATCH * MICRO_BATCHES * options.steps)
    program = compiled(name, folder, precision, mesh, spec, module, outputs)
    ours = our_losses(program, arrays, options.steps, folder)
    exact, errors = reference(module, arrays, options.steps, precision)
    bounds = [max(FLOOR, 2 * error) for error in errors]
    worst = max(abs(loss - reference) / bound for loss, reference, bound in zip(ours, exact, bounds, strict=True))
    print(f"{name} {mesh[-1]} {precision}: {len(ours)} losses, {exact[0]:.6f} to {exact[-1]:.6f}, largest error {worst:.2f} of what is allowed "
          f"({', '.join(f'{abs(a - b):.1e}/{bound:.1e}' for a, b, bound in zip(ours, exact, bounds))})", flush=True)
    drawn = subprocess.run(["cleave", "inspect", str(program), "--trace", str(folder / "trace.json")], capture_output=True, text=True, check=True)
    lines = drawn.stdout.splitlines()
    print("\n".join(lines[next(i for i, line in enumerate(lines) if line.startswith("stages of a step")):]), flush=True)
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--required", action="store_true")
    options = parser.parse_args()
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError:
        missing = "PyTorch or transformers is not there; install test/bench/requirements-pipeline.txt"
        if options.required:
            sys.exit(missing)
        print(f"skipped: {missing}")
        return
    errors = {}
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            errors[name] = train(name, options, pathlib.Path(folder))
    print(f"{len(errors)} models, largest error of a loss, of what is allowed: " + ", ".join(f"{name} {error:.2f}" for name, error in errors.items()))
    sys.exit(0 if all(error <= 1 for error in errors.values()) else 1)


if __name__ == "__main__":
    main()
