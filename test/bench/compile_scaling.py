"""How compile time grows: user CPU seconds of `cleave compile --emit plan` over the size of a model, and the exponent of each family.
With --instructions it counts instructions instead (valgrind's callgrind, some fifty times slower): the same on every machine and run, but
blind to caches.

Families: deep networks of 250 to 4,000 layers (inference; training on one rank, dp=2, fsdp=2), and graphs of 1e3 to 1e5 inputs,
initializers, outputs or nodes. Processor time is taken, not elapsed time, so that other work on the machine disturbs little. The exponent
is the slope of a line through log(seconds above those of the smallest possible model) over log(size): 1 is linear; the aim is at most 1.1.

compile_scaling.py [--only FAMILY] [--sizes N,N,...] [--emit KIND] [--limit SECONDS] [--instructions]
"""
import argparse
import math
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

os.environ["CLEAVE_KERNEL_CACHE"] = "off"  # each compilation is to do all of its work

LAYERS, COUNTS = (250, 500, 1000, 2000, 4000), (1000, 3162, 10000, 31623, 100000)
TRAIN = ("--train", "--loss-output", "loss", "--optimizer", "sgd")


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=o) if isinstance(o, str) else o for o in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def weight(name, shape, seed):
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), name)


def layers(count, width=8):
    """x + relu(x w + b), `count` times; every layer has weights of its own."""
    nodes, weights = [], []
    for i in range(count):
        weights += [weight(f"layer{i}.weight", (width, width), i), weight(f"layer{i}.bias", (width,), i)]
        nodes += [helper.make_node("MatMul", [f"x{i}", f"layer{i}.weight"], [f"m{i}"]), helper.make_node("Add", [f"m{i}", f"layer{i}.bias"], [f"a{i}"]),
                  helper.make_node("Relu", [f"a{i}"], [f"r{i}"]), helper.make_node("Add", [f"x{i}", f"r{i}"], [f"x{i + 1}"])]
    nodes += [helper.make_node("Mul", [f"x{count}", f"x{count}"], ["q"]), helper.make_node("ReduceMean", ["q"], ["loss"], keepdims=0)]
    return model(nodes, [value("x0", ["batch", width])], [f"x{count}", value("loss", [])], weights)


def concat_inputs(count):
    names = [f"x{i}" for i in range(count)]
    return model([helper.make_node("Concat", names, ["y"], axis=0)], [value(n, [2]) for n in names], ["y"])


def concat_literals(count):
    names = [f"c{i}" for i in range(count)]
    nodes = [helper.make_node("Constant", [], [n], value_ints=[i]) for i, n in enumerate(names)]
    nodes += [helper.make_node("Concat", names, ["s"], axis=0), helper.make_node("Add", ["x", "s"], ["y"])]
    return model(nodes, [value("x", [count], TensorProto.INT64)], ["y"])


def sum_initializers(count):
    names = [f"w{i}" for i in range(count)]
    return model([helper.make_node("Sum", ["x", *names], ["y"])], [value("x", [4])], ["y"], [weight(n, (4,), i) for i, n in enumerate(names)])


def sum_inputs(count):
    names = [f"x{i}" for i in range(count)]
    return model([helper.make_node("Sum", names, ["y"])], [value(n, [4]) for n in names], ["y"])


def outputs(count):
    names = [f"y{i}" for i in range(count)]
    nodes = [helper.make_node("Constant", [], [f"c{i}"], value_float=float(i)) for i in range(count)]
    nodes += [helper.make_node("Add", ["x", f"c{i}"], [n]) for i, n in enumerate(names)]
    return model(nodes, [value("x", [4])], names)


def output_initializers(count):
    """Each output has an initializer of its own."""
    nodes = [helper.make_node("Mul", ["x", f"w{i}"], [f"y{i}"]) for i in range(count)]
    return model(nodes, [value("x", [4])], [f"y{i}" for i in range(count)], [weight(f"w{i}", (4,), i) for i in range(count)])


def unused_initializers(count):
    return model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [4])], ["y"], [weight(f"w{i}", (4,), i) for i in range(count)])


