"""The file as it computes in inference, which onnxruntime then runs: Dropout, BatchNormalization and random masks are replaced as Cleave's compiler
replaces them.

A mask of ones and zeros that is only a factor, as that of stochastic depth, becomes the probability of a one:

  x * (cast(uniform < 0.8) / 0.8)      x / 0.8 * floor(uniform + 0.8)      x * bernoulli(0.8) / 0.8

This is the rule of compiler/Import/ONNX/Operators/RandomMasks.h. Other random numbers are drawn in inference, too."""
import numpy as np
import onnx
import onnx.inliner
import onnx.numpy_helper

DRAWING = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
_SPREADING = ("Cast", "CastLike", "Expand", "Identity", "Reshape", "Squeeze", "Unsqueeze")  # the numbers of the first input stay


def bodies(node):
    return [body for attribute in node.attribute for body in ([attribute.g] if attribute.HasField("g") else attribute.graphs)]


def reads(node):
    """The values that a node's results depend on, those that its bodies take from outside as well. Shapes and types are none."""
    if node.op_type in ("Shape", "Size", "SequenceLength", "EyeLike", "RandomNormalLike", "RandomUniformLike"):
        return []
    within = [name for body in bodies(node) for inner in body.node for name in reads(inner)]
    return [*(node.input[:1] if node.op_type == "CastLike" else node.input), *within, *(o.name for body in bodies(node) for o in body.output)]


def needed(graph, shapes):
    """The values that the outputs are computed from; with `shapes`, also those of which they need the shape alone."""
    values = {value.name for value in graph.output}
    for node in reversed(graph.node):  # a node stands after those that it reads
        if not values.isdisjoint(node.output):
            values.update(reads(node), node.input if shapes else ())
    return values


def _begins(node, is_first):
    return is_first(node) or any(_begins(inner, is_first) for body in bodies(node) for inner in body.node)


def first_nodes(graph, is_first):
    """For each output that depends on a node for which `is_first` is true, the names of all such nodes before it."""
    reached = {}  # value -> the first nodes before it
    for node in graph.node:
        first = {name for value in reads(node) for name in reached.get(value, ())}
        if _begins(node, is_first):
            first.add(f"'{node.name or node.output[0]}' ({node.op_type})")
        reached.update((name, first) for name in node.output if first)
    return {value.name: sorted(reached[value.name]) for value in graph.output if value.name in reached}


