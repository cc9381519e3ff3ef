"""One model at one global batch on several layouts: their losses against each other.

  mutual_losses.py CASE OPTIMIZER RECORDING.json PROGRAM PROGRAM... [--misread]

Two runs may differ at a step by max(1e-6, 4 s), s the largest spread up to that step of PyTorch's own float32 runs, which permute the
order of sums and nothing else (permuted_sums.py). With --misread the last program gets what a layout would compute whose last of four
ranks reads the samples of the first: that must be found.
"""
import argparse
import itertools
import pathlib
import sys
import tempfile

import numpy as np

import compare_losses
import training_cases


def bounds_of(record):
    """What two runs may differ by, step by step."""
    spreads = [max(losses) - min(losses) for losses in zip(*record["float32"], strict=True)]
    return [max(1e-6, 4 * spread) for spread in itertools.accumulate(spreads, max)]


def judge(runs, record):
    """The largest difference of two of the runs, {name: losses}, as a part of what is allowed, and the first one beyond that, if any."""
    worst = 0.0
    for name, losses in runs.items():
        if len(losses) != training_cases.STEPS:
            return worst, f"{name}: {len(losses)} losses in the metrics, expected {training_cases.STEPS}"
    for step, (bound, *losses) in enumerate(zip(bounds_of(record), *runs.values(), strict=True), 1):
        for (one, a), (other, b) in itertools.combinations(zip(runs, losses), 2):
            worst = max(worst, abs(a - b) / bound)
            if not abs(a - b) <= bound:
                return worst, f"step {step}: loss {a:.9f} with {one}, {b:.9f} with {other}: {abs(a - b):.2e} apart, above {bound:.2e}"
    return worst, None


def misread(arrays, batch):
    """Each batch's last quarter is the first one."""
    quarter = batch // 4
    result = {}
    for name, array in arrays.items():
        batches = array.reshape(-1, batch, *array.shape[1:]).copy()
        batches[:, -quarter:] = batches[:, :quarter]
        result[name] = np.ascontiguousarray(batches.reshape(array.shape))
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("optimizer")
    parser.add_argument("recording")
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--misread", action="store_true")
    options = parser.parse_args()
    rate = training_cases.rate(options.case, options.optimizer)
    runs = {}
    for program in options.programs:
        data = training_cases.data(options.case)
        if options.misread and program == options.programs[-1]:
            data = misread(data, training_cases.CASES[options.case][1])
        with tempfile.TemporaryDirectory() as folder:
            runs[program] = compare_losses.losses_of(program, options.case, rate, [], pathlib.Path(folder), data=data)
    worst, reason = judge(runs, compare_losses.recorded(options.recording, options.case, options.optimizer))
    if reason:
        sys.exit(reason)
    print(f"{options.case} {options.optimizer}: {len(runs)} layouts, largest difference {worst:.2f} of what is allowed")


if __name__ == "__main__":
    main()
