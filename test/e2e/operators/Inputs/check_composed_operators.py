"""Operators that the importer composes: results against onnxruntime or the standard's reference, gradients against central differences of it.

  check_composed_operators.py FOLDER [NAME...]

All cases are one model. A case's reference is numpy in float64 (REFERENCES) where the standard's own evaluator has none in float64. Gradients are
those of the sum of each result times random weights.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

RANDOM = np.random.default_rng(7)


def normal(*shape):
    return RANDOM.standard_normal(shape).astype("f4")


def apart(*shape):
    """Numbers of which no two are near each other: central differences do not change which one is the largest."""
    return (RANDOM.permutation(int(np.prod(shape))).reshape(shape) * 0.37 - 5).astype("f4")


def integers(low, high, *shape):
    return RANDOM.integers(low, high, shape)


class Case:
    """`varied`: inputs with gradients. `known`: whether the others are constants of the file; else they are inputs. `bound`: of results."""

    def __init__(self, name, operator, inputs, varied=(0,), opset=20, outputs=1, known=True, reference=None, runtime=True, bound=1e-5, shapes=None,
                 **attributes):
        self.name, self.operator, self.varied, self.opset, self.outputs = name, operator, varied, opset, outputs
        self.inputs = [np.asarray(array) if array is not None else None for array in inputs]
        self.known, self.reference, self.runtime, self.bound, self.attributes = known, reference, runtime, bound, attributes

    def node(self, inputs, outputs):
        return helper.make_node(self.operator, inputs, outputs, name=self.name, **self.attributes)

    def alone(self, run, arrays):
        names = [f"i{i}" if array is not None else "" for i, array in enumerate(arrays)]
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, arrays) if a is not None]
        outputs = [f"o{i}" for i in range(self.outputs)]
        graph = helper.make_graph([self.node(names, outputs)], "g", infos, [helper.make_empty_tensor_value_info(o) for o in outputs])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=min(10, onnx.IR_VERSION))
        return run(model, {n: a for n, a in zip(names, arrays) if a is not None})

    def expected(self):
        # On processors without VNNI onnxruntime adds products of 8-bit numbers in 16 bits, which saturate.
        if not self.runtime or self.operator in ("MatMulInteger", "QLinearMatMul", "QLinearConv"):
            return self.exact(self.inputs)
        return self.alone(lambda m, feeds: onnxruntime.InferenceSession(m.SerializeToString()).run(None, feeds), self.inputs)

    def exact(self, arrays):
        wide = [np.float64(a) if a is not None and a.dtype == np.float32 else a for a in arrays]
        if self.reference:
            result = self.reference(*wide, **self.attributes)
            return result if isinstance(result, list) else [result]
        return self.alone(lambda m, feeds: ReferenceEvaluator(m).run(None, feeds), wide)


# ---- references in float64, where onnx.reference has none

def windows_of(x, kernel, strides, pads, dilations, fill):
    """[n, c, places..., kernel...]"""
    dims = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0)] + [(pads[i], pads[dims + i]) for i in range(dims)], constant_values=fill)
    counts = [(x.shape[2 + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(dims)]
    out = np.empty((*x.shape[:2], *counts, *kernel))
    for place in np.ndindex(*counts):
        for at in np.ndindex(*kernel):
            out[(slice(None), slice(None), *place, *at)] = x[(slice(None), slice(None), *[place[i] * strides[i] + at[i] * dilations[i] for i in range(dims)])]
    return out


def lp_pool(x, kernel_shape, p=2, strides=None, pads=None, dilations=None):
    dims = len(kernel_shape)
    w = windows_of(x, kernel_shape, strides or [1] * dims, pads or [0] * 2 * dims, dilations or [1] * dims, 0)
    return (np.abs(w) ** p).sum(tuple(range(-dims, 0))) ** (1 / p)


def global_lp_pool(x, p=2):
    return (np.abs(x) ** p).sum(tuple(range(2, x.ndim)), keepdims=True) ** (1 / p)


def reverse_sequence(x, lengths, batch_axis=1, time_axis=0):
    y = np.moveaxis(x, (batch_axis, time_axis), (0, 1)).copy()
    for i, n in enumerate(lengths):
        y[i, :n] = y[i, :n][::-1]
    return np.moveaxis(y, (0, 1), (batch_axis, time_axis))


def cumulative_product(x, axis, exclusive=0, reverse=0):
    x = np.moveaxis(np.flip(x, axis) if reverse else x, axis, 0)
    y = np.cumprod(np.concatenate([np.ones_like(x[:1]), x[:-1]]) if exclusive else x, 0)
    y = np.moveaxis(y, 0, axis)
    return np.flip(y, axis) if reverse else y


def cubic(distance, a=-0.75):
    d = np.abs(distance)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def padded(at, size, padding, align):
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
        far = np.abs(at - low)
        at = np.where(np.floor(far / span) % 2 == 0, far - np.floor(far / span) * span, span - (far - np.floor(far / span) * span)) + low
    return at if padding == "zeros" else np.clip(at, 0, size - 1)


def grid_sample(image, grid, mode="linear", padding_mode="zeros", align_corners=0):
    dims, sizes = image.ndim - 2, image.shape[2:]
    taps = []
    for d in range(dims):
        at, size = grid[..., dims - 1 - d], sizes[d]
        at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        if mode == "cubic":
            taps.append([(padded(np.floor(at) + k, size, padding_mode, align_corners), cubic(at - np.floor(at) - k)) for k in (-1, 0, 1, 2)])
            continue
        at = padded(at, size, padding_mode, align_corners)
        taps.append([(np.rint(at), np.ones_like(at))] if mode == "nearest" else
                    [(np.floor(at) + k, at - np.floor(at) if k else 1 - at + np.floor(at)) for k in (0, 1)])
    total = 0
    for chosen in np.ndindex(*[len(t) for t in taps]):
        here, weight, index = True, 1, []
        for d, k in enumerate(chosen):
            pixel, w = taps[d][k]
            here, weight = here & (pixel >= 0) & (pixel < sizes[d]), weight * w
            index.append(np.clip(pixel, 0, sizes[d] - 1).astype(int))
        values = np.stack([image[n][(slice(None), *[i[n] for i in index])] for n in range(len(image))])
        total = total + values * (weight * here)[:, None]
    return total


def affine_grid(theta, size, align_corners=0):
    axes = [np.linspace(-1, 1, n) if align_corners else (2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
    places = np.stack([*np.meshgrid(*axes, indexing="ij")][::-1] + [np.ones(tuple(size[2:]))], -1)
    return np.einsum("nij,...j->n...i", theta, places)


def rois_aligned(x, rois, images, output_height, output_width, sampling_ratio, spatial_scale=1.0, mode="avg",
                 coordinate_transformation_mode="half_pixel"):
    out, s = np.zeros((len(rois), x.shape[1], output_height, output_width)), sampling_ratio
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0

    def around(at, size):
        if at < -1 or at > size:
            return []
        at = min(max(at, 0), size - 1)
        low = min(int(at), max(size - 2, 0))
        return [(low, 1 - (at - low)), (min(low + 1, size - 1), at - low)]
    for r, (x1, y1, x2, y2) in enumerate(rois * spatial_scale - shift):
        wide, high = x2 - x1, y2 - y1
        if shift == 0:
            wide, high = max(wide, 1), max(high, 1)
        for i, j in np.ndindex(output_height, output_width):
            values = []
            for a, b in np.ndindex(s, s):
                corners = [x[images[r], :, p, q] * u * v for p, u in around(y1 + (i + (a + 0.5) / s) * high / output_height, x.shape[2])
                           for q, v in around(x1 + (j + (b + 0.5) / s) * wide / output_width, x.shape[3])] or [0 * x[0, :, 0, 0]]
                values.append(sum(corners) if mode == "avg" else np.max(corners, 0))
            out[r, :, i, j] = np.mean(values, 0) if mode == "avg" else np.max(values, 0)
    return out


def short_time(signal, step, window, length=None, onesided=1):
    n = len(window) if window is not None else int(length)
    frames = [signal[:, i:i + n] for i in range(0, signal.shape[1] - n + 1, int(step))]
    z = np.stack(frames, 1)
    z = z[..., 0] + (1j * z[..., 1] if z.shape[-1] == 2 else 0)
    z = np.fft.fft(z * (window if window is not None else 1), axis=2)
    z = z[:, :, :n // 2 + 1] if onesided else z
    return np.stack([z.real, z.imag], -1)


def columns_to_image(x, image, block, strides=None, pads=None, dilations=None):
    dims = len(image)
    strides, pads, dilations = strides or [1] * dims, pads or [0] * 2 * dims, dilations or [1] * dims
    whole = np.zeros((x.shape[0], x.shape[1] // int(np.prod(block)), *[image[i] + pads[i] + pads[dims + i] for i in range(dims)]))
    counts = [(whole.shape[2 + i] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(dims)]
    x = x.reshape(*whole.shape[:2], *block, *counts)
    for at in np.ndindex(*block):
        for place in np.ndindex(*counts):
            whole[(slice(None), slice(None), *[place[i] * strides[i] + at[i] * dilations[i] for i in range(dims)])] += x[(slice(None), slice(None), *at, *place)]
    return whole[(slice(None), slice(None), *[slice(pads[i], pads[i] + image[i]) for i in range(dims)])]


def regions():
    return np.float32([[0.3, 0.2, 4.7, 3.9], [1.1, 0.4, 6.3, 5.2], [-2.0, -1.5, 3.3, 2.1]])


def grid_cases():
    for dims, mode in [(2, "cubic"), (3, "linear"), (3, "nearest")]:
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                sizes, places = ((4, 5), (3, 2)) if dims == 2 else ((3, 4, 2), (2, 3, 2))
                grid = RANDOM.uniform(-1.9, 1.9, (2, *places, dims)).astype("f4")
                yield Case(f"grid-{mode}{dims}-{padding}-{align}", "GridSample", [normal(2, 3, *sizes), grid], (0, 1) if mode != "nearest" else (0,),
                           reference=grid_sample, runtime=dims == 2 or mode == "linear", bound=2e-5, mode=mode, padding_mode=padding, align_corners=align)


def quantization_cases():
    byte = integers(0, 256, 3, 4, 5).astype(np.uint8)
    small = integers(-128, 128, 3, 4, 5).astype(np.int8)
    scale, zero = np.float32([0.02, 0.5, 0.11, 0.3]), np.int8([3, -7, 0, 120])
    yield Case("quantize", "QuantizeLinear", [normal(3, 4, 5) * 3, np.float32(0.02), np.uint8(120)], ())
    yield Case("quantize-axis", "QuantizeLinear", [normal(3, 4, 5) * 9, scale, zero], (), axis=1)
    yield Case("quantize-blocks", "QuantizeLinear", [normal(3, 4, 5) * 9, np.abs(normal(3, 4, 3)) + 0.1, np.zeros((3, 4, 3), np.int8)], (), opset=21, axis=2, block_size=2)
    yield Case("dequantize", "DequantizeLinear", [byte, np.float32(0.02), np.uint8(120)], (1,))
    yield Case("dequantize-axis", "DequantizeLinear", [small, scale, zero], (1,), axis=-2)
    yield Case("dequantize-i32", "DequantizeLinear", [integers(-9999, 9999, 3, 4).astype(np.int32), np.float32(0.02)], (1,))
    yield Case("dynamic", "DynamicQuantizeLinear", [normal(3, 4) * 2], (), outputs=3)
    a, b = integers(0, 256, 2, 5, 300).astype(np.uint8), integers(-128, 128, 300, 6).astype(np.int8)
    yield Case("matmul-integer", "MatMulInteger", [a, b, np.uint8(77), np.int8(-5)], ())
    yield Case("matmul-integer-short", "MatMulInteger", [a[:, :, :20], b[:20]], ())
    yield Case("matmul-q", "QLinearMatMul", [a, np.float32(0.02), np.uint8(77), b, np.float32(0.01), np.int8(-5), np.float32(0.9), np.uint8(120)], ())
    x, w = integers(0, 256, 2, 6, 7, 7).astype(np.uint8), integers(-128, 128, 4, 6, 3, 3).astype(np.uint8)
    yield Case("conv-integer", "ConvInteger", [x, w, np.uint8(100)], (), pads=[1, 1, 1, 1], strides=[2, 1])
    yield Case("conv-q", "QLinearConv", [x, np.float32(0.02), np.uint8(100), w.view(np.int8), np.float32([0.01, 0.02, 0.005, 0.03]), np.zeros(4, np.int8), np.float32(3.1),
                                         np.uint8(90), integers(-4000, 4000, 4).astype(np.int32)], (), pads=[0, 1, 1, 0])


def cases():
    yield Case("lp-pool", "LpPool", [normal(2, 3, 9)], reference=lp_pool, kernel_shape=[3], p=3, strides=[2])
    yield Case("lp-pool-2", "LpPool", [normal(2, 3, 6, 7)], reference=lp_pool, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    yield Case("lp-pool-1", "LpPool", [normal(2, 3, 6, 7)], reference=lp_pool, kernel_shape=[2, 2], p=1, dilations=[2, 3])
    yield Case("global-lp-pool", "GlobalLpPool", [normal(2, 3, 4, 5)], reference=global_lp_pool, p=2)
    yield Case("global-lp-pool-4", "GlobalLpPool", [normal(2, 3, 7)], reference=global_lp_pool, p=4)
    yield Case("reverse", "ReverseSequence", [normal(5, 4, 2), np.int64([5, 0, 3, 1])], reference=reverse_sequence)
    yield Case("reverse-batch", "ReverseSequence", [normal(4, 5), np.int64([2, 5, 1, 4])], known=False, reference=reverse_sequence, batch_axis=0, time_axis=1)
    yield Case("crop-pad", "CenterCropPad", [normal(5, 4, 3), np.int64([2, 7, 3])], runtime=False)
    yield Case("crop-axes", "CenterCropPad", [normal(5, 4, 3), np.int64([9, 2])], runtime=False, axes=[-1, 0])
    yield Case("compress", "Compress", [normal(4, 5), np.array([True, False, True, True])], axis=1)
    yield Case("compress-flat", "Compress", [normal(3, 2), np.array([False, True, False, False, True])])
    yield Case("compress-run", "Compress", [normal(3, 5), np.array([False, True, True, True])], axis=-1)
    yield Case("scatter-cache", "TensorScatter", [normal(3, 6, 2), normal(3, 2, 2), np.int64([0, 4, 1])], (0, 1), opset=24, runtime=False)
    yield Case("scatter-circular", "TensorScatter", [normal(3, 2, 6, 2), normal(3, 2, 3, 2), np.int64([5, 0, 4])], (0, 1), opset=24, runtime=False, known=False, mode="circular")
    yield Case("scatter-axis", "TensorScatter", [normal(3, 6, 2), normal(3, 4, 2)], (0, 1), opset=24, runtime=False, axis=1)
    yield Case("fold", "Col2Im", [normal(2, 3 * 4, 12), np.int64([4, 5]), np.int64([2, 2])], reference=columns_to_image)
    yield Case("fold-padded", "Col2Im", [normal(2, 2 * 6, 6), np.int64([5, 7]), np.int64([2, 3])], reference=columns_to_image, strides=[2, 3], pads=[1, 0, 0, 2], dilations=[2, 1])
    yield Case("fold-1", "Col2Im", [normal(2, 3, 5), np.int64([7]), np.int64([3])], reference=columns_to_image)
    indices = np.int64([[[[5, 7], [13, 15]], [[16, 22], [24, 31]]]])
    yield Case("unpool", "MaxUnpool", [normal(1, 2, 2, 2), indices], kernel_shape=[2, 2], strides=[2, 2])
    yield Case("unpool-shape", "MaxUnpool", [normal(1, 2, 2, 2), indices, np.int64([1, 2, 5, 6])], runtime=False, kernel_shape=[2, 2], strides=[2, 2])
    yield Case("max-indices", "MaxPool", [apart(2, 3, 6, 7)], outputs=2, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    yield Case("max-indices-1", "MaxPool", [apart(2, 3, 9)], outputs=2, kernel_shape=[3], dilations=[2])
    yield Case("max-indices-3", "MaxPool", [apart(1, 2, 4, 3, 4)], outputs=2, kernel_shape=[2, 2, 2], strides=[2, 1, 2])
    yield Case("max-indices-columns", "MaxPool", [apart(2, 3, 4, 5)], outputs=2, kernel_shape=[2, 2], storage_order=1)
    yield Case("product", "CumProd", [normal(3, 5) + 1, np.int64(1)], opset=26, runtime=False, reference=cumulative_product)
    yield Case("product-zeros", "CumProd", [np.float32([[2, 0, 3, 4], [0, 5, 0, 2]]), np.int64(1)], opset=26, runtime=False, reference=cumulative_product)
    yield Case("product-reverse", "CumProd", [normal(4, 3), np.int64(0)], opset=26, runtime=False, reference=cumulative_product, exclusive=1, reverse=1)
    yield Case("product-long", "CumProd", [(normal(2, 150) * 0.05 + 1).astype("f4"), np.int64(1)], opset=26, runtime=False, reference=cumulative_product)
    yield Case("affine", "AffineGrid", [normal(2, 2, 3), np.int64([2, 3, 4, 5])], runtime=False, reference=affine_grid)
    yield Case("affine-3", "AffineGrid", [normal(2, 3, 4), np.int64([2, 1, 2, 3, 4])], runtime=False, reference=affine_grid, align_corners=1)
    yield from grid_cases()
    x = normal(2, 3, 6, 7)
    for mode in ("avg", "max"):
        yield Case(f"roi-{mode}", "RoiAlign", [x, regions(), np.int64([1, 0, 1])], (0, 1) if mode == "avg" else (0,), reference=rois_aligned, mode=mode,
                   output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.9)
    yield Case("roi-edges", "RoiAlign", [x, regions() * 2, np.int64([0, 0, 1])], (0,), reference=rois_aligned, output_height=3, output_width=2, sampling_ratio=1,
               coordinate_transformation_mode="output_half_pixel", known=False)
    signal, window = normal(2, 23, 1), np.hanning(6).astype("f4")
    yield Case("stft", "STFT", [signal, np.int64(4), window], (0, 2), reference=short_time)
    yield Case("stft-two-sided", "STFT", [signal, np.int64(3), None, np.int64(5)], (0,), reference=short_time, onesided=0)
    for size, name in [(1, "one"), (10, "ten")]:
        for kind in ("HannWindow", "HammingWindow", "BlackmanWindow"):
            for periodic in (0, 1):
                if size > 1 or periodic:
                    yield Case(f"{kind}-{name}-{periodic}", kind, [np.int64(size)], (), periodic=periodic, bound=2e-6)
    yield Case("mel", "MelWeightMatrix", [np.int64(8), np.int64(64), np.int64(8192), np.float32(10), np.float32(4000)], ())
    yield Case("wrap", "Pad", [normal(2, 3, 4), np.int64([0, 2, 1, 0, 1, 4])], mode="wrap")
    yield Case("wrap-often", "Pad", [normal(2, 3), np.int64([3, 5, 4, 7])], mode="wrap")
    yield Case("last-largest", "ArgMax", [np.float32([[1, 3, 3, 0], [2, 2, 2, 2]])], (), axis=1, select_last_index=1)
    yield Case("last-smallest", "ArgMin", [integers(0, 3, 4, 6)], (), axis=0, select_last_index=1)
    table = normal(9, 4)
    yield Case("rotary", "RotaryEmbedding", [normal(2, 3, 4, 8), table, normal(9, 4), integers(0, 9, 2, 4)], (0, 1, 2), opset=23, runtime=False)
    yield Case("rotary-3", "RotaryEmbedding", [normal(2, 4, 24), normal(2, 4, 2), normal(2, 4, 2)], (0, 1, 2), opset=23, runtime=False, num_heads=3,
               rotary_embedding_dim=4, interleaved=1)
    for n in (1, 2, 3, 5):
        yield Case(f"det-{n}", "Det", [normal(3, n, n)], reference=np.linalg.det)
    yield Case("det-swaps", "Det", [np.float32([[0, 2, 1], [3, 0, 1], [0, 0, 4]])], reference=np.linalg.det)
    # Of rank 0 to 3, with columns and rows of zeros: the gradients are the cofactors.
    low = [integers(-2, 3, 4, rank) @ integers(-2, 3, rank, 4) for rank in range(4)]
    corner, rows = np.diag([0, 2, 3, 0]), np.diag([2, 3, 4, 0])
    corner[0, 3] = 5
    yield Case("det-singular", "Det", [np.float32([*low, corner, rows, rows[::-1], rows.T[:, ::-1]])], reference=np.linalg.det)
    yield from strided_cases()
    yield Case("not", "BitwiseNot", [integers(-99, 99, 7)], ())
    yield Case("not-bytes", "BitwiseNot", [integers(0, 256, 7).astype(np.uint8)], ())
    for direction in ("LEFT", "RIGHT"):
        yield Case(f"shift-{direction}", "BitShift", [integers(0, 256, 3, 8).astype(np.uint8), np.arange(8).astype(np.uint8)], (), direction=direction)
    yield from quantization_cases()


def strided_cases():
    """Known indices at regular distances, as PyTorch's exporter writes as_strided; the last ones are such only almost, or overlap."""
    def places(start, *steps):
        return start + sum(np.expand_dims(np.arange(count) * distance, [d for d in range(len(steps)) if d != i])
                           for i, (count, distance) in enumerate(steps))
    windows = places(0, (2, 64), (2, 4), (2, 32), (4, 8), (4, 1))
    almost = windows.copy()
    almost[0, 1, 1, 1, 1] += 1
    for name, size, indices in [("windows", 128, windows), ("columns", 40, places(3, (2, 1), (1, 9), (3, 12))), ("odd", 47, places(7, (5, 9), (2, 3))),
                                ("large", 1200, places(0, (6, 4), (50, 24), (4, 1))), ("run", 9, places(2, (2, 3), (3, 1))), ("one", 7, places(5, (1, 3), (1, 1))),
                                ("almost", 129, almost), ("overlap", 12, places(0, (4, 2), (3, 1))), ("same", 5, places(1, (3, 0), (2, 2))),
                                ("backwards", 9, places(8, (3, -3), (2, -1))), ("beyond", 10, places(2, (2, 4), (2, 3)))]:
        yield Case(f"strided-{name}", "Gather", [normal(size), indices])
        if size < 100:
            yield Case(f"strided-rows-{name}", "Gather", [normal(2, size, 3), indices], axis=1)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def model_of(every, opset, all_known=False):
    """The cases as one graph. Parameters are 0 and added to constants, so that after one step they are the gradients, unrounded."""
    nodes, constants, inputs, outputs, sums = [], {}, {}, [], []
    for case in every:
        names = []
        for i, array in enumerate(case.inputs):
            name = f"{case.name}.{i}"
            names.append(name if array is not None else "")
            if array is None:
                continue
            if i in case.varied:
                constants.update({f"{name}.base": array, f"{name}.w": np.zeros_like(array)})
                nodes.append(helper.make_node("Add", [f"{name}.base", f"{name}.w"], [name]))
            elif case.known or all_known:
                constants[name] = array
            else:
                inputs[name] = array
        made = [f"{case.name}.out{i}" for i in range(case.outputs)]
        nodes.append(case.node(names, made))
        outputs += made
        if case.varied:
            constants[f"{case.name}.weights"] = weights(case)
            nodes += [helper.make_node("Mul", [made[0], f"{case.name}.weights"], [f"{case.name}.m"]),
                      helper.make_node("ReduceSum", [f"{case.name}.m"], [f"{case.name}.s"], keepdims=0)]
            sums.append(f"{case.name}.s")
    nodes += [helper.make_node("Sum", [*sums, "x"], ["total"]), helper.make_node("ReduceMean", ["x"], ["nothing"], keepdims=0),
              helper.make_node("Add", ["total", "nothing"], ["loss"])]
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])]
    infos += [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info(n) for n in [*outputs, "loss"]],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), inputs, outputs


