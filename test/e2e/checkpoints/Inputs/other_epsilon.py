"""Writes a model that differs from another only in the epsilon of its normalizations: other_epsilon.py FROM TO."""
import sys

import onnx

model = onnx.load(sys.argv[1])
found = [a for node in model.graph.node for a in node.attribute if a.name == "epsilon"]
assert found, "the model has no epsilon"
for attribute in found:
    attribute.f *= 10
onnx.save(model, sys.argv[2])
