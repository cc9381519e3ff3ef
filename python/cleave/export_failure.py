"""Why cleave.export_torch has failed. Each cause has its own words and its own advice: the module itself, the loss, an operation without an
ONNX form, a batch that is a constant, the disk, a missing package, memory. The original exception is the `__cause__` of ours."""
import errno
import os
import re

import torch


class ExportFailed(Exception):
    """The module cannot be exported; the message says why and what would do."""


class InvalidFile(ExportFailed):
    """The exporter's file is not valid ONNX. That of the other exporter may be."""
    fault = "is not valid"


class FixedBatch(InvalidFile):
    """It holds for the example's batch alone."""
    fault = "has a fixed batch"


class OtherOpset(InvalidFile):
    """It has another opset than the one that was asked for."""
    fault = "has another opset"


class WrongUse(ValueError):
    """An argument of export_torch is wrong, or does not fit the module."""


BATCH_ADVICE = ("; the batch must not be a constant of the module: write x.shape[0] or -1, not the number or len(x) (or give "
                "batch_dims={input: None} to export it for this batch alone)")
FIXED_FILE_ADVICE = BATCH_ADVICE + "; an exporter may write sizes as constants, too: try the other exporter= ('dynamo' or 'torchscript')"
VALUES_ADVICE = "; forward() must consist of tensor operations: no numpy, no .item(), no branch on the values of tensors"
OPERATION_ADVICE = ("; PyTorch's exporter has no ONNX form of this operation: write it with others in forward(), or try a larger opset=, the other "
                    "exporter= ('dynamo' or 'torchscript') or a newer torch")
OPSET_ADVICE = "; this exporter does not write that opset: give another opset=, or the other exporter= ('dynamo' or 'torchscript')"
OTHER_ADVICE = ("; the module runs in PyTorch, and this error is the exporter's: try the other exporter= ('dynamo' or 'torchscript') or another "
                "version of torch; its whole text is the cause of this exception")

_OPERATION = re.compile(r"UnsupportedOperator|DispatchError|No ONNX function|No decompositions|is not supported|Unsupported: ")
_OPSET = re.compile(r"Unsupported onnx_opset_version")
_BATCH = re.compile(r"\bbatch|onstraint")
_VALUES = re.compile(r"[Dd]ata-dependent|GuardOnDataDependent|\.item\(|TracerWarning|numpy|Dynamic control flow")


_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EFBIG)


def _chain(error):
    """The error and its causes. What the module or the exporter has handled on the way, its `__context__`, is none."""
    while error is not None:
        yield error
        error = error.__cause__


def first_line(error):
    """The innermost cause in one line: the exporters wrap it in pages of their own."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in re.sub("\x1b\\[[0-9;]*m", "", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200] if lines else 'no message'}"


def _of(error, kinds):
    return next((one for one in _chain(error) if isinstance(one, kinds)), None)


def _of_disk(error):
    return next((one for one in _chain(error) if isinstance(one, OSError) and one.errno in _WRITING), None)


def is_of_machine(error):
    """A fault of the disk or of memory, which another exporter has as well."""
    return _of_disk(error) is not None or _of(error, (MemoryError, torch.OutOfMemoryError)) is not None


def check_path(path):
    """Said before minutes of tracing, not after them."""
    folder = os.path.dirname(path) or "."
    if "\0" in path:
        raise WrongUse(f"path: {path!r} has a byte 0, which no name has")
    if os.path.isdir(path):
        raise IsADirectoryError(f"path: '{path}' is a folder; give the name of the file to write, as in '{os.path.join(path, 'model.onnx')}'")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"path: there is no folder '{folder}' for '{path}'; make it first")
    if os.path.exists(path) and not os.path.isfile(path):
        raise WrongUse(f"path: '{path}' is neither a regular file nor a new name; give the name of the file to write, as in 'model.onnx'")
    if not all(os.access(place, os.W_OK) for place in (folder, path) if os.path.exists(place)):
        raise PermissionError(f"path: '{path}' cannot be written to; give another folder")


def not_writable(path, error):
    """`error`: what the system says."""
    return ExportFailed(f"{path} cannot be written: {error.strerror or error}; make room, or give another folder")


def _shapes(inputs):
    return ", ".join(f"{name} {str(value.dtype).removeprefix('torch.')}{list(value.shape)} on {value.device}" for name, value in inputs.items())


def module_failed(job, error):
    """The module, or the loss, fails for the example in PyTorch itself."""
    if job.stage == "loss":
        given = f"the module's output and {', '.join(job.labels)}" if job.labels else "the module's output alone (labels stand last in example_inputs)"
        return ExportFailed(f"loss: it fails in PyTorch, before anything is exported: {first_line(error)}; it was called with {given}")
    device = next((f"; the module's parameters are {str(value.dtype).removeprefix('torch.')} on {value.device}" for value in job.module.parameters()), "")
    return ExportFailed(f"{type(job.module).__name__} fails in PyTorch, before anything is exported: {first_line(error)}; example_inputs has "
                        f"{_shapes(job.inputs)}{device}. Give inputs that the module takes")


def exporter_failed(job, error, before):
    """`before`: why torch.export, which was tried first, has failed."""
    reason, name = first_line(error), type(job.module).__name__
    if missing := _of(error, ImportError):
        package = missing.name or str(missing)
        return ExportFailed(f"{name} cannot be exported: PyTorch's exporter needs the Python package {package!r}, which cannot be imported "
                            f"({missing}); pip install {package.partition('.')[0]}")
    if _of(error, (MemoryError, torch.OutOfMemoryError)):
        return ExportFailed(f"{name} cannot be exported: memory ran out ({reason}); move the module and the inputs to the CPU, or give a smaller "
                            "example")
    if disk := _of_disk(error):
        return not_writable(job.path, disk)
    advice = next((words for pattern, words in ((_OPSET, OPSET_ADVICE), (_OPERATION, OPERATION_ADVICE), (_VALUES, VALUES_ADVICE), (_BATCH, BATCH_ADVICE))
                   if pattern.search(reason)), OTHER_ADVICE)
    return ExportFailed(f"{name} cannot be exported: {reason}{advice}" + (f" (torch.export, tried first, said: {before})" if before else ""))
