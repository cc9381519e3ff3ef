#!/usr/bin/env python3
"""Small files that ask for much: hostile_operators.py SCRATCH [--seed N] [--variants N] [--only NAME] [--seconds N].

Every operator that ONNX knows, with adversarial shapes (no elements, 2^40 elements, 64 dimensions), known operands (a splat of any
size, extreme integers, NaN) and attributes; and structures that are small in the file and large in the compiler (functions that call
each other, names and constants that every call copies, sequences, chains, fans). `cleave compile` must end with 0, or with 1 or 2 and
lines that begin with `cleave: error: `, one for each error, within CPU_SECONDS and MEMORY, whatever the file says. A file that is refused for its cost must
say so (`asks for`). With --seconds, what is left then is counted; which operators these are depends on the seed."""
import argparse
import itertools
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time

import onnx
from onnx import TensorProto, helper

CPU_SECONDS, MEMORY, ADDRESS_SPACE = 30, 2 << 30, 12 << 30
OPSET = 22

INTEGERS = [0, 1, -1, 2, 3, 7, 64, 4096, 65536, 65537, 2**20, 2**31 - 1, 2**31, 2**32, 2**40, 2**40 + 1, 2**62, 2**63 - 1, -2**31, -2**63]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e30, -1e30, 3e38, float("inf"), float("-inf"), float("nan")]
SHAPES = [[], [0], [1], [2, 2], [0, 2**40], [2**40, 0], [2**40], [2**20, 2**20], [1, 1, 4, 4], [0, 3, 4, 4], [1, 3, 2**18, 2**18], [65536], [256, 256],
          [0, 2**39, 1], [1] * 64, [1] * 70, [2] * 40, [3, 1, 2**30], [2, 3, 4]]
TYPES = {"tensor(float)": TensorProto.FLOAT, "tensor(double)": TensorProto.DOUBLE, "tensor(int64)": TensorProto.INT64, "tensor(int32)": TensorProto.INT32,
         "tensor(bool)": TensorProto.BOOL, "tensor(float16)": TensorProto.FLOAT16, "tensor(uint8)": TensorProto.UINT8, "tensor(bfloat16)": TensorProto.BFLOAT16,
         "tensor(int8)": TensorProto.INT8}
TEXTS = ["", "constant", "edge", "reflect", "SAME_UPPER", "VALID", "ij,jk->ik", "i,j,k,l,m,n->ijklmn", "ii->i", "linear", "nearest", "sum", "none", "\0" * 100, "tanh"]


class Graph:
    """Nodes, inputs and initializers of one model; names are numbered."""

    def __init__(self, rng):
        self.rng, self.nodes, self.inputs, self.initializers, self.count = rng, [], [], [], 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def literal(self, kind, dims, values):
        name = self.name()
        self.initializers.append(helper.make_tensor(name, kind, dims, values))
        return name

    def splat(self, kind, shape):
        """A constant of a few bytes and of any size."""
        number = self.rng.choice(INTEGERS if kind in (TensorProto.INT64,) else [0, 1])
        out = self.name()
        self.nodes.append(helper.make_node("ConstantOfShape", [self.literal(TensorProto.INT64, [len(shape)], shape)], [out],
                                           value=helper.make_tensor("", kind, [1], [number])))
        return out

    def operand(self, kind):
        choice = self.rng.random()
        if choice < 0.35:
            return self.splat(kind, self.rng.choice(SHAPES))
        if choice < 0.6 and kind in (TensorProto.INT64, TensorProto.INT32):
            numbers = [n for n in INTEGERS if kind == TensorProto.INT64 or -2**31 <= n < 2**31]
            count = self.rng.choice([0, 1, 2, 3, 4, 8])
            return self.literal(kind, [] if count == 1 and self.rng.random() < 0.5 else [count], [self.rng.choice(numbers) for _ in range(count)])
        if choice < 0.6 and kind in (TensorProto.FLOAT, TensorProto.DOUBLE):
            return self.literal(kind, [], [self.rng.choice(REALS)])
        name = self.name()
        self.inputs.append(helper.make_tensor_value_info(name, kind, self.rng.choice(SHAPES)))
        return name

    def model(self, outputs, functions=()):
        domains = [helper.make_opsetid("", OPSET)] + [helper.make_opsetid("local", 1)] * bool(functions)
        graph = helper.make_graph(self.nodes, "g", self.inputs, [onnx.ValueInfoProto(name=o) for o in outputs], self.initializers)
        return helper.make_model(graph, opset_imports=domains, functions=list(functions), ir_version=10)


