"""The losses of the steps that two runs have in common: close_losses.py BOUND FIRST.jsonl SECOND.jsonl..., the second run in one file or more."""
import json
import pathlib
import sys


def losses(path):
    return {row["step"]: row["loss"] for row in map(json.loads, pathlib.Path(path).read_text().splitlines())}


bound, first, *others = float(sys.argv[1]), *map(losses, sys.argv[2:])
second = {step: loss for other in others for step, loss in other.items()}
if not first or first.keys() != second.keys():
    sys.exit(f"steps {sorted(first)} and {sorted(second)}")
if apart := [f"step {step}: {loss} and {second[step]}" for step, loss in first.items() if not abs(loss - second[step]) <= bound]:
    sys.exit("\n".join(apart))
print(f"{len(first)} losses, at most {max(abs(loss - second[step]) for step, loss in first.items()):.1e} apart")
