"""The cells of check-cleave-full: what each is called, and what decides it."""
import itertools

import axes
import compare_all
import compare_losses
import cuda_cells
import mutual_losses
import pairwise
import training_cases
from axes import E2E, INPUTS, ROOT
from cell import TREE, Cell, command_cell
from outcomes import MODELS, Configuration, Failed, recording

TRAINING_FILES = ("test/models/", "examples/gpt-nano/")
LIT = ["{python}", ROOT / "test" / "full" / "lit_suite.py", "{build}"]
GTEST = ["{python}", ROOT / "test" / "full" / "gtest_suite.py", "{build}"]
PASSED = r"^(\d+) passed"


# Training

def within_the_bound(configuration):
    def decide(workshop, worker):
        record = recording(configuration.model, configuration.optimizer, configuration.precision)
        if not record:
            raise Failed("there is no recording of it")
        outcome = workshop.outcome(configuration, worker)
        worst, reason = compare_losses.judge(outcome["losses"], record)
        if reason or outcome["statistics"]:
            raise Failed(reason or outcome["statistics"][0])
        return f"largest error {worst:.2f} of what is allowed; last loss {outcome['losses'][-1]:.6f}"

    return decide


def demand_equal(expected, ours, what, scalars=True):
    """Losses and states. Scalars may be sums whose order follows the layout; then those that both have are not compared."""
    for step, (loss, other) in enumerate(zip(expected["losses"], ours["losses"], strict=True), 1):
        if loss != other:
            raise Failed(f"step {step}: loss {other!r}, {what} {loss!r}")
    for name in sorted(expected["state"].keys() | ours["state"].keys()):
        if expected["state"].get(name) != ours["state"].get(name) and (scalars or not name.startswith("scalar.")):
            raise Failed(f"the losses are equal, {name} is not")
    if expected["losses"][0] == expected["losses"][-1]:
        raise Failed("the loss does not change; that is no training run")


def equal_to_the_last_bit(configuration):
    plain = Configuration(configuration.model, configuration.layout, configuration.optimizer, configuration.precision)

    def decide(workshop, worker):
        expected, ours = workshop.outcome(plain, worker), workshop.outcome(configuration, worker)
        demand_equal(expected, ours, f"without {configuration.variant}")
        if expected["plan"] == ours["plan"]:
            raise Failed("its plan is the plain one's: the cell shows nothing; drop it in axes.py (Variant.leaves)")
        return (f"{len(ours['losses'])} losses and {ours['bytes']} bytes of state equal; a rank's plan "
                f"{expected['planned']} -> {ours['planned']} bytes")

    return decide


def training_cell(model, layout, optimizer, precision, variant="plain"):
    configuration = Configuration(model, layout, optimizer, precision, variant)
    detail = configuration.detail()
    if variant == "plain":
        return Cell("train/" + configuration.name, within_the_bound(configuration), files=TRAINING_FILES, detail=detail)
    return Cell("same/" + configuration.name, equal_to_the_last_bit(configuration), files=TRAINING_FILES, detail=detail)


def training_cells():
    """Cells that share a program lie side by side."""
    for model in axes.MODELS:
        for layout in axes.LAYOUTS:
            for precision in axes.PRECISIONS:
                if not axes.trains(model, layout, precision):
                    continue
                for optimizer in axes.optimizers(model, layout, precision):
                    yield training_cell(model, layout, optimizer, precision)
                    for variant in axes.VARIANTS:
                        if axes.varies(model, layout, optimizer, precision, variant):
                            yield training_cell(model, layout, optimizer, precision, variant)


def pairwise_cells():
    """What the gate runs of these: a variant's program is compared with the plain one, whose losses are compared with the recording."""

    def exists(combination):
        model, layout, optimizer, precision, variant = combination
        if not axes.trains(model, layout, precision) or optimizer not in axes.optimizers(model, layout, precision):
            return False
        return variant == "plain" or axes.varies(model, layout, optimizer, precision, variant)

    names = set()
    for combination in pairwise.cover(axes.PAIRWISE, exists):
        names |= {training_cell(*combination).name, training_cell(*combination[:4]).name}
    return [cell for cell in training_cells() if cell.name in names]


