"""Damages a checkpoint in every way that its files allow; loading each must end in one line that says what is wrong.

  hostile_checkpoints.py PROGRAM CHECKPOINT MODEL.onnx FOLDER -- [options of train]

CHECKPOINT is a directory with one sharded step. Three programs read each damaged copy: train --resume, evaluate --weights and
cleave export. Where a damage is one that a hostile writer makes, checksums are put right after it; where it is one that a disk
makes, they find it.
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import checksums

INDEX = "checkpoint.json"
PART = "rank-00000.safetensors"


def edit_index(change):
    """A damage that changes the index's JSON, checksum included."""
    def damage(step):
        index = json.loads((step / INDEX).read_text())
        change(index)
        (step / INDEX).write_bytes(checksums.index_bytes(index))
    return damage


def edit_header(change):
    """A damage that changes the header of a part, checksums included."""
    def damage(step):
        header, data = checksums.read_part(step / PART)
        (step / PART).write_bytes(checksums.part_bytes(change(header) or header, data))
        checksums.seal(step)
    return damage


def weight(index):
    """A parameter that is split."""
    return next(entry for entry in index["tensors"] if entry["role"] == "parameter" and len(entry["slices"]) == 2)


def first(header):
    return header[next(name for name in header if name != "__metadata__" and header[name]["shape"])]


def set_slice(key, value):
    return edit_index(lambda index: weight(index)["slices"][0].update({key: value}))


def set_entry(key, value):
    return edit_index(lambda index: weight(index).update({key: value}))


def write(file, data):
    return lambda step: (step / file).write_bytes(data if isinstance(data, bytes) else data((step / file).read_bytes()))


def replace(file, make):
    def damage(step):
        (step / file).unlink()
        make(step / file)
    return damage


def flip(file, place):
    """One changed bit, `place` from the front (or, negative, from the end)."""
    def change(image):
        image = bytearray(image)
        image[place] ^= 4
        return bytes(image)
    return write(file, change)


def link(file, target):
    return replace(file, lambda path: path.symlink_to(target))


