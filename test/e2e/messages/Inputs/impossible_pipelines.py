"""Pipelines that cannot be: each request is refused with a message that says what would work, nothing is written, and what the message says does work.

  impossible_pipelines.py MODEL FOLDER   MODEL: docs/recorded/mlp.onnx
"""
import pathlib
import re
import subprocess
import sys

MODEL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
CIRCLE = "rank 0: 0F0 0B0 0F1 0B1\nrank 1: 1F0 1F1 1B0 1B1\n"


def compile_plan(stages, micro_batches, *options):
    plan = FOLDER / "plan"
    plan.unlink(missing_ok=True)
    run = subprocess.run(["cleave", "compile", MODEL, "-o", plan, "--emit", "plan", "--train", "--loss", "cross-entropy", "--dim", "batch=2", "--mesh",
                          f"pp={stages}", "--micro-batches", str(micro_batches), *options], capture_output=True, text=True, timeout=120)
    assert plan.exists() == (run.returncode == 0), f"{options}: exit {run.returncode}, plan {plan.exists()}"
    return run


def refused(pattern, stages, micro_batches, *options):
    run = compile_plan(stages, micro_batches, *options)
    found = re.search(pattern, run.stderr)
    assert run.returncode in (1, 2) and found, f"pp={stages}, {micro_batches} micro-batches {options}: exit {run.returncode}: {run.stderr}"
    assert len([line for line in run.stderr.splitlines() if line.startswith("cleave:")]) == 1, run.stderr
    return [int(number) for number in found.groups()]


def works(stages, micro_batches, *options):
    run = compile_plan(stages, micro_batches, *options)
    assert run.returncode == 0, f"advised: pp={stages}, {micro_batches} micro-batches {options}: {run.stderr}"
    for command in ("verify", "inspect"):
        subprocess.run(["cleave", command, FOLDER / "plan"], check=True, stdout=subprocess.DEVNULL)


def main():
    # More stages than there are operations, and fewer that still leave a stage without one: one more than advised does not work either.
    most, = refused(r"cannot be cut into 64 stages: it has \d+ operations, and each stage needs one that it can begin with; use at most (\d+) stages", 64, 64)
    assert refused(r"operations that must stay together leave room for \d+; use at most (\d+) stages", most + 1, 64) == [most]
    works(most, 64)
    # More stages than blocks, where the user says what a block is.
    most, = refused(r"the pattern of the stages matches 2 operations: .* or at most (\d+) stages", 3, 4, "--stage-split", "pattern=*.weight")
    works(most, 4, "--stage-split", "pattern=*.weight")
    # More chunks than operations.
    most, = refused(r"cannot be cut into 40 stages: .* use at most (\d+) stages", 2, 4, "--schedule", "interleaved-1f1b,chunks=20")
    works(2, 4, "--schedule", f"interleaved-1f1b,chunks={most // 2}")
    # A cut through a pinned region, pins against the order, and pins that leave a stage without an operation.
    most, = refused(r"is in stage 0 and .* in stage 15, but from the one to the other a new stage can begin at (\d+) operations: put them at most \1 stages apart",
                    16, 16, "--stage-split", "auto,0.weight=0,2.weight=15")
    works(16, 16, "--stage-split", f"auto,0.weight=0,2.weight={most}")
    stage, = refused(r"pinned to stage 0, and .*, which comes before it, to the later stage 1: pin it to stage (\d+) or a later one", 2, 4, "--stage-split",
                     "auto,0.weight=1,2.weight=0")
    works(2, 4, "--stage-split", f"auto,0.weight=0,2.weight={stage}")
    # Fewer micro-batches than stages under an interleaved schedule, and a number between two that work.
    enough, = refused(r"3 micro-batches do not divide by 4 ranks; use (\d+) micro-batches, or 1f1b", 4, 3, "--schedule", "interleaved-1f1b")
    works(4, enough, "--schedule", "interleaved-1f1b")
    works(4, 3, "--schedule", "1f1b")
    for enough in refused(r"10 micro-batches do not divide by 4 ranks; use (\d+) or (\d+) micro-batches", 4, 10, "--schedule", "interleaved-1f1b"):
        works(4, enough, "--schedule", "interleaved-1f1b")
    enough, = refused(r"needs at least as many micro-batches as chunks: .*; use (\d+) micro-batches", 4, 7, "--schedule", "dualpipe-v")
    works(4, enough, "--schedule", "dualpipe-v")
    # Chunks that a schedule does not take.
    least, = refused(r"interleaved-1f1b needs at least (\d+) chunks a rank, got 1", 2, 4, "--schedule", "interleaved-1f1b,chunks=1")
    works(2, 4, "--schedule", f"interleaved-1f1b,chunks={least}")
    only, = refused(r"gpipe needs (\d+) chunks a rank, got 2", 2, 4, "--schedule", "gpipe,chunks=2")
    works(2, 4, "--schedule", f"gpipe,chunks={only}")
    # A schedule of one's own that waits for itself.
    (FOLDER / "circle").write_text(CIRCLE)
    refused(r"deadlocks: rank 0 stands at 0B0 and waits for 1B0 of rank 1; rank 1 stands at 1F1 and waits for 0F1 of rank 0", 2, 2, "--schedule",
            f"file={FOLDER / 'circle'}")
    (FOLDER / "straight").write_text(CIRCLE.replace("0F0 0B0 0F1 0B1", "0F0 0F1 0B0 0B1"))
    works(2, 2, "--schedule", f"file={FOLDER / 'straight'}")


main()
