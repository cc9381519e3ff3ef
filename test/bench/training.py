"""Step time against PyTorch eager and torch.compile, DDP over Gloo at two ranks, one compute thread a rank.

Prints, for each model, ours / best of theirs: below 1 is faster. Runs are taken in turn, three of each.
"""
import pathlib
import subprocess
import sys
import tempfile

import common
import training_cases

RANKS, THREADS, STEPS, ROUNDS = 2, 1, 20, 3
# model -> samples of one rank and step
BATCH = {"gpt-nano": 16, "mnist-cnn-no-dropout": 32, "resnet18": 8}


def torch_seconds(name, mode):
    command = [sys.executable, str(pathlib.Path(__file__).with_name("torch_ddp.py")), name, str(BATCH[name]), str(STEPS),
               str(RANKS), str(THREADS), mode]
    run = subprocess.run(command, capture_output=True, text=True)
    return float(run.stdout.split()[-1]) if run.returncode == 0 and run.stdout.split() else None


def measure(name, folder):
    _, _, inputs = training_cases.CASES[name]
    program = folder / name
    common.compile_model(common.model_with_weights(name, folder), program, "--train", "--loss-output", "loss", "--optimizer", "adamw",
                         "--dim", f"batch={BATCH[name]}", "--mesh", f"dp={RANKS}", "--target", f"host,threads={THREADS}")
    arrays = common.make_arrays(inputs, BATCH[name] * RANKS * STEPS)
    ours, theirs = [], {"eager": [], "compile": []}
    for _ in range(ROUNDS):
        ours.append(common.cleave_step_seconds(program, arrays, STEPS, THREADS * RANKS))
        for mode in theirs:
            theirs[mode].append(torch_seconds(name, mode))
    print(f"{name}: cleave {min(ours) * 1e3:.1f} ms", end="")
    ratios = []
    for mode, seconds in theirs.items():
        if None in seconds:
            print(f"; torch {mode} did not run", end="")
            continue
        ratios.append(common.median_ratio(ours, seconds))
        print(f"; torch {mode} {min(seconds) * 1e3:.1f} ms, ratio {ratios[-1]:.2f}", end="")
    print(f"; against the better of the two: {max(ratios):.2f}" if ratios else "")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or BATCH:
            measure(name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
