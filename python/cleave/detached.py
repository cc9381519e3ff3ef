"""Where a gradient ends: PyTorch's TorchScript exporter forgets `x.detach()`. Here it writes an operation of ours, which then becomes what
torch.export writes: an Identity whose metadata name the call."""
import contextlib

import torch

DOMAIN, NAME = "cleave.torch", "Detach"
CALL = "call_function[target=torch.ops.aten.detach.default](args = (%{},), kwargs = {{}})"


@contextlib.contextmanager
def recorded(opset):
    """While this holds, the TorchScript exporter keeps detach()."""
    torch.onnx.register_custom_op_symbolic("aten::detach", lambda g, x: g.op(f"{DOMAIN}::{NAME}", x).setType(x.type()), opset)
    try:
        yield
    finally:
        torch.onnx.unregister_custom_op_symbolic("aten::detach", opset)


def standard(model):
    """The file without operations of ours."""
    graphs = [model.graph, *model.functions]
    for graph in graphs:  # it grows by the bodies of If and Loop
        for node in graph.node:
            graphs += [body for attribute in node.attribute for body in ([attribute.g] if attribute.HasField("g") else attribute.graphs)]
            if (node.domain, node.op_type) == (DOMAIN, NAME):
                node.domain, node.op_type = "", "Identity"
                node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=CALL.format(node.input[0]))
    for i in reversed(range(len(model.opset_import))):
        if model.opset_import[i].domain == DOMAIN:
            del model.opset_import[i]
