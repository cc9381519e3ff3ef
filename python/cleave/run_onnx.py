"""Runs an ONNX file in onnxruntime: run_onnx.py MODEL.onnx (INPUTS.npz OUTPUTS.npz)... cleave.export_torch starts it as a process of its
own, because onnxruntime can crash on a file, and the caller's process must not."""
import sys

import numpy as np


def main():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
    wanted = [value.name for value in session.get_inputs()]
    for inputs, outputs in zip(sys.argv[2::2], sys.argv[3::2]):
        feeds = np.load(inputs)
        results = session.run(None, {name: feeds[name] for name in wanted})
        np.savez(outputs, **{f"output{i}": value for i, value in enumerate(results)})


if __name__ == "__main__":
    main()
