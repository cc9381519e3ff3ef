"""mutate_files.py MODEL.onnx PROGRAM LANGUAGE_PROGRAM X.npy LABELS.npy TOKENIZER.json MACHINE.json SCRATCH

Files that are nearly right. Each file that `cleave` or a program reads as text or by a header is written rightly, then with one or several
changes at random: values of other types, infinite and huge numbers, members dropped, doubled, exchanged and renamed, cut ends, flipped bytes.
Whatever the change, the command takes the file, or ends with one line and exit code 1 or 2: no signal, no hang, no text of the C++ library,
and `cleave` prints nothing that is no number. The file without a change is taken, so that refusals are not those of a mistake in this script."""
import argparse
import copy
import io
import json
import os
import pathlib
import random
import re
import resource
import struct
import subprocess
import sys
import zipfile

import numpy as np

VALUES = [None, True, 0, -1, 1, 1e308, 2**63, 2**64, -2**63, 10**400, 1e-320, 0.5, "", "a", "\0", "\ud83d", [], {}, [[]], "x" * 3000]
WORDS = ["9F0", "0F99", "0F-1", "F0", "0X0", "0F0 0F0", "18446744073709551616F0", "\0", "rank 7:", "rank -1:", "rank 1", "#", "\n", ",", "0f0"]


def places(value, path=()):
    """The paths of all values in a JSON value."""
    if path:
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def change_json(value, dice):
    value = copy.deepcopy(value)
    for _ in range(dice.choice([1, 1, 1, 3, 30])):
        paths = list(places(value))
        if not paths:
            break
        *path, key = dice.choice(paths)
        holder, kind = at(value, path), dice.choice(["value"] * 4 + ["drop", "double", "exchange", "rename"])
        if kind == "value":
            holder[key] = copy.deepcopy(dice.choice(VALUES))
        elif kind == "drop":
            del holder[key]
        elif kind == "exchange":
            holder[key] = copy.deepcopy(at(value, dice.choice(paths)))
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[f"{key}x"] = holder.pop(key)
    text = json.dumps(value).encode()
    return text[:dice.randrange(len(text))] if dice.random() < 0.05 else text


def change_words(text, dice):
    words = re.split(r"(\s+)", text)
    for _ in range(dice.choice([1, 1, 2, 5])):
        one, other = dice.randrange(len(words)), dice.randrange(len(words))
        if dice.random() < 0.5:
            words[one], words[other] = words[other], words[one]
        else:
            words[one] = dice.choice(WORDS)
    return "".join(words).encode(errors="surrogatepass")


def change_bytes(data, dice):
    """Mostly at both ends, where headers and directories are."""
    changed = bytearray(data)
    for _ in range(dice.choice([1, 1, 2, 8])):
        place = dice.choice([dice.randrange(140), len(data) - 1 - dice.randrange(140), dice.randrange(len(data))])
        changed[place] = dice.choice([0, 255, ord("9"), changed[place] ^ 1 << dice.randrange(8)])
    return bytes(changed[:dice.randrange(len(changed))] if dice.random() < 0.1 else changed)


def archive(array, compression):
    stored, plain = io.BytesIO(), io.BytesIO()
    np.save(plain, array)
    with zipfile.ZipFile(stored, "w", compression) as members:
        members.writestr("x.npy", plain.getvalue())
    return stored.getvalue()


def safetensors(array):
    header = json.dumps({"x": {"dtype": "F32", "shape": array.shape, "data_offsets": [0, array.nbytes]}}).encode()
    return struct.pack("<Q", len(header)) + header + array.tobytes()


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL,
                              preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return None


def problem(command, done):
    """What is wrong with how a command has ended; nothing where nothing is."""
    if done is None:
        return "it hangs"
    if done.returncode not in (0, 1, 2):
        return f"exit code {done.returncode}"
    if re.search(r"std::|bad_alloc|what\(\)|terminate called|vector::|LLVM ERROR", done.stderr):
        return "text of a library"
    program = pathlib.Path(command[0]).name
    harmless = ("note:", "memory:", "step ", f"{program}: warning:", f"{program}: note:")
    errors = [line for line in done.stderr.splitlines() if not line.startswith(harmless)]
    if done.returncode and len(errors) != 1:
        return f"{len(errors)} lines of errors"
    # A loss of data that are not numbers is none; what `cleave` prints are.
    if not done.returncode and command[0] == "cleave" and re.search(r"(?<![\w'])-?(nan|inf)(?![\w'])", done.stdout):
        return "it prints what is no number"
    return None


