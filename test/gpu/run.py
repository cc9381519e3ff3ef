#!/usr/bin/env python3
"""Runs what pack.py packed on this machine's GPU: run.py [FOLDER] [--sanitize PROGRAM] [--jobs N]. Needs no package and no compiler.

With several jobs programs share the GPU: the times are then not those of a program alone.

Each program trains twice. Its losses are compared with the host's (f32: 1e-5 relative; bf16: 1e-2, its rounding in 20 steps), and with
each other, bit by bit. Programs whose convolutions cuDNN has computed train once more by Cleave's own kernels: the times stand side by side.
Attention's kernels by mma.sync and by wgmma are checked and timed by themselves (attention.py), the latter on compute capability 9.0.
Prints a table with device, driver and commit; fails where a row does."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
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


def run(folder, key, number, **more):
    arguments = (folder / f"{key}.args").read_text().split("\n")
    metrics = f"{key}.gpu{number}.json"
    result = subprocess.run([f"./{key}.cuda", *arguments, "--metrics", metrics], cwd=folder, env={**environment(folder), **more}, capture_output=True,
                            text=True, timeout=600)
    if result.returncode:
        raise RuntimeError(result.stderr.strip()[-600:])
    return rows_of(folder / metrics)


def device():
    if "CLEAVE_LIBCUDA" in os.environ:
        return f"the driver {os.environ['CLEAVE_LIBCUDA']}"
    return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True, capture_output=True,
                          text=True).stdout.strip()


def step_of(rows):
    """The median time of a step without the first ones, in milliseconds."""
    return statistics.median([row["step_s"] for row in rows if "step_s" in row][3:] or [float("nan")]) * 1e3


def own_convolutions(folder, key, host):
    """What cuDNN's convolutions are worth: the same steps by Cleave's own kernels; nothing where it has computed none."""
    stored = folder / f"{key}.cuda.algorithms"
    library = re.search(r"(?m)^on (cuDNN \d+)", stored.read_text()) if stored.exists() else None
    if not library:
        return "", True
    rows = run(folder, key, 3, CLEAVE_CUDA_CONVOLUTION="own")
    error = max(abs(row["loss"] - loss) / abs(loss) for row, loss in zip(rows, host))
    good = error <= BOUNDS[key.rsplit(".", 1)[1]]
    return f"  {library[1]}; own kernels {step_of(rows):.2f} ms, {error:.1e}{'' if good else ' WRONG'}", good


def check(folder, key):
    """A line of the table, and whether the row is right."""
    host = [row["loss"] for row in rows_of(folder / f"{key}.host.json")]
    first, second = run(folder, key, 1), run(folder, key, 2)
    losses = [row["loss"] for row in first]
    error = max(abs(a - b) / abs(b) for a, b in zip(losses, host))
    same = losses == [row["loss"] for row in second]
    own, is_own_good = own_convolutions(folder, key, host)
    good = is_own_good and len(losses) == len(host) and error <= BOUNDS[key.rsplit(".", 1)[1]] and same
    return f"{'ok' if good else 'WRONG':6}{key:36}{error:10.1e}  {'bitwise' if same else 'DIFFERS':9}{step_of(second):9.2f} ms{own}", good


def checked(folder, key):
    try:
        return check(folder, key)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return f"{'FAILED':6}{key}: {error}", False


def attention(folder):
    """Lines of attention.py of both versions, and whether all is right."""
    texts = [path for path in ("mma.ptx", "wgmma.ptx") if (folder / path).exists()]
    if not texts:
        return "", True
    timed = [] if "CLEAVE_LIBCUDA" in os.environ else ["--time"]
    result = subprocess.run([sys.executable, "attention.py", *texts, *timed], cwd=folder, capture_output=True, text=True, timeout=600)
    return result.stdout + result.stderr[-600:], result.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("--sanitize", help="a program to run under compute-sanitizer, too")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    options = parser.parse_args()
    folder = options.folder.resolve()
    print(f"{device()}; commit {(folder / 'commit').read_text()}\n{'':6}{'program':36}{'of host':>10}  {'twice':9}{'step':>9}")
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line, good in pool.map(lambda program: checked(folder, program.stem), sorted(folder.glob("*.cuda"))):
            wrong += not good
            print(line, flush=True)
    lines, good = attention(folder)
    wrong += not good
    print(lines, end="", flush=True)
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
