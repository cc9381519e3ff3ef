"""check_keys.py FOLDER: what the key of a row has in it (freshness.py, reach.py), and what a kept outcome is one of (outcomes.py).

Each check changes something, or names something that a cell takes, and says whether the key or the outcome goes with it."""
import json
import os
import pathlib
import sys
from unittest import mock

import axes
import cells
import freshness
import gtest_suite
import outcomes
import reach
import run
import sources
import table
import unchanged
from axes import ROOT
from cell import Cell, tried

# What keys lacked before they were told by the sources: a cell, and files or definitions that it takes.
FILES = {
    "fuzz/graphs-infer": ["test/e2e/operators/Inputs/check_operator_numbers.py", "test/e2e/Inputs/checkpoint_states.py", "test/e2e/operators/Inputs/graphs/shapes.py"],
    "mutants/shard": ["test/e2e/operators/Inputs/graphs/repeats.py"],
    "checkpoint/kill-9": ["test/e2e/checkpoints/Inputs/kill_while_saving.py", "test/models/make_weights.py", "test/lit.cfg.py"],
    "tutorials/alexnet": ["test/models/make_weights.py", "test/e2e/Inputs/training_cases.py", "examples/export/models/cnn.py"],
    "packages/debian-12": ["docs/linking.md", "test/docs/Inputs/run_guide.py"],
    "suite/lit": ["python/cleave/__init__.py", "docs/linking.md", "docs/requirements.txt", "docs/recorded/mlp.onnx", "mkdocs.yml", "README.md"],
    "train/mlp/dp2/adamw/f32": ["test/e2e/Inputs/compare_losses.py", "test/e2e/Inputs/running_statistics.py"],
}
CODE = {
    "train/mlp/dp2/adamw/f32": ["cells.within_the_bound", "outcomes.Workshop.train", "outcomes.Worker.run", "outcomes.Workshop.run_of", "outcomes.ADDRESS_SPACE"],
    "same/mlp/fsdp2/adamw/f32/offload-state": ["cells.equal_to_the_last_bit", "cells.demand_equal"],
    "cuda/mlp/dp2/f32/graph": ["cuda_cells.in_one_way", "cuda_cells.verdicts"],
    "infer/mlp.dynamo/one": ["cell.commands"],
}
# A change of axes.py, and the cells that it is one of.
CHANGES = [("LAYOUTS", "dp2", ["--mesh", "dp=2", "--bucket-size", "1"], ["train/mlp/dp2/adamw/f32", "same/mlp/dp2/adamw/f32/offload-state", "mutual/mlp/adamw"]),
           ("OPTIMIZERS", "adamw", "adamw", ["train/mlp/dp2/adamw/f32", "mutual/mlp/adamw", "schedules/mlp/pp2/1f1b/f32"]),
           ("PIPELINES", "pp2:1f1b", ["--mesh", "pp=2"], ["schedules/mlp/pp2/1f1b/f32"])]
UNCHANGED = "train/mlp/fsdp2/sgd/f32"


class NothingRuns(outcomes.Worker):
    def run(self, command, *_, **__):
        raise outcomes.Failed(f"{command[0]} runs")


def by_name():
    return {cell.name: cell for cell in cells.all_cells()}


def missing(keys, every):
    for name, paths in FILES.items():
        yield from (f"{name}: {path} is no part of its key" for path in keys.lacks(every[name], paths))
    for name, places in CODE.items():
        found = keys.reached_by(every[name])[0].splitlines()
        yield from (f"{name}: {place} is no part of its key" for place in places if place not in found)
    for name, paths in {"train/mlp/dp2/adamw/f32": ["README.md", "test/project/keys.test"], "infer/mlp.dynamo/one": ["docs/linking.md"]}.items():
        yield from (f"{name}: {path} is a part of its key, for nothing" for path in paths if not keys.lacks(every[name], [path]))


def changed(keys, every, folder):
    """A row's key and a kept outcome hold for the values of the tables that they were made by."""
    configuration = outcomes.Configuration("mlp", "dp2", "adamw", "f32")
    workshop = outcomes.Workshop(folder / "kept", folder, "some sources")
    workshop.train = lambda *_: {"losses": []}
    worker = NothingRuns(folder, 60)
    worker.shared = {"README.md"}
    workshop.outcome(configuration, worker)
    if list(kept(folder, configuration)):
        yield "an outcome was kept before its cell was found to be of these sources"
    worker.keep()
    for matrix, name, value, names in CHANGES:
        before = getattr(axes, matrix)[name]
        getattr(axes, matrix)[name] = value
        now = by_name()
        yield from (f"{each}: another {matrix}[{name!r}] leaves its key" for each in names if keys.of(every[each]) == keys.of(now[each]))
        if keys.of(every[UNCHANGED]) != keys.of(now[UNCHANGED]):
            yield f"{UNCHANGED}: {matrix}[{name!r}] changes its key"
        if matrix == "LAYOUTS":
            yield from kept(folder, configuration)
        getattr(axes, matrix)[name] = before
    if not list(kept(folder, configuration)):
        yield "the outcome of the same options was not kept"