def attribute_value(rng, attribute):
    kind = onnx.AttributeProto.AttributeType.Name(attribute.type.value)
    ints = [rng.choice(INTEGERS) for _ in range(rng.choice([0, 1, 2, 4, 70]))]
    return {"INT": lambda: rng.choice(INTEGERS), "INTS": lambda: ints, "FLOAT": lambda: rng.choice(REALS),
            "FLOATS": lambda: [rng.choice(REALS) for _ in range(3)], "STRING": lambda: rng.choice(TEXTS),
            "STRINGS": lambda: [rng.choice(TEXTS)], "TENSOR": lambda: helper.make_tensor("", TensorProto.INT64, [1], [rng.choice(INTEGERS)])}.get(kind)


def operator_model(schema, rng):
    graph, chosen, inputs = Graph(rng), {}, []
    formals = list(schema.inputs)
    if formals and formals[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        formals += [formals[-1]] * rng.choice([0, 1, 3])
    for formal in formals:
        optional = formal.option == onnx.defs.OpSchema.FormalParameterOption.Optional
        allowed = [TYPES[t] for t in formal.types if t in TYPES]
        if not allowed or (optional and rng.random() < 0.4):
            inputs.append("" if optional else graph.operand(TensorProto.FLOAT))
            continue
        preferred = [k for k in (TensorProto.FLOAT, TensorProto.INT64) if k in allowed] or allowed
        kind = chosen.setdefault(formal.type_str, rng.choice(preferred if rng.random() < 0.8 else allowed))
        inputs.append(graph.operand(kind))
    attributes = {}
    for name, attribute in schema.attributes.items():
        make = attribute_value(rng, attribute)
        if make and (attribute.required or rng.random() < 0.4):
            attributes[name] = make()
    outputs = [graph.name() for _ in range(max(1, rng.choice([schema.min_output, min(schema.max_output, 3)])))]
    graph.nodes.append(helper.make_node(schema.name, inputs, outputs, name="n", **attributes))
    after = graph.name()
    graph.nodes.append(helper.make_node(rng.choice(["Identity", "Cos", "ReduceSum", "ReduceMax", "Abs", "Flatten", "Transpose", "Shape", "Not"]), outputs[:1], [after]))
    return graph.model([after])


STRUCTURES = []


def structure(function):
    STRUCTURES.append(function)
    return function


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs, outputs, domain=domain, **attributes)


def function(name, nodes, inputs=("a",), outputs=("b",)):
    return helper.make_function("local", name, list(inputs), list(outputs), nodes, [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)])


def doubling(levels, innermost, call=lambda level: (["a"], ["b"])):
    """Functions, each of which calls the one below twice."""
    functions = [function("f0", innermost)]
    for level in range(1, levels):
        functions.append(function(f"f{level}", [node(f"f{level - 1}", ["a"], ["t"], "local"), node(f"f{level - 1}", ["t"], ["b"], "local")]))
    return functions


def called(functions, calls=1, shape=(2, 2)):
    graph = Graph(random.Random(0))
    graph.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape)))
    value = "x"
    for i in range(calls):
        graph.nodes.append(node(functions[-1].name, [value], [f"y{i}"], "local"))
        value = f"y{i}"
    return graph.model([value], functions)


def plain(nodes, outputs=("y",), shape=(2, 2), initializers=(), kind=TensorProto.FLOAT):
    graph = Graph(random.Random(0))
    graph.inputs.append(helper.make_tensor_value_info("x", kind, list(shape)))
    graph.nodes, graph.initializers = list(nodes), list(initializers)
    return graph.model(list(outputs))


def shape_constant(name, dims):
    return helper.make_tensor(name, TensorProto.INT64, [len(dims)], dims)


