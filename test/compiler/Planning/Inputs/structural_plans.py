"""structural_plans.py WEIGHTS FOLDER [--pipelines N] [--first SEED] [PATTERN...]: programs that run, with their plans, for StructuralMutants and
run_mutants.py.

Random pipelines (test/e2e/layouts/Inputs/random_pipelines.py) and some layouts without stages: a parameter server, dropout, batch norm over all
ranks and deferred, hybrid sharding, ZeRO-1, offloading, recomputation, dynamic loss scales, evaluation, snapshots, inference. Writes
FOLDER/NAME.so and the plan that is in it, FOLDER/NAME.plan."""
import argparse
import ctypes
import fnmatch
import pathlib
import subprocess
import sys

E2E = pathlib.Path(__file__).resolve().parents[3] / "e2e"
sys.path[:0] = [str(E2E / "Inputs"), str(E2E / "layouts" / "Inputs")]
import fast_linker  # noqa: E402
import random_pipelines  # noqa: E402

TRAIN = ["--train", "--loss-output", "loss"]
ADAMW = ["--optimizer", "adamw"]
MLP, CNN, DROPPING, GPT = ("mlp/mlp.torchscript.onnx", "mnist-cnn-no-dropout/mnist-cnn-no-dropout.torchscript.onnx",
                           "mnist-cnn/mnist-cnn.torchscript.onnx", "gpt-nano/gpt-nano.onnx")
LAYOUTS = {
    "mlp_one": [MLP, *TRAIN, *ADAMW, "--dim", "batch=2"],
    "mlp_hybrid": [MLP, *TRAIN, *ADAMW, "--dim", "batch=2", "--mesh", "dp=2,fsdp=2", "--fsdp-strategy", "shard-grad-op", "--grad-sync", "last",
                   "--micro-batches", "2"],
    "mlp_server": [MLP, *TRAIN, *ADAMW, "--dim", "batch=2", "--mesh", "dp=3", "--dp-sync", "parameter-server", "--micro-batches", "5"],
    "mlp_zero1_async": [MLP, *TRAIN, *ADAMW, "--dim", "batch=2", "--mesh", "fsdp=2", "--fsdp-strategy", "zero-1", "--save-async"],
    "mlp_infer_dp2": [MLP, "--dim", "batch=2", "--mesh", "dp=2"],
    "mlp_infer_pp2": [MLP, "--dim", "batch=2", "--mesh", "pp=2"],
    "cnn_dropout_dp2": [DROPPING, *TRAIN, *ADAMW, "--dim", "batch=2", "--mesh", "dp=2"],
    "mlp_offload": [MLP, *TRAIN, *ADAMW, "--dim", "batch=2", "--mesh", "dp=2", "--offload", "params,grads,optimizer,activations"],
    "mlp_fp16": [MLP, *TRAIN, *ADAMW, "--dim", "batch=2", "--mesh", "fsdp=2", "--precision", "fp16", "--loss-scale", "dynamic,init=1024"],
    "gpt_recompute": [GPT, *TRAIN, *ADAMW, "--dim", "batch=1", "--mesh", "fsdp=2", "--recompute", "blocks"],
}


class Model(ctypes.Structure):
    """The head of cleave_model (runtime/include/cleave/model.h)."""
    _fields_ = [("abi", ctypes.c_uint32), ("name", ctypes.c_char_p), ("plan", ctypes.c_void_p), ("plan_size", ctypes.c_size_t),
                ("kernels", ctypes.c_void_p), ("kernel_facts", ctypes.c_void_p), ("kernel_count", ctypes.c_size_t),
                ("rest", ctypes.c_void_p * 13)]


def model_of(library, name):
    return Model.in_dll(library, f"cleave_model_{name}")


def make(folder, name, arguments):
    target = folder / f"{name}.so"
    done = subprocess.run(["cleave", "compile", *map(str, arguments), "--emit", "shared", "-o", str(target)], capture_output=True, text=True)
    if done.returncode:
        print(f"{name} is left out: {done.stderr.splitlines()[0]}")
        return
    (folder / f"{name}.options").write_text(" ".join(map(str, arguments)) + "\n")
    dump = ("import ctypes, sys; sys.path.insert(0, sys.argv[3]); import structural_plans as s; "
            "m = s.model_of(ctypes.CDLL(sys.argv[1]), sys.argv[2]); sys.stdout.buffer.write(ctypes.string_at(m.plan, m.plan_size))")
    plan = subprocess.run([sys.executable, "-c", dump, str(target), name, str(pathlib.Path(__file__).parent)], capture_output=True, check=True)
    (folder / f"{name}.plan").write_bytes(plan.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pipelines", type=int, default=8)
    parser.add_argument("--first", type=int, default=500000)
    parser.add_argument("patterns", nargs="*", default=["*"])
    given = parser.parse_args()
    folder = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    fast_linker.use(folder)
    for name, (model, *options) in LAYOUTS.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in given.patterns):
            make(folder, name, [given.weights / model, *options])
    for seed in range(given.first, given.first + given.pipelines):
        path = folder / f"random_{seed}.onnx"
        _, _, has_batch_norm, has_terms = random_pipelines.model(seed, path)
        pipeline, *_ = random_pipelines.choose(seed, has_batch_norm, has_terms)
        make(folder, f"random_{seed}", [path, *TRAIN, "--dim", "batch=2", *pipeline])


if __name__ == "__main__":
    main()
