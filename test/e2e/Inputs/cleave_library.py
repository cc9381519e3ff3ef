"""A model compiled with --emit shared, driven through the C API (runtime/include/cleave/cleave.h) by ctypes.

As a script it compares the library's inference with onnxruntime: cleave_library.py MODEL.onnx LIBRARY.so --dim batch=4 [--high name=N] [--after OTHER.so]
"""
import argparse
import ctypes
import pathlib
import sys

import numpy as np


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32), ("shape", ctypes.c_int64 * 16),
                ("bytes", ctypes.c_size_t)]


class Library:
    def __init__(self, path):
        path = pathlib.Path(path)
        self.lib = ctypes.CDLL(str(path))
        self.lib.cleave_last_error.restype = ctypes.c_char_p
        model = ctypes.addressof(ctypes.c_char.in_dll(self.lib, f"cleave_model_{path.stem.replace('-', '_')}"))
        self.session = ctypes.c_void_p()
        self.check(self.lib.cleave_session_create(ctypes.c_void_p(model), None, ctypes.byref(self.session)))

    def check(self, code):
        if code:
            sys.exit(self.lib.cleave_last_error().decode())

    def refusal(self, call):
        """The message of a call that must fail."""
        try:
            call()
        except SystemExit as error:
            return error.code
        sys.exit("nothing was refused")

    def input_shape(self, program, index):
        info = TensorInfo()
        self.check(self.lib.cleave_describe_input(self.session, program.encode(), ctypes.c_size_t(index), ctypes.byref(info)))
        return tuple(info.shape[:info.rank])

    def set_input(self, name, array, program="infer"):
        self.check(self.lib.cleave_set_input(self.session, program.encode(), name.encode(), array.ctypes.data_as(ctypes.c_void_p),
                                             ctypes.c_size_t(array.nbytes)))

    def output(self, name, shape, kind=np.float32):
        array = np.empty(shape, kind)
        self.check(self.lib.cleave_get_output(self.session, b"infer", name.encode(), array.ctypes.data_as(ctypes.c_void_p),
                                              ctypes.c_size_t(array.nbytes)))
        return array

    def infer(self):
        self.check(self.lib.cleave_infer(self.session))

    def train_step(self, rate):
        loss = ctypes.c_double()
        self.check(self.lib.cleave_train_step(self.session, ctypes.c_double(rate), ctypes.byref(loss)))
        return loss.value


def main():
    import compare_onnxruntime
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("library")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--high", action="append", default=[])
    parser.add_argument("--after", help="a library to load first, with its symbols visible to all later ones")
    options = parser.parse_args()
    if options.after:
        ctypes.CDLL(options.after, ctypes.RTLD_GLOBAL)
    session = compare_onnxruntime.inference_session(options.model)
    arrays = compare_onnxruntime.make_inputs(session, compare_onnxruntime.bindings(options.dim),
                                             compare_onnxruntime.bindings(options.high), seed=7)
    library = Library(options.library)
    for name, array in arrays.items():
        library.set_input(name, array)
    library.infer()
    for port, theirs in zip(session.get_outputs(), session.run(None, arrays)):
        ours = library.output(port.name, theirs.shape, theirs.dtype)
        error = np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)
        print(f"{port.name}: relative error {error:.2e}")
        if not error <= 1e-5:
            sys.exit(f"{port.name} differs from onnxruntime")


if __name__ == "__main__":
    main()