@structure
def inlined_nodes():
    return called(doubling(28, [node("Relu", ["a"], ["b"])])), "asks for 134217728 nodes"


@structure
def calls_of_empty_functions():
    return called(doubling(31, [node("Identity", ["a"], ["b"])])), "asks for"


@structure
def calls_of_functions_without_nodes():
    functions = [function("f0", [], [], [])]
    for level in range(1, 31):
        functions.append(function(f"f{level}", [node(f"f{level - 1}", [], [], "local")] * 2, [], []))
    graph = Graph(random.Random(0))
    graph.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]))
    graph.nodes = [node("f30", [], [], "local"), node("Relu", ["x"], ["y"])]
    return graph.model(["y"], functions), "asks for"


@structure
def long_names_copied_by_calls():
    long = "n" * 50000
    return called(doubling(16, [node("Relu", ["a"], [long]), node("Relu", [long], ["b"])])), "bytes of copies"


@structure
def long_names_of_a_call():
    functions = [function("f0", [node("Sum", ["a"] * 4000, ["b"])])]
    graph = Graph(random.Random(0))
    long = "n" * 10000
    graph.inputs.append(helper.make_tensor_value_info(long, TensorProto.FLOAT, [2]))
    graph.nodes = [node("f0", [long], [f"y{i}"], "local") for i in range(50)]
    return graph.model(["y0"], functions), "asks for"


@structure
def attributes_copied_by_calls():
    value = helper.make_tensor("", TensorProto.FLOAT, [65536], [0.0] * 65536)
    return called(doubling(16, [node("Constant", [], ["c"], value=value), node("Relu", ["a"], ["b"])])), "bytes of copies"


@structure
def constants_of_many_nodes():
    first = node("Range", ["zero", "many", "one"], ["c0"])
    scalars = [helper.make_tensor(n, TensorProto.INT64, [], [v]) for n, v in (("zero", 0), ("many", 65536), ("one", 1))]
    nodes = [first] + [node("Neg", [f"c{i}"], [f"c{i + 1}"]) for i in range(2000)]
    return plain(nodes + [node("Relu", ["x"], ["y"])], initializers=scalars), "constant elements"


@structure
def folded_by_canonicalization():
    scalars = [helper.make_tensor(n, TensorProto.INT64, [], [v]) for n, v in (("zero", 0), ("many", 4000), ("one", 1))]
    nodes = [node("Range", ["zero", "many", "one"], ["c0"]), node("Clip", ["c0", "zero"], ["d0"])]
    nodes += [node("Mod", [f"d{i}", "c0"], [f"d{i + 1}"], fmod=1) for i in range(3000)]
    return plain(nodes + [node("Cast", ["d3000"], ["y"], to=1)], initializers=scalars), None


@structure
def splat_cos_reduce():
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("Cos", ["c"], ["d"]), node("ReduceSum", ["d", "axis"], ["y"])]
    return plain(nodes, initializers=[shape_constant("s", [2**20, 2**20]), shape_constant("axis", [1])]), None


@structure
def trilu_of_nothing():
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("Trilu", ["c"], ["y"])]
    return plain(nodes, initializers=[shape_constant("s", [0, 2**40, 1])]), None


@structure
def identities_of_a_sequence():
    nodes = [node("SplitToSequence", ["x"], ["s0"], axis=0)] + [node("Identity", [f"s{i}"], [f"s{i + 1}"]) for i in range(10000)]
    return plain(nodes + [node("ConcatFromSequence", ["s10000"], ["y"], axis=0)], shape=(4096, 1)), None


@structure
def growing_sequences():
    """A chain of sequences, all of which have names."""
    nodes = [node("SequenceEmpty", [], ["s" * 60])] + [node("SequenceInsert", [f"{i or ''}" + "s" * 60, "x"], [f"{i + 1}" + "s" * 60]) for i in range(7500)]
    return plain(nodes + [node("ConcatFromSequence", ["7500" + "s" * 60], ["y"], axis=0)]), None


