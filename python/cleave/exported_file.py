"""The file that PyTorch's exporter wrote, read back: mended where it can be, and what it does not say.

Used by cleave.export alone. `job` is its _Job: the module, its inputs by name, and the report."""
import collections

import numpy as np
import onnx
import onnx.numpy_helper
import torch

from . import detached
from .export_failure import ExportFailed, OtherOpset

# Under this key torch.export's exporter keeps which initializer is a parameter and which a buffer; Cleave reads it.
SIGNATURE_KEY = "pkg.torch.export.ExportedProgram.graph_signature"

# Modules are exported in training, so the form of each layer in the file is the one in which it trains: a BatchNorm in inference form is in
# eval(). Other exports do not say it, and Cleave trains all of such a file's BatchNorm where none is in training form.
FORM_KEY, TRAINING_FORM = "cleave.form", "training"


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def array(tensor):
    return tensor.detach().cpu().contiguous()


def _tensor_proto(value, name):
    value = array(value)
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
    model = job.model = onnx.load(job.draft.path, load_external_data=False)
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
    onnx.save(model, job.draft.path)


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


def call_of(node):
    """The call of PyTorch that torch.export's exporter names beside a node, and its arguments; empty where the file does not say."""
    text = next((entry.value for entry in node.metadata_props if entry.key == "pkg.torch.onnx.fx_node"), "")
    target, _, rest = text.partition("](args = (")
    return target, [argument.strip() for argument in rest.partition("), kwargs")[0].split(",")]


def check_opset(job, opset):
    """torch.export writes an older opset only if it can convert its file, and no word if it cannot."""
    written = next((used.version for used in job.model.opset_import if used.domain in ("", "ai.onnx")), 1)
    if written != opset:
        raise OtherOpset(f"opset: the exporter has written opset {written} in place of {opset}; give opset={written}, or the other exporter= "
                         "('dynamo' or 'torchscript')")


def check_calls(job):
    """What the file tells, but Cleave does not train: said here, and not only by the compiler."""
    for node in job.model.graph.node:
        target, arguments = call_of(node)
        if "aten.embedding." in target and arguments[3:4] == ["True"]:
            raise ExportFailed("an embedding has scale_grad_by_freq=True, which Cleave cannot train; set it to False")


def check_defined_once(job):
    """A name stands for one value: ONNX says so, and the compiler could not know which is meant."""
    graph = job.model.graph
    inputs, outputs = [value.name for value in graph.input], [value.name for value in graph.output]
    defined = inputs + [tensor.name for tensor in graph.initializer] + [name for node in graph.node for name in node.output if name]
    twice = [name for names in (defined, outputs) for name, count in collections.Counter(names).items() if count > 1]
    if twice:
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
