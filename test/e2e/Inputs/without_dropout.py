"""Copies a model without its Dropout nodes: without_dropout.py MODEL.onnx OUTPUT.onnx (weights are embedded)."""
import sys

import onnx


def main():
    model = onnx.load(sys.argv[1])
    graph = model.graph
    replaced = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Dropout"}

    def source(name):
        while name in replaced:
            name = replaced[name]
        return name

    kept = [node for node in graph.node if node.op_type != "Dropout"]
    for node in kept:
        node.input[:] = [source(name) for name in node.input]
    del graph.node[:]
    graph.node.extend(kept)
    onnx.save(model, sys.argv[2])


if __name__ == "__main__":
    main()
