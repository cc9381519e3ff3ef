"""Whether what an exporter has traced has the module's gradients. No exporter checks that, and forward() can end a gradient, or let one pass, in a
way that the trace does not show: what differs here is refused, whatever the reason is.

The module runs as it is, and what was traced runs before it is translated to ONNX: torch.export's program node by node, a TorchScript trace as a
function. Both get the example and the same random numbers, without dropout, and PyTorch differentiates both."""
import contextlib
from unittest import mock

import torch
import torch.nn.functional as F
from torch.export.graph_signature import InputKind, OutputKind

from . import recurrent
from .export_failure import InvalidFile

ALLOWED = 1e-2  # of the largest number of a parameter's gradient, in float32
NOISE = 1e-5  # of the largest number of all gradients: one below is made of rounding errors, as that of a bias before BatchNorm


class OtherGradients(InvalidFile):
    """What the exporter has traced has other gradients than the module."""
    fault = "has other gradients than the module"


def _dropout(input, *_, **__):
    return input


def _attention(original):
    def attention(query, key, value, attn_mask=None, dropout_p=0.0, *others, **options):
        return original(query, key, value, attn_mask, 0.0, *others, **options)
    return attention


# What runs in the place of operations of a program: without dropout, and recurrent layers, which have no gradient in it, as what they stand for.
REPLACED = {torch.ops.aten.native_dropout.default: lambda x, *_: (x, torch.ones_like(x, dtype=torch.bool)), torch.ops.aten.dropout.default: _dropout,
            torch.ops.aten.scaled_dot_product_attention.default: _attention(torch.ops.aten.scaled_dot_product_attention.default),
            torch.ops.cleave_torch.lstm.default: recurrent.lstm_steps, torch.ops.cleave_torch.recurrent.default: recurrent.recurrent_steps}


class _Program(torch.fx.Interpreter):
    """The graph that torch.export's exporter writes."""

    def call_function(self, target, args, kwargs):
        return super().call_function(REPLACED.get(target, target), args, kwargs)


def run_program(program, module, inputs):
    """The user's outputs of a torch.export.ExportedProgram with the parameters and buffers of the module."""
    states = {**program.state_dict, **dict(module.named_buffers(remove_duplicate=False)), **dict(module.named_parameters(remove_duplicate=False))}
    given, values = iter(inputs), []
    for spec in program.graph_signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            values.append(next(given))
        else:
            values.append(states[spec.target] if spec.target in states else program.constants[spec.target])
    results = _Program(program.graph_module).run(*values)
    kinds = [spec.kind for spec in program.graph_signature.output_specs]
    return [value for kind, value in zip(kinds, results) if kind == OutputKind.USER_OUTPUT]


@contextlib.contextmanager
def without_dropout(module):
    """While this holds, Dropout layers, attention and recurrent layers drop nothing: programs draw masks in other ways than modules. The operations
    of ours for recurrent layers have gradients."""
    with contextlib.ExitStack() as stack:
        for layer in module.modules():
            if isinstance(layer, torch.nn.RNNBase):
                stack.enter_context(mock.patch.object(layer, "dropout", 0.0))
        for owner, name, made in ((F, "dropout", _dropout), (torch, "dropout", _dropout), (F, "scaled_dot_product_attention", None),
                                  (recurrent, "_lstm", recurrent.lstm_steps), (recurrent, "_recurrent", recurrent.recurrent_steps)):
            stack.enter_context(mock.patch.object(owner, name, made or _attention(getattr(owner, name))))
        yield


def _loss_of(outputs):
    """The loss, a scalar that stands last or first; else a sum of all outputs, in which each number has another weight."""
    outputs = [value for value in outputs if value.is_floating_point()]
    scalars = [value for value in (*outputs[-1:], *outputs) if value.dim() == 0]
    if scalars:
        return scalars[0]
    return sum((value * torch.linspace(0.5, 1.5, value.numel(), dtype=value.dtype, device=value.device).view(value.shape)).sum() for value in outputs)


def gradients_of(module, outputs):
    """By name; zeros for a parameter that does not reach the outputs."""
    named, loss = {name: value for name, value in module.named_parameters() if value.requires_grad}, _loss_of(outputs)
    found = torch.autograd.grad(loss, list(named.values()), allow_unused=True) if isinstance(loss, torch.Tensor) and loss.requires_grad else [None] * len(named)
    return {name: torch.zeros_like(value) if grad is None else grad.to_dense() for (name, value), grad in zip(named.items(), found)}


def _largest(values):
    finite = values.detach().abs().nan_to_num(0, 0, 0)
    return float(finite.max()) if finite.numel() else 0.0


def _allowed(own):
    """The largest difference of two orders of the same sums."""
    return max([ALLOWED, *(32 * torch.finfo(value.dtype).eps for value in own.values())])


def difference(own, traced):
    """The largest difference, in parts of the gradient's largest number, and its parameter. Infinite where the trace alone has no number."""
    noise, worst, which = NOISE * max(map(_largest, own.values()), default=0.0), 0.0, None
    for name, gradient in own.items():
        known = gradient.isfinite()  # where the module itself has no gradient, any will do
        one, other = gradient[known].double(), traced[name][known].double()
        amount = float((one - other).abs().max()) if one.numel() else 0.0
        if amount <= noise:
            continue
        largest = max(_largest(one), noise)
        relative = amount / largest if largest and amount == amount else float("inf")
        if relative > worst:
            worst, which = relative, name
    return worst, which


def check_gradients(job):
    """Raises OtherGradients. The report has no figure where PyTorch cannot differentiate the trace, or where random numbers differ."""
    if job.trace is None:
        return
    try:
        own, is_random = job.gradients()
        theirs, draws = job.gradients(job.trace)
    except Exception:  # a trace may consist of operations that PyTorch runs and does not differentiate
        return
    amount, name = difference(own, theirs)
    if amount <= _allowed(own):
        job.report.gradients = amount
    elif not (is_random or draws):
        raise OtherGradients(
            f"the exporter's file would not train as the module does: the gradient of '{name}' differs by {amount:.1e} (relative) from PyTorch's. "
            "A change in place of what detach() gives, requires_grad_() in forward(), torch.jit.script, torch.func, and a checkpoint with "
            "use_reentrant=True of inputs without a gradient do that; end a gradient by y = y.detach(), and change nothing in place there (check=False "
            "writes the file all the same)")
