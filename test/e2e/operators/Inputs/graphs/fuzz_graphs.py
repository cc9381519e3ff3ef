"""Random valid graphs: each must compile, and compute what it says.

  fuzz_graphs.py FOLDER --graphs N | --seconds S [--first SEED] [--kind infer|types|train|scatters|moves|layouts]

Every number is a seed; a graph that fails stays in FOLDER, with the command that repeats it. Kinds: `infer` in f32 with integers and
booleans; `types` in f64, f16 and bf16, too; `train` compares directional derivatives of a mean loss with differences in f64;
`scatters` is `infer` with the operators of scatters.py, which `types` and `train` have, too; `moves` has those of moves.py alone; `layouts`
trains on ranks and micro-batches (layouts.py). Half of the graphs have parts in functions, branches and loops (containers.py).
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
import onnx

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parents[3] / "Inputs")]
import containers
import fast_linker
import further  # noqa: F401  (registers)
import operators
import shapes  # noqa: F401  (registers)
import unusual  # noqa: F401  (registers)
from building import BOOL, FLOATS, Graph
from reference import Expected


class Wrong(Exception):
    pass


def grow(seed, kind):
    trains = kind == "train"
    floats = [FLOATS[0], *np.random.default_rng(seed).choice(FLOATS, 1)] if kind == "types" else FLOATS[:1]
    g = Graph(seed, floats, trains)
    for _ in range(g.integer(1, 4)):
        g.add_input(g.shape(), g.choose(floats))
    if not trains:
        for dtype in (np.dtype("int64"), BOOL, np.dtype("int32")):
            if g.chance(0.5):
                g.add_input(g.shape(), dtype)
    if kind in ("scatters", "train", "types"):
        import scatters  # noqa: F401  (registers)
    if g.chance(0.5):
        g.constant(g.random_array(g.shape(1), floats[0]), pooled=True)
    usable = [(weight, function) for weight, function, may_train in operators.OPERATORS if may_train or not trains]
    if kind == "moves":
        import moves
        usable = moves.OPERATORS
    weights = np.array([weight for weight, _ in usable])
    picks = g.rng.choice(len(usable), g.integer(2, 30), p=weights / weights.sum())
    for pick in picks:
        usable[pick][1](g)
    if not g.nodes:
        operators.unary(g)
    if not g.nodes:
        g.emit("Identity", g.inputs[:1], largest=None)
    return g


def run(command, limit=120):
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
    return result.returncode, result.stdout


def compile_model(model, program, *options):
    """What the compiler says."""
    code, said = run(["cleave", "compile", model, "-o", program, *options])
    if code:
        lines = [line for line in said.splitlines() if "rror" in line] or said.splitlines()[-3:] or ["nothing said"]
        raise Wrong(f"does not compile (status {code}): " + " | ".join(lines))
    return said


def check_inference(graph, folder, seed):
    model, program = folder / "graph.onnx", folder / "program"
    onnx.save(containers.enclose(graph.model(), graph.arrays, seed), model)
    compile_model(model, program)
    arguments = []
    for name in graph.inputs:
        np.save(folder / f"{name}.npy", graph.arrays[name])
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    for name in graph.outputs:
        arguments += ["--output", f"{name}={folder}/{name}.out.npy"]
    code, said = run([program, "infer", *arguments])
    if code:
        raise Wrong(f"does not run (status {code}): {said.strip().splitlines()[-1:]}")
    expected = Expected(graph, seed)
    for index, name in enumerate(graph.outputs):
        reason = expected.judge(index, np.load(folder / f"{name}.out.npy"))
        if reason:
            raise Wrong(f"output {name} {reason}")
    return expected.compared()


def check(seed, kind, root):
    folder = root / f"{kind}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if kind == "layouts":
        import layouts
        result = layouts.check(seed, folder, compile_model, run, Wrong)
        shutil.rmtree(folder)
        return result
    graph = grow(seed, kind)
    if kind == "train":
        import training
        numbers = training.check(graph, folder, compile_model, run, Wrong)
    else:
        graph.choose_outputs()
        numbers = check_inference(graph, folder, seed)
    shutil.rmtree(folder)
    return len(graph.nodes), numbers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphs", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=["infer", "types", "train", "scatters", "moves", "layouts"], default="infer")
    options = parser.parse_args()
    begin, seed, nodes, failures, kept, total = time.time(), options.first, 0, [], 0, 0
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    fast_linker.use(options.folder)

    def more():
        if options.graphs is not None and seed - options.first >= options.graphs:
            return False
        return options.seconds is None or time.time() - begin < options.seconds
    while more():
        try:
            count, numbers = check(seed, options.kind, options.folder)
            nodes, kept, total = nodes + count, kept + numbers[0], total + numbers[1]
        except (Wrong, subprocess.TimeoutExpired) as error:
            failures.append(seed)
            print(f"{options.kind} {seed}: {error}", flush=True)
        seed += 1
    graphs = seed - options.first
    print(f"{options.kind}: {graphs} graphs of {nodes} nodes in {time.time() - begin:.0f} s, {kept} of {total} numbers compared, "
          f"{len(failures)} failed")
    if failures or graphs == 0 or (graphs > 9 and kept * 2 < total):
        sys.exit(1)


if __name__ == "__main__":
    main()
