"""Whether the exporter's file computes what the module computes in eval(): onnxruntime runs the file for the example, for twice the batch, and for
other numbers, and each output is compared.

Used by cleave.export alone. `job` is its _Job: the module, its inputs by name, and the report."""
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import torch

from .exported_file import array, call_of
from .export_failure import FIXED_FILE_ADVICE, ExportFailed, FixedBatch, InvalidFile, first_line
from .inference_form import first_nodes, inference_copy, is_drawing

ONNXRUNTIME_SAYS = "[ONNXRuntimeError]"
# Its codes for a file that it cannot load or run (a shape that does not fit, a type that an operator does not take), and what it says with
# these codes about itself: an operator, an IR version or an opset that it does not know, and memory.
FAULTS = ("FAIL", "INVALID_ARGUMENT", "RUNTIME_EXCEPTION", "INVALID_GRAPH", "INVALID_PROTOBUF")
NO_FAULTS = ("is not a registered function/op", "IR version", "opset versions", "allocate memory")

LARGE = 1e3  # from here on, values that agree may be fills of masks (-1e4, -65504, -3.4e38)
OTHER_SIZE = 0.1  # an output of other inputs is not much smaller than that of the example, or it is a difference of equal numbers
# Two of the inputs with which a file is compared. In both, a number that the trace has taken from the example is another one. In the second, a branch
# on a sign goes the other way.
OTHER_VALUES, OTHER_SIGNS = "half of each number of the example", "half of each number of the example, with the other sign"
NOT_THE_MODULE = ("a branch on the values of tensors, a number of Python that is made of them (.item()), numpy in forward(), dropout that eval() does "
                  "not end, or an operation that the exporter writes wrongly does that; try the other exporter= ('dynamo' or 'torchscript') "
                  "(check=False writes the file all the same)")


def _is_smoothed(node):
    """A cross entropy with label smoothing. torch.export's exporter leaves the smoothing out of the ONNX operator, and writes the call that the node
    stands for beside it, where Cleave reads it: onnxruntime computes another loss."""
    _, arguments = call_of(node)
    return node.op_type == "SoftmaxCrossEntropyLoss" and len(arguments) > 5 and arguments[5] not in ("", "0.0")


def _leave_out(job, copy):
    """Outputs that onnxruntime cannot compute as the module does."""
    smoothed = first_nodes(copy.graph, _is_smoothed)
    if smoothed:
        job.note(f"the file's operators have no label smoothing, which Cleave reads from what the exporter wrote beside them; others, as "
                 f"onnxruntime, compute {', '.join(sorted(smoothed))} without it, which was not compared")
    random = first_nodes(copy.graph, is_drawing)
    if random:
        job.note(f"the file draws random numbers in inference, too, by the nodes {_nodes_text(random)}; "
                 f"not compared with the module: {', '.join(sorted(random))}")
    return {*smoothed, *random}


def _nodes_text(nodes_of):
    nodes = sorted({name for names in nodes_of.values() for name in names})
    return ", ".join(nodes[:3]) + (" and more" if len(nodes) > 3 else "")


def _note_undivided(job, masked, unlike):
    """Outputs that may differ from the module's because eval() has no factor in place of a mask. Training is that of the module."""
    job.note("inference of Cleave multiplies by the probability of a random mask where eval() may not: with the masks of "
             f"{_nodes_text({name: masked[name] for name in unlike})}, the file differs by {max(unlike.values()):.1e} (relative) from the module in eval(); "
             f"left out of the comparison: {', '.join(sorted(unlike))}. Training is that of the module. If each mask is divided by its probability, "
             "inference is that of eval(), too")


def compare(job):
    if importlib.util.find_spec("onnxruntime") is None:
        job.note("onnxruntime is not installed, so the file's outputs were not compared with the module's")
        return
    if any(value.dtype == torch.bfloat16 for value in job.inputs.values()):
        job.note("an input is bfloat16, which numpy and so onnxruntime do not take; the file's outputs were not compared with the module's")
        return
    copy, masked = inference_copy(job.model)
    left_out, unlike = _leave_out(job, copy), {}
    batches = _batches(job)
    results, reason = _run_file(job, copy, [{name: array(value).numpy() for name, value in inputs.items()} for inputs in batches.values()])
    if not results:
        _check_valid(reason)
    if results and len(results) < len(batches):
        failed = list(batches)[len(results)]
        if failed not in (OTHER_VALUES, OTHER_SIGNS):
            raise FixedBatch(f"the file runs with the example's batch of {job.example_batch} and with no other: {reason}{FIXED_FILE_ADVICE}")
        if _module_outputs(job, batches[failed], failed, is_example=False) is not None:
            raise ExportFailed(f"the file runs with the example and fails with {failed}: {reason}; {NOT_THE_MODULE}")
    sizes = {}
    for (what, inputs), theirs in zip(batches.items(), results):
        is_example = inputs is job.inputs
        ours = _module_outputs(job, inputs, what, is_example)
        if masked and is_example and _is_random(job, inputs, ours):
            job.note("the module draws random numbers in eval(), where Cleave replaces random masks, so its outputs were not compared with the file's")
            break
        if ours is not None:
            unlike.update(_compare_batch(job, ours, theirs, left_out, masked, what, sizes, inputs))
    if unlike:
        _note_undivided(job, masked, unlike)
    if not results:
        job.note(f"onnxruntime could not run the file, so its outputs were not compared ({reason})")


