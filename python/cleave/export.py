"""cleave.export_torch: a PyTorch module as the ONNX file that Cleave trains.

    import cleave
    report = cleave.export_torch(module, {"x": x}, "model.onnx")
    print(report.command)      # cleave compile model.onnx -o model --train --loss cross-entropy --dim batch=8 ...

The exporters of PyTorch fold, merge, rename and drop things when nobody tells them not to: that is right for inference
and wrong for training. This function makes the calls that keep the module as it is, then reads the file and compares it
with the module, and says in words whatever it could not keep:

  - training form: Dropout and BatchNorm are in the file, each layer in the form in which it trains, and the file says so;
  - every parameter and buffer is an initializer under its own name (that of `state_dict()`), buffers are marked as
    buffers, and tied weights are one initializer;
  - dimension 0 of every input is the symbol `batch`;
  - running statistics, random state and training mode of the module are afterwards what they were before;
  - onnxruntime, where it is installed, computes from the file what the module computes in eval(), for the example batch,
    for one of twice the size, and for other numbers;
  - what the exporter has traced has the module's gradients for the example.

It needs torch (2.5 or newer) and onnx. The module is left as it was.
"""
import contextlib
import dataclasses
import inspect
import warnings

import torch

from . import arguments
from .comparison import compare
from .draft import Draft
from .ended_gradients import EndsGradients
from .exported_file import check_calls, check_defined_once, check_names, check_opset, counted, mend, note_losses
from .export_failure import ExportFailed, InvalidFile, WrongUse, exporter_failed, first_line, is_of_machine, module_failed
from .exporters import DEFAULT_OPSETS, EXPORTERS, quiet
from .gradients import check_gradients, gradients_of, without_dropout
from .own_gradients import own_gradients
from .report import Report, finish
from .states import States
from .untrained import Recorded
from .unwritten import changed_parameters, power_iterations, unwritten
from .value_shapes import ValueShapes, check_shapes
from .traceable import traceable, without_max_norm

NO_TENSOR = "forward() returns no tensor, but {}; expected a tensor, or a tuple, dict or dataclass of them"


def export_torch(module, example_inputs, path, *, loss=None, output_names=None, exporter=None, opset=None, batch_dims=None, check=True,
                 quiet=False):
    """Writes `module` to the ONNX file `path`, for training by Cleave.

    module          a torch.nn.Module.
    example_inputs  a dict from the arguments of forward() to tensors; or a tensor or a tuple of them, in forward()'s order.
                    The batch of the example must be 2 or more: PyTorch treats a size of 1 as a constant. A bool, number or
                    text of the dict is the argument's value for ever.
    loss            None: the module's outputs are the file's. A scalar floating-point one is the loss (`--loss-output`);
                    without one, `cleave compile --loss cross-entropy|nll|mse` adds a loss to the first output.
                    A function or module: loss(output, *labels) becomes the output `loss`. `output` is what forward()
                    returns; a loss that cannot take a tuple or a dict gets the first tensor of it. Labels are the example
                    inputs that forward() has no argument for; of a tuple, the last one.
    output_names    names of the file's outputs, in forward()'s order, without that of `loss` (default: the keys of a dict or
                    named tuple; else `loss` for a scalar and `output`)
    exporter        "dynamo" (torch.export) or "torchscript"; None tries the first, then the second.
    opset           the ONNX operator set, of those that Cleave reads, 13 to 27 (default: 18, 17 with TorchScript). An exporter that cannot write it
                    fails: torch.export writes 18 and later ones, and often 17; TorchScript none of the newest.
    batch_dims      a dict from inputs to the dimension that counts samples, where it is not 0 (-1 is the last one); None for an
                    input without one (for all of them: the file has the example's batch, and no other).
    check           compare with the module, and refuse a file that differs: its outputs by onnxruntime, where that is installed, and the gradients of
                    what the exporter has traced.
    Returns a Report, which is also printed, unless `quiet`."""
    arguments.check_module(module)
    arguments.check_loss(loss)
    output_names = arguments.output_names_of(output_names)
    arguments.check_exporter(exporter)
    opset = arguments.opset_of(opset)
    arguments.check_switches(check=check, quiet=quiet)
    job = _Job(module, example_inputs, arguments.check_path_argument(path), loss, output_names, batch_dims)
    job.check_module()
    before = ""
    names = [exporter] if exporter else list(EXPORTERS)
    for name in names:
        is_last, notes = name == names[-1], list(job.report.notes)
        try:
            with Draft(job.path) as job.draft:
                _write(job, name, opset or DEFAULT_OPSETS[name])
                _read_back(job, check, opset)
                job.draft.keep()
            break
        except _NotWritten as failure:
            error = failure.error
            if is_last or is_of_machine(error):
                raise exporter_failed(job, error, before) from error
            before = first_line(error)
            job.note(f"torch.export could not trace the module ({before}), so the TorchScript exporter wrote the file: it loses "
                     "branches that depend on values")
        except ExportFailed as error:
            said_twice = isinstance(error, ValueShapes) and before.startswith(ValueShapes.__name__)
            if is_last and before and not said_twice:
                raise ExportFailed(f"{error} (torch.export, tried first, said: {before})") from error
            if is_last or not isinstance(error, InvalidFile):
                raise
            before = first_line(error)
            job.report.notes[:] = [*notes, f"torch.export's file {error.fault} ({before}), so the TorchScript exporter wrote the file: it loses "
                                   "branches that depend on values"]
        except (OSError, MemoryError) as error:  # of the disk or memory, while the file is read, mended and compared
            raise exporter_failed(job, error, before) from error
    finish(job)
    if not quiet:
        print(job.report)
    return job.report