class _Graph:
    def __init__(self, graph):
        self.graph = graph
        self.makers = {name: node for node in graph.node for name in node.output}
        self.users, self.outputs = {}, {value.name for value in graph.output}
        for node in graph.node:
            for name in dict.fromkeys([*node.input, *reads(node)]):
                self.users.setdefault(name, []).append(node)

    def number(self, name):
        """The number that all elements of a constant equal, or None. An initializer may be trained, and is none."""
        node = self.makers.get(name)
        while node is not None and node.op_type in _SPREADING:
            node = self.makers.get(node.input[0])
        if node is None or node.op_type not in ("Constant", "ConstantOfShape") or not node.attribute:
            return None
        value = node.attribute[0]
        if value.type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT):
            return float(onnx.helper.get_attribute_value(value))
        if not value.HasField("t") or value.t.data_type == onnx.TensorProto.STRING:
            return None
        array = onnx.numpy_helper.to_array(value.t)
        return float(array.flat[0]) if array.size and (array == array.flat[0]).all() else None

    def to_float(self, node):
        return node.op_type == "CastLike" or node.op_type == "Cast" and any(a.name == "to" and a.i in FLOATS for a in node.attribute)

    def masks(self, draw):
        """The nodes that make masks of a draw, with the probability of a one."""
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in draw.attribute}
        if draw.op_type == "Bernoulli":
            probability = self.number(draw.input[0])
            if probability is not None and attributes.get("dtype", onnx.TensorProto.FLOAT) in FLOATS:
                yield draw, probability
        if draw.op_type not in ("RandomUniform", "RandomUniformLike") or (attributes.get("low", 0), attributes.get("high", 1)) != (0, 1):
            return
        uniform = draw.output[0]
        for user in self.users.get(uniform, ()):
            is_left = user.input[0] == uniform
            number = self.number(user.input[1 if is_left else 0]) if len(user.input) == 2 else None
            if number is None:
                continue
            if user.op_type in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
                below = min(max(number, 0.0), 1.0)
                for cast in self.users.get(user.output[0], ()):
                    if self.to_float(cast) and cast.input[0] == user.output[0]:
                        yield cast, below if user.op_type.startswith("Less") == is_left else 1 - below
            elif user.op_type == "Add" and 0 <= number <= 1:
                for floor in self.users.get(user.output[0], ()):
                    if floor.op_type == "Floor":
                        yield floor, number

    def is_factor(self, mask):
        """Whether a mask is only a factor of products with other values, perhaps after nodes that keep its form up to a number."""
        open_values, seen = [mask], set()
        while open_values:
            value = open_values.pop()
            if value in self.outputs or value not in self.users:
                return False
            for node in self.users[value]:
                if self._keeps_form(node, value):
                    if node.output[0] not in seen:
                        open_values.append(node.output[0])
                    seen.add(node.output[0])
                elif not self._is_product(node, value, mask):
                    return False
        return True

    def _keeps_form(self, node, value):
        if node.op_type in ("Mul", "Div"):
            other = node.input[1 if node.input[0] == value else 0]
            return self.number(other) is not None and (node.op_type == "Mul" or node.input[0] == value)
        return node.op_type in _SPREADING and node.input[0] == value and (node.op_type != "Cast" or self.to_float(node))

    def _is_product(self, node, value, mask):
        """With another value, which is no product of the mask either: a mask times itself is the mask. Shapes and types are not in question."""
        if node.op_type != "Mul":
            return value not in reads(node)
        open_values, seen = [node.input[1 if node.input[0] == value else 0]], set()
        while open_values:
            name = open_values.pop()
            if name == mask:
                return False
            maker = self.makers.get(name)
            if maker is None or name in seen:
                continue
            seen.add(name)
            open_values += maker.input[:1] if maker.op_type in _SPREADING else maker.input if maker.op_type in ("Mul", "Div") else []
        return True


def _replace_masks(graph):
    """Returns for each output that depends on masks the names of the nodes that draw them."""
    values = _Graph(graph)
    masks = [(draw, mask, probability) for draw in graph.node if draw.op_type in DRAWING
             for mask, probability in values.masks(draw) if values.is_factor(mask.output[0])]
    drawn = {draw.output[0] for draw, _, _ in masks}
    masked = first_nodes(graph, lambda node: not drawn.isdisjoint(node.output))
    expected = {}
    for draw, mask, probability in masks:
        result = mask.output[0]
        shape, number = f"{result}.shape", f"{result}.expected"
        numbers = onnx.numpy_helper.from_array(np.array([probability]))
        nodes = [onnx.helper.make_node("Shape", [draw.output[0]], [shape]), onnx.helper.make_node("ConstantOfShape", [shape], [number], value=numbers)]
        if draw is mask:
            dtype = [a.i for a in mask.attribute if a.name == "dtype"]
            nodes = [onnx.helper.make_node("Cast", [draw.input[0]], [result], to=dtype[0]) if dtype else
                     onnx.helper.make_node("Identity", [draw.input[0]], [result])]
        elif mask.op_type == "Floor":
            nodes.append(onnx.helper.make_node("CastLike", [number, draw.output[0]], [result]))
        else:
            cast = onnx.NodeProto()
            cast.CopyFrom(mask)
            cast.input[0] = number
            nodes.append(cast)
        expected[result] = nodes
    kept = [replaced for node in graph.node for replaced in (expected.get(node.output[0], [node]) if node.output else [node])]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
    del graph.node[:]
    graph.node.extend(copies)
    return masked


def inference_copy(model):
    """The file in inference form, and for each output that depends on random masks the names of the nodes that draw them."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if copy.functions:  # of older exporters, which have the draws in functions of theirs
        copy = onnx.inliner.inline_local_functions(copy)
    for node in copy.graph.node:
        if node.op_type == "Dropout" and not node.domain:
            del node.input[1:]
        elif node.op_type == "BatchNormalization" and not node.domain:
            for attribute in node.attribute:
                if attribute.name == "training_mode":
                    attribute.i = 0
            del node.output[1:]
    return copy, _replace_masks(copy.graph)


def is_drawing(node):
    return node.op_type in DRAWING
