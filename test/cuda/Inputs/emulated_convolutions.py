"""emulated_convolutions.py BUILD FOLDER [SEED...]    Convolutions and their gradients by cuDNN, on the emulated CUDA device.

Each case is a model of two convolutions, of which the second is the one in question: three steps of SGD need its result, the gradient of
its input and that of its weights. The losses are compared with the host's, whose convolutions are checked against PyTorch elsewhere.
Besides the named cases there is a random one for each SEED. Then: how the library is missed, that algorithms with a fixed order of addition
are taken and kept, and what is done where there are none."""
import json
import pathlib
import random
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

build, folder = (pathlib.Path(a) for a in sys.argv[1:3])
TOLERANCE = {"f32": 2e-6, "bf16": 1e-2, "fp16": 2e-3}
# Size, channels in and out, kernel, stride, dilation, pads of ONNX, groups; and whether cuDNN takes it.
CASES = {
    "plain": ([9, 8], 4, 6, [3, 3], [1, 1], [1, 1], [1, 1, 1, 1], 1, True),
    "one dimension": ([17], 3, 5, [4], [3], [1], [0, 0], 1, True),
    "three dimensions": ([4, 5, 6], 2, 3, [2, 3, 1], [1, 2, 1], [2, 1, 1], [1, 1, 0, 1, 1, 0], 1, True),
    "a flat third dimension": ([1, 6, 6], 2, 2, [1, 3, 3], [1, 1, 1], [1, 1, 1], [0, 1, 1, 0, 1, 1], 1, True),
    "depthwise": ([7, 7], 6, 6, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], 6, True),
    "groups and dilation": ([10, 11], 4, 8, [3, 2], [1, 2], [2, 3], [2, 1, 2, 1], 2, True),
    "pads that nothing reads": ([8, 8], 3, 4, [3, 3], [2, 2], [1, 1], [1, 1, 0, 0], 1, True),
    "pads of one side": ([8, 8], 3, 4, [3, 3], [2, 2], [1, 1], [0, 0, 1, 1], 1, False),
}


class Wrong(Exception):
    pass


def run(command, **environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=300,
                          env=emulated.environment(build, CLEAVE_EMULATED_LEAKS="fail", **environment))


def checked(command, **environment):
    result = run(command, **environment)
    if result.returncode:
        raise Wrong(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stdout[-1500:]}{result.stderr[-3000:]}")
    return result.stderr


