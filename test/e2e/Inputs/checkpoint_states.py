"""The tensors of a checkpoint, read without the safetensors library: the tests' Python need not have it."""
import json
import struct

import numpy as np


def read_states(folder):
    """The f32 tensors of all .safetensors files below a folder, by name. Under 16-bit precision a parameter's f32 copy, `NAME#master`, counts as NAME."""
    states = {}
    for path in folder.rglob("*.safetensors"):
        data = path.read_bytes()
        size = struct.unpack("<Q", data[:8])[0]
        for name, entry in json.loads(data[8:8 + size]).items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                begin, end = entry["data_offsets"]
                states[name.removesuffix("#master")] = np.frombuffer(data[8 + size + begin:8 + size + end], "f4").reshape(entry["shape"])
    return states
