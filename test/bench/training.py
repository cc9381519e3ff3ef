"""Step time against PyTorch eager and torch.compile, DDP over Gloo at two ranks, one compute thread a rank: ours / theirs, below 1
is faster. Runs are taken in turn.

  training.py [--rounds N] [--steps N] [--modes eager,compile] [MODEL...]
"""
import argparse
import pathlib
import tempfile

import common

RANKS, THREADS = 2, 1
# model -> samples of one rank and step
BATCH = {"gpt-nano": 16, "mnist-cnn-no-dropout": 32, "resnet18": 8}


def measure(name, options, folder):
    program = folder / name
    common.compile_model(common.model_with_weights(name, folder), program, "--train", "--loss-output", "loss", "--optimizer", "adamw",
                         "--dim", f"batch={BATCH[name]}", "--mesh", f"dp={RANKS}", "--target", f"host,threads={THREADS}")
    arrays = common.make_arrays(common.INPUTS[name], BATCH[name] * RANKS * options.steps)
    ours, theirs = [], {mode: [] for mode in options.modes.split(",")}
    for _ in range(options.rounds):
        ours.append(common.cleave_training(program, arrays, options.steps, RANKS, THREADS))
        for mode, runs in theirs.items():
            runs.append(common.torch_training(name, BATCH[name], options.steps, RANKS, THREADS, "ddp", mode))
    common.print_comparison(name, ours, theirs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=BATCH)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--modes", default="eager,compile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            measure(name, options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
