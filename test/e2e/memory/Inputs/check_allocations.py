"""After its second training step a program allocates nothing above 4 KiB, with malloc replaced by watch_malloc.c.

  check_allocations.py WATCH.so CASE PROGRAM [options of the program]

Watched are steps 3 to 10. Then the same run is watched from its start, where every program allocates: the watch works.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import training_cases  # noqa: E402

STEPS = 10


def watched(library, command, folder, first):
    log = folder / "allocations.log"
    environment = {**os.environ, "LD_PRELOAD": library, "WATCH_FROM": str(first), "WATCH_TO": str(STEPS), "WATCH_LOG": str(log)}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, timeout=300)
    text = log.read_text()
    found = re.search(r"watched to the end: (\d+) large", text)
    if not found:
        sys.exit("the watch did not see the steps; is --metrics written with fwrite, a line a step?")
    return int(found[1]), text


def main():
    library, case, program, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [program, "train", "--steps", str(STEPS), "--lr", "1e-4", "--metrics", str(folder / "metrics.jsonl"), *options]
        for name, array in training_cases.data(case).items():
            np.save(folder / f"{name}.npy", array)
            command += ["--data", f"{name}={folder / name}.npy"]
        count, text = watched(library, command, folder, 2)
        if count:
            sys.exit(f"{count} allocations above 4 KiB after step 2:\n{text}")
        before, _ = watched(library, command, folder, 0)
    if not before:
        sys.exit("the watch sees no allocation at all")
    print(f"{case}: no allocation above 4 KiB in steps 3 to {STEPS}; {before} from the start")


if __name__ == "__main__":
    main()
