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


def perturbed(graph, rng):
    """The outputs where every float is off by a few units in the last place."""
    arrays = {name: graph.arrays[name] for name in graph.inputs + graph.constants}
    for node in graph.nodes:
        for name, value in zip(node.output, evaluate_node(node, arrays)):
            if is_float(value.dtype):
                wide = value.astype("f8")
                noise = rng.uniform(-4, 4, wide.shape) * unit(value.dtype)
                value = np.asarray(wide + noise * np.maximum(np.abs(wide), 1e-2 * np.abs(wide).max(initial=0))).astype(value.dtype)
            arrays[name] = value
    return [arrays[name] for name in graph.outputs]


class Expected:
    def __init__(self, graph, seed):
        arrays = {name: graph.arrays[name] for name in graph.inputs}
        own = [graph.arrays[name] for name in graph.outputs]
        self.values = (None if graph.ours else by_onnxruntime(graph.model(), arrays)) or own
        self.spreads = [np.zeros(value.shape) for value in own]
        rng = np.random.default_rng(seed)
        for other in [perturbed(graph, rng) for _ in range(3)] + [self.values]:
            for spread, value, one in zip(self.spreads, own, other):
                value, one = value.astype("f8"), np.asarray(one).astype("f8")
                with np.errstate(all="ignore"):
                    difference = np.asarray(np.abs(value - one))
                difference[np.isnan(one) != np.isnan(value)] = np.inf  # a small change decides whether it is a number
                np.fmax(spread, difference, out=spread)

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
