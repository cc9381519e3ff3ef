"""What cleave.export_torch reports: what came out, what is not as in the module, and the command that compiles the file."""
import os

from .exported_file import counted
from .inference_form import FLOATS
from .untrained import note_untrained


class Report:
    """What came out. `notes`: one sentence for each thing that is not as in the module. `command`: how to compile it."""

    def __init__(self, path):
        self.path, self.exporter, self.notes, self.command = path, None, [], None
        self.inputs, self.outputs, self.loss = [], [], None
        self.parameters = self.buffers = 0
        self.compared = None  # the largest relative difference from the module, where onnxruntime has compared
        self.gradients = None  # and that of the gradients, where PyTorch has compared

    def __str__(self):
        checked = "outputs not compared" if self.compared is None else f"onnxruntime differs by {self.compared:.1e} at most"
        if self.gradients is not None:
            checked += f"; gradients differ by {self.gradients:.1e}" if self.gradients else "; gradients are equal"
        lines = [f"wrote {self.path}: {counted(self.parameters, 'parameter')}, {counted(self.buffers, 'buffer')}, inputs {', '.join(self.inputs)}, "
                 f"outputs {', '.join(self.outputs)} ({checked})"]
        return "\n".join(lines + [f"note: {note}" for note in self.notes] + [f"compile: {self.command}"])


def finish(job):
    """Fills the report of an export that has succeeded, with the command that compiles the file."""
    report = job.report
    written = {value.name for value in job.model.graph.input}
    report.inputs, report.outputs = [name for name in job.inputs if name in written], list(job.output_names)
    left_out = [name for name in job.inputs if name not in written]
    if left_out:
        job.note(f"the file has no input {' and '.join(map(repr, left_out))}: no output depends on it")
    stem = os.path.splitext(os.path.basename(job.path))[0]
    report.loss = _loss_output(job)
    words = ["cleave compile", job.path, "-o", stem]
    is_trained = note_untrained(job)
    if is_trained:
        words += ["--train", f"--loss-output {report.loss}" if report.loss else f"--loss {_fitting_loss(job)}"]
    words += [f"--dim {symbol}={job.inputs[name].shape[job.batch_dims[name]]}"
              for name, symbol in {symbol: (name, symbol) for name, symbol in job.symbols.items() if name in written}.values()]
    if any(dim for dim in job.batch_dims.values()):
        words.append("--batch-dim batch")
    frozen = [name for name, p in job.module.named_parameters() if not p.requires_grad]
    if frozen and is_trained:
        words.append("--freeze " + ",".join(_globs(frozen, job.module)))
    report.command = " ".join(words)


def _fitting_loss(job):
    """The kind of loss that the first output can have: numbers that are no scores of several classes are compared with targets."""
    shape = [dim.dim_value for dim in job.model.graph.output[0].type.tensor_type.shape.dim]
    if len(shape) < 2:
        return "mse"
    return "mse" if shape[-1 if len(shape) <= 3 else 1] == 1 else "cross-entropy"


def _loss_output(job):
    if job.loss is not None:
        return job.output_names[-1]
    scalars = [value.name for value in job.model.graph.output
               if not value.type.tensor_type.shape.dim and value.type.tensor_type.elem_type in FLOATS]
    return next((name for name in scalars if name in job.recorded.outputs), scalars[0] if scalars else None)


def _globs(frozen, module):
    """Frozen parameters as few patterns: a whole submodule becomes `name.*`."""
    names, result = set(frozen), []
    for prefix, _ in module.named_modules():
        below = {name for name, _ in module.named_parameters() if name.startswith(prefix + ".")} if prefix else set()
        if below and below <= names:
            result.append(f"'{prefix}.*'")
            names -= below
    return result + sorted(names)
