"""Overlap with an injected transport rate: step time against max(compute, communication), buckets of 256 KiB (DESIGN section 8).

The rate is chosen so that communication takes half as long as a step computes, which the backward pass can hide. Each rank has one
compute thread. Prints step / max(compute, communication) for small buckets, and for one bucket, which overlaps almost nothing. Times
are the best of some runs in turn: what else a machine does only adds to them. Exit code 1 when small buckets are above the bound, or
when one bucket is not, which would mean that the bound shows nothing.
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
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        for bucket in ("256KiB", "64MiB"):
            program = pathlib.Path(folder) / f"gpt-{bucket}"
            common.compile_model(common.ROOT / model, program, "--train", "--loss-output", "loss", "--dim", f"batch={BATCH}",
                                 "--mesh", "dp=2", "--bucket-size", bucket)
            compute, slowed, communication = measure(program, arrays)
            ratios[bucket] = slowed / max(compute, communication)
            print(f"buckets of {bucket}: compute {compute * 1e3:.1f} ms, communication {communication * 1e3:.1f} ms, step "
                  f"{slowed * 1e3:.1f} ms; step / max(compute, communication) = {ratios[bucket]:.2f}", flush=True)
    sys.exit(0 if ratios["256KiB"] <= BOUND < ratios["64MiB"] else 1)


if __name__ == "__main__":
    main()
