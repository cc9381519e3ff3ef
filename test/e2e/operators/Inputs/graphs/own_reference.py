"""Operators that the reference evaluator computes wrongly, or not everywhere, in f64."""
import math

import numpy as np
from onnx import helper


def global_max_pool(node, x):
    """Of which the reference evaluator drops dimensions."""
    del node
    return x.max(tuple(range(2, x.ndim)), keepdims=True)


def attention(node, q, k, v, mask=None):
    """Of 4-D values. A query whose keys are all masked has a row of zeros (so the standard's text, but not each version's evaluator)."""
    causal = any(attribute.name == "is_causal" and attribute.i for attribute in node.attribute)
    queries, keys = (array.astype("f8") for array in (q, np.repeat(k, q.shape[1] // k.shape[1], 1)))
    scores = queries @ keys.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    allowed = np.ones(scores.shape[-2:], bool)
    if causal:
        allowed = np.tril(allowed)
    if mask is not None and mask.dtype == bool:
        allowed = allowed & mask
    elif mask is not None:
        scores = scores + mask.astype("f8")
    scores = np.where(allowed, scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(most), 0, most))
    weights = weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo("f8").tiny)
    return (weights @ np.repeat(v, q.shape[1] // v.shape[1], 1).astype("f8")).astype(q.dtype)


def global_lp_pool(node, x):
    """Of which the reference evaluator has none."""
    p = next((attribute.i for attribute in node.attribute if attribute.name == "p"), 2)
    return (np.abs(x.astype("f8")) ** p).sum(tuple(range(2, x.ndim)), keepdims=True).astype(x.dtype) ** x.dtype.type(1 / p)


def mean_variance(node, x):
    """Whose evaluator has a constant in f32. The deviation is that of the standard's text, of centred values."""
    axes = next((tuple(attribute.ints) for attribute in node.attribute if attribute.name == "axes"), (0, 2, 3))
    centred = x.astype("f8") - x.astype("f8").mean(axes, keepdims=True)
    return (centred / (np.sqrt((centred**2).mean(axes, keepdims=True)) + 1e-9)).astype(x.dtype)


def erf(node, x):
    return np.vectorize(math.erf, otypes=["f8"])(x).astype(x.dtype)  # onnx rounds it to f32


def local_response(node, x):
    a = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0} | {one.name: helper.get_attribute_value(one) for one in node.attribute}
    wide, below, above = x.astype("f8"), (a["size"] - 1) // 2, a["size"] // 2  # onnx leaves out the last channel
    sums = np.stack([(wide[:, max(0, c - below):c + above + 1] ** 2).sum(1) for c in range(x.shape[1])], 1)
    return (wide / (a["bias"] + a["alpha"] / a["size"] * sums) ** a["beta"]).astype(x.dtype)


def attribute_of(node, name, otherwise):
    return next((helper.get_attribute_value(one) for one in node.attribute if one.name == name), otherwise)


def exponential(x, alpha, scale=1.0):
    """Without the rounding of exp(x) - 1 where x is small."""
    wide = x.astype("f8")
    return (scale * np.where(wide > 0, wide, alpha * np.expm1(np.minimum(wide, 0)))).astype(x.dtype)


def elu(node, x):
    return exponential(x, attribute_of(node, "alpha", 1.0))


def celu(node, x):
    alpha, wide = attribute_of(node, "alpha", 1.0), x.astype("f8")
    with np.errstate(over="ignore"):
        return (np.maximum(wide, 0) + np.minimum(alpha * np.expm1(wide / alpha), 0)).astype(x.dtype)


def selu(node, x):
    alpha, gamma = attribute_of(node, "alpha", 1.6732632423543772), attribute_of(node, "gamma", 1.0507009873554805)
    return exponential(x, alpha, gamma)


def gelu(node, x):
    """Whose body in the standard calls Erf."""
    wide = x.astype("f8")
    if attribute_of(node, "approximate", b"none") == b"tanh":
        return (wide / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))).astype(x.dtype)
    return (wide / 2 * np.vectorize(math.erfc, otypes=["f8"])(-wide / np.sqrt(2))).astype(x.dtype)


def mean(node, *arrays):
    """Which the reference evaluator adds in the shape of the first operand. `arrays` has each operand once."""
    given = dict(zip(dict.fromkeys(node.input), arrays))
    return np.asarray(sum(given[name].astype("f8") for name in node.input) / len(node.input)).astype(arrays[0].dtype)


def window(*weights):
    """A sum of cosines of f64: onnxruntime's, of f32, are off by more than a unit of the small values at the ends."""
    def values(node, size):
        steps = int(size) if attribute_of(node, "periodic", 1) else int(size) - 1
        places = np.arange(int(size)) * (2 * np.pi / max(steps, 1))
        kind = helper.tensor_dtype_to_np_dtype(attribute_of(node, "output_datatype", 1))
        return sum(weight * np.cos(i * places) for i, weight in enumerate(weights)).astype(kind)
    return values


OWN = {"Elu": elu, "Celu": celu, "Selu": selu, "Gelu": gelu, "HannWindow": window(0.5, -0.5),
       "HammingWindow": window(25 / 46, -21 / 46), "BlackmanWindow": window(0.42, -0.5, 0.08),
       "Erf": erf, "LRN": local_response, "GlobalMaxPool": global_max_pool, "GlobalLpPool": global_lp_pool, "MeanVarianceNormalization": mean_variance,
       "Attention": attention, "Mean": mean}


def saturated(node, array):
    """As Cleave casts floats to integers; the standard leaves it open what becomes of those beyond the range."""
    target = np.dtype(helper.tensor_dtype_to_np_dtype(node.attribute[0].i))
    ends, wide = np.iinfo(target), np.nan_to_num(np.asarray(array, "f8"), nan=0.0, posinf=np.inf, neginf=-np.inf)
    inside = np.trunc(np.where((wide > ends.min) & (wide < ends.max), wide, 0)).astype(target)
    return np.where(wide >= float(ends.max), target.type(ends.max), np.where(wide <= float(ends.min), target.type(ends.min), inside))
