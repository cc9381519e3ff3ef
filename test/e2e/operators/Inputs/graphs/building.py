"""A graph that grows by random operators. Each node is evaluated as it is added, so that values stay finite and of moderate size."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import own_reference

OPSET = 21
NEWER = {"RMSNormalization": 23, "RotaryEmbedding": 23, "Attention": 24, "Swish": 24, "CumProd": 26}  # than OPSET
LARGEST = 1e4       # of a float that other operators may read
ELEMENTS = 6000     # of one tensor
SIZES = [1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 130]
BF16 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
FLOATS = [np.dtype("f4"), np.dtype("f8"), np.dtype("f2"), np.dtype(BF16)]
INTS = [np.dtype("int64"), np.dtype("int32")]
NARROW = [np.dtype("int8"), np.dtype("uint8"), np.dtype("int16")]
BOOL = np.dtype("bool")


def is_float(dtype):
    return dtype in FLOATS


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def opset(nodes):
    return max([OPSET, *(NEWER.get(node.op_type, 0) for node in nodes)])


def port(name, array):
    return helper.make_tensor_value_info(name, onnx_type(array.dtype), array.shape)


SUMS = "ReduceSum", "ReduceL1", "ReduceSumSquare", "CumSum", "Einsum"
# Which the reference evaluator pads wrongly; of which it takes no absolute values.
BY_ONNXRUNTIME = "MaxPool", "LpNormalization"


def evaluate_node(node, arrays):
    """The node's results by the reference evaluator, in the types of `arrays`."""
    names = list(dict.fromkeys(name for name in node.input if name))
    dtype = arrays[names[0]].dtype
    if node.op_type in own_reference.OWN:
        return [own_reference.OWN[node.op_type](node, *(arrays[name] for name in names))]
    if node.op_type == "Cast" and is_float(dtype) and np.dtype(helper.tensor_dtype_to_np_dtype(node.attribute[0].i)).kind in "iu":
        return [own_reference.saturated(node, arrays[names[0]])]
    halves = [array.dtype for name in names if is_float((array := arrays[name]).dtype) and array.dtype.itemsize < 4]
    if halves and node.op_type not in ("Cast", "CastLike"):  # computed in f32, then rounded
        widened = {name: arrays[name].astype("f4") if is_float(arrays[name].dtype) else arrays[name] for name in names}
        return [value.astype(halves[0]) if is_float(value.dtype) else value for value in evaluate_node(node, widened)]
    ours = node.op_type not in BY_ONNXRUNTIME
    types = [onnx_type(dtype), onnx.TensorProto.INT64]  # the second one is of MaxPool's places
    outputs = [helper.make_empty_tensor_value_info(name) if ours else helper.make_tensor_value_info(name, types[i], None)
               for i, name in enumerate(node.output)]
    graph = helper.make_graph([node], "g", [port(name, arrays[name]) for name in names], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset([node]))], ir_version=10)
    if not ours:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, {name: arrays[name] for name in names})
    with np.errstate(all="ignore"):
        results = [np.asarray(value) for value in ReferenceEvaluator(model).run(None, {name: arrays[name] for name in names})]
    if node.op_type in SUMS and dtype.kind == "i":  # numpy's sums of integers are of 64 bits
        return [results[0].astype(dtype)]
    return results