def _batches(job):
    """The inputs with which the file is compared, by what they are."""
    batches = {f"a batch of {job.example_batch}" if job.symbols else "the example": job.inputs}
    if job.symbols:  # each sample twice in succession: samples that are sorted stay so
        batches[f"a batch of {2 * job.example_batch}"] = {
            name: torch.repeat_interleave(value, 2, job.batch_dims[name]) if name in job.symbols else value for name, value in job.inputs.items()}
    floats = {name: value for name, value in job.inputs.items() if value.is_floating_point()}
    if floats:
        batches[OTHER_VALUES] = {**job.inputs, **{name: value * 0.5 for name, value in floats.items()}}
    if floats and job.report.exporter == "torchscript":  # torch.export refuses a branch on values
        batches[OTHER_SIGNS] = {**job.inputs, **{name: _with_other_sign(value * 0.5) for name, value in floats.items()}}
    return batches


def _with_other_sign(value):
    """Fills of masks keep theirs, or a masked element would outweigh all others. There is no -0, where operators differ."""
    return torch.where(value.abs() < LARGE, 0.0 - value, value)


def _check_valid(reason):
    """What onnxruntime does not have is none of the file's faults, nor is what the machine does not have. All else is: the module has computed these
    inputs, and the file cannot be loaded or fails on them."""
    fails = ONNXRUNTIME_SAYS in reason and any(f": {code} :" in reason for code in FAULTS) and not any(text in reason for text in NO_FAULTS)
    if fails or "invalid model" in reason.lower():
        raise InvalidFile(f"the exporter's file is not valid ONNX: {reason}; try a larger opset=, the other exporter= ('dynamo' or 'torchscript') or "
                           "a newer torch (check=False writes the file all the same)")


