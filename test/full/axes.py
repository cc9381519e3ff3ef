"""The matrices of check-cleave-full as data. A new value on an axis is one line here; cells.py makes the cells.

  train      MODELS x LAYOUTS x OPTIMIZERS x PRECISIONS: the losses of 20 steps against PyTorch in float64, within the bound that
             PyTorch's own error in that precision gives (test/e2e/Inputs/compare_losses.py)
  same       the same programs under adamw x VARIANTS, which change how a step is computed and not what: every loss and every byte
             of state equal
  mutual     MODELS x OPTIMIZERS, trained on 1, 2 and 4 ranks at the same global batch: their losses against each other, within 4 times
             the spread of PyTorch's runs with permuted sums (test/e2e/Inputs/mutual_losses.py)
  infer      every model x INFERENCE_LAYOUTS: against onnxruntime
  cuda       CUDA_MODELS x CUDA_LAYOUTS x CUDA_PRECISIONS x CUDA_WAYS: programs for GPUs on the emulated device against the host
  commands   whatever else is too slow for the gate

The gate runs a subset of train and same in which every pair of values of two axes appears (pairwise.py; PAIRWISE), and mutual of
MUTUAL_GATE.
"""
import pathlib
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "e2e" / "Inputs"
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
    "dp2-fsdp2-pp2": ["--mesh", "dp=2,fsdp=2,pp=2"],
}

OPTIMIZERS = {name: option for name, (option, _) in training_cases.OPTIMIZERS.items()}


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
    # Blocks are not computed again where a schedule splits the backward pass (zb-h1), which is an error.
    "recompute": Variant(("--recompute", "blocks"), (*TABLE, "pp2", "dp2-pp2", "fsdp2-pp2", "dp2-fsdp2-pp2"),
                         leaves=("mlp", "mnist-cnn-no-dropout/dp2-pp2", "mnist-cnn-no-dropout/fsdp2-pp2",
                                 "mnist-cnn-no-dropout/dp2-fsdp2-pp2/f32")),
    "offload-state": Variant(("--offload", "params,grads,optimizer")),
    "offload-activations": Variant(("--offload", "activations"), leaves=("mlp",)),
    "no-prefetch": Variant(("--forward-prefetch", "off", "--backward-prefetch", "none"), tuple(GATHERED)),
    "late-prefetch": Variant(("--forward-prefetch", "off", "--backward-prefetch", "post"), tuple(GATHERED)),
}

# With --loss-average global, which is the default, and --batch-norm sync, where there is any.
MUTUAL_LAYOUTS = ["dp1", "dp2", "dp4"]
MUTUAL_GATE = ["mlp", "mnist-cnn-no-dropout", "gpt-nano"]

INFERENCE_LAYOUTS = {"one": [], "dp2": ["--mesh", "dp=2"], "dp2-pp2": ["--mesh", "dp=2,pp=2"]}

SANITIZERS = {"asan": ["runtime", "programs", "compiler"], "tsan": ["runtime", "programs"]}  # parts of tools/dev/sanitize.sh
CHANGED_NODE_TESTS = range(2, 6)  # seeds; the gate has 1
CHANGED_SECONDS = 400
FUZZ_SEEDS = range(1, 9)
FUZZ_SECONDS = 180
GRAPHS = {"infer": 600, "types": 600, "train": 600, "scatters": 600, "layouts": 600}  # seconds of random graphs of each kind
KILLS = 50
MUTANTS, MUTANT_SEEDS = 2500, 4  # of plans, in each of so many cells
NODE_TESTS = 1040  # of ONNX's own that pass at least; what is not supported is refused

# On the emulated CUDA device: steps by model, layouts, ways.
CUDA_MODELS = {"mlp": 5, "gpt-nano": 2, "bert-tiny": 1, "t5-tiny": 1, "mnist-cnn-no-dropout": 1}
CUDA_LAYOUTS = {"one": [], **{layout: LAYOUTS[layout] for layout in ["dp2", "fsdp2", "zero-1", "dp2-fsdp2"]},
                "pp2": ["--mesh", "pp=2", "--micro-batches", "2"]}
CUDA_PRECISIONS = ["f32", "bf16"]
CUDA_BATCH = {"mnist-cnn-no-dropout": ["--global-batch", "4"]}  # an emulated convolution takes seconds for a sample
CUDA_WAYS = ["graph", "no-graph", "shared"]  # emulated_training.py; all ranks on one device: where there are several
CUDA_SEEDS = 50
CUDA_SEEDED = {"mlp": ["one", "dp2", "fsdp2", "dp2-fsdp2", "pp2"], "gpt-nano": ["one", "fsdp2"]}
CUDA_WAITS = ["mlp:--mesh dp=2", "mlp:--mesh fsdp=2", "mlp:--mesh dp=2,fsdp=2", "mlp:--offload params,grads,optimizer"]

# Axes of the gate's subset, in the order of a cell's name.
PAIRWISE = [EVERYWHERE, [*TABLE, "pp2", "fsdp2-pp2"], list(OPTIMIZERS), list(PRECISIONS), ["plain", *VARIANTS]]


def trains(model, layout, precision):
    """Whether the cell of the matrix exists: a recording whose batch norm is that of N ranks needs a layout of N, and one whose batch
    norm sees the whole batch one without micro-batches."""
    groups = training_cases.GROUPS.get(model, 1)
    fits = groups == 1 or layout == f"dp{groups}"
    whole = not ("--batch-norm" in MODELS[model] and "--micro-batches" in LAYOUTS[layout])
    return fits and whole and (precision == "f32" or model in EVERYWHERE)


def varies(model, layout, optimizer, precision, variant):
    chosen = VARIANTS[variant]
    changes = not {model, f"{model}/{layout}", f"{model}/{layout}/{precision}"} & set(chosen.leaves)
    return model in EVERYWHERE and changes and optimizer == VARIANT_OPTIMIZER and layout in chosen.layouts
