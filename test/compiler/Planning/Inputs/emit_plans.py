"""emit_plans.py [--stop-after PHASE] WEIGHTS FOLDER [PATTERN...]: plans of small models in many layouts, for PlanMutants.

WEIGHTS holds the models with their weights (test/models/make_weights.py). Writes FOLDER/MODEL-LAYOUT.plan for each pair whose name
matches a pattern (default: all), but none that is another one's bytes: a layout may mean nothing for a model. With --stop-after, the
modules after that phase, FOLDER/MODEL-LAYOUT.mlir, for ShardedMutants; and those of graphs in which tables are repeated by the batch, along
inner dimensions, too (test/e2e/operators/Inputs/graphs/repeats.py), which are made in FOLDER."""
import argparse
import fnmatch
import pathlib
import subprocess
import sys

TRAIN = ["--train", "--loss-output", "loss", "--global-batch"]
ADAMW, SGD = ["--optimizer", "adamw"], ["--optimizer", "sgd,momentum=0.9"]

MODELS = {
    "mlp": ["mlp/mlp.torchscript.onnx", *TRAIN, "16"],
    "cnn": ["mnist-cnn-no-dropout/mnist-cnn-no-dropout.torchscript.onnx", *TRAIN, "8"],
    "gpt": ["gpt-nano/gpt-nano.onnx", *TRAIN, "4"],
}
LAYOUTS = {
    "one": ADAMW,
    "dp2": [*ADAMW, "--mesh", "dp=2"],
    "small-buckets": [*ADAMW, "--mesh", "dp=2", "--bucket-size", "8KiB"],
    "fsdp2": [*ADAMW, "--mesh", "fsdp=2"],
    "zero-1": [*ADAMW, "--mesh", "fsdp=2", "--fsdp-strategy", "zero-1"],
    "zero-2": [*ADAMW, "--mesh", "fsdp=2", "--fsdp-strategy", "zero-2"],
    "shard-grad-op": [*SGD, "--mesh", "fsdp=2", "--fsdp-strategy", "shard-grad-op"],
    "dp2-fsdp2": [*ADAMW, "--mesh", "dp=2,fsdp=2"],
    "dp2-micro2": [*SGD, "--mesh", "dp=2", "--micro-batches", "2"],
    "grad-sync-last": [*SGD, "--mesh", "fsdp=2", "--micro-batches", "2", "--grad-sync", "last"],
    "dp2-server": [*ADAMW, "--mesh", "dp=2", "--dp-sync", "parameter-server"],
    "offload-state": [*ADAMW, "--mesh", "fsdp=2", "--offload", "params,grads,optimizer"],
    "offload-activations": [*ADAMW, "--mesh", "dp=2", "--offload", "activations"],
    "recompute": [*ADAMW, "--mesh", "dp=2", "--recompute", "blocks"],
    "save-async": [*ADAMW, "--mesh", "fsdp=2", "--save-async"],
    "pp2": [*SGD, "--mesh", "pp=2", "--micro-batches", "4"],
    "pp2-zb-h1": [*ADAMW, "--mesh", "pp=2", "--micro-batches", "4", "--schedule", "zb-h1"],
    "pp2-turns": [*SGD, "--mesh", "pp=2", "--micro-batches", "4", "--schedule", "interleaved-1f1b"],
    "dp2-pp2-gpipe": [*ADAMW, "--mesh", "dp=2,pp=2", "--micro-batches", "2", "--schedule", "gpipe"],
    "pp4": [*SGD, "--mesh", "pp=4", "--micro-batches", "4"],
    "fsdp2-pp2": [*ADAMW, "--mesh", "fsdp=2,pp=2", "--micro-batches", "2"],
    "fp16": [*ADAMW, "--mesh", "dp=2", "--precision", "fp16", "--loss-scale", "dynamic,init=1024"],
}
OTHERS = {
    "mlp-infer": ["mlp/mlp.torchscript.onnx", "--dim", "batch=4"],
    "mlp-infer-dp2": ["mlp/mlp.torchscript.onnx", "--dim", "batch=4", "--mesh", "dp=2"],
    "gpt-pp2-recompute": [*MODELS["gpt"], *ADAMW, "--mesh", "pp=2", "--micro-batches", "4", "--schedule", "zb-h1", "--recompute", "blocks",
                          "--recompute-when", "except-last"],
    "mlp-dp2-bias-gradients": [*MODELS["mlp"], *ADAMW, "--mesh", "dp=2", "--bias-gradients", "fused"],
    "gpt-fsdp2-bias-gradients": [*MODELS["gpt"], *ADAMW, "--mesh", "fsdp=2", "--micro-batches", "2", "--bias-gradients", "fused"],
    "gpt-pp2-offload": [*MODELS["gpt"], *ADAMW, "--mesh", "pp=2", "--micro-batches", "4", "--offload", "activations"],
    "gpt-fsdp2-pp2-once": [*MODELS["gpt"], *ADAMW, "--mesh", "fsdp=2,pp=2", "--micro-batches", "2", "--fsdp-strategy", "shard-grad-op"],
    "mlp-dp2-pp2-server": [*MODELS["mlp"], *ADAMW, "--mesh", "dp=2,pp=2", "--micro-batches", "4", "--dp-sync", "parameter-server"],
    "gpt-dp2-pp2-server-rank": [*MODELS["gpt"], *SGD, "--mesh", "dp=2,pp=2", "--micro-batches", "2", "--dp-sync", "parameter-server",
                                "--loss-average", "rank", "--grad-sync", "every"],
    "resnet18-deferred": ["resnet18/resnet18.torchscript.onnx", *TRAIN, "8", *SGD, "--mesh", "dp=2", "--micro-batches", "2",
                          "--batch-norm", "local-deferred"],
    "resnet18-sync": ["resnet18/resnet18.torchscript.onnx", *TRAIN, "4", *SGD, "--mesh", "dp=2", "--batch-norm", "sync"],
}
REPEATS = {f"repeats{seed}-{layout}": [f"repeats{seed}.onnx", *TRAIN, "8", *SGD, "--mesh", mesh]
           for seed in range(8) for layout, mesh in (("dp2", "dp=2"), ("dp2-fsdp2", "dp=2,fsdp=2"))}


def plans(of_modules):
    for model, arguments in MODELS.items():
        for layout, options in LAYOUTS.items():
            yield f"{model}-{layout}", [*arguments, *options]
    yield from OTHERS.items()
    if of_modules:
        yield from REPEATS.items()


def find_model(name, weights, folder):
    """A model with its weights; a graph of repeats.py is made."""
    if not name.startswith("repeats"):
        return weights / name
    path = folder / name
    if not path.exists():
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "e2e/operators/Inputs/graphs"))
        import repeats
        repeats.Builder(int(path.stem[len("repeats"):])).job().save(path)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after")
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_args()
    weights, folder, patterns = given.weights, given.folder, given.patterns or ["*"]
    suffix, output = (".mlir", ["--stop-after", given.stop_after]) if given.stop_after else (".plan", ["--emit", "plan"])
    folder.mkdir(parents=True, exist_ok=True)
    seen = set()
    for name, (model, *options) in plans(given.stop_after):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            continue
        path = folder / (name + suffix)
        command = ["cleave", "compile", str(find_model(model, weights, folder)), *options, *output, "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"FAILED: {' '.join(command)}\n{done.stderr}")
        if path.read_bytes() in seen:
            path.unlink()
        else:
            seen.add(path.read_bytes())


if __name__ == "__main__":
    main()
