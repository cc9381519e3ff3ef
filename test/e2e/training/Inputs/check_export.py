"""An export has the checkpoint's parameters, bit by bit, and everything else as the model has it.

  check_export.py CHECKPOINT EXPORT.onnx MODEL.onnx [PROGRAM TEXT]

With a program, its `evaluate` of the checkpoint on windows of 64 bytes of a file is compared with onnxruntime on the export.
"""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime

import compare_states

WINDOW = 64


def initializers(path):
    return {t.name: onnx.numpy_helper.to_array(t).tobytes() for t in onnx.load(path).graph.initializer}


def check(condition, text):
    if not condition:
        sys.exit(text)


def compare_bits(checkpoint, exported, model):
    saved = {name: data for name, data in compare_states.tensors(checkpoint).items() if "#" not in name and not name.startswith("scalar.")}
    check(exported.keys() == model.keys(), f"initializers {sorted(exported.keys() ^ model.keys())} of one file only")
    check(saved and saved.keys() <= exported.keys(), f"not in the export: {sorted(saved.keys() - exported.keys())}")
    for name, data in exported.items():
        check(data == saved.get(name, model[name]), f"{name} has other bits than the {'checkpoint' if name in saved else 'model'}'s")
    changed = sum(exported[name] != model[name] for name in saved)
    check(changed > len(saved) / 2, f"{changed} of {len(saved)} parameters differ from the model's: was it trained?")
    return f"{len(saved)} parameters of the checkpoint, {changed} trained"


def compare_loss(checkpoint, export, program, text):
    data = [f"--data={name}={text}:u8,window={WINDOW},shift={shift}" for name, shift in (("tokens", 0), ("labels", 1))]
    said = subprocess.run([program, "evaluate", *data, "--weights", checkpoint], check=True, capture_output=True, text=True, timeout=300)
    loss, accuracy, samples = map(float, re.search(r"loss ([\d.]+)  accuracy ([\d.]+)%  \((\d+) samples\)", said.stdout).groups())
    stream = np.frombuffer(pathlib.Path(text).read_bytes(), np.uint8).astype(np.int64)
    count = (len(stream) - 1) // WINDOW
    tokens, labels = (stream[shift:shift + count * WINDOW].reshape(count, WINDOW) for shift in (0, 1))
    session = onnxruntime.InferenceSession(export, providers=["CPUExecutionProvider"])
    logits, expected = session.run(["logits", "loss"], {"tokens": tokens, "labels": labels})
    right = 100 * (logits.argmax(-1) == labels).mean()
    check(samples == count and abs(loss - expected) <= 2e-5, f"loss {loss} of {samples} samples, onnxruntime has {expected} of {count}")
    check(abs(accuracy - right) <= 0.02, f"accuracy {accuracy} %, onnxruntime has {right}")
    return f"loss {loss}"


def main():
    checkpoint, export, model, *program = sys.argv[1:]
    print(compare_bits(pathlib.Path(checkpoint), initializers(export), initializers(model)))
    if program:
        print(compare_loss(checkpoint, export, *program))


if __name__ == "__main__":
    main()
