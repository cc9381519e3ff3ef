"""What a plan's size and its compile time depend on: micro-batches, by schedule, and equal layers.

  size.py micro-batches   gpt-nano on dp=2,fsdp=2,pp=2: bytes and user seconds with 8 and 512 micro-batches, in turn, of the plan alone and of a program
  size.py ranks           on dp=N,pp=2 and fsdp=N,pp=2, N = 4 and 512: bytes, instructions and user seconds of a plan
  size.py layers          transformers of 12 to 96 equal layers: plan bytes, instructions, kernels and code bytes, user seconds, and exponents
  size.py check           bytes and kernels alone, which are the same on every machine: an error where they grow faster than the model

Exponents are slopes of log(figure above that of a model of two layers) over log(layers more than two): 1 is linear.
"""
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

os.environ["CLEAVE_KERNEL_CACHE"] = "off"  # each compilation is to do all of its work

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEDULES = ("naive", "gpipe", "1f1b", "eager-1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "dualpipe-v")
CHECKED = ("gpipe", "1f1b", "interleaved-1f1b", "dualpipe-v")
MESHES = {"dp=1": (), "fsdp=2": ("--mesh", "fsdp=2"), "fsdp=2,pp=2": ("--mesh", "fsdp=2,pp=2", "--micro-batches", "8")}
TRAIN = ("--train", "--loss-output", "loss", "--optimizer", "adamw")
BYTES, SECONDS, EXPONENT = 1.05, 1.3, 1.1  # at most: those of 512 micro-batches over those of 8; of layers
RANKS = 1.02  # at most: bytes of 1,024 ranks over those of 8


def transformer(layers, width=64, heads=2, tokens=32):
    """Pre-norm blocks with weights of their own, and the mean square of what comes out as the loss."""
    rng, nodes, weights = np.random.default_rng(0), [], []

    def weight(name, *shape):
        weights.append(numpy_helper.from_array((rng.standard_normal(shape) * 0.02).astype(np.float32), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def linear(name, x, before, after):
        product = node("MatMul", [x, weight(f"{name}.weight", before, after)], f"{name}.product")
        return node("Add", [product, weight(f"{name}.bias", after)], f"{name}.out")

    def norm(name, x):
        return node("LayerNormalization", [x, weight(f"{name}.scale", width), weight(f"{name}.shift", width)], f"{name}.out", axis=-1)

    weights.append(numpy_helper.from_array(np.array([0, 0, heads, width // heads], np.int64), "split"))
    weights.append(numpy_helper.from_array(np.array([0, 0, width], np.int64), "join"))
    weights.append(numpy_helper.from_array(np.array((width // heads)**-0.5, np.float32), "scale"))
    x = "x"
    for i in range(layers):
        name, parts = f"h{i}", {}
        h = norm(f"{name}.ln1", x)
        for part in "qkv":
            cut = node("Reshape", [linear(f"{name}.{part}", h, width, width), "split"], f"{name}.{part}.cut")
            parts[part] = node("Transpose", [cut], f"{name}.{part}.heads", perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])
        scores = node("Mul", [node("MatMul", [parts["q"], parts["k"]], f"{name}.qk"), "scale"], f"{name}.scores")
        mixed = node("MatMul", [node("Softmax", [scores], f"{name}.p", axis=-1), parts["v"]], f"{name}.pv")
        joined = node("Reshape", [node("Transpose", [mixed], f"{name}.back", perm=[0, 2, 1, 3]), "join"], f"{name}.joined")
        x = node("Add", [x, linear(f"{name}.proj", joined, width, width)], f"{name}.mid")
        wide = node("Relu", [linear(f"{name}.fc1", norm(f"{name}.ln2", x), width, 4 * width)], f"{name}.relu")
        x = node("Add", [x, linear(f"{name}.fc2", wide, 4 * width, width)], f"{name}.end")
    last = linear("head", x, width, width)
    node("ReduceMean", [node("Mul", [last, last], "square")], "loss", keepdims=0)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", tokens, width])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compile_model(model, output, *options):
    """User seconds: those of the system depend on what else the machine does."""
    process = subprocess.Popen(["cleave", "compile", str(model), "-o", str(output), *TRAIN, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    text = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{model} {options}: {text[-600:]}")
    return usage.ru_utime


def plan_figures(model, folder, *options, times=1):
    plan = folder / "plan"
    seconds = min(compile_model(model, plan, *options, "--emit", "plan") for _ in range(times))
    text = subprocess.run(["cleave", "inspect", "--text", str(plan)], capture_output=True, text=True, check=True).stdout
    count = lambda pattern: len(re.findall(pattern, text, re.MULTILINE))
    return {"bytes": plan.stat().st_size, "instructions": count(r"^  [a-z_]+ .*\bstream "), "generated kernels": count(r"^kernel @\S+ generated"),
            "seconds": seconds}


def in_turn(model, folder, both, times):
    """Figures of two compilations, with the least seconds of each, and the median of the ratios of those that follow each other."""
    runs = [[plan_figures(model, folder, *options) for options in both] for _ in range(times)]
    few, many = ({**of[0], "seconds": min(one["seconds"] for one in of)} for of in zip(*runs))
    return few, many, statistics.median(b["seconds"] / a["seconds"] for a, b in runs)


def print_both(name, few, many, ratio):
    print(f"{name}: {few['bytes']} -> {many['bytes']} bytes ({many['bytes'] / few['bytes']:.3f}), {few['instructions']} -> {many['instructions']} instructions, "
          f"{few['seconds']:.2f} -> {many['seconds']:.2f} s, in turn {ratio:.2f}", flush=True)


def micro_batches(folder, schedules, times):
    model, failed = ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx", []
    for schedule in schedules:
        both = [("--dim", "batch=2", "--mesh", "dp=2,fsdp=2,pp=2", "--schedule", schedule, "--micro-batches", str(m)) for m in (8, 512)]
        few, many, ratio = in_turn(model, folder, both, times)
        print_both(schedule, few, many, ratio)
        if many["bytes"] > BYTES * few["bytes"]:
            failed.append(f"{schedule}: the plan grows with micro-batches")
        if times > 1:
            runs = [[compile_model(model, folder / "program", *options) for options in both] for _ in range(times)]
            ratio = statistics.median(b / a for a, b in runs)
            print(f"{schedule}, a program: {min(a for a, _ in runs):.2f} -> {min(b for _, b in runs):.2f} s, in turn {ratio:.2f}", flush=True)
            if ratio > SECONDS:
                failed.append(f"{schedule}: compile time grows with micro-batches")
    return failed


def ranks(folder, times):
    """What a rank does is said once for all ranks of a kind. Buckets are padded to a multiple of the ranks, which adds an instruction here and there."""
    model, failed = ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx", []
    for axis in ("dp", "fsdp"):
        both = [("--dim", "batch=1", "--mesh", f"{axis}={size},pp=2", "--micro-batches", "8") for size in (4, 512)]
        few, many, ratio = in_turn(model, folder, both, times)
        print_both(f"{axis}=4,pp=2 -> {axis}=512,pp=2", few, many, ratio)
        for key in ("bytes", "instructions"):
            if not 1 / RANKS <= many[key] / few[key] <= RANKS:
                failed.append(f"{axis}: {key} of a plan grow with ranks")
    return failed


def exponent(points, key):
    (least, floor), *points = points
    logs = [(math.log(layers - least), math.log(figures[key] - floor[key])) for layers, figures in points if figures[key] > floor[key]]
    return float(np.polyfit(*zip(*logs), 1)[0]) if len(logs) > 1 else float("nan")


def code_bytes(program):
    text = subprocess.run(["size", "-A", str(program)], capture_output=True, text=True, check=True).stdout
    return int(re.search(r"^\.text\s+(\d+)", text, re.MULTILINE).group(1))


def layers(folder, sizes, times, has_code):
    failed = []
    for mesh, options in MESHES.items():
        points = []
        for count in (2, *sizes):
            model = folder / f"{count}.onnx"
            onnx.save(transformer(count), model)
            figures = plan_figures(model, folder, "--dim", "batch=8", *options, times=times)
            if has_code:
                figures["seconds with code"] = compile_model(model, folder / "program", "--dim", "batch=8", *options)
                figures["code bytes"] = code_bytes(folder / "program")
            points.append((count, figures))
            if count != 2:
                print(f"{mesh}, {count} layers: " + ", ".join(f"{value:.2f} {key}" if isinstance(value, float) else f"{value} {key}"
                                                              for key, value in figures.items()), flush=True)
        for key in points[0][1]:
            print(f"{mesh}: exponent of {key} {exponent(points, key):.2f}", flush=True)
        for key in ("bytes", "instructions"):
            if not exponent(points, key) <= EXPONENT:
                failed.append(f"{mesh}: {key} grow faster than layers")
        if points[-1][1]["generated kernels"] > 1.1 * points[1][1]["generated kernels"]: # a bucket's end may lie elsewhere
            failed.append(f"{mesh}: equal layers have kernels of their own")
    return failed


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        failed = []
        if what in ("", "micro-batches", "check"):
            failed += micro_batches(folder, CHECKED if what == "check" else SCHEDULES, 1 if what == "check" else 3)
        if what in ("", "ranks", "check"):
            failed += ranks(folder, 1 if what == "check" else 3)
        if what in ("", "layers", "check"):
            failed += layers(folder, (12, 48) if what == "check" else (12, 24, 48, 96), 1 if what == "check" else 2, what != "check")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
