"""Compares two checkpoints tensor by tensor, bit by bit: compare_states.py FIRST SECOND CHANGED [CHANGED...]

All tensors but the CHANGED (names as in the index, NAME or NAME#SLOT) must be equal, and the CHANGED must differ.
"""
import json
import pathlib
import struct
import sys


def tensors(folder):
    """{name: bytes} of a checkpoint of one directory of shards, assembled from its slices."""
    index = json.loads((folder / "checkpoint.json").read_text())
    shards = {}

    def shard(name):
        if name not in shards:
            data = (folder / name).read_bytes()
            (length,) = struct.unpack("<Q", data[:8])
            shards[name] = (json.loads(data[8:8 + length]), data[8 + length:])
        return shards[name]

    result = {}
    for tensor in index["tensors"]:
        parts = []
        for piece in tensor["slices"]:
            header, data = shard(piece["file"])
            begin, end = header[piece["key"]]["data_offsets"]
            parts.append(data[begin:end])
        slot = tensor.get("slot", "")
        result[tensor["name"] + ("#" + slot if slot else "")] = b"".join(parts)
    return result


def main():
    first, second = (tensors(pathlib.Path(p)) for p in sys.argv[1:3])
    changed = set(sys.argv[3:])
    if first.keys() != second.keys():
        sys.exit(f"other tensors: {sorted(first.keys() ^ second.keys())}")
    if missing := changed - first.keys():
        sys.exit(f"no such tensors: {sorted(missing)}; there are {sorted(first)}")
    differ = {name for name in first if first[name] != second[name]}
    if differ != changed:
        sys.exit(f"differ: {sorted(differ)}, expected {sorted(changed)}")
    print(f"{len(first)} tensors, {len(first) - len(changed)} equal bit by bit, {sum(map(len, first.values()))} bytes")


if __name__ == "__main__":
    main()
