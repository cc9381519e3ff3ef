"""Cells of programs for GPUs on the emulated device (test/cuda/emulated): never figures of a GPU."""
import sys

import axes
import pairwise
from axes import ROOT
from cell import Cell, command_cell
from outcomes import Failed

SCRIPTS = ROOT / "test" / "cuda" / "Inputs"
FILES = ("test/cuda/", "test/e2e/Inputs/training_cases.py", "test/models/", "examples/gpt-nano/")
DEVICES = ["CLEAVE_EMULATED_DEVICES=4"]


def compiled_case(model, precision, steps, options):
    return f"{model}:{precision}:{steps}:{' '.join([*options, *axes.CUDA_BATCH.get(model, [])])}"


def verdicts(workshop, worker, case, ways):
    """What emulated_training.py says of each way."""
    with workshop.scratch() as folder:
        try:
            text = worker.run([sys.executable, SCRIPTS / "emulated_training.py", ROOT, workshop.build, folder, f"--ways={','.join(ways)}", case], folder)
        except Failed as failure:
            text = f"{worker.log[-1]}\n*: failed, {failure}"
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def in_one_way(case, ways, way):
    """The ways of a case share its programs: the first cell that asks runs them all."""

    def decide(workshop, worker):
        said = workshop.once(("cuda", case), lambda: verdicts(workshop, worker, case, ways), worker)
        verdict = said.get(way) or said.get("*", "failed, nothing was said of it")
        if not verdict.startswith("ok, "):
            raise Failed(verdict.removeprefix("failed, "))
        return verdict.removeprefix("ok, ")

    return decide


def against_the_host():
    for model, steps in axes.CUDA_MODELS.items():
        for layout, options in axes.CUDA_LAYOUTS.items():
            ways = axes.CUDA_WAYS if layout != "one" else axes.CUDA_WAYS[:2]
            for precision in axes.CUDA_PRECISIONS:
                case = compiled_case(model, precision, steps, options)
                for way in ways:
                    yield Cell(f"cuda/{model}/{layout}/{precision}/{way}", in_one_way(case, ways, way), 3600, 20, FILES, f"{case} {way}", "gpu")


def pairwise_cells():
    """What the gate runs of these: with the way of each cell, the one that its bytes are compared with."""
    for model, layout, precision, way in pairwise.cover(axes.PAIRWISE_CUDA, lambda each: each[1] != "one" or each[3] != "shared"):
        case = compiled_case(model, precision, axes.CUDA_MODELS[model], axes.CUDA_LAYOUTS[layout])
        ways = list(dict.fromkeys(["graph", way]))
        yield Cell(f"cuda/{model}/{layout}/{precision}/{way}", in_one_way(case, ways, way), 3600, 20, FILES, f"{case} {way}", "gpu")


def with_and_without():
    """Recomputation and offload change no bit."""
    for (model, layout), variants in axes.CUDA_SAME.items():
        for variant in variants:
            for precision in axes.CUDA_PRECISIONS:
                case = compiled_case(model, precision, axes.CUDA_MODELS[model], axes.CUDA_LAYOUTS[layout])
                options = " ".join(axes.VARIANTS[variant].options)
                yield command_cell(f"cuda-same/{model}/{layout}/{precision}/{variant}",
                                   [["{python}", SCRIPTS / "emulated_training.py", ROOT, "{build}", "{folder}", f"--same={options}", case]], 3600, 60, FILES, "gpu",
                                   counts=r" (\d+) bytes of checkpoint equal")


def in_every_order():
    """Many seeds of the device's timing; and with any one wait of a plan taken away, it is found."""
    for model, layouts in axes.CUDA_SEEDED.items():
        for layout in layouts:
            environment = ["CLEAVE_CUDA_COMM=nccl", *DEVICES] if layout != "one" else []
            case = compiled_case(model, "f32", 3, axes.CUDA_LAYOUTS[layout])
            line = ["env", *environment, "{python}", SCRIPTS / "emulated_training.py", ROOT, "{build}", "{folder}", f"--seeds={axes.CUDA_SEEDS}", case]
            yield command_cell(f"cuda-order/seeds/{model}/{layout}", [line], 3600, 200, FILES, "gpu", counts=r"(\d+) seeds alike")
    for case in axes.CUDA_WAITS:
        line = ["env", *DEVICES, "{python}", SCRIPTS / "removed_waits.py", ROOT, "{build}", "{folder}", case]
        yield command_cell(f"cuda-order/waits/{case}", [line], 3600, 200, FILES, "all", counts=r"the device finds (\d+) of them missing")


def statically():
    """What ptxas says of the kernels of each model: spills, widths of accesses, occupancy."""
    for model in axes.CUDA_MODELS:
        for precision in axes.CUDA_PRECISIONS:
            for architecture in ("sm_80", "sm_90"):
                case = f"{model}:{precision}:{architecture}"
                yield command_cell(f"cuda-static/{model}/{precision}/{architecture}",
                                   [["{python}", SCRIPTS / "static_checks.py", ROOT, "{build}", "{folder}", case]], 600, 15, FILES, "gpu",
                                   counts=r": (\d+) kernels")


def from_a_bundle():
    """A GPT that is built from a bundle, in a folder that has nothing else of Cleave, with the options that users have."""
    compile_ = ["cleave", "compile", ROOT / "examples/gpt-nano/gpt-nano.onnx", "--train", "--loss-output", "loss", "--optimizer", "adamw",
                "--global-batch", "4", "--target", "cuda:sm_90"]
    yield command_cell("bundle/gpt-nano", [
        [*compile_, "-o", "{folder}/gpt.o", "--emit", "object"],
        ["cleave", "bundle", "{folder}/gpt.o", "-o", "{folder}/bundle"],
        ["{folder}/bundle/build.sh"],
        [*compile_, "-o", "{folder}/linked"],
        ["{python}", SCRIPTS.parents[1] / "e2e" / "programs" / "Inputs" / "bundle_runs.py", ROOT, "{build}", "{folder}/linked", "{folder}/bundle/bin/gpt",
         "{folder}", "gpt-nano"]], 3600, 400, (*FILES, "test/e2e/programs/Inputs/bundle_runs.py", "tools/bundle/", "cmake/CleaveBundle.cmake"), "all",
        counts=r"^(\d+) losses of the program")


def every():
    return [*against_the_host(), *with_and_without(), *in_every_order(), *statically(), *from_a_bundle()]
