"""What the arguments of cleave.export_torch must be. All are checked before anything runs: the exporters ignore some mistakes, and end the process
for others."""
import operator
import os

import numpy as np
import torch

from .export_failure import WrongUse, check_path
from .exporters import EXPORTERS, OPSETS


def _class_advice(value):
    return f"{'nn.' if value.__module__.startswith('torch.nn.') else ''}{value.__name__}()"


def _whole_number(value):
    """The number that a value counts as, also one of numpy; None where it is none."""
    try:
        return operator.index(value)
    except (TypeError, ValueError):
        return None


def check_module(module):
    if isinstance(module, type):
        raise TypeError(f"module is a class; give {_class_advice(module)}")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"export_torch: expected a torch.nn.Module; got {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError("export_torch: a module of torch.jit cannot be exported; give the torch.nn.Module that it was made of")


_FOREIGN = {".pt": "a file of PyTorch", ".pth": "a file of PyTorch", ".bin": "a file of weights", ".safetensors": "a safetensors file",
            ".npy": "an array of numpy", ".npz": "arrays of numpy"}


def check_path_argument(path):
    """The path as text. A name that says what ONNX is not is refused: another program would take the file for that."""
    if not isinstance(path, (str, bytes, os.PathLike)) or not os.fspath(path):
        raise TypeError(f"path: expected the name of the file to write, as in 'model.onnx'; got {path!r}")
    path = os.fsdecode(path)
    stem, extension = os.path.splitext(path)
    if kind := _FOREIGN.get(extension.lower()):
        raise WrongUse(f"path: '{path}' is the name of {kind}, and export_torch writes an ONNX model; give a name such as '{stem}.onnx'")
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


def output_names_of(given):
    """The names as a list; None where none are given."""
    if given is None:
        return None
    if isinstance(given, str):
        raise TypeError(f"output_names: {given!r} is no list of names; give a list, as in [{given!r}]")
    if isinstance(given, (set, frozenset)):
        raise TypeError(f"output_names: a set has no order; give a list, in the order of forward(); got {given!r}")
    try:
        names = list(given)
    except TypeError:
        names = [None]
    if not all(isinstance(name, str) and name for name in names):
        raise TypeError(f"output_names: expected a list of names, as in ['logits']; got {given!r}")
    return names


def check_exporter(exporter):
    if exporter is not None and (not isinstance(exporter, str) or exporter not in EXPORTERS):
        raise ValueError(f"exporter: expected None, {' or '.join(map(repr, EXPORTERS))}; got {exporter!r}")


def opset_of(given):
    """The number; None where none is given."""
    opset = _whole_number(given)
    if given is not None and opset not in OPSETS:
        raise WrongUse(f"opset: expected {OPSETS[0]} to {OPSETS[-1]}; got {given!r}")
    return opset


def check_switches(**switches):
    for name, value in switches.items():
        if not isinstance(value, np.bool_) and _whole_number(value) not in (0, 1):
            raise TypeError(f"{name}: expected True or False; got {value!r}")


def _dims_text(value):
    dims = list(map(str, range(value.dim())))
    if len(dims) < 2:
        return f"dimension {dims[0]} alone" if dims else "no dimensions"
    return f"dimensions {', '.join(dims[:-1])} and {dims[-1]}"


def batch_dims_of(given, inputs, takes):
    """The dimension of each input that counts samples, from the first one; None where there is none. Arguments of forward(), `takes`, may be named
    that this example leaves out."""
    if given is not None and not hasattr(given, "keys"):
        raise TypeError(f"batch_dims: expected a dict from inputs to dimensions, as in {{{next(iter(inputs))!r}: 1}}; got {given!r}")
    dims = {name: 0 if value.dim() else None for name, value in inputs.items()}
    for name, dim in dict(given).items() if given else ():
        number = None if isinstance(dim, bool) else _whole_number(dim)
        if name in inputs:
            rank = inputs[name].dim()
            if dim is not None and (number is None or not -rank <= number < rank):
                raise WrongUse(f"batch_dims: '{name}' has {_dims_text(inputs[name])}; got {dim!r} (None: it has no samples)")
            dims[name] = None if dim is None else number % rank
        elif name not in takes:
            raise WrongUse(f"batch_dims: no input {name!r}; inputs: {', '.join(inputs)}")
        elif dim is not None and number is None:
            raise WrongUse(f"batch_dims: expected the number of a dimension for '{name}', or None; got {dim!r}")
    return dims
