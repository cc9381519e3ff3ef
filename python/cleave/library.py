"""A compiled model in a Python program: ctypes and numpy over Cleave's C API (include/cleave/cleave.h).

    cleave compile mlp.onnx -o libmlp.so --emit shared --train --loss cross-entropy --dim batch=8

    import cleave
    model = cleave.Model("./libmlp.so")
    print(model.inputs("train_step"))                      # {'x': Tensor(float32, [8, 784]), 'labels': ...}
    loss = model.train_step(x=images, labels=digits, lr=1e-2)
    sums = model.evaluate(x=images, labels=digits)         # sums.loss, sums.accuracy
    model.save("checkpoints")
    model.load("checkpoints")

    outputs = cleave.Model("./libinfer.so").infer(x=images)   # {'logits': array}

Arrays of train_step() are those of the global batch: the bound batch x data ranks x micro-batches. Arrays of infer() and
evaluate() are those of the bound batch x data ranks, without micro-batches. All ranks of the mesh are threads of this process.
A mistake raises CleaveError with the runtime's own message. Calls from several threads take turns: close() waits for the call
that runs, and calls after it say that the model is closed. A model is used in the process that loaded it: where worker
processes use models, start them by multiprocessing's "spawn", not by "fork".
"""
import collections.abc
import ctypes
import functools
import math
import numbers
import operator
import os
import random
import re
import struct
import threading
import zlib

import numpy as np

_MAX_DIMS = 16
_DTYPES = [np.float32, np.float64, np.float16, None, np.int64, np.int32, np.int16, np.int8, np.uint8, np.bool_]
_BF16 = 3
_NOT_FOUND = 2  # of cleave_code
_OPTION = r"(?<!\S)--(weights|threads|seed)\b(?!-)"  # of programs; here an argument of Model
_BATCHES = {"infer": "one call of infer() (the batch of --dim x data ranks)", "evaluate": "one call of evaluate() (the batch of --dim x data ranks)",
            "train_step": "the global batch (the batch of --dim x data ranks x micro-batches)"}


class CleaveError(Exception):
    """What the runtime says: what, where, and what to do."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def _shown(text):
    """A name of a model in a message, on one line: what a terminal obeys becomes "\\x1b", as in the runtime's messages."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in str(text))


def _names(names):
    return ", ".join(map(_shown, names))


def _in_python(message, program=None):
    """A message of the runtime in the words of this module: options are arguments here, and functions of C are methods of Model."""
    names = {"session_create": "Model", "save_checkpoint": "save", "load_checkpoint": "load", "get_output": "output",
             "set_input": program or "input"}
    message = re.sub(r"\bcleave_(\w+)(?=[:,])", lambda match: names.get(match[1], match[1]), message)
    message = re.sub(r", element (\d+): input ('[^']*') holds", r": element \1 of the flattened \2 is", message)
    message = re.sub(r" \(--lr\)| \(--clip-grad-norm\)", lambda match: {"lr": " (lr)"}.get(match[0][4:-1], " (set_clip_norm())"), message)
    message = re.sub(_OPTION + r"(?=[:,])", r"\1", message)
    message = re.sub(r"(?<=: )" + _OPTION + r" (?=\S)|" + _OPTION + r" (?=FILE\b|\d)", lambda match: f"{match[1] or match[2]}=", message)  # its value
    return re.sub(_OPTION + "(?! in commands)", r"\1=", message)


def _round_to_bf16(array):
    """The bits of float32 numbers as bfloat16, rounded to nearest even."""
    bits = array.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FC0), rounded)


def _unsigned(name, value, bits, least=0):
    """An integer for C, where others would lose bits without a word."""
    try:
        value = operator.index(None if isinstance(value, (bool, np.bool_)) else value)
    except TypeError:
        raise TypeError(f"{name}: expected a whole number; got {value!r}") from None
    if not least <= value < 2**bits:
        raise ValueError(f"{name}: expected {least} to 2^{bits} - 1; got {value}")
    return value


def _number(name, value):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected a number; got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected a number that a float can hold; got {len(str(value))} digits") from None


