"""The file that PyTorch's exporter wrote, read back: mended where it can be, compared with the module, and what it does not say.

Used by cleave.export alone. `job` is its _Job: the module, its inputs by name, and the report."""
import collections
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
import torch

from . import detached
from .export_failure import FIXED_FILE_ADVICE, ExportFailed, FixedBatch, InvalidFile, OtherOpset, first_line
from .inference_form import first_nodes, inference_copy, is_drawing

# Under this key torch.export's exporter keeps which initializer is a parameter and which a buffer; Cleave reads it.
SIGNATURE_KEY = "pkg.torch.export.ExportedProgram.graph_signature"

# Modules are exported in training, so the form of each layer in the file is the one in which it trains: a BatchNorm in inference form is in
# eval(). Other exports do not say it, and Cleave trains all of such a file's BatchNorm where none is in training form.
FORM_KEY, TRAINING_FORM = "cleave.form", "training"

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


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _array(tensor):
    return tensor.detach().cpu().contiguous()


def _tensor_proto(value, name):
    value = _array(value)
    if value.dtype == torch.bfloat16:
        proto = onnx.TensorProto(name=name, data_type=onnx.TensorProto.BFLOAT16, dims=value.shape)
        proto.raw_data = value.view(torch.int16).numpy().tobytes()
        return proto
    return onnx.numpy_helper.from_array(value.numpy(), name)


def _families(named):
    """Names of one tensor together: tied weights. The first is the name that named_parameters() gives."""
    families = {}
    for name, value in named:
        families.setdefault(id(value), (value, []))[1].append(name)
    return list(families.values())


def name_outputs(graph, names):
    """Gives the outputs of torch.export's graph their names. What is an input, a parameter or another output too keeps its own name, and the
    output is a copy."""
    named = [*graph.inputs, *graph.initializers.values()]
    for i, name in enumerate(names):
        value = graph.outputs[i]
        if any(value is other for other in named):
            from onnxscript import ir  # which torch.export's exporter has made the graph with
            copy = ir.Node("", "Identity", [value])
            graph.append(copy)
            copy.outputs[0].type, copy.outputs[0].shape = value.type, value.shape
            graph.outputs[i] = value = copy.outputs[0]
        value.name = name
        named.append(value)


def name_apart(graph):
    """Gives each value that a node makes a name of its own. torch.export calls it after the operation, `t` for x.t(), and a parameter or an output
    can have that name, too: here they are two values, in the file they would be one."""
    kept = [*graph.inputs, *graph.initializers.values(), *graph.outputs]
    taken, outputs = {value.name for value in kept}, {id(value) for value in graph.outputs}
    for value in _values_within(graph):
        if not value.name or id(value) in outputs:
            continue
        name, count = value.name, 1
        while name in taken:
            count += 1
            name = f"{value.name}_{count}"
        value.name = name
        taken.add(name)


def _values_within(graph):
    """What the nodes make, those in the bodies of If, Loop and Scan as well."""
    for node in graph:
        yield from node.outputs
        for attribute in node.attributes.values():
            body = getattr(attribute, "value", None)
            if hasattr(body, "initializers"):
                yield from body.inputs
                yield from _values_within(body)


def mend(job):
    """Puts running statistics back to the module's, states the form, and marks buffers, detach() and padding_idx in a file of the TorchScript
    exporter."""
    model = job.model = onnx.load(job.path, load_external_data=False)
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    _drop_sources(model)
    detached.standard(model)
    _drop_zero_biases(model)
    _name_tied_weights(job, initializers)
    for name, value in job.module.named_buffers():
        tensor = initializers.get(name)
        if tensor is not None and not tensor.external_data:
            fresh = _tensor_proto(value, name)
            if (fresh.data_type, list(fresh.dims)) == (tensor.data_type, list(tensor.dims)):
                tensor.CopyFrom(fresh)
    if job.report.exporter == "torchscript":
        lines, saved = ["# inputs"], job.module.state_dict()
        lines += [f"p{i}: PARAMETER target='{name}'" for i, (name, _) in enumerate(job.module.named_parameters())]
        lines += [f"b{i}: BUFFER target='{name}' persistent={name in saved}" for i, (name, _) in enumerate(job.module.named_buffers())]
        lines += ["# outputs"]
        lines += [f"m{i}: BUFFER_MUTATION target='{node.input[k]}'" for i, node in enumerate(model.graph.node)
                  if node.op_type == "BatchNormalization" and any(a.name == "training_mode" and a.i for a in node.attribute)
                  for k in (3, 4)]
        model.metadata_props.add(key=SIGNATURE_KEY, value="\n".join(lines) + "\n")
    model.metadata_props.add(key=FORM_KEY, value=TRAINING_FORM)
    onnx.save(model, job.path)


