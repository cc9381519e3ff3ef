"""The memory that a run takes is what its plan says: peak minus what the program takes without a model is at most the plan's total for
the ranks of the process + 16 MiB. What the program itself reports at its end agrees with that.

  check_memory.py RESIDENT.so CASE PROGRAM train|infer [options of the program]

RESIDENT.so is made of watch_resident.c. The data are those of training_cases.py.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import training_cases

MIB = 1 << 20
ALLOWED = 16 * MIB
UNITS = {"KiB": 1 << 10, "MiB": MIB}  # nothing here needs more than 10 GiB


def run(library, command, folder):
    """The peak of resident bytes, and what the program wrote to stderr."""
    log = folder / "resident"
    environment = {**os.environ, "LD_PRELOAD": library, "WATCH_LOG": str(log)}
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
                          timeout=600)
    return int(log.read_text()) << 10, done.stderr


def arguments(case, kind, batch, folder):
    arrays = training_cases.data(case)
    options = ["--steps", "4", "--lr", "1e-4"] if kind == "train" else []
    for name, array in arrays.items():
        path = folder / f"{name}.npy"
        if kind == "infer":
            np.save(path, np.resize(array, (batch, *array.shape[1:])))
            options += ["--input", f"{name}={path}"]
        else:
            np.save(path, array)
            options += ["--data", f"{name}={path}"]
    return options


def main():
    library, case, program, kind, *options = sys.argv[1:]
    plan = json.loads(subprocess.run([program, "inspect", "--json"], check=True, capture_output=True, text=True).stdout)
    planned = plan["memory"]["total"] * plan["ranks"]  # every rank is a thread of the one process
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        before, _ = run(library, [program, "--help"], folder)
        command = [program, kind, *arguments(case, kind, plan["batch"] * plan["ranks"], folder), *options]
        peak, report = run(library, command, folder)
    taken = peak - before
    found = re.search(r"planned ([\d.]+) (\w+) .*measured peak ([\d.]+) (\w+)", report)
    if not found:
        sys.exit(f"the program does not report its memory: {report!r}")
    said_planned, said_taken = (float(found[i]) * UNITS[found[i + 1]] for i in (1, 3))
    print(f"{case} {kind}: planned {planned / MIB:.1f} MiB, taken {taken / MIB:.1f} MiB ({(taken - planned) / MIB:+.1f}); "
          f"the program says {said_taken / MIB:.1f} MiB")
    # The report is in tenths of its unit, and the kernel's two counts of resident pages differ.
    if abs(said_planned - planned) > 0.06 * UNITS[found[2]] or abs(said_taken - taken) > 4.06 * MIB:
        sys.exit(f"the program's own report is wrong: {report.strip()}")
    if taken > planned + ALLOWED:
        sys.exit(f"{taken - planned} bytes above the plan; allowed are {ALLOWED}")
    if taken < planned // 4:
        sys.exit("the run takes a small part of what was planned: was the peak measured at all?")


if __name__ == "__main__":
    main()
