"""What compiling a model of 405 billion parameters takes: seconds, peak memory and plan bytes of `cleave compile --emit plan`, and of `cleave verify`.

The model is examples/llama, which has no weights. The rows of a table are meshes of as many stages and of more and more ranks; the last column is
the largest plan, compilation or proof over the smallest. Elapsed seconds are those of this machine as busy as it is; look at processor time.

compile_llama.py [--ranks N,N,...] [--context N] [--option OPTION]... [--model ARGUMENT]...
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["CLEAVE_KERNEL_CACHE"] = "off"  # each compilation is to do all of its work

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRAIN = ["--train", "--loss-output", "loss", "--optimizer", "adamw", "--dim", "batch=1", "--micro-batches", "32", "--schedule", "1f1b", "--precision", "bf16",
         "--recompute", "blocks", "--init", "*norm.weight=ones", "--init", "normal(std=0.02)", "--emit", "plan"]
SECONDS, BYTES = 180, 8 << 30


def run(command):
    """Elapsed seconds, those of the processor, and the peak in bytes."""
    before = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return time.monotonic() - before, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1024,16384")
    parser.add_argument("--option", action="append", default=[], help="another option of cleave compile")
    parser.add_argument("--model", action="append", default=[], help="another argument of make_model.py")
    parser.add_argument("--context", default="2048", help="tokens of a sample")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        model, plan = pathlib.Path(directory) / "llama.onnx", pathlib.Path(directory) / "llama.plan"
        subprocess.run([sys.executable, SOURCE / "examples/llama/make_model.py", model, "--context", options.context, *options.model], check=True)
        print("| ranks | compile s | processor s | peak GiB | verify s | processor s | peak GiB | plan MB |\n|---|---|---|---|---|---|---|---|")
        rows = []
        for ranks in map(int, options.ranks.split(",")):
            made = run(["cleave", "compile", model, "-o", plan, "--mesh", f"fsdp={ranks // 16},pp=16", *TRAIN, *options.option])
            proved = run(["cleave", "verify", plan])
            rows.append((*made, *proved, plan.stat().st_size))
            print(f"| {ranks} | {made[0]:.0f} | {made[1]:.1f} | {made[2] / 2**30:.2f} | {proved[0]:.0f} | {proved[1]:.1f} | {proved[2] / 2**30:.2f} | "
                  f"{rows[-1][-1] / 1e6:.1f} |", flush=True)
        for what, column in (("compile, processor s", 1), ("verify, processor s", 4), ("plan bytes", 6)):
            print(f"{what}: largest over smallest {max(r[column] for r in rows) / min(r[column] for r in rows):.3f}")
        within = all(r[1] <= SECONDS and r[4] <= SECONDS and max(r[2], r[5]) <= BYTES for r in rows)
        print("within" if within else "NOT within", f"{SECONDS} s of processor time and {BYTES >> 30} GiB each")
        return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
