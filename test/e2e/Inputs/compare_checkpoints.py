"""Whether checkpoints hold the same tensors to the last bit, whatever their layout: names, slots, types, shapes and values.

  compare_checkpoints.py [--parameters] FIRST OTHER...     each a checkpoint, or a directory with `latest`

With --parameters, scalars such as the norm of the gradient are not compared: they are sums whose order follows the layout.
"""
import json
import pathlib
import sys

import numpy as np

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def read_shard(path):
    """key -> bytes, read here from the format's definition, not by the code under test."""
    image = path.read_bytes()
    size = int.from_bytes(image[:8], "little")
    header = json.loads(image[8:8 + size])
    header.pop("__metadata__", None)
    return {key: image[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]] for key, entry in header.items()}


def read(path):
    path = pathlib.Path(path)
    if (path / "latest").exists():
        path = path / (path / "latest").read_text().strip()
    index = json.loads((path / "checkpoint.json").read_text())
    shards, tensors = {}, {}
    for tensor in index["tensors"]:
        width = SIZES[tensor["dtype"]]
        data = np.zeros(int(np.prod(tensor["shape"], dtype=np.int64)) * width, np.uint8)
        for part in tensor["slices"]:
            shard = shards.setdefault(part["file"], None) or read_shard(path / part["file"])
            shards[part["file"]] = shard
            first = part["first"] * width
            data[first:first + part["count"] * width] = np.frombuffer(shard[part["key"]], np.uint8)
        tensors[tensor["name"], tensor["slot"]] = (tensor["dtype"], tuple(tensor["shape"]), data.tobytes())
    return tensors, index["position"]


def difference(first, other, scalars=True):
    """What differs between two checkpoints, or None. Layouts may keep other scalars (a sum within a step is partial on several ranks
    and not saved); those that both have must be equal."""
    (tensors, position), (others, at) = first, other
    if at != position:
        return f"position {at}, expected {position}"
    for key in tensors.keys() ^ others.keys():
        if not key[0].startswith("scalar."):
            return f"{key} is in one of them only"
    for key in sorted(tensors.keys() & others.keys()):
        if (scalars or not key[0].startswith("scalar.")) and tensors[key] != others[key]:
            return f"{key} differs"
    return None


def main():
    scalars = sys.argv[1] != "--parameters"
    paths = sys.argv[1:] if scalars else sys.argv[2:]
    first = read(paths[0])
    for other in paths[1:]:
        if found := difference(first, read(other), scalars):
            sys.exit(f"{other}: {found}")
    print(f"{len(paths)} checkpoints: {len(first[0])} tensors equal")


if __name__ == "__main__":
    main()
