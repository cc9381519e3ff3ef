"""The parameters of a bf16 checkpoint are their masters rounded, and the masters are another one's parameters, bit by bit:

check_masters.py CHECKPOINT EXPORT.onnx|F32-CHECKPOINT

Of a checkpoint the rest of the optimizer's state must be equal, too.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnx.numpy_helper

import compare_states


def rounded_to_bf16(bits):
    """The upper halves of finite float32 numbers, given and returned as bits, rounded to nearest, ties to even."""
    wide = bits.astype(np.uint64)
    return ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)


def wide_tensors(path):
    """{name: bytes}"""
    if path.is_dir():
        return compare_states.tensors(path)
    return {t.name: onnx.numpy_helper.to_array(t).tobytes() for t in onnx.load(path).graph.initializer}


def main():
    tensors, others = compare_states.tensors(pathlib.Path(sys.argv[1])), wide_tensors(pathlib.Path(sys.argv[2]))
    masters = {name.removesuffix("#master"): data for name, data in tensors.items() if name.endswith("#master")}
    if not masters:
        sys.exit("no masters in the checkpoint")
    for name, data in masters.items():
        if not np.array_equal(rounded_to_bf16(np.frombuffer(data, np.uint32)), np.frombuffer(tensors[name], np.uint16)):
            sys.exit(f"{name} is not its master rounded")
        if others.get(name) != data:
            sys.exit(f"{name}: the other one has not the master's bits")
    slots = [name for name in others if "#" in name]
    for name in slots:
        if tensors.get(name) != others[name]:
            sys.exit(f"{name}: other optimizer state")
    rounded = sum(bool((np.frombuffer(data, np.uint32) & 0xFFFF).any()) for data in masters.values())
    if not rounded:
        sys.exit("no master has digits that bf16 lacks")
    print(f"{len(masters)} masters, {rounded} of them with digits that bf16 lacks, {len(slots)} other tensors of the optimizer")


if __name__ == "__main__":
    main()
