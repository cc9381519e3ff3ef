"""Processes of one run that were not started alike: check_same_run.py FOLDER, in which the programs dp, other, fsdp, single, infer, gpt and
epsilon lie.

Each pair of command lines is started under mpirun. It must end within SECONDS, with an error, and the process whose error comes first must
say in what they differ; no checkpoint may be left. Pairs that are alike in all that counts must run."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np

SECONDS = 60
folder = pathlib.Path(sys.argv[1])
DATA = ["--data", "x=x.npy", "--data", "labels=y.npy"]
TRAIN = ["./dp", "train", *DATA, "--steps", "3"]
FSDP = ["./fsdp", "train", *DATA, "--steps", "3"]
INFER = ["./infer", "infer", "--input", "x=x.npy", "--output", "logits=out.npy"]
GENERATE = ["./gpt", "generate", "--bytes", "3"]
COMMAND = "process 1 was started with another command than the first one"
PROGRAM = "process 1 runs another compiled program than the first one"
WEIGHTS = "--weights: the initial weights of process 1 are not those of the first one"


def given(option):
    return f"{option}: process 1 was given another value than the first one"


def contents(option):
    return f"{option}: the contents of process 1 are not those of the first one"


DIFFERENT = [
    ("programs of one mesh", TRAIN, ["./fsdp", *TRAIN[1:]], PROGRAM),
    ("programs of one and of two ranks", ["./single", *TRAIN[1:]], TRAIN, PROGRAM),
    ("programs of two ranks and of one", TRAIN, ["./single", *TRAIN[1:]], PROGRAM),
    ("the same model, compiled for another batch", TRAIN, ["./other", *TRAIN[1:]], PROGRAM),
    ("models that differ only in an epsilon", GENERATE, ["./epsilon", *GENERATE[1:]], PROGRAM),
    ("train and evaluate", TRAIN, ["./dp", "evaluate", *DATA], COMMAND),
    ("evaluate and train", ["./dp", "evaluate", *DATA], TRAIN, COMMAND),
    ("weights on one side", TRAIN, [*TRAIN, "--weights", "first.ckpt"], WEIGHTS),
    ("weights on the other side", [*TRAIN, "--weights", "first.ckpt"], TRAIN, WEIGHTS),
    ("other weights", [*FSDP, "--weights", "first.ckpt"], [*FSDP, "--weights", "second.ckpt"], WEIGHTS),
    ("weights of an inference", INFER, [*INFER, "--weights", "first.ckpt"], WEIGHTS),
    ("other checkpoints of one step", [*TRAIN, "--resume", "first.ckpt"], [*TRAIN, "--resume", "second.ckpt"],
     "--resume: the checkpoints of process 1 are not those of the first one"),
    ("other directories", [*FSDP, "--save", "a.ckpt"], [*FSDP, "--save", "b.ckpt"], "b.ckpt is not the directory that the first process has"),
    ("other directories, every step", [*TRAIN, "--save", "a.ckpt", "--save-every", "1"], [*TRAIN, "--save", "b.ckpt", "--save-every", "1"],
     "b.ckpt is not the directory that the first process has"),
    ("another mean", TRAIN, [TRAIN[0], "train", "--data", "x=x.npy,mean=1,std=2", *DATA[2:], "--steps", "3"], given("--data")),
    ("another validation", [*TRAIN, "--val-data", "x=x.npy", "--val-data", "labels=y.npy"],
     [*TRAIN, "--val-data", "x=x.npy,mean=1,std=1", "--val-data", "labels=y.npy"], given("--val-data")),
    ("data of an evaluation", ["./dp", "evaluate", *DATA], ["./dp", "evaluate", "--data", "x=x.npy,mean=1,std=1", *DATA[2:]], given("--data")),
    ("other contents", TRAIN, [TRAIN[0], "train", "--data", "x=reversed/x.npy", *DATA[2:], "--steps", "3"], contents("--data")),
    ("other labels", TRAIN, [TRAIN[0], "train", *DATA[:2], "--data", "labels=reversed/y.npy", "--steps", "3"], contents("--data")),
    ("another validation set", [*TRAIN, "--val-data", "x=x.npy", "--val-data", "labels=y.npy"],
     [*TRAIN, "--val-data", "x=reversed/x.npy", "--val-data", "labels=y.npy"], contents("--val-data")),
    ("another evaluation set", ["./dp", "evaluate", *DATA], ["./dp", "evaluate", *DATA[:2], "--data", "labels=reversed/y.npy"], contents("--data")),
    ("other inputs of an inference", INFER, ["./infer", "infer", "--input", "x=reversed/x.npy", *INFER[4:]], contents("--input")),
    ("another output", INFER, [*INFER[:-1], "loss=loss.npy", "--input", "labels=y.npy"], given("--input")),
    ("another prompt", [*GENERATE, "--prompt", "a"], [*GENERATE, "--prompt", "bb"], given("--prompt")),
    ("another length", ["./gpt", "generate", "--bytes", "4"], GENERATE, given("--tokens")),
    ("another form of prompt", [*GENERATE, "--prompt", "a"], [*GENERATE, "--prompt-ids", "97"], given("--prompt-ids")),
    ("no beats on one side", TRAIN, ["env", "CLEAVE_COMM_HEARTBEAT_S=0", *TRAIN], "CLEAVE_COMM_HEARTBEAT_S: process 1 has 0, and the first one"),
    ("no beats on the other side", ["env", "CLEAVE_COMM_HEARTBEAT_S=0", *INFER], INFER,
     "CLEAVE_COMM_HEARTBEAT_S: process 1 has 60, and the first one"),
    ("another choice", [*GENERATE, "--top-p", "0.5"], [*GENERATE, "--top-p", "0.25"], given("--top-p")),
]
ALIKE = [
    ("other paths of the same data", TRAIN, [TRAIN[0], "train", "--data", "x=copy/x.npy", *DATA[2:], "--steps", "3"]),
    ("other paths of the same weights", [*FSDP, "--weights", "first.ckpt"], [*FSDP, "--weights", "copy/first.ckpt"]),
    ("one directory by two names", [*FSDP, "--save", "a.ckpt"], [*FSDP, "--save", "copy/../a.ckpt"]),
    ("the default limit, in other words", TRAIN, ["env", "CLEAVE_COMM_HEARTBEAT_S=60.0", *TRAIN]),
    ("what only the first one writes", [*TRAIN, "--metrics", "m.jsonl", "--log-every", "1"], TRAIN),
]


def run(first, second):
    for left in ("a.ckpt", "b.ckpt"):
        shutil.rmtree(folder / left, ignore_errors=True)
    command = ["mpirun", "--oversubscribe", "-n", "1", *first, ":", "-n", "1", *second]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        return None, f"does not end within {SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def write_other_data():
    """Arrays of the same shapes, with other contents."""
    (folder / "reversed").mkdir()
    for name in ("x.npy", "y.npy"):
        np.save(folder / "reversed" / name, np.load(folder / name)[::-1])


def main():
    failed = 0
    write_other_data()
    for name, first, second, expected in DIFFERENT:
        code, said = run(first, second)
        saved = [path.name for path in folder.glob("[ab].ckpt/step-*")]
        first_error = re.search(r"^\S+: error: .*", said, re.M)
        if not code or not first_error or expected not in first_error[0] or saved:
            print(f"{name}: expected an error '{expected}' and no checkpoint; got code {code}, checkpoints {saved}: {said}")
            failed += 1
    for name, first, second in ALIKE:
        code, said = run(first, second)
        if code != 0:
            print(f"{name}: expected a run; got code {code}: {said}")
            failed += 1
    print(f"{len(DIFFERENT) - failed} pairs that differ are refused, {len(ALIKE)} run" if not failed else f"{failed} failed")
    sys.exit(failed != 0)


main()
