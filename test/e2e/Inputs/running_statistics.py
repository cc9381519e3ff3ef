"""Batch norm's running statistics, as recorded and as compared: each vector by its norm and its projection on a fixed wave, so that
the recording stays small and still notices any element."""
import json
import pathlib

import numpy as np

FLOOR = 1e-6  # of a vector's norm


def summary(vector):
    vector = np.asarray(vector, np.float64)
    return [float(vector @ np.cos(np.arange(vector.size))), float(np.linalg.norm(vector))]


def read_safetensors(path):
    """{name: float32 array}; other types are left out."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8:8 + size]), data[8 + size:]
    return {name: np.frombuffer(body[entry["data_offsets"][0]:entry["data_offsets"][1]], "<f4").reshape(entry["shape"])
            for name, entry in header.items() if entry.get("dtype") == "F32"}


def error(recorded, ours):
    """Of a vector's norm."""
    return max(abs(a - b) for a, b in zip(recorded, ours)) / recorded[1]


def largest_error(recorded, others):
    return max(error(vector, others[name]) for name, vector in recorded.items())


def differences(recorded, own_error, checkpoints):
    """One line for each recorded vector that is missing in the newest checkpoint below the folder, or whose error is above twice that
    of PyTorch's own float32 runs."""
    arrays = {}
    for path in pathlib.Path(checkpoints).glob("*/*.safetensors"):
        arrays.update(read_safetensors(path))
    bound = max(FLOOR, 2 * own_error)
    for name, vector in recorded.items():
        if name not in arrays:
            yield f"{name}: not in the checkpoint"
        elif not error(vector, summary(arrays[name])) <= bound:
            yield f"{name}: projection and norm {summary(arrays[name])}, expected {vector} within {bound:.1e} of the norm"
