"""An option that changes nothing of a plan is told, or is the default: the product of models, meshes and options.

  check_idle_options.py FOLDER RECORDED

A plan is compared with that of the same command without the option, instruction by instruction; its properties, which repeat the command,
are left out. And a warning must be right: a step sends the same bytes, and has the same operations (but for --grad-sync, which chooses when gradients
are added).
"""
import json
import pathlib
import re
import subprocess
import sys

MODELS = ("mlp", "net")  # without and with BatchNormalization
LAYOUTS = {"one": [], "micro": ["--micro-batches", "2"], "dp": ["--mesh", "dp=2"], "fsdp": ["--mesh", "fsdp=2"],
           "fsdp-micro": ["--mesh", "fsdp=2", "--micro-batches", "2"], "stages": ["--mesh", "pp=2", "--micro-batches", "2"], "fsdp-of-one": ["--mesh", "fsdp=1"]}
OPTIONS = [["--grad-sync", "every"], ["--grad-sync", "last"], ["--recompute-when", "never"], ["--recompute", "blocks", "--recompute-when", "never"],
           ["--batch-norm", "sync"], ["--batch-norm", "frozen"], ["--batch-norm", "sync-deferred"], ["--fsdp-strategy", "zero-1"],
           ["--fsdp-strategy", "no-shard"], ["--gathers-in-flight", "1"], ["--forward-prefetch", "off"], ["--backward-prefetch", "none"],
           ["--offload", "activations"], ["--offload", "optimizer"], ["--schedule", "gpipe"], ["--save-async"], ["--dp-sync", "parameter-server"]]


# What is asked for by no option at all: gradients that are stored split are reduced in every micro-batch, others in the last one.
def is_default(option, layout):
    return option == ["--grad-sync", "every" if layout.startswith("fsdp") else "last"] and layout != "one" and layout != "fsdp-of-one" or \
        option == ["--gathers-in-flight", "1"] and layout == "fsdp"  # where two would need more than whole parameters


def compiled(folder, model, options):
    """The plan's lines, figures of its step, and what was said; None where the options do not go together."""
    plan = folder / "m.plan"
    done = subprocess.run(["cleave", "compile", model, "-o", plan, "--emit", "plan", "--train", "--loss", "cross-entropy", "--optimizer", "adam",
                           "--dim", "batch=4", *options], capture_output=True, text=True, timeout=120)
    if done.returncode:
        return None
    text = subprocess.run(["cleave", "inspect", plan, "--text"], capture_output=True, text=True, check=True).stdout
    figures = json.loads(subprocess.run(["cleave", "inspect", plan, "--json"], capture_output=True, text=True, check=True).stdout)
    step = next(program for program in figures["programs"] if program["name"] == "train_step")
    return [line for line in text.splitlines() if not line.startswith("property")], (step["sent_bytes"], step["flops"]), done.stdout + done.stderr


def main():
    folder, recorded = (pathlib.Path(argument) for argument in sys.argv[1:])
    combinations = silent = wrong = told = 0
    for model in MODELS:
        for layout, mesh in LAYOUTS.items():
            plain, figures, _ = compiled(folder, recorded / f"{model}.onnx", mesh)
            for option in OPTIONS:
                found = compiled(folder, recorded / f"{model}.onnx", mesh + option)
                if found is None:
                    continue
                combinations += 1
                idle = re.findall(r"^warning: (--\S+).* has no effect: .*(?:leave|give) ", found[2], re.MULTILINE)
                is_told = option[0] in idle or option[-2:][0] in idle or "stores nothing in host memory" in found[2]
                told += is_told
                if found[0] == plain and not is_told and not is_default(option, layout):
                    silent += 1
                    print(f"{model}, {layout}: {' '.join(option)} changes nothing, and nothing is said")
                compared = 1 if option[0] == "--grad-sync" else 2
                if is_told and found[1][:compared] != figures[:compared]:
                    wrong += 1
                    print(f"{model}, {layout}: {' '.join(option)} is told to have no effect: {figures}, now {found[1]}")
    print(f"{combinations} combinations, {told} told, {silent} silent, {wrong} wrong")
    sys.exit(bool(silent or wrong or not told))


main()
