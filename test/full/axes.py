"""The matrices of check-cleave-full as data. A new value on an axis is one line here; cells.py makes the cells.

  train      MODELS x LAYOUTS x OPTIMIZERS x PRECISIONS (four of the optimizers in FURTHER_LAYOUTS and for some models alone): the
             losses of 20 steps against PyTorch in float64, or the papers' formulas in it, within the bound that
             PyTorch's own error in that precision gives (test/e2e/Inputs/compare_losses.py)
  same       the same programs under adamw x VARIANTS, which change how a step is computed and not what: every loss and every byte
             of state equal
  mutual     MODELS x OPTIMIZERS, trained on 1, 2 and 4 ranks at the same global batch: their losses against each other, within 4 times
             the spread of PyTorch's runs with permuted sums (test/e2e/Inputs/mutual_losses.py)
  schedules  PIPELINE_CASES x PIPELINE_MESHES x SCHEDULES x PIPELINE_PRECISIONS: losses and parameters equal to the last bit to those of the
             same chunks on one stage, and losses within the bound of `train`
  infer      every model x INFERENCE_LAYOUTS: against onnxruntime
  cuda       CUDA_MODELS x CUDA_LAYOUTS x CUDA_PRECISIONS x CUDA_WAYS: programs for GPUs on the emulated device against the host
  cuda-same    CUDA_SAME x CUDA_PRECISIONS: recomputation and offload, on the emulated device: the same bits with and without
  cuda-static  CUDA_MODELS x CUDA_PRECISIONS x architectures: what ptxas says of the kernels (spills, widths of accesses, occupancy)
  commands   whatever else is too slow for the gate

The gate runs a subset of train and same, one of schedules, and one of cuda, in which every pair of values of two axes appears (pairwise.py;
PAIRWISE, PAIRWISE_SCHEDULES, PAIRWISE_CUDA), and mutual of MUTUAL_GATE.
"""
import pathlib
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
E2E = ROOT / "test" / "e2e"
INPUTS = E2E / "Inputs"
sys.path[:0] = [str(INPUTS)]

import training_cases  # noqa: E402

# Cases of training_cases.py, with what their compilation needs besides. GROUPS says over how many ranks a recording is split.
MODELS = {case: [] for case in training_cases.CASES if case not in training_cases.BESIDE_MATRIX}
MODELS["resnet18"] = ["--batch-norm", "sync"]
MODELS["resnet18-ddp"] = ["--batch-norm", "local"]

# Recorded without the Dropout that the file has.
WITHOUT_DROPOUT = ["bert-tiny", "t5-tiny"]

# Those whose training issues ask for in every precision and variant; the others train in f32.
EVERYWHERE = ["mlp", "mnist-cnn-no-dropout", "gpt-nano", "bert-tiny", "t5-tiny"]

# Options; ranks x micro-batches must divide the case's global batch.
LAYOUTS = {
    "dp1": [],
    "dp2": ["--mesh", "dp=2"],
    "dp4": ["--mesh", "dp=4"],
    "dp2-micro2": ["--mesh", "dp=2", "--micro-batches", "2"],
    "zero-1": ["--mesh", "fsdp=2", "--fsdp-strategy", "zero-1"],
    "zero-2": ["--mesh", "fsdp=2", "--fsdp-strategy", "zero-2"],
    "fsdp2": ["--mesh", "fsdp=2"],
    "fsdp4": ["--mesh", "fsdp=4"],
    "shard-grad-op": ["--mesh", "fsdp=2", "--fsdp-strategy", "shard-grad-op"],
    "dp2-fsdp2": ["--mesh", "dp=2,fsdp=2"],
    "dp2-server": ["--mesh", "dp=2", "--dp-sync", "parameter-server"],
    "fsdp2-micro2": ["--mesh", "fsdp=2", "--micro-batches", "2"],
    "pp2": ["--mesh", "pp=2", "--micro-batches", "4"],
    "pp2-zb-h1": ["--mesh", "pp=2", "--schedule", "zb-h1", "--micro-batches", "4"],
    "pp4-gpipe": ["--mesh", "pp=4", "--schedule", "gpipe", "--micro-batches", "4"],
    "dp2-pp2": ["--mesh", "dp=2,pp=2", "--micro-batches", "2"],
    "fsdp2-pp2": ["--mesh", "fsdp=2,pp=2", "--micro-batches", "2"],
    "shard-grad-op-pp2": ["--mesh", "fsdp=2,pp=2", "--micro-batches", "2", "--fsdp-strategy", "shard-grad-op"],  # gathers once a step
    "dp2-server-pp2": ["--mesh", "dp=2,pp=2", "--micro-batches", "2", "--dp-sync", "parameter-server"],
    "dp2-fsdp2-pp2": ["--mesh", "dp=2,fsdp=2,pp=2"],
}