DEEP = b"[" * 300000 + b"]" * 300000
NOT_INDEX, GAP, NO_NAME = "not a checkpoint's index", "overlap or leave a gap", "is not the name of a file beside the index"
# Name: what is done, what is said.
DAMAGES = {
    "index-missing": (lambda step: (step / INDEX).unlink(), "has (latest|step-00000002), and no checkpoint that is whole, with a checkpoint.json"),
    "index-empty": (write(INDEX, b""), NOT_INDEX),
    "index-half": (write(INDEX, lambda text: text[:len(text) // 2]), NOT_INDEX),
    "index-binary": (write(INDEX, bytes(range(256)) * 10), NOT_INDEX),
    "index-list": (write(INDEX, b"[]"), NOT_INDEX),
    "index-deep": (write(INDEX, b"[" * 1000000), NOT_INDEX),
    "index-deep-run": (write(INDEX, lambda text: re.sub(rb'"run": ', b'"run": ' + DEEP + b', "was": ', text)), NOT_INDEX + "|checksum"),
    "index-deep-model": (write(INDEX, lambda text: re.sub(rb'"format": 2,', b'"format": 1, "aliases": ' + DEEP + b',', text).replace(b'"model": ', b'"model": ' + DEEP + b', "was": ')), NOT_INDEX + "|checksum"),
    "index-format": (edit_index(lambda index: index.update(format=3)), "format 3, this program reads 1 and 2"),
    "index-edited": (write(INDEX, lambda text: text.replace(b'"step": 2', b'"step": 3')), "does not match its checksum"),
    "index-sum": (flip(INDEX, -6), "match its checksum|end in its checksum"),
    "index-no-sum": (write(INDEX, lambda text: re.sub(rb',\n "crc32c": "\w+"', b"", text)), "does not end in its checksum"),
    "index-no-tensors": (edit_index(lambda index: index.pop("tensors")), NOT_INDEX + ".*tensors"),
    "index-no-position": (edit_index(lambda index: index.pop("position")), NOT_INDEX + ".*position"),
    "index-link-loop": (link(INDEX, INDEX), "has (latest|step-00000002), and no checkpoint that is whole, with a checkpoint.json"),
    "index-link-zero": (link(INDEX, "/dev/zero"), "has (latest|step-00000002), and no checkpoint that is whole, with a checkpoint.json"),
    "position-text": (edit_index(lambda index: index["position"].update(step="4")), NOT_INDEX),
    "position-step": (edit_index(lambda index: index["position"].update(step=2**64 - 1)), "is no position that training can be at"),
    "position-epoch": (edit_index(lambda index: index["position"].update(epoch=3)), "step 2 with epoch 3 is no position"),
    "position-stale": (edit_index(lambda index: index["position"].update(stale=2**63)), "is no position"),
    "loss-infinite": (write(INDEX, lambda text: text.replace(b'"stale":', b'"best_loss": 1e999, "stale":')), NOT_INDEX + "|checksum"),
    "entry-twice": (edit_index(lambda index: index["tensors"].append(weight(index))), "is there twice"),
    "shape-negative": (set_entry("shape", [-1, 64]), "bad shape"),
    "shape-huge": (set_entry("shape", [2**40, 2**40]), "bad shape"),
    "shape-overflow": (set_entry("shape", [2**63]), "bad shape"),
    "shape-larger": (set_entry("shape", [4096, 4096]), "slices of tensor .* end at element"),
    "dtype-unknown": (set_entry("dtype", "F99"), "unknown dtype F99"),
    "dtype-other": (set_entry("dtype", "F64"), "expected .* elements of f64"),
    "slice-missing": (edit_index(lambda index: weight(index)["slices"].pop()), "end at element"),
    "slice-first-missing": (edit_index(lambda index: weight(index)["slices"].pop(0)), GAP),
    "slice-twice": (edit_index(lambda index: weight(index)["slices"].append(weight(index)["slices"][0])), GAP),
    "slice-negative": (set_slice("first", -1), GAP),
    "slice-empty": (set_slice("count", 0), GAP),
    "slice-huge": (set_slice("count", 2**64 - 1), GAP),
    "slice-key": (set_slice("key", "absent"), "has no tensor 'absent'"),
    "file-above": (set_slice("file", "../step-00000002/" + PART), NO_NAME),
    "file-absolute": (set_slice("file", "/etc/passwd"), NO_NAME),
    "file-empty": (set_slice("file", ""), NO_NAME),
    "file-dots": (set_slice("file", ".."), NO_NAME),
    "file-nul": (set_slice("file", PART + "\0/../../x"), NO_NAME),
    "file-index": (set_slice("file", INDEX), "not a safetensors file"),
    "part-missing": (lambda step: (step / PART).unlink(), f"{PART} is missing, so the checkpoint is not whole"),
    "part-empty": (write(PART, b""), "the file is empty; expected a safetensors file"),
    "part-short": (write(PART, lambda image: image[:100]), "truncated or damaged"),
    "part-cut": (write(PART, lambda image: image[:-1]), "truncated or damaged"),
    "part-header-huge": (write(PART, lambda image: b"\xff" * 8 + image[8:]), "not a safetensors file: its first 8 bytes are not the size of a header"),
    "part-header-binary": (write(PART, lambda image: image[:8] + b"\xfe" * 64 + image[72:]), "not valid JSON"),
    "part-offsets-huge": (edit_header(lambda header: first(header).update(data_offsets=[2**63, 2**63 + 4])), "truncated or damaged"),
    "part-offsets-backwards": (edit_header(lambda header: first(header).update(data_offsets=[8, 0])), "bad data_offsets"),
    "part-data-first": (lambda step: flip(PART, 8 + struct.unpack("<Q", (step / PART).read_bytes()[:8])[0])(step), "tensor '.*' in .*do not match"),
    "part-padding": (lambda step: flip(PART, 7 + struct.unpack("<Q", (step / PART).read_bytes()[:8])[0])(step), "header is not valid JSON"),
    "part-header-sum": (flip(PART, 8 + len(checksums.BEGIN)), "header"),
    "part-header-edited": (write(PART, lambda image: image.replace(b'"F32"', b'"I32"', 1)), "header does not match its checksum"),
    "part-longer": (write(PART, lambda image: image + b"\0"), "bytes after the last tensor"),
    "part-other": (lambda step: shutil.copy(step / "rank-00001.safetensors", step / PART), "is not the part that was saved with"),
    "part-shape": (edit_header(lambda header: first(header).update(shape=[2**62, 4])), "bad shape|does not take"),
    "part-overlap": (edit_header(lambda header: header.update(copy=first(header))), "overlap"),
    "part-dtype": (edit_header(lambda header: first(header).update(dtype="I32")), "expected .* elements of"),
    "part-names": (edit_header(lambda header: {name + "?" * (name != "__metadata__"): entry for name, entry in header.items()}), "lacks checksums"),
    "part-directory": (replace(PART, pathlib.Path.mkdir), "is a directory; expected a file"),
    "part-pipe": (replace(PART, os.mkfifo), "is not a regular file"),
    "part-link": (link(PART, "/etc/passwd"), "is a symbolic link"),
    "part-link-above": (link(PART, "../other.safetensors"), "is a symbolic link"),
    "part-link-zero": (link(PART, "/dev/zero"), "is a symbolic link"),
    "part-link-loop": (link(PART, PART), "is a symbolic link"),
}
# Whole but of another model, or damaged in optimizer state: of no matter to those that read only weights.
OTHERS = {
    "part-state": (flip(PART, -1), "tensor '.*' in .*do not match their checksum"),
    "position-sample": (edit_index(lambda index: index["position"].update(sample=2**63)), "stands at sample 9223372036854775808 of an epoch, and --data has"),
    "model": (edit_index(lambda index: index["run"].update(model="another.onnx")), "is of model 'another.onnx', this program was compiled from"),
    "entry-missing": (edit_index(lambda index: index["tensors"].remove(weight(index))), "does not fit this model .*missing"),
    "entry-more": (edit_index(lambda index: index["tensors"].append({**weight(index), "name": "another"})), "'another'"),
    "shape-turned": (edit_index(lambda index: weight(index)["shape"].insert(0, 1)), "does not fit this model"),
}
# What is no damage, or can be made good: loaded as if nothing were.
HARMLESS = {
    "latest-above": lambda step: (step.parent / "latest").write_text("../../../etc\n"),
    "latest-binary": lambda step: (step.parent / "latest").write_bytes(b"step-\0\xff" * 100000),
    "latest-link": lambda step: link("latest", "latest")(step.parent),
    "latest-other": lambda step: (step.parent / "latest").write_text("step-99999999\n"),
    "aliases": edit_index(lambda index: weight(index).update(aliases=["../x", "", "another"])),
}


def main():
    program, checkpoint, model, folder, _, *options = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir()
    shutil.copy(next(pathlib.Path(checkpoint).glob(f"step-*/{PART}")), folder / "other.safetensors")
    exported = folder / "exported.onnx"
    data = [option for option in options if option == "--data" or "=" in option]
    problems = []
    for name, damage in {**DAMAGES, **OTHERS, **HARMLESS}.items():
        damage, expected = (damage, None) if name in HARMLESS else damage
        copy = folder / name
        shutil.copytree(checkpoint, copy)
        damage(next(copy.glob("step-*")))
        commands = {"resume": [program, "train", *options, "--resume", copy], "weights": [program, "evaluate", *data, "--weights", copy],
                    "export": ["cleave", "export", copy, "--model", model, "-o", exported]}
        for reader, command in commands.items():
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
            lines = done.stderr.strip().splitlines()
            refused = done.returncode in (1, 2) and len(lines) == 1 and not exported.exists()
            if name in HARMLESS or name in OTHERS and reader != "resume":
                right = done.returncode == 0 or name in OTHERS and refused
            else:
                right = refused and re.search(expected, lines[0])
            if not right:
                problems.append(f"{name}, {reader}: expected '{expected}'; got {done.returncode}: {lines}")
            exported.unlink(missing_ok=True)
        shutil.rmtree(copy)
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(DAMAGES)} damaged checkpoints refused, {len(OTHERS)} of other models told, {len(HARMLESS)} odd ones loaded")


if __name__ == "__main__":
    main()