def weights(case):
    return np.random.default_rng(len(case.name)).standard_normal(case.exact(case.inputs)[0].shape).astype("f4")


def slopes(case, which):
    """Central differences, and where they can be trusted: not where the function has a kink."""
    array, factor = np.array(case.inputs[which], np.float64), np.float64(weights(case))

    def loss(changed):
        return (factor * case.exact([changed if i == which else a for i, a in enumerate(case.inputs)])[0]).sum()
    slope, smooth = np.zeros(array.shape), np.ones(array.shape, bool)
    for index in np.ndindex(*array.shape):
        ends, step = [], 1e-5
        for sign in (1, 0, -1):
            moved = array.copy()
            moved[index] += sign * step
            ends.append(loss(moved))
        slope[index] = (ends[0] - ends[2]) / (2 * step)
        smooth[index] = abs(ends[0] + ends[2] - 2 * ends[1]) / step < 1e-3
    return slope, smooth


def check(folder, every, opset):
    model, inputs, outputs = model_of(every, opset)
    onnx.save(model, folder / "m.onnx")
    feeds = {"x": np.zeros((1, 1), "f4"), **inputs}
    for name, array in feeds.items():
        np.save(folder / f"{name}.npy", array)
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "infer")
    run(folder / "infer", "infer", *[part for n in feeds for part in ("--input", f"{n}={folder}/{n}.npy")],
        *[part for n in outputs for part in ("--output", f"{n}={folder}/{n}.npy")])
    onnx.save(model_of(every, opset, all_known=True)[0], folder / "t.onnx")
    trained = [f"{case.name}.{i}.w" for case in every for i in case.varied]
    if not trained:
        return compare(folder, every, {}, trained)
    run("cleave", "compile", folder / "t.onnx", "-o", folder / "train", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--freeze",
        ",".join([f"{case.name}.{i}.base" for case in every for i in case.varied] + [f"{case.name}.weights" for case in every if case.varied]))
    run(folder / "train", "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--data", f"x={folder}/x.npy", "--save", folder / "saved")
    return compare(folder, every, read_states(folder / "saved"), trained)


