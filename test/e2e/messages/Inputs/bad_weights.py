"""bad_weights.py CHECKPOINT FOLDER: weights of a checkpoint, with values that break a training, as FOLDER/nan.safetensors and
FOLDER/wide.safetensors. The latter has float64 numbers, one of which is too large for float32."""
import json
import pathlib
import struct
import sys

import numpy as np

source, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def read(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]], np.float32)
            .reshape(entry["shape"]) for name, entry in header.items() if entry["dtype"] == "F32"}


def write(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": {"f": "F32", "d": "F64"}[array.dtype.char], "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


weights = read(source)
name = sorted(weights)[0]
for file, kind, value in (("nan", np.float32, np.nan), ("wide", np.float64, 1e300)):
    changed = {each: array.astype(kind) for each, array in weights.items()}
    changed[name].flat[3] = value
    write(folder / f"{file}.safetensors", changed)