@structure
def shapes_of_a_constant():
    """One constant in many shapes, each of which is stored by its own."""
    nodes = [node("Constant", [], ["c"], value=helper.make_tensor("", TensorProto.FLOAT, [2**20], b"\0\0\0\0\0\0\0\1" * 2**19, raw=True))]
    shapes = []
    for i, cuts in enumerate(itertools.combinations(range(1, 20), 5)):
        shapes.append(shape_constant(f"s{i}", [2**(end - begin) for begin, end in zip((0, *cuts), (*cuts, 20))]))
        nodes += [node("Reshape", ["c", f"s{i}"], [f"r{i}"]), node("Sin", [f"r{i}"], [f"t{i}"])]
    return plain([*nodes, node("Relu", ["x"], ["y"])], initializers=shapes), " steps; of the"


@structure
def many_sequences():
    nodes = [node("SplitToSequence", ["x"], [f"s{i}"], axis=0) for i in range(1000)]
    return plain(nodes + [node("Relu", ["x"], ["y"])], shape=(4096, 1)), "asks for"


@structure
def joined_sequences():
    nodes = [node("SplitToSequence", ["x"], ["s"], axis=0)] + [node("ConcatFromSequence", ["s"], [f"c{i}"], axis=0) for i in range(20000)]
    return plain(nodes + [node("Relu", ["x"], ["y"])], shape=(4096, 1)), "asks for"


@structure
def reshapes_of_a_constant():
    value = helper.make_tensor("", TensorProto.INT64, [65536], range(65536))
    nodes = [node("Constant", [], ["c0"], value=value)] + [node("Reshape", [f"c{i}", "s"], [f"c{i + 1}"]) for i in range(5000)]
    return plain(nodes + [node("Relu", ["x"], ["y"])], initializers=[shape_constant("s", [256, 256])]), None


@structure
def doubling_concatenations():
    nodes = [node("Concat", [f"x{i}" if i else "x"] * 2, [f"x{i + 1}"], axis=0) for i in range(44)]
    return plain(nodes + [node("ReduceSum", ["x44"], ["y"])]), "asks for"


@structure
def joined_one_by_one():
    """As a loop writes that is unrolled: each turn adds a row to what is there."""
    nodes = [node("Concat", [f"x{i}" if i else "x", "x"], [f"x{i + 1}"], axis=0) for i in range(800)]
    return plain(nodes + [node("ReduceSum", ["x800"], ["y"])]), None


@structure
def edge_pads():
    nodes = [node("Pad", [f"x{i}" if i else "x", "p"], [f"x{i + 1}"], mode="edge") for i in range(500)]
    return plain(nodes + [node("Relu", ["x500"], ["y"])], shape=(2, 2, 2, 2), initializers=[shape_constant("p", [60] * 8)]), ""


@structure
def planned_petabytes():
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("MatMul", ["c", "c"], ["d"]), node("Add", ["d", "x"], ["y"])]
    return plain(nodes, shape=(2**20, 2**20), initializers=[shape_constant("s", [2**20, 2**20])]), None


@structure
def outputs_of_petabytes():
    nodes = [node("ConstantOfShape", ["s"], [f"y{i}"]) for i in range(100)]
    return plain(nodes, [f"y{i}" for i in range(100)], initializers=[shape_constant("s", [2**20, 2**20])]), None


@structure
def wide_windows():
    return plain([node("MaxPool", ["x"], ["y"], kernel_shape=[2**19, 2**19], pads=[2**18] * 4)], shape=(1, 1, 2**19, 2**19)), ""


@structure
def huge_filter():
    nodes = [node("ConstantOfShape", ["s"], ["w"]), node("Conv", ["x", "w"], ["y"], pads=[2**18] * 4)]
    return plain(nodes, shape=(1, 1, 2**19, 2**19), initializers=[shape_constant("s", [1, 1, 2**19, 2**19])]), ""


def product(a, b):
    graph = Graph(random.Random(0))
    graph.inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("a", a), ("b", b))]
    graph.nodes = [node("MatMul", ["a", "b"], ["y"])]
    return graph.model(["y"])


@structure
def long_sums():
    return product([1, 2**39], [2**39, 1]), ""