def compare(folder, every, states, trained):
    wrong = 0
    for case in every:
        for number, right in enumerate(case.expected()):
            got, right = np.float64(np.load(folder / f"{case.name}.out{number}.npy")), np.float64(right)
            if got.shape != right.shape or not np.allclose(got, right, rtol=case.bound, atol=case.bound * max(1, abs(right).max(initial=0))):
                wrong += 1
                print(f"{case.name}, output {number}: {got.ravel()[:8]}, expected {right.ravel()[:8]} (largest difference "
                      f"{abs(got - right).max() if got.shape == right.shape else 'shapes'})")
        for which in case.varied:
            slope, smooth = slopes(case, which)
            name = f"{case.name}.{which}.w"
            if name not in states and name in trained:
                wrong += 1
                print(f"{case.name}: input {which} was not trained")
                continue
            got = -np.float64(states[name])
            assert smooth.mean() > 0.7, (case.name, which, smooth.mean())
            bound = 1e-4 * max(1, abs(slope[smooth]).max())
            if not np.allclose(got[smooth], slope[smooth], rtol=1e-4, atol=bound):
                wrong += 1
                worst = np.unravel_index(np.argmax(np.where(smooth, abs(got - slope), 0)), got.shape)
                print(f"{case.name}, gradient of input {which} at {worst}: {got[worst]}, expected {slope[worst]}")
    return wrong


def main():
    folder, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
    every = [case for case in cases() if not wanted or case.name in wanted]
    wrong = 0
    for opset in sorted({case.opset for case in every}):
        part = folder / str(opset)
        part.mkdir(parents=True, exist_ok=True)
        wrong += check(part, [case for case in every if case.opset == opset], opset)
    print(f"{len(every)} cases, {wrong} wrong")
    sys.exit(wrong != 0)


main()