def kept(folder, configuration):
    """Takes the outcome that is kept; then its cell has opened the files that the cell had that made it."""
    worker = NothingRuns(folder, 60)
    try:
        outcomes.Workshop(folder / "kept", folder, "some sources").outcome(configuration, worker)
    except outcomes.Failed:
        return
    yield f"{configuration.name}: the outcome of other options was taken"
    if worker.opened() != {"README.md"}:
        yield f"{configuration.name}: a cell that took a kept outcome opened {worker.opened()}"


def runs(folder):
    """What a program did holds for its bytes, whichever sources made it, and for the scripts that ran it."""
    configuration, program = outcomes.Configuration("mlp", "dp2", "adamw", "f32"), folder / "run" / "program"
    program.parent.mkdir()

    def ran(text, product, scripts):
        worker, losses = outcomes.Worker(folder, 60), mock.Mock(return_value=[1.0] * outcomes.training_cases.STEPS)
        program.write_text(text)
        with mock.patch.object(outcomes.compare_losses, "losses_of", losses), mock.patch.object(
                outcomes.running_statistics, "differences", lambda *_: []), mock.patch.object(
                outcomes.compare_checkpoints, "read", lambda *_: ({("parameter", "w"): ("f32", [1], b"1234")}, 20)):
            outcomes.Workshop(folder / "runs", folder, product, scripts).run_of(configuration, program.parent, worker)
        worker.keep()
        return losses.called

    expected = {("one", "sources", "scripts"): True, ("one", "other sources", "scripts"): False, ("another", "other sources", "scripts"): True,
                ("one", "sources", "other scripts"): True, ("one", "", "scripts"): True}
    yield from (f"a program {asked} is {'not ' * expected[asked]}run" for asked in expected if ran(*asked) != expected[asked])


# What a Python program of a cell does, and what is seen of it: files, folders that it lists, and programs that it starts in every way.
WATCHED = """
import glob, multiprocessing, os, subprocess, sys
sys.path.insert(0, 'test/e2e/Inputs'); import fast_linker
open('README.md').close(); os.listdir('docs/recorded'); glob.glob('examples/export/*.py')
subprocess.run(['true', b'docs/linking.md', 'a\\udc80', 'docs/data.md'])
os.posix_spawn('/bin/true', ['true', 'docs/mpi.md'], os.environ); os.system('true mkdocs.yml'); os.waitpid(-1, 0)
child = multiprocessing.get_context('fork').Process(target=lambda: (open('LICENSE').close(), os.kill(os.getpid(), 9))); child.start(); child.join()
os.execv('/bin/true', ['true', 'CMakeLists.txt'])
"""
SEEN = {"test/e2e/Inputs/fast_linker.py", "README.md", "docs/recorded/", "examples/export/", "docs/linking.md", "docs/data.md", "docs/mpi.md", "mkdocs.yml", "LICENSE",
        "docs/index.md"}


def opened(keys, folder):
    worker = outcomes.Worker(folder, 60)
    worker.run([sys.executable, "-c", WATCHED], ROOT)
    worker.run(["true", ROOT / "docs/index.md"], ROOT)
    seen, known = worker.opened(), {"CMakeLists.txt"}  # the last one is in every key
    found = set(keys.lacks(Cell("some", by_name, program="importer"), seen))
    if found != SEEN or not known <= seen:
        yield f"a cell took {sorted(SEEN | known)}, and what is seen is {sorted(found)}"


def unwatched(folder):
    """A cell whose files are not known has not passed."""
    for what, command in {"a watcher that fails": ["-c", "import sys; sys.audit('os.listdir', object())"], "none": ["-I", "-S", "-c", ""]}.items():
        worker = outcomes.Worker(folder, 60)
        worker.run([sys.executable, *command], ROOT)
        try:
            yield f"{what}: {worker.opened()}"
        except outcomes.Failed:
            pass


def environment(folder):
    with mock.patch.dict(os.environ, {"ONEDNN_MAX_CPU_ISA": "SSE41", "CLEAVE_LOG": "debug", "OMP_NUM_THREADS": "1"}):
        given = outcomes.Worker(folder, 60).environment
    yield from (f"commands get {name}" for name in ("ONEDNN_MAX_CPU_ISA", "CLEAVE_LOG", "OMP_NUM_THREADS") if name in given)


