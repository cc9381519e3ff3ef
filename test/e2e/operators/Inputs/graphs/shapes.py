"""Operators that move elements, and the products; see operators.py."""
import numpy as np

from building import ELEMENTS, INTS, is_float
from operators import operator


def pick_moved(g, low=1, high=5):
    return g.pick(lambda array: low <= array.ndim <= high)


def factors(g, count):
    """`count` elements as a random shape."""
    sizes = []
    while count > 1 and len(sizes) < 4:
        divisor = g.choose([n for n in range(1, count + 1) if count % n == 0])
        sizes.append(divisor)
        count //= divisor
    if count > 1 or not sizes:
        sizes.append(count)
    while g.chance(0.3) and len(sizes) < 5:
        sizes.insert(g.integer(0, len(sizes)), 1)
    return sizes


@operator(4)
def reshape(g):
    x = g.pick()
    a = g.arrays[x]
    kind = g.integer(0, 4)
    if kind <= 1:
        g.emit("Reshape", [x, g.fixed(factors(g, a.size))])
    elif kind == 2:
        g.emit("Unsqueeze", [x, g.fixed([g.integer(0, a.ndim)])])
    elif kind == 3 and 1 in a.shape:
        g.emit("Squeeze", [x, g.fixed([a.shape.index(1)])])
    elif a.ndim:
        g.emit("Flatten", [x], attributes={"axis": g.integer(0, a.ndim)})


@operator(3)
def transpose(g):
    x = pick_moved(g, 2)
    if x:
        g.emit("Transpose", [x], attributes={"perm": g.rng.permutation(g.arrays[x].ndim).tolist()})


@operator(2)
def expand(g):
    x = g.pick(lambda array: array.ndim <= 4)
    if not x:
        return
    a = g.arrays[x]
    if g.chance(0.3) and a.ndim:
        g.emit("Tile", [x, g.fixed([g.integer(1, 3) for _ in a.shape])])
        return
    shape = [g.choose(g.sizes) if size == 1 else size for size in a.shape]
    if g.chance(0.4):
        shape = [g.choose(g.sizes), *shape]
    if np.prod(shape, dtype=int) <= ELEMENTS:
        g.emit("Expand", [x, g.fixed(shape)])


@operator(4)
def cut(g):
    x = pick_moved(g)
    if not x:
        return
    a = g.arrays[x]
    axis = g.integer(0, a.ndim - 1)
    size = a.shape[axis]
    if g.chance(0.4):
        start = g.integer(0, size - 1)
        end, stride = g.integer(start + 1, size), g.choose([1, 1, 1, 2, 3])
        if g.chance(0.2):
            start, end, stride = end - 1, start - 1 if start else -size - 1, -stride
        g.emit("Slice", [x, g.fixed([start]), g.fixed([end]), g.fixed([axis]), g.fixed([stride])])
        return
    if size < 2:
        return
    count = g.integer(2, min(size, 4))
    if size % count == 0 and g.chance(0.6):
        g.emit("Split", [x], count, {"axis": axis, "num_outputs": count})
        return
    ends = sorted(g.rng.choice(np.arange(1, size), count - 1, replace=False).tolist())
    g.emit("Split", [x, g.fixed(np.diff([0, *ends, size]))], count, {"axis": axis})


@operator(2)
def columns(g):
    """Single columns, squeezed: x[:, 0], x[:, 1]."""
    x = g.pick(lambda array: array.ndim >= 2 and 2 <= min(array.shape[1:]) and array.shape[-1] <= 8)
    if not x:
        return
    last = g.arrays[x].ndim - 1
    parts = g.emit("Split", [x], g.arrays[x].shape[-1], {"axis": last, "num_outputs": g.arrays[x].shape[-1]})
    for part in (parts or [])[:g.integer(1, 3)]:
        g.emit("Squeeze", [part, g.fixed([last])])