class _NotWritten(Exception):
    """`error`: what the exporter has raised. The exporters raise what they like."""

    def __init__(self, error):
        self.error = error


def _write(job, name, opset):
    """The exporter's file, as it writes it."""
    job.ends.numbers.clear()
    try:
        with recording(), job.traced(), traceable(name):
            EXPORTERS[name](job, opset)
    except Exception as error:
        raise _NotWritten(error) from error
    job.report.exporter = name
    if name == "torchscript" and job.ends.numbers:
        lines = list(job.ends.numbers)
        job.note(f"forward() makes numbers of Python of tensors ({', '.join(lines[:3])}{' and more' if len(lines) > 3 else ''}). The TorchScript "
                 "exporter may write those of the example as constants: compute with tensors, or give exporter='dynamo'")


def _read_back(job, check, opset):
    """The exporter's file, mended and compared."""
    job.report.parameters = job.report.buffers = 0
    mend(job)
    if opset is not None:
        check_opset(job, opset)
    check_defined_once(job)
    check_calls(job)
    check_shapes(job)
    check_names(job)
    note_losses(job)
    if check:
        compare(job)
        if not job.has_own_gradients:
            check_gradients(job)


@contextlib.contextmanager
def recording():
    """While this holds, gradients are recorded, though the caller may have turned them off."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


def _of_numpy(value):
    return " (torch.from_numpy(x) makes a tensor of it)" if type(value).__module__ == "numpy" else ""


def _apart(tensors):
    """Tensors that have no memory in common. torch.export takes one tensor that is given twice, as tokens and as labels, for one input: the
    file then reads labels where the module reads tokens, and equal examples hide it."""
    seen, result = set(), {}
    for name, value in tensors.items():
        memory = value.untyped_storage().data_ptr()
        result[name] = value.clone() if memory in seen else value
        seen.add(memory)
    return result


class _Job:
    """One export: the module, its inputs by name, and what has been found out so far."""

    def __init__(self, module, example_inputs, path, loss, output_names, batch_dims):
        if isinstance(module, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
            module = module.module
        self.module = getattr(module, "_orig_mod", module)  # of torch.compile
        self.path, self.loss = path, loss
        self.draft = None  # the file while it is written and compared
        self.constants, self.stage = {}, ""  # arguments that are no tensors; what runs now: forward() or the loss
        empty = [name for name, value in self.module.state_dict(keep_vars=True).items() if isinstance(value, torch.Tensor) and value.is_meta]
        if empty:
            raise WrongUse(f"export_torch: '{empty[0]}' has no values (it is on the device meta); load the module's weights first")
        self.report = Report(path)
        self.ends, self.returned = EndsGradients(), ()
        self.changed = None  # the parameters that forward() changes itself, once it is known
        self.has_own_gradients = False  # which the file has not
        self.recorded = None  # which parameters and outputs have a gradient
        self.trace = None  # makes what the exporter has traced, as a function of the inputs
        self.model = None  # the file, once it is written
        self.output_names, self.given_names = None, output_names
        takes = self._name_inputs(example_inputs)
        self.batch_dims = arguments.batch_dims_of(batch_dims, self.inputs, takes)
        self._check_batch()

    def note(self, text):
        self.report.notes.append(text)

    def _name_inputs(self, example):
        """Sets what the file's inputs are. Returns the arguments that forward() takes."""
        signature = inspect.signature(self.module.forward)
        takes = [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        takes_any = any(p.kind == p.VAR_KEYWORD for p in signature.parameters.values())
        if isinstance(example, torch.Tensor):
            example = (example,)
        if not isinstance(example, (dict, tuple, list)) and not hasattr(example, "keys"):
            raise TypeError(f"example_inputs: expected a tensor, a tuple of tensors or a dict; got {type(example).__name__}{_of_numpy(example)}")
        if not hasattr(example, "keys"):
            example = list(example)
            labels = {"labels": example.pop()} if self.loss is not None and len(example) > 1 else {}
            if len(example) > len(takes):
                raise WrongUse(f"example_inputs: forward() takes {counted(len(takes), 'input')} ({', '.join(takes)}); got {len(example)}")
            example = {**dict(zip(takes, example)), **labels}
        example = dict(example)
        if other := next((name for name in example if not isinstance(name, str)), None):
            raise TypeError(f"example_inputs: expected names of arguments as keys; got {other!r}")
        example = self._without_constants(example, signature.parameters, takes_any)
        self.inputs = _apart(example)
        self.forwarded = [name for name in example if name in takes or (takes_any and self.loss is None)]
        self.labels = [name for name in example if name not in self.forwarded]
        if self.labels and self.loss is None:
            raise ValueError(f"example_inputs: forward() has no argument '{self.labels[0]}'; it takes {', '.join(takes)}")
        if not self.forwarded:
            raise ValueError("example_inputs: " + (f"none of them is an argument of forward(), which takes {', '.join(takes)}" if takes else
                                                   "forward() takes none, and a file for Cleave needs an input"))
        missing = [p.name for p in signature.parameters.values() if p.name in takes and p.default is p.empty and p.name not in example]
        if missing:
            raise WrongUse(f"example_inputs: forward() needs {' and '.join(map(repr, missing))}, too; it takes {', '.join(takes)}")
        return takes

    def _without_constants(self, example, parameters, takes_any):
        """The tensors of the example. None stands for an argument that is left out, where that is its default."""
        tensors = {}
        for name, value in example.items():
            if isinstance(value, torch.Tensor):
                if value.layout != torch.strided:
                    raise TypeError(f"example_inputs: '{name}' is sparse, and an input of an ONNX file is not; give {name}.to_dense()")
                tensors[name] = value
            elif isinstance(value, (bool, int, float, str)) and (
                    parameters[name].default is not inspect.Parameter.empty if name in parameters else takes_any):
                self.constants[name] = value
                self.note(f"forward() is exported with {name}={value!r}: the file has no input for it")
            elif value is not None or name not in parameters or parameters[name].default is not None:
                advice = "" if type(value).__module__ == "numpy" else " For lists and dicts, write a module whose forward() takes their tensors one by one"
                raise TypeError(f"example_inputs: '{name}' is of type {type(value).__name__}{_of_numpy(value)}; expected a tensor (of an argument with a "
                                f"default also a bool, number or text, as a constant).{advice}")
        return tensors

    def _states(self):
        """The names that the file's initializers have."""
        return [name for named in (self.module.named_parameters(), self.module.named_buffers()) for name, _ in named]

    def check_module(self):
        """The module and the loss run in PyTorch: what fails here is no fault of an exporter."""
        for name in self._states():
            if name in self.inputs:
                raise ValueError(f"example_inputs: '{name}' is also the name of a parameter or a buffer of the module, and a file has each "
                                 "name once; rename one of them")
        self._check_output_names()
        with recording(), self.traced() as before:
            try:
                outputs = self.module(*self.inputs.values())
            except WrongUse:
                raise
            except Exception as error:
                if self.module._forward_hooks and self.returned:
                    raise self._hook_refused() from error
                raise module_failed(self, error) from error
            if len(outputs) != len(self.returned) or any(one is not other for one, other in zip(outputs, self.returned)):
                raise self._hook_refused()
            self._check_kinds(outputs)
            self.recorded = Recorded(self.module, self.output_names, outputs)
            if self.loss is not None and not outputs[-1].requires_grad and any(p.requires_grad for p in self.module.parameters()):
                raise WrongUse("loss: its result has no gradient (detach(), a comparison or an argmax ends it), so nothing could be trained by it")
            lost = unwritten(self.module, before)
            self.changed = changed_parameters(self.module, before)
        own = own_gradients(self.module, outputs, self.ends.hooks)
        self.has_own_gradients = bool(own)
        for text in own + lost:
            self.note(text)

    def _hook_refused(self):
        return WrongUse(f"export_torch: {type(self.module).__name__} itself has a forward hook, which gets the outputs as a tuple, after they have "
                        "their names, and changes them; put the hook on a module in it, or call its function in forward()")

    def _check_kinds(self, outputs):
        for name, value in zip(self.output_names, outputs):
            if value.is_complex():
                raise ExportFailed(f"output '{name}' is complex (of shape {list(value.shape)}), and an output of an ONNX file is not: a file holds "
                                   "complex numbers as pairs. Return torch.view_as_real(y) of such a result y, or y.real and y.imag, or y.abs()")

    def _check_output_names(self):
        """Names that the caller gives are the file's as they are."""
        taken = {**dict.fromkeys(self.inputs, "an input"), **dict.fromkeys(self._states(), "a parameter or a buffer of the module")}
        if self.loss is not None:
            taken["loss"] = "the output that loss= makes"
        for name in self.given_names or []:
            if name in taken:
                raise WrongUse(f"output_names: '{name}' is also the name of {taken[name]}, and a file has each name once; give another one")
            taken[name] = "another output"

    def _check_batch(self):
        sizes = {name: self.inputs[name].shape[dim] for name, dim in self.batch_dims.items() if dim is not None}
        for name, size in sizes.items():
            if size < 2:
                reason = "which PyTorch would write as a constant" if size else "so nothing could be compared"
                raise ValueError(f"example_inputs: '{name}' has a batch of {size}, {reason}; give 2 or more")
        self.symbols = {}  # input -> symbol: inputs of the same batch share one
        for name, size in sizes.items():
            same = [symbol for other, symbol in self.symbols.items() if sizes[other] == size]
            self.symbols[name] = same[0] if same else "batch" if not self.symbols else f"batch_{name}"
        self.example_batch = next(iter(sizes.values()), None)

    @contextlib.contextmanager
    def traced(self):
        """The module in training mode, with a forward() that takes the inputs by position and gives a tuple of tensors; its states as they were.
        Names stay, because the module itself is traced and no wrapper around it."""
        was_training = {m: m.training for m in self.module.modules()}
        states = States(self.module, self.changed)
        config = getattr(self.module, "config", None)  # of Hugging Face: a cache of keys is no output of training
        cache = getattr(config, "use_cache", None)
        rng = torch.get_rng_state()
        forward, own = self.module.forward, "forward" in vars(self.module)
        if not self.module.training:
            self.module.train()
        if cache:
            config.use_cache = False
        self.module.forward = self._tracing_forward(forward)
        try:
            with warnings.catch_warnings(), quiet(), without_max_norm():
                warnings.simplefilter("ignore")
                yield states.before
        finally:
            if own:
                self.module.forward = forward
            else:
                del self.module.forward
            if cache:
                config.use_cache = cache
            for m, training in was_training.items():
                m.training = training
            torch.set_rng_state(rng)
            states.restore()

    def _loss_of(self, result, first, labels):
        """The loss gets what forward() returned, as in PyTorch. One that cannot take a tuple or a dict gets the first tensor of it."""
        try:
            return self.loss(result, *labels)
        except (TypeError, AttributeError) as error:
            if result is first:
                raise
            whole = error
        try:
            return self.loss(first, *labels)
        except (TypeError, AttributeError):
            raise whole from None

    def _unite_batches(self, values):
        """Tells torch.export that inputs of one symbol have one batch. By itself it learns that after the trace, and does not know that half of two
        batches is one of them."""
        first = {}
        for name, symbol in self.symbols.items():
            size = values[name].shape[self.batch_dims[name]]
            if isinstance(size, torch.SymInt):
                torch._check(first.setdefault(symbol, size) == size)

    def _tracing_forward(self, forward):
        def traced(*values):
            with self.ends:
                return run(dict(zip(self.inputs, values)))

        def run(values):
            self._unite_batches(values)
            self.stage = "forward()"
            result = forward(**{name: values[name] for name in self.forwarded}, **self.constants)
            names, tensors = _flatten(result)
            if self.given_names is not None:
                if len(self.given_names) != len(names):
                    raise WrongUse(f"output_names: forward() returns {counted(len(names), 'tensor')}; got {counted(len(self.given_names), 'name')}")
                names = self.given_names
            if self.loss is not None:
                if not tensors:
                    raise WrongUse(NO_TENSOR.format(type(result).__name__))
                self.stage = "loss"
                value = self._loss_of(result, tensors[0], [values[name] for name in self.labels])
                if not isinstance(value, torch.Tensor) or value.dim() != 0:
                    got = f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
                    raise WrongUse(f"loss: expected one number, a tensor of shape []; got {got} (a loss of PyTorch has reduction='mean')")
                names, tensors = names + ["loss"], tensors + [value]
            if not tensors:
                raise WrongUse(NO_TENSOR.format(type(result).__name__))
            self.output_names = _unique(names, tensors, {*self.inputs, *self._states()})
            self.returned = tuple(tensors)
            return self.returned
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        traced.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in self.inputs])
        return traced

    def gradients(self, make=None):
        """The parameters' gradients for the example, without dropout, and whether random numbers are drawn: of the function that make() gives, or of the
        module as PyTorch runs it."""
        ends = self.ends
        with recording(), without_dropout(self.module):
            if make is None:
                self.ends, call = contextlib.nullcontext(), self.module
            else:
                with self.traced(), traceable(self.report.exporter):
                    call = make()
            try:
                with self.traced():
                    start = torch.get_rng_state()
                    outputs = call(*self.inputs.values())
                    is_random = not torch.equal(start, torch.get_rng_state())
                    return gradients_of(self.module, outputs), is_random
            finally:
                self.ends = ends

    def run(self, inputs):
        """The module's outputs in eval(), as arrays. Power iterations run in the file, and so here."""
        with self.traced(), torch.no_grad():
            self.module.eval()
            for m in power_iterations(self.module):
                m.training = True
            return [value.detach().cpu().double().numpy() if value.is_floating_point() else value.cpu().numpy()
                    for value in self.module(*inputs.values())]


def _flatten(result, name=None):
    """Names and tensors of what forward() returned: a tensor, a tuple, a dict, or a ModelOutput of Hugging Face."""
    if isinstance(result, torch.Tensor):
        return [name], [result]
    if isinstance(result, dict):
        items = list(result.items())
    elif dataclasses.is_dataclass(result):
        items = [(field.name, getattr(result, field.name)) for field in dataclasses.fields(result)]
    elif isinstance(result, (tuple, list)):
        fields = getattr(result, "_fields", None)
        items = list(zip(fields, result)) if fields else [(name and f"{name}_{i}", value) for i, value in enumerate(result)]
    else:
        return [], []  # None, a cache, a number: nothing that a graph can give
    names, tensors = [], []
    for key, value in items:
        more = _flatten(value, key)
        names += more[0]
        tensors += more[1]
    return names, tensors


def _unique(names, tensors, others):
    result = []
    for name, tensor in zip(names, tensors):
        scalar = tensor.dim() == 0 and tensor.is_floating_point()
        base = name or ("loss" if scalar else "output")
        taken, count, unique = set(result) | others, 1, base
        while unique in taken:
            count += 1
            unique = f"{base}_{count}"
        result.append(unique)
    return result
