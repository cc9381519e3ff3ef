"""Overlap with an injected transport rate: step time against max(compute, communication), buckets of 256 KiB (DESIGN section 8).

The rate is chosen so that communication takes as long as the backward pass would hide. Each rank has one compute thread.
Prints step / max(compute, communication) for small buckets, and for one bucket, which overlaps almost nothing.
"""
import os
import pathlib
import statistics
import tempfile

import common
import training_cases

BATCH, STEPS, ROUNDS = 16, 15, 3


def step_seconds(program, arrays, rate=None):
    if rate:
        os.environ["CLEAVE_COMM_BYTES_PER_S"] = str(int(rate))
    else:
        os.environ.pop("CLEAVE_COMM_BYTES_PER_S", None)
    return common.cleave_step_seconds(program, arrays, STEPS, 2)


def main():
    model, _, inputs = training_cases.CASES["gpt-nano"]
    arrays = common.make_arrays(inputs, BATCH * 2 * STEPS)
    sent = 3337216  # bytes a rank and step: 2 (N - 1) / N of the gradient, N = 2
    with tempfile.TemporaryDirectory() as folder:
        for bucket in ("256KiB", "64MiB"):
            program = pathlib.Path(folder) / f"gpt-{bucket}"
            common.compile_model(common.ROOT / model, program, "--train", "--loss-output", "loss", "--dim", f"batch={BATCH}",
                                 "--mesh", "dp=2", "--bucket-size", bucket)
            ratios = []
            for _ in range(ROUNDS):
                compute = step_seconds(program, arrays)
                communication = 0.5 * compute
                slowed = step_seconds(program, arrays, sent / communication)
                ratios.append(slowed / max(compute, communication))
            print(f"buckets of {bucket}: step / max(compute, communication) = {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