def checked(command):
    done = run(command)
    assert done and done.returncode == 0, (command, done and done.stderr)
    return done


def main():
    parser = argparse.ArgumentParser()
    for name in ("model", "program", "language", "x", "labels", "tokenizer", "machine", "scratch"):
        parser.add_argument(name, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    os.makedirs(o.scratch, exist_ok=True)
    os.chdir(o.scratch)
    dice = random.Random(o.seed)

    data = ["--data", f"x={o.x}", "--data", f"labels={o.labels}"]
    checked([o.program, "train", *data, "--steps", "3", "--trace", "trace.json"])
    trace = json.loads(pathlib.Path("trace.json").read_text())
    array = np.ascontiguousarray(np.load(o.x), np.float32)
    plain = io.BytesIO()
    np.save(plain, array)
    options = {"train": True, "loss-output": "loss", "dim": ["batch=8"], "optimizer": "adamw,weight_decay=0.1", "mesh": ["dp=2", "pp=2"],
               "micro-batches": 4, "schedule": "1f1b", "freeze": ["fc1.*"], "param-group": ["*.bias:weight_decay=0,lr_scale=0.1"],
               "recompute": "blocks", "precision": "fp16", "loss-scale": "dynamic,init=1024", "memory-limit": "1GiB", "save-async": True}
    schedule = "rank 0: 0F0 0F1 0B0 0F2 0I1 0W1 0B2\nrank 1: 1F0 1B0 1F1 1B1 1F2 1B2\n"
    plan = ["cleave", "compile", o.model, "-o", "made.plan", "--emit", "plan"]
    evaluate = [o.program, "evaluate", "--data", f"labels={o.labels}", "--data"]
    scheduled = [*plan, "--train", "--loss-output", "loss", "--dim", "batch=8", "--micro-batches", "3", "--mesh", "pp=2"]
    kinds = {  # the file's name, what it holds, how that is changed, and the commands that read it
        "trace": ("t.json", trace, change_json, [["cleave", "inspect", o.program, "--trace", "t.json", "--html", "t.html"],
                                                 ["cleave", "inspect", o.program, "--profile", "t.json"]]),
        "machine": ("m.json", json.loads(pathlib.Path(o.machine).read_text()), change_json,
                    [["cleave", "inspect", o.program, "--target-machine", "m.json"]]),
        "options": ("o.json", options, change_json, [[*plan, "--config", "o.json"]]),
        "schedule": ("s.txt", schedule, change_words, [[*scheduled, "--schedule", "file=s.txt"]]),
        "array": ("a.npy", plain.getvalue(), change_bytes, [[*evaluate, "x=a.npy"]]),
        "archive": ("a.npz", archive(array, zipfile.ZIP_STORED), change_bytes, [[*evaluate, "x=a.npz"]]),
        "compressed": ("c.npz", archive(array, zipfile.ZIP_DEFLATED), change_bytes, [[*evaluate, "x=c.npz"]]),
        "safetensors": ("a.safetensors", safetensors(array), change_bytes, [[*evaluate, "x=a.safetensors"]]),
        "tokenizer": ("k.json", json.loads(pathlib.Path(o.tokenizer).read_text()), change_json,
                      [[o.language, "generate", "--output", "logits", "--input", "tokens", "--fill", "attention_mask=1", "--fill",
                        "position_ids=positions", "--prompt", "The rank is 12", "--tokens", "1", "--tokenizer", "k.json"]])}
    failures = 0
    for name, (file, right, change, commands) in kinds.items():
        taken = 0
        text = right if isinstance(right, (bytes, str)) else json.dumps(right)
        pathlib.Path(file).write_bytes(text if isinstance(text, bytes) else text.encode())
        for command in commands:
            checked(command)
        for i in range(o.rounds):
            pathlib.Path(file).write_bytes(change(right, dice))
            for command in commands:
                done = run(command)
                taken += done is not None and done.returncode == 0
                if wrong := problem(command, done):
                    failures += 1
                    kept = f"failed-{name}-{i}"
                    pathlib.Path(kept).write_bytes(pathlib.Path(file).read_bytes())
                    print(f"FAILED: {name} {i} ({o.scratch}/{kept}): {wrong}: {' '.join(command)}\n  {done and done.stderr!r}")
        print(f"{name}: {taken} of {o.rounds * len(commands)} changed files are taken")
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
