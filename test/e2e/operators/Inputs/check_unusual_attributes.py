"""Operators whose attributes, sizes or types are seldom those: long pads, alpha and lambd below zero, activations of integers, indices of a pooling
whose windows hold nothing but -infinity.

  check_unusual_attributes.py FOLDER
"""
import pathlib
import sys

import numpy as np
from onnx import helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from small_models import Checks, command  # noqa: E402

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


def integer_sums(checks):
    """Sums are exact, and wrap around; roots, logarithms and broken factors are taken in f64, and truncated."""
    whole = np.int32([[3, -4, 5], [2 ** 17, 7, 9], [0, 2, 3], [-2, 0, 6]])
    nodes, outputs, wide = [node("Cast", ["whole"], ["long"], to=7)], {}, whole.astype("f8")
    wants = {"ReduceL1": abs(wide).sum(1), "ReduceL2": np.sqrt((wide ** 2).sum(1)), "ReduceLogSum": np.log(wide.sum(1)),
             "ReduceLogSumExp": np.log(np.exp(np.where(wide > 100, 0, wide)).sum(1)), "ReduceSumSquare": (whole.astype("i8") ** 2).sum(1)}
    wants["ReduceLogSumExp"][1] = 2 ** 17
    for operator, want in wants.items():
        for source, kind in (("whole", "i4"), ("long", "i8")):
            nodes.append(node(operator, [source, "axes"], [f"{operator}.{source}"], keepdims=0))
            outputs[f"{operator}.{source}"] = want.astype(kind) if want.dtype.kind == "f" else want.astype("i8").astype(kind)
    nodes += [node("Shrink", ["whole"], ["shrink"], lambd=2.5, bias=1.5), node("Einsum", ["long", "long"], ["einsum"], equation="ab,cb->ca")]
    outputs["shrink"] = np.trunc(np.where(wide < -2.5, wide + 1.5, np.where(wide > 2.5, wide - 1.5, 0))).astype("i4")
    outputs["einsum"] = whole.astype("i8") @ whole.T.astype("i8")
    peer = {key: want for key, want in outputs.items() if key != "ReduceSumSquare.whole"}  # onnxruntime saturates it
    checks.check("integer_sums", nodes, {"whole": whole}, peer, initializers={"axes": np.int64([1])}, opset=18)
    nodes += [node("Gemm", ["whole", "whole", "row"], ["gemm"], transB=1), node("Gemm", ["long", "long"], ["gemm_scaled"], transA=1, alpha=0.5),
              node("PRelu", ["whole", "row.short"], ["prelu"])]
    outputs["gemm"] = whole @ whole.T + np.int32([[1, -2, 3, 4]])
    outputs["gemm_scaled"] = np.trunc((whole.T.astype("i8") @ whole) * 0.5).astype("i8")
    outputs["prelu"] = np.where(whole > 0, whole, whole * np.int32([1, -2, 3]))
    for kind in ("u1", "i1", "i2"):
        narrow = whole.astype(kind)
        nodes += [node("Cast", ["whole"], [kind], to=helper.np_dtype_to_tensor_dtype(np.dtype(kind))),
                  node("Einsum", [kind, kind], [f"einsum.{kind}"], equation="ab,cb->ac")]
        outputs[f"einsum.{kind}"] = narrow @ narrow.T
    known = {"axes": np.int64([1]), "row": np.int32([[1, -2, 3, 4]]), "row.short": np.int32([1, -2, 3])}
    checks.check("integer_products", nodes, {"whole": whole}, outputs, initializers=known, opset=18, peer=False)  # onnxruntime has none of them


def integer_images(checks):
    """Picked pixels and sums of columns have any type; between pixels, programs round integers in different ways."""
    image, grid = np.int32([[[[1, -2], [3, 400]]]]), np.float32([[[[-1, -1], [0.9, 0.8], [0.4, -0.6], [3, 0]]]])
    columns = np.random.default_rng(5).integers(-100, 100, (1, 4, 4), "i4")
    nodes, outputs = [], {}
    sums = np.zeros((1, 1, 3, 3), "i4")
    for place, (row, column) in enumerate(np.ndindex(2, 2)):
        sums[0, 0, row:row + 2, column:column + 2] += columns[0, place].reshape(2, 2)
    for kind in ("u1", "i1", "i8"):
        to = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        nodes += [node("Cast", ["image"], [f"image.{kind}"], to=to), node("Cast", ["columns"], [f"columns.{kind}"], to=to),
                  node("GridSample", [f"image.{kind}", "grid"], [f"grid.{kind}"], mode="nearest", align_corners=1),
                  node("Col2Im", [f"columns.{kind}", "whole", "block"], [f"sums.{kind}"])]
        outputs |= {f"grid.{kind}": np.int32([[[[1, 400, -2, 0]]]]).astype(kind), f"sums.{kind}": sums.astype(kind)}
    known = {"whole": np.int64([3, 3]), "block": np.int64([2, 2])}
    given = {"image": image, "grid": grid, "columns": columns}
    checks.check("integer_images", nodes, given, outputs, initializers=known, opset=20, peer=False)  # onnxruntime has none of them
    advice = "put a Cast to float before it, and one back after it"
    checks.refuse("resize", advice, [node("Resize", ["image", "", "scales"], ["y"], mode="linear")], {"image": image}, {"y": image},
                  initializers={"scales": np.float32([1, 1, 2, 2])}, opset=20)
    checks.refuse("grid", advice, [node("GridSample", ["image", "grid"], ["y"])], {"image": image, "grid": grid}, {"y": image}, opset=20)


