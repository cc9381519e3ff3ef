"""The frozen weights of a model, those whose names begin with PREFIX.

  frozen_weights.py round MODEL.onnx PREFIX OUTPUT.onnx      writes the model with them rounded to bf16
  frozen_weights.py same MODEL.onnx PREFIX EXPORT.onnx       the export has the model's bits, which bf16 lacks, and other weights are trained
"""
import sys

import numpy as np
import onnx
import onnx.numpy_helper

import check_masters


def rounded(array):
    bits = np.ascontiguousarray(array).view(np.uint32)
    return (check_masters.rounded_to_bf16(bits).astype(np.uint32) << 16).view(np.float32)


def is_frozen(tensor, prefix):
    return tensor.name.startswith(prefix) and tensor.data_type == onnx.TensorProto.FLOAT


def weights(path):
    return {tensor.name: tensor for tensor in onnx.load(path).graph.initializer}


def main():
    action, model, prefix, other = sys.argv[1:5]
    if action == "round":
        proto = onnx.load(model)
        for tensor in proto.graph.initializer:
            if is_frozen(tensor, prefix):
                tensor.CopyFrom(onnx.numpy_helper.from_array(rounded(onnx.numpy_helper.to_array(tensor)), tensor.name))
        onnx.save(proto, other)
        return
    before, after = weights(model), weights(other)
    fine = trained = 0
    for name, tensor in before.items():
        array, now = onnx.numpy_helper.to_array(tensor), onnx.numpy_helper.to_array(after[name])
        same = array.tobytes() == now.tobytes()
        if not is_frozen(tensor, prefix):
            trained += not same
            continue
        if not same:
            sys.exit(f"{name}: {np.count_nonzero(array != now)} of {array.size} frozen elements are not the model's")
        fine += not np.array_equal(array, rounded(array))
    if not fine or not trained:
        sys.exit(f"{fine} frozen weights have digits that bf16 lacks, {trained} others are trained; the check tells nothing")
    print(f"{fine} frozen weights as they were, {trained} trained")


if __name__ == "__main__":
    main()