def _text(what, text):
    """A text for C, where NUL ends it."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: expected a text; got {text!r}")
    if "\0" in text:
        raise ValueError(f"{what} {text!r} has a NUL")
    return text.encode()


def _path(name, path):
    """A path for C, where NUL ends a text."""
    try:
        encoded = os.fsencode(path)
    except TypeError:
        raise TypeError(f"{name}: expected a path; got {path!r}") from None
    if b"\0" in encoded:
        raise ValueError(f"{name}: {path!r}: a path has no NUL")
    return encoded


class Tensor:
    """An input or output of a program: its type and its shape for one call."""

    def __init__(self, info, program):
        self._program, self.name = program, info.name.decode()
        self.shape = tuple(info.shape[:info.rank])
        self.is_bf16 = info.dtype == _BF16  # numpy has no such type: values are given and taken as float32
        self.dtype = np.dtype(np.float32 if self.is_bf16 else _DTYPES[info.dtype])
        self.bytes = info.bytes

    def __repr__(self):
        return f"Tensor({'bfloat16' if self.is_bf16 else self.dtype}, {list(self.shape)})"

    def encode(self, value):
        """`value` as the bytes that the runtime expects; integers and floats of other widths are converted."""
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise TypeError(f"'{_shown(self.name)}': a masked array has no values at its masked elements; give value.filled(number)")
        try:
            array = np.asarray(value)
        except ValueError:  # rows of several lengths
            raise ValueError(f"'{_shown(self.name)}': expected an array of shape {list(self.shape)}; its rows have several lengths") from None
        if array.dtype.kind in "fiub" and array.shape != self.shape:
            raise ValueError(f"'{_shown(self.name)}': expected shape {list(self.shape)}, that of {_BATCHES[self._program]}; got {list(array.shape)}")
        if array.dtype.kind not in "fiub" or (array.dtype.kind == "f") != (self.dtype.kind == "f"):
            raise TypeError(f"'{_shown(self.name)}': expected {'floating-point values' if self.dtype.kind == 'f' else 'integers'} "
                            f"({self.dtype}); got {array.dtype}")
        with np.errstate(over="ignore"):  # told below
            converted = np.asarray(array, self.dtype, order="C")  # ascontiguousarray() would give a scalar a dimension
        encoded = _round_to_bf16(converted) if self.is_bf16 else converted
        held = self.decode(encoded)
        fits = np.array_equal(np.isinf(held), np.isinf(array)) if self.dtype.kind == "f" else np.array_equal(held, array)
        if not fits:
            raise ValueError(f"'{_shown(self.name)}': a value does not fit into {'bfloat16' if self.is_bf16 else self.dtype}")
        return encoded

    def empty(self):
        return np.empty(self.shape, np.uint16 if self.is_bf16 else self.dtype)

    def decode(self, array):
        """The values of an array as empty() gives it, or of its bytes (uint8)."""
        array = np.asarray(array)
        expected = np.dtype(np.uint16) if self.is_bf16 else self.dtype
        if array.dtype == np.uint8 and array.dtype != expected and array.nbytes == self.bytes:
            array = np.ascontiguousarray(array).reshape(-1).view(expected).reshape(self.shape)
        if array.dtype != expected or array.shape != self.shape:
            raise ValueError(f"'{_shown(self.name)}': expected {self.bytes} bytes ({expected} {list(self.shape)}); got {array.nbytes} "
                             f"({array.dtype} {list(array.shape)})")
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32) if self.is_bf16 else array


class Evaluation:
    """Sums over the batches of evaluate(). Add several up (+), then read loss and accuracy of them all."""

    def __init__(self, model, batches, loss_sum, count, correct, predictions):
        self.batches, self.loss_sum, self.count, self.correct, self.predictions = batches, loss_sum, count, correct, predictions
        self._model = model
        self._loss = model._loss_of(self)  # at once: it stays when the model is closed

    def __add__(self, other):
        if not isinstance(other, Evaluation):
            return NotImplemented
        if other._model is not self._model:
            raise ValueError("evaluations of two models have no common loss; add those of one model")
        return Evaluation(self._model, self.batches + other.batches, self.loss_sum + other.loss_sum, self.count + other.count,
                          self.correct + other.correct, self.predictions + other.predictions)

    def __radd__(self, other):
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum() begins with 0

    @property
    def loss(self):
        """As the model divides the sum; NaN where no sample counts."""
        return self._loss

    @property
    def accuracy(self):
        """The share of right predictions; None where the loss knows no classes, NaN where it is not a number: scores that are not
        numbers predict nothing."""
        if not self.predictions:
            return None
        return math.nan if math.isnan(self.loss_sum) else self.correct / self.predictions

    def __reduce__(self):
        raise TypeError("a cleave.Evaluation cannot be copied or pickled, because its model cannot; take its numbers: loss_sum, count, "
                        "correct, predictions and batches, or loss and accuracy")

    def __repr__(self):
        accuracy = "" if self.accuracy is None else f", accuracy={self.accuracy:.4f}"
        return f"Evaluation(loss={self.loss:.6f}{accuracy})"


class _TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("shape", ctypes.c_int64 * _MAX_DIMS), ("bytes", ctypes.c_size_t)]


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("ranks", ctypes.c_uint32), ("threads", ctypes.c_uint32),
                ("weights", ctypes.c_char_p), ("directory", ctypes.c_char_p), ("seed", ctypes.c_uint64)]


class _Evaluation(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("loss_sum", ctypes.c_double), ("count", ctypes.c_double),
                ("correct", ctypes.c_double), ("predictions", ctypes.c_double)]


_SIZE, _TEXT, _POINTER = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
_INFO = ctypes.POINTER(_TensorInfo)
_CALLS = {
    "cleave_session_create": [_POINTER, ctypes.POINTER(_Options), ctypes.POINTER(_POINTER)],
    "cleave_describe_input": [_POINTER, _TEXT, _SIZE, _INFO],
    "cleave_describe_output": [_POINTER, _TEXT, _SIZE, _INFO],
    "cleave_set_input": [_POINTER, _TEXT, _TEXT, _POINTER, _SIZE],
    "cleave_get_output": [_POINTER, _TEXT, _TEXT, _POINTER, _SIZE],
    "cleave_infer": [_POINTER],
    "cleave_train_step": [_POINTER, ctypes.c_double, ctypes.POINTER(ctypes.c_double)],
    "cleave_set_clip_norm": [_POINTER, ctypes.c_double],
    "cleave_evaluate": [_POINTER, ctypes.POINTER(_Evaluation)],
    "cleave_evaluation_loss": [_POINTER, ctypes.POINTER(_Evaluation), ctypes.c_uint64, ctypes.POINTER(ctypes.c_double)],
    "cleave_set_seed": [_POINTER, ctypes.c_uint64],
    "cleave_save_checkpoint": [_POINTER, _TEXT],
    "cleave_load_checkpoint": [_POINTER, _TEXT],
}


_spellings = {}  # of libraries that this process has loaded: (device, inode) -> (their path as the loader knows it, size, checksum)


def _checksum(path):
    """Of a file, and its size. A library that is still being copied is refused: a page that is not there would end the process by SIGBUS."""
    size, checksum = os.path.getsize(path), 0
    with open(path, "rb") as file:
        header = file.read(64)
        if header[:5] == b"\x7fELF\x02" and len(header) == 64:
            sections, entry, count = struct.unpack_from("<Q", header, 40)[0], *struct.unpack_from("<HH", header, 58)
            if sections + entry * count > size:  # they are at the end of the file
                raise OSError(f"{path} is cut short: it has {size} bytes of {sections + entry * count}; is a copy of it still under way?")
        file.seek(0)
        while part := file.read(1 << 20):
            checksum = zlib.crc32(part, checksum)
    return size, checksum


def _new_spelling(path):
    """One of 2^48 spellings of a path, drawn at random: DIR/././/LIB, with a single slash for a 0 and two for a 1. Numbers in their order would
    have been used already where this module was imported again."""
    folder, name = os.path.split(os.path.realpath(path))
    bits = f"{random.SystemRandom().getrandbits(48):048b}"
    return os.path.join(folder, bits.replace("0", "./").replace("1", ".//") + name)


def _open_library(path):
    """The loader of the system takes a path that it has seen for the library that it loaded then, also if another file is there by now. So each
    file gets a spelling of its path that nobody has used."""
    if not os.path.isfile(path):
        raise OSError(f"{path}: no such file")
    status, contents = os.stat(path), _checksum(path)
    file = status.st_dev, status.st_ino
    spelling, *known = _spellings.get(file, (None, *contents))
    if tuple(known) != contents:
        raise OSError(f"{path} was written over while this process had loaded it; write another file in its place, as `cleave compile` does, and "
                      "start a new process")
    if spelling is None:
        spelling = _new_spelling(path)
    try:
        library = ctypes.CDLL(spelling)
    except OSError as error:
        raise OSError(str(error).replace(spelling, path)) from None
    except UnicodeDecodeError as error:  # the loader's words have the name, which is not UTF-8
        raise OSError(os.fsdecode(error.object).replace(spelling, path)) from None
    _spellings[file] = spelling, *contents
    return library


def _load(path):
    try:
        library = _open_library(path)
    except OSError as error:
        advice = f"; `cleave compile {path} -o libmodel.so --emit shared` makes one of the model" if path.endswith(".onnx") else ""
        raise OSError(f"{error}; expected a library that `cleave compile --emit shared` wrote{advice}") from None
    try:
        model = _POINTER.in_dll(library, "cleave_main_model")
        getattr(library, "cleave_session_create")
    except (AttributeError, ValueError):
        raise ValueError(f"{path} is no model of Cleave: expected what `cleave compile --emit shared` writes") from None
    for name, arguments in _CALLS.items():
        call = getattr(library, name, None)
        if call is None:
            raise ValueError(f"{path} was compiled by another version of Cleave: its C API has no {name}(); compile the model again")
        call.argtypes, call.restype = arguments, ctypes.c_int
    library.cleave_last_error.argtypes, library.cleave_last_error.restype = [], _TEXT
    library.cleave_session_destroy.argtypes, library.cleave_session_destroy.restype = [_POINTER], None
    library.cleave_step_count.argtypes, library.cleave_step_count.restype = [_POINTER], ctypes.c_uint64
    return library, model


def _in_turn(call):
    """A session is used by one thread at a time: the call holds the model's lock from its first use of the session to its last."""

    @functools.wraps(call)
    def held(self, /, *arguments, **named):
        if self._process != os.getpid():  # forked: a thread that held the lock is not here; the runtime refuses the call
            return call(self, *arguments, **named)
        with self._lock:
            return call(self, *arguments, **named)

    return held