def unlike_sizes(checks):
    """A letter of size 1 broadcasts, whether an ellipsis or the equation has it; no size but 1 does."""
    draw = np.random.default_rng(6).standard_normal
    x, y, none = draw((3, 1)).astype("f4"), draw((4, 5)).astype("f4"), np.zeros((0, 2), "f4")
    nodes = [node("Einsum", ["x", "y"], ["product"], equation="ab,bc->ac"), node("Einsum", ["row", "none"], ["empty"], equation="...a,...a->...")]
    given = {"x": x, "y": y, "row": draw((1, 2)).astype("f4"), "none": none}
    checks.check("letters", nodes, given, {"product": np.einsum("ab,bc->ac", x, y), "empty": np.zeros(0, "f4")}, 1e-5, peer=False)
    for name, equation in (("letters_2", "ab,ab->a"), ("diagonal", "ab,cc->a")):
        checks.refuse(name, "stands for sizes", [node("Einsum", ["x", "y"], ["z"], equation=equation)], given, {"z": x})
    # A C that beta leaves away has a shape, too.
    checks.refuse("gemm", "does not broadcast to [3, 5]", [node("Gemm", ["x", "row.of.y", "c"], ["z"], beta=0.0)], {"x": x}, {"z": x},
                  initializers={"row.of.y": y[:1], "c": np.zeros(7, "f4")})


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


