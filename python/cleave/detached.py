"""What PyTorch's TorchScript exporter forgets: where a gradient ends (`x.detach()`, the `padding_idx` of an embedding), that an embedding takes
no negative indices, and whether a Clip is a clamp, which has another gradient at its bounds than relu6 and hardtanh. Here it writes operations of
ours, which then become what torch.export writes: an Identity, a Gather and a Clip whose metadata name the call."""
import torch

DOMAIN = "cleave.torch"
CALL = "call_function[target=torch.ops.aten.{}.default](args = ({}), kwargs = {{}})"


def _detach(g, x):
    return g.op(f"{DOMAIN}::Detach", x).setType(x.type())


def _embedding(g, weight, indices, padding_idx, scale_grad_by_freq, sparse):
    if scale_grad_by_freq:
        raise ValueError("an embedding has scale_grad_by_freq=True, which Cleave cannot train; set it to False")
    rows = g.op("Gather", weight, indices)  # whose shape the exporter knows
    return g.op(f"{DOMAIN}::Embedding", rows, padding_idx_i=padding_idx).setType(rows.type())


def _clamped(symbolic):
    def write(g, *arguments):
        clipped = symbolic(g, *arguments)
        return g.op(f"{DOMAIN}::Clamped", clipped, arguments[0]).setType(clipped.type())
    return write


def symbolics():
    """What the TorchScript exporter writes, by operation, so that it keeps detach(), padding_idx and clamp()."""
    from torch.onnx import symbolic_opset11  # that exporter's own, which not every module needs
    numbers = torch.onnx.symbolic_helper.parse_args("v", "v", "i", "b", "v")
    clamps = {f"aten::{name}": _clamped(getattr(symbolic_opset11, name)) for name in ("clamp", "clamp_min", "clamp_max")}
    return {"aten::detach": _detach, "aten::embedding": numbers(_embedding), **clamps}


def _call(node, name, *arguments):
    text = ", ".join([f"%{value}" for value in node.input] + list(arguments))
    node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=CALL.format(name, text if arguments else text + ","))


def _make_standard(node, makers):
    if node.op_type == "Embedding":
        _call(makers[node.input[0]], "embedding", str(node.attribute[0].i))
    elif node.op_type == "Clamped":
        name, own = node.input
        while name != own and (clip := makers.get(name)) is not None and clip.op_type in ("Clip", "Max", "Min"):
            _call(clip, "clamp")  # bounds that are tensors are a Max and a Min: what makes its first input, up to the clamp's own
            name = clip.input[0]
        del node.input[1:]
    else:
        _call(node, "detach")
    node.domain, node.op_type = "", "Identity"
    del node.attribute[:]


def standard(model):
    """The file without operations of ours."""
    graphs = [model.graph, *model.functions]
    for graph in graphs:  # it grows by the bodies of If and Loop
        makers = {name: node for node in graph.node for name in node.output}
        for node in graph.node:
            graphs += [body for attribute in node.attribute for body in ([attribute.g] if attribute.HasField("g") else attribute.graphs)]
            if node.domain == DOMAIN:
                _make_standard(node, makers)
    for i in reversed(range(len(model.opset_import))):
        if model.opset_import[i].domain == DOMAIN:
            del model.opset_import[i]
