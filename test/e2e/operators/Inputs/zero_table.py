"""The ZeRO table (Rajbhandari et al. 2020, figure 1) against what `cleave inspect --json` says of a plan.

  zero_table.py MODEL.onnx FOLDER all        plans of every cell: strategy x 2, 4, 8 ranks x 1, 4 micro-batches x f32, bf16
  zero_table.py MODEL.onnx FOLDER CELL...    STRATEGY/N/M/PRECISION, as in zero-2/4/1/bf16, run as well; ddp is a strategy too

For each cell: bytes of parameters, gradients and optimizer state of one rank, and bytes that a rank sends in a step. Exact up to the
padding of buckets, which is bounded by 128 bytes a tensor and 128 bytes a rank and bucket. In a run of three steps the bytes counted where
they move, and those that the runtime has taken for a rank's regions, must be the plan's.
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import training_cases  # noqa: E402

# strategy -> which of (parameters, gradients, optimizer) are split; gathers and reduce-scatters of all parameters in one
# micro-batch and in the update, in (N - 1) / N of their bytes
TABLE = {
    "ddp": ((0, 0, 0), 0, 2),
    "zero-1": ((0, 0, 1), 0, 2),
    "zero-2": ((0, 1, 1), 1, 1),
    "shard-grad-op": ((1, 1, 1), 2, 0),
    "zero-3": ((1, 1, 1), 3, 0),
    "full-shard": ((1, 1, 1), 3, 0),
}
SUMS = {"ddp": 2, "zero-1": 1}  # of these in the update: those that carry the sums of all micro-batches
BYTES = {"f32": (4, 4, 8), "bf16": (2, 2, 12)}  # Adam; the reduced types have an f32 master
BUCKET = 256 << 10
CELLS = ["/".join(map(str, cell)) for cell in itertools.product(TABLE, (2, 4, 8), (1, 4), BYTES)]


def compile_cell(model, program, strategy, ranks, micro_batches, precision, emit):
    mesh = ["--mesh", f"dp={ranks}"] if strategy == "ddp" else ["--mesh", f"fsdp={ranks}", "--fsdp-strategy", strategy]
    extra = [] if precision == "f32" else ["--precision", f"param={precision},reduce={precision}"]
    extra += [] if TABLE[strategy][0][0] else ["--bucket-size", str(BUCKET)]  # units are buckets
    subprocess.run(["cleave", "compile", model, "-o", program, "--emit", emit, "--train", "--loss-output", "loss",
                    "--optimizer", "adamw", "--dim", "batch=1", *mesh, "--micro-batches", str(micro_batches),
                    *extra], check=True, stdout=subprocess.DEVNULL, timeout=300)
    text = subprocess.run(["cleave", "inspect", program, "--json"], check=True, capture_output=True, timeout=60).stdout
    return json.loads(text)


def widths_of(precision, micro_batches):
    """Bytes for each parameter. Gradients of several micro-batches are added in f32."""
    parameter, gradient, optimizer = BYTES[precision]
    return parameter, 4 if micro_batches > 1 else gradient, optimizer


def expected(strategy, ranks, micro_batches, precision, parameters):
    """Bytes of (parameters, gradients, optimizer) of a rank, bytes sent in a step, of so many parameters."""
    split, in_micro_batch, in_update = TABLE[strategy]
    widths, sums = widths_of(precision, micro_batches), SUMS.get(strategy, 0)
    sizes = [width * parameters // (ranks if part else 1) for width, part in zip(widths, split)]
    width = (in_micro_batch * micro_batches + in_update - sums) * widths[0] + sums * widths[1]  # of all phases
    return sizes, width * (ranks - 1) * parameters // ranks


def run(program, folder):
    """Bytes that a step sends and bytes of a rank's regions, as the runtime has counted them."""
    data = []
    for name, array in training_cases.data("gpt-nano").items():
        np.save(folder / f"{name}.npy", array)
        data += ["--data", f"{name}={folder / name}.npy"]
    metrics = folder / "metrics.jsonl"
    done = subprocess.run([program, "train", "--steps", "3", "--lr", "0.001", "--metrics", str(metrics), *data], check=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300)
    sent = {row["comm_bytes"] for row in map(json.loads, metrics.read_text().splitlines())}
    return sent, float(re.search(r"ranks x ([\d.]+) MiB\)", done.stderr)[1])


def check(model, folder, cell, runs):
    """What is wrong with the cell, or None."""
    strategy, ranks, micro_batches, precision = cell.split("/")
    ranks, micro_batches = int(ranks), int(micro_batches)
    program = str(folder / cell.replace("/", "-"))
    plan = compile_cell(model, program, strategy, ranks, micro_batches, precision, "executable" if runs else "plan")
    step = next(p for p in plan["programs"] if p["name"] == "train_step")
    # The padded number of parameters is read off the plan and may exceed the model's by padding alone.
    split, widths = TABLE[strategy][0], widths_of(precision, micro_batches)
    padded = plan["state"]["parameter"] * (ranks if split[0] else 1) // widths[0]
    buckets, tensors = 2 + padded * widths[0] // BUCKET * 2, 60
    if not 0 <= padded - plan["parameters"] <= 32 * (tensors + buckets * ranks):
        return f"{padded} parameters with padding, the model has {plan['parameters']}"
    sizes, sent = expected(strategy, ranks, micro_batches, precision, padded)
    got = [plan["state"][role] for role in ("parameter", "gradient", "optimizer")]
    # The loss's sum and count in float32, and the norm of split gradients in float64: one element a rank each, all-reduced.
    scalars = (4 + 4 + (8 if split[2] else 0)) * 2 * (ranks - 1)
    if got != sizes:
        return f"parameters, gradients, optimizer are {got} bytes, the table has {sizes}"
    if step["sent_bytes"] != sent + scalars:
        return f"a step sends {step['sent_bytes']} bytes, the table has {sent} + {scalars}"
    states, region = sum(plan["state"].values()), plan["memory"]["by_kind"]["persistent"]
    if not states <= region <= states + 128 * (4 * buckets + tensors):
        return f"{region} bytes for {states} bytes of state"
    if runs:
        counted, taken = run(program, folder)
        if counted != {step["sent_bytes"]}:
            return f"counted {sorted(counted)} bytes in a step, the plan has {step['sent_bytes']}"
        if abs(taken - plan["memory"]["total"] / (1 << 20)) > 0.051:  # it is printed in tenths
            return f"the runtime has taken {taken} MiB for a rank, the plan has {plan['memory']['total']} bytes"
    print(f"{cell}: {got[0]} + {got[1]} + {got[2]} bytes, {step['sent_bytes']} sent, of {padded} parameters")
    return None


def main():
    model, folder, *cells = sys.argv[1:]
    runs = cells != ["all"]
    wrong = [f"{cell}: {error}" for cell in (cells if runs else CELLS) if (error := check(model, pathlib.Path(folder), cell, runs))]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
