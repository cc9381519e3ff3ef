"""Functions of whole numbers that the exporters compute in floating point, which rounds those above 2^24, or round towards zero in the place of
down, and what is traced in their place: exact numbers for both exporters. Other tensors get PyTorch's own functions."""
import functools

import torch


def _is_whole(value):
    if isinstance(value, torch.Tensor):
        return not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool)
    return isinstance(value, int)


def _down(a, b):
    """The quotient, rounded down: what is divided has no remainder."""
    if not isinstance(a, torch.Tensor):
        a = b.new_full((), a)
    return torch.ops.aten.floor_divide(a - a % b, b)


def _towards_zero(a, b):
    return torch.ops.aten.floor_divide(a - torch.fmod(a, b), b)


_inside = []  # PyTorch computes the shape of a quotient by others of these functions, which then are its own


def _for_whole(exact):
    """Where all tensors are whole numbers, `exact` in the place of the original. It has None for what it cannot do."""
    def make(original):
        @functools.wraps(original)
        def function(*given, **options):
            given = (*given, *(options.pop(name) for name in ("input", "other") if name in options))
            made = None
            if not _inside and all(map(_is_whole, given)) and any(isinstance(value, torch.Tensor) for value in given):
                _inside.append(exact)
                try:
                    made = exact(*given, **options)
                finally:
                    _inside.pop()
            return original(*given, **options) if made is None else made
        return function
    return make


def _div(a, b, rounding_mode=None, out=None):
    rounded = {"floor": _down, "trunc": _towards_zero}.get(rounding_mode)
    return rounded(a, b) if rounded and out is None else None


def _is_size(value):
    """Whether TorchScript has traced it as a number that sizes alone make. They are not negative, and the trace must go on to know their values."""
    if not isinstance(value, torch.Tensor) or value.dim() or not torch.jit.is_tracing():
        return False
    pending = [torch._C._get_value_trace(value).node()]
    while pending:
        node = pending.pop()
        if node.kind() == "aten::size":
            continue
        if node.kind() in ("prim::Param", "prim::GetAttr"):
            return False
        pending += [used.node() for used in node.inputs()]
    return True


def _quotient(a, b, out=None):
    return _down(a, b) if out is None and not _is_size(a) else None


def _addcmul(a, b, c, value=1, out=None):
    return a + value * b * c if out is None else None


def _power(bits):
    return 1 << bits if isinstance(bits, int) and 0 <= bits < 63 else None


def _right_shift(a, bits):
    return _down(a, _power(bits)) if _power(bits) else None


def _left_shift(a, bits):
    return a * _power(bits) if _power(bits) else None


def _same(a, decimals=0, out=None):
    return a.clone() if decimals >= 0 and out is None else None


def _in_place(exact):
    def function(a, *given, **options):
        made = exact(a, *given, **options)
        return None if made is None else a.copy_(made)
    return function


def _functions(exact, *names):
    """Those of torch and of tensors, where they have them."""
    return [(owner, name, _for_whole(exact)) for owner in (torch, torch.Tensor) for name in names if hasattr(owner, name)]


# As in traceable.py: the owner, the name, and what makes a function of the original.
BOTH = [*_functions(_div, "div", "divide"), *_functions(_in_place(_div), "div_", "divide_"),
        *_functions(_right_shift, "__rshift__", "bitwise_right_shift"), *_functions(_left_shift, "__lshift__", "bitwise_left_shift"),
        *_functions(_same, "floor", "ceil", "round", "trunc", "fix"), *_functions(lambda a, b: _down(b, a), "__rfloordiv__")]
# torch.export's exporter divides whole numbers exactly.
TORCHSCRIPT = [*_functions(_quotient, "floor_divide", "__floordiv__"),
               *_functions(_in_place(_quotient), "floor_divide_", "__ifloordiv__"), *_functions(_addcmul, "addcmul")]
