"""Inputs of the C API stay until they are set again, those of each program by themselves: an evaluation between two steps leaves the step's inputs.

  check_kept_inputs.py LIBRARY.so

The library is trained with the inputs x and labels. Through the C API itself, and through cleave.Model with None for what was given before.
"""
import ctypes
import pathlib
import sys

import numpy as np

import cleave
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from cleave_library import Library  # noqa: E402

LABELS = {"train_step": np.int64([0, 1, 2, 3, 0, 1, 2, 3]), "evaluate": np.int64([3, 3, 2, 0, 1, 0, 0, 2])}
PROGRAMS = {name: {"x": np.random.default_rng(seed).standard_normal((8, 6)).astype("f4"), "labels": LABELS[name]}
            for seed, name in enumerate(("train_step", "evaluate"))}


class Sums(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("loss_sum", ctypes.c_double), ("count", ctypes.c_double), ("correct", ctypes.c_double),
                ("predictions", ctypes.c_double)]


def evaluate(library):
    sums = Sums(ctypes.sizeof(Sums))
    library.check(library.lib.cleave_evaluate(library.session, ctypes.byref(sums)))
    return sums.loss_sum / sums.count


def inputs_of(rows):
    """What each program is given, by the rows that it takes: an evaluation has no micro-batches."""
    return {program: {name: array[:rows[program]].copy() for name, array in inputs.items()} for program, inputs in PROGRAMS.items()}


def run(library, program):
    return library.train_step(0.0) if program == "train_step" else evaluate(library)  # a step of rate 0 trains nothing


def expect(where, got, want):
    if not abs(got - want) <= 1e-6:
        sys.exit(f"{where}: {got}, expected {want}")
    print(f"{where}: {got:.6f}")


def through_c(path):
    library = Library(path)
    given = inputs_of({program: library.input_shape(program, 0)[0] for program in PROGRAMS})
    alone = {}
    for program, inputs in given.items():
        for name, array in inputs.items():
            library.set_input(name, array, program)
        alone[program] = run(library, program)
    if abs(alone["train_step"] - alone["evaluate"]) < 1e-2:
        sys.exit("the batches cannot be told apart")
    for program in ("train_step", "evaluate", "evaluate", "train_step", "train_step", "evaluate"):
        expect(f"C, {program}", run(library, program), alone[program])
    # Both are set before one runs, and one of two is set again.
    for name in ("x", "labels"):
        for program, inputs in given.items():
            library.set_input(name, inputs[name], program)
    for program in PROGRAMS:
        expect(f"C, both set, {program}", run(library, program), alone[program])
    library.set_input("x", given["train_step"]["x"], "train_step")
    for program in ("train_step", "evaluate"):
        expect(f"C, one set again, {program}", run(library, program), alone[program])


def through_python(path):
    model = cleave.Model(path)
    given = inputs_of({program: model.inputs(program)["x"].shape[0] for program in PROGRAMS})
    calls = {"train_step": lambda **inputs: model.train_step(lr=0.0, **inputs), "evaluate": lambda **inputs: model.evaluate(**inputs).loss}
    alone = {program: calls[program](**inputs) for program, inputs in given.items()}
    for program in ("train_step", "evaluate", "evaluate", "train_step"):
        expect(f"Python, {program}", calls[program](x=None, labels=None), alone[program])
    calls["evaluate"](**{name: array[::-1].copy() for name, array in given["evaluate"].items()})
    expect("Python, train_step after another evaluation", calls["train_step"](x=None, labels=given["train_step"]["labels"]), alone["train_step"])
    model.close()


if __name__ == "__main__":
    through_python(sys.argv[1])
    through_c(sys.argv[1])
