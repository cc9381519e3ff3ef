"""Trains compilations of one model on a case's data: every loss equal to the first one's, to the last bit.

  equal_losses.py CASE OPTIMIZER PROGRAM PROGRAM...
"""
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import compare_losses  # noqa: E402
import training_cases  # noqa: E402


def losses(case, optimizer, program):
    with tempfile.TemporaryDirectory() as folder:
        return compare_losses.losses_of(program, case, training_cases.rate(case, optimizer), [], pathlib.Path(folder))


def main():
    case, optimizer, first, *others = sys.argv[1:]
    expected = losses(case, optimizer, first)
    if len(set(expected)) < len(expected) // 2:
        sys.exit(f"{first}: the losses hardly change: {expected}")
    for program in others:
        for step, (ours, theirs) in enumerate(zip(losses(case, optimizer, program), expected, strict=True), 1):
            if ours != theirs:
                sys.exit(f"{program}: step {step}: loss {ours!r}, {first} has {theirs!r}")
        print(f"{program}: {len(expected)} losses equal")


if __name__ == "__main__":
    main()
