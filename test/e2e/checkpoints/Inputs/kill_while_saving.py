"""Kills a training that saves all the time at random moments: each time the next run finds a whole checkpoint to go on from, and in
the end the parameters are those of a run that nobody killed.

  kill_while_saving.py PROGRAM FOLDER MOMENTS [launcher...] -- [options of train]
"""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import training_cases  # noqa: E402

CASE = "mlp"
LATER = 25  # steps after the last kill


def arguments(program, launcher, folder, data, steps, options):
    command = [*launcher, program, "train", "--steps", str(steps), "--save", str(folder), "--save-every", "1", "--keep", "2",
               "--resume", "auto", "--lr", "1e-3", "--log-every", "1", *options]
    for name in data:
        command += ["--data", f"{name}={folder.parent / name}.npy"]
    return command


def end(process):
    """Kills a program, or the ranks that a launcher has started, and waits until all are gone."""
    ranks = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    for victim in ranks or [str(process.pid)]:
        try:
            os.kill(int(victim), signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait(timeout=60)


def run_until_killed(command, seconds):
    """The step that the run went on from, and the last one it has said to be saved."""
    resumed, saved = 0, 0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if match := re.search(r"resumed at step (\d+)", line):
            resumed = int(match[1])
        if match := re.search(r"saved .*step-0*(\d+)$", line):
            saved = int(match[1])
            deadline = deadline or time.monotonic() + seconds
        if deadline and time.monotonic() > deadline:
            break
    else:
        sys.exit("the run ended by itself:\n" + "".join(lines[-20:]))
    end(process)
    process.stdout.close()
    return resumed, saved


def main():
    program, folder, moments, *rest = sys.argv[1:]
    launcher, options = rest[:rest.index("--")], rest[rest.index("--") + 1:]
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data = training_cases.data(CASE)
    for name, array in data.items():
        np.save(folder / f"{name}.npy", array)
    killed, whole = folder / "killed", folder / "whole"
    rng = random.Random(11)
    saved = 0
    for moment in range(int(moments)):
        command = arguments(program, launcher, killed, data, 100000000, options)
        resumed, now = run_until_killed(command, rng.uniform(0, 0.3))
        # What was said to be saved is there, or something newer.
        if resumed < saved:
            sys.exit(f"moment {moment}: the run resumed at step {resumed}; step {saved} had been saved")
        saved = now
        print(f"moment {moment}: resumed at step {resumed}, killed after step {now}", flush=True)
    total = saved + LATER
    # The learning rate is constant, so a run does not know how long it will be.
    for target, steps in ((killed, total), (whole, total)):
        subprocess.run(arguments(program, launcher, target, data, steps, options), check=True, stdout=subprocess.DEVNULL, timeout=300)
    left = sorted(path.name for path in killed.iterdir())
    expected = ["latest", f"step-{total - 1:08d}", f"step-{total:08d}"]
    if left != expected:
        sys.exit(f"expected {expected}, the killed runs left {left}")
    for path in sorted((whole / f"step-{total:08d}").iterdir()):
        if path.read_bytes() != (killed / f"step-{total:08d}" / path.name).read_bytes():
            sys.exit(f"{path.name} differs from that of a run that was not killed")
    print(f"{moments} kills, {total} steps: the same checkpoint as without")


if __name__ == "__main__":
    main()
