"""Records errors of training_cases.py with PyTorch in mixed precision, into losses_bf16.json and losses_fp16.json.

The arithmetic is that of FSDP's MixedPrecision(param_dtype=T, reduce_dtype=T): parameters, inputs and so activations and gradients
in T; the loss (from log_softmax on) in float32; the optimizer on float32 master weights. With fp16 the loss is scaled by
torch.amp.GradScaler's rule, beginning at INITIAL_SCALE.

A loss is one number, whose error is the sum of thousands of roundings that partly cancel, so on one data set it can be small by luck:
BERT-tiny's first loss in fp16 is off by 1.7e-5 on the case's data, and by 1.4e-4 (root mean square) on ten data sets, 2.5e-4 on the
worst. In float32 other orders of sums tell luck from accuracy; here they change next to nothing, for a sample is rounded to 16 bits in
the same places in every order. So the runs are on VARIANTS data sets, each compared with float64 on the same data; every other run adds
the biases of linear layers and convolutions as an op of its own, as the exported graphs have it, the others inside the product.

Needs torch 2.13; run it only to record again: record_mixed.py bf16|fp16|bf16,fp16 [CASE[/OPTIMIZER]...].
"""
import json
import sys

import torch

import record_losses
import training_cases

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}
CASES = ["mlp", "mnist-cnn-no-dropout", "gpt-nano", "bert-tiny", "t5-tiny"]
# Below GradScaler's 65536, at which some cases skip their first steps: a skipped step is no rounding error.
INITIAL_SCALE = 1024.0
VARIANTS = 6


def in_float32(function):
    return lambda scores, *rest, **named: function(scores.float(), *rest, **named)


def patch_losses():
    for name in ["cross_entropy", "log_softmax", "nll_loss"]:
        setattr(torch.nn.functional, name, in_float32(getattr(torch.nn.functional, name)))
    torch.log_softmax = in_float32(torch.log_softmax)


FUSED = {name: getattr(torch.nn.functional, name) for name in ["linear", "conv2d"]}


def linear(x, weight, bias=None):
    y = FUSED["linear"](x, weight)
    return y if bias is None else y + bias


def conv2d(x, weight, bias=None, *rest, **named):
    y = FUSED["conv2d"](x, weight, None, *rest, **named)
    return y if bias is None else y + bias[:, None, None]


def set_biases(apart):
    for name, function in [("linear", linear), ("conv2d", conv2d)]:
        setattr(torch.nn.functional, name, function if apart else FUSED[name])


def without_dropout(module):
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return module.train()


class Scaler:
    """torch.amp.GradScaler's rule; the class itself wants a GPU or its gradients in float32."""

    def __init__(self, scale):
        self.scale, self.skipped = scale, 0

    def unscaled(self, gradients):
        scaled = [g.float() for g in gradients]
        if all(bool(torch.isfinite(g).all()) for g in scaled):
            return [g / self.scale for g in scaled]
        self.scale, self.skipped = self.scale * 0.5, self.skipped + 1
        return None


def run(case, optimizer, kind, variant, apart):
    path, _, _ = training_cases.CASES[case]
    set_biases(apart)
    low, _, _ = record_losses.MODELS[training_cases.model_of(case)]()
    record_losses.load_weights(low, record_losses.ROOT / path)
    masters = [p.detach().clone().requires_grad_() for p in low.parameters()]
    without_dropout(low.to(kind))
    step = record_losses.OPTIMIZERS[optimizer](masters, training_cases.rate(case, optimizer))
    scaler = Scaler(INITIAL_SCALE if kind == torch.float16 else 1.0)
    losses = []
    for inputs in record_losses.batches_of(case, kind, variant=variant):
        low.zero_grad()
        loss = record_losses.loss_of(low, inputs, case)
        (loss * scaler.scale).backward()
        gradients = scaler.unscaled([p.grad for p in low.parameters()])
        if gradients is not None:
            for master, gradient in zip(masters, gradients):
                master.grad = gradient
            step.step()
        with torch.no_grad():
            for parameter, master in zip(low.parameters(), masters):
                parameter.copy_(master)
        losses.append(float(loss.detach()))
    if scaler.skipped:
        sys.exit(f"{case} {optimizer}: {scaler.skipped} steps were skipped; lower INITIAL_SCALE")
    return losses


def record_variant(records, case, optimizer, variant):
    """The runs of one data set in every precision asked for."""
    set_biases(apart=False)
    exact, _ = record_losses.run(case, optimizer, torch.float64, variant=variant)
    for name, record in records.items():
        cell = record.setdefault(case, {}).setdefault(optimizer, {})
        if variant == 0:
            cell.clear()
            cell.update({"float64": exact, "errors": []})
        for apart in [False, True] if variant == 0 else [variant % 2 == 1]:
            losses = run(case, optimizer, KINDS[name], variant, apart)
            cell["errors"].append([float(f"{a - b:.6e}") for a, b in zip(losses, exact)])
        print(name, case, optimizer, variant, max(map(abs, cell["errors"][-1])), flush=True)


def main():
    names, *cases = sys.argv[1:]
    patch_losses()
    paths = {name: record_losses.HERE / f"losses_{name}.json" for name in names.split(",")}
    records = {name: json.loads(path.read_text()) if path.exists() else {} for name, path in paths.items()}
    for case in cases or CASES:
        case, _, optimizer = case.partition("/")
        for one in [optimizer] if optimizer else training_cases.optimizers(case):
            for variant in range(VARIANTS):
                record_variant(records, case, one, variant)
            for name, path in paths.items():
                path.write_text(json.dumps(records[name], indent=1) + "\n")


if __name__ == "__main__":
    main()
