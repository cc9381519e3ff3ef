"""Records the losses of training_cases.py with PyTorch, once in float64 and four times in float32, into losses.json beside this script.

Needs torch 2.13; run it only to record again: record_losses.py [CASE...]. Weights are those of the ONNX files, so
test/models/make_weights.py must have run.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import torch

import running_statistics
import training_cases

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "examples" / "export"), str(ROOT / "examples" / "gpt-nano")]

import export  # noqa: E402  (examples/export/export.py: the table of models)
import model as gpt_nano  # noqa: E402  (examples/gpt-nano/model.py)

MODELS = {**export.MODELS, "gpt-nano": lambda: (gpt_nano.GPTNano(), None, None)}

# Float32 runs of a case; see compare_losses.py.
ORDERS = 4

OPTIMIZERS = {
    "sgd": lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9),
    "adamw": lambda parameters, rate: torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01),
}


def load_weights(module, path):
    """The ONNX file's initializers by name; every parameter must be there."""
    graph = onnx.load(str(path)).graph
    tensors = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in graph.initializer}
    own = module.state_dict()
    missing = [name for name, _ in module.named_parameters() if name not in tensors]
    if missing:
        sys.exit(f"{path}: no initializers for {missing}")
    module.load_state_dict({name: tensors.get(name, value) for name, value in own.items()})


def arrays_of(case, order):
    """The case's data; each batch's samples permuted by `order` as a seed, 0 leaves them."""
    _, batch, _ = training_cases.CASES[case]
    rng = np.random.default_rng(order)
    picks = [i * batch + (rng.permutation(batch) if order else np.arange(batch)) for i in range(training_cases.STEPS)]
    return [torch.from_numpy(array[np.concatenate(picks)]) for array in training_cases.data(case).values()]


def loss_of(module, inputs, groups):
    """The mean of the groups' losses. Buffers are as DDP has them: those of the first group."""
    total, kept = 0, None
    for part in zip(*(a.chunk(groups) for a in inputs)):
        total = total + module(*part)[-1] / groups
        kept = kept or {name: value.clone() for name, value in module.named_buffers()}
    for name, value in module.named_buffers():
        value.data.copy_(kept[name])  # .data: autograd has saved the buffers, but does not read them
    return total


def run(case, optimizer, kind, order=0):
    """The losses, and the running statistics at the end."""
    path, batch, _ = training_cases.CASES[case]
    module, _, _ = MODELS[case.removesuffix("-ddp")]()
    load_weights(module, ROOT / path)
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    module.to(kind).train()
    step = OPTIMIZERS[optimizer](module.parameters(), training_cases.rate(case, optimizer))
    arrays = [a.to(kind) if a.is_floating_point() else a for a in arrays_of(case, order)]
    losses = []
    for i in range(training_cases.STEPS):
        loss = loss_of(module, [a[i * batch:(i + 1) * batch] for a in arrays], training_cases.GROUPS.get(case, 1))
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(float(loss.detach()))
    buffers = {name: running_statistics.summary(value) for name, value in module.named_buffers() if "running" in name}
    return losses, buffers


def record_of(case, optimizer):
    losses, buffers = run(case, optimizer, torch.float64)
    singles = [run(case, optimizer, torch.float32, order)[0] for order in range(ORDERS)]
    return {"float64": losses, "float32": singles, "running_statistics": buffers}


def main():
    path = HERE / "losses.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    for case in sys.argv[1:] or training_cases.CASES:
        record[case] = {optimizer: record_of(case, optimizer) for optimizer in OPTIMIZERS}
        print(case, {o: r["float64"][-1] for o, r in record[case].items()})
        path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
