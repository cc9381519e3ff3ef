"""token_model.py FILE.onnx: a causal model of 700 tokens, context 12, with three integer inputs of one shape and two outputs that fit.

What stands at a position depends on the mean over the positions up to it. `attention_mask` and `position_ids` are inputs as Hugging
Face's exports have them; `labels` is one that the logits do not need."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, CONTEXT, WIDTH = 700, 12, 32


def main():
    random = np.random.default_rng(7)
    tensors = {
        "wte": random.standard_normal((VOCABULARY, WIDTH)), "wpe": random.standard_normal((CONTEXT, WIDTH)),
        "w1": random.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5, "w2": random.standard_normal((WIDTH, VOCABULARY)) * 3 / WIDTH**0.5,
        "before": np.tril(np.ones((CONTEXT, CONTEXT))) / np.arange(1, CONTEXT + 1)[:, None]}
    node = helper.make_node
    nodes = [
        node("Gather", ["wte", "tokens"], ["embedded"]), node("Gather", ["wpe", "position_ids"], ["places"]),
        node("Add", ["embedded", "places"], ["x"]), node("MatMul", ["before", "x"], ["mean"]),
        node("MatMul", ["mean", "w1"], ["mixed"]), node("Tanh", ["mixed"], ["h"]), node("Add", ["x", "h"], ["sum"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT), node("Unsqueeze", ["mask", "last"], ["mask3"]),
        node("Mul", ["sum", "mask3"], ["hidden"]), node("MatMul", ["hidden", "w2"], ["logits"]),
        node("Transpose", ["logits"], ["by_token"], perm=[0, 2, 1]),
        node("SoftmaxCrossEntropyLoss", ["by_token", "labels"], ["loss"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", CONTEXT])
              for name in ("labels", "attention_mask", "tokens", "position_ids")]
    outputs = [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", CONTEXT, WIDTH]),
               helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CONTEXT, VOCABULARY]),
               helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
    initializers = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in tensors.items()]
    initializers.append(numpy_helper.from_array(np.array([2], np.int64), "last"))
    graph = helper.make_graph(nodes, "tokens", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, sys.argv[1])


main()
