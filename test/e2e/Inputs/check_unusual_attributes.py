"""Operators whose attributes, sizes or types are seldom those: long pads, alpha and lambd below zero, activations of integers, indices of a pooling
whose windows hold nothing but -infinity.

  check_unusual_attributes.py FOLDER
"""
import sys

import numpy as np
from onnx import helper

from small_models import Checks

node = helper.make_node


def pads(checks):
    x = np.random.default_rng(0).standard_normal((1, 2, 300)).astype("f4")
    nodes, outputs, initializers = [], {}, {}
    for low, high in ((200, 200), (299, 65), (17, 16), (3, -40), (-40, 100), (0, 0)):
        for mode in ("reflect", "edge"):
            name = f"{mode}.{low}.{high}"
            inner = x[..., max(-low, 0):x.shape[-1] + min(high, 0)]
            outputs[name] = np.pad(inner, [(0, 0), (0, 0), (max(low, 0), max(high, 0))], mode)
            initializers[f"{name}.pads"] = np.int64([0, 0, low, 0, 0, high])
            nodes.append(node("Pad", ["x", f"{name}.pads"], [name], mode=mode))
    checks.check("pads", nodes, {"x": x}, outputs, initializers=initializers, peer=False)  # onnxruntime reflects what is cut, too
    # A cut of more elements than there are: the standard does not say what it leaves.
    for low, high in ((-5, 4), (4, -5)):
        checks.refuse(f"cut_{low}_{high}", f"pads [{low}, {high}] do not fit shape [3]", [node("Pad", ["x", "pads"], ["y"])], {"x": np.ones(3, "f4")},
                      {"y": np.ones(2, "f4")}, initializers={"pads": np.int64([low, high])})


def activations(checks):
    x = np.float32([-3.5, -1, -0.25, 0, 0.25, 1, 3.5])
    wide = np.float64(x)
    nodes, outputs = [], {}
    for alpha in (-1.0, -2.5, 0.5, 2.0):
        nodes.append(node("Celu", ["x"], [f"celu{alpha}"], alpha=alpha))
        outputs[f"celu{alpha}"] = (np.maximum(wide, 0) + np.minimum(0, alpha * np.expm1(wide / alpha))).astype("f4")
    for lambd in (-1.0, -0.25, 0.5):
        nodes.append(node("Shrink", ["x"], [f"shrink{lambd}"], lambd=lambd, bias=0.5))
        outputs[f"shrink{lambd}"] = np.where(x < -lambd, x + 0.5, np.where(x > lambd, x - 0.5, 0)).astype("f4")
    checks.check("activations", nodes, {"x": x}, outputs, 2e-6)


def integer_activations(checks):
    whole = np.int32([-3, 0, 2, 2 ** 30, -2 ** 30])
    nodes, outputs = [], {}
    for kind in ("i1", "i2", "i4", "i8"):
        cast = node("Cast", ["whole"], [f"whole.{kind}"], to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))
        nodes += [cast, node("Relu", [f"whole.{kind}"], [f"relu.{kind}"])]
        outputs[f"relu.{kind}"] = np.maximum(whole.astype(kind), 0)
    checks.check("integers", nodes, {"whole": whole}, outputs, peer=False)  # onnxruntime has no Relu of most of them


def pooled_indices(checks):
    """Padding is no element: a window that holds nothing but -infinity has the index of its first element."""
    low = -np.inf
    rows = np.float32([[[low, low, 1, 2, low, low], [low, 5, low, low, low, low]]])
    indices = np.int64([[[0, 2, 3, 5], [6, 7, 9, 11]]])
    checks.check("indices", [node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2], strides=[2], pads=[1, 1])], {"x": rows},
                 {"y": np.float32([[[low, 1, 2, low], [low, 5, low, low]]]), "i": indices}, opset=22)


def pooled_bytes(checks):
    """Quantized networks pool 8-bit integers."""
    for kind, pads in (("u1", [1, 0]), ("i1", [0, 1])):
        x = np.random.default_rng(1).integers(np.iinfo(kind).min, np.iinfo(kind).max, (1, 2, 9), kind, endpoint=True)
        padded = np.pad(x, [(0, 0), (0, 0), pads], constant_values=np.iinfo(kind).min)
        want = np.maximum(padded[..., 0::2], padded[..., 1::2])
        checks.check(f"bytes_{kind}", [node("MaxPool", ["x"], ["y"], kernel_shape=[2], strides=[2], pads=pads)], {"x": x}, {"y": want}, opset=22)