def mutual_configurations(model, optimizer):
    return [Configuration(model, layout, optimizer, "f32") for layout in axes.MUTUAL_LAYOUTS]


def mutually_equal(model, optimizer):
    def decide(workshop, worker):
        record = recording(model, optimizer, "f32")
        runs = {each.layout: workshop.outcome(each, worker)["losses"] for each in mutual_configurations(model, optimizer)}
        worst, reason = mutual_losses.judge(runs, record)
        if reason:
            raise Failed(reason)
        return f"largest difference of two layouts {worst:.2f} of what is allowed"

    return decide


def mutual_cells(models):
    for model in models:
        if all(axes.trains(model, layout, "f32") for layout in axes.MUTUAL_LAYOUTS):
            for optimizer in training_cases.OPTIMIZERS:
                detail = str([configuration.detail() for configuration in mutual_configurations(model, optimizer)])
                yield Cell(f"mutual/{model}/{optimizer}", mutually_equal(model, optimizer), 1800, usual=10, files=TRAINING_FILES, detail=detail)


# Schedules

def scheduled_as_on_one_stage(case, mesh, schedule, precision):
    chosen = axes.PIPELINE_MESHES[mesh]
    pipeline = Configuration(case, f"{mesh}:{schedule}", axes.VARIANT_OPTIMIZER, precision)
    layout, _ = axes.on_one_stage(chosen, axes.SCHEDULES[schedule])
    one_stage = Configuration(case, layout, axes.VARIANT_OPTIMIZER, precision)

    def decide(workshop, worker):
        record = recording(case, axes.VARIANT_OPTIMIZER, precision)
        if not record:
            raise Failed("there is no recording of it")
        expected, ours = workshop.outcome(one_stage, worker), workshop.outcome(pipeline, worker)
        demand_equal(expected, ours, "the same chunks on one stage", scalars=False)
        worst, reason = compare_losses.judge(ours["losses"], record)
        statistics = ours["statistics"] if chosen.data_ranks == 1 else []  # recorded for one rank
        if reason or statistics:
            raise Failed(reason or statistics[0])
        return (f"{len(ours['losses'])} losses and {ours['bytes']} bytes of state equal to one stage's; largest error {worst:.2f} of what "
                f"is allowed; a rank's plan {expected['planned']} -> {ours['planned']} bytes")

    detail = f"{pipeline.detail()} {one_stage.detail()}"
    return Cell(f"schedules/{case}/{mesh}/{schedule}/{precision}", decide, files=TRAINING_FILES, detail=detail)


def schedule_cells():
    """Cells that share a program lie side by side."""
    for case, mesh, precision, schedule in itertools.product(axes.PIPELINE_CASES, axes.PIPELINE_MESHES, axes.PIPELINE_PRECISIONS, axes.SCHEDULES):
        if axes.pipelined(case, mesh, schedule):
            yield scheduled_as_on_one_stage(case, mesh, schedule, precision)


def pairwise_schedule_cells():
    names = {"schedules/" + "/".join(each) for each in pairwise.cover(axes.PAIRWISE_SCHEDULES, lambda each: axes.pipelined(*each))}
    return [cell for cell in schedule_cells() if cell.name in names]


def gate_cells():
    return [*pairwise_cells(), *pairwise_schedule_cells(), *cuda_cells.pairwise_cells(), *mutual_cells(axes.MUTUAL_GATE)]


# Everything else

MODEL_FILES = ["test/models/make_weights.py", "test/requirements.txt"]


