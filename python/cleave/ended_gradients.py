"""Where forward() ends a gradient without a call of detach(): in a block of no_grad(), in a number of Python that is made of a tensor, and in
`.data`. The exporters keep detach() alone, so in the trace each of these becomes a detach()."""
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

NUMBERS = (torch.Tensor.item, torch.Tensor.tolist, torch.Tensor.__float__, torch.Tensor.__int__, torch.Tensor.__bool__, torch.Tensor.__complex__,
           torch.Tensor.__index__)
ACCESS = ("__get__", "__set__", "requires_grad_", "register_hook", "retain_grad")  # of the tensor itself: they compute nothing


def _detached(value):
    return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value


class EndsGradients(TorchFunctionMode):
    """While it holds, functions get detached tensors where PyTorch records no gradient of theirs. `hooks` counts the hooks that forward() puts on
    tensors. A torch.autograd.Function runs its forward() without gradients, too, but does not end them: those of checkpoint() pass."""

    def __init__(self):
        super().__init__()
        self.hooks, self.functions, self.apply = 0, 0, None

    def __enter__(self):
        self.apply = apply = torch.autograd.Function.__dict__["apply"]

        def counted(cls, *args, **kwargs):
            self.functions += 1
            try:
                return apply.__func__(cls, *args, **kwargs)
            finally:
                self.functions -= 1

        torch.autograd.Function.apply = classmethod(counted)
        return super().__enter__()

    def __exit__(self, *error):
        torch.autograd.Function.apply = self.apply
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function == torch.Tensor.data.__get__:
            return args[0].detach()
        name = getattr(function, "__name__", "")
        self.hooks += name == "register_hook"
        if function in NUMBERS or not (torch.is_grad_enabled() or self.functions or name in ACCESS):
            args, kwargs = _pytree.tree_map(_detached, (args, kwargs))
        return function(*args, **(kwargs or {}))
