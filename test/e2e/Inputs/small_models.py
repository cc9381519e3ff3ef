"""Small ONNX models, compiled and run, against arrays that the caller knows: what check_*.py of one theme share."""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def value(name, array):
    """Of the array's type; its shape is the inputs' alone."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def graph(nodes, inputs=(), outputs=(), initializers=None, name="g"):
    tensors = [numpy_helper.from_array(array, key) for key, array in (initializers or {}).items()]
    return helper.make_graph(nodes, name, inputs, outputs, tensors)


def command(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=100)


class Checks:
    """Counts what differs, and says so at the end."""

    def __init__(self, folder):
        self.folder, self.results, self.failures = pathlib.Path(folder), 0, 0

    def note(self, name, problem):
        self.results += 1
        if problem:
            self.failures += 1
            print(f"{name}: {problem}", flush=True)

    def same(self, name, got, want, bound=1e-6):
        got, want = np.asarray(got), np.asarray(want)
        alike = got.shape == want.shape and got.dtype == want.dtype and np.allclose(
            np.float64(got), np.float64(want), rtol=bound, atol=bound, equal_nan=True)
        if got.dtype.kind in "iub" and alike:
            alike = np.array_equal(got, want)
        self.note(name, "" if alike else f"{got.dtype}{list(got.shape)} {got.tolist()}, expected {want.dtype}{list(want.shape)} {want.tolist()}"[:600])

    def model(self, name, nodes, inputs, outputs, initializers=None, opset=21, functions=(), domains=(), **saving):
        """`outputs` are arrays of the expected type. Returns the file's path."""
        results = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), None) for key, array in outputs.items()]
        imports = [helper.make_opsetid("", opset), *[helper.make_opsetid(domain, 1) for domain in domains]]
        model = helper.make_model(graph(nodes, [value(*one) for one in inputs.items()], results, initializers), opset_imports=imports,
                                  functions=list(functions), ir_version=10)
        path = self.folder / f"{name}.onnx"
        onnx.save_model(model, path, **saving)
        return path

    def run(self, path, inputs, outputs, options=()):
        """The outputs, or the message of what was refused."""
        program = path.with_suffix("")
        done = command("cleave", "compile", path, "-o", program, *options)
        if not done.returncode:
            words = [f"--output={key}={program}.{key}.npy" for key in outputs]
            for key, array in inputs.items():
                np.save(f"{program}.{key}.npy", array)
                words.append(f"--input={key}={program}.{key}.npy")
            done = command(program, "infer", *words)
        if done.returncode:
            return done.stderr
        return {key: np.load(f"{program}.{key}.npy") for key in outputs}

    def check(self, name, nodes, inputs, outputs, bound=1e-6, options=(), peer=True, **of_model):
        """`peer`: onnxruntime has the outputs, too; false where it is known to have others, or to read no such model."""
        path = self.model(name, nodes, inputs, outputs, **of_model)
        if peer:
            settings = onnxruntime.SessionOptions()
            settings.log_severity_level = 4
            session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
            for (key, want), theirs in zip(outputs.items(), session.run(list(outputs), inputs)):
                self.same(f"onnxruntime, {name}, {key}", theirs, want, bound)
        got = self.run(path, inputs, outputs, options)
        if isinstance(got, str):
            return self.note(name, got)
        for key, want in outputs.items():
            self.same(f"{name}, {key}", got[key], want, bound)

    def refuse(self, name, text, nodes, inputs, outputs, **of_model):
        got = self.run(self.model(name, nodes, inputs, outputs, **of_model), inputs, outputs)
        self.note(name, "" if isinstance(got, str) and text in got else f"expected a refusal with '{text}', got {got}")

    def end(self):
        if self.failures:
            sys.exit(f"{self.failures} of {self.results} results differ")
        print(f"{self.results} results")