def _name_tied_weights(job, initializers):
    """Of a tied weight's names the exporter takes any; named_parameters(), and files of weights, take the first."""
    names = {}
    for _, family in _families(job.module.named_parameters(remove_duplicate=False)):
        found = [name for name in family if name in initializers]
        if len(found) == 1 and found[0] != family[0]:
            names[found[0]] = family[0]
    if names:
        _rename(job.model.graph, names)
        for holder in (job.model, job.model.graph):
            for entry in holder.metadata_props:
                if entry.key == SIGNATURE_KEY:
                    for old, new in names.items():
                        entry.value = entry.value.replace(f"target='{old}'", f"target='{new}'")


def _rename(graph, names):
    for value in [*graph.initializer, *graph.input, *graph.value_info]:
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _rename(attribute.g, names)


def _drop_sources(model):
    """The exporters write into every node the lines of source code that it comes from, with the paths on this machine."""
    for graph in [model.graph, *model.functions]:
        for node in graph.node:
            node.doc_string = ""
            for i in reversed(range(len(node.metadata_props))):
                if node.metadata_props[i].key == "pkg.torch.onnx.stack_trace":
                    del node.metadata_props[i]


def _drop_zero_biases(model):
    """A convolution without a bias has one of zeros in torch.export's file, which for three dimensions is no vector, and so no bias of ONNX."""
    for graph in [model.graph, *model.functions]:
        makers = {name: node for node in graph.node for name in node.output}

        def is_zero(name):
            node = makers.get(name)
            if node is None or node.op_type != "Constant":
                return node is not None and node.op_type in ("Cast", "CastLike", "Expand") and is_zero(node.input[0])
            return node.attribute[0].name == "value" and not onnx.numpy_helper.to_array(node.attribute[0].t).any()

        for node in graph.node:
            if node.op_type in ("Conv", "ConvTranspose") and len(node.input) > 2 and is_zero(node.input[2]):
                del node.input[2:]


def _call_of(node):
    """The call of PyTorch that torch.export's exporter names beside a node, and its arguments; empty where the file does not say."""
    text = next((entry.value for entry in node.metadata_props if entry.key == "pkg.torch.onnx.fx_node"), "")
    target, _, rest = text.partition("](args = (")
    return target, [argument.strip() for argument in rest.partition("), kwargs")[0].split(",")]


def check_opset(job, opset):
    """torch.export writes an older opset only if it can convert its file, and no word if it cannot."""
    written = next((used.version for used in job.model.opset_import if used.domain in ("", "ai.onnx")), 1)
    if written != opset:
        os.remove(job.path)
        raise OtherOpset(f"opset: the exporter has written opset {written} in place of {opset}; give opset={written}, or the other exporter= "
                         "('dynamo' or 'torchscript')")


def check_calls(job):
    """What the file tells, but Cleave does not train: said here, and not only by the compiler."""
    for node in job.model.graph.node:
        target, arguments = _call_of(node)
        if "aten.embedding." in target and arguments[3:4] == ["True"]:
            os.remove(job.path)
            raise ExportFailed("an embedding has scale_grad_by_freq=True, which Cleave cannot train; set it to False")


def check_defined_once(job):
    """A name stands for one value: ONNX says so, and the compiler could not know which is meant."""
    graph = job.model.graph
    inputs, outputs = [value.name for value in graph.input], [value.name for value in graph.output]
    defined = inputs + [tensor.name for tensor in graph.initializer] + [name for node in graph.node for name in node.output if name]
    twice = [name for names in (defined, outputs) for name, count in collections.Counter(names).items() if count > 1]
    if twice:
        os.remove(job.path)
        raise ExportFailed(f"the exporter's file has the name '{twice[0]}' for two values; give others in output_names, rename the parameter or the input "
                           "that is called so, or try the other exporter= ('dynamo' or 'torchscript')")


