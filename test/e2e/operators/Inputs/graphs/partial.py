"""Jobs of samples.py on numbers of samples that are no whole batches: `evaluate` of the training program, `infer` of a value.

onnxruntime computes the same graph on all of the samples at once. Where a sample's numbers depend on other samples, or on its place
among them, the compiler must say so of a loss, and the program must refuse to infer.
"""
import re

import numpy as np
import onnx

import sample_forms
from reference import by_onnxruntime

BATCH = 4  # of the program that infers


def numbers(job, outputs, samples, first=0):
    """Of these samples at once."""
    inputs = job.needed(outputs)[1].intersection(job.g.inputs)
    found = by_onnxruntime(job.model(outputs, []), {name: job.data[name][first:first + samples] for name in inputs})
    return found and [np.asarray(value) for value in found]


def saved(job, folder, samples, option, outputs):
    arguments = []
    for name in sorted(job.needed(outputs)[1].intersection(job.g.inputs)):
        np.save(folder / f"{name}.some.npy", job.data[name][:samples])
        arguments += [option, f"{name}={folder}/{name}.some.npy"]
    return arguments


def check_evaluation(job, runner, samples):
    """The loss of all samples, unless it is told that the loss depends on how many there are."""
    if "depends on that number" in runner.notes["one"]:
        return
    code, said = runner.run([runner.folder / "one", "evaluate", *saved(job, runner.folder, samples, "--data", job.g.outputs)])
    found, expected = re.search(r"loss (\S+).*\((\d+) samples\)", said), numbers(job, job.g.outputs, samples)
    if code or not found:
        raise runner.wrong(f"evaluate of {samples} samples (status {code}): {said.strip().splitlines()[-3:]}")
    if expected and int(found[2]) == samples and not abs(float(found[1]) - expected[0]) <= 1e-4 * (abs(expected[0]) + 1):
        raise runner.wrong(f"evaluate of {samples} samples: loss {found[1]}, expected {expected[0]!r}")


def check_inference(job, runner, samples, options):
    """A late value of the graph, or a table of features that has as many rows as a batch has samples."""
    name = [value for value in job.values if value not in job.g.inputs][-1:]
    if not name or not set(name) <= {made for node in job.g.nodes for made in node.output}:
        return
    table = sample_forms.product_of_features(job, name[0], BATCH) if job.g.chance(0.3) else None
    name = [table] if table else name
    program, result = runner.folder / "infers", runner.folder / "result.npy"
    onnx.save(job.model(name, job.parameters), runner.folder / "infers.onnx")
    runner.compile_model(runner.folder / "infers.onnx", program, "--global-batch", str(BATCH), *options)
    given = saved(job, runner.folder, samples, "--input", name)
    code, said = runner.run([program, "infer", *given, "--output", f"{name[0]}={result}"])
    what = f"infer {' '.join(options)} of {samples} samples in batches of {BATCH}"
    if code:
        if (job.meets or table) and samples != BATCH and "exactly" in said:
            return
        raise runner.wrong(f"{what} (status {code}): {said.strip().splitlines()[-3:]}")
    expected, ours = numbers(job, name, samples), np.load(result)
    if not expected:
        return
    if ours.shape != expected[0].shape:
        raise runner.wrong(f"{what}: shape {ours.shape}, expected {expected[0].shape}")
    worst = np.abs(ours - expected[0]).max()
    if not worst <= 1e-3 * (np.abs(expected[0]).max() + 1e-2):
        raise runner.wrong(f"{what}: {name[0]} is off by {worst:.3g} of {np.abs(expected[0]).max():.3g}")


def check(job, runner, rng):
    check_evaluation(job, runner, int(rng.choice([5, 13, 20, 24])))
    check_inference(job, runner, int(rng.choice([4, 6, 9])), [[], ["--mesh", "dp=2"]][rng.integers(0, 2)])
