"""The two exporters of PyTorch, called so that they keep a module as it is."""
import contextlib
import io
import logging
import os
import sys

import torch

from . import detached, recurrent
from .exported_file import name_apart, name_outputs
from .gradients import run_program

OPSETS = range(13, 28)  # which Cleave reads
DEFAULT_OPSETS = {"dynamo": 18, "torchscript": 17}
EXTERNAL_ABOVE = 1 << 30  # a file of protobuf holds at most 2 GiB


@contextlib.contextmanager
def quiet():
    """The exporters log warnings that say nothing about the module, and print whole graphs when they fail, partly from
    C++: so the process's own output is closed for the while. What matters comes as an exception."""
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    sys.stdout.flush()
    sys.stderr.flush()
    kept, nothing = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for i, file in enumerate(kept):
            os.dup2(file, i + 1)
            os.close(file)
        os.close(nothing)
        logging.disable(level)


def export_dynamo(job, opset):
    """torch.export: keeps detach(), padding_idx and buffers. `optimize=False`: no folding, and names as they are."""
    symbols = {symbol: torch.export.Dim(symbol, min=2) for symbol in dict.fromkeys(job.symbols.values())}
    shapes = {name: {job.batch_dims[name]: symbols[job.symbols[name]]} if name in job.symbols else None for name in job.inputs}
    large = sum(p.numel() * p.element_size() for p in job.module.parameters()) > EXTERNAL_ABOVE
    program = torch.onnx.export(job.module, tuple(job.inputs.values()), None, dynamo=True, opset_version=opset,
                                input_names=list(job.inputs), dynamic_shapes=shapes, optimize=False, verbose=False,
                                custom_translation_table=recurrent.onnx_forms())
    if (exported := getattr(program, "exported_program", None)) is not None:
        job.trace = lambda: lambda *values: run_program(exported, job.module, values)
    name_outputs(program.model.graph, job.output_names)
    name_apart(program.model.graph)
    program.save(job.draft.path, external_data=large)


@contextlib.contextmanager
def _registered(symbolics, opset):
    """While this holds, the TorchScript exporter writes operations as `symbolics` says."""
    for name, symbolic in symbolics.items():
        torch.onnx.register_custom_op_symbolic(name, symbolic, opset)
    try:
        yield
    finally:
        for name in symbolics:
            torch.onnx.unregister_custom_op_symbolic(name, opset)


def export_torchscript(job, opset):
    """TorchScript: traces the module as it runs. It knows neither buffers nor tied weights; mend() adds what it can."""
    with torch.no_grad():
        job.module(*job.inputs.values())  # finds the outputs' names
    axes = {name: {job.batch_dims[name]: symbol} for name, symbol in job.symbols.items()}
    with _registered({**detached.symbolics(), **recurrent.symbolics()}, opset):
        torch.onnx.export(job.module, tuple(job.inputs.values()), job.draft.path, dynamo=False, opset_version=opset,
                          input_names=list(job.inputs), output_names=job.output_names, dynamic_axes=axes,
                          training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, keep_initializers_as_inputs=False)
    # It traces in the same way, and keeps the graph to itself.
    job.trace = lambda: torch.jit.trace(job.module, tuple(job.inputs.values()), check_trace=False, strict=False)


EXPORTERS = {"dynamo": export_dynamo, "torchscript": export_torchscript}
