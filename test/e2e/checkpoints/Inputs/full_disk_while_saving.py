"""The disk fills up while a training saves: it ends with an error, leaves nothing half written, and what was saved before is whole.

  full_disk_while_saving.py PROGRAM FOLDER all|RANK [launcher...] -- [options of train]

Once a checkpoint is there, no file of the chosen processes may grow beyond 4 KiB. (`ulimit -f` before the launcher would stop MPI
itself, whose shared memory is files.) Prints what the run said on stderr.
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

LIMIT = 4096
SECONDS = 60


def ranks_of(process, launcher):
    """The processes that train: the program, or what a launcher has started."""
    if not launcher:
        return [process.pid]
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    return [int(child) for child in children]


def main():
    program, folder, chosen, *rest = sys.argv[1:]
    launcher, options = rest[:rest.index("--")], rest[rest.index("--") + 1:]
    command = [program, "train", *options, "--save", folder]
    shutil.rmtree(folder, ignore_errors=True)
    process = subprocess.Popen([*launcher, *command, "--save-every", "1", "--keep", "3", "--steps", "1000000", "--log-every", "1000000"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = []
    listener = threading.Thread(target=lambda: said.extend(process.stderr))
    listener.start()
    ranks, saved, limited = [], 0, False
    hung = threading.Event()

    def give_up():
        hung.set()
        for victim in [*ranks, process.pid]:
            os.kill(victim, signal.SIGKILL)

    guard = threading.Timer(SECONDS, give_up)
    guard.start()
    for line in process.stdout:
        if match := re.search(r"saved .*step-0*(\d+)$", line):  # behind a line in place, where the launcher gives a terminal
            saved = int(match[1])
            if not limited:
                ranks += ranks_of(process, launcher)
                for rank in ranks if chosen == "all" else [ranks[int(chosen)]]:
                    resource.prlimit(rank, resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
                limited = True
    code = process.wait()
    guard.cancel()
    listener.join()
    print("".join(said))
    if hung.is_set() or code <= 0:
        sys.exit(f"the run did not end within {SECONDS} s" if hung.is_set() else f"exit code {code}")
    left = sorted(path.name for path in pathlib.Path(folder).iterdir())
    whole = [name for name in left if name.startswith("step-")]
    if sorted(set(left) - set(whole)) != ["latest"] or not whole or int(whole[-1][5:]) < saved:
        sys.exit(f"saved step {saved}; the run left {left}")
    # Nothing is left to do at the step that was saved: it is loaded, and that is all.
    again = subprocess.run([*launcher, *command, "--resume", "auto", "--steps", str(int(whole[-1][5:]))], capture_output=True, text=True,
                           timeout=120)
    if again.returncode or "nothing to do: the checkpoint is at step" not in again.stdout:
        sys.exit(f"{whole[-1]} cannot be loaded: {again.stdout}{again.stderr}")
    errors = sum("error:" in line for line in said)
    print(f"exit code {code}, errors of {errors} processes, then resumed")


if __name__ == "__main__":
    main()
