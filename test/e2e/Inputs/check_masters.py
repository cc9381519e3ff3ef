"""The parameters of a checkpoint are their masters rounded to bf16, and the export's are the masters:

check_masters.py CHECKPOINT EXPORT.onnx
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


def main():
    tensors = compare_states.tensors(pathlib.Path(sys.argv[1]))
    exported = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(sys.argv[2]).graph.initializer}
    masters = {name.removesuffix("#master"): data for name, data in tensors.items() if name.endswith("#master")}
    if not masters:
        sys.exit("no masters in the checkpoint")
    for name, data in masters.items():
        if not np.array_equal(rounded_to_bf16(np.frombuffer(data, np.uint32)), np.frombuffer(tensors[name], np.uint16)):
            sys.exit(f"{name} is not its master rounded")
        if name in exported and exported[name].tobytes() != data:
            sys.exit(f"{name} is exported with other bits than its master's")
    rounded = sum(bool((np.frombuffer(data, np.uint32) & 0xFFFF).any()) for data in masters.values())
    print(f"{len(masters)} masters, {rounded} of them with digits that bf16 lacks")


if __name__ == "__main__":
    main()
