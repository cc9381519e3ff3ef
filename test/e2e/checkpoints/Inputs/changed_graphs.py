"""changed_graphs.py MODEL.onnx FOLDER    Two files of the model's name: FOLDER/tanh has another activation, and FOLDER/renamed has other names of
values and other values of weights, and is the same graph."""
import pathlib
import sys

import onnx
from onnx import numpy_helper

path, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def write(kind, change):
    model = onnx.load(path)
    change(model.graph)
    (folder / kind).mkdir(parents=True)
    onnx.save(model, folder / kind / path.name)


def with_tanh(graph):
    changed = [node for node in graph.node if node.op_type == "Relu"]
    for node in changed:
        node.op_type = "Tanh"
    assert changed


def renamed(graph):
    inner = {name for node in graph.node for name in node.output} - {output.name for output in graph.output}
    for i, node in enumerate(graph.node):
        node.name, node.doc_string = f"n{i}", "other"
        node.input[:] = [name + ".again" if name in inner else name for name in node.input]
        node.output[:] = [name + ".again" if name in inner else name for name in node.output]
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name, reverse=True)
        del node.attribute[:]
        node.attribute.extend(attributes)
    del graph.value_info[:]
    for tensor in graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * 2, tensor.name))


write("tanh", with_tanh)
write("renamed", renamed)
