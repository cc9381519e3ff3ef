"""Puts parts of a random graph into functions, branches and bodies of loops. What the graph computes stays the same.

A part is a run of consecutive nodes. What it reads is passed as an argument, carried by the loop, or captured by its name; constants
that it alone reads may become its own. Parts may hold parts.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "local"
PLAIN = {onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT, onnx.AttributeProto.STRING, onnx.AttributeProto.INTS}


def names_read(node):
    """The names that a node reads, those that graphs inside it capture among them."""
    found = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            inner = attribute.g
            own = {port.name for port in inner.input} | {tensor.name for tensor in inner.initializer}
            own |= {name for one in inner.node for name in one.output}
            reads = [name for one in inner.node for name in names_read(one)] + [port.name for port in inner.output]
            found += [name for name in reads if name not in own]
    return list(dict.fromkeys(found))


class Part:
    """The nodes [begin, end) of a graph: what they read from outside, and what of them is read there."""

    def __init__(self, graph, begin, end):
        self.nodes = list(graph.node)[begin:end]
        made = {name for node in self.nodes for name in node.output if name}
        self.reads = [name for name in dict.fromkeys(n for node in self.nodes for n in names_read(node)) if name not in made]
        outside = [node for node in [*list(graph.node)[:begin], *list(graph.node)[end:]]]
        self.read_outside = {name for node in outside for name in names_read(node)} | {port.name for port in graph.output}
        self.writes = sorted(made & self.read_outside)


class Enclosing:
    """`arrays` has the values of all names. `fixed`: their shapes are those of every run, and the initializers are no parameters."""

    def __init__(self, model, arrays, rng, fixed=True):
        self.model, self.graph, self.arrays, self.rng, self.fixed = model, model.graph, dict(arrays), rng, fixed
        self.count = 0

    def chance(self, probability):
        return self.rng.random() < probability

    def name(self, prefix):
        self.count += 1
        return f"{prefix}.{self.count}"

    def port(self, name, own_name=None):
        return helper.make_tensor_value_info(own_name or name, helper.np_dtype_to_tensor_dtype(np.dtype(self.arrays[name].dtype)), None)

    def initializer(self, array, prefix="extra"):
        name = self.name(prefix)
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        self.arrays[name] = np.asarray(array)
        return name

    def apply(self, times):
        kinds = [self.function, self.branch, self.loop, self.scanned]
        for _ in range(times):
            if not self.graph.node:
                return
            begin = int(self.rng.integers(0, len(self.graph.node)))
            end = min(len(self.graph.node), begin + int(self.rng.integers(1, 6)))
            part = Part(self.graph, begin, end)
            if not part.writes or not set(part.writes + part.reads) <= set(self.arrays):
                continue
            made = kinds[int(self.rng.integers(0, len(kinds)))](part)
            nodes = [*list(self.graph.node)[:begin], *made, *list(self.graph.node)[end:]]
            del self.graph.node[:]
            self.graph.node.extend(nodes)

    # What a body has of its own

    def own_constants(self, part):
        """Initializers that the part alone reads, taken from the graph."""
        if not self.fixed:
            return []
        taken = [tensor for tensor in self.graph.initializer if tensor.name in part.reads and tensor.name not in part.read_outside
                 and self.chance(0.5)]
        kept = [tensor for tensor in self.graph.initializer if tensor not in taken]
        taken = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in taken]
        kept = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
        del self.graph.initializer[:]
        self.graph.initializer.extend(kept)
        part.reads = [name for name in part.reads if name not in {tensor.name for tensor in taken}]
        return taken

    # Functions

    def function(self, part):
        """Attributes of its nodes become its own: with a default, with another default than the call gives, or without."""
        constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in self.own_constants(part)]
        title, overload = self.name("F"), ""
        if self.chance(0.5):
            title = "Same"
            overload = f"o{self.count}"
        function = helper.make_function(DOMAIN, title, part.reads, part.writes, constants, list(self.model.opset_import), overload=overload)
        if not any(one.domain == DOMAIN for one in function.opset_import):
            function.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        call = helper.make_node(title, part.reads, part.writes, domain=DOMAIN, overload=overload, name=self.name("call"))
        for node in part.nodes:
            function.node.append(self.parametrized(node, function, call))
        self.model.functions.append(function)
        if not any(one.domain == DOMAIN for one in self.model.opset_import):
            self.model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        return [call]

    def parametrized(self, node, function, call):
        node = onnx.NodeProto.FromString(node.SerializeToString())
        for attribute in node.attribute:
            if attribute.type not in PLAIN or attribute.ref_attr_name or self.chance(0.4):
                continue
            parameter = self.name(attribute.name).replace(".", "_")
            value = onnx.AttributeProto.FromString(attribute.SerializeToString())
            value.name = parameter
            kind = int(self.rng.integers(0, 3))
            if kind == 0:
                function.attribute_proto.append(value)
            else:
                call.attribute.append(value)
                if kind == 1:
                    function.attribute.append(parameter)
                else:
                    function.attribute_proto.append(self.other(value))
            for field in ("f", "i", "s"):
                attribute.ClearField(field)
            del attribute.ints[:]
            attribute.ref_attr_name = parameter
        return node

    @staticmethod
    def other(value):
        changed = onnx.AttributeProto.FromString(value.SerializeToString())
        changed.f, changed.i, changed.s = value.f + 1, value.i + 1, b"other"
        for field, kind in (("f", onnx.AttributeProto.FLOAT), ("i", onnx.AttributeProto.INT), ("s", onnx.AttributeProto.STRING)):
            if value.type != kind:
                changed.ClearField(field)
        return changed

    # Branches

    def renamed(self, part):
        """The body's nodes and the names of its results: those of the node that holds the body, or others."""
        if self.chance(0.5):
            return part.nodes, part.writes
        results = [self.name("own") for _ in part.writes]
        return [*part.nodes, *(helper.make_node("Identity", [old], [new]) for old, new in zip(part.writes, results))], results

    def condition(self, truth):
        """A constant, a comparison of constants, or of a size."""
        kind = int(self.rng.integers(0, 3))
        if kind == 0:
            return [], self.initializer(np.bool_(truth), "cond")
        result, left, right = self.name("cond"), self.initializer(np.int64(1)), self.initializer(np.int64(2))
        if kind == 2 and self.graph.input:
            left = self.name("rank")
            shape = helper.make_node("Shape", [self.graph.input[0].name], [left + ".shape"])
            nodes = [shape, helper.make_node("Size", [left + ".shape"], [left])]
            right = self.initializer(np.int64(100))
        else:
            nodes = []
        return [*nodes, helper.make_node("Less" if truth else "Greater", [left, right], [result])], result

    def branch(self, part):
        truth = self.chance(0.5)
        before, condition = self.condition(truth)
        constants = self.own_constants(part)
        nodes, results = self.renamed(part)
        taken = helper.make_graph(nodes, "taken", [], [self.port(name, own) for name, own in zip(part.writes, results)], constants)
        others = [self.name("other") for _ in part.writes]
        zeros = [helper.make_node("Cast", [self.initializer(np.int64(0))], [own], to=self.port(name).type.tensor_type.elem_type)
                 for name, own in zip(part.writes, others)]
        untaken = helper.make_graph(zeros, "untaken", [], [self.port(name, own) for name, own in zip(part.writes, others)])
        branches = (taken, untaken) if truth else (untaken, taken)
        return [*before, helper.make_node("If", [condition], part.writes, then_branch=branches[0], else_branch=branches[1])]

    # Loops

    def loop(self, part):
        """A loop that carries what the part reads once round, or begins with other numbers and ends with the part's."""
        constants = self.own_constants(part)
        nodes, results = self.renamed(part)
        literals = {tensor.name for tensor in self.graph.initializer}
        passed = [name for name in part.reads if name not in literals and self.chance(0.5)]
        trips = 1 if passed or not self.fixed else int(self.rng.integers(1, 4))
        initial = [*passed]
        if trips > 1 or (self.fixed and not passed):
            initial = [self.initializer(np.zeros(self.arrays[name].shape, self.arrays[name].dtype)) for name in part.writes]
            carried, outputs = [self.name("unread") for _ in part.writes], list(part.writes)
            ports = [self.port(name, own) for name, own in zip(part.writes, carried)]
            body_results = [self.port(name, own) for name, own in zip(part.writes, results)]
            return self.make_loop(trips, nodes, constants, initial, ports, body_results, outputs, [])
        # What is read keeps its name inside; the results are scanned out.
        after = [self.name("after") for _ in passed]
        nodes = [*nodes, *(helper.make_node("Identity", [name], [new]) for name, new in zip(passed, after))]
        ports = [self.port(name) for name in passed]
        body_results = [self.port(name, new) for name, new in zip(passed, after)]
        body_results += [self.port(name, own) for name, own in zip(part.writes, results)]
        return self.make_loop(1, nodes, constants, initial, ports, body_results, [self.name("left") for _ in passed], part.writes)

    def make_loop(self, trips, nodes, constants, initial, ports, results, outputs, scanned):
        place, go = self.name("trip"), self.name("go")
        inputs = [helper.make_tensor_value_info(place, TensorProto.INT64, []), helper.make_tensor_value_info(go, TensorProto.BOOL, [])]
        on = go + ".on"
        body = helper.make_graph([*nodes, helper.make_node("Identity", [go], [on])], "body", [*inputs, *ports],
                                 [helper.make_tensor_value_info(on, TensorProto.BOOL, []), *results], constants)
        stacks = [self.name("stack") for _ in scanned]
        condition = "" if self.chance(0.5) else self.initializer(np.bool_(True))
        node = helper.make_node("Loop", [self.initializer(np.int64(trips)), condition, *initial], [*outputs, *stacks], body=body)
        last = self.initializer(np.int64(trips - 1))
        return [node, *(helper.make_node("Gather", [stack, last], [name], axis=0) for stack, name in zip(stacks, scanned))]

    def scanned(self, part):
        """A Scan over something that the body does not read."""
        constants = self.own_constants(part)
        nodes, results = self.renamed(part)
        steps = int(self.rng.integers(1, 4))
        ticks, tick = self.initializer(np.arange(steps, dtype=np.float32)), self.name("tick")
        body = helper.make_graph(nodes, "scan", [helper.make_tensor_value_info(tick, TensorProto.FLOAT, None)],
                                 [self.port(name, own) for name, own in zip(part.writes, results)], constants)
        stacks = [self.name("stack") for _ in part.writes]
        node = helper.make_node("Scan", [ticks], stacks, body=body, num_scan_inputs=1)
        last = self.initializer(np.int64(self.rng.integers(0, steps)))
        return [node, *(helper.make_node("Gather", [stack, last], [name], axis=0) for stack, name in zip(stacks, part.writes))]


def enclose(model, arrays, seed, fixed=True):
    """The model with some parts enclosed; every other one stays as it is."""
    rng = np.random.default_rng([seed, 7])
    if rng.random() < 0.5:
        Enclosing(model, arrays, rng, fixed).apply(int(rng.integers(1, 4)))
        onnx.checker.check_model(model)
    return model