def inference_cells():
    files = [path for path in sorted(MODELS.glob("*/*.onnx")) if not path.name.endswith(".inference.onnx")]
    for path in [*files, ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx"]:
        for layout, mesh in axes.INFERENCE_LAYOUTS.items():
            model, batch = f"{{model:{path}}}", 2 if mesh else 4
            bounds = [*compare_all.BOUNDS, *compare_all.OWN_BOUNDS.get(path.parent.name, [])]
            yield command_cell(f"infer/{path.stem}/{layout}", [
                ["cleave", "compile", model, "-o", "{folder}/program", "--dim", f"batch={batch}", *mesh],
                ["{python}", INPUTS / "compare_onnxruntime.py", model, "{folder}/program", "--dim", "batch=4", *bounds]], 600, 20,
                [*MODEL_FILES, f"{path.parent.relative_to(ROOT)}/", "test/e2e/Inputs/compare_onnxruntime.py"], counts=r"^(\d+) numbers equal within the bound")


def memory_cells():
    path = f"{{model:{MODELS}/bert-base/bert-base.dynamo23.onnx}}"
    watch = ["cc", "-shared", "-fPIC", "-O1", E2E / "memory" / "Inputs" / "watch_resident.c", "-o", "{folder}/watch.so"]
    training = ["--train", "--loss-output", "loss"]
    files = [*MODEL_FILES, "test/models/bert-base/", "test/e2e/Inputs/", "test/e2e/memory/Inputs/"]
    forms = {"infer": ("infer", ["--dim", "batch=2"], ["--output", "logits={folder}/y.npy"]),
             "dp1": ("train", ["--dim", "batch=2", *training], []),
             "dp2": ("train", ["--dim", "batch=1", *training, "--mesh", "dp=2"], [])}
    for name, (command, options, arguments) in forms.items():
        compiled = ["cleave", "compile", path, "-o", "{folder}/program", *options]
        check = ["{python}", E2E / "memory" / "Inputs" / "check_memory.py", "{folder}/watch.so", "bert-base", "{folder}/program", command, *arguments]
        yield command_cell(f"memory/bert-base/{name}", [watch, compiled, check], 900, 60, files, counts=r"taken ([\d.]+) MiB")
    watch = ["cc", "-shared", "-fPIC", "-O1", E2E / "memory" / "Inputs" / "watch_malloc.c", "-o", "{folder}/watch.so", "-ldl"]
    compiled = ["cleave", "compile", path, "-o", "{folder}/program", *forms["dp2"][1]]
    check = ["{python}", E2E / "memory" / "Inputs" / "check_allocations.py", "{folder}/watch.so", "bert-base", "{folder}/program"]
    yield command_cell("memory/bert-base/allocations", [watch, compiled, check], 900, 120, files, counts=r"; (\d+) from the start")


def command_cells():
    yield from suite_cells()
    linker, packages = "test/e2e/Inputs/fast_linker.py", "test/requirements.txt"
    node_tests = ROOT / "test" / "compiler" / "Import" / "Inputs" / "node_tests.py"
    yield command_cell("import/node-tests", [["{python}", node_tests, "{build}/bin/cleave-import", "*", axes.NODE_TESTS]], 3600, 120,
                       ["test/compiler/Import/", "test/requirements.txt"], "importer", counts=PASSED)
    changed = ROOT / "test" / "compiler" / "Import" / "Inputs" / "mutated_node_tests.py"
    for seed in axes.CHANGED_NODE_TESTS:
        yield command_cell(f"import/changed-node-tests-{seed}", [["{python}", changed, "{folder}", "--seed", seed, "--seconds", axes.CHANGED_SECONDS]],
                           axes.CHANGED_SECONDS + 600, axes.CHANGED_SECONDS, ["test/compiler/Import/", "test/e2e/operators/Inputs/graphs/containers.py", linker, packages],
                           counts=r"^(\d+) changed node tests")
    small = [MODELS / name / f"{name}.{exporter}.onnx" for name, exporter in axes.CHANGED_MODELS.items()]
    weights = ["{python}", MODELS / "make_weights.py", "{folder}/models", *small]
    models = ["{python}", E2E / "operators" / "Inputs" / "mutated_models.py", "{folder}/models", "--seed", 1, "--models", 100000, "--seconds", axes.CHANGED_SECONDS]
    yield command_cell("import/changed-models", [weights, models], axes.CHANGED_SECONDS + 600, axes.CHANGED_SECONDS,
                       ["test/models/", "test/e2e/operators/Inputs/mutated_models.py"], counts=r"^(\d+) of \d+ changed models handled")
    ranges = ["{python}", E2E / "operators" / "Inputs" / "check_index_ranges.py", "{folder}", "2"]
    yield command_cell("import/index-ranges", [ranges], 1800, 120, ["test/e2e/operators/Inputs/check_index_ranges.py", packages],
                       counts=r"(\d+) checks: 0 failures")
    seeds = [str(path) for path in sorted(MODELS.glob("*/*.onnx")) if not path.name.endswith(".inference.onnx") and
             path.stat().st_size < 80000]
    for seed in axes.FUZZ_SEEDS:
        fuzz = ["{build}/fuzz/cleave-import-fuzz", f"-max_total_time={axes.FUZZ_SECONDS}", f"-seed={seed}", "-timeout=20",
                "-rss_limit_mb=4096", "-max_len=100000", "-seed_inputs=" + ",".join(seeds)]
        yield command_cell(f"fuzz/seed-{seed}", [fuzz], axes.FUZZ_SECONDS + 300, axes.FUZZ_SECONDS,
                           ["test/compiler/Import/fuzz/", "test/models/"], "importer", counts=r"^Done (\d+) runs")
    for kind, seconds in axes.GRAPHS.items():
        graphs = ["{python}", E2E / "operators" / "Inputs" / "graphs" / "fuzz_graphs.py", "{folder}", "--kind", kind, "--seconds", seconds, "--first", 100000]
        yield command_cell(f"fuzz/graphs-{kind}", [graphs], seconds + 600, seconds, ["test/e2e/operators/Inputs/graphs/", linker, packages],
                           counts=r"(\d+) of \d+ numbers compared")
    repeats = ["{python}", E2E / "operators" / "Inputs" / "graphs" / "repeats.py", "{folder}", "--first", 700, "--graphs", axes.REPEATED_GRAPHS, "--every"]
    yield command_cell("fuzz/repeats", [repeats], 3600, 600, ["test/e2e/operators/Inputs/graphs/", "test/e2e/Inputs/", linker, packages],
                       counts=r"^(\d+) of \d+ graphs train")
    decisions = ["{python}", E2E / "training" / "Inputs" / "check_decisions.py", "{folder}", 1000, axes.DECISION_MODELS]
    yield command_cell("fuzz/decisions", [decisions], 3600, 400, ["test/e2e/training/Inputs/check_decisions.py", "test/e2e/Inputs/", packages],
                       counts=r"^(\d+) models of decisions")
    operators = ["{python}", ROOT / "test" / "compiler" / "Import" / "Inputs" / "hostile_operators.py", "{folder}/files", "--seed", 1, "--variants", axes.HOSTILE_VARIANTS]
    yield command_cell("import/hostile-operators", [operators], 7200, 400, ["test/compiler/Import/Inputs/hostile_operators.py", packages],
                       counts=r"^(\d+) of \d+ small files handled")
    layouts = ["{python}", E2E / "layouts" / "Inputs" / "random_layouts.py", "{folder}", "--first", 1000, "--count", 10000, "--seconds", axes.LAYOUT_SECONDS]
    yield command_cell("fuzz/layouts", [layouts], axes.LAYOUT_SECONDS + 600, axes.LAYOUT_SECONDS,
                       [*MODEL_FILES, "test/models/", "test/e2e/Inputs/", "test/e2e/layouts/Inputs/"], counts=r"(\d+) equal")
    for i in range(axes.PIPELINES_FUZZED):
        pipelines = ["{python}", E2E / "layouts" / "Inputs" / "random_pipelines.py", "{folder}", "--first", 100000 * (i + 1), "--count", 100000,
                     "--seconds", axes.PIPELINE_SECONDS]
        yield command_cell(f"fuzz/pipelines-{i + 1}", [pipelines], axes.PIPELINE_SECONDS + 600, axes.PIPELINE_SECONDS,
                           ["test/e2e/layouts/Inputs/random_pipelines.py", "test/e2e/Inputs/seed_runs.py", linker, packages], counts=r"^(\d+) .*, 0 failed")
    yield command_cell("packages/debian-12", [["bash", ROOT / "tools" / "dev" / "try_packages.sh", "{build}", "{folder}"]], 3600, 400,
                       ["tools/dev/try_packages.sh", "docs/linking.md", "docs/recorded/", "examples/", "test/docs/Inputs/run_guide.py", "python/", "LICENSE"], "all", "packages",
                       counts=r"^installed and tried: (\S+\.deb)")
    kill = "test/e2e/checkpoints/kill-while-saving.test"  # by its path: lit lists no folders then, which no key of one test has
    yield command_cell("checkpoint/kill-9", [["/usr/lib/llvm-22/bin/lit", "--timeout=3000", "--param", f"moments={axes.KILLS}", f"{{build}}/{kill}"]],
                       3600, 150, [kill, "test/lit.cfg.py", "test/lit.site.cfg.py.in"], place="lit", counts=r"^\s*Passed *: (\d+)")
    yield from tutorial_cells()
    yield from sanitizer_cells()


def suite_cells():
    """The gate's suites. Tests that need what its machine and its Python may lack are cells by themselves, so that no cell passes without them."""
    yield command_cell("suite/gtest", [GTEST], 3600, 60, TREE, "all", counts=PASSED)
    yield command_cell("suite/lit", [LIT], 7200, 400, TREE, "all", "lit", counts=PASSED)
    line = " ".join(map(str, [*LIT, "--needs", "torch,tokenizers", "--python", "${CLEAVE_TORCH_PYTHON:-{python}}"]))
    yield command_cell("suite/lit-torch", [["sh", "-c", f"exec {line}"]], 7200, 900, TREE, "all", "lit", counts=PASSED)
    yield command_cell("suite/lit-ptxas", [[*LIT, "--needs", "ptxas,nvcc"]], 7200, 200, TREE, "all", "lit", counts=PASSED)
    yield command_cell("suite/lit-pages", [[*LIT, "--needs", "mkdocs"]], 1800, 30, TREE, "all", "lit", counts=PASSED)


def tutorial_cells():
    """AlexNet, VGG-19 and T5-small as pipelines against PyTorch. It makes the models, so these need an interpreter that has it: the one that runs
    this, or CLEAVE_TORCH_PYTHON (test/bench/requirements-pipeline.txt)."""
    bench = ROOT / "test" / "bench"
    for model in ("alexnet", "vgg19", "t5-small"):
        line = f"exec ${{CLEAVE_TORCH_PYTHON:-{{python}}}} {bench}/tutorials.py --required --steps 3 {model}"
        yield command_cell(f"tutorials/{model}", [["sh", "-c", line]], 3600, 200,
                           ["test/bench/tutorials.py", "test/bench/common.py", "test/bench/requirements-pipeline.txt", "examples/export/", "test/e2e/Inputs/record_mixed.py"],
                           place="memory", counts=rf"^(\d+) models.* {model} ")


def sanitizer_cells():
    own = ["tools/dev/sanitize.sh", "tools/dev/tsan.supp", "test/CMakeLists.txt", "test/lit.cfg.py"]
    parts = {"runtime": ("runtime", 600, []), "programs": ("host", 600, ["examples/", "test/models/"]),
             "compiler": ("all", 3600, TREE)}
    for kind, names in axes.SANITIZERS.items():
        for name in names:
            program, usual, files = parts[name]
            line = ["env", "CLEAVE_TEST_PYTHON={python}", ROOT / "tools" / "dev" / "sanitize.sh", kind, name]
            yield command_cell(f"sanitizer/{kind}/{name}", [line], 14400, usual, [*own, *files], program, f"build-{kind}",
                               counts=rf"^== {kind}: nothing found in: ({name})$")


HARMFUL, REFUSED = r": (\d+) harmful ones", r" mutants, (\d+) refused"


def mutant_cells():
    """Every harmful mutant of a plan is rejected (test/compiler/Planning/mutation)."""
    planning = ROOT / "test" / "compiler" / "Planning"
    models = [MODELS / model / f"{model}.torchscript.onnx" for model in ["mlp", "mnist-cnn-no-dropout", "resnet18"]]
    models.append(ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx")
    weights = ["{python}", MODELS / "make_weights.py", "{folder}/weights", *models]
    emit = ["{python}", planning / "Inputs" / "emit_plans.py", "{folder}/weights", "{folder}/plans"]
    for seed in range(axes.MUTANT_SEEDS):
        first = 1000000 + seed * axes.MUTANTS
        mutants = f"{{build}}/test-bin/PlanMutants --seed {first} --mutants {axes.MUTANTS}"
        judge = f"{mutants} --kind together: {{folder}}/plans/*.plan && {mutants} {{folder}}/plans/*.plan"
        yield command_cell(f"mutants/seed-{first}", [weights, emit, ["sh", "-c", judge]], 1800, 60,
                           ["test/compiler/Planning/", "test/models/", "examples/gpt-nano/"], counts=HARMFUL)
    yield structural_mutant_cell()
    yield from sharded_mutant_cells(weights)
    yield from random_mutant_cells(weights)


def structural_mutant_cell():
    """Plans changed by edits that know the schema alone; what is accepted runs as before (test/compiler/Planning/structural)."""
    planning = ROOT / "test" / "compiler" / "Planning"
    models = [MODELS / model / f"{model}.torchscript.onnx" for model in ["mlp", "mnist-cnn"]] + [ROOT / "examples" / "gpt-nano" / "gpt-nano.onnx"]
    weights = ["{python}", MODELS / "make_weights.py", "{folder}/weights", *models]
    plans = ["{python}", planning / "Inputs" / "structural_plans.py", "{folder}/weights", "{folder}/plans", "--pipelines", "12", "--first", "900000"]
    judge = (f"mkdir -p {{folder}}/kept && {{build}}/test-bin/StructuralMutants --mutants {axes.MUTANTS} --seed 3000000 --kept {{folder}}/kept "
             f"{ROOT}/runtime/plan/Plan.fbs {{folder}}/plans/*.plan")
    run = ["{python}", planning / "Inputs" / "run_mutants.py", "{folder}/plans", "{folder}/kept"]
    return command_cell("mutants/structural", [weights, plans, ["sh", "-c", judge], run], 3600, 400,
                        ["test/compiler/Planning/", "test/models/", "test/e2e/Inputs/", "test/e2e/layouts/Inputs/", "examples/gpt-nano/"],
                        counts=r"'the same': (\d+)")


def sharded_mutant_cells(weights):
    """Every harmful mutant of a sharded program is refused (test/compiler/Sharding/mutation); here it is all mutations of all programs."""
    emit = ROOT / "test" / "compiler" / "Planning" / "Inputs" / "emit_plans.py"
    for phase in ["shard", "fuse"]:
        modules = ["{python}", emit, "--stop-after", phase, "{folder}/weights", "{folder}/modules"]
        judge = "{build}/test-bin/ShardedMutants {folder}/modules/*.mlir"
        yield command_cell(f"mutants/{phase}", [weights, modules, ["sh", "-c", judge]], 1800, 120,
                           ["test/compiler/Sharding/", "test/compiler/Planning/Inputs/", "test/models/", "examples/gpt-nano/"], counts=REFUSED)


def random_mutant_cells(weights):
    """The same of plans and sharded programs under options drawn at random."""
    inputs = ROOT / "test" / "compiler" / "Planning" / "Inputs"
    files = ["test/compiler/Planning/", "test/compiler/Sharding/", "test/models/", "examples/gpt-nano/"]
    draw = ["{python}", inputs / "random_plans.py", "{folder}/weights", "{folder}/drawn", "--plans", str(axes.RANDOM_PLANS)]
    for name, more, judge in [("plans", [], "PlanMutants --seed 2000000"), ("shard", ["--stop-after", "shard"], "ShardedMutants")]:
        judge = f"{{build}}/test-bin/{judge} --mutants {axes.MUTANTS} {{folder}}/drawn/*-*.{'mlir' if more else 'plan'}"
        yield command_cell(f"mutants/random-{name}", [weights, [*draw, *more], ["sh", "-c", judge]], 1800, 120, files, counts=REFUSED if more else HARMFUL)


def all_cells():
    return [*training_cells(), *schedule_cells(), *mutual_cells(axes.MODELS), *inference_cells(), *memory_cells(), *mutant_cells(), *cuda_cells.every(), *command_cells()]
