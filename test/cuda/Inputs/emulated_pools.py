"""emulated_pools.py BUILD FOLDER [SEED...]    Pools and their gradients on the emulated CUDA device.

Each case trains the model y = pool(x + p) for two steps of SGD, on the host and on the device. The parameter p, of the size of a sample,
gets the gradient of the pool's input, and is compared element by element. The host's kernels are checked against float64 elsewhere. The
elements of x + p are small integers at first, so that windows have several maxima. Besides the named cases there is a random one
for each SEED."""
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
# Of p, whose largest element is about 3. In f32 a mean of terms that cancel may be off by a few units in the last place.
TOLERANCE = {"f32": 2e-6, "bf16": 2e-2, "fp16": 2e-3}
# Op, samples, channels, size, kernel, stride, dilation, pads of ONNX; attributes. From 128 planes on, a block takes whole planes.
CASES = {
    "many planes": ("MaxPool", 2, 70, [9, 8], [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], {}),
    "many planes, odd rows": ("MaxPool", 3, 50, [7, 7], [3, 2], [2, 1], [1, 1], [1, 0, 1, 1], {}),
    "many planes, apart": ("MaxPool", 1, 130, [6, 9], [2, 3], [1, 2], [2, 2], [1, 2, 1, 2], {}),
    "few planes": ("MaxPool", 2, 3, [9, 8], [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], {}),
    "few planes, three dimensions": ("MaxPool", 1, 2, [4, 5, 6], [2, 3, 2], [1, 2, 1], [2, 1, 1], [1, 1, 0, 0, 1, 1], {}),
    "one dimension": ("MaxPool", 2, 3, [37], [4], [3], [1], [0, 2], {"ceil_mode": 1}),
    "a mean": ("AveragePool", 2, 3, [9, 8], [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], {}),
    "a mean with pads": ("AveragePool", 2, 3, [9, 8], [3, 2], [2, 1], [1, 1], [1, 0, 2, 1], {"count_include_pad": 1}),
    "a mean of three dimensions": ("AveragePool", 1, 2, [4, 5, 6], [2, 3, 2], [1, 2, 3], [1, 1, 1], [1, 1, 0, 0, 1, 1], {}),
}


class Wrong(Exception):
    pass


def run(command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=300,
                            env=emulated.environment(build, CLEAVE_EMULATED_LEAKS="fail"))
    if result.returncode:
        raise Wrong(f"{' '.join(map(str, command))}\nended with {result.returncode}:\n{result.stdout[-1500:]}{result.stderr[-3000:]}")


def drawn(seed):
    """A random case that has outputs, each of which has an input."""
    r = random.Random(seed)
    while True:
        rank, op = r.choice([1, 2, 2, 3]), r.choice(["MaxPool", "MaxPool", "AveragePool"])
        size, kernel, stride = ([r.randint(1, most) for _ in range(rank)] for most in (9, 4, 4))
        dilation = [r.randint(1, 2) if op == "MaxPool" else 1 for _ in range(rank)]
        pads = [r.randint(0, k - 1) for k in kernel * 2]
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        if all(n + a + b >= s and n >= s for n, a, b, s in zip(size, pads, pads[rank:], spans)):
            more = {"count_include_pad": r.randint(0, 1)} if op == "AveragePool" else {}
            return op, r.randint(1, 3), r.choice([1, 3, 64, 130]), size, kernel, stride, dilation, pads, more


def tensor(path, name):
    """Of a safetensors file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8:8 + length])[name]
    begin, end = (8 + length + at for at in entry["data_offsets"])
    if entry["dtype"] == "BF16":
        return (np.frombuffer(data[begin:end], np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.frombuffer(data[begin:end], {"F32": np.float32, "F16": np.float16}[entry["dtype"]]).astype(np.float64)


def check(name, case, precision="f32"):
    op, samples, channels, size, kernel, stride, dilation, pads, more = case
    here, rng = folder / f"{re.sub('[^a-z0-9]', '_', name)}_{precision}", np.random.default_rng(len(name))
    here.mkdir(parents=True)
    attributes = {"kernel_shape": kernel, "strides": stride, "pads": pads, **({"dilations": dilation} if op == "MaxPool" else {}), **more}
    p = rng.integers(-1, 2, [channels, *size]).astype(np.float32)
    graph = helper.make_graph([helper.make_node("Add", ["x", "p"], ["h"]), helper.make_node(op, ["h"], ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", channels, *size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(p, "p")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    shape = onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape
    out = [d.dim_value for d in shape.dim[1:]]
    onnx.save(model, here / "m.onnx")
    np.save(here / "x.npy", rng.integers(-2, 3, [2 * samples, channels, *size]).astype(np.float32))
    np.save(here / "labels.npy", rng.standard_normal([2 * samples, *out]).astype(np.float32))
    found = {}
    for target in ("host", "cuda:sm_90"):
        program = here / target.partition(":")[0]
        run(["cleave", "compile", here / "m.onnx", "-o", program, "--train", "--loss", "mse", "--optimizer", "sgd", "--dim",
             f"batch={samples}", "--precision", precision, "--target", target])
        # The mean of the squares divides each gradient by the number of outputs.
        run([program, "train", "--data", f"x={here / 'x.npy'}", "--data", f"labels={here / 'labels.npy'}", "--no-shuffle", "--steps", 2,
             "--lr", samples * np.prod(out) / 8, "--save", here / "saved", "--checkpoint", "full"])
        saved = next((here / "saved").rglob("*.safetensors"))
        found[program.name] = tensor(saved, "p")
        subprocess.run(["rm", "-r", here / "saved"], check=True)
    moved, worst = np.abs(found["host"] - p.ravel()).max(), np.abs(found["host"] - found["cuda"]).max()
    if not (moved > 0.1 and worst <= TOLERANCE[precision]):
        raise Wrong(f"{name} in {precision}: p moves by {moved} on the host, and is {worst} apart: {case}")


def main():
    for name, case in CASES.items():
        check(name, case)
    print(f"{len(CASES)} pools in f32: gradients as on the host")
    for precision in ("bf16", "fp16"):
        for name in ("many planes", "many planes, odd rows", "few planes", "a mean"):
            check(name, CASES[name], precision)
    print("bf16 and fp16: as on the host")
    for seed in map(int, sys.argv[3:]):
        check(f"seed {seed}", drawn(seed))
    print(f"{len(sys.argv) - 3} random pools: as on the host")


try:
    main()
except Wrong as wrong:
    sys.exit(str(wrong))
