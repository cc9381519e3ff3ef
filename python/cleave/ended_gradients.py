"""Where forward() ends a gradient without a call of detach(): in a block of no_grad(), in a number of Python that is made of a tensor, and in
`.data`. The exporters keep detach() alone, so in the trace each of these becomes a detach(). Functions of torch.jit.script are not seen."""
import os
import sys
import threading

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree
from torch.utils.checkpoint import CheckpointFunction

from .export_failure import WrongUse

NUMBERS = (torch.Tensor.item, torch.Tensor.tolist, torch.Tensor.__float__, torch.Tensor.__int__, torch.Tensor.__bool__, torch.Tensor.__complex__,
           torch.Tensor.__index__)
VIEWS = [getattr(torch.Tensor, name).__get__ for name in ("T", "mT", "H", "mH", "real", "imag")]  # attributes that are functions
ACCESS = ("__get__", "__set__", "requires_grad_", "detach_", "register_hook", "retain_grad")  # of the tensor itself: they compute nothing
IN_PLACE = ("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__imatmul__")
ARRAYS = (torch.Tensor.numpy, torch.Tensor.__array__)
SHARES = "_cleave_shares"  # marks the `.data` of a tensor that has a gradient
OURS = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (torch.__file__, __file__))


def _detached(value):
    return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value


def _written(name, args, kwargs):
    """The tensor that a function changes; None if it changes none."""
    if name in IN_PLACE or (name.endswith("_") and not name.endswith("__")):
        return args[0] if args else None
    return kwargs.get("out")


def _data_of(tensor):
    data = tensor.detach()
    if tensor.requires_grad:
        setattr(data, SHARES, True)
    return data


def _place():
    """The line of the user's program that is running, as FILE:LINE."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _check_written(tensor, is_ended):
    if isinstance(tensor, torch.Tensor) and (hasattr(tensor, SHARES) or (is_ended and tensor.requires_grad)):
        raise WrongUse(f"export_torch: {_place()} changes a tensor in place where no gradient is recorded (no_grad() or .data). PyTorch's gradient "
                       "passes by the change, and in a file it would end there. Of a tensor y that becomes f(y), write "
                       "y = y + (f(y) - y).detach()")


class EndsGradients(TorchFunctionMode):
    """While it holds, functions get detached tensors where PyTorch records no gradient of theirs. It does nothing if none is recorded around it.
    `hooks` counts the hooks that forward() puts on tensors. `numbers` has the lines that make numbers of Python of values, in their order.

    Within the forward() of a torch.autograd.Function no gradient is recorded, because backward() gives it. Nothing is detached there. A reentrant
    checkpoint is such a Function, too: its part of the module is called without it, so that blocks in it are seen."""

    def __init__(self):
        super().__init__()
        self.hooks, self.functions, self.apply, self.records, self.numbers = 0, 0, None, False, {}

    def __enter__(self):
        self.records = torch.is_grad_enabled()
        self.apply = apply = torch.autograd.Function.__dict__["apply"]
        thread = threading.get_ident()  # other threads have no mode, and go on as before

        def called(cls, *args, **kwargs):
            if cls is CheckpointFunction and threading.get_ident() == thread:
                part, _, *inputs = args  # and whether random numbers are drawn again
                return part(*inputs)
            if threading.get_ident() != thread or not (torch.is_grad_enabled() or self.functions):
                return apply.__func__(cls, *args, **kwargs)
            self.functions += 1
            try:
                return apply.__func__(cls, *args, **kwargs)
            finally:
                self.functions -= 1

        torch.autograd.Function.apply = classmethod(called)
        return super().__enter__()

    def __exit__(self, *error):
        torch.autograd.Function.apply = self.apply
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self.records:
            return function(*args, **kwargs)
        if function == torch.Tensor.data.__get__:
            return _data_of(args[0])
        name = getattr(function, "__name__", "")
        is_access = name in ACCESS and function not in VIEWS
        is_ended = not (torch.is_grad_enabled() or self.functions or is_access)
        if not torch.compiler.is_dynamo_compiling():  # which compiles this function, too; the module has run without it before
            self.hooks += name in ("register_hook", "register_post_accumulate_grad_hook")
            if function in NUMBERS + ARRAYS and isinstance(args[0], torch.Tensor) and args[0].is_floating_point():
                self.numbers[_place()] = None
            if not is_access:
                _check_written(_written(name, args, kwargs), is_ended)
        if is_ended or function in NUMBERS:
            args, kwargs = _pytree.tree_map(_detached, (args, kwargs))
        return function(*args, **kwargs)
