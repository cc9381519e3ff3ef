"""Records the losses of training_cases.py with PyTorch, in float64 and float32, into losses.json beside this script.

Needs torch 2.13; run it only to record again: record_losses.py [CASE...]. Weights are those of the ONNX files, so
test/models/make_weights.py must have run.
"""
import json
import pathlib
import sys

import onnx
import onnx.numpy_helper
import torch

import training_cases

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "examples" / "export"))

import export  # noqa: E402  (examples/export/export.py: the table of models)

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


def run(case, optimizer, kind):
    path, batch, _ = training_cases.CASES[case]
    module, _, _ = export.MODELS[case]()
    load_weights(module, ROOT / path)
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    module.to(kind).train()
    step = OPTIMIZERS[optimizer](module.parameters(), training_cases.OPTIMIZERS[optimizer][1])
    arrays = {name: torch.from_numpy(array) for name, array in training_cases.data(case).items()}
    losses = []
    for i in range(training_cases.STEPS):
        inputs = [a[i * batch:(i + 1) * batch] for a in arrays.values()]
        loss = module(*(a.to(kind) if a.is_floating_point() else a for a in inputs))[-1]
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(float(loss))
    return losses


def main():
    path = HERE / "losses.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    for case in sys.argv[1:] or training_cases.CASES:
        record[case] = {
            optimizer: {"float64": run(case, optimizer, torch.float64), "float32": run(case, optimizer, torch.float32)}
            for optimizer in OPTIMIZERS
        }
        print(case, {o: r["float64"][-1] for o, r in record[case].items()})
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
