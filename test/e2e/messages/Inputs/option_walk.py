#!/usr/bin/env python3
"""option_walk.py MODEL.onnx PROGRAM X.npy LABELS.npy SCRATCH: every option of `cleave` and of a program with values that mean nothing.

Options are taken from --help, so that a new one is tried, too. Empty and blank values, and numbers that f32 does not hold, are refused by one
line that names the option, with exit code 2 (1 for a file that cannot be read), and nothing is written. In place of each file: a directory, a
device, a pipe without a writer, a file that may not be read. Nothing may wait."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

model, program, x, labels, scratch = [str(pathlib.Path(p).resolve()) for p in sys.argv[1:]]
shutil.rmtree(scratch, ignore_errors=True)
os.makedirs(scratch)
os.chdir(scratch)
os.mkdir("folder")
os.mkfifo("pipe")
os.mkfifo("pipe.npy")
pathlib.Path("locked").write_bytes(b"x")
os.chmod("locked", 0)
tried = failures = 0
COMPILE = ["cleave", "compile", model, "-o", "made", "--dim", "batch=8"]
TRAINED = [*COMPILE, "--train", "--loss-output", "loss"]
RUN = [program, "train", "--data", f"x={x}", "--data", f"labels={labels}", "--steps", "1"]
BAD_REALS = ["nan", "inf", "-inf", "1e39", "-1e39", "1e-50", "-1", "0x", "1,2", "--", "1e999"]
NUMBERS = {  # in compile: an option's value, with {} in place of a number
    "--loss-scale": ["{}", "dynamic,init={}", "dynamic,growth={}", "dynamic,backoff={}"],
    "--param-group": ["*:lr_scale={}", "*:weight_decay={}"],
}


def optimizer_forms():
    """Every number of every optimizer, as the help of --optimizer lists them: `name (key=default, ...)`."""
    text = subprocess.run(["cleave", "compile", "--help"], capture_output=True, text=True).stdout
    text = text[text.index("--optimizer"):text.index("--param-group")]
    rows = re.findall(r"^ +([\w-]+) \(([^)]*)\)", text, re.M)
    assert {"sgd", "adamw"} <= {name for name, _ in rows}, text
    settings = [(name, *setting.split("=")) for name, listed in rows for setting in listed.split(", ")]
    return [f"{name},{key}={{}}" for name, key, default in settings if default not in ("true", "false")]


def run(command, where=""):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None


def expect_refusal(command, named, codes=(1, 2)):
    """One line on stderr that has one of the words in `named`."""
    global tried, failures
    tried += 1
    before = set(os.listdir("."))
    result = run(command)
    wrong = ""
    if result is None:
        wrong = "waits"
    else:
        lines = [line for line in result.stderr.strip().splitlines() if not line.startswith("note: ")]
        if result.returncode not in codes:
            wrong = f"ended with {result.returncode}: {result.stderr[:200]}"
        elif len(lines) != 1 or not any(word in lines[0] for word in named):
            wrong = f"does not name {named}: {result.stderr[:300]}"
    left = set(os.listdir(".")) - before
    if left and not wrong:
        wrong = f"left {sorted(left)}"
    for name in left:
        shutil.rmtree(name, ignore_errors=True) if os.path.isdir(name) else os.unlink(name)
    if wrong:
        failures += 1
        print(f"FAILED {' '.join(map(repr, command))}: {wrong}", flush=True)


def options_of(command):
    """The long options with a value, and the switches, from --help."""
    text = subprocess.run([*command, "--help"], capture_output=True, text=True).stdout
    found, switches = [], []
    for line in text.splitlines():
        match = re.match(r" {2,4}(?:-\w,)?(--[\w-]+)(?:,--[\w-]+)*(?: +(\S+))?", line)
        if match and match[1] not in ("--help", "--version", "--config"):
            is_switch = re.match(r" {2,4}(?:-\w,)?--[\w,-]+(?:\s{2,}|\s*$)", line)
            (switches if is_switch else found).append(match[1])
    return found, switches


def walk(base, command, skip=()):
    found, switches = options_of(command)
    assert len(found) > 2, (command, found)
    for switch in switches:
        for value in ["", "banana", "\t"]:
            expect_refusal([*base, f"{switch}={value}"], [switch])
    for option in found:
        if option in skip:
            continue
        for value in ["", " ", "\t"]:
            if not (option == "--prompt" and value):
                rest = without(base, option)
                expect_refusal([*rest, option, value], [option])
                expect_refusal([*rest, f"{option}={value}"], [option])
    return found


def without(command, option):
    """The command without an option and its value."""
    kept, i = [], 0
    while i < len(command):
        if command[i] == option or (option == "--output" and command[i] == "-o"):
            i += 2
        else:
            kept.append(command[i])
            i += 1
    return kept


NUMBERS["--optimizer"] = optimizer_forms()
for bad in ["", "sgd,", "sgd,=", "sgd,momentum", "sgd,momentum=0.5,momentum=0.5", "sgd,nesterov=1", "sgd,nesterov=true", "adam,lr=1", "Adam", "adam "]:
    expect_refusal([*TRAINED, "--optimizer", bad], ["--optimizer"])
compile_options = walk(TRAINED, ["cleave", "compile"])
for option, forms in NUMBERS.items():
    assert option in compile_options
    for form in forms:
        for bad in BAD_REALS + (["-0"] if option == "--loss-scale" else []):
            expect_refusal([*TRAINED, "--precision", "fp16", option, form.format(bad)], [option])
for bad in ["nan", "inf", "-inf", "1e39", "-1e39", "1e999", "0x", "--", ""]:
    for rule in ("normal(std={})", "constant({})", "uniform(a=-1,b={})"):
        expect_refusal([*TRAINED, "--init", rule.format(bad)], ["--init"])
for option in ("--dim", "--mesh"):
    for bad in ["0", "-0", "-1", "nan", "1e3", "1e39", "inf", str(2**64), "0x10", "٣"]:
        expect_refusal([*without(TRAINED, option), f"{option}={'batch' if option == '--dim' else 'dp'}={bad}"], [option])
for option in ("--global-batch", "--micro-batches", "--gathers-in-flight", "--budget"):
    for bad in ["0", "-0", "-1", "nan", "1e39", "inf", str(2**64), "1.5", "x"]:
        expect_refusal([*without(TRAINED, "--dim"), "--mesh", "fsdp=2", option, bad], [option])
for option in ("--bucket-size", "--memory-limit"):
    for bad in ["0", "-0", "-1", "nan", "1e39", "inf", "1e39GiB", "99999999999GiB", "x"]:
        expect_refusal([*TRAINED, option, bad], [option])
for command in ("inspect", "verify"):
    for path in ["", " ", "folder", "pipe", "/dev/null", "/dev/zero", "locked" if os.getuid() else "folder", "none"]:
        expect_refusal(["cleave", command, path], ["artefact", path or "artefact"] if path.strip() else ["artefact"])
for path in ["", " ", "folder", "pipe", "/dev/null", "/dev/zero", "none"]:
    named = [path] if path.strip() else ["model"]
    expect_refusal(["cleave", "compile", path, "-o", "made"], named)
    expect_refusal(["cleave", "export", "folder", "--model", path, "-o", "y.onnx"], [*named, "--model", "folder"])
    expect_refusal(["cleave", "compile", "--config", path, "-o", "made"], ["--config"])
    if path.strip():
        expect_refusal([*TRAINED, "--mesh", "pp=2", "--micro-batches", "2", "--schedule", f"file={path}"], ["--schedule"])
        expect_refusal([*COMPILE, "--load-pass-plugin", path], ["--load-pass-plugin"])

for command, base in (("train", RUN), ("infer", [program, "infer"]), ("evaluate", [program, "evaluate", "--data", f"x={x}", "--data", f"labels={labels}"])):
    walk(base, [program, command])
for bad in BAD_REALS:
    for option in ("--lr", "--clip-grad-norm"):
        expect_refusal([*RUN, option, bad], [option])
    for form in ("step,size=1,gamma={}", "cosine,min={}", "linear,warmup={}"):
        expect_refusal([*RUN, "--lr-schedule", form.format(bad)], ["--lr-schedule"])
    for key in ("mean", "std"):
        if bad not in ("-1", "1,2"):  # a mean may be negative
            expect_refusal([*without(RUN, "--data"), "--data", f"labels={labels}", "--data", f"x={x},{key}={bad}"], ["--data"])
for option in ("--steps", "--epochs", "--seed", "--eval-every", "--save-every", "--keep", "--patience", "--log-every", "--ranks", "--threads"):
    for bad in ["-1", "-0", "nan", "1e39", "inf", "1.5", str(2**64), "x"]:
        expect_refusal([*without(RUN, "--steps"), option, bad], [option])
for path in ["folder", "pipe", "pipe.npy", "/dev/null", "/dev/zero", "none", *(["locked"] if os.getuid() else [])]:
    expect_refusal([*without(RUN, "--data"), "--data", f"labels={labels}", "--data", f"x={path}"], ["--data"])
    for option in ("--weights", "--resume"):
        expect_refusal([*RUN, option, path], [option, path])
for path in ["folder", "none/there"]:
    for option in ("--metrics", "--trace"):
        expect_refusal([*RUN, option, path], [option, path])
expect_refusal([*RUN, "--save", "pipe"], ["--save", "pipe"])
expect_refusal([*RUN, "--tensorboard", "pipe"], ["--tensorboard", "pipe"])
print(f"{tried} mistakes, {failures} not told as they should be")
sys.exit(failures != 0)
