#!/usr/bin/env python3
"""Imported test models against onnxruntime: compare_models.py IMPORTER MODEL.onnx ... Prints the relative error of every output."""
import sys

import numpy as np
import onnx
import onnxruntime

from interpret import run_model

BATCH = 4
LIMITS = {"tokens": 256, "input_ids": 1000, "token_type_ids": 2, "attention_mask": 2}


def make_inputs(model, classes):
    random, inputs = np.random.default_rng(7), {}
    for item in model.graph.input:
        shape = [BATCH if d.dim_param else d.dim_value for d in item.type.tensor_type.shape.dim]
        if item.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            inputs[item.name] = random.standard_normal(shape, dtype=np.float32)
        else:
            inputs[item.name] = random.integers(0, LIMITS.get(item.name, classes), shape)
    return inputs


def main():
    importer, worst = sys.argv[1], 0.0
    for path in sys.argv[2:]:
        model = onnx.load(path, load_external_data=False)
        classes = model.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
        inputs = make_inputs(model, classes)
        disabled = onnxruntime.SessionOptions()
        disabled.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        disabled.log_severity_level = 3
        names = [output.name for output in model.graph.output]
        for node in model.graph.node:  # training form: switch dropout off for the reference
            if node.op_type == "Dropout":
                del node.input[1:]
            if node.op_type == "BatchNormalization":
                del node.output[1:]
                for attribute in node.attribute:
                    if attribute.name == "training_mode":
                        attribute.i = 0
        reference_path = path + ".inference.onnx"
        onnx.save(model, reference_path)
        expected = onnxruntime.InferenceSession(reference_path, disabled).run(names, inputs)
        actual = run_model(importer, path, inputs, f"--dim=batch={BATCH}")
        for name, a, b in zip(names, actual, expected):
            error = float(np.linalg.norm(np.float64(a) - b) / max(np.linalg.norm(np.float64(b)), 1e-30))
            if not np.isfinite(error) or not np.isfinite(b).all():
                sys.exit(f"{path}: {name} has elements that are no numbers")
            worst = max(worst, error)
            print(f"{path.split('/')[-1]} {name} {error:.1e}")
    print("largest relative error", "below 1e-5" if worst < 1e-5 else f"TOO LARGE: {worst:.1e}")


if __name__ == "__main__":
    main()
