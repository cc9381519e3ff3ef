"""Bytes that a compiled training step keeps for its backward pass, beside what PyTorch's autograd keeps for the same model and batch.

  residual_bytes.py STEP.mlir                    # written by: cleave compile … --train --stop-after step
  residual_bytes.py STEP.mlir --case gpt-nano    # compares with saved_tensors.json; fails when ours are more

Ours are the results of @c0.fwd: all that @c0.bwd is given beside what is there anyway. As in the recording, inputs and states
(parameters, buffers, batch statistics) are not counted; what the backward pass computes again from its residuals is not kept, hence
not counted, and its buffers are part of the plan's transient memory like every other.
"""
import argparse
import json
import math
import pathlib
import re
import sys

ELEMENT_BYTES = {"f64": 8, "f32": 4, "i64": 8, "i32": 4, "i8": 1, "i1": 1}
TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")


def result_types(text, function):
    """The result types of @function, each as (shape, element type)."""
    head = re.search(rf"func\.func @{re.escape(function)}\((.*)$", text, re.MULTILINE)
    if not head:
        sys.exit(f"expected a function @{function}; compile with --train --stop-after step")
    _, arrow, results = head.group(1).rpartition(") -> ")
    return [([int(size) for size in shape.split("x") if size], element)
            for shape, element in TENSOR.findall(results if arrow else "")]


def residual_bytes(text):
    types = result_types(text, "c0.fwd")
    return sum(math.prod(shape) * ELEMENT_BYTES[element] for shape, element in types), len(types)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", type=pathlib.Path)
    parser.add_argument("--case")
    parser.add_argument("--batch", type=int, help="what the step was compiled for; must be the recording's")
    parser.add_argument("--recording", type=pathlib.Path, default=pathlib.Path(__file__).with_name("saved_tensors.json"))
    options = parser.parse_args()

    total, count = residual_bytes(options.step.read_text())
    if total == 0:
        sys.exit(f"{options.step}: @c0.fwd keeps nothing; that is no training step")
    print(f"residuals: {total} bytes in {count} tensors")
    if options.case:
        theirs = json.loads(options.recording.read_text())[options.case]
        if options.batch not in (None, theirs["batch"]):
            sys.exit(f"{options.case}: expected batch {theirs['batch']}, that of the recording; got: {options.batch}")
        print(f"PyTorch: {theirs['activation_bytes']} bytes in {theirs['storages']} storages; ratio "
              f"{total / theirs['activation_bytes']:.3f}")
        if total > theirs["activation_bytes"]:
            sys.exit(f"{options.case}: the residuals take more bytes than PyTorch saves")


if __name__ == "__main__":
    main()
