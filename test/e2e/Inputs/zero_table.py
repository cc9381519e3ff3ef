"""The ZeRO table (SYSTEMS section 4; Rajbhandari et al. 2020, figure 1) against what `cleave inspect --json` says of a plan.

  zero_table.py MODEL.onnx FOLDER CELL...          CELL: STRATEGY/N/M or STRATEGY/N/M/PRECISION, as in zero-2/4/1/bf16; ddp is a strategy too

For each cell: bytes of parameters, gradients and optimizer state of one rank, and bytes that a rank sends in a step. Exact up to the
padding of buckets, which is bounded by 128 bytes a tensor and 128 bytes a rank and bucket. Where a cell's name ends in `!`, two steps are
run, too, and the bytes counted where they move must be those of the plan.
"""
import json
import pathlib
import subprocess
import sys

import numpy as np

import training_cases

# strategy -> which of (parameters, gradients, optimizer) are split; gathers and reduce-scatters of all parameters in one
# micro-batch and in the update, in (N - 1) / N of their bytes
TABLE = {
    "ddp": ((0, 0, 0), 0, 2),
    "no-shard": ((0, 0, 0), 0, 2),
    "zero-1": ((0, 0, 1), 0, 2),
    "zero-2": ((0, 1, 1), 1, 1),
    "shard-grad-op": ((1, 1, 1), 2, 0),
    "full-shard": ((1, 1, 1), 3, 0),
}
BYTES = {"f32": (4, 4, 8), "bf16": (2, 2, 12)}  # Adam; the reduced types have an f32 master
BUCKET = 256 << 10


def compile_cell(model, program, strategy, ranks, micro_batches, precision, emit):
    mesh = ["--mesh", f"dp={ranks}"] if strategy == "ddp" else ["--mesh", f"fsdp={ranks}", "--fsdp-strategy", strategy]
    extra = [] if precision == "f32" else ["--precision", f"param={precision},reduce={precision}"]
    subprocess.run(["cleave", "compile", model, "-o", program, "--emit", emit, "--train", "--loss-output", "loss",
                    "--optimizer", "adamw", "--dim", "batch=1", *mesh, "--micro-batches", str(micro_batches),
                    "--bucket-size", str(BUCKET), *extra], check=True, stdout=subprocess.DEVNULL, timeout=300)
    text = subprocess.run(["cleave", "inspect", program, "--json"], check=True, capture_output=True, timeout=60).stdout
    return json.loads(text)


def expected(strategy, ranks, micro_batches, precision, parameters):
    """Bytes of (parameters, gradients, optimizer) of a rank, bytes sent in a step, of so many parameters."""
    split, in_micro_batch, in_update = TABLE[strategy]
    sizes = [width * parameters // (ranks if part else 1) for width, part in zip(BYTES[precision], split)]
    phases = in_micro_batch * micro_batches + in_update
    return sizes, phases * (ranks - 1) * BYTES[precision][0] * parameters // ranks


def counted_bytes(program, folder):
    data = []
    for name, array in training_cases.data("gpt-nano").items():
        np.save(folder / f"{name}.npy", array)
        data += ["--data", f"{name}={folder / name}.npy"]
    metrics = folder / "metrics.jsonl"
    subprocess.run([program, "train", "--steps", "3", "--lr", "0.001", "--metrics", str(metrics), *data], check=True,
                   stdout=subprocess.DEVNULL, timeout=300)
    return {row["comm_bytes"] for row in map(json.loads, metrics.read_text().splitlines()) if "comm_bytes" in row}


def check(model, folder, cell):
    runs = cell.endswith("!")
    strategy, ranks, micro_batches, *precision = cell.rstrip("!").split("/")
    ranks, micro_batches, precision = int(ranks), int(micro_batches), precision[0] if precision else "f32"
    program = str(folder / cell.rstrip("!").replace("/", "-"))
    plan = compile_cell(model, program, strategy, ranks, micro_batches, precision, "executable" if runs else "plan")
    step = next(p for p in plan["programs"] if p["name"] == "train_step")
    # The padded number of parameters is read off the plan and may exceed the model's by padding alone.
    split, widths = TABLE[strategy][0], BYTES[precision]
    padded = plan["state"]["parameter"] * (ranks if split[0] else 1) // widths[0]
    buckets, tensors = 2 + padded * widths[0] // BUCKET * 2, 60
    if not 0 <= padded - plan["parameters"] <= 32 * (tensors + buckets * ranks):
        return f"{cell}: {padded} parameters with padding, the model has {plan['parameters']}"
    sizes, sent = expected(strategy, ranks, micro_batches, precision, padded)
    got = [plan["state"][role] for role in ("parameter", "gradient", "optimizer")]
    # The loss's sum and count, and the norm of split gradients: one element a rank each, all-reduced.
    scalars = (3 if split[2] else 2) * 2 * (ranks - 1) * 4
    if got != sizes:
        return f"{cell}: parameters, gradients, optimizer are {got} bytes, the table has {sizes}"
    if step["sent_bytes"] != sent + scalars:
        return f"{cell}: a step sends {step['sent_bytes']} bytes, the table has {sent} + {scalars}"
    if runs and (counted := counted_bytes(program, folder)) != {step["sent_bytes"]}:
        return f"{cell}: counted {sorted(counted)} bytes in a step, the plan has {step['sent_bytes']}"
    print(f"{cell}: {got[0]} + {got[1]} + {got[2]} bytes, {step['sent_bytes']} sent, of {padded} parameters")
    return None


def main():
    model, folder, *cells = sys.argv[1:]
    wrong = [error for cell in cells if (error := check(model, pathlib.Path(folder), cell))]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
