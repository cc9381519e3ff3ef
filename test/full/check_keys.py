"""check_keys.py FOLDER: what the key of a row has in it (freshness.py, reach.py), and what a kept outcome is one of (outcomes.py).

Each check changes something, or names something that a cell takes, and says whether the key or the outcome goes with it."""
import json
import pathlib
import sys

import axes
import cells
import freshness
import outcomes
from axes import ROOT
from cell import Cell, nothing_tried

# What keys lacked before they were told by the sources: a cell, and files or definitions that it takes.
FILES = {
    "fuzz/graphs-infer": ["test/e2e/operators/Inputs/check_operator_numbers.py", "test/e2e/Inputs/checkpoint_states.py", "test/e2e/operators/Inputs/graphs/shapes.py"],
    "mutants/shard": ["test/e2e/operators/Inputs/graphs/repeats.py"],
    "checkpoint/kill-9": ["test/e2e/checkpoints/Inputs/kill_while_saving.py", "test/models/make_weights.py", "test/lit.cfg.py", "test/full/lit_suite.py"],
    "tutorials/alexnet": ["test/models/make_weights.py", "test/e2e/Inputs/training_cases.py", "examples/export/models/cnn.py"],
    "packages/debian-12": ["docs/linking.md", "test/docs/Inputs/run_guide.py"],
    "suite/lit": ["python/cleave/__init__.py", "docs/linking.md", "docs/requirements.txt", "docs/recorded/mlp.onnx", "mkdocs.yml", "README.md"],
    "train/mlp/dp2/adamw/f32": ["test/e2e/Inputs/compare_losses.py", "test/e2e/Inputs/running_statistics.py"],
}
CODE = {
    "train/mlp/dp2/adamw/f32": ["cells.within_the_bound", "outcomes.Workshop.train", "outcomes.Worker.run", "outcomes.ADDRESS_SPACE"],
    "same/mlp/fsdp2/adamw/f32/offload-state": ["cells.equal_to_the_last_bit", "cells.demand_equal"],
    "cuda/mlp/dp2/f32/graph": ["cuda_cells.in_one_way", "cuda_cells.verdicts"],
    "infer/mlp.dynamo/one": ["cell.commands"],
}
# A change of axes.py, and the cells that it is one of.
CHANGES = [("LAYOUTS", "dp2", ["--mesh", "dp=2", "--bucket-size", "1"], ["train/mlp/dp2/adamw/f32", "same/mlp/dp2/adamw/f32/offload-state", "mutual/mlp/adamw"]),
           ("OPTIMIZERS", "adamw", "adamw", ["train/mlp/dp2/adamw/f32", "mutual/mlp/adamw", "schedules/mlp/pp2/1f1b/f32"]),
           ("PIPELINES", "pp2:1f1b", ["--mesh", "pp=2"], ["schedules/mlp/pp2/1f1b/f32"])]
UNCHANGED = "train/mlp/fsdp2/sgd/f32"


class NothingRuns:
    def run(self, command, *_, **__):
        raise outcomes.Failed(f"{command[0]} runs")


def by_name():
    return {cell.name: cell for cell in cells.all_cells()}


def missing(keys, every):
    for name, paths in FILES.items():
        yield from (f"{name}: {path} is no part of its key" for path in keys.lacks(every[name], paths))
    for name, places in CODE.items():
        found = keys.reached(every[name])[0].splitlines()
        yield from (f"{name}: {place} is no part of its key" for place in places if place not in found)
    for name, paths in {"train/mlp/dp2/adamw/f32": ["README.md", "test/project/keys.test"], "infer/mlp.dynamo/one": ["docs/linking.md"]}.items():
        yield from (f"{name}: {path} is a part of its key, for nothing" for path in paths if not keys.lacks(every[name], [path]))


def changed(keys, every, folder):
    """A row's key and a kept outcome hold for the values of the tables that they were made by."""
    configuration = outcomes.Configuration("mlp", "dp2", "adamw", "f32")
    workshop = outcomes.Workshop(folder / "kept", folder, "some sources")
    workshop.train = lambda *_: {"losses": []}
    workshop.outcome(configuration, NothingRuns())
    for table, name, value, names in CHANGES:
        before = getattr(axes, table)[name]
        getattr(axes, table)[name] = value
        now = by_name()
        yield from (f"{each}: another {table}[{name!r}] leaves its key" for each in names if keys.of(every[each]) == keys.of(now[each]))
        if keys.of(every[UNCHANGED]) != keys.of(now[UNCHANGED]):
            yield f"{UNCHANGED}: {table}[{name!r}] changes its key"
        if table == "LAYOUTS":
            yield from kept(folder, configuration)
        getattr(axes, table)[name] = before
    if not list(kept(folder, configuration)):
        yield "the outcome of the same options was not kept"


def kept(folder, configuration):
    try:
        outcomes.Workshop(folder / "kept", folder, "some sources").outcome(configuration, NothingRuns())
    except outcomes.Failed:
        return
    yield f"{configuration.name}: the outcome of other options was taken"


def opened(keys, folder):
    """Files that a cell opens, in Python and in a program that Python starts, and in modules that it imports."""
    worker = outcomes.Worker(folder, 60)
    script = ("import subprocess, sys; sys.path.insert(0, 'test/e2e/Inputs'); import fast_linker; open('README.md').close(); "
              "subprocess.run(['true', 'docs/linking.md'])")
    worker.run([sys.executable, "-c", script], ROOT)
    worker.run(["true", ROOT / "LICENSE"], ROOT)
    expected = {"test/e2e/Inputs/fast_linker.py", "README.md", "docs/linking.md", "LICENSE"}
    found = set(keys.lacks(Cell("some", by_name, program="importer"), worker.opened()))
    worker.close()
    if found != expected:
        yield f"a cell took {sorted(expected)}, and what is seen is {sorted(found)}"


def figures():
    """What a command cell makes of the last line of a run without a case."""
    for figure, expected in {"train: 0 graphs of 0 nodes in 600 s, 0 failed": True, "0 mutants of 75 plans, 0 kinds": True, "{'the same': 0}": True,
                             "train: 12 graphs of 90 nodes in 600 s, 0 failed": False, "the largest relative error is 0.0e+00": False,
                             "mlp:f32:3:: 3 steps, 0 differ": False, "": False}.items():
        if nothing_tried(figure) != expected:
            yield f"{figure!r} is {'no ' * expected}case"


def main():
    folder, keys, every = pathlib.Path(sys.argv[1]).resolve(), freshness.Keys(), by_name()
    wrong = [*missing(keys, every), *changed(keys, every, folder), *opened(keys, folder), *figures()]
    print("\n".join(wrong) or json.dumps({"cells": len(every), "wrong": 0}))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
