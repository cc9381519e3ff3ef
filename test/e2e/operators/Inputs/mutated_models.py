#!/usr/bin/env python3
"""Whole models, changed, and compiled for training: mutated_models.py FOLDER [--seed N] [--models N] [--seconds N].

FOLDER holds models (make_weights.py). A mutant is a model in whose protobuf messages one to three places are changed: a number to an
extreme one, a text to another text of the file, a field left out, an element of a list repeated, dropped, moved or taken from elsewhere,
a message copied over another one. `cleave compile` in one of several layouts must refuse it, with 1 or 2 and lines that begin with
`cleave: error: ` and speak of the model and not of the compiler's own operations, and leave nothing; or write a plan, which `cleave verify`
accepts."""
import argparse
import collections
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import time

import onnx
from google.protobuf.descriptor import FieldDescriptor

CPU_SECONDS, ADDRESS_SPACE = 60, 8 << 30
INTEGERS = [0, 1, -1, 2, 3, 7, 64, 255, 65536, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -2**31, -2**63]
REALS = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e38, float("inf"), float("-inf"), float("nan")]
BYTES = [b"", b"\0", b"\xff" * 3, b"tanh", b"SAME_UPPER", b"reflect", b"i,j->ij", b"x" * 5000]
INTERNAL = ["PLEASE submit", "LLVM ERROR", "failed to legalize", "operand #", "'linalg.", "'arith.", "'cleave.", "'vector.", "'memref.", "'plan.", "'func.",
            "'builtin.", "terminate called", "std::", "error: cleave"]
LAYOUTS = [["--mesh", "dp=2"], ["--mesh", "fsdp=2"], ["--mesh", "pp=2", "--micro-batches", "2"], ["--recompute", "blocks"], ["--micro-batches", "2"],
           ["--mesh", "dp=2", "--precision", "bf16"], ["--offload", "optimizer"], ["--attention", "fused"], []]
SCALARS = {FieldDescriptor.CPPTYPE_INT32: INTEGERS, FieldDescriptor.CPPTYPE_INT64: INTEGERS, FieldDescriptor.CPPTYPE_UINT64: INTEGERS,
           FieldDescriptor.CPPTYPE_FLOAT: REALS, FieldDescriptor.CPPTYPE_DOUBLE: REALS}


def messages(root, found=None):
    """All messages in the file, but for the weights' own numbers."""
    found = [] if found is None else found
    found.append(root)
    for field, value in root.ListFields():
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            for each in value if isinstance_of_list(value) else [value]:
                messages(each, found)
    return found


def isinstance_of_list(value):
    return hasattr(value, "append") or hasattr(value, "add")


class Mutator:
    def __init__(self, model, rng):
        self.model, self.rng = model, rng
        self.all = messages(model)
        self.texts = sorted({name for node in model.graph.node for name in [*node.input, *node.output, node.op_type] if name})

    def scalar(self, field):
        if field.cpp_type in SCALARS:
            return self.rng.choice(SCALARS[field.cpp_type])
        if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
            return self.rng.choice([value.number for value in field.enum_type.values])
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self.rng.choice(BYTES)
        return self.rng.choice(["", "q", *self.rng.sample(self.texts, min(6, len(self.texts)))])

    def one(self):
        """Changes one place, and says what; None where it does not fit."""
        message = self.rng.choice(self.all)
        if message.DESCRIPTOR.name in ("StringStringEntryProto", "TensorProto") and self.rng.random() < .8:
            return None  # where weights lie, which the importer refuses at once
        fields = message.ListFields()
        if not fields:
            return None
        field, value = self.rng.choice(fields)
        where = f"{message.DESCRIPTOR.name}.{field.name}"
        if isinstance_of_list(value):
            return self.list(where, field, value)
        if self.rng.random() < .3:
            message.ClearField(field.name)
            return f"{where} left out"
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            alike = [each for each in self.all if each.DESCRIPTOR is value.DESCRIPTOR and each is not value]
            if not alike or value.DESCRIPTOR.name in ("GraphProto", "ModelProto"):
                return None
            value.CopyFrom(self.rng.choice(alike))
            return f"{where} taken from elsewhere"
        setattr(message, field.name, self.scalar(field))
        return f"{where} = {getattr(message, field.name)!r:.60}"

    def list(self, where, field, value):
        index, how = self.rng.randrange(len(value)), self.rng.choice(["drop", "repeat", "move", "change"])
        if how == "drop":
            del value[index]
        elif how == "repeat":
            value.append(value[index])
        elif how == "move":
            element = value[index]
            if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                copy = type(element)()
                copy.CopyFrom(element)
                element = copy
            del value[index]
            value.insert(self.rng.randrange(len(value) + 1), element)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            value[index].CopyFrom(self.rng.choice(value))
        else:
            value[index] = self.scalar(field)
        return f"{where}[{index}] {how}"

    def run(self):
        changes = []
        for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
            for _ in range(20):
                try:
                    if change := self.one():
                        changes.append(change)
                        break
                except (ValueError, TypeError, OverflowError, AttributeError):
                    continue  # the value does not fit the field
            self.all = messages(self.model)
        return "; ".join(changes)


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cleave(*arguments):
    return subprocess.run(["cleave", *map(str, arguments)], capture_output=True, text=True, errors="replace", preexec_fn=limits)


