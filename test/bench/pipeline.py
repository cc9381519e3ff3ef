"""A GPT of 25 million parameters, context 256, as a pipeline of two stages on two cores, eight micro-batches: step time, processor time
and peak memory against torch.distributed.pipelining (Schedule1F1B over Gloo) and against Cleave's own dp=2. Ratios of one run, ours /
theirs: below 1 is faster, or smaller.

The script makes the model and its weights, the same for both. Each rank has one thread. Both train by AdamW on the same tokens; the
first losses must agree, or the comparison is of different things. PyTorch's stages do not share the table of the tied embedding, as its
pipelines cannot; ours do, and send its gradient. It needs requirements-pipeline.txt.

  pipeline.py [--rounds N] [--steps N] [--batch N] [--schedule NAME]
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import common

CONTEXT, VOCABULARY, MICRO_BATCHES, RANKS = 256, 256, 8, 2


def make_model():
    from models import gpt  # examples/export
    return gpt.GPT(layers=8, heads=8, width=512, context=CONTEXT, vocabulary=VOCABULARY, spelling="sdpa")


def arrays_of(samples):
    return common.make_arrays({name: ("int", (CONTEXT,), VOCABULARY) for name in ("tokens", "labels")}, samples)


def write_model(folder):
    """The ONNX file and PyTorch's state_dict, of the same weights."""
    import exporters
    import torch
    torch.manual_seed(0)
    model = make_model()
    torch.save(model.state_dict(), folder / "gpt.pt")
    inputs = {name: torch.from_numpy(array) for name, array in arrays_of(2).items()}
    exporters.EXPORTERS["torchscript"](model, inputs, ["logits", "loss"], str(folder / "gpt.onnx"))


def compile_plans(folder, options):
    """{name: (program, samples of a step)}; all have the same global batch."""
    plans = {
        f"pp=2, {options.schedule}": ["--mesh", "pp=2", "--schedule", options.schedule, "--micro-batches", str(MICRO_BATCHES)],
        "dp=2 in micro-batches": ["--mesh", "dp=2", "--micro-batches", str(MICRO_BATCHES // RANKS)],
        "dp=2": ["--mesh", "dp=2"],
    }
    programs = {}
    for number, (name, mesh) in enumerate(plans.items()):
        batch = options.batch * (MICRO_BATCHES // RANKS if mesh[-1] == "dp=2" else 1)
        programs[name] = folder / f"program{number}"
        common.compile_model(folder / "gpt.onnx", programs[name], "--train", "--loss-output", "loss", "--optimizer", "adamw",
                             "--dim", f"batch={batch}", *mesh, "--target", "host,threads=1")
    return programs


def torch_run(folder, options):
    script = pathlib.Path(__file__).with_name("torch_pipeline.py")
    numbers = (options.batch, MICRO_BATCHES, options.steps, RANKS)
    run = subprocess.run([sys.executable, str(script), str(folder / "gpt.pt"), *map(str, numbers), "Schedule1F1B"], capture_output=True, text=True)
    if run.returncode or not run.stdout.strip():
        print(run.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(run.stdout.splitlines()[-1])


def first_loss(program, arrays):
    return common.cleave_run(program, arrays, 1, 1)[0][0]["loss"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int, default=2, help="of a micro-batch")
    parser.add_argument("--schedule", default="1f1b")
    options = parser.parse_args()
    try:
        import torch  # noqa: F401
    except ImportError:
        print("skipped: PyTorch is not there; install test/bench/requirements-pipeline.txt")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_model(folder)
        programs = compile_plans(folder, options)
        arrays = arrays_of(options.batch * MICRO_BATCHES * options.steps)
        ours, *others = programs
        runs = {name: [] for name in [*programs, "Schedule1F1B over Gloo"]}
        for _ in range(options.rounds):
            for name, program in programs.items():
                runs[name].append(common.cleave_training(program, arrays, options.steps, RANKS, 1))
            runs["Schedule1F1B over Gloo"].append(torch_run(folder, options))
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {options.batch} samples of {CONTEXT} tokens a micro-batch")
        theirs = runs["Schedule1F1B over Gloo"][0]
        first = first_loss(programs[ours], arrays_of(options.batch * MICRO_BATCHES))
        if theirs and not math.isclose(first, theirs["loss"], rel_tol=1e-5):
            sys.exit(f"the first losses differ: {first} and PyTorch's {theirs['loss']}")
        for run in runs["Schedule1F1B over Gloo"]:
            if run:
                del run["loss"]
        common.print_comparison(ours, runs.pop(ours), runs)


if __name__ == "__main__":
    main()
