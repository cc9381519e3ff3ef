"""The cells of check-cleave-full: what each is called, and what decides it."""
import sys
from dataclasses import dataclass
from typing import Callable

import axes
import compare_all
import compare_losses
import mutual_losses
import pairwise
from axes import INPUTS, ROOT
from outcomes import MODELS, Configuration, Failed, said

LIT = ["/usr/lib/llvm-22/bin/lit", "-v", "--timeout=3000"]


@dataclass
class Cell:
    """decide(workshop, worker) gives the figure for the table, or raises Failed with the reason. What takes longer than `seconds` has
    failed; `usual` is what a cell takes of which nothing is known yet."""
    name: str
    decide: Callable
    seconds: int = 600
    usual: float = 5


def commands(*lines):
    """Decided by commands, which must all end with 0; the last line that the last one prints is the figure. {build}, {python},
    {folder} and {model:PATH}, a model of test/models with its weights, are filled in."""

    def fill(part, workshop, worker, folder):
        part = str(part)
        if part.startswith("{model:"):
            return str(workshop.weights(part[7:-1], worker))
        values = {"{build}": workshop.build, "{python}": sys.executable, "{folder}": folder}
        for key, value in values.items():
            part = part.replace(key, str(value))
        return part

    def decide(workshop, worker):
        with workshop.scratch() as folder:
            for line in lines:
                output = worker.run([fill(part, workshop, worker, folder) for part in line], folder)
        return said(output)

    return decide


# Training

def within_the_bound(configuration):
    def decide(workshop, worker):
        precision = axes.PRECISIONS[configuration.precision]
        record = compare_losses.recorded(INPUTS / precision.recording, configuration.model, configuration.optimizer)
        if not record:
            raise Failed(f"no recording in {precision.recording}")
        outcome = workshop.outcome(configuration, worker)
        worst, reason = compare_losses.judge(outcome["losses"], record)
        if reason or outcome["statistics"]:
            raise Failed(reason or outcome["statistics"][0])
        return f"largest error {worst:.2f} of what is allowed; last loss {outcome['losses'][-1]:.6f}"

    return decide


def equal_to_the_last_bit(configuration):
    plain = Configuration(configuration.model, configuration.layout, configuration.optimizer, configuration.precision)

    def decide(workshop, worker):
        expected, ours = workshop.outcome(plain, worker), workshop.outcome(configuration, worker)
        for step, (loss, other) in enumerate(zip(expected["losses"], ours["losses"], strict=True), 1):
            if loss != other:
                raise Failed(f"step {step}: loss {other!r}, without {configuration.variant} {loss!r}")
        for name in sorted(expected["state"].keys() | ours["state"].keys()):
            if expected["state"].get(name) != ours["state"].get(name):
                raise Failed(f"the losses are equal, {name} is not")
        if expected["losses"][0] == expected["losses"][-1]:
            raise Failed("the loss does not change; that is no training run")
        return (f"{len(ours['losses'])} losses and {ours['bytes']} bytes of state equal; a rank's plan "
                f"{expected['planned']} -> {ours['planned']} bytes")

    return decide


def training_cell(model, layout, optimizer, precision, variant="plain"):
    configuration = Configuration(model, layout, optimizer, precision, variant)
    if variant == "plain":
        return Cell("train/" + configuration.name, within_the_bound(configuration))
    return Cell("same/" + configuration.name, equal_to_the_last_bit(configuration))


def training_cells():
    """Cells that share a program lie side by side."""
    for model in axes.MODELS:
        for layout in axes.LAYOUTS:
            for precision in axes.PRECISIONS:
                if not axes.trains(model, layout, precision):
                    continue
                for optimizer in axes.OPTIMIZERS:
                    yield training_cell(model, layout, optimizer, precision)
                    for variant in axes.VARIANTS:
                        if axes.varies(model, layout, optimizer, variant):
                            yield training_cell(model, layout, optimizer, precision, variant)


def pairwise_cells():
    """What the gate runs of these: a variant's program is compared with the plain one, whose losses are compared with the recording."""

    def exists(combination):
        model, layout, optimizer, precision, variant = combination
        return axes.trains(model, layout, precision) and (variant == "plain" or axes.varies(model, layout, optimizer, variant))

    names = set()
    for combination in pairwise.cover(axes.PAIRWISE, exists):
        names |= {training_cell(*combination).name, training_cell(*combination[:4]).name}
    return [cell for cell in training_cells() if cell.name in names]


def mutually_equal(model, optimizer):
    def decide(workshop, worker):
        record = compare_losses.recorded(INPUTS / axes.PRECISIONS["f32"].recording, model, optimizer)
        runs = {layout: workshop.outcome(Configuration(model, layout, optimizer, "f32"), worker)["losses"]
                for layout in axes.MUTUAL_LAYOUTS}
        worst, reason = mutual_losses.judge(runs, record)
        if reason:
            raise Failed(reason)
        return f"largest difference of two layouts {worst:.2f} of what is allowed"

    return decide


def mutual_cells(models):
    for model in models:
        if all(axes.trains(model, layout, "f32") for layout in axes.MUTUAL_LAYOUTS):
            for optimizer in axes.OPTIMIZERS:
                yield Cell(f"mutual/{model}/{optimizer}", mutually_equal(model, optimizer), 1800, usual=10)


def gate_cells():
    return [*pairwise_cells(), *mutual_cells(axes.MUTUAL_GATE)]


# Everything else