@structure
def long_sums_of_parts():
    return product([1, 2**31 - 1], [2**31 - 1, 1]), None


@structure
def tall_product():
    return product([2**39, 1], [1, 2]), ""


@structure
def many_channels():
    return plain([node("Conv", ["x", "x"], ["y"])], shape=(2, 2**33, 2, 2)), ""


@structure
def conditional_recursion():
    """A function that calls itself by a branch of its own, which the importer alone can see."""
    branch = helper.make_graph([node("f", ["a"], ["c"], "local")], "g", [], [onnx.ValueInfoProto(name="c")])
    body = [node("Constant", [], ["k"], value=helper.make_tensor("", TensorProto.BOOL, [], [1])),
            node("If", ["k"], ["b"], then_branch=branch, else_branch=branch)]
    return called([function("f", body)]), ""


@structure
def chain():
    nodes = [node("Sin", [f"x{i}" if i else "x"], [f"x{i + 1}"]) for i in range(3000)]
    return plain(nodes, ["x3000"]), None


@structure
def wide_sum():
    return plain([node("Sin", ["x"], [f"s{i}"]) for i in range(2000)] + [node("Sum", [f"s{i}" for i in range(2000)], ["y"])]), None


@structure
def many_outputs():
    return plain([node("Sin", ["x"], [f"y{i}"]) for i in range(2000)], [f"y{i}" for i in range(2000)]), None


@structure
def nested_branches():
    inner = helper.make_graph([node("Identity", ["x"], ["b"])], "g", [], [onnx.ValueInfoProto(name="b")])
    for _ in range(14):
        inner = helper.make_graph([node("If", ["c"], ["b"], then_branch=inner, else_branch=inner)], "g", [], [onnx.ValueInfoProto(name="b")])
    return plain([node("If", ["x"], ["y"], then_branch=inner, else_branch=inner)], kind=TensorProto.BOOL, shape=()), ""


def loop(trips, body, inputs, outputs, carried=("x",)):
    """A Loop node whose graph has these nodes, carried inputs and outputs; the condition is always true."""
    named = [onnx.ValueInfoProto(name=name) for name in ("i", "c", *inputs)]
    graph = helper.make_graph(body, "g", named, [onnx.ValueInfoProto(name=name) for name in ("c", *outputs)])
    constants = [node("Constant", [], ["n"], value=helper.make_tensor("", TensorProto.INT64, [], [trips])),
                 node("Constant", [], ["on"], value=helper.make_tensor("", TensorProto.BOOL, [], [1]))]
    return constants, node("Loop", ["n", "on", *carried], ["y"], body=graph)


@structure
def empty_turns():
    constants, turns = loop(2**62, [], ["v"], ["v"])
    return plain([*constants, turns]), "asks for 1 nodes"


@structure
def doubling_turns():
    constants, turns = loop(2**20, [node("Concat", ["v", "v"], ["w"], axis=0)], ["v"], ["w"])
    return plain([*constants, turns]), ""


@structure
def stacked_turns():
    constants, turns = loop(2**40, [node("Expand", ["i", "k"], ["w"])], [], ["w"], carried=())
    big = node("Constant", [], ["k"], value=helper.make_tensor("", TensorProto.INT64, [2], [2**15, 2**15]))
    return plain([*constants, big, turns]), ""


@structure
def growing_sequence():
    constants, turns = loop(2**40, [node("SequenceInsert", ["s", "x"], ["t"])], ["s"], ["t"], carried=("e",))
    return plain([*constants, node("SequenceEmpty", [], ["e"]), turns, node("SequenceAt", ["y", "n"], ["z"])], ["z"]), "asks for"


@structure
def loops_in_loops():
    """Twenty loops of 2^10 turns in each other."""
    inner = [node("Sin", ["v0"], ["y"])]
    for depth in range(20):
        named = [onnx.ValueInfoProto(name=name) for name in (f"i{depth}", f"c{depth}", f"v{depth}")]
        ends = [onnx.ValueInfoProto(name=name) for name in (f"c{depth}", "y" if depth == 0 else f"w{depth}")]
        graph = helper.make_graph(inner, "g", named, ends)
        inner = [node("Loop", ["n", "on", f"v{depth + 1}" if depth < 19 else "x"], [f"w{depth + 1}" if depth < 19 else "z"], body=graph)]
    constants, _ = loop(2**10, [], [], [])
    return plain([*constants, *inner], ["z"]), ""