def _run_file(job, model, batches):
    """The outputs of the file for each batch, and why there are none from some batch on. onnxruntime runs as another process: it can crash."""
    beside = job.draft.path + ".check.onnx"  # in the same folder: data of large models lie beside it
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_onnx.py")
    with tempfile.TemporaryDirectory() as folder:
        files = [(os.path.join(folder, f"in{i}.npz"), os.path.join(folder, f"out{i}.npz")) for i in range(len(batches))]
        try:
            onnx.save(model, beside)
            for (path, _), feeds in zip(files, batches):
                np.savez(path, **feeds)
            done = subprocess.run([sys.executable, script, beside, *(path for pair in files for path in pair)], capture_output=True,
                                  text=True, errors="replace", env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
        finally:
            if os.path.exists(beside):
                os.remove(beside)
        results = []
        for _, path in files[:len(files) if done.returncode == 0 else -1]:
            if os.path.exists(path):
                with np.load(path) as file:
                    results.append([file[f"output{i}"] for i in range(len(file.files))])
    return results, f"it crashed: {signal.strsignal(-done.returncode)}" if done.returncode < 0 else _last_message(done.stderr)


def _last_message(text):
    """What a process said last. An error of onnxruntime may have several lines, of which the last one is general."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    begin = max((i for i, line in enumerate(lines) if ONNXRUNTIME_SAYS in line), default=None)
    if begin is None:
        return lines[-1][:400] if lines else "no message"
    _, mark, said = " ".join(lines[begin:]).rpartition(ONNXRUNTIME_SAYS)
    return (mark + said.removesuffix(" Please fix either the inputs/outputs or the model."))[:400]


def _relative_difference(ours, got, least=0.0):
    """The norm of the difference over the norm of `ours`, or over `least` if that is larger; infinite if one has an infinity or a NaN where the other
    has none.

    Left out are equal infinities and NaNs, which would make it NaN, and large values that agree: they may be fills of masks (-1e4, -65504,
    -3.4e38), which would outweigh all other values.
    """
    equal = (ours == got) | (np.isnan(ours) & np.isnan(got))
    with np.errstate(invalid="ignore"):
        agree = np.isfinite(ours) & (np.abs(ours) >= LARGE) & (np.abs(got - ours) <= 1e-6 * np.abs(ours))
    kept = ~(agree | (equal & ~np.isfinite(ours)))
    finite = np.abs(ours[np.isfinite(ours)])
    ours, got = ours[kept], got[kept]
    if not (np.isfinite(ours).all() and np.isfinite(got).all()):
        return float("inf")
    smallest = 1e-6 * min(finite.max(initial=0), 1e4)  # beside what was left out
    return float(np.linalg.norm(got - ours) / (max(np.linalg.norm(ours), smallest, least) or 1.0))


def _module_outputs(job, inputs, what, is_example):
    """None: the module refuses a batch that the check has made, which is no fault of the file. Negative numbers may be outside of what it is defined
    for. Then it fails or computes NaN, and there is nothing to tell."""
    try:
        outputs = job.run(inputs)
        return None if what == OTHER_SIGNS and any(np.isnan(value.astype(np.float64)).any() for value in outputs) else outputs
    except Exception as error:
        if what == OTHER_SIGNS:
            return None
        if is_example:
            raise ExportFailed(f"{type(job.module).__name__} runs in training, but fails in eval(), so the file cannot be compared with it: "
                               f"{first_line(error)} (check=False writes the file all the same)") from error
        job.note(f"the module fails with {what} ({first_line(error)}), so the file was not compared with it for that")
        return None


def _is_random(job, inputs, ours):
    """Whether the module in eval() computes something else from the same inputs, with other random numbers."""
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(torch.initial_seed() + 1)  # other devices go on with other numbers
    try:
        again = job.run(inputs)
    finally:
        torch.set_rng_state(state)
    return any(one.shape == other.shape and not _relative_difference(one.astype(np.float64), other.astype(np.float64)) <= 1e-3
               for one, other in zip(ours, again))


def _nudged(value):
    """The numbers with other last digits: the first one is larger, the second one smaller, and so on."""
    signs = 1 - torch.arange(value.numel(), device=value.device).view(value.shape) % 2 * 2
    return value + (value * (4 * torch.finfo(value.dtype).eps)) * signs.to(value.dtype)


def _is_of_rounding(job, inputs, name, own, difference):
    """Whether the output is 0 beside the inputs, and the module's own moves by as much when only the last digits of the inputs change: a difference of
    equal numbers does."""
    largest = max((np.abs(array(value).numpy()).max(initial=0.0) for value in inputs.values() if value.is_floating_point()), default=0.0)
    if not np.abs(own).max(initial=0.0) <= 1e-5 * largest:
        return False
    try:
        moved = job.run({key: _nudged(value) if value.is_floating_point() else value for key, value in inputs.items()})
    except Exception:
        return False
    other = dict(zip(job.output_names, moved))[name].astype(np.float64)
    return other.shape == own.shape and np.isfinite(difference) and difference <= 16 * _relative_difference(own, other)


def _compare_batch(job, outputs, theirs, left_out, masked, what, sizes, inputs):
    """The outputs that differ and depend on a mask, with their differences. `sizes` has the norms of the outputs for the example, which comes first:
    for other inputs an output may be a difference of equal numbers, and so rounding errors alone."""
    unlike, is_example = {}, not sizes
    for name, ours, got in zip(job.output_names, outputs, theirs):
        if ours.shape != got.shape and what in (OTHER_VALUES, OTHER_SIGNS):
            raise ExportFailed(f"the exporter's file is not the module: output '{name}' is {list(got.shape)} in the file and {list(ours.shape)} in "
                               f"the module, with {what}; {NOT_THE_MODULE}")
        if ours.shape != got.shape:
            raise FixedBatch(f"output '{name}' is {list(got.shape)} in the file and {list(ours.shape)} in the module, with "
                             f"{what}{FIXED_FILE_ADVICE}")
        if name in left_out:
            continue
        own = ours.astype(np.float64)
        difference = _relative_difference(own, got.astype(np.float64), sizes.get(name, 0.0) * OTHER_SIZE)
        sizes.setdefault(name, float(np.linalg.norm(own[np.abs(own) < LARGE])))  # without fills of masks
        if name in masked and not difference <= 1e-3:
            unlike[name] = difference
            continue
        if not difference <= 1e-3 and _is_of_rounding(job, inputs, name, own, difference):
            job.note(f"output '{name}' consists of rounding errors with {what}, so it was not compared for that: give example inputs with another result")
            continue
        job.report.compared = max(job.report.compared or 0.0, difference)
        if not difference <= 1e-3:
            amount = f"differs by {difference:.1e} (relative)" if np.isfinite(difference) else "has infinities or NaN that the module's has not, or lacks some"
            raise ExportFailed(f"the exporter's file is not the module: output '{name}' {amount} with {what}; {NOT_THE_MODULE}")
        nothing = f"output '{name}' is NaN in the file and in the module, so the comparison says nothing: give example inputs with another result"
        if is_example and got.size and np.isnan(got.astype(np.float64)).all() and nothing not in job.report.notes:
            job.note(nothing)
    return unlike
