"""Runs a command that must fail as mistakes do, and prints the line in which it says why: one_error.py COMMAND [ARGUMENT...]

The exit code must be 1 or 2, never a signal's; stderr must have one line and stdout none; nothing may be left where the command ran, nor
at what its -o names.
"""
import pathlib
import subprocess
import sys
import tempfile


def left_at(path):
    """What tells whether something was written there."""
    if path.is_dir():
        return sorted(path.iterdir())
    return path.lstat().st_mtime_ns if path.exists() and not path.is_char_device() else path.exists()


def main():
    command = sys.argv[1:]
    outputs = [pathlib.Path(name) for option, name in zip(command, command[1:]) if option in ("-o", "--output")]
    before = list(map(left_at, outputs))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300)
        left = list(pathlib.Path(folder).iterdir())
    lines = done.stderr.splitlines()
    problems = [f"exit code {done.returncode}, expected 1 or 2"] * (done.returncode not in (1, 2))
    problems += [f"{len(lines)} lines of errors"] * (len(lines) != 1)
    problems += [f"on stdout: {done.stdout!r}"] * bool(done.stdout)
    problems += [f"left behind: {left}"] * bool(left)
    problems += [f"{path} has been written" for path, state in zip(outputs, before) if left_at(path) != state]
    print(done.stderr, end="")
    if problems:
        sys.exit("one_error: " + "; ".join(problems))


if __name__ == "__main__":
    main()