def in_untaken_branch(nodes):
    """A graph whose If never takes the branch with these nodes."""
    branch = helper.make_graph([*nodes, node("Identity", ["x"], ["t"])], "g", [], [onnx.ValueInfoProto(name="t")])
    other = helper.make_graph([node("Identity", ["x"], ["e"])], "g", [], [onnx.ValueInfoProto(name="e")])
    return plain([node("Constant", [], ["c"], value=helper.make_tensor("", TensorProto.BOOL, [], [0])),
                  node("If", ["c"], ["y"], then_branch=branch, else_branch=other)])


@structure
def interpreted_constants():
    """Operators without an evaluation of their own, whose results nothing must know."""
    scalars = [helper.make_tensor(n, TensorProto.INT64, [], [v]) for n, v in (("zero", 0), ("many", 4096), ("one", 1))]
    nodes = [node("Range", ["zero", "many", "one"], ["c0"])] + [node("Clip", [f"c{i}", "one"], [f"c{i + 1}"]) for i in range(3000)]
    return plain([*nodes, node("Relu", ["x"], ["y"])], initializers=scalars), None


@structure
def constants_that_folders_compute():
    """More than the importer and the folders of the dialect compute: the rest stays for the run."""
    scalars = [helper.make_tensor(n, TensorProto.FLOAT, [], [v]) for n, v in (("begin", 1), ("end", 4097), ("one", 1))]
    nodes = [node("Range", ["begin", "end", "one"], ["c0"])] + [node("Reciprocal", [f"c{i}"], [f"c{i + 1}"]) for i in range(10000)]
    return plain([*nodes, node("Add", ["x", "c10000"], ["y"])], shape=(4096,), initializers=scalars), None


@structure
def interpreted_shapes():
    """Each reshape evaluates the same long chain of operations on an initializer."""
    shape = helper.make_tensor("c0", TensorProto.FLOAT, [64], [2] * 64)
    nodes = [node("Abs", [f"c{i}"], [f"c{i + 1}"]) for i in range(900)]
    nodes += [node("Slice", ["c900", "begin", "end"], ["d"]), node("Cast", ["d"], ["s"], to=TensorProto.INT64)]
    nodes += [node("Reshape", [f"x{i}" if i else "x", "s"], [f"x{i + 1}"]) for i in range(3000)]
    ends = [shape_constant("begin", [0]), shape_constant("end", [2])]
    return plain([*nodes, node("Relu", ["x3000"], ["y"])], initializers=[shape, *ends]), "scalar operations on constants"


@structure
def names_that_stand_for_each_other():
    return in_untaken_branch([node("Identity", ["p"], ["q"]), node("Identity", ["q"], ["p"]), node("MatMul", ["p", "q"], ["r"])]), None


@structure
def many_uses_of_copies():
    nodes = [node("Identity", [f"c{i}" if i else "x"], [f"c{i + 1}"]) for i in range(40000)]
    return in_untaken_branch(nodes + [node("MatMul", ["c40000", "x"], [f"m{i}"]) for i in range(40000)]), None


@structure
def turns_with_many_names():
    names = [f"v{i}" for i in range(3000)]
    constants, turns = loop(40000, [node("Less", ["i", "n"], ["b"])], names, names, carried=["x"] * len(names))
    turns.output.extend(f"y{i}" for i in range(1, len(names)))
    return plain([*constants, turns]), " steps; of the"


@structure
def constants_of_turns():
    value = helper.make_tensor("", TensorProto.FLOAT, [32768], [0.5] * 32768)
    constants, turns = loop(40000, [node("Constant", [], ["k"], value=value)], ["v"], ["v"])
    return plain([*constants, turns]), None


@structure
def lists_of_turns():
    constants, turns = loop(40000, [node("Constant", [], ["k"], value_ints=list(range(65536)))], ["v"], ["v"])
    return plain([*constants, turns]), "constant elements"