def inference_cells():
    files = [path for path in sorted(MODELS.glob("*/*.onnx")) if not path.name.endswith(".inference.onnx")]
    for path in [*files, ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx"]:
        for layout, mesh in axes.INFERENCE_LAYOUTS.items():
            model, batch = f"{{model:{path}}}", 2 if mesh else 4
            bounds = [*compare_all.BOUNDS, *compare_all.OWN_BOUNDS.get(path.parent.name, [])]
            yield Cell(f"infer/{path.stem}/{layout}", commands(
                ["cleave", "compile", model, "-o", "{folder}/program", "--dim", f"batch={batch}", *mesh],
                ["{python}", INPUTS / "compare_onnxruntime.py", model, "{folder}/program", "--dim", "batch=4", *bounds]), usual=20)


def memory_cells():
    path = f"{{model:{MODELS}/bert-base/bert-base.dynamo23.onnx}}"
    watch = ["cc", "-shared", "-fPIC", "-O1", INPUTS / "watch_resident.c", "-o", "{folder}/watch.so"]
    training = ["--train", "--loss-output", "loss"]
    forms = {"infer": ("infer", ["--dim", "batch=2"], ["--output", "logits={folder}/y.npy"]),
             "dp1": ("train", ["--dim", "batch=2", *training], []),
             "dp2": ("train", ["--dim", "batch=1", *training, "--mesh", "dp=2"], [])}
    for name, (command, options, arguments) in forms.items():
        compiled = ["cleave", "compile", path, "-o", "{folder}/program", *options]
        check = ["{python}", INPUTS / "check_memory.py", "{folder}/watch.so", "bert-base", "{folder}/program", command, *arguments]
        yield Cell(f"memory/bert-base/{name}", commands(watch, compiled, check), 900, usual=60)
    watch = ["cc", "-shared", "-fPIC", "-O1", INPUTS / "watch_malloc.c", "-o", "{folder}/watch.so", "-ldl"]
    compiled = ["cleave", "compile", path, "-o", "{folder}/program", *forms["dp2"][1]]
    check = ["{python}", INPUTS / "check_allocations.py", "{folder}/watch.so", "bert-base", "{folder}/program"]
    yield Cell("memory/bert-base/allocations", commands(watch, compiled, check), 900, usual=120)


def command_cells():
    yield Cell("suite/gtest", commands(["ctest", "--test-dir", "{build}", "--timeout", "900", "--no-tests=error", "-Q"]), 3600, usual=60)
    yield Cell("suite/lit", commands([*LIT, "{build}/test"]), 7200, usual=400)
    node_tests = ROOT / "test" / "compiler" / "Import" / "Inputs" / "node_tests.py"
    yield Cell("import/node-tests", commands(["{python}", node_tests, "{build}/bin/cleave-import", "*", axes.NODE_TESTS]), 3600, usual=120)
    seeds = [str(path) for path in sorted(MODELS.glob("*/*.onnx")) if not path.name.endswith(".inference.onnx") and
             path.stat().st_size < 80000]
    for seed in axes.FUZZ_SEEDS:
        fuzz = ["{build}/fuzz/cleave-import-fuzz", f"-max_total_time={axes.FUZZ_SECONDS}", f"-seed={seed}", "-timeout=20",
                "-rss_limit_mb=4096", "-max_len=100000", "-seed_inputs=" + ",".join(seeds)]
        yield Cell(f"fuzz/seed-{seed}", commands(fuzz), axes.FUZZ_SECONDS + 300, usual=axes.FUZZ_SECONDS)
    for kind, seconds in axes.GRAPHS.items():
        graphs = ["{python}", INPUTS / "graphs" / "fuzz_graphs.py", "{folder}", "--kind", kind, "--seconds", seconds, "--first", 100000]
        yield Cell(f"fuzz/graphs-{kind}", commands(graphs), seconds + 600, usual=seconds)
    kill = [*LIT, "--param", f"moments={axes.KILLS}", "--filter", "kill-while-saving", "{build}/test"]
    yield Cell("checkpoint/kill-9", commands(kill), 3600, usual=150)
    for kind, parts in axes.SANITIZERS.items():
        for part in parts:
            sanitize = ["env", "CLEAVE_TEST_PYTHON={python}", ROOT / "tools" / "dev" / "sanitize.sh", kind, part]
            yield Cell(f"sanitizer/{kind}/{part}", commands(sanitize), 14400, usual=3600 if part == "compiler" else 600)


def mutant_cells():
    """Every harmful mutant of a plan is rejected (test/compiler/Planning/mutation)."""
    planning = ROOT / "test" / "compiler" / "Planning"
    models = [MODELS / model / f"{model}.torchscript.onnx" for model in ["mlp", "mnist-cnn-no-dropout", "resnet18"]]
    models.append(ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx")
    weights = ["{python}", MODELS / "make_weights.py", "{folder}/weights", *models]
    emit = ["{python}", planning / "Inputs" / "emit_plans.py", "{folder}/weights", "{folder}/plans"]
    for seed in range(axes.MUTANT_SEEDS):
        first = 1000000 + seed * axes.MUTANTS
        judge = f"{{build}}/test-bin/PlanMutants --mutants {axes.MUTANTS} --seed {first} {{folder}}/plans/*.plan"
        yield Cell(f"mutants/seed-{first}", commands(weights, emit, ["sh", "-c", judge]), 1800, usual=60)


def all_cells():
    return [*training_cells(), *mutual_cells(axes.MODELS), *inference_cells(), *memory_cells(), *mutant_cells(), *command_cells()]
