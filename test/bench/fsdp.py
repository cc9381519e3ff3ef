"""Sharded training at two ranks, one compute thread each: step time and peak memory of full shard against PyTorch's FSDP2
(fully_shard for each block and the root) and DDP over Gloo. Ratios are ours / theirs; the aim is 0.67 in time and 0.7 in memory.

  fsdp.py [--rounds N] [--steps N] [MODEL...]

Memory is a rank's peak above the start: with the program, or PyTorch, loaded. Runs are taken in turn.
"""
import argparse
import pathlib
import tempfile

import common

RANKS, THREADS = 2, 1
BATCH = {"gpt-nano": 16, "gpt-25m": 4}


def measure(name, options, folder):
    model = common.model_with_weights(name, folder)
    arrays = common.make_arrays(common.INPUTS[name], BATCH[name] * RANKS * options.steps)
    ours = {"fsdp": [], "dp": []}
    for axis in ours:
        common.compile_model(model, folder / f"{name}-{axis}", "--train", "--loss-output", "loss", "--optimizer", "adamw",
                             "--dim", f"batch={BATCH[name]}", "--mesh", f"{axis}={RANKS}", "--target", f"host,threads={THREADS}")
    theirs = {"FSDP2": [], "DDP": []}
    for _ in range(options.rounds):
        for axis, runs in ours.items():
            runs.append(common.cleave_training(folder / f"{name}-{axis}", arrays, options.steps, RANKS, THREADS))
        for strategy, runs in theirs.items():
            kind = "fsdp" if strategy == "FSDP2" else "ddp"
            runs.append(common.torch_training(name, BATCH[name], options.steps, RANKS, THREADS, kind, "eager"))
    for axis, runs in ours.items():
        common.print_comparison(f"{name} --mesh {axis}={RANKS}", runs, theirs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=BATCH)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            measure(name, options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
