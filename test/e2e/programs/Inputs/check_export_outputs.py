"""`cleave export --outputs` of every choice of a model's outputs.

    check_export_outputs.py CHECKPOINT MODEL.onnx FOLDER

Each choice is run in onnxruntime: it gives the bits that the whole export gives. It has the nodes, inputs and initializers that its
outputs reach, found here by a walk of its own, and no others. A second model adds to the first what makes the walk hard.
"""
import itertools
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper


def reads(node):
    for name in node.input:
        yield name
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs]:
            yield from (output.name for output in graph.output)
            for inner in graph.node:
                yield from reads(inner)


def reached(graph, names):
    makers = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    values, nodes, pending = set(), set(), list(names)
    while pending:
        name = pending.pop()
        if name in values:
            continue
        values.add(name)
        if name in makers and makers[name] not in nodes:
            nodes.add(makers[name])
            pending += reads(graph.node[makers[name]])
    return values, nodes


def hard(model):
    """Outputs by way of a branch that reads a node's value, an input and a weight around it, and of nodes with outputs that are not named."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph = model.graph
    weight = next(t.name for t in graph.initializer if len(t.dims) == 2)
    graph.input.append(helper.make_tensor_value_info("switch", TensorProto.BOOL, []))
    graph.input.append(helper.make_tensor_value_info("offset", TensorProto.FLOAT, []))
    graph.input.append(helper.make_tensor_value_info("idle", TensorProto.FLOAT, [3]))

    def branch(name, nodes):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [])])

    inner = branch("inner", [helper.make_node("Add", ["total", "offset"], ["inner_a"])])
    other = branch("other", [helper.make_node("ReduceSum", [weight], ["inner_b"], keepdims=0)])
    graph.node.append(helper.make_node("ReduceSum", ["logits"], ["total"], keepdims=0))
    graph.node.append(helper.make_node("If", ["switch"], ["chosen"], then_branch=inner, else_branch=other))
    graph.node.append(helper.make_node("MaxPool", ["x4"], ["pooled", ""], kernel_shape=[1, 2]))
    graph.node.append(helper.make_node("Dropout", ["x"], ["unread_dropped", "mask"]))
    # MaxPool wants four dimensions: made of x, by a node that stands before it.
    graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 1, 4, -1], np.int64), "shape4"))
    graph.node.insert(0, helper.make_node("Reshape", ["x", "shape4"], ["x4"]))
    graph.initializer.append(onnx.numpy_helper.from_array(np.ones(5, np.float32), "unread"))
    graph.value_info.append(helper.make_tensor_value_info("total", TensorProto.FLOAT, []))
    graph.output.append(helper.make_tensor_value_info("chosen", TensorProto.FLOAT, []))
    graph.output.append(helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [1, 1, 4, "columns"]))
    graph.output.append(helper.make_tensor_value_info("mask", TensorProto.BOOL, ["batch", 64]))
    return model


def feeds(model):
    random = np.random.default_rng(0)
    known = {"switch": np.array(True), "offset": np.array(0.5, np.float32), "idle": np.zeros(3, np.float32)}
    result = {}
    for value in model.graph.input:
        shape = [d.dim_value or 4 for d in value.type.tensor_type.shape.dim]
        whole = value.type.tensor_type.elem_type in (TensorProto.INT64, TensorProto.INT32)
        result[value.name] = known.get(value.name, random.integers(0, 3, shape) if whole else random.random(shape, np.float32))
    return result


def run(path, names, data):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = [value.name for value in session.get_inputs()]
    return dict(zip(names, session.run(names, {name: data[name] for name in inputs})))


def check(condition, text):
    if not condition:
        sys.exit(text)


def check_all(checkpoint, path, folder, data):
    def export(name, *options):
        subprocess.run(["cleave", "export", checkpoint, "--model", path, "-o", folder / name, *options], check=True, stdout=subprocess.DEVNULL)
        return onnx.load(folder / name)

    whole = export("whole.onnx")
    names = [value.name for value in whole.graph.output]
    expected = run(folder / "whole.onnx", names, data)
    count = 0
    for size in range(1, len(names) + 1):
        for chosen in itertools.combinations(names, size):
            graph = export("part.onnx", "--outputs", ",".join(chosen)).graph
            values, nodes = reached(whole.graph, chosen)
            check([value.name for value in graph.output] == list(chosen), f"{chosen}: outputs {[value.name for value in graph.output]}")
            for kind in ("input", "initializer"):
                ours = [value.name for value in getattr(graph, kind)]
                check(ours == [value.name for value in getattr(whole.graph, kind) if value.name in values], f"{chosen}: {kind}s {ours}")
            ours = [node.SerializeToString() for node in graph.node]
            check(ours == [whole.graph.node[i].SerializeToString() for i in sorted(nodes)], f"{chosen}: other nodes")
            made = {name for node in graph.node for name in node.output}
            check(all(value.name in made | values for value in graph.value_info), f"{chosen}: types of values that are gone")
            got = run(folder / "part.onnx", list(chosen), data)
            check(all(np.array_equal(got[name], expected[name]) for name in chosen), f"{chosen}: other numbers")
            count += 1
    return f"{len(names)} outputs, {count} choices"


def main():
    checkpoint, path, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    model = onnx.load(path)
    print("plain:", check_all(checkpoint, path, folder, feeds(model)))
    made = hard(model)
    changed = folder / "hard" / path.name  # the checkpoint is of a model of this name
    changed.parent.mkdir(exist_ok=True)
    onnx.save(made, changed)
    onnx.checker.check_model(made)
    print("hard:", check_all(checkpoint, changed, folder, feeds(made)))


main()
