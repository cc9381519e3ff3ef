"""A training that saves is asked to end: it finishes its step, saves, and ends; what goes on from there is what nobody has stopped.

  stop_by_signal.py PROGRAM FOLDER INT|TERM|HUP|PIPE all|first|last|launcher|twice|terminal|reader [launcher...] -- [options of train]

The signal goes to all processes that train, to one of them, or to their launcher; "twice" sends it again before the step is over, and
"terminal" at once, as a terminal that closes does: its shell and the kernel send SIGHUP.
"reader" sends nothing: nobody reads the output any more.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

SECONDS = 120
LATER = 10  # steps after the stop


def main():
    program, folder, name, whom, *rest = sys.argv[1:]
    launcher, options = rest[:rest.index("--")], rest[rest.index("--") + 1:]
    folder, number = pathlib.Path(folder), getattr(signal, "SIG" + name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    # mpirun, asked to end, reads nothing more of what the ranks print, and kills them two seconds later.
    every = 500 if whom == "launcher" else 1

    def command(target, steps):
        return [*launcher, program, "train", *options, "--save", str(folder / target), "--resume", "auto", "--steps", str(steps),
                "--log-every", str(every)]

    # A slow network, where the second signal is to find the step of the first one.
    environment = {**os.environ, **({"CLEAVE_COMM_DELAY_US": "200000"} if whom == "twice" else {})}
    # Shells let what they start in the background ignore Ctrl-C, and programs keep to that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process = subprocess.Popen(command("stopped", 100000000), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    ranks = []
    guard = threading.Timer(SECONDS, lambda: [os.kill(victim, signal.SIGKILL) for victim in [*ranks, process.pid]])
    guard.start()
    said, begun = [], every if whom in ("twice", "launcher") else 5
    for line in process.stdout:
        said.append(line)
        if not ranks and f"step {begun}/" in line:
            children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
            ranks += [int(child) for child in children] if launcher else [process.pid]
            if whom == "reader":
                break
            for victim in {"all": ranks, "first": ranks[:1], "last": ranks[-1:], "launcher": [process.pid], "twice": ranks,
                           "terminal": [*ranks, *ranks]}[whom]:
                os.kill(victim, number)
            if whom == "twice":
                process.stderr.readline(), process.stderr.readline()  # an empty line, and what a second one does
                os.kill(process.pid, number)
    process.stdout.close()
    errors = process.stderr.read()
    code = process.wait()
    guard.cancel()
    if whom == "twice":
        if code != -number or (folder / "stopped" / "latest").exists():
            sys.exit(f"expected an end by signal {number}, and nothing saved; got {code}: {errors}")
        print("ended at once")
        return
    # Launchers that were stopped themselves have codes of their own.
    if code == 0 or whom != "launcher" and code != 128 + number:
        sys.exit(f"expected exit code {128 + number}; got {code}: {errors}{said[-3:]}")
    found = re.search(r"stopped by SIG(?:INT|TERM|HUP) after step (\d+) of 100000000; --resume auto goes on from there", "".join(said))
    if not found and whom not in ("launcher", "reader") or "error:" in errors:
        sys.exit(f"expected to be told of the end; got: {said[-3:]}{errors}")
    step = int(found[1] if found else (folder / "stopped" / "latest").read_text()[5:])
    for target in ("stopped", "whole"):
        subprocess.run(command(target, step + LATER), check=True, capture_output=True, timeout=SECONDS)
    last = f"step-{step + LATER:08d}"
    left = sorted(path.name for path in (folder / "stopped").iterdir())
    if left != ["latest", f"step-{step:08d}", last]:
        sys.exit(f"expected the checkpoints of steps {step} and {step + LATER}; got {left}")
    for path in (folder / "whole" / last).iterdir():
        if path.read_bytes() != (folder / "stopped" / last / path.name).read_bytes():
            sys.exit(f"{path.name} differs from that of a run that was not stopped")
    print(f"exit code {code if whom != 'launcher' else 'not 0'}, saved, resumed: as without")


if __name__ == "__main__":
    main()
