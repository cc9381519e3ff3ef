"""Operators that move elements to and from computed places, and windows that grow; see operators.py."""
import numpy as np

from building import is_float
from operators import operator
from shapes import pick_moved


def places(g, shape, count, depth, twice=False):
    """`count` index vectors into the first `depth` dimensions of a tensor; some may be the same only with `twice`."""
    size = int(np.prod(shape[:depth]))
    flat = g.rng.choice(size, min(count, size), replace=twice)
    return np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)


@operator(1)
def gather_nd(g):
    x = pick_moved(g, 1, 4)
    if not x:
        return
    a = g.arrays[x]
    depth = g.integer(1, a.ndim)
    indices = places(g, a.shape, g.integer(1, 6), depth, twice=g.chance(0.5))
    if g.chance(0.3):
        indices = indices - np.array(a.shape[:depth])
    if g.chance(0.3):
        indices = indices[None]
    g.emit("GatherND", [x, g.constant(indices)])


@operator(1)
def scatter_nd(g):
    x = g.pick(lambda array: 1 <= array.ndim <= 4 and (is_float(array.dtype) or array.dtype.kind == "i" and not g.trains))
    if not x:
        return
    a = g.arrays[x]
    depth = g.integer(1, a.ndim)
    kind = g.choose(["none", "add"] if g.trains else ["none", "add", "mul", "max", "min"])
    indices = places(g, a.shape, g.integer(1, 5), depth, twice=kind == "add")
    updates = g.constant(g.random_array([len(indices), *a.shape[depth:]], a.dtype))
    g.emit("ScatterND", [x, g.constant(indices), updates], attributes={"reduction": kind})


@operator(1)
def scatter_elements(g):
    x = g.pick(lambda array: 1 <= array.ndim <= 4 and is_float(array.dtype))
    if not x:
        return
    a = g.arrays[x]
    axis = g.integer(0, a.ndim - 1)
    shape = list(a.shape)
    shape[axis] = g.integer(1, min(3, a.shape[axis]))
    kind = g.choose(["none", "add"] if g.trains else ["none", "add", "mul", "max", "min"])
    column = g.rng.choice(a.shape[axis], shape[axis], replace=kind == "add")
    indices = np.broadcast_to(column.reshape([-1 if dim == axis else 1 for dim in range(a.ndim)]), shape)
    updates = g.constant(g.random_array(shape, a.dtype))
    g.emit("ScatterElements", [x, g.constant(indices.astype(np.int64)), updates], attributes={"axis": axis, "reduction": kind})


@operator(1)
def top(g):
    x = g.pick_float(1, 4)
    if x:
        axis = g.integer(0, g.arrays[x].ndim - 1)
        g.emit("TopK", [x, g.fixed([g.integer(1, min(5, g.arrays[x].shape[axis]))])], 2, {"axis": axis, "largest": g.integer(0, 1)})


@operator(0.7)
def transposed_convolution(g):
    x = g.pick(lambda array: array.dtype == np.float32 and array.ndim in (3, 4))
    if not x:
        return
    a = g.arrays[x]
    groups = g.choose([1, g.choose([n for n in range(1, a.shape[1] + 1) if a.shape[1] % n == 0])])
    kernel = [g.integer(1, 3) for _ in a.shape[2:]]
    weight = g.random_array([a.shape[1], g.integer(1, 3), *kernel], a.dtype) / np.float32(np.sqrt(a.shape[1]))
    strides = [g.integer(1, 3) for _ in kernel]
    dilations = [g.integer(1, 2) for _ in kernel]
    more = [g.integer(0, stride - 1) for stride in strides]  # output_padding
    covered = [(size - 1) * stride + (width - 1) * dilation + 1 + extra
               for size, stride, width, dilation, extra in zip(a.shape[2:], strides, kernel, dilations, more)]
    pads = [[g.integer(0, min((width - 1) * dilation, (size - 1) // 2)) for width, dilation, size in zip(kernel, dilations, covered)] for _ in "be"]
    g.emit("ConvTranspose", [x, g.constant(weight)], attributes={
        "group": groups, "strides": strides, "kernel_shape": kernel, "dilations": dilations, "output_padding": more, "pads": pads[0] + pads[1]})


@operator(0.7)
def resize(g):
    x = g.pick(lambda array: array.dtype == np.float32 and array.ndim == 4)
    if not x:
        return
    a = g.arrays[x]
    sizes = [*a.shape[:2], *(g.integer(1, 2 * size + 1) for size in a.shape[2:])]
    mode = g.choose(["nearest", "linear"])
    where = g.choose(["half_pixel", "asymmetric", "align_corners"])
    nearest = {"nearest_mode": g.choose(["floor", "round_prefer_floor"])} if mode == "nearest" else {}
    g.emit("Resize", [x, "", "", g.fixed(sizes)], attributes={"mode": mode, "coordinate_transformation_mode": where, **nearest})