@operator(3)
def join(g):
    x = pick_moved(g)
    if not x:
        return
    a = g.arrays[x]
    axis = g.integer(0, a.ndim - 1)

    def fits(b):
        return b.dtype == a.dtype and b.ndim == a.ndim and all(i == axis or b.shape[i] == a.shape[i] for i in range(a.ndim))
    parts = [x] + [g.pick(fits) for _ in range(g.integer(1, 3))]
    g.rng.shuffle(parts)
    g.emit("Concat", [str(part) for part in parts], attributes={"axis": axis})


@operator(0.4, trains=False)
def nothing(g):
    """A part without elements: joined to others, summed, or multiplied away."""
    x = g.pick_float(2, 4)
    if not x:
        return
    a, axis = g.arrays[x], g.integer(0, g.arrays[x].ndim - 1)
    none = g.emit("Slice", [x, g.fixed([1]), g.fixed([1]), g.fixed([axis])], pooled=False, empty=True)
    kind = g.integer(0, 2)
    if none and kind == 0:
        g.emit("Concat", [none[0], x], attributes={"axis": axis})
    elif none and kind == 1:
        g.emit("ReduceSum", [none[0], g.fixed([axis])], attributes={"keepdims": g.integer(0, 1)})
    elif none:
        amounts = [0] * (2 * a.ndim)
        amounts[axis] = 2
        g.emit("Pad", [none[0], g.fixed(amounts)])


@operator(1)
def pad(g):
    x = g.pick(lambda array: 1 <= array.ndim <= 5 and is_float(array.dtype))
    if not x:
        return
    a = g.arrays[x]
    mode = g.choose(["constant", "constant", "reflect", "edge"])
    most = 2 if mode != "reflect" else min(2, min(a.shape) - 1)
    amounts = [g.integer(0, most) for _ in range(2 * a.ndim)]
    extra = [g.constant(np.array(1.5, a.dtype))] if mode == "constant" and g.chance(0.5) else []
    g.emit("Pad", [x, g.fixed(amounts), *extra], attributes={"mode": mode})


@operator(2)
def gather(g):
    x = pick_moved(g)
    if not x:
        return
    a = g.arrays[x]
    axis = g.integer(0, a.ndim - 1)
    if g.chance(0.4):
        shape = list(a.shape)
        shape[axis] = g.integer(1, 4)
        indices = g.rng.integers(0, a.shape[axis], shape)
        g.emit("GatherElements", [x, g.constant(indices)], attributes={"axis": axis})
        return
    indices = g.rng.integers(-a.shape[axis], a.shape[axis], g.shape(0, 2))
    g.emit("Gather", [x, g.constant(np.asarray(indices))], attributes={"axis": axis})


@operator(0.7)
def triangle(g):
    x = g.pick(lambda array: array.ndim >= 2 and is_float(array.dtype))
    if x:
        g.emit("Trilu", [x, g.constant(np.int64(g.integer(-2, 2)))], attributes={"upper": g.integer(0, 1)})


@operator(0.7)
def blocks(g):
    x = g.pick(lambda array: array.ndim == 4 and is_float(array.dtype))
    if not x:
        return
    a = g.arrays[x]
    if a.shape[1] % 4 == 0:
        g.emit("DepthToSpace", [x], attributes={"blocksize": 2, "mode": g.choose(["DCR", "CRD"])})
    elif a.shape[2] % 2 == 0 and a.shape[3] % 2 == 0:
        g.emit("SpaceToDepth", [x], attributes={"blocksize": 2})


@operator(0.7, trains=False)
def one_hot(g):
    x = g.pick(lambda array: array.dtype in INTS and array.ndim <= 3)
    if x:
        values = g.constant(np.array([0, 1], g.floats[0]))
        depth = int(np.abs(g.arrays[x].astype("i8")).max()) + 1  # what indices beyond it give is another matter
        if depth > 40:
            return
        g.emit("OneHot", [x, g.fixed(depth), values], attributes={"axis": g.integer(-1, g.arrays[x].ndim)})


