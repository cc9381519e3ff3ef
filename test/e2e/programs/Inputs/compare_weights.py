"""compare_weights.py MODEL.onnx WEIGHTS.safetensors: every tensor is the initializer of its name, and every parameter is there."""
import json
import struct
import sys

import numpy as np
import onnx
from onnx import numpy_helper

TYPES = {"F32": np.float32, "F64": np.float64, "F16": np.float16}

model, raw = onnx.load(sys.argv[1]), open(sys.argv[2], "rb").read()
end = 8 + struct.unpack("<Q", raw[:8])[0]
entries = json.loads(raw[8:end])
assert entries.pop("__metadata__")["format"] == "pt"
initializers = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
for name, entry in entries.items():
    begin, stop = entry["data_offsets"]
    found = np.frombuffer(raw[end + begin:end + stop], TYPES[entry["dtype"]]).reshape(entry["shape"])
    assert found.dtype == initializers[name].dtype and np.array_equal(found, initializers[name]), name
parameters = {name for name, value in initializers.items() if value.dtype.kind == "f" and value.size > 1}
assert parameters <= entries.keys() and entries, parameters - entries.keys()