@dataclass(frozen=True)
class Mesh:
    stages: int
    data: str  # the axes besides pp
    data_ranks: int


@dataclass(frozen=True)
class Schedule:
    chunks: int = 1  # of a rank
    split: bool = False  # the gradients of inputs and of weights are computed apart
    least: int = 1  # micro-batches for each stage


PIPELINE_CASES = ["mlp", "mnist-cnn-no-dropout-16", "resnet18-16", "gpt-nano-16", "bert-tiny-16", "t5-tiny-16"]  # of 16 samples a step
PIPELINE_OPTIONS = {"resnet18-16": ["--batch-norm", "local"]}
PIPELINE_MESHES = {"pp2": Mesh(2, "", 1), "pp4": Mesh(4, "", 1), "dp2-pp2": Mesh(2, "dp=2", 2), "fsdp2-pp2": Mesh(2, "fsdp=2", 2),
                   "dp2-fsdp2-pp2": Mesh(2, "dp=2,fsdp=2", 4)}
SCHEDULES = {"naive": Schedule(), "gpipe": Schedule(), "1f1b": Schedule(), "eager-1f1b": Schedule(), "interleaved-1f1b": Schedule(2),
             "zb-h1": Schedule(split=True), "zb-h2": Schedule(split=True), "dualpipe-v": Schedule(2, True, 2)}
PIPELINE_PRECISIONS = ["f32", "bf16"]
PIPELINE_SAMPLES = 2  # of a micro-batch, or one where a schedule needs more micro-batches


