"""removed_waits.py SOURCE BUILD FOLDER CASE...    CASE is model:options of cleave compile; its plan has no calls

Takes each wait for an event from a training step, one at a time, and asks the verifier (of the plan without it) and the emulated device
(which ignores it; CLEAVE_EMULATED_IGNORE_WAIT), in the step as it runs and in the captured graph. They must agree:

  the verifier needs it    the device finds a race, a read of what nothing wrote, or ranks that wait for each other; or its clocks
                           say that other waits of the run give the same order (those between collectives, which are in line on GPUs)
  the verifier does not    the device finds nothing: the wait is there for the schedule (how early a gather may begin)"""
import itertools
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402



def run(command, **environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=300,
                          env=emulated.environment(build, **environment))


def must(command, **environment):
    result = run(command, **environment)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stdout[-1500:]}{result.stderr[-3000:]}")
    return result


def with_weights(path):
    """The model with its weights: those of test/models are made from a seed."""
    if "test/models" not in str(path):
        return path
    made = folder / "models" / path.parent.name / path.name
    if not made.exists():
        must([sys.executable, source / "test/models/make_weights.py", folder / "models", path])
    return made


COLLECTIVES = "all_reduce|reduce_scatter|all_gather|reduce|broadcast|send|recv"


def program_text(plan, program):
    """Lines of a program, with their numbers in the file."""
    lines = plan.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if re.match(rf"\s*plan\.program @{program}\b", line))
    end = next(i for i in range(begin + 1, len(lines)) if re.match(r"\s*plan\.program @", lines[i]) or i + 1 == len(lines))
    return lines, range(begin, end)


def needed_waits(plan):
    """For each wait of @train_step: whether the verifier refuses the plan without it."""
    lines, program = program_text(plan, "train_step")
    mutant = plan.with_suffix(".mutant.mlir")
    needed = []
    for wait in program:
        if re.match(r"\s*plan\.wait\b", lines[wait]):
            mutant.write_text("\n".join(lines[:wait] + lines[wait + 1:]))
            needed.append(run(["cleave-opt", mutant, "--verify-plan", "-o", os.devnull]).returncode != 0)
    return needed


def waits_of_a_step(plan, in_line):
    """The waits that a step asks the driver for, in order: the number of the plan's wait, or None for those of the runtime."""
    lines, program = program_text(plan, "train_step")
    assert not any("plan.call" in lines[i] for i in program), "calls"
    used = {re.search(r'on "(\w+)"', lines[i]).group(1) for name in ("@",) for i in range(len(lines)) if re.search(r'on "(\w+)"', lines[i])}
    fork = [None] * (len(used) - 1)
    waits, number, collectives = [], 0, 0
    for i in program:
        if re.match(r"\s*plan\.wait\b", lines[i]):
            waits.append(number)
            number += 1
        elif re.match(rf"\s*plan\.({COLLECTIVES})\b", lines[i]):
            waits += [None] if in_line and collectives else []
            collectives += 1
    return fork + waits + fork


def outcome(command, wait, **environment):
    """found, implied (other waits give the order), missed, or none where no thread has so many waits."""
    result = run(command, CLEAVE_EMULATED_IGNORE_WAIT=str(wait), **environment)
    if f"wait {wait} of a thread is ignored" not in result.stderr:
        return "none" if result.returncode == 0 else sys.exit(f"wait {wait}: failed before it: {result.stderr[-2000:]}")
    if result.returncode:
        return "found" if re.search(r"race between streams|which nothing wrote|hangs: missing|unjoined|CAPTURE|isolation", result.stderr, re.I) else \
            sys.exit(f"wait {wait}: failed for another reason: {result.stderr[-2000:]}")
    return "missed" if "the ignored wait is missing" in result.stderr else "implied"


def test(case):
    name, _, options = case.partition(":")
    here = folder / "".join(c if c.isalnum() else "_" for c in case)
    here.mkdir(parents=True)
    model, batch, _ = training_cases.CASES[name]
    data = []
    for key, array in training_cases.data(name).items():
        np.save(here / f"{key}.npy", array)
        data += ["--data", f"{key}={here / key}.npy"]
    compile_ = ["cleave", "compile", with_weights(source / model), "--train", "--loss-output", "loss", "--optimizer", "adamw", "--global-batch", batch,
                "--target", "cuda:sm_90", *options.split()]
    must([*compile_, "-o", here / "program"])
    must([*compile_, "--emit", "mlir", "-o", here / "plan.mlir"])
    must(["cleave-opt", here / "plan.mlir", "--verify-plan", "-o", os.devnull])
    needed, in_line = needed_waits(here / "plan.mlir"), "--mesh" in options
    asked = waits_of_a_step(here / "plan.mlir", in_line)

    def command(steps):
        return [here / "program", "train", *data, "--no-shuffle", "--steps", str(steps)]

    def total(steps):
        """How many waits a run asks for."""
        wait = 1
        while outcome(command(steps), wait, CLEAVE_CUDA_GRAPHS="0") != "none":
            wait *= 2
        low, high = wait // 2, wait
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if outcome(command(steps), middle, CLEAVE_CUDA_GRAPHS="0") != "none" else (low, middle)
        return low

    must(command(3), CLEAVE_EMULATED_LEAKS="fail")
    one = total(1)
    if total(2) - one != len(asked):
        sys.exit(f"{case}: a step asks for {total(2) - one} waits; expected {len(asked)}: {asked}")
    found = {"step": 0, "graph": 0}
    for place, number in enumerate(asked):
        if number is None:
            continue
        for mode, wait, steps, environment in (("step", one - len(asked) + place + 1, 1, {"CLEAVE_CUDA_GRAPHS": "0"}),
                                               ("graph", one + place + 1, 3, {})):
            result = outcome(command(steps), wait, **environment)
            found[mode] += result == "found"
            if result == "none" or (result == "found" and not needed[number]) or (mode == "step" and result == "missed" and needed[number]):
                sys.exit(f"{case}, {mode}: wait {number} of the plan: {result}, and the verifier {'needs' if needed[number] else 'does not need'} it")
    if not found["step"] or found["step"] != found["graph"]:
        sys.exit(f"{case}: {found} of {len(needed)} waits are found")
    print(f"{case}: the verifier needs {sum(needed)} of {len(needed)} waits; the device finds {found['step']} of them missing in a step, "
          f"{found['graph']} in its graph")


for each in sys.argv[4:]:
    test(each)
