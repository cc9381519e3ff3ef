#!/usr/bin/env python3
"""Runs what pack.py packed on this machine's GPU: run.py [FOLDER] [--sanitize PROGRAM]. Needs no package and no compiler.

Each program trains twice. Its losses are compared with the host's (f32: 1e-5 relative; bf16: 1e-2, its rounding in 20 steps), and with
each other, bit by bit. Prints a table with device, driver and commit; fails where a row does."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

BOUNDS = {"f32": 1e-5, "bf16": 1e-2, "fp16": 1e-2}


def rows_of(path):
    return [row for row in map(json.loads, open(path)) if "loss" in row]


def environment(folder):
    values = dict(os.environ)
    values["LD_LIBRARY_PATH"] = os.pathsep.join([str(folder / "lib"), values.get("LD_LIBRARY_PATH", "")])
    return values


def run(folder, key, number):
    arguments = (folder / f"{key}.args").read_text().split("\n")
    metrics = f"{key}.gpu{number}.json"
    result = subprocess.run([f"./{key}.cuda", *arguments, "--metrics", metrics], cwd=folder, env=environment(folder), capture_output=True,
                            text=True, timeout=600)
    if result.returncode:
        raise RuntimeError(result.stderr.strip()[-600:])
    return rows_of(folder / metrics)


def device():
    if "CLEAVE_LIBCUDA" in os.environ:
        return f"the driver {os.environ['CLEAVE_LIBCUDA']}"
    return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True, capture_output=True,
                          text=True).stdout.strip()


def check(folder, key):
    """A line of the table, and whether the row is right."""
    host = [row["loss"] for row in rows_of(folder / f"{key}.host.json")]
    first, second = run(folder, key, 1), run(folder, key, 2)
    losses = [row["loss"] for row in first]
    error = max(abs(a - b) / abs(b) for a, b in zip(losses, host))
    same = losses == [row["loss"] for row in second]
    times = [row["step_s"] for row in second if "step_s" in row][3:]
    good = len(losses) == len(host) and error <= BOUNDS[key.rsplit(".", 1)[1]] and same
    return f"{'ok' if good else 'WRONG':6}{key:36}{error:10.1e}  {'bitwise' if same else 'DIFFERS':9}{statistics.median(times) * 1e3:9.2f} ms", good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--sanitize", help="a program to run under compute-sanitizer, too")
    options = parser.parse_args()
    folder = options.folder.resolve()
    print(f"{device()}; commit {(folder / 'commit').read_text()}\n{'':6}{'program':36}{'of host':>10}  {'twice':9}{'step':>9}")
    wrong = 0
    for program in sorted(folder.glob("*.cuda")):
        try:
            line, good = check(folder, program.stem)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            line, good = f"{'FAILED':6}{program.stem}: {error}", False
        wrong += not good
        print(line, flush=True)
    if options.sanitize:
        arguments = (folder / f"{options.sanitize}.args").read_text().split("\n")
        result = subprocess.run(["compute-sanitizer", "--tool", "memcheck", f"./{options.sanitize}.cuda", *arguments], cwd=folder,
                                env=environment(folder), capture_output=True, text=True)
        clean = "ERROR SUMMARY: 0 errors" in result.stdout
        wrong += not clean
        print(f"memcheck {options.sanitize}: {'0 errors' if clean else result.stdout[-1500:]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
