"""The parameters of a checkpoint are their masters rounded to bf16, and the export's are the masters:

check_masters.py CHECKPOINT EXPORT.onnx
"""
import pathlib
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import torch

import compare_states

tensors = compare_states.tensors(pathlib.Path(sys.argv[1]))
exported = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(sys.argv[2]).graph.initializer}
masters = {name.removesuffix("#master"): data for name, data in tensors.items() if name.endswith("#master")}
if not masters:
    sys.exit("no masters in the checkpoint")
for name, data in masters.items():
    master = torch.from_numpy(np.frombuffer(data, np.float32).copy())
    stored = torch.from_numpy(np.frombuffer(tensors[name], np.int16).copy()).view(torch.bfloat16)
    if not torch.equal(master.to(torch.bfloat16), stored):
        sys.exit(f"{name} is not its master rounded")
    if name in exported and exported[name].tobytes() != data:
        sys.exit(f"{name} is exported with other bits than its master's")
rounded = sum(bool((np.frombuffer(data, np.uint32) & 0xFFFF).any()) for data in masters.values())
print(f"{len(masters)} masters, {rounded} of them with digits that bf16 lacks")