def check_names(job):
    """Every parameter and buffer that the outputs depend on must be an initializer under its own name."""
    present = {tensor.name: tensor for tensor in job.model.graph.initializer}
    used = {name for node in job.model.graph.node for name in node.input} | {o.name for o in job.model.graph.output}
    for function in job.model.functions:
        used |= {name for node in function.node for name in node.input}
    missing = []
    for value, names in _families(job.module.named_parameters(remove_duplicate=False)):
        found = [name for name in names if name in present]
        job.report.parameters += bool(found)
        if not found:
            missing.append(names[0])
        elif len(found) > 1:
            job.note(f"{' and '.join(found)} are one tied weight in the module and {len(found)} in the file; compile with "
                     + " ".join(f"--tie '{found[0]}={other}'" for other in found[1:]))
    job.report.buffers = sum(name in present for name, _ in job.module.named_buffers())
    if missing:
        job.note(f"{counted(len(missing), 'parameter')} {'is' if len(missing) == 1 else 'are'} not in the file: no output depends on "
                 f"{'it' if len(missing) == 1 else 'them'}, or the exporter made constants of {'it' if len(missing) == 1 else 'them'} "
                 f"({', '.join(missing[:3])}{' and more' if len(missing) > 3 else ''})")
    known = {name for name, _ in job.module.named_parameters(remove_duplicate=False)}
    known |= {name for name, _ in job.module.named_buffers(remove_duplicate=False)}
    strange = [t for t in job.model.graph.initializer if t.name not in known and t.name in used
               and t.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
               and np.prod(t.dims) > 1 and (missing or not t.name.startswith(("lifted_tensor", "c_")))]
    if strange and missing:
        job.note(f"the exporter has made tensors of its own that may hold {'it' if len(missing) == 1 else 'them'} ({', '.join(t.name for t in strange[:3])})")


def note_losses(job):
    """What no export keeps, found in the module instead."""
    frozen = [name for name, p in job.module.named_parameters() if not p.requires_grad]
    if frozen and job.recorded.outputs:
        job.note(f"the file does not say that {counted(len(frozen), 'parameter')} {'has' if len(frozen) == 1 else 'have'} requires_grad=False; "
                 "--freeze in the command below does")
    if job.symbols and not any(d.dim_param for i in job.model.graph.input for d in i.type.tensor_type.shape.dim):
        job.note(f"the batch is fixed at {job.example_batch} in the file: the module, or the exporter, uses its size as a number")
    dims = {d.dim_param for i in job.model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    if dims - set(job.symbols.values()):
        job.note(f"the file names dimensions {', '.join(sorted(dims))}; bind each with --dim")


# ---- comparing with the module -------------------------------------------------------------------------------------------


def _is_smoothed(node):
    """A cross entropy with label smoothing. torch.export's exporter leaves the smoothing out of the ONNX operator, and writes the call that the node
    stands for beside it, where Cleave reads it: onnxruntime computes another loss."""
    _, arguments = _call_of(node)
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
    results, reason = _run_file(job, copy, [{name: _array(value).numpy() for name, value in inputs.items()} for inputs in batches.values()])
    try:
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
                unlike.update(_compare_batch(job, ours, theirs, left_out, masked, what, sizes))
    except BaseException:
        os.remove(job.path)
        raise
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
    beside = job.path + ".check.onnx"  # in the same folder: data of large models lie beside it
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


def _compare_batch(job, outputs, theirs, left_out, masked, what, sizes):
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
        job.report.compared = max(job.report.compared or 0.0, difference)
        if not difference <= 1e-3:
            amount = f"differs by {difference:.1e} (relative)" if np.isfinite(difference) else "has infinities or NaN that the module's has not, or lacks some"
            raise ExportFailed(f"the exporter's file is not the module: output '{name}' {amount} with {what}; {NOT_THE_MODULE}")
        nothing = f"output '{name}' is NaN in the file and in the module, so the comparison says nothing: give example inputs with another result"
        if is_example and got.size and np.isnan(got.astype(np.float64)).all() and nothing not in job.report.notes:
            job.note(nothing)
    return unlike
