"""Inference latency against onnxruntime on the same file, one thread each: ours / theirs, below 1 is faster."""
import ctypes
import pathlib
import statistics
import sys
import tempfile
import time

import onnxruntime

import common
import training_cases

BATCH = {"gpt-nano": 1, "mnist-cnn-no-dropout": 1, "resnet18": 1, "bert-tiny": 1}
RUNS = 50


class Cleave:
    """A model compiled with --emit shared, driven through the C API."""

    def __init__(self, library, name, arrays):
        self.lib = ctypes.CDLL(str(library))
        self.lib.cleave_last_error.restype = ctypes.c_char_p
        model = ctypes.addressof(ctypes.c_char.in_dll(self.lib, f"cleave_model_{name}"))
        self.session = ctypes.c_void_p()
        self.check(self.lib.cleave_session_create(ctypes.c_void_p(model), None, ctypes.byref(self.session)))
        for key, array in arrays.items():
            self.check(self.lib.cleave_set_input(self.session, b"infer", key.encode(), array.ctypes.data_as(ctypes.c_void_p),
                                                 ctypes.c_size_t(array.nbytes)))

    def check(self, code):
        if code:
            sys.exit(self.lib.cleave_last_error().decode())

    def run(self):
        self.check(self.lib.cleave_infer(self.session))


def median_seconds(run):
    for _ in range(5):
        run()
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measure(name, folder):
    path, _, inputs = training_cases.CASES[name]
    library = folder / f"lib{name}.so"
    common.compile_model(common.ROOT / path, library, "--emit", "shared", "--dim", f"batch={BATCH[name]}",
                         "--target", "host,threads=1")
    arrays = common.make_arrays(inputs, BATCH[name])
    ours = Cleave(library, library.stem.replace("-", "_"), arrays)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(common.ROOT / path), options, providers=["CPUExecutionProvider"])
    names = {port.name for port in session.get_inputs()}
    feed = {key: array for key, array in arrays.items() if key in names}
    pairs = [(median_seconds(ours.run), median_seconds(lambda: session.run(None, feed))) for _ in range(3)]
    print(f"{name}: cleave {min(p[0] for p in pairs) * 1e3:.2f} ms, onnxruntime {min(p[1] for p in pairs) * 1e3:.2f} ms, "
          f"ratio {statistics.median(p[0] / p[1] for p in pairs):.2f}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or BATCH:
            measure(name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
