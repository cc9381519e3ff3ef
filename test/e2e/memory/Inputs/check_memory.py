"""The memory that a run takes is what its plan says: peak minus what the program takes without a model is at most the plan's total for
the ranks of the process + 16 MiB. What the program itself reports at its end agrees with that.

  check_memory.py RESIDENT.so CASE PROGRAM train|infer [options of the program]

RESIDENT.so is made of watch_resident.c. The data are those of training_cases.py; for the CASE `kernels` they are noise, and what is
allowed besides the plan's total is what `inspect` says of the plan's code and library kernels.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import training_cases  # noqa: E402

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


def noise(plan, kind):
    """Samples for the inputs of an image classifier."""
    generator = np.random.default_rng(0)
    program = next(p for p in plan["programs"] if p["name"] == {"train": "train_step"}.get(kind, kind))
    return {port["name"]: generator.standard_normal((8, *port["shape"][1:])).astype(np.float32) if port["dtype"] == "f32"
            else generator.integers(0, 10, (8, *port["shape"][1:])) for port in program["inputs"]}


def arguments(arrays, kind, batch, folder):
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
        arrays = noise(plan, kind) if case == "kernels" else training_cases.data(case)
        command = [program, kind, *arguments(arrays, kind, plan["batch"] * plan["ranks"], folder), *options]
        peak, report = run(library, command, folder)
    taken = peak - before
    outside = plan["outside_memory"]["process"] + plan["outside_memory"]["rank"] * plan["ranks"]
    allowed = outside if case == "kernels" else ALLOWED
    found = re.search(r"planned ([\d.]+) (\w+) .*measured peak ([\d.]+) (\w+)", report)
    if not found:
        sys.exit(f"the program does not report its memory: {report!r}")
    said_planned, said_taken = (float(found[i]) * UNITS[found[i + 1]] for i in (1, 3))
    print(f"{case} {kind}: planned {planned / MIB:.1f} MiB, taken {taken / MIB:.1f} MiB ({(taken - planned) / MIB:+.1f}); "
          f"the program says {said_taken / MIB:.1f} MiB; {outside / MIB:.1f} MiB are its bound outside the plan")
    # The report is in tenths of its unit, and the kernel's two counts of resident pages differ.
    if abs(said_planned - planned) > 0.06 * UNITS[found[2]] or abs(said_taken - taken) > 4.06 * MIB:
        sys.exit(f"the program's own report is wrong: {report.strip()}")
    bound = re.search(r"of which ([\d.]+) (\w+) is for code and libraries", report)
    if not bound or abs(float(bound[1]) * UNITS[bound[2]] - outside) > 0.06 * UNITS[bound[2]]:
        sys.exit(f"the program says another bound than inspect, {outside} bytes: {report.strip()}")
    if taken > planned + allowed:
        sys.exit(f"{taken - planned} bytes above the plan; allowed are {allowed}")
    if taken < planned // 4:
        sys.exit("the run takes a small part of what was planned: was the peak measured at all?")


if __name__ == "__main__":
    main()
