"""Inference latency against onnxruntime and OpenVINO on the same file in inference form: ours / theirs, below 1 is faster.

  inference.py [--rounds N] [--batch N] [--threads N] [--against OTHER/bin/cleave] [MODEL...]

All run in this process, in turn, in rounds of a tenth of a second, so that a loaded machine hits all alike; the ratio is the median
of the rounds' ratios. The ratio of processor time says the same on a machine whose cores are shared. With --against, what another
build's compiler makes of the model takes its turn too. Weights are made from a seed. A MODEL is a test model's name or an ONNX file.
AlexNet, VGG-11 and BERT-base (0.2 to 0.5 GB of weights) only when named. OpenVINO is left out where it is not installed.
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
HIGH = {"tokens": 256, "labels": 2, "input_ids": 1000, "x": 1000}
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


def load(path, library, options, session, compiler="cleave"):
    sizes = ["--dim", f"batch={options.batch}"] if any("batch" in port.shape for port in session.get_inputs()) else []
    common.compile_model(path, library, "--emit", "shared", *sizes, "--target", f"host,threads={options.threads}", compiler=compiler)
    return cleave_library.Library(library)


def runner(loaded, arrays, shapes):
    def run():
        for key, array in arrays.items():
            loaded.set_input(key, array)
        loaded.infer()
        for key, shape in shapes.items():
            loaded.output(key, shape)
    return run


def openvino_runner(path, arrays, threads):
    """f32 throughout, as the others compute; None where OpenVINO is not installed."""
    try:
        import openvino
    except ImportError:
        return None
    model = openvino.Core().read_model(compare_onnxruntime.inference_form(str(path)))
    model.reshape({key: list(array.shape) for key, array in arrays.items()})
    compiled = openvino.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
                                                     "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False})
    request = compiled.create_infer_request()
    return lambda: request.infer(arrays, share_inputs=True)


def measure(name, options, folder):
    path = pathlib.Path(name) if name.endswith(".onnx") else common.model_with_weights(name, folder)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    session_options.log_severity_level = 3
    session = compare_onnxruntime.inference_session(str(path), session_options)
    arrays = compare_onnxruntime.make_inputs(session, {"batch": options.batch}, HIGH, seed=7)
    shapes = {port.name: value.shape for port, value in zip(session.get_outputs(), session.run(None, arrays))}
    stem = path.stem.replace(".", "_").replace("-", "_")
    ours = runner(load(path, folder / f"lib{stem}.so", options, session), arrays, shapes)
    baselines = {"onnxruntime": lambda: session.run(None, arrays)}
    if theirs := openvino_runner(path, arrays, options.threads):
        baselines["OpenVINO"] = theirs
    if options.against:
        (folder / "other").mkdir(exist_ok=True)
        baselines["other build"] = runner(load(path, folder / "other" / f"lib{stem}.so", options, session, options.against), arrays, shapes)

    once = max(run_round(run, 3)[0] for run in (ours, *baselines.values()))
    runs = max(1, min(MOST_RUNS, int(ROUND_SECONDS / once)))
    rounds = [(run_round(ours, runs), {key: run_round(run, runs) for key, run in baselines.items()}) for _ in range(options.rounds)]
    for key in baselines:
        wall, used = (statistics.median(o[i] / theirs[key][i] for o, theirs in rounds) for i in (0, 1))
        print(f"{name}: cleave {min(o[0] for o, _ in rounds) * 1e3:.3f} ms, "
              f"{key} {min(theirs[key][0] for _, theirs in rounds) * 1e3:.3f} ms, ratio {wall:.2f}, of processor time {used:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--against", help="the `cleave` of another build, of another commit, say")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            measure(name, options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