def chain(count):
    nodes = [helper.make_node("Sin", [f"x{i}"], [f"x{i + 1}"]) for i in range(count)]
    return model(nodes, [value("x0", [4])], [f"x{count}"])


def fan(count):
    """One value that `count` nodes read, and one that reads them all."""
    nodes = [helper.make_node("Softmax", ["x"], [f"s{i}"], axis=i % 2) for i in range(count)]
    return model(nodes + [helper.make_node("Concat", [f"s{i}" for i in range(count)], ["y"], axis=0)], [value("x", [2, 4])], ["y"])


BATCH = ("--dim", "batch=4")
FAMILIES = {  # name: (model, sizes, options)
    "inference": (layers, LAYERS, BATCH),
    "train": (layers, LAYERS, (*BATCH, *TRAIN)),
    "train-dp": (layers, LAYERS, (*BATCH, *TRAIN, "--mesh", "dp=2")),
    "train-fsdp": (layers, LAYERS, (*BATCH, *TRAIN, "--mesh", "fsdp=2")),
    "concat-inputs": (concat_inputs, COUNTS, ()),
    "concat-literals": (concat_literals, COUNTS, ()),
    "sum-initializers": (sum_initializers, COUNTS, ()),
    "sum-inputs": (sum_inputs, COUNTS, ()),
    "outputs": (outputs, COUNTS, ()),
    "output-initializers": (output_initializers, COUNTS, ()),
    "unused-initializers": (unused_initializers, COUNTS, ()),
    "chain": (chain, COUNTS, ()),
    "fan": (fan, COUNTS, ()),
}


def cpu_seconds(path, output, emit, options, limit):
    """User seconds of one compilation; none when it takes more than the limit. One that fails ends the program."""
    command = ["cleave", "compile", str(path), "-o", str(output), "--emit", emit, "--budget", "64", *options]
    process = subprocess.Popen(["prlimit", f"--cpu={limit}", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code in (-24, -9) and usage.ru_utime + usage.ru_stime >= limit - 3:
        return None
    if code:
        raise SystemExit(f"{' '.join(command)}: exit {code}: {text[-500:]}")
    return usage.ru_utime


def instructions(path, output, emit, options, limit):
    """Billions of instructions of one compilation; none when it takes more than fifty times the limit."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "cleave", "compile", str(path), "-o", str(output), "--emit", emit,
               "--budget", "64", *options]
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50 * limit).stderr
    except subprocess.TimeoutExpired:
        return None
    return int(re.search(r"Collected : (\d+)", text).group(1)) / 1e9


def exponent(points, floor):
    """The slope of log(seconds - floor) over log(size)."""
    logs = [(math.log(size), math.log(seconds - floor)) for size, seconds in points if seconds > floor * 1.2]
    if len(logs) < 2:
        return float("nan")
    xs, ys = zip(*logs)
    return float(np.polyfit(xs, ys, 1)[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="")
    parser.add_argument("--emit", default="plan")
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--instructions", action="store_true")
    arguments = parser.parse_args()
    measure, unit = (instructions, "billion instructions") if arguments.instructions else (cpu_seconds, "s")
    with tempfile.TemporaryDirectory() as folder:
        path, output = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "out"
        for name, (make, sizes, options) in FAMILIES.items():
            if arguments.only and name not in arguments.only.split(","):
                continue
            sizes = [int(size) for size in arguments.sizes.split(",")] if arguments.sizes else sizes
            onnx.save(make(2), path)
            floor, points = measure(path, output, arguments.emit, options, arguments.limit), []
            for size in sizes:
                onnx.save(make(size), path)
                seconds = measure(path, output, arguments.emit, options, arguments.limit)
                if seconds is None:
                    print(f"  {name} {size}: beyond the limit", flush=True)
                    break
                points.append((size, seconds))
            times = ", ".join(f"{size}: {seconds:.2f}" for size, seconds in points)
            print(f"{name}: {times} {unit}; exponent {exponent(points, floor):.2f}", flush=True)


if __name__ == "__main__":
    main()