def drawn(seed):
    """A random case that has outputs; whether cuDNN takes it is what its pads say."""
    r = random.Random(seed)
    while True:
        rank = r.choice([1, 2, 2, 3])
        size, kernel = [r.randint(1, 9) for _ in range(rank)], [r.randint(1, 4) for _ in range(rank)]
        stride, dilation, groups = [r.randint(1, 3) for _ in range(rank)], [r.randint(1, 2) for _ in range(rank)], r.choice([1, 1, 2, 3])
        low = [r.randint(0, 2) for _ in range(rank)]
        high = low if r.random() < 0.6 else [r.randint(0, 2) for _ in range(rank)]
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        room = [[n + a + b - s for n, a, b, s in zip(size, low, other, spans)] for other in (high, low)]
        if all(each >= 0 for each in room[0]):
            takes = all(b >= 0 and a // s == b // s for a, b, s in zip(*room, stride))
            return size, groups * r.randint(1, 3), groups * r.randint(1, 3), kernel, stride, dilation, [*low, *high], groups, takes


class Case:
    def __init__(self, name, description, precision="f32"):
        self.name, self.precision, self.library = name, precision, description[-1]
        size, channels, out_channels, kernel, stride, dilation, pads, groups, _ = description
        rank, rng = len(size), np.random.default_rng(len(name))
        self.here = folder / f"{re.sub('[^a-z0-9]', '_', name)}_{precision}"
        self.here.mkdir(parents=True)
        out = [(n + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i, n in enumerate(size)]
        weights = {"first": rng.standard_normal([channels, 2] + [1] * rank) / 2,
                   "second": rng.standard_normal([out_channels, channels // groups, *kernel]) / np.sqrt(channels // groups * np.prod(kernel))}
        nodes = [helper.make_node("Conv", ["x", "first"], ["h"]),
                 helper.make_node("Conv", ["h", "second"], ["y"], strides=stride, dilations=dilation, pads=pads, group=groups)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2, *size])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", out_channels, *out])],
                                  [numpy_helper.from_array(value.astype(np.float32), key) for key, value in weights.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.here / "m.onnx")
        np.save(self.here / "x.npy", rng.standard_normal([9, 2, *size]).astype(np.float32))
        np.save(self.here / "labels.npy", rng.standard_normal([9, out_channels, *out]).astype(np.float32))
        for target in ("host", "cuda:sm_90"):
            checked(["cleave", "compile", self.here / "m.onnx", "-o", self.program(target), "--train", "--loss", "mse", "--optimizer", "sgd",
                     "--dim", "batch=3", "--precision", precision, "--target", target])
        self.expected = self.losses("host")[0]

    def program(self, target):
        return self.here / target.partition(":")[0]

    @property
    def file(self):
        return self.here / "cuda.algorithms"

    def command(self, target="cuda"):
        data = [word for key in ("x", "labels") for word in ("--data", f"{key}={self.here / key}.npy")]
        return [self.program(target), "train", *data, "--no-shuffle", "--steps", 3, "--lr", 0.1, "--metrics", self.here / "m.jsonl"]

    def losses(self, target="cuda", **environment):
        notes = checked(self.command(target), **environment)
        return [json.loads(line)["loss"] for line in (self.here / "m.jsonl").read_text().splitlines() if "loss" in json.loads(line)], notes

    def check(self, **environment):
        found, notes = self.losses(**environment)
        worst = max(abs(a - b) / abs(b) for a, b in zip(found, self.expected, strict=True))
        if not (len(found) == 3 and worst <= TOLERANCE[self.precision]):
            raise Wrong(f"{self.name}: losses {found}; the host's are {self.expected}")
        return found, notes

    def stored(self):
        return re.findall(r"(?m)^([0-9a-f]{128}) (convolution\S*)", self.file.read_text() if self.file.exists() else "")

    def refused(self, *parts, **environment):
        result = run(self.command(), **environment)
        if result.returncode != 1 or not all(part in result.stderr for part in parts):
            raise Wrong(f"expected an error with {parts}; ended with {result.returncode}:\n{result.stderr}")


def passes(case):
    """Three steps as on the host; by the library, where it takes the convolution."""
    case.check()
    kinds = [kind for _, kind in case.stored()]
    expected = ["convolution", "convolution_input_grad", "convolution_weight_grad"]
    # The first convolution has no gradient of its input, and is always the library's.
    if sorted(kinds) != sorted([*expected[::2], *(expected if case.library else [])]):
        raise Wrong(f"{case.name}: cuDNN computed {kinds}")


def words(line):
    return [int(line[at:at + 16], 16) for at in range(0, 128, 16)]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def resealed(text):
    body = text[:text.rindex("checksum ")]
    return f"{body}checksum {crc32c(body.encode()):08x}\n"


def algorithms(case):
    """Those that the library names first have no fixed order, or want a terabyte: they are not taken. What was taken is kept."""
    case.file.unlink(missing_ok=True)
    first, notes = case.check()
    if "algorithm" in notes or any(words(line)[0] != 1 or words(line)[2] != 3 for line, _ in case.stored()):
        raise Wrong(f"{notes}{case.stored()}")
    again, notes = case.check(CLEAVE_EMULATED_CUDNN_FIRST="2")
    other, _ = case.check(CLEAVE_EMULATED_CUDNN_FIRST="2", CLEAVE_CUDA_ALGORITHMS="none")
    if again != first or other == first or "algorithms" in notes:
        raise Wrong(f"kept: {first} and {again}; without the file: {other}; {notes}")
    _, notes = case.check(CLEAVE_EMULATED_CUDNN_VERSION="92000")
    if "has no algorithms for cuDNN 92000, sm_90" not in notes or "those on cuDNN 91900" not in notes:
        raise Wrong(notes)
    text, (line, kind) = case.file.read_text(), case.stored()[0]
    for word, value in ((1, 77), (2, 0), (0, 9)):  # no such algorithm; f32 by TF32; computed by nobody
        changed = line[:16 * word] + f"{value:016x}" + line[16 * word + 16:]
        case.file.write_text(resealed(text.replace(f"{line} {kind}", f"{changed} {kind}")))
        case.refused(str(case.file), "that cuDNN does not take; remove the file", CLEAVE_EMULATED_CUDNN_VERSION="91900")
    case.file.unlink()
    # None has a fixed order: Cleave's own kernels, told once, and stored.
    _, notes = case.check(CLEAVE_EMULATED_CUDNN_ORDERED="0")
    if "cuDNN has no algorithm with a fixed order of addition for convolution " not in notes or any(words(line)[0] != 2 for line, _ in case.stored()):
        raise Wrong(notes)
    _, notes = case.check()
    if "cuDNN" in notes:
        raise Wrong(notes)
    case.file.unlink()


def missing(case):
    case.refused("CLEAVE_LIBCUDNN: ", "none.so: cannot open", CLEAVE_LIBCUDNN=str(folder / "none.so"))
    case.refused("the installed cuDNN is too old: it has version number 8907", "CLEAVE_CUDA_CONVOLUTION=own", CLEAVE_EMULATED_CUDNN_VERSION="8907")
    case.refused("the installed cuDNN is too old: it has no function 'cudnnGetVersion'", CLEAVE_LIBCUDNN="libz.so.1")
    case.refused("CLEAVE_CUDA_CONVOLUTION='fast': expected cudnn or own", CLEAVE_CUDA_CONVOLUTION="fast")
    case.check(CLEAVE_CUDA_CONVOLUTION="own", CLEAVE_LIBCUDNN=str(folder / "none.so"))


def main():
    for name, description in CASES.items():
        passes(Case(name, description))
    print(f"{len(CASES)} cases in f32: as on the host")
    for precision in ("bf16", "fp16"):
        passes(Case("groups and dilation", CASES["groups and dilation"], precision))
    print("bf16 and fp16: as on the host")
    for seed in map(int, sys.argv[3:]):
        passes(Case(f"seed {seed}", drawn(seed)))
    print(f"{len(sys.argv) - 3} random cases: as on the host")
    case = Case("again", ([9, 8], 24, 20, [3, 3], [1, 1], [1, 1], [1, 1, 1, 1], 1, True))  # sums in which the order shows
    missing(case)
    print("without the library: told what to do")
    algorithms(case)
    print("algorithms: in a fixed order, in full precision, and kept")


try:
    main()
except Wrong as wrong:
    sys.exit(str(wrong))
