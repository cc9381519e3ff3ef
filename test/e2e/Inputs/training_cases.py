"""The training runs that are recorded with PyTorch and repeated by Cleave: models, batch sizes, data, optimizers."""
import numpy as np

STEPS = 20

# model -> (ONNX file under the repository, global batch, learning rates, {input: (kind, per-sample shape, bound)})
TOKENS64 = {"tokens": ("int", (64,), 256), "labels": ("int", (64,), 256)}
CASES = {
    "mlp": ("test/models/mlp/mlp.torchscript.onnx", 16, {"x": ("float", (64,), None), "labels": ("int", (), 10)}),
    "mnist-cnn-no-dropout": ("test/models/mnist-cnn-no-dropout/mnist-cnn-no-dropout.torchscript.onnx", 8,
                             {"x": ("float", (1, 28, 28), None), "labels": ("int", (), 10)}),
    "resnet18": ("test/models/resnet18/resnet18.torchscript.onnx", 4,
                 {"x": ("float", (3, 64, 64), None), "labels": ("int", (), 1000)}),
    # as PyTorch's DDP: each rank normalizes its own half of the batch
    "resnet18-ddp": ("test/models/resnet18/resnet18.torchscript.onnx", 4,
                     {"x": ("float", (3, 64, 64), None), "labels": ("int", (), 1000)}),
    "gpt-nano": ("examples/gpt-nano/gpt-nano.onnx", 4, TOKENS64),
    "bert-tiny": ("test/models/bert-tiny/bert-tiny.torchscript.onnx", 8,
                  {"input_ids": ("nonzero", (32,), 1000), "attention_mask": ("ones", (32,), None),
                   "token_type_ids": ("int", (32,), 2), "labels": ("int", (), 2)}),
    "t5-tiny": ("test/models/t5-tiny/t5-tiny.torchscript.onnx", 4,
                {"input_ids": ("int", (24,), 256), "attention_mask": ("prefix", (24,), None), "labels": ("padded", (16,), 256)}),
    "encoder-batch-first": ("test/models/encoder-batch-first/encoder-batch-first.torchscript.onnx", 8,
                            {"tokens": ("int", (16,), 256), "labels": ("int", (), 4)}),
}
# The same at 16 samples a step, which eight ranks can take through a pipeline in several micro-batches.
AT_SIXTEEN = ["mnist-cnn-no-dropout", "resnet18", "gpt-nano", "bert-tiny", "t5-tiny"]
CASES |= {f"{case}-16": (CASES[case][0], 16, CASES[case][2]) for case in AT_SIXTEEN}
# Recorded, but no models of the full matrix.
BESIDE_MATRIX = ["encoder-batch-first", *(f"{case}-16" for case in AT_SIXTEEN)]

# Data for runs whose losses nobody records.
UNRECORDED = {
    "bert-base": ("test/models/bert-base/bert-base.dynamo23.onnx", 2,
                  {"input_ids": ("nonzero", (128,), 30522), "attention_mask": ("ones", (128,), None),
                   "token_type_ids": ("int", (128,), 2), "labels": ("int", (), 2)}),
}

# name -> (Cleave's --optimizer, learning rate)
OPTIMIZERS = {"sgd": ("sgd,momentum=0.9", 1e-2), "adamw": ("adamw,weight_decay=0.01", 1e-3)}
# The same, of the optimizers that are recorded for some cases alone.
FURTHER = {"lion": ("lion,weight_decay=0.1", 1e-4), "rmsprop": ("rmsprop,momentum=0.9", 1e-4), "adagrad": ("adagrad", 1e-2),
           "lamb": ("lamb", 1e-3)}
FURTHER_CASES = ["mlp"]

# A ReLU or a maximum whose inputs differ by less than rounding may go either way, which changes a gradient by 1e-3 of itself: in
# ResNet-18 about one of a step's 500,000 does. At the rates above PyTorch's own float32 runs, which differ in the order of their sums
# alone (permuted_sums.py), then lie 2e-3 apart in step 3 and 3e-1 in step 8 (SGD), 3e-3 and 5e-2 (AdamW): their error would bound
# nothing. The smaller the rate, the longer it takes until such a step shows in the loss. The MNIST CNN's first steps at those rates
# throw its loss from 2.5 to 12.7 (AdamW), and from there PyTorch's own runs in 16 bits lie 2e-1 apart.
RATES = {("mnist-cnn-no-dropout", "sgd"): 3e-4, ("mnist-cnn-no-dropout", "adamw"): 5e-5,
         ("resnet18", "sgd"): 1e-4, ("resnet18", "adamw"): 1e-5}

# Groups of a batch's samples that go through the model apart: those of the ranks of a case, or the micro-batches of one rank. The running
# statistics are those of the first rank's groups, one after the other.
GROUPS = {"resnet18-ddp": 2, "resnet18-16": 8}
RANKS = {"resnet18-ddp": 2}


def model_of(case):
    """The model's name in examples/export/export.py."""
    return case.removesuffix("-ddp").removesuffix("-16")


def optimizers(case):
    """Those that the case is recorded with."""
    return [*OPTIMIZERS, *(FURTHER if case in FURTHER_CASES else [])]


def rate(case, optimizer):
    return RATES.get((model_of(case), optimizer), {**OPTIMIZERS, **FURTHER}[optimizer][1])


def data(model, variant=0):
    """All samples of the run, in order: {input: array [STEPS * batch, ...]}. The first batch is repeated every fourth step, so that
    the loss has something to learn. Other variants are other samples of the same kind."""
    _, batch, inputs = {**CASES, **UNRECORDED}[model]
    rng = np.random.default_rng(2024 + variant)
    arrays = {}
    for name, (kind, shape, bound) in inputs.items():
        full = (4 * batch, *shape)
        if kind == "float":
            distinct = rng.standard_normal(full).astype(np.float32)
        elif kind == "ones":
            distinct = np.ones(full, np.int64)
        elif kind == "prefix":  # of ones: as long as a sequence without its padding
            distinct = (np.arange(shape[0]) < rng.integers(shape[0] // 2, shape[0] + 1, (full[0], 1))).astype(np.int64)
        elif kind == "padded":  # labels, -100 after the end of a sequence
            distinct = rng.integers(1, bound, full).astype(np.int64)
            distinct[np.arange(shape[0]) >= rng.integers(shape[0] // 2, shape[0] + 1, (full[0], 1))] = -100
        else:
            # Token 0 is BERT's padding, whose embedding PyTorch keeps from learning; ONNX does not carry that.
            distinct = rng.integers(1 if kind == "nonzero" else 0, bound, full).astype(np.int64)
        arrays[name] = np.concatenate([distinct] * (STEPS // 4))
    return arrays
