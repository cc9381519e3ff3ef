"""Inference latency against onnxruntime on the same file in inference form, one thread each: ours / theirs, below 1 is faster.

  inference.py [--rounds N] [--batch N] [MODEL...]

Both run in this process, in turn, in rounds of a tenth of a second, so that a loaded machine hits both alike; the ratio is the median
of the rounds' ratios. The ratio of processor time says the same on a machine whose cores are shared. Weights are made from a seed. AlexNet and VGG-11 (0.2 and 0.5 GB of weights) only when named.
"""
import argparse
import pathlib
import statistics
import tempfile
import time

import onnxruntime

import common
import cleave_library
import compare_onnxruntime

MODELS = ["gpt-nano", "gpt2-tiny", "bert-tiny", "mlp", "mnist-cnn", "resnet18"]
HIGH = {"tokens": 256, "labels": 2, "input_ids": 1000}
ROUND_SECONDS, MOST_RUNS = 0.1, 200


def run_round(run, runs):
    """(wall, processor) seconds of a run: the median, and the mean."""
    seconds = []
    used = time.process_time()
    for _ in range(runs):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), (time.process_time() - used) / runs


def measure(name, options, folder):
    path = common.model_with_weights(name, folder)
    library = folder / f"lib{name}.so"
    common.compile_model(path, library, "--emit", "shared", "--dim", f"batch={options.batch}", "--target", "host,threads=1")
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    session_options.log_severity_level = 3
    session = compare_onnxruntime.inference_session(str(path), session_options)
    arrays = compare_onnxruntime.make_inputs(session, {"batch": options.batch}, HIGH, seed=7)
    loaded = cleave_library.Library(library)
    shapes = {port.name: value.shape for port, value in zip(session.get_outputs(), session.run(None, arrays))}

    def ours():
        for key, array in arrays.items():
            loaded.set_input(key, array)
        loaded.infer()
        for key, shape in shapes.items():
            loaded.output(key, shape)

    def theirs():
        session.run(None, arrays)

    once = max(run_round(ours, 3)[0], run_round(theirs, 3)[0])
    runs = max(1, min(MOST_RUNS, int(ROUND_SECONDS / once)))
    pairs = [(run_round(ours, runs), run_round(theirs, runs)) for _ in range(options.rounds)]
    wall, used = (statistics.median(o[i] / t[i] for o, t in pairs) for i in (0, 1))
    print(f"{name}: cleave {min(o[0] for o, _ in pairs) * 1e3:.3f} ms, onnxruntime {min(t[0] for _, t in pairs) * 1e3:.3f} ms, "
          f"ratio {wall:.2f}, of processor time {used:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            measure(name, options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