def micro_batches(mesh, schedule):
    return max(16 // mesh.data_ranks // PIPELINE_SAMPLES, schedule.least * mesh.stages)


def scheduled(mesh, name):
    """The layout of a pipeline."""
    axes = ",".join(filter(None, [mesh.data, f"pp={mesh.stages}"]))
    return ["--mesh", axes, "--schedule", name, "--micro-batches", str(micro_batches(mesh, SCHEDULES[name]))]


def on_one_stage(mesh, schedule):
    """The name and the options of the layout that has the chunks of a pipeline on one stage."""
    request = f"stages={mesh.stages * schedule.chunks}" + " split-backward=true" * schedule.split
    count = micro_batches(mesh, schedule)
    return (f"one-stage({mesh.data} {request} {count})",
            [*(["--mesh", mesh.data] if mesh.data else []), "--insert", f"import=request-stages{{{request}}}", "--micro-batches", str(count)])


# Those of the cells `schedules`, by the names MESH:SCHEDULE and one-stage(...).
PIPELINES = {f"{mesh}:{schedule}": scheduled(PIPELINE_MESHES[mesh], schedule) for mesh in PIPELINE_MESHES for schedule in SCHEDULES}
ONE_STAGE = dict(on_one_stage(mesh, schedule) for mesh in PIPELINE_MESHES.values() for schedule in SCHEDULES.values())

OPTIMIZERS = {name: option for name, (option, _) in {**training_cases.OPTIMIZERS, **training_cases.FURTHER}.items()}
# Where the optimizers of training_cases.FURTHER are tried: wherever a state lies in another way, or a norm is summed by others.
FURTHER_LAYOUTS = ["dp1", "dp2", "zero-1", "fsdp2", "dp2-fsdp2", "dp2-server", "pp2", "fsdp2-pp2"]
FURTHER_PRECISIONS = {"mlp": ["f32", "bf16"]}


@dataclass(frozen=True)
class Precision:
    options: tuple
    recording: str  # below test/e2e/Inputs


# The loss scale is that of the recording: from 65536 on, steps would be skipped, which is no rounding error.
PRECISIONS = {
    "f32": Precision((), "losses.json"),
    "bf16": Precision(("--precision", "bf16"), "losses_bf16.json"),
    "fp16": Precision(("--precision", "fp16", "--loss-scale", "dynamic,init=1024"), "losses_fp16.json"),
}

TABLE = ["dp2", "zero-1", "zero-2", "fsdp2", "fsdp4", "shard-grad-op", "dp2-fsdp2", "dp2-server"]  # layouts that every variant meets
GATHERED = ["fsdp2", "fsdp4", "shard-grad-op", "dp2-fsdp2"]  # those in which parameters are gathered unit by unit


@dataclass(frozen=True)
class Variant:
    """What must not change one bit, in which layouts its options mean something, and which models they leave as they are: there a
    cell would compare a plan with itself, which is a failure. `leaves` names models, in all layouts, in one (MODEL/LAYOUT), or in
    one type of it (MODEL/LAYOUT/PRECISION: where a pipeline is cut depends on what its parts cost)."""
    options: tuple
    layouts: tuple = tuple(TABLE)
    leaves: tuple = ()


VARIANT_OPTIMIZER = "adamw"
VARIANTS = {
    "recompute": Variant(("--recompute", "blocks"), (*TABLE, "pp2", "pp2-zb-h1", "dp2-pp2", "fsdp2-pp2", "dp2-fsdp2-pp2"),
                         leaves=("mlp", "mnist-cnn-no-dropout/dp2-pp2", "mnist-cnn-no-dropout/fsdp2-pp2",
                                 "mnist-cnn-no-dropout/dp2-fsdp2-pp2/f32")),
    "recompute-except-last": Variant(("--recompute", "blocks", "--recompute-when", "except-last"), ("pp2", "pp2-zb-h1", "fsdp2-pp2"),
                                     leaves=("mlp", "mnist-cnn-no-dropout/fsdp2-pp2")),
    "offload-state": Variant(("--offload", "params,grads,optimizer")),
    "offload-activations": Variant(("--offload", "activations"), (*TABLE, "pp2", "pp2-zb-h1", "fsdp2-pp2"), leaves=("mlp",)),
    "no-prefetch": Variant(("--forward-prefetch", "off", "--backward-prefetch", "none"), tuple(GATHERED)),
    "late-prefetch": Variant(("--forward-prefetch", "off", "--backward-prefetch", "post"), tuple(GATHERED)),
}

# With --loss-average global, which is the default, and --batch-norm sync, where there is any.
MUTUAL_LAYOUTS = ["dp1", "dp2", "dp4"]
MUTUAL_GATE = ["mlp", "mnist-cnn-no-dropout", "gpt-nano"]

INFERENCE_LAYOUTS = {"one": [], "dp2": ["--mesh", "dp=2"], "dp2-pp2": ["--mesh", "dp=2,pp=2"]}

SANITIZERS = {"asan": ["runtime", "programs", "compiler"], "tsan": ["runtime", "programs"]}  # parts of tools/dev/sanitize.sh
CHANGED_NODE_TESTS = range(2, 6)  # seeds; the gate has 1
CHANGED_MODELS = {"mlp": "dynamo", "mnist-cnn": "torchscript", "bert-tiny": "dynamo", "t5-tiny": "torchscript", "gpt2-tiny": "dynamo",
                  "encoder-batch-first": "dynamo"}
CHANGED_SECONDS = 400
FUZZ_SEEDS = range(1, 9)
FUZZ_SECONDS = 180
PIPELINES_FUZZED, PIPELINE_SECONDS = 4, 600  # cells of random pipelines
GRAPHS = {"infer": 600, "types": 600, "train": 600, "scatters": 600, "layouts": 600, "moves": 600}  # seconds of random graphs of each kind
DECISION_MODELS = 40  # of values that are compared, rounded, indexed by
HOSTILE_VARIANTS = 4  # of each operator
REPEATED_GRAPHS = 30  # random graphs of repeated tables, each on every layout
LAYOUT_SECONDS = 900  # of random combinations of layouts and options
KILLS = 50
MUTANTS, MUTANT_SEEDS = 2500, 4  # of plans, in each of so many cells
RANDOM_PLANS = 100  # under options drawn at random, for as many mutants
NODE_TESTS = 1040  # of ONNX's own that pass at least; what is not supported is refused

# On the emulated CUDA device: steps by model, layouts, ways.
CUDA_MODELS = {"mlp": 5, "gpt-nano": 2, "bert-tiny": 2, "t5-tiny": 2, "mnist-cnn-no-dropout": 2}  # the second loss tells of gradients
CUDA_LAYOUTS = {"one": [], **{layout: LAYOUTS[layout] for layout in ["dp2", "fsdp2", "zero-1", "dp2-fsdp2"]},
                "pp2": ["--mesh", "pp=2", "--micro-batches", "2"]}
CUDA_PRECISIONS = ["f32", "bf16"]
CUDA_BATCH = {"mnist-cnn-no-dropout": ["--global-batch", "4"]}  # small, since threads of its pooling are emulated
CUDA_WAYS = ["graph", "no-graph", "shared"]  # emulated_training.py; all ranks on one device: where there are several
CUDA_SAME = {("mlp", "fsdp2"): ["offload-state"],  # variants by model and layout: the same bits with and without
             **{("gpt-nano", layout): ["recompute", "offload-state", "offload-activations"] for layout in ("one", "fsdp2", "pp2")}}
CUDA_SEEDS = 50
CUDA_SEEDED = {"mlp": ["one", "dp2", "fsdp2", "dp2-fsdp2", "pp2"], "gpt-nano": ["one", "fsdp2"]}
CUDA_WAITS = ["gpt-nano:--mesh dp=2", "mlp:--mesh dp=2", "mlp:--mesh dp=2 --bucket-size 4KiB", "mlp:--mesh dp=2 --precision bf16", "mlp:--mesh dp=2 --dp-sync parameter-server",
              "mlp:--mesh fsdp=2", "mlp:--mesh fsdp=2 --fsdp-strategy shard-grad-op", "mlp:--mesh dp=2,fsdp=2",
              "mlp:--offload params,grads,optimizer", "mlp:--offload activations"]

# Axes of the gate's subsets, in the order of a cell's name.
PAIRWISE_SCHEDULES = [PIPELINE_CASES, list(PIPELINE_MESHES), list(SCHEDULES), PIPELINE_PRECISIONS]
PAIRWISE_CUDA = [list(CUDA_MODELS), list(CUDA_LAYOUTS), CUDA_PRECISIONS, CUDA_WAYS]
PAIRWISE = [EVERYWHERE, [*TABLE, "pp2", "fsdp2-pp2", "shard-grad-op-pp2"], list(OPTIMIZERS), list(PRECISIONS), ["plain", *VARIANTS]]


def options_of(model, layout):
    """Of a layout of any of the tables, and what the model needs besides."""
    return [*{**LAYOUTS, **PIPELINES, **ONE_STAGE}[layout], *{**MODELS, **PIPELINE_OPTIONS}.get(model, [])]


def pipelined(case, mesh, schedule, precision=None):
    """Whether the cell of `schedules` exists: where batch norm sees the samples of a micro-batch, they are those of the recording."""
    mesh = PIPELINE_MESHES[mesh]
    groups = training_cases.GROUPS.get(case)
    return not groups or groups == mesh.data_ranks * micro_batches(mesh, SCHEDULES[schedule])


def trains(model, layout, precision):
    """Whether the cell of the matrix exists: a recording whose batch norm is that of N ranks needs a layout of N, and one whose batch
    norm sees the whole batch one without micro-batches."""
    groups = training_cases.GROUPS.get(model, 1)
    fits = groups == 1 or layout == f"dp{groups}"
    whole = not ("--batch-norm" in MODELS[model] and "--micro-batches" in LAYOUTS[layout])
    return fits and whole and (precision == "f32" or model in EVERYWHERE)


def optimizers(model, layout, precision):
    """Those with which that cell is recorded and asked for."""
    further = layout in FURTHER_LAYOUTS and precision in FURTHER_PRECISIONS.get(model, [])
    return [*training_cases.OPTIMIZERS, *(training_cases.FURTHER if further else [])]


def varies(model, layout, optimizer, precision, variant):
    chosen = VARIANTS[variant]
    changes = not {model, f"{model}/{layout}", f"{model}/{layout}/{precision}"} & set(chosen.leaves)
    return model in EVERYWHERE and changes and optimizer == VARIANT_OPTIMIZER and layout in chosen.layouts
