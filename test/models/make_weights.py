#!/usr/bin/env python3
"""Makes the external weights of test models from a seed: make_weights.py [OUTPUT_DIRECTORY] [MODEL.onnx ...]

Without models, all below this folder. With an output directory, graphs are copied beside their weights. The numbers depend on tensor names
and the seed alone, so that the exports of both exporters share them. Scales are those of usual initializations: activations neither
vanish nor explode."""
import argparse
import pathlib
import shutil
import zlib

import numpy as np
import onnx

SEED = 20240607
here = pathlib.Path(__file__).resolve().parent
ALIASES = {"lm_head.weight": "wte.weight"}  # exporters choose different names for tied weights


def values(name, shape):
    name = ALIASES.get(name, name)
    random = np.random.Generator(np.random.Philox(key=[SEED, zlib.crc32(name.encode())]))
    noise = random.standard_normal(shape, dtype=np.float32)
    if name.endswith("running_var"):
        return 1 + 0.1 * np.abs(noise)
    if name.endswith(("running_mean", "bias")):
        return 0.05 * noise
    if len(shape) == 1:  # scales of normalizations
        return 1 + 0.05 * noise
    if "wte" in name or "wpe" in name or "word" in name or "position" in name or "token_type" in name:
        return 0.1 * noise
    fan_in = int(np.prod(shape[1:]))
    return noise * np.float32(np.sqrt(1.0 / fan_in))


def make(path, folder):
    model = onnx.load(path, load_external_data=False)
    folder.mkdir(parents=True, exist_ok=True)
    if folder.resolve() != path.parent.resolve():
        shutil.copy(path, folder / path.name)
    files = {}
    for tensor in model.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        where = {entry.key: entry.value for entry in tensor.external_data}
        assert tensor.data_type == onnx.TensorProto.FLOAT, tensor.name
        data = values(tensor.name, tuple(tensor.dims)).astype("<f4").tobytes()
        assert len(data) == int(where["length"]), tensor.name
        files.setdefault(where["location"], []).append((int(where["offset"]), data))
    for location, parts in files.items():
        with open(folder / location, "wb") as file:
            for offset, data in parts:
                file.seek(offset)
                file.write(data)


def main():
    parser = argparse.ArgumentParser(description="Makes the external weights of test models from a seed.")
    parser.add_argument("output", nargs="?", type=pathlib.Path, help="folder for graphs and weights (default: beside the graphs)")
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="MODEL.onnx (default: all below this script's folder)")
    arguments = parser.parse_args()
    for path in arguments.models or sorted(here.glob("*/*.onnx")):
        make(path, arguments.output / path.parent.name if arguments.output else path.parent)


if __name__ == "__main__":
    main()
