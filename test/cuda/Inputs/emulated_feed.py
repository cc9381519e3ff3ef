"""emulated_feed.py SOURCE BUILD FOLDER CASE...    CASE is model:options of cleave compile

How batches get to the emulated CUDA device. Between two steps there is no copy from or to memory that is not page-locked, nor does the
host write what the device has yet to read; and what is saved does not depend on whether the system locks pages. What `inspect` says of
the host's memory is what a run takes, with validation data and without.

Before the cases: an index that is out of range in the fourth run of a program is told, from its graph, without graphs, and with a trace."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402


def run(*command, **environment):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                            env=emulated.environment(build, CLEAVE_EMULATED_DEVICES="2", CLEAVE_EMULATED_LEAKS="fail", **environment))
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stdout[-1500:]}{result.stderr[-3000:]}")
    return result.stdout + result.stderr


def check(name, is_right, found):
    if not is_right:
        sys.exit(f"{name}: {found}")


def bytes_text(number):
    return f"{number} bytes" if number < 1024 else f"{number / 1024:.1f} KiB"


def test(case):
    name, _, options = case.partition(":")
    here = folder / "".join(c if c.isalnum() else "_" for c in case)
    here.mkdir(parents=True)
    data = {}
    for key, array in training_cases.data(name).items():
        np.save(here / f"{key}.npy", array)
        data[key] = f"{key}={here / key}.npy"
    model, batch, _ = training_cases.CASES[name]
    run(sys.executable, source / "test/models/make_weights.py", here / "models", source / model)
    run("cleave", "compile", next((here / "models").rglob("*.onnx")), "--train", "--loss-output", "loss", "--optimizer", "adamw",
        "--global-batch", batch, "--target", "cuda:sm_90", *options.split(), "-o", here / "program")
    kinds = json.loads(run("cleave", "inspect", here / "program", "--json"))["host_memory"]["by_kind"]
    train = ["train", *(a for spec in data.values() for a in ("--data", spec)), "--steps", "5", "--seed", "3"]
    validation = [a for spec in data.values() for a in ("--val-data", spec)]

    def trained(*more, **environment):
        output = run(here / "program", *train, *more, "--save", here / "saved", **environment)
        saved = {p.relative_to(here / "saved"): p.read_bytes() for p in sorted((here / "saved").rglob("*.safetensors"))}
        shutil.rmtree(here / "saved")
        check(case, saved, "nothing is saved")
        return output, saved

    outputs, states = zip(*(trained(CLEAVE_EMULATED_PLAIN_COPIES="1", CLEAVE_EMULATED_SEED=str(seed)) for seed in (1, 2, 3)))
    check(case, states[0] == states[1] == states[2], "seeds differ")
    ranks = int(re.search(r"\((\d+) ranks? x", outputs[0]).group(1))
    told = f"and {bytes_text(ranks * kinds['batches'])} of host memory"
    check(case, told in outputs[0], f"expected '{told}': {outputs[0]}")
    validated = trained(*validation, "--eval-every", "2")[0]
    told = f"and {bytes_text(ranks * (kinds['batches'] + kinds['validation batches']))} of host memory"
    check(case, told in validated, f"expected '{told}': {validated}")
    # The scalars' memory and the error word of each rank, and nothing for batches.
    unlocked, state = trained(CLEAVE_EMULATED_PINNED=str(ranks * 200))
    check(case, unlocked.count("the system locks no pages for batches") == 1 and " of host memory" not in unlocked, unlocked)
    check(case, state == states[0], "other bytes without page-locked memory")
    print(f"{case}: no copy waits, {sum(kinds.values())} bytes of the host's memory for each of {ranks}, the same bytes without it")


def test_index_error():
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Cast", ["x"], ["i"], to=onnx.TensorProto.INT64), onnx.helper.make_node("Gather", ["table", "i"], ["y"], name="look")],
        "lookups", [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n"])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 8])],
        [onnx.numpy_helper.from_array(np.arange(80, dtype=np.float32).reshape(10, 8), "table")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), folder / "lookups.onnx")
    run("cleave", "compile", folder / "lookups.onnx", "--dim", "n=4", "--target", "cuda:sm_90", "-o", folder / "lookups")
    x = np.arange(16, dtype=np.float32) % 10
    x[13] = 42
    np.save(folder / "x.npy", x)
    infer = [str(folder / "lookups"), "infer", "--input", f"x={folder / 'x.npy'}", "--output", f"y={folder / 'y.npy'}"]
    for way, options, graphs in (("graph", [], "1"), ("no graph", [], "0"), ("trace", ["--trace", str(folder / "trace.json")], "1")):
        result = subprocess.run([*infer, *options], capture_output=True, text=True, check=False,
                                env=emulated.environment(build, CLEAVE_CUDA_GRAPHS=graphs))
        check(way, result.returncode != 0 and "'look' (Gather)): index 42 is out of range" in result.stderr, result.stderr)
    print("an index that is out of range is told")


test_index_error()
for each in sys.argv[4:]:
    test(each)