class Model:
    """A session with a shared library of `cleave compile --emit shared`; see the module's example.

    weights    safetensors file, directory or checkpoint that replaces the compiled weights.
    threads    compute threads per rank; None: as compiled.
    seed       of weights that are drawn, where the model was compiled with --init."""

    def __init__(self, path, weights=None, threads=None, seed=0):
        path = os.fsdecode(_path("path", path))
        self.path = path if os.sep in path else os.path.join(".", path)  # not one of the system's libraries
        self._session, self._lock, self._process = None, threading.RLock(), os.getpid()
        if os.path.exists(self.path) and not os.path.isfile(self.path):  # the loader would wait for a pipe's writer
            raise ValueError(f"{self.path} is not a regular file: expected what `cleave compile --emit shared` writes")
        weights = None if weights is None else _path("weights", weights)
        if weights == b"":  # which C takes for no path
            raise ValueError("weights: the path is empty; leave the argument out for the compiled weights")
        self._library, model = _load(self.path)
        threads = 0 if threads is None else _unsigned("threads", threads, 32, least=1)  # C takes 0 for the compiled number
        options = _Options(ctypes.sizeof(_Options), 0, threads, weights, None, _unsigned("seed", seed, 64))
        session = _POINTER()
        self._check(self._library.cleave_session_create(model, ctypes.byref(options), ctypes.byref(session)))
        self._session, self._ports = session, {}
        self._given = set()  # (program, input): those that have been given a value
        self._ran = set()  # programs that have outputs

    @_in_turn
    def inputs(self, program=None):
        """The inputs of "infer", "train_step" or "evaluate": name -> Tensor. Without a name: those of infer, or of train_step where the
        model was compiled for training."""
        return dict(self._describe(self._main_program() if program is None else program, "input"))

    @_in_turn
    def outputs(self, program=None):
        """The same of the outputs."""
        return dict(self._describe(self._main_program() if program is None else program, "output"))

    @_in_turn
    def infer(self, inputs=None, /, **named):
        """Runs the model; gives name -> array. Every input is given, by name or in a dictionary: model.infer({"self": x}).
        None stands for the value of the last call."""
        self._set_inputs("infer", inputs, named)
        self._check(self._library.cleave_infer(self._open()))
        self._ran.add("infer")
        return {name: self.output(name) for name in self.outputs("infer")}

    @_in_turn
    def train_step(self, inputs=None, /, *, lr, **named):
        """One step of the optimizer; gives the loss before the update."""
        self._set_inputs("train_step", inputs, named)
        loss = ctypes.c_double()
        self._check(self._library.cleave_train_step(self._open(), _number("lr", lr), ctypes.byref(loss)))
        self._ran.add("train_step")
        return loss.value

    @_in_turn
    def evaluate(self, inputs=None, /, **named):
        """Loss and accuracy of one batch, with dropout off."""
        self._set_inputs("evaluate", inputs, named)
        sums = _Evaluation(ctypes.sizeof(_Evaluation))
        self._check(self._library.cleave_evaluate(self._open(), ctypes.byref(sums)))
        self._ran.add("evaluate")
        return Evaluation(self, 1, sums.loss_sum, sums.count, sums.correct, sums.predictions)

    @_in_turn
    def _loss_of(self, sums):
        given = _Evaluation(ctypes.sizeof(_Evaluation), sums.loss_sum, sums.count, sums.correct, sums.predictions)
        loss = ctypes.c_double()
        self._check(self._library.cleave_evaluation_loss(self._open(), ctypes.byref(given), sums.batches, ctypes.byref(loss)))
        return loss.value

    @_in_turn
    def output(self, name, program=None):
        """An output of the last run of a program; without a name as for inputs()."""
        program = self._main_program() if program is None else program
        tensor = self.outputs(program).get(name)
        if tensor is None:
            raise KeyError(f"'{_shown(name)}' is no output of {program}; it has {_names(self.outputs(program)) or 'none'}")
        if program not in self._ran:
            raise ValueError(f"{program} has not run yet, so '{_shown(name)}' has no value; call {program}() first")
        array = tensor.empty()
        self._check(self._library.cleave_get_output(self._open(), _text("program", program), name.encode(), array.ctypes.data, array.nbytes))
        return tensor.decode(array)

    @_in_turn
    def set_clip_norm(self, norm):
        """The largest norm of all gradients together, from the next step on; 0: off."""
        self._check(self._library.cleave_set_clip_norm(self._open(), _number("norm", norm)))

    @_in_turn
    def set_seed(self, seed):
        """The seed of dropout, from the next step on."""
        self._check(self._library.cleave_set_seed(self._open(), _unsigned("seed", seed, 64)))

    @property
    @_in_turn
    def steps(self):
        """Steps done, those before a loaded checkpoint included."""
        return self._library.cleave_step_count(self._open())

    @_in_turn
    def save(self, directory):
        """Writes a checkpoint DIRECTORY/step-N, which `latest` then names."""
        self._check(self._library.cleave_save_checkpoint(self._open(), _path("directory", directory)))

    @_in_turn
    def load(self, path):
        """Loads a checkpoint, or the latest of a directory of them."""
        self._check(self._library.cleave_load_checkpoint(self._open(), _path("path", path)))

    @_in_turn
    def close(self):
        """Ends the session, after the call of another thread that runs."""
        if self._session is not None:
            self._library.cleave_session_destroy(self._session)
            self._session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        raise TypeError("a cleave.Model cannot be copied or pickled: it owns a session of the library; make another from its path, and "
                        "take the weights over by save() and load()")

    def __del__(self):
        if getattr(self, "_session", None) is not None:
            self.close()

    def _open(self):
        if self._session is None:
            raise ValueError(f"{self.path}: the model is closed")
        return self._session

    def _check(self, code, program=None):
        if code:
            raise CleaveError(code, _in_python(_shown(self._library.cleave_last_error().decode(errors="replace")), program))

    def _main_program(self):
        code = self._library.cleave_describe_input(self._open(), b"infer", 0, ctypes.byref(_TensorInfo()))
        return "infer" if code in (0, _NOT_FOUND) else "train_step"

    def _describe(self, program, kind):
        ports = self._ports.get((program, kind))
        if ports is None:
            ports, info = {}, _TensorInfo()
            describe = getattr(self._library, f"cleave_describe_{kind}")
            while (code := describe(self._open(), _text("program", program), len(ports), ctypes.byref(info))) == 0:
                tensor = Tensor(info, program)
                ports[tensor.name] = tensor
            if code != _NOT_FOUND:  # of what is past the last port, the first one of a program without ports too
                self._check(code)
            self._ports[program, kind] = ports
        return ports

    def _set_inputs(self, program, inputs, named):
        inputs = {} if inputs is None else inputs
        if not isinstance(inputs, collections.abc.Mapping):
            raise TypeError(f"{program}: expected a dictionary from names to arrays, or arrays by name, as in {program}(x=array); "
                            f"got {type(inputs).__name__}")
        if twice := inputs.keys() & named.keys():
            raise TypeError(f"{program}: the input '{_shown(min(twice))}' is given twice, in the dictionary and by name")
        inputs, ports = {**inputs, **named}, self.inputs(program)
        for name in inputs:
            if name not in ports:
                raise KeyError(f"'{_shown(name)}' is no input of {program}; it has {_names(ports)}")
        for name in ports:
            if name not in inputs:
                raise TypeError(f"{program}: the input '{_shown(name)}' is missing; expected {_names(ports)}. Give it an array"
                                + (f", or {_shown(name)}=None for the value of the last call" if (program, name) in self._given else
                                   ", of zeros where no output that you want depends on it"))
            if inputs[name] is None and (program, name) not in self._given:
                raise TypeError(f"{program}: {_shown(name)}=None stands for the value of the last call, and there was none; give an array")
        arrays = {name: ports[name].encode(value) for name, value in inputs.items() if value is not None}
        for name, array in arrays.items():  # after all have been encoded: a wrong one changes no input
            code = self._library.cleave_set_input(self._open(), _text("program", program), name.encode(), array.ctypes.data, array.nbytes)
            self._check(code, program)
            self._given.add((program, name))