def figures():
    """What a command cell makes of the last line of a run: there is none without a case."""
    for counts, figure, expected in [(r"(\d+) graphs", "train: 12 graphs of 90 nodes in 600 s, 0 failed", True), (r"(\d+) graphs", "train: 0 graphs", False),
                                     (r"(\d+) graphs", "no graphs", False), (r"(\d+) graphs", "", False), (r"^(\d+) passed", "OK (skipped=5)", False),
                                     (r"^(\d+) passed", "passed: 0.", False), (r"taken ([\d.]+) MiB", "taken 0.0 MiB", False),
                                     (r"taken ([\d.]+) MiB", "taken 435.8 MiB", True), (r"found in: (asan)$", "nothing found in: asan", True)]:
        if tried(counts, figure) != expected:
            yield f"{figure!r} is {'no ' * expected}case of {counts}"


def suites():
    """A GoogleTest that skips itself has not passed, but where the machine lacks what it needs."""
    text = ("1: [       OK ] A.B (0 ms)\n1: [  SKIPPED ] A.C (0 ms)\n2: [       OK ] D.E (1 ms)\n2: [  SKIPPED ] DnnLibraryTest.Sizes (0 ms)\n"
            "2: [  SKIPPED ] Packing.WholeBlocksArePacked (0 ms)\n")
    for level, expected in {"x86_64 avx2": (2, 2, ["A.C"]), "x86_64 avx512bw": (2, 1, ["A.C", "Packing.WholeBlocksArePacked"])}.items():
        if gtest_suite.judged(text, level) != expected:
            yield f"{level}: of the GoogleTests is said {gtest_suite.judged(text, level)}, expected {expected}"


def builds(folder):
    """A build is current only where ninja says so, however it is told to print."""
    (folder / "build.ninja").write_text("rule touch\n  command = touch $out\nbuild made: touch\n")
    with mock.patch.dict(os.environ, {"NINJA_STATUS": "%f "}):
        if not run.steps_left(folder, folder, ["made"]):
            yield "a build with a step to do is current"
        (folder / "made").write_text("")
        run.subprocess.run(["ninja", "-C", folder, "made"], check=True, capture_output=True)
        if wrong := run.steps_left(folder, folder, ["made"]):
            yield f"a build with nothing to do is not current: {wrong}"


def written_meanwhile(folder):
    """Neither a file that was written while a cell ran nor a program that was built again leaves a row of the beginning."""
    tree, build = folder / "tree", folder / "programs"
    source, program = tree / "script.txt", build / "bin" / "cleave"
    for path in (source, program):
        path.parent.mkdir(parents=True)
        path.write_text("one")
    run.subprocess.run(["git", "init", "-q", tree], check=True)
    cell = Cell("some", by_name, program="importer", files=("script.txt", "new/"))
    changes = {"other sources": lambda: source.write_text("another"), "written and back": lambda: source.write_text("one"),
               "another program": lambda: program.write_text("two"), "a new file": lambda: ((tree / "new").mkdir(), (tree / "new" / "a").write_text(""))}
    with mock.patch.object(freshness, "ROOT", tree), mock.patch.object(sources, "ROOT", tree), mock.patch.object(reach, "ROOT", tree):
        start = unchanged.Beginning([cell], build)
        start.check(cell, start.check(cell))
        for what, change in changes.items():
            since = freshness.stamps()
            change()
            if not changed_since(start, cell, since):
                yield f"{what}: a row of the beginning"


def changed_since(start, cell, since):
    try:
        start.check(cell, since)
    except unchanged.Changed as change:
        return str(change)
    return ""


def elsewhere(keys, every):
    """Rows tell what they were made with and where: another compiler outdates one, another kind of processor does not and is told."""
    cell = every[UNCHANGED]
    row = table.Row(cell.name, "passed", keys.of(cell), "x86_64 avx2: Some Processor", 1, "")
    states = [table.state(cell, {cell.name: row}, keys, processor) for processor in ("x86_64 avx2: Another", "x86_64 avx512bw: Some Processor", None)]
    if states != ["passed", "elsewhere", "passed"] or row.key == freshness.Keys("another compiler", keys).of(cell):
        yield f"a row of another platform: {states}"


def main():
    folder, keys, every = pathlib.Path(sys.argv[1]).resolve(), freshness.Keys(), by_name()
    wrong = [*missing(keys, every), *changed(keys, every, folder), *runs(folder), *opened(keys, folder), *unwatched(folder), *environment(folder), *figures(), *suites(),
             *builds(folder), *written_meanwhile(folder), *elsewhere(keys, every)]
    print("\n".join(wrong) or json.dumps({"cells": len(every), "wrong": 0}))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
