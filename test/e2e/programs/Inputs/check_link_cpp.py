"""Compares the first values that examples/link-cpp printed with onnxruntime's, for the inputs that it makes up.

  check_link_cpp.py MODEL.onnx PRINTED.txt
"""
import re
import sys

import numpy as np
import onnxruntime

model, printed = sys.argv[1:]
lines = open(printed).read().splitlines()
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
shapes = {name: [int(size) for size in shape.split("x")]
          for name, shape in (re.fullmatch(r"input  (\S+): (\S+)", line).groups()
                              for line in lines if line.startswith("input"))}
arrays = {}
for port in session.get_inputs():
    count = np.prod(shapes[port.name])
    ramp = np.float32(0.01) * (np.arange(count) % 100).astype(np.float32)
    array = ramp if port.type == "tensor(float)" else np.zeros(count, np.int64)
    arrays[port.name] = array.reshape(shapes[port.name])

names = [port.name for port in session.get_outputs()]
expected = dict(zip(names, session.run(names, arrays)))
found = dict(re.fullmatch(r"output (\S+): .*, first value (\S+)", line).groups()
             for line in lines if line.startswith("output"))
assert set(found) == set(names), (found, names)
for name in names:
    first = expected[name].reshape(-1)[0]
    assert abs(float(found[name]) - first) < 1e-5 * max(1, abs(first)), (name, found[name], first)
print("equal to onnxruntime:", ", ".join(names))
