"""An input of the C API that nobody has set has no value, and neither has an output that depends on one.

  check_unset_inputs.py LIBRARY.so

The library infers y and d, which depend on the input x, and on x and t.
"""
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from cleave_library import Library  # noqa: E402


def expect(got, want):
    if got != want:
        sys.exit(f"'{got}', expected '{want}'")
    print(got)


def main():
    library = Library(sys.argv[1])
    shape = library.input_shape("infer", 0)
    x, t = np.full(shape, 2, np.float32), np.full(shape, 5, np.float32)
    first = 'call cleave_set_input() with "infer" and '
    no_x = f'input \'x\' of infer has no value: {first}"x" first'
    expect(library.refusal(library.infer), f"cleave_infer: {no_x}")
    library.set_input("t", t)  # no output depends on it alone
    expect(library.refusal(library.infer), f"cleave_infer: {no_x}")

    library = Library(sys.argv[1])
    library.set_input("x", x)
    expect(library.refusal(lambda: library.output("y", shape)), "cleave_get_output: output 'y' has no value: infer has not run yet")
    library.infer()
    if not (library.output("y", shape) == x).all():
        sys.exit("y is not x")
    no_d = f'cleave_get_output: output \'d\' has no value, because input \'t\' of infer has no value: {first}"t" first'
    expect(library.refusal(lambda: library.output("d", shape)), no_d)
    library.set_input("t", t)  # the run was without it
    expect(library.refusal(lambda: library.output("d", shape)), no_d)
    library.infer()
    if not (library.output("d", shape) == x - t).all():
        sys.exit("d is not x - t")


if __name__ == "__main__":
    main()