def defect(done, plan, tally):
    """What is wrong with how the compiler took the mutant; None where nothing is."""
    if done.returncode not in (0, 1, 2):
        return f"exit {done.returncode}"
    if done.returncode:
        said = done.stderr.strip()
        tally[re.sub(r"^cleave: error: (/\S*: )?|'[^']*'|\d+|\[[^]]*\]", "_", said.split("\n")[0])[:120]] += 1
        if not said or not all(line.startswith("cleave: error: ") for line in said.split("\n")):
            return "a line is no error"
        if plan.exists() or any(plan.parent.glob(plan.name + ".*")):
            return "a file is left"
        return next((f"speaks of {word}" for word in INTERNAL if word in said), None)
    tally["compiled"] += 1
    proved = cleave("verify", plan)
    return None if proved.returncode == 0 else f"verify: {proved.stderr.strip()[:300]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--tally", action="store_true", help="print all messages, the most frequent first")
    arguments = parser.parse_args()
    paths, failed, run, tally = sorted(arguments.folder.rglob("*.onnx")), 0, 0, collections.Counter()
    paths = [path for path in paths if not path.name.startswith("mutant")]
    start = time.monotonic()
    for number in range(arguments.models):
        if time.monotonic() - start > arguments.seconds:
            break
        rng = random.Random(f"{arguments.seed} {number}")
        path, layout = rng.choice(paths), rng.choice(LAYOUTS)
        model = onnx.load(path, load_external_data=False)
        change = Mutator(model, rng).run()
        # Beside the model, where its external data are.
        mutant, plan = path.parent / f"mutant.{os.getpid()}.onnx", arguments.folder / f"mutant.{os.getpid()}.plan"
        mutant.write_bytes(model.SerializeToString())
        loss = ["--loss-output", "loss"] if any(output.name == "loss" for output in onnx.load(path, load_external_data=False).graph.output) else ["--loss", "cross-entropy"]
        sizes = [word for name in ("batch", "sequence", "seq") if name in dims(onnx.load(path, load_external_data=False)) for word in ("--dim", f"{name}=4")]
        done = cleave("compile", mutant, "-o", plan, "--emit", "plan", "--train", *loss, *sizes, *layout)
        wrong = defect(done, plan, tally)
        run += 1
        if wrong:
            failed += 1
            print(f"FAILED {arguments.seed}:{number} {path.name} {' '.join(layout)}: {change}: {wrong}: {done.stderr.strip()[-400:]}", flush=True)
            mutant.rename(arguments.folder / f"mutant-failed-{arguments.seed}-{number}.onnx")
        mutant.unlink(missing_ok=True)
        plan.unlink(missing_ok=True)
    if arguments.tally:
        for said, count in tally.most_common():
            print(f"{count:6} {said}")
    print(f"{run - failed} of {run} changed models handled, of which {tally['compiled']} compile")
    sys.exit(bool(failed))


def dims(model):
    return {size.dim_param for value in model.graph.input for size in value.type.tensor_type.shape.dim if size.dim_param}


if __name__ == "__main__":
    main()
