"""Overlap with an injected transport rate: step time against max(compute, communication) + 15 %.

Two comparisons, each of a plan that overlaps with one that cannot: gradient buckets of 256 KiB against one bucket (dp=2), and the gathers
of parameters sharded in units of 256 KiB with prefetch against without (fsdp=2). The last line has no bound: where the model's four blocks
are the units, the first gather and the last reduction, which nothing can hide, are more of the communication. The rate is chosen so that communication takes half as long as a step
computes. Each rank has one compute thread. Times are the best of some runs in turn: what else a machine does only adds to them. Exit
code 1 when a plan that should overlap is above the bound, or when one that cannot is not, which would mean that the bound shows nothing.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import common
import training_cases

BATCH, STEPS, ROUNDS = 16, 15, 5
BOUND = 1.15

BLOCKS = ["--mesh", "fsdp=2"]
SHARDED = [*BLOCKS, "--fsdp-units", "size=256KiB"]
# (what, options, does it overlap; None: not judged)
PLANS = [
    ("buckets of 256 KiB", ["--mesh", "dp=2", "--bucket-size", "256KiB"], True),
    ("one bucket", ["--mesh", "dp=2", "--bucket-size", "64MiB"], False),
    ("gathers with prefetch", SHARDED, True),
    ("gathers without prefetch", [*SHARDED, "--forward-prefetch", "off", "--backward-prefetch", "none"], False),
    ("gathers of blocks with prefetch", BLOCKS, None),
]


def step_seconds(program, arrays, rate=None):
    if rate:
        os.environ["CLEAVE_COMM_BYTES_PER_S"] = str(int(rate))
    else:
        os.environ.pop("CLEAVE_COMM_BYTES_PER_S", None)
    return common.cleave_step_seconds(program, arrays, STEPS, 1)


def sent_bytes(program):
    """What a rank sends in a step, as the plan has it."""
    plan = json.loads(subprocess.run([program, "inspect", "--json"], check=True, capture_output=True, text=True).stdout)
    return next(p["sent_bytes"] for p in plan["programs"] if p["name"] == "train_step")


def measure(program, arrays):
    """Best seconds of a step without and with the injected rate, and what communication alone takes at that rate."""
    compute = min(step_seconds(program, arrays) for _ in range(ROUNDS))
    communication = 0.5 * compute
    rate = sent_bytes(program) / communication
    plain, slowed = [compute], []
    for _ in range(ROUNDS):
        slowed.append(step_seconds(program, arrays, rate))
        plain.append(step_seconds(program, arrays))
    return min(plain), min(slowed), communication


def main():
    model, _, inputs = training_cases.CASES["gpt-nano"]
    arrays = common.make_arrays(inputs, BATCH * 2 * STEPS)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "gpt"
        for what, options, overlaps in PLANS:
            common.compile_model(common.ROOT / model, program, "--train", "--loss-output", "loss", "--dim", f"batch={BATCH}", *options)
            compute, slowed, communication = measure(program, arrays)
            ratio = slowed / max(compute, communication)
            print(f"{what}: compute {compute * 1e3:.1f} ms, communication {communication * 1e3:.1f} ms, step {slowed * 1e3:.1f} ms; "
                  f"step / max(compute, communication) = {ratio:.2f}", flush=True)
            if overlaps is not None and overlaps != (ratio <= BOUND):
                wrong.append(what)
    sys.exit(f"not on its side of the bound of {BOUND}: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
