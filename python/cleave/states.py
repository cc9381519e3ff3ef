"""The parameters and buffers of a module, kept so that an export leaves them as they were."""
import torch
from torch.nn.parameter import UninitializedTensorMixin


def _is_dense(value):
    return value.layout == torch.strided and not value.is_quantized


def differs(value, before):
    """Whether the bytes are others. What is not dense is taken for unchanged."""
    if value.shape != before.shape or value.dtype != before.dtype:
        return True
    if not _is_dense(value):
        return False
    one, other = (tensor.detach().resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8) for tensor in (value, before))
    return not torch.equal(one, other)


class States:
    """`before` has the values by name: of all buffers, and of the parameters in `chosen`, or of all of them."""

    def __init__(self, module, chosen=None):
        names = {id(value): name for named in (module.named_parameters(), module.named_buffers()) for name, value in named}
        # The tensors themselves, which forward() may replace; several places may show one.
        self.places = [(states, leaf, value) for m in module.modules() for states in (m._parameters, m._buffers) for leaf, value in states.items()]
        values = {id(value): value for _, _, value in self.places if value is not None and not isinstance(value, UninitializedTensorMixin)}
        buffers = {id(value) for value in module.buffers()}
        self.kept = [(value, value.data, value.detach().clone()) for i, value in values.items()
                     if chosen is None or i in buffers or names.get(i) in chosen]
        self.before = {names[id(value)]: copy for value, _, copy in self.kept if id(value) in names}

    def restore(self):
        with torch.no_grad():
            for owner, leaf, value in self.places:
                owner[leaf] = value
            for value, data, copy in self.kept:
                if _is_dense(value) and value.data_ptr() != data.data_ptr():
                    value.data = data  # views of it are views again
                if differs(value, copy):
                    value.copy_(copy)
