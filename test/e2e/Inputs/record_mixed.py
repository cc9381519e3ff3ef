"""Records the losses of training_cases.py with PyTorch in mixed precision, into losses_bf16.json and losses_fp16.json.

The arithmetic is that of FSDP's MixedPrecision(param_dtype=T, reduce_dtype=T): parameters, inputs and so activations and gradients
in T; the loss (from log_softmax on) in float32; the optimizer on float32 master weights. With fp16 the loss is scaled by
torch.amp.GradScaler's rule, beginning at INITIAL_SCALE. Float64 losses are those of losses.json.

The order of samples changes next to nothing here: a sample's rounding errors are the same in every order. So every other run adds
the biases of linear layers and convolutions as an op of its own, as the exported graphs have it, the others inside the product.

Needs torch 2.13; run it only to record again: record_mixed.py bf16|fp16 [CASE...].
"""
import json
import sys

import torch

import record_losses
import training_cases

KINDS = {"bf16": torch.bfloat16, "fp16": torch.float16}
CASES = ["mlp", "mnist-cnn-no-dropout", "gpt-nano", "bert-tiny"]
# Below GradScaler's 65536, at which some cases skip their first steps: a skipped step is no rounding error.
INITIAL_SCALE = 1024.0
RUNS = 2


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


def run(case, optimizer, kind, order):
    path, batch, _ = training_cases.CASES[case]
    set_biases(apart=order % 2 == 1)
    low, _, _ = record_losses.MODELS[case]()
    record_losses.load_weights(low, record_losses.ROOT / path)
    masters = [p.detach().clone().requires_grad_() for p in low.parameters()]
    without_dropout(low.to(kind))
    step = record_losses.OPTIMIZERS[optimizer](masters, training_cases.rate(case, optimizer))
    scaler = Scaler(INITIAL_SCALE if kind == torch.float16 else 1.0)
    arrays = [a.to(kind) if a.is_floating_point() else a for a in record_losses.arrays_of(case, order)]
    losses = []
    for i in range(training_cases.STEPS):
        low.zero_grad()
        loss = low(*[a[i * batch:(i + 1) * batch] for a in arrays])[-1]
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
    return losses, scaler.skipped


def main():
    name, *cases = sys.argv[1:]
    patch_losses()
    path = record_losses.HERE / f"losses_{name}.json"
    exact = json.loads((record_losses.HERE / "losses.json").read_text())
    record = json.loads(path.read_text()) if path.exists() else {}
    for case in cases or CASES:
        record[case] = {}
        for optimizer in record_losses.OPTIMIZERS:
            runs = [run(case, optimizer, KINDS[name], order) for order in range(RUNS)]
            record[case][optimizer] = {"float64": exact[case][optimizer]["float64"], name: [losses for losses, _ in runs]}
            if any(skipped for _, skipped in runs):
                sys.exit(f"{case} {optimizer}: steps were skipped, {[skipped for _, skipped in runs]}; lower INITIAL_SCALE")
            worst = max(abs(a - b) for losses, _ in runs for a, b in zip(losses, exact[case][optimizer]["float64"]))
            print(case, optimizer, "largest error", worst, flush=True)
        path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