def wide_windows(checks):
    """Of more channels than there are, and of many."""
    x = np.random.default_rng(5).standard_normal((2, 150, 3)).astype("f4")
    nodes, outputs = [], {}
    for size in (1, 4, 64, 65, 100, 1001):
        squares = np.pad(np.float64(x) ** 2, [(0, 0), ((size - 1) // 2, size // 2), (0, 0)])
        sums = np.stack([squares[:, i:i + size].sum(1) for i in range(150)], 1)
        nodes.append(node("LRN", ["x"], [f"y{size}"], size=size, alpha=0.5, beta=0.6, bias=1.5))
        outputs[f"y{size}"] = (x / (1.5 + 0.5 / size * sums) ** 0.6).astype("f4")
    checks.check("windows", nodes, {"x": x}, outputs, 1e-5, peer=False)  # onnxruntime has odd windows alone


def channels(checks):
    """One dimension is samples of one channel; statistics may have a type of their own."""
    x, one = np.float32([1, -2, 4]), np.ones(1, "f4")
    norm = node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], epsilon=0.0)
    checks.check("rank_1", [norm], {"x": x}, {"y": (x - 3) / 2 * 5 + 2}, initializers={"s": 5 * one, "b": 2 * one, "m": 3 * one, "v": 4 * one}, peer=False)
    x, pair = np.float16([[[1, -2, 4], [3, 5, 7]]]), np.float32([3, 4])
    want = (x - pair[:, None]) / np.sqrt(pair[:, None]) * pair[:, None] + pair[:, None]
    checks.check("mixed", [norm], {"x": x}, {"y": want.astype("f2")}, 2e-3, initializers={name: pair for name in "sbmv"})


def nothing_padded(checks):
    """A dimension of no elements that gets none."""
    x, y = np.zeros((2, 0), "f4"), np.float32([1, 2])
    nodes = [node("Pad", ["x", "pads"], [mode], mode=mode) for mode in ("edge", "reflect")] + [node("Neg", ["y"], ["z"])]
    checks.check("nothing_padded", nodes, {"x": x, "y": y}, {"edge": np.zeros((4, 0), "f4"), "reflect": np.zeros((4, 0), "f4"), "z": -y}, peer=False,
                 initializers={"pads": np.int64([1, 0, 1, 0])})


def dropout_ratios(checks):
    """Inference does not use the ratio."""
    x = np.float32([1, 2])
    checks.check("ratio", [node("Dropout", ["x", "r"], ["y"])], {"x": x, "r": np.array(0.5, "f4")}, {"y": x})


def long_transforms(checks):
    """Of lengths whose matrices are too many in two rounds; and of no signals."""
    random = np.random.default_rng(6)
    power, odd = random.standard_normal((2, 65536, 2)).astype("f4"), random.standard_normal((1, 997 * 33, 1)).astype("f4")
    parts = lambda z: np.stack([z.real, z.imag], -1).astype("f4")
    z = np.float64(power[..., 0]) + 1j * np.float64(power[..., 1])
    for inverse, want in ((0, np.fft.fft(z) / 256), (1, np.fft.ifft(z) * 256)):
        factor = np.float32(1 / 256 if not inverse else 256)
        checks.check(f"power_{inverse}", [node("DFT", ["x", "", "one"], ["f"], inverse=inverse), node("Mul", ["f", "c"], ["y"])], {"x": power},
                     {"y": parts(want)}, 2e-5, opset=20, initializers={"one": np.int64(1), "c": factor}, peer=False)
    checks.check("odd", [node("DFT", ["x", "", "one"], ["y"], onesided=1)], {"x": odd}, {"y": parts(np.fft.rfft(np.float64(odd[..., 0])))}, 2e-3, opset=20,
                 initializers={"one": np.int64(1)}, peer=False)
    nothing, y = np.zeros((0, 20, 1), "f4"), np.float32([1, 2])
    checks.check("no_signals", [node("STFT", ["x", "step", "", "length"], ["f"]), node("Neg", ["y"], ["z"])], {"x": nothing, "y": y},
                 {"f": np.zeros((0, 4, 5, 2), "f4"), "z": -y}, initializers={"step": np.int64(4), "length": np.int64(8)}, peer=False)


def windows_on_nothing(checks):
    """A convolution whose windows lie in the padding."""
    x, y, bias = np.zeros((1, 2, 0), "f4"), np.float32([1, 2]), np.float32([1, 2, 3])
    checks.check("nothing", [node("Conv", ["x", "w", "b"], ["c"], pads=[2, 2]), node("Neg", ["y"], ["z"])], {"x": x, "y": y},
                 {"c": np.tile(bias[:, None], (1, 1, 3)), "z": -y}, initializers={"w": np.ones((3, 2, 2), "f4"), "b": bias}, peer=False)


def wrong_biases(checks):
    """Zeros of a wrong shape are as wrong as other numbers."""
    x, w = np.ones((1, 2, 4), "f4"), np.ones((3, 2, 2), "f4")
    zeros = node("Constant", [], ["b"], value=numpy_helper.from_array(np.zeros(7, "f4")))
    checks.refuse("bias", "the bias must have shape [3]; got [7]", [zeros, node("Conv", ["x", "w", "b"], ["y"])], {"x": x}, {"y": x}, initializers={"w": w})


def quotients(checks):
    """QuantizeLinear divides in the type that `precision` names: some quotients of f16 are rounded to another integer than those of f32."""
    x, scale, zero = np.random.default_rng(7).uniform(0, 1, 4000).astype("f2"), np.float16(0.00453), np.uint8(3)
    nodes, outputs = [], {}
    for precision in (0, 1, 10, 11):
        kind = {10: "f2", 11: "f8"}.get(precision, "f4")
        nodes.append(node("QuantizeLinear", ["x", "scale", "zero"], [f"y{precision}"], precision=precision))
        outputs[f"y{precision}"] = np.clip(np.rint(np.float64(x.astype(kind) / scale.astype(kind))) + 3, 0, 255).astype("u1")
    assert (outputs["y1"] != outputs["y10"]).any()
    known = {"scale": scale, "zero": zero}
    checks.check("quotients", nodes, {"x": x}, outputs, initializers=known, opset=23, peer=False)  # onnxruntime always divides in f32
    checks.refuse("quotient_type", "`precision` INT64 (7) is not supported", [node("QuantizeLinear", ["x", "scale", "zero"], ["y"], precision=7)], {"x": x},
                  {"y": outputs["y1"]}, initializers=known, opset=23)
    checks.refuse("two_types", "`output_dtype` INT8 (3) is not the type of the zero point",
                  [node("QuantizeLinear", ["x", "scale", "zero"], ["y"], output_dtype=3)], {"x": x}, {"y": outputs["y1"]}, initializers=known, opset=23)
    # A block larger than the axis: one scale for all of it.
    row, scales = np.float32([[1, -2, 3], [4, 5, -60]]), np.float32([[0.5], [0.25]])
    checks.check("large_block", [node("QuantizeLinear", ["row", "scales"], ["y"], block_size=5, output_dtype=3)], {"row": row},
                 {"y": np.clip(row / scales, -128, 127).astype("i1")}, initializers={"scales": scales}, opset=21, peer=False)


def training_forms(checks):
    """A note says that inference takes the running statistics of a file that is in training form."""
    x, one = np.ones((2, 1, 3), "f4"), np.ones(1, "f4")
    for mode in (0, 1):
        nodes = [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "m1", "v1"][:1 + 2 * mode], training_mode=mode)]
        path = checks.model(f"form_{mode}", nodes, {"x": x}, {"y": x}, initializers={"s": one, "b": one, "m": one, "v": one})
        said = "is in training form" in command("cleave", "compile", path, "-o", path.with_suffix("")).stderr
        checks.note(f"form_{mode}", "" if said == bool(mode) else f"note: {said}, training_mode: {mode}")


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    for part in (pads, activations, integer_activations, integer_sums, integer_images, unlike_sizes, pooled_indices, pooled_bytes, large_scales, sequence_lengths, unpooled_indices,
                 wide_windows, channels, nothing_padded, dropout_ratios, long_transforms, windows_on_nothing, wrong_biases, quotients,
                 training_forms):
        part(all_checks)
    all_checks.end()
