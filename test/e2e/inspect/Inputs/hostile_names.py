"""hostile_names.py FILE.onnx [LAYERS]: a model of linear layers whose node, tensor and input names would end a script, make an element, or
turn to another direction where they reached a page as they are."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

NAMES = ["</script><script>alert(1)</script>", "<!--<img src=x onerror=alert(1)>", "\"'`${alert(1)}", "\u2028\u202e]]>&lt;"]


def main():
    layers = int(sys.argv[2]) if len(sys.argv) > 2 else len(NAMES)
    nodes, weights, value = [], [], "x<script>"
    for layer in range(layers):
        name = f"{layer}/{NAMES[layer % len(NAMES)]}"
        weights.append(numpy_helper.from_array(numpy.full((16, 16), 1 / (layer + 16), "f4"), name + ".weight"))
        nodes.append(helper.make_node("MatMul", [value, name + ".weight"], [name + "y"], name=name + "/MatMul"))
        nodes.append(helper.make_node("Relu", [name + "y"], [name + "z"], name=name + "/Relu"))
        value = name + "z"
    graph = helper.make_graph(nodes, "</script>", [helper.make_tensor_value_info("x<script>", TensorProto.FLOAT, ["batch", 16])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", 16])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])


main()
