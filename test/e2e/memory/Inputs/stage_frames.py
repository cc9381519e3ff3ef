"""Frames of activations that stages keep: GPipe one for each micro-batch, 1F1B as many as stages at most. In what `inspect` draws, in the bytes of the
plan's regions, and in the peak that a run measures.

  stage_frames.py MODEL FOLDER DATA...   MODEL: gpt-nano; DATA: options of train for it
"""
import json
import pathlib
import re
import subprocess
import sys

MODEL, FOLDER, DATA = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
STAGES, FEW, MANY = 4, 8, 32
MIB = 1 << 20


def compiled(schedule, micro_batches, *options):
    path = FOLDER / f"{schedule}-{micro_batches}{'.plan' if options else ''}"
    subprocess.run(["cleave", "compile", MODEL, "-o", path, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", "batch=1", "--mesh",
                    f"pp={STAGES}", "--micro-batches", str(micro_batches), "--schedule", schedule, *options], check=True, capture_output=True)
    return path


def in_human_units(size):
    return f"{size / MIB:.1f} MiB" if size >= MIB else f"{size / 1024:.1f} KiB"


def figures(path):
    """Of each stage: for how many micro-batches it keeps values and in how many MiB or KiB, as drawn; and the bytes of the plan's regions of residuals."""
    text = subprocess.run(["cleave", "inspect", path], check=True, capture_output=True, text=True).stdout
    drawn = re.findall(r"^  stage(\d+) keeps values of up to (\d+) micro-batches, ([\d.]+ [MK]iB)$", text, re.MULTILINE)
    assert [int(stage) for stage, _, _ in drawn] == list(range(STAGES)), text
    kinds = json.loads(subprocess.run(["cleave", "inspect", "--json", path], check=True, capture_output=True, text=True).stdout)["kinds"]
    return [int(frames) for _, frames, _ in drawn], [size for _, _, size in drawn], [kind["memory"]["by_kind"]["residual"] for kind in kinds]


def peak(program):
    """Bytes of all ranks, planned and measured."""
    report = subprocess.run([program, "train", "--steps", "3", "--lr", "1e-3", "--no-shuffle", "--threads", "1", *DATA], check=True, capture_output=True, text=True)
    planned, measured = re.search(r"memory: planned ([0-9.]+) MiB .*, measured peak ([0-9.]+) MiB above", report.stdout + report.stderr).groups()
    return float(planned), float(measured)


def main():
    residual = {}
    for schedule in ("gpipe", "1f1b", "eager-1f1b"):
        for micro_batches in (FEW, MANY):
            frames, drawn, planned = figures(compiled(schedule, micro_batches, "--emit", "plan"))
            print(schedule, micro_batches, frames, planned)
            assert drawn == [in_human_units(size) for size in planned], f"{schedule}: drawn {drawn}, planned {planned}"
            # What arrives has a frame before its reader begins: one, and two where the sender runs further ahead.
            most = {"gpipe": [micro_batches] * STAGES, "1f1b": [min(STAGES, STAGES - stage + 1) for stage in range(STAGES)],
                    "eager-1f1b": [min(2 * STAGES - 1, 2 * (STAGES - stage) + 1) for stage in range(STAGES)]}[schedule]
            assert all(1 <= a <= b for a, b in zip(frames, most)), f"{schedule}: {frames} of at most {most}"
            assert schedule != "gpipe" or frames == most, f"gpipe: {frames}"
            residual[schedule, micro_batches] = planned
    for schedule in ("1f1b", "eager-1f1b"):
        assert residual[schedule, FEW] == residual[schedule, MANY], f"{schedule}: more micro-batches take more bytes"
    for few, many in zip(residual["gpipe", FEW], residual["gpipe", MANY]):
        # Gradients that are sent and received do not wait for the end of the forward passes, and have few frames under GPipe, too.
        assert 0.7 <= (many - few) / (MANY - FEW) / (few / FEW) <= 1, f"gpipe: {few} and {many} bytes"
    # What is planned is what a run takes: the difference of the two schedules is that of their frames.
    planned, measured = zip(*(peak(compiled(schedule, MANY)) for schedule in ("gpipe", "1f1b")))
    frames = (sum(residual["gpipe", MANY]) - sum(residual["1f1b", MANY])) / MIB
    print("MiB, gpipe and 1f1b: planned", planned, "measured", measured, "frames", frames)
    assert abs(planned[0] - planned[1] - frames) <= 0.05 * frames + 0.2, f"planned {planned}, frames {frames}"
    assert abs(measured[0] - measured[1] - frames) <= 0.2 * frames, f"measured {measured}, frames {frames}"


main()