def large_scales(checks):
    """What normalizes broadcasts to the input, and not the other way; since opset 21 groups have no scales of their own."""
    x, scale = np.ones(3, "f4"), {"scale": np.ones((2, 3), "f4")}
    for operator in ("LayerNormalization", "RMSNormalization"):
        checks.refuse(operator, "must broadcast to the input [3]", [node(operator, ["x", "scale"], ["y"])], {"x": x}, {"y": x}, initializers=scale, opset=23)
    x, ones = np.random.default_rng(2).standard_normal((1, 4, 3)).astype("f4"), {"scale": np.ones(2, "f4"), "shift": np.zeros(2, "f4")}
    nodes = [node("GroupNormalization", ["x", "scale", "shift"], ["y"], num_groups=2)]
    rows = np.float64(x).reshape(1, 2, 6)
    want = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    checks.check("groups_18", nodes, {"x": x}, {"y": want.reshape(x.shape).astype("f4")}, 1e-5, initializers=ones, opset=18)
    checks.refuse("groups_21", "node producing 'y' (GroupNormalization)", nodes, {"x": x}, {"y": x}, initializers=ones, opset=21)


def sequence_lengths(checks):
    """None is below 0 or beyond the sequence, whether it is known or given."""
    draw = np.random.default_rng(4).standard_normal
    x, weights = draw((4, 2, 3)).astype("f4"), {"w": draw((1, 5, 3)).astype("f4"), "r": draw((1, 5, 5)).astype("f4")}
    nodes = [node("RNN", ["x", "w", "r", "", "lengths"], ["y"], hidden_size=5)]
    y = np.zeros(1, "f4")
    for name, lengths in (("beyond", [1, 5]), ("below", [-1, 4])):
        wrong = {"lengths": np.int32(lengths)}
        checks.refuse(f"lengths_{name}", f"sequence_lens holds {lengths[1] if name == 'beyond' else lengths[0]}; expected 0 to 4", nodes, {"x": x}, {"y": y},
                      initializers=weights | wrong)
        got = checks.run(checks.model(f"given_{name}", nodes, {"x": x} | wrong, {"y": y}, initializers=weights), {"x": x} | wrong, ["y"])
        checks.note(f"given_lengths_{name}", "" if isinstance(got, str) and "expected 0 to 4" in got else f"expected a refusal, got {got}")
    # Of 2^40 samples, in a file of some bytes: the shape is looked at first.
    far = [node("ConstantOfShape", ["many"], ["lengths"], value=helper.make_tensor("v", 6, [1], [3]))]
    checks.refuse("lengths_many", "sequence_lens", far + nodes, {"x": x}, {"y": y}, initializers=weights | {"many": np.int64([2 ** 40])})


def unpooled_indices(checks):
    """Indices count in the whole tensor. Those of another channel, and those below zero, are none of the channel's."""
    x = np.float32([[[1, 2], [3, 4]]])
    nodes = [node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2], strides=[2])]
    right = np.int64([[[0, 3], [5, 6]]])
    checks.check("unpool", nodes, {"x": x, "i": right}, {"y": np.float32([[[1, 0, 0, 2], [0, 3, 4, 0]]])}, opset=22)
    for name, wrong in (("other", [[[0, 3], [1, 6]]]), ("negative", [[[-1, 3], [5, 6]]]), ("beyond", [[[0, 3], [5, 8]]])):
        got = checks.run(checks.model(f"unpool_{name}", nodes, {"x": x, "i": right}, {"y": x}, opset=22), {"x": x, "i": np.int64(wrong)}, ["y"])
        checks.note(f"unpool_{name}", "" if isinstance(got, str) and "out of range" in got else f"expected a refusal, got {got}")


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    for part in (pads, activations, integer_activations, pooled_indices, pooled_bytes, large_scales, sequence_lengths, unpooled_indices):
        part(all_checks)
    all_checks.end()
