"""The matrices of check-cleave-full as data. A new value on an axis is a line here; cells.py makes the cells.

  train      MODELS x LAYOUTS x OPTIMIZERS x PRECISIONS: 20 steps against PyTorch in float64 (test/e2e/Inputs/compare_losses.py)
  infer      every model x INFERENCE_LAYOUTS: against onnxruntime
  commands   whatever else is too slow for the gate
"""
import training_cases

# Cases of training_cases.py, with what their compilation needs besides. GROUPS says over how many ranks a recording is split.
MODELS = {case: [] for case in training_cases.CASES}
MODELS["resnet18"] = ["--batch-norm", "sync"]
MODELS["resnet18-ddp"] = ["--batch-norm", "local"]

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
    "fsdp2-micro2": ["--mesh", "fsdp=2", "--micro-batches", "2"],
}
OPTIMIZERS = {name: option for name, (option, _) in training_cases.OPTIMIZERS.items()}
PRECISIONS = {"f32": []}

INFERENCE_LAYOUTS = {"one": [], "dp2": ["--mesh", "dp=2"]}

SANITIZERS = ["asan", "ubsan", "tsan"]
FUZZ_SEEDS = range(1, 9)
FUZZ_SECONDS = 180
KILLS = 50


def applies(model, layout):
    """Whether the cell of the matrix exists: a recording whose batch norm is that of N ranks needs a layout of N."""
    groups = training_cases.GROUPS.get(model, 1)
    return groups == 1 or layout == f"dp{groups}"