@structure
def functions_and_branches():
    functions = [function(f"f{i}", [], [], []) for i in range(20000)]
    nodes = [node("Constant", [], ["c"], value=helper.make_tensor("", TensorProto.BOOL, [], [1]))]
    for i in range(20000):
        branch = helper.make_graph([node("Identity", ["x"], ["b"])], "g", [], [onnx.ValueInfoProto(name="b")])
        nodes.append(node("If", ["c"], [f"y{i}"], then_branch=branch, else_branch=branch))
    graph = Graph(random.Random(0))
    graph.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]))
    graph.nodes = nodes
    return graph.model(["y0"], functions), None


@structure
def described_calls():
    """A call whose metadata is long: its description, of which the name of the module is a part, is for messages alone."""
    body = [node("Identity", [f"c{i}" if i else "a"], [f"c{i + 1}"]) for i in range(50000)]
    model = called([function("f", [*body, node("Relu", ["c50000"], ["b"])])])
    model.graph.node[0].name = "call"
    model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', " + "'m', " * 500000 + "'n']")
    return model, None


def positions(operator, count, more):
    """Accesses by known positions, until the budget is exhausted: at another point of an access for each `more`."""
    scalars = [helper.make_tensor(n, TensorProto.INT64, [], [v]) for n, v in (("zero", 0), ("many", 65536), ("one", 1), ("less", 60000))]
    nodes = [node("Range", ["zero", "less", "one"], [f"r{i}"]) for i in range(more)]
    nodes += [node("Range", ["zero", "many", "one"], ["c"])]
    index = "c"
    if operator == "GatherND":
        nodes.append(node("Reshape", ["c", "s"], ["d"]))
        index = "d"
    nodes += [node(operator, ["x", index], [f"y{i}"]) for i in range(count)]
    return plain(nodes, ["y0"], shape=(65536,), initializers=[*scalars, shape_constant("s", [65536, 1])]), "constant elements"


for operator, more in itertools.product(("GatherND", "GatherElements"), range(3)):
    STRUCTURES.append(lambda operator=operator, more=more: positions(operator, 600, more))
    STRUCTURES[-1].__name__ = f"positions_of_{operator}_{more}"


@structure
def unused_random_numbers():
    """Each value is used twice, and the last one not at all."""
    nodes = [node("RandomUniform", [], ["r0"], shape=[2])] + [node("Add", [f"r{i}"] * 2, [f"r{i + 1}"]) for i in range(60)]
    return plain([*nodes, node("Relu", ["x"], ["y"])]), None


@structure
def flattened_nothing():
    return plain([node("Flatten", ["x"], ["y"], axis=1)], shape=(0, 2**40, 2**40)), "2^46 elements"


@structure
def reshaped_nothing():
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("Flatten", ["c"], ["y"], axis=2)]
    return plain(nodes, initializers=[shape_constant("s", [2**40, 2**40, 0])]), "is negative somewhere or too large"


@structure
def stack_of_no_turns():
    body = helper.make_graph([node("Identity", ["x"], ["w"])], "g", [onnx.ValueInfoProto(name="i"), onnx.ValueInfoProto(name="c")],
                             [onnx.ValueInfoProto(name="c"), helper.make_tensor_value_info("w", TensorProto.FLOAT, [-5])])
    constants, _ = loop(0, [], [], [])
    return plain([*constants, node("Loop", ["n", "on"], ["y"], body=body)]), "it never runs, and its graph declares its output 'w' with the shape"


@structure
def statistics_that_the_graph_computes():
    nodes = [node("Sin", [f"m{i}" if i else "mean"], [f"m{i + 1}"]) for i in range(15000)]
    for i in range(4000):
        nodes.append(node("BatchNormalization", [f"x{i}" if i else "x", "ones", "ones", "m15000", "m15000"], [f"x{i + 1}"]))
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [2], [1, 1]) for name in ("mean", "ones")]
    nodes.append(node("ReduceSum", ["x4000"], ["y"], keepdims=0))
    return plain(nodes, initializers=weights), " steps; of the", "--train", "--loss-output", "y"


