"""Trains a compiled program on a recorded case and compares every step's loss with PyTorch in float64.

  compare_losses.py CASE OPTIMIZER PROGRAM RECORDING.json [-- options of the program]

The error at a step must not exceed max(1e-6, 2 e), e the largest error of PyTorch's own runs up to that step, in float32 or in what else
the recording is of: several runs, which differ by rounding alone. Float32 runs add samples, channels and features in different orders
(permuted_sums.py); in 16 bits it is the data that differ (record_mixed.py).

One run would be luck: where two inputs of a maximum differ by less than rounding, its gradient goes one way or the other. The MNIST CNN
under AdamW has such a pair in step 7: from there two of PyTorch's first six runs, float64 runs with weights changed by 6e-8 of themselves,
and Cleave on one rank all leave the exact curve by the same 5e-5, while the other runs, and Cleave on two ranks, stay within 3e-6. In T5
under AdamW it is a ReLU in step 14 whose input is -4.4e-5: Adam's first step makes 2e-5 of gradients that are all rounding, which moves
that input across zero in 5 of PyTorch's 16 runs, and in Cleave's on two ranks; all of them are 1.9e-4 off in step 18.

Where the recording has batch norm's running statistics, those at the end are compared too.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import running_statistics
import training_cases


def errors_of(record):
    """The errors of PyTorch's runs, a list for each."""
    return record.get("errors") or [[loss - exact for loss, exact in zip(run, record["float64"], strict=True)]
                                    for run in record["float32"]]


def run_quietly(command):
    subprocess.run(command, check=True, timeout=900, stdout=subprocess.DEVNULL)


def losses_of(program, case, rate, options, folder, run=run_quietly, data=None):
    """Of the case's steps; the folder gets the data, the metrics and, below checkpoints, the state at the end."""
    command = [program, "train", "--steps", str(training_cases.STEPS), "--lr", str(rate), "--no-shuffle", *options]
    for name, array in (data or training_cases.data(case)).items():
        path = folder / f"{name}.npy"
        np.save(path, array)
        command += ["--data", f"{name}={path}"]
    metrics = folder / "metrics.jsonl"
    run([*command, "--metrics", str(metrics), "--save", str(folder / "checkpoints")])
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def recorded(recording, case, optimizer):
    """The case's record in a file, or None."""
    return json.loads(pathlib.Path(recording).read_text()).get(case, {}).get(optimizer)


def judge(ours, record):
    """The largest error as a part of what is allowed at its step, and what is wrong with the first loss beyond that, if any is."""
    if len(ours) != training_cases.STEPS:
        return 0.0, f"{len(ours)} losses in the metrics, expected {training_cases.STEPS}"
    own_error, worst = 0.0, 0.0
    for step, (loss, exact, *errors) in enumerate(zip(ours, record["float64"], *errors_of(record)), 1):
        own_error = max(own_error, *map(abs, errors))
        bound = max(1e-6, 2 * own_error)
        worst = max(worst, abs(loss - exact) / bound)
        if not abs(loss - exact) <= bound:
            return worst, f"step {step}: loss {loss:.9f}, float64 {exact:.9f}, error {abs(loss - exact):.2e} above {bound:.2e}"
    return worst, None


def main():
    case, optimizer, program, recording, *options = sys.argv[1:]
    record = recorded(recording, case, optimizer)
    if not record:
        sys.exit(f"{recording} has no losses of {case} with {optimizer}")
    rate = training_cases.rate(case, optimizer)
    with tempfile.TemporaryDirectory() as folder:
        ours = losses_of(program, case, rate, [o for o in options if o != "--"], pathlib.Path(folder))
        wrong = list(running_statistics.differences(record.get("running_statistics", {}),
                                                    record.get("running_statistics_error", 0),
                                                    pathlib.Path(folder) / "checkpoints"))
    worst, reason = judge(ours, record)
    if reason or wrong:
        sys.exit("\n".join([reason] * bool(reason) + wrong))
    print(f"{case} {optimizer}: {len(ours)} losses, largest error {worst:.2f} of what is allowed; last loss {ours[-1]:.6f}")


if __name__ == "__main__":
    main()
