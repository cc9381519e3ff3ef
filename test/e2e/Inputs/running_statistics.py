"""Batch norm's running statistics, as recorded and as compared: each vector by its norm and its projection on a fixed wave, so that
the recording stays small and still notices any element."""
import json
import pathlib

import numpy as np

BOUND = 3e-3  # of the vector's norm: a flipped ReLU (training_cases.RATES) shows here too


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


def differences(recorded, checkpoints):
    """One line for each recorded vector that is missing or differs in the newest checkpoint below the folder."""
    arrays = {}
    for path in pathlib.Path(checkpoints).glob("*/*.safetensors"):
        arrays.update(read_safetensors(path))
    for name, (projection, norm) in recorded.items():
        if name not in arrays:
            yield f"{name}: not in the checkpoint"
            continue
        ours = summary(arrays[name])
        if not max(abs(ours[0] - projection), abs(ours[1] - norm)) <= BOUND * norm:
            yield f"{name}: projection and norm {ours}, expected {[projection, norm]}"
