"""Trains several compilations of one model on a case's data: same losses within a bound, and the first one's twice to the last bit.

  compare_programs.py CASE RATE BOUND PROGRAM...
"""
import pathlib
import sys
import tempfile

import compare_losses


def losses(case, rate, program, *options):
    with tempfile.TemporaryDirectory() as folder:
        return compare_losses.losses_of(program, case, rate, options, pathlib.Path(folder))


def main():
    case, rate, bound, first, *others = sys.argv[1:]
    expected = losses(case, rate, first)
    if losses(case, rate, first) != expected:
        sys.exit(f"{first}: two equal runs differ")
    if losses(case, rate, first, "--seed", "1") == expected:
        sys.exit(f"{first}: another seed changes nothing; is there a dropout?")
    for program in others:
        worst = max(abs(a - b) for a, b in zip(losses(case, rate, program), expected, strict=True))
        print(f"{program}: largest difference {worst:.1e}")
        if not worst <= float(bound):
            sys.exit(f"{program}: differs by {worst:.1e} from {first}, above {bound}")


if __name__ == "__main__":
    main()
