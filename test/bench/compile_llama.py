"""What compiling a model of 405 billion parameters takes: seconds, peak memory and plan bytes of `cleave compile --emit plan`, and of `cleave verify`.

The model is examples/llama, which has no weights. The rows of a table are meshes of as many stages and of more and more ranks. Plans are proved again in
turn (--rounds), and of each the least user time counts: a proof takes a second, and one run of it says nothing about 10 %. Elapsed seconds are those of
this machine as busy as it is; look at processor time. With --instructions, valgrind's callgrind counts those of the proofs, which no other work changes.

compile_llama.py [--ranks N,N,...] [--context N] [--rounds N] [--instructions] [--option OPTION]... [--model ARGUMENT]...
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

os.environ["CLEAVE_KERNEL_CACHE"] = "off"  # each compilation is to do all of its work

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRAIN = ["--train", "--loss-output", "loss", "--optimizer", "adamw", "--dim", "batch=1", "--micro-batches", "32", "--schedule", "1f1b", "--precision", "bf16",
         "--recompute", "blocks", "--init", "*norm.weight=ones", "--init", "normal(std=0.02)", "--emit", "plan"]
SECONDS, BYTES, ALIKE = 180, 8 << 30, 1.1


def run(command):
    """Elapsed seconds, those of the processor for the program itself, and the peak in bytes."""
    before = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return time.monotonic() - before, usage.ru_utime, usage.ru_maxrss * 1024


def instructions(command):
    """Billions of instructions."""
    counted = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)]
    return int(re.search(r"Collected : (\d+)", subprocess.run(counted, capture_output=True, text=True, check=True).stderr).group(1)) / 1e9


def spread(what, figures, bound=None):
    """Prints the largest over the smallest, and says whether that is within the bound."""
    ratio = max(figures) / min(figures)
    print(f"{what}: {', '.join(f'{one:.6g}' for one in figures)}, largest over smallest {ratio:.4f}", flush=True)
    return bound is None or ratio <= bound


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1024,16384")
    parser.add_argument("--option", action="append", default=[], help="another option of cleave compile")
    parser.add_argument("--model", action="append", default=[], help="another argument of make_model.py")
    parser.add_argument("--context", default="2048", help="tokens of a sample")
    parser.add_argument("--rounds", type=int, default=5, help="proofs of each plan")
    parser.add_argument("--instructions", action="store_true", help="count those of the proofs")
    options = parser.parse_args()
    sizes = [int(size) for size in options.ranks.split(",")]
    with tempfile.TemporaryDirectory() as directory:
        model = pathlib.Path(directory) / "llama.onnx"
        subprocess.run([sys.executable, SOURCE / "examples/llama/make_model.py", model, "--context", options.context, *options.model], check=True)
        print("| ranks | compile s | user s | peak GiB | plan MB |\n|---|---|---|---|---|")
        plans, made = [pathlib.Path(directory) / f"{size}.plan" for size in sizes], []
        for size, plan in zip(sizes, plans):
            made.append(run(["cleave", "compile", model, "-o", plan, "--mesh", f"fsdp={size // 16},pp=16", *TRAIN, *options.option]))
            print(f"| {size} | {made[-1][0]:.0f} | {made[-1][1]:.1f} | {made[-1][2] / 2**30:.2f} | {plan.stat().st_size / 1e6:.1f} |", flush=True)
        proofs = [["cleave", "verify", plan] for plan in plans]
        proved = list(zip(*([run(command) for command in proofs] for _ in range(options.rounds))))
        print(f"proofs take at most {max(one[2] for of_plan in proved for one in of_plan) / 2**30:.2f} GiB")
        alike = spread("plan bytes", [plan.stat().st_size for plan in plans], ALIKE)
        alike &= spread("compile, user s", [one[1] for one in made], ALIKE)
        alike &= spread("verify, user s", [min(one[1] for one in of_plan) for of_plan in proved], ALIKE)
        if options.instructions:
            alike &= spread("verify, billion instructions", [instructions(command) for command in proofs], ALIKE)
        print("within" if alike else "NOT within", f"{ALIKE} of each other")
        runs = [*made, *(one for of_plan in proved for one in of_plan)]
        within = all(one[1] <= SECONDS and one[2] <= BYTES for one in runs)
        print("within" if within else "NOT within", f"{SECONDS} s of user time and {BYTES >> 30} GiB each")
        return 0 if within and alike else 1


if __name__ == "__main__":
    sys.exit(main())
