"""What a graph's outputs should be, and how sure that is.

The values are onnxruntime's, or the ONNX reference evaluator's where onnxruntime has no kernel. The graph is then evaluated again with
every float slightly changed after every node: what moves by more than an output allows (a comparison close to its limit, a difference of
nearly equal numbers) is not a number to compare.
"""
import numpy as np
import onnxruntime

from building import BOOL, evaluate_node, is_float

UNIT = {np.dtype("f8"): 2.0**-52, np.dtype("f4"): 2.0**-23, np.dtype("f2"): 2.0**-10}
COARSEST = 2.0**-7  # bf16
onnxruntime.set_default_logger_severity(4)


def unit(dtype):
    return UNIT.get(np.dtype(dtype), COARSEST)


def by_onnxruntime(model, arrays):
    """Nothing where it has no kernels for the graph."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, arrays)
    except Exception:
        return None


# They add terms, and err like numbers that come from inexact inputs, also where the terms cancel and the results are near zero.
SUMS = {"InstanceNormalization", "LayerNormalization", "GroupNormalization", "MeanVarianceNormalization", "ReduceSum", "ReduceMean", "CumSum", "MatMul",
        "Gemm", "Einsum", "Conv", "ConvTranspose", "AveragePool", "GlobalAveragePool"}


def noisy(value, units, rng):
    wide = value.astype("f8")
    noise = rng.uniform(-units, units, wide.shape) * unit(value.dtype)
    return np.asarray(wide + noise * np.maximum(np.abs(wide), 1e-2 * np.abs(wide).max(initial=0))).astype(value.dtype)


def perturbed(graph, rng):
    """The outputs where every float is off by a few units in the last place."""
    arrays = {name: graph.arrays[name] for name in graph.inputs + graph.constants}
    for node in graph.nodes:
        x = node.input[0] if node.input else ""
        inexact = node.op_type in SUMS and is_float(arrays[x].dtype)
        given = {**arrays, x: noisy(arrays[x], 1, rng)} if inexact else arrays
        for name, value in zip(node.output, evaluate_node(node, given)):
            arrays[name] = noisy(value, 4, rng) if is_float(value.dtype) else value
    return [arrays[name] for name in graph.outputs]


def usual_spread(spread, sizes):
    """What three quarters of the numbers are off by, in relation to their sizes: the errors of some cancel by chance. Nothing where
    most of the numbers are no numbers to compare."""
    with np.errstate(all="ignore"):
        relative = spread / sizes
    known = relative[np.isfinite(relative)]
    usual = np.quantile(known, 0.25) if known.size else 0
    return sizes * (usual if usual <= COARSEST else 0)


class Expected:
    def __init__(self, graph, seed):
        arrays = {name: graph.arrays[name] for name in graph.inputs}
        own = [graph.arrays[name] for name in graph.outputs]
        self.values = (None if graph.ours else by_onnxruntime(graph.model(), arrays)) or own
        self.spreads = [np.zeros(value.shape) for value in own]
        equals = any(node.op_type == "Equal" and is_float(graph.arrays[node.input[0]].dtype) for node in graph.nodes)
        rng = np.random.default_rng(seed)
        for other in [perturbed(graph, rng) for _ in range(3)] + [self.values]:
            for spread, value, one in zip(self.spreads, own, other):
                value, one = value.astype("f8"), np.asarray(one).astype("f8")
                with np.errstate(all="ignore"):
                    difference = np.asarray(np.abs(value - one))
                difference[np.isnan(one) != np.isnan(value)] = np.inf  # a small change decides whether it is a number
                np.fmax(spread, difference, out=spread)
        for spread, value in zip(self.spreads, own):
            # Whether a number equals the largest one: where rounding errors decide it, other ones turn it at other elements.
            if equals and spread.any() and np.unique(value).size == 2:
                spread[...] = np.inf
            np.fmax(spread, usual_spread(spread, np.abs(value.astype("f8"))), out=spread)

    def judge(self, index, ours):
        """The reason why it is wrong, or nothing."""
        expected, spread = np.asarray(self.values[index]), self.spreads[index]
        if ours.shape != expected.shape or ours.dtype != expected.dtype:
            return f"is {ours.dtype}{list(ours.shape)}, expected {expected.dtype}{list(expected.shape)}"
        wide, other = expected.astype("f8"), ours.astype("f8")
        if is_float(expected.dtype):
            allowed = 20 * spread + 8 * unit(expected.dtype) * (np.abs(wide) + np.abs(wide).max(initial=0))
        else:
            allowed = np.where(spread > 0, np.inf, 0)
        with np.errstate(all="ignore"):
            wrong = ~(np.abs(wide - other) <= allowed) & ~((wide == other) | (np.isnan(wide) & np.isnan(other)))
        wrong &= ~np.isinf(spread)
        if not wrong.any():
            return None
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        return (f"differs at {wrong.sum()} of {wrong.size} elements, first at {list(at)}: {float(other[at])!r}, expected {float(wide[at])!r} "
                f"(allowed {allowed[at]:.1e})")

    def compared(self):
        """How many numbers, of how many, are compared."""
        total = sum(value.size for value in self.spreads)
        kept = sum((spread <= 1e-2 * np.abs(np.asarray(value).astype("f8")).max(initial=1e-30)).sum()
                   for spread, value in zip(self.spreads, self.values))
        return int(kept), total
