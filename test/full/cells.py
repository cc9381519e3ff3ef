"""The cells of check-cleave-full: what each is called, and the commands that decide it."""
import pathlib
import sys
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "e2e" / "Inputs"
MODELS = ROOT / "test" / "models"
LIT = ["/usr/lib/llvm-22/bin/lit", "-v", "--timeout=3000"]
sys.path[:0] = [str(INPUTS)]

import axes  # noqa: E402
import training_cases  # noqa: E402


@dataclass
class Cell:
    """Commands run in order in an empty folder; all must end with 0. {build}, {python} and {folder} are filled in. The last line
    that the last one prints goes into the table."""
    name: str
    commands: list
    seconds: int = 900
    models: list = field(default_factory=list)  # ONNX files whose weights are made first, below {folder}


def local(path):
    """Where a model lies once its weights are made."""
    path = ROOT / path
    return "{folder}/" + f"{path.parent.name}/{path.name}" if path.is_relative_to(MODELS) else str(path)


def compile_command(model, program, *options):
    return ["cleave", "compile", model, "-o", "{folder}/" + program, *options]


def training_cells():
    for case, options in axes.MODELS.items():
        path, batch, _ = training_cases.CASES[case]
        model = local(path)
        before = []
        if "bert" in case:  # recorded without dropout
            before = [["{python}", f"{INPUTS}/without_dropout.py", model, "{folder}/plain.onnx"]]
            model = "{folder}/plain.onnx"
        for layout, mesh in axes.LAYOUTS.items():
            if not axes.applies(case, layout):
                continue
            for optimizer, form in axes.OPTIMIZERS.items():
                for precision, types in axes.PRECISIONS.items():
                    compiled = compile_command(model, "program", "--train", "--loss-output", "loss", "--optimizer", form,
                                               "--global-batch", str(batch), *mesh, *types, *options)
                    compared = ["{python}", f"{INPUTS}/compare_losses.py", case, optimizer, "{folder}/program",
                                f"{INPUTS}/losses.json"]
                    yield Cell(f"train/{case}/{layout}/{optimizer}/{precision}",
                               [*before, compiled, ["cleave", "verify", "{folder}/program"], compared],
                               models=[path] if MODELS in (ROOT / path).parents else [])


def inference_cells():
    highs = ["tokens=256", "labels=2", "input_ids=1000"]
    files = [path for path in sorted(MODELS.glob("*/*.onnx")) if not path.name.endswith(".inference.onnx")]
    for path in [*files, ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx"]:
        for layout, mesh in axes.INFERENCE_LAYOUTS.items():
            ranks = 2 if mesh else 1
            compiled = compile_command(local(path), "program", "--dim", f"batch={4 // ranks}", *mesh)
            compared = ["{python}", f"{INPUTS}/compare_onnxruntime.py", local(path), "{folder}/program", "--dim", "batch=4"]
            for high in highs:
                compared += ["--high", high]
            yield Cell(f"infer/{path.stem}/{layout}", [compiled, compared],
                       models=[path] if path.is_relative_to(MODELS) else [])


def memory_cells():
    path = MODELS / "bert-base" / "bert-base.dynamo23.onnx"
    watch = ["cc", "-shared", "-fPIC", "-O1", f"{INPUTS}/watch_resident.c", "-o", "{folder}/watch.so"]
    forms = {"infer": ("infer", ["--dim", "batch=2"], ["--output", "logits={folder}/y.npy"]),
             "dp1": ("train", ["--dim", "batch=2", "--train", "--loss-output", "loss"], []),
             "dp2": ("train", ["--dim", "batch=1", "--train", "--loss-output", "loss", "--mesh", "dp=2"], [])}
    for name, (command, options, arguments) in forms.items():
        check = ["{python}", f"{INPUTS}/check_memory.py", "{folder}/watch.so", "bert-base", "{folder}/program", command, *arguments]
        yield Cell(f"memory/bert-base/{name}", [watch, compile_command(local(path), "program", *options), check], models=[path])


def command_cells():
    yield Cell("suite/gtest", [["ctest", "--test-dir", "{build}", "--timeout", "900", "-Q"]], 3600)
    yield Cell("suite/lit", [[*LIT, "{build}/test"]], 7200)
    for kind in axes.SANITIZERS:
        yield Cell(f"sanitizer/{kind}", [["env", "CLEAVE_TEST_PYTHON={python}", f"{ROOT}/tools/dev/sanitize.sh", kind]], 14400)
    seeds = [str(path) for path in sorted(MODELS.glob("*/*.onnx")) if not path.name.endswith(".inference.onnx") and
             path.stat().st_size < 80000]
    for seed in axes.FUZZ_SEEDS:
        yield Cell(f"fuzz/seed-{seed}", [["{build}/fuzz/cleave-import-fuzz", f"-max_total_time={axes.FUZZ_SECONDS}", f"-seed={seed}",
                                          "-timeout=20", "-rss_limit_mb=4096", "-max_len=100000",
                                          "-seed_inputs=" + ",".join(seeds)]], axes.FUZZ_SECONDS + 300)
    yield Cell("checkpoint/kill-9", [[*LIT, "--param", f"moments={axes.KILLS}", "--filter", "kill-while-saving", "{build}/test"]], 3600)


def all_cells():
    return [*training_cells(), *inference_cells(), *memory_cells(), *command_cells()]
