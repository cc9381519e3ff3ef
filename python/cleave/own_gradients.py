"""Gradients that a module has of its own, and that no file has: those of torch.autograd.Function, of fake quantization and of hooks."""
import torch

from .unwritten import first_names

FAKE_QUANTIZATION = ("FakeQuantize", "FusedMovingAvgObs")


def recorded(outputs):
    """The nodes of PyTorch's record of the forward pass, from the outputs backwards."""
    open_nodes, seen = [value.grad_fn for value in outputs], set()
    while open_nodes:
        node = open_nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        open_nodes += [before for before, _ in node.next_functions]
        yield node


def own_gradients(module, outputs, hook_count):
    """One sentence for each kind. `hook_count` is the number of hooks that forward() has put on tensors. Of functions those count that parameters reach
    the outputs through. PyTorch's record of the forward pass tells: a node of it is the backward() of one call."""
    functions, is_quantized = {}, False
    for node in recorded(outputs):
        is_quantized |= type(node).__name__.startswith(FAKE_QUANTIZATION)
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            function = type(node)._forward_cls
            if function.__module__.split(".")[0] != "torch":  # as that of torch.utils.checkpoint
                functions[function.__name__] = None
    notes = []
    if functions:
        names = ", ".join(list(functions)[:3]) + (" and more" if len(functions) > 3 else "")
        notes.append(f"the file has forward() of {names} (torch.autograd.Function) and not backward(): Cleave differentiates what forward() "
                     "computes. For a function f that is to have the gradient of g, write g(x) + (f(x) - g(x)).detach()")
    if is_quantized:
        notes.append("the file has the rounding of fake quantization and not PyTorch's gradient, which passes through it: in Cleave the gradient "
                     "ends there. Train without it, or write x + (quantized(x) - x).detach()")
    hooked = [name or type(m).__name__ for name, m in module.named_modules() if m._backward_hooks or m._backward_pre_hooks]
    hooked += [name for name, p in module.named_parameters() if p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None)]
    hooked += ["a tensor in forward()"] * bool(hook_count)
    if hooked:
        notes.append(f"hooks of gradients are not in the file ({first_names(hooked)}): Cleave trains without them")
    return notes