@structure
def detached_values():
    """Each value that torch.export detaches is followed to the parameters."""
    nodes = [node("Sin", [f"m{i}" if i else "x"], [f"m{i + 1}"]) for i in range(20000)]
    for i in range(4000):
        nodes.append(node("Identity", ["m20000"], [f"d{i}"]))
        nodes[-1].metadata_props.add(key="pkg.torch.onnx.fx_node", value="%d = [target=torch.ops.aten.detach.default](args = (%m,), kwargs = {})")
    nodes += [node("Mul", ["x", "w"], ["p"]), node("ReduceSum", ["p"], ["y"], keepdims=0)]
    return plain(nodes, initializers=[helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 1])]), " steps; of the", "--train", "--loss-output", "y"


@structure
def compared_sizes():
    """Numbers that depend on the batch, of which each pair is compared."""
    nodes = [node("Shape", ["x"], ["s"], start=0, end=1)]
    for i in range(400):
        nodes += [node("Add", ["s", f"k{i}"], [f"a{i}"]), node("Expand", [f"a{i}", "wide"], [f"e{i}"])]
    nodes += [node("Max", [f"e{i}" for i in range(400)], ["m"]), node("Relu", ["x"], ["y"])]
    constants = [shape_constant(f"k{i}", [i]) for i in range(400)] + [shape_constant("wide", [65536])]
    return plain(nodes, shape=("batch", 2), initializers=constants), " steps; of the", "--dim", "batch=4"


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def defect(path, output, emit, expected, options):
    """What is wrong with how the compiler took the file; None when nothing is."""
    process = subprocess.Popen(["cleave", "compile", str(path), "-o", str(output), "--emit", emit, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=limits)
    text = process.stderr.read(1 << 20).decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = f"{usage.ru_utime + usage.ru_stime:.1f} s, {usage.ru_maxrss >> 10} MiB"
    errors = [line for line in text.splitlines() if line.startswith("cleave: error: ")]
    if process.returncode not in (0, 1, 2):
        return f"exit {process.returncode} ({cost}): {text[-300:]}"
    if usage.ru_maxrss << 10 > MEMORY:
        return f"takes {cost}"
    if bool(process.returncode) != bool(errors):
        return f"exit {process.returncode} with {len(errors)} error lines: {text[-300:]}"
    if expected is None and process.returncode:
        return f"refused: {errors[0]}"
    if expected and not any(expected in line for line in errors):
        return f"expected {expected!r}, got exit {process.returncode} ({cost}): {errors[:1]}"
    return None


def cases(arguments):
    for make in STRUCTURES:
        yield make.__name__, make
    schemas = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda schema: schema.since_version):
        if schema.domain == "" and schema.since_version <= OPSET and not schema.deprecated:
            schemas[schema.name] = schema
    order = random.Random(arguments.seed).sample(sorted(schemas), len(schemas))
    for variant, name in itertools.product(range(arguments.variants), order):
        rng = random.Random(f"{arguments.seed} {variant} {name}")
        yield f"{name}.{arguments.seed}.{variant}", lambda name=name, rng=rng: (operator_model(schemas[name], rng), "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--variants", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    start, run, failed, left = time.monotonic(), 0, 0, 0
    for name, make in cases(arguments):
        if arguments.only and not name.startswith(arguments.only):
            continue
        if time.monotonic() - start > arguments.seconds:
            left += 1
            continue
        try:
            model, expected, *options = make()
        except (ValueError, TypeError, OverflowError, onnx.onnx_cpp2py_export.checker.ValidationError):
            continue
        path = arguments.scratch / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        wrong = defect(path, arguments.scratch / "out", "executable" if expected == "" and run % 8 == 0 else "plan", expected, options)
        run += 1
        if wrong:
            failed += 1
            print(f"FAILED {name} ({path.stat().st_size} bytes): {wrong}", flush=True)
        else:
            path.unlink()
    print(f"{run - failed} of {run} small files handled within {CPU_SECONDS} s and {MEMORY >> 30} GiB" + (f"; {left} left out after {arguments.seconds:.0f} s" if left else ""))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
