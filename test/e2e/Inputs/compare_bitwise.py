"""Trains several compilations of one model on a case's data: every loss and every byte of the last checkpoint must be equal.

  compare_bitwise.py CASE RATE PROGRAM PROGRAM... [-- options of the programs]

Compilations may differ in how a step is computed and where its values lie, not in what is computed: recomputation, offload, prefetch.
"""
import pathlib
import sys
import tempfile

import compare_losses


def run(case, rate, program, options):
    with tempfile.TemporaryDirectory() as folder:
        losses = compare_losses.losses_of(program, case, rate, options, pathlib.Path(folder))
        saved = sorted((pathlib.Path(folder) / "checkpoints").rglob("*.safetensors"))
        files = {str(path.relative_to(folder)): path.read_bytes() for path in saved}
    if len(losses) < 2 or losses[0] == losses[-1] or not files:
        sys.exit(f"{program}: {len(losses)} losses and {len(files)} files in its checkpoint; that is no training run")
    return losses, files


def main():
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    (case, rate, first, *others), options = sys.argv[1:end], sys.argv[end + 1:]
    losses, files = run(case, rate, first, options)
    for program in others:
        their_losses, their_files = run(case, rate, program, options)
        if their_losses != losses:
            step = next(i for i, (a, b) in enumerate(zip(losses, their_losses), 1) if a != b)
            sys.exit(f"{program}: the loss of step {step} is not that of {first}")
        for name in sorted(files.keys() | their_files.keys()):
            if files.get(name) != their_files.get(name):
                sys.exit(f"{program}: {name} is not that of {first}")
    print(f"{case}: {1 + len(others)} programs, {len(losses)} losses and {sum(map(len, files.values()))} bytes of state each, all equal")


if __name__ == "__main__":
    main()