# Products

@operator(3)
def matmul(g):
    x = g.pick_float(1, 4)
    if not x:
        return
    a = g.arrays[x]
    k = a.shape[-1]
    other = g.pick(lambda b: b.dtype == a.dtype and b.ndim >= 2 and b.shape[-2] == k and
                   (b.ndim == 2 or a.ndim == 2 or b.shape[:-2] == a.shape[:-2]))
    if not other or g.chance(0.4):
        weight = g.random_array([k, g.choose(g.sizes)], a.dtype) / a.dtype.type(np.sqrt(k))
        other = g.constant(weight.astype(a.dtype))
    g.emit("MatMul", [x, other])


@operator(1)
def gemm(g):
    x = g.pick_float(2, 2)
    if not x:
        return
    a, transposed = g.arrays[x], g.integer(0, 1)
    m, k = a.shape[::-1] if transposed else a.shape
    n, other = g.choose(g.sizes), g.integer(0, 1)
    weight = g.constant((g.random_array([n, k] if other else [k, n], "f4") / np.sqrt(k)).astype(a.dtype))
    bias = g.constant(g.random_array(g.choose([[n], [1, n], [m, 1], [1], []]), a.dtype))
    g.emit("Gemm", [x, weight, bias], attributes={"transA": transposed, "transB": other, "alpha": 0.5, "beta": 2.0})


@operator(1)
def scores(g):
    """x x^T over the last two dimensions."""
    x = g.pick_float(2, 4)
    if x:
        if g.chance(0.5) and g.arrays[x].ndim == 3:
            g.emit("Einsum", [x, x], attributes={"equation": g.choose(["bij,bkj->bik", "bij,bij->bi", "bij,bij->b", "bij,bkj->ibk"])})
            return
        order = [*range(g.arrays[x].ndim)]
        order[-1], order[-2] = order[-2], order[-1]
        other = g.emit("Transpose", [x], attributes={"perm": order})
        if other:
            g.emit("MatMul", [x, other[0]])


@operator(1.5)
def convolution(g):
    x = g.pick_float(3, 5)
    if not x:
        return
    a = g.arrays[x]
    spatial, channels = a.ndim - 2, a.shape[1]
    groups = g.choose([1, channels, g.choose([n for n in range(1, channels + 1) if channels % n == 0])])
    out = groups * g.integer(1, 2)
    kernel = [min(g.integer(1, 3), size + 2) for size in a.shape[2:]]
    weight = g.random_array([out, channels // groups, *kernel], "f4") / np.sqrt(channels // groups * np.prod(kernel))
    inputs = [x, g.constant(weight.astype(a.dtype))] + ([g.constant(g.random_array([out], a.dtype))] if g.chance(0.5) else [])
    g.emit("Conv", inputs, attributes={"group": groups, "kernel_shape": kernel, "pads": [g.integer(0, 1) for _ in range(2 * spatial)],
                                       "strides": [g.integer(1, 2) for _ in range(spatial)],
                                       "dilations": [g.integer(1, 2) for _ in range(spatial)]})


@operator(1)
def pool(g):
    x = g.pick_float(3, 5)
    if not x:
        return
    spatial = g.arrays[x].ndim - 2
    kind = g.choose(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
    if kind.startswith("Global"):
        g.emit(kind, [x])
        return
    kernel = [min(g.integer(1, 3), size) for size in g.arrays[x].shape[2:]]
    pads = [g.integer(0, 1) if size > 1 else 0 for size in kernel * 2]
    extra = {"count_include_pad": g.integer(0, 1)} if kind == "AveragePool" else {}
    g.emit(kind, [x], attributes={"kernel_shape": kernel, "pads": pads, "strides": [g.integer(1, 2) for _ in range(spatial)],
                                  "ceil_mode": 0, **extra})