class Graph:
    """`arrays` has every value so far; `pool` the names that operators may read, in the order they were made."""

    def __init__(self, seed, floats=None, trains=False):
        self.rng = np.random.default_rng(seed)
        self.trains = trains
        self.floats = floats or [np.dtype("f4")]
        self.sizes = [int(size) for size in self.rng.choice(SIZES, 4)]
        self.nodes, self.arrays, self.pool = [], {}, []
        self.inputs, self.constants, self.outputs = [], [], []
        self.rejected = 0
        self.ours = False  # has casts that onnxruntime does otherwise

    # Random choices

    def chance(self, probability):
        return self.rng.random() < probability

    def choose(self, items):
        return items[int(self.rng.integers(len(items)))]

    def integer(self, low, high):
        """In [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=4):
        sizes = []
        for _ in range(self.integer(low, high)):
            size = self.choose(self.sizes)
            if np.prod(sizes + [size], dtype=int) <= ELEMENTS // 4:
                sizes.append(size)
        return sizes if len(sizes) >= low else sizes + [1] * (low - len(sizes))

    def pick(self, accept=lambda array: True):
        """A value of the pool, the late ones more often; None where there is none."""
        names = [name for name in self.pool if accept(self.arrays[name])]
        if not names:
            return None
        return names[-1 - min(int(self.rng.exponential(4)), len(names) - 1)]

    def pick_float(self, low=0, high=9):
        return self.pick(lambda array: is_float(array.dtype) and low <= array.ndim <= high)

    # Values

    def random_array(self, shape, dtype):
        dtype = np.dtype(dtype)
        if is_float(dtype):
            return np.asarray(self.rng.standard_normal(shape)).astype(dtype)
        if dtype == BOOL:
            return np.asarray(self.rng.integers(0, 2, shape)).astype(bool)
        return np.asarray(self.rng.integers(0 if dtype.kind == "u" else -6, 7, shape)).astype(dtype)

    def _name(self, prefix, array):
        name = f"{prefix}{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def add_input(self, shape, dtype):
        """A graph input; of bf16, which arrays in files cannot have, one of f32 that is cast."""
        if np.dtype(dtype) == BF16:
            name = self.add_input(shape, np.dtype("f4"))
            self.pool.remove(name)
            return self.emit("Cast", [name], attributes={"to": onnx.TensorProto.BFLOAT16})[0]
        name = self._name("in", self.random_array(shape, dtype))
        self.inputs.append(name)
        self.pool.append(name)
        return name

    def constant(self, array, pooled=False):
        name = self._name("c", np.asarray(array))
        self.constants.append(name)
        if pooled:
            self.pool.append(name)
        return name

    def fixed(self, values):
        """A constant of int64, which many operators take as an input."""
        return self.constant(np.array(values, np.int64))

    def emit(self, operator, inputs, count=1, attributes=None, pooled=True, empty=False, largest=LARGEST):
        """Adds a node; its outputs' names, or None where its values would not do. A `largest` of None takes what is not finite, too."""
        outputs = [f"v{len(self.arrays) + i}" for i in range(count)]
        node = helper.make_node(operator, inputs, outputs, **(attributes or {}))
        try:
            results = evaluate_node(node, self.arrays)
        except Exception:
            self.rejected += 1
            return None
        for result in results:
            if result.size > ELEMENTS or result.size == 0 and not empty or result.dtype == object or result.ndim > 6:
                return None
            if is_float(result.dtype):
                wide = result.astype("f8")
                if largest is not None and (not np.isfinite(wide).all() or np.abs(wide).max(initial=0) > largest):
                    return None
            elif result.dtype != BOOL and np.abs(result.astype("f8")).max(initial=0) > max(2**30, largest):
                return None
        self.nodes.append(node)
        for name, result in zip(outputs, results):
            self.arrays[name] = result
            if pooled:
                self.pool.append(name)
        return outputs

    # The file

    def choose_outputs(self, most=6):
        read = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output]
        leaves = [name for name in made if name not in read]
        self.rng.shuffle(leaves)
        extra = [name for name in made if name in read and self.chance(0.1)]
        self.outputs = [self._widened(name) for name in (leaves[:most] + extra[:2]) or made[-1:]]
        self._drop_unused()

    def _widened(self, name):
        if self.arrays[name].dtype != BF16:
            return name
        return self.emit("Cast", [name], attributes={"to": onnx.TensorProto.FLOAT}, pooled=False, largest=None)[0]

    def _drop_unused(self):
        needed, kept = set(self.outputs), []
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                kept.append(node)
                needed.update(node.input)
        self.nodes = kept[::-1]
        self.inputs = [name for name in self.inputs if name in needed]
        self.constants = [name for name in self.constants if name in needed]

    def model(self):
        graph = helper.make_graph(self.nodes, "random", [port(name, self.arrays[name]) for name in self.inputs],
                                  [port(name, self.arrays[name]) for name in self.outputs],
                                  [numpy_helper.from_array(self.arrays[name], name) for name in self.constants])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset(self.nodes))], ir_version=10)
