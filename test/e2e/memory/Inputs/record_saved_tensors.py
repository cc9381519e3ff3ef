"""Records into saved_tensors.json the bytes of activations that PyTorch's autograd keeps between forward and backward pass.

Needs torch 2.13; run it only to record again: record_saved_tensors.py [CASE...]. Models and batches are those of training_cases.py,
in float32, in training mode, without dropout.

Counted are unique storages (a view saved beside its base costs nothing), without parameters, buffers and the graph's inputs, which
live anyway. Scalars that are no longer attached to a tensor of the graph count as any other storage.
"""
import json
import pathlib
import sys

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import record_losses  # noqa: E402
import training_cases  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def saved_storages(module, inputs):
    """{storage address: bytes} of all that the backward pass of the module's last output is given."""
    own = [*module.parameters(), *module.buffers(), *inputs]
    excluded = {tensor.untyped_storage().data_ptr() for tensor in own}
    kept = []  # alive until counted, so that no address is used twice

    def pack(tensor):
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = module(*inputs)[-1]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in kept}
    loss.backward()
    return {address: size for address, size in storages.items() if address not in excluded and size}


def record(case):
    path, batch, _ = training_cases.CASES[case]
    module, _, _ = record_losses.MODELS[case]()
    record_losses.load_weights(module, record_losses.ROOT / path)
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    inputs = [torch.from_numpy(array[:batch].copy()) for array in training_cases.data(case).values()]
    storages = saved_storages(module.float().train(), inputs)
    return {"batch": batch, "activation_bytes": sum(storages.values()), "storages": len(storages)}


def main():
    path = HERE / "saved_tensors.json"
    recording = json.loads(path.read_text()) if path.exists() else {}
    for case in sys.argv[1:] or training_cases.CASES:
        recording[case] = record(case)
        print(case, recording[case])
    path.write_text(json.dumps(recording, indent=1) + "\n")


if __name__ == "__main__":
    main()
