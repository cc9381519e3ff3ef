"""What the arguments of cleave.export_torch must be. All are checked before anything runs: the exporters ignore some mistakes, and end the process
for others."""
import os

import torch

from .export_failure import WrongUse, check_path
from .exporters import EXPORTERS, OPSETS


def _class_advice(value):
    return f"{'nn.' if value.__module__.startswith('torch.nn.') else ''}{value.__name__}()"


def check_module(module):
    if isinstance(module, type):
        raise TypeError(f"module is a class; give {_class_advice(module)}")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"export_torch: expected a torch.nn.Module; got {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError("export_torch: a module of torch.jit cannot be exported; give the torch.nn.Module that it was made of")


def check_path_argument(path):
    """The path as text."""
    if not isinstance(path, (str, bytes, os.PathLike)) or not os.fspath(path):
        raise TypeError(f"path: expected the name of the file to write, as in 'model.onnx'; got {path!r}")
    path = os.fsdecode(path)
    check_path(path)
    return path


def check_loss(loss):
    if isinstance(loss, type):
        raise TypeError(f"loss is a class; give {_class_advice(loss)}")
    if loss is not None and not callable(loss):
        raise TypeError(f"loss: expected a function or a module, as in nn.MSELoss(); got {loss!r}"
                        + (" (without a loss here, 'cleave compile --loss' adds one of its own)" if isinstance(loss, str) else ""))
    if isinstance(loss, torch.nn.Module) and next(loss.parameters(), None) is not None:
        raise ValueError("loss: it has parameters of its own; make it a part of the module")


def check_output_names(names):
    if names is None:
        return
    if isinstance(names, str):
        raise TypeError(f"output_names: {names!r} is no list of names; give a list, as in [{names!r}]")
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
        raise TypeError(f"output_names: expected a list of names, as in ['logits']; got {names!r}")


def check_exporter(exporter):
    if exporter is not None and (not isinstance(exporter, str) or exporter not in EXPORTERS):
        raise ValueError(f"exporter: expected None, {' or '.join(map(repr, EXPORTERS))}; got {exporter!r}")


def check_opset(opset):
    if opset is not None and (not isinstance(opset, int) or isinstance(opset, bool) or opset not in OPSETS):
        raise WrongUse(f"opset: expected {OPSETS[0]} to {OPSETS[-1]}; got {opset!r}")


def check_switches(**switches):
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name}: expected True or False; got {value!r}")


def _dims_text(value):
    dims = list(map(str, range(value.dim())))
    if len(dims) < 2:
        return f"dimension {dims[0]} alone" if dims else "no dimensions"
    return f"dimensions {', '.join(dims[:-1])} and {dims[-1]}"


def batch_dims_of(given, inputs):
    """The dimension of each input that counts samples; None where there is none."""
    if given is not None and not hasattr(given, "keys"):
        raise TypeError(f"batch_dims: expected a dict from inputs to dimensions, as in {{{next(iter(inputs))!r}: 1}}; got {given!r}")
    given = dict(given or {})
    for name, dim in given.items():
        if name not in inputs:
            raise WrongUse(f"batch_dims: no input {name!r}; inputs: {', '.join(inputs)}")
        if dim is not None and (not isinstance(dim, int) or isinstance(dim, bool) or not 0 <= dim < inputs[name].dim()):
            raise WrongUse(f"batch_dims: '{name}' has {_dims_text(inputs[name])}; got {dim!r} (None: it has no samples)")
    return {name: given.get(name, 0 if value.dim() else None) for name, value in inputs.items()}
