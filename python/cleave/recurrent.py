"""Recurrent layers as the exporters are to write them: one ONNX node per layer, with the lengths of packed sequences.

PyTorch packs sequences sorted by length, so that its file sorts the batch and undoes that later: no sample could be computed without all others.
ONNX's layers take lengths in any order. So while a module is traced, a packed sequence is the padded one and its lengths. The exporters do not
write dropout between the layers of packed sequences, nor the projection of `proj_size`, so layers are written one by one."""
import contextlib
import inspect
import types

import torch
import torch.nn.functional as F
from torch.nn.utils import rnn

DOMAIN = "cleave_torch"
# The gates in ONNX's order, as places in PyTorch's.
GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN_TANH": (0,), "RNN_RELU": (0,)}


def _of_packed(_):
    raise NotImplementedError("the parts of a packed sequence (data, batch_sizes) have no form in a file; call pad_packed_sequence(), and work "
                              "on what it returns")


class Padded(rnn.PackedSequence):
    """Stands for a packed sequence while a module is traced: [frames, samples, ...], and the length of each sample. `fill`: what the frames
    after a sample's end hold, where that is known."""
    data = batch_sizes = sorted_indices = unsorted_indices = property(_of_packed)
    __iter__ = _of_packed

    def __new__(cls, padded, lengths, fill=None):
        made = tuple.__new__(cls, ())
        made.padded, made.lengths, made.fill = padded, lengths, fill
        return made


def _pack(input, lengths, batch_first=False, enforce_sorted=True):
    lengths = torch.as_tensor(lengths).to(dtype=torch.int64, device=input.device)
    return Padded(input.transpose(0, 1) if batch_first else input, lengths)


def _inside(lengths, x):
    """Which frames of x, [frames, samples, ...], belong to a sample."""
    frames = torch.arange(x.shape[0], device=x.device).unsqueeze(1) < lengths
    return frames.reshape(list(x.shape[:2]) + [1] * (x.dim() - 2))


def _pad(original):
    def pad(sequence, batch_first=False, padding_value=0.0, total_length=None):
        if not isinstance(sequence, Padded):
            return original(sequence, batch_first, padding_value, total_length)
        x = sequence.padded
        if sequence.fill != padding_value:
            x = torch.where(_inside(sequence.lengths, x), x, padding_value)
        if total_length is not None and total_length > x.shape[0]:
            x = F.pad(x, (0, 0) * (x.dim() - 1) + (0, total_length - x.shape[0]), value=padding_value)
        x = x if total_length is None else x[:total_length]
        return x.transpose(0, 1) if batch_first else x, sequence.lengths
    return pad


def _cell(kind, of_input, of_hidden, states):
    """A frame's states after those before it. The gates are in ONNX's order."""
    if kind == "LSTM":
        enter, show, keep, new = (of_input + of_hidden).chunk(4, -1)
        cell = keep.sigmoid() * states[1] + enter.sigmoid() * new.tanh()
        return [show.sigmoid() * cell.tanh(), cell]
    if kind == "GRU":
        (keep, reset, new), (keep_h, reset_h, new_h) = of_input.chunk(3, -1), of_hidden.chunk(3, -1)
        keep = (keep + keep_h).sigmoid()
        return [(1 - keep) * (new + (reset + reset_h).sigmoid() * new_h).tanh() + keep * states[0]]
    return [torch.tanh(of_input + of_hidden) if kind == "RNN_TANH" else torch.relu(of_input + of_hidden)]


def _steps(kind, x, w, r, b, lengths, states, projections=None):
    """A layer frame by frame. x: [frames, samples, features]; w, r, b, states, projections: a part for each direction, the second of which is
    backward. Returns [frames, directions, samples, hidden], and the last states, [directions, samples, hidden]."""
    outputs, last = [], []
    for direction in range(w.shape[0]):
        now, shown = [state[direction] for state in states], [None] * x.shape[0]
        of_x, of_h = b[direction].chunk(2)
        inputs = F.linear(x, w[direction], of_x)
        for frame in reversed(range(x.shape[0])) if direction else range(x.shape[0]):
            after = _cell(kind, inputs[frame], F.linear(now[0], r[direction], of_h), now)
            if projections is not None:
                after[0] = F.linear(after[0], projections[direction])
            if lengths is None:
                now, shown[frame] = after, after[0]
            else:
                inside = (frame < lengths).unsqueeze(1)
                now = [torch.where(inside, new, old) for new, old in zip(after, now)]
                shown[frame] = torch.where(inside, after[0], 0.0)
        outputs.append(torch.stack(shown))
        last.append(now)
    return torch.stack(outputs, 1), *(torch.stack(state) for state in zip(*last))


# ---- a layer as one node -------------------------------------------------------------------------------------------------
# Operations of ours, which both exporters write as ONNX's. They have no gradient: a file has none either. What they compute is differentiable.


def recurrent_steps(x, w, r, b, lengths, hidden, kind):
    return _steps(kind, x, w, r, b, lengths, [hidden])


def lstm_steps(x, w, r, b, lengths, hidden, cell):
    return _steps("LSTM", x, w, r, b, lengths, [hidden, cell])


@torch.library.custom_op(f"{DOMAIN}::recurrent", mutates_args=())
def _recurrent(x: torch.Tensor, w: torch.Tensor, r: torch.Tensor, b: torch.Tensor, lengths: torch.Tensor | None, hidden: torch.Tensor,
               kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    return recurrent_steps(x, w, r, b, lengths, hidden, kind)


@torch.library.custom_op(f"{DOMAIN}::lstm", mutates_args=())
def _lstm(x: torch.Tensor, w: torch.Tensor, r: torch.Tensor, b: torch.Tensor, lengths: torch.Tensor | None, hidden: torch.Tensor,
          cell: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return lstm_steps(x, w, r, b, lengths, hidden, cell)


def _shaped(x, *states):
    return x.new_empty(x.shape[0], states[0].shape[0], *states[0].shape[1:]), *(torch.empty_like(state) for state in states)


_recurrent.register_fake(lambda x, w, r, b, lengths, hidden, kind: _shaped(x, hidden))
_lstm.register_fake(lambda x, w, r, b, lengths, hidden, cell: _shaped(x, hidden, cell))


def _attributes(kind, hidden_size, directions):
    made = {"hidden_size": hidden_size, "direction": "bidirectional" if directions == 2 else "forward"}
    if kind == "GRU":
        made["linear_before_reset"] = 1
    if kind.startswith("RNN"):  # whose default in the standard is that of two directions
        made["activations"] = ["Relu" if kind == "RNN_RELU" else "Tanh"] * directions
    return kind.partition("_")[0], made


def onnx_forms():
    """What torch.export's exporter writes for them."""
    from onnxscript import opset18

    def write(kind, *inputs):
        operator, attributes = _attributes(kind, inputs[2].shape[2], inputs[2].shape[0])
        return getattr(opset18, operator)(*inputs, **attributes)

    return {torch.ops.cleave_torch.recurrent.default: lambda x, w, r, b, lengths, hidden, kind: write(kind, x, w, r, b, lengths, hidden),
            torch.ops.cleave_torch.lstm.default: lambda x, w, r, b, lengths, hidden, cell: write("LSTM", x, w, r, b, lengths, hidden, cell)}


def _symbolic(g, kind, *inputs):
    directions, _, hidden_size = inputs[2].type().sizes()
    operator, attributes = _attributes(kind, hidden_size, directions)
    letters = {int: "i", str: "s", list: "s"}
    return g.op(operator, *inputs, outputs=len(inputs) - 4, **{f"{name}_{letters[type(value)]}": value for name, value in attributes.items()})


def symbolics():
    """What the TorchScript exporter writes, by operation."""
    kinds = torch.onnx.symbolic_helper.parse_args("v", "v", "v", "v", "v", "v", "s")
    return {f"{DOMAIN}::recurrent": kinds(lambda g, x, w, r, b, lengths, hidden, kind: _symbolic(g, kind, x, w, r, b, lengths, hidden)),
            f"{DOMAIN}::lstm": lambda g, *inputs: _symbolic(g, "LSTM", *inputs)}


# ---- layers in the place of nn.LSTM, nn.GRU and nn.RNN -------------------------------------------------------------------


def _ordered(weight, kind):
    places, size = GATES[kind], weight.shape[0] // len(GATES[kind])
    return torch.cat([weight[place * size:(place + 1) * size] for place in places]) if len(places) > 1 else weight


def _layer(module, layer, x, lengths, states):
    directions, kind = 2 if module.bidirectional else 1, module.mode
    held = module.all_weights[layer * directions:(layer + 1) * directions]
    states = [state[layer * directions:(layer + 1) * directions] for state in states]
    w, r = (torch.stack([_ordered(weights[i], kind) for weights in held]) for i in (0, 1))
    b = (torch.stack([torch.cat([_ordered(weights[i], kind) for i in (2, 3)]) for weights in held]) if module.bias
         else w.new_zeros(directions, 2 * w.shape[1]))
    if module.proj_size:
        return _steps(kind, x, w, r, b, lengths, states, [weights[-1] for weights in held])
    lengths = lengths if lengths is None else lengths.to(torch.int32)
    return _lstm(x, w, r, b, lengths, *states) if kind == "LSTM" else _recurrent(x, w, r, b, lengths, states[0], kind)


def _layers(module, x, lengths, states):
    """x: [frames, samples, features]. The states are a list, of two tensors for nn.LSTM, and of one for the others."""
    if states is None:
        sizes = [module.proj_size or module.hidden_size] + [module.hidden_size] * (module.mode == "LSTM")
        states = [x.new_zeros(module.num_layers * (2 if module.bidirectional else 1), x.shape[1], size) for size in sizes]
    last = []
    for layer in range(module.num_layers):
        if layer and module.dropout:
            x = F.dropout(x, module.dropout, module.training)
        x, *ends = _layer(module, layer, x, lengths, states)
        x = x.transpose(1, 2).flatten(2)
        last.append(ends)
    return x, [torch.cat(ends) for ends in zip(*last)]


def layers(original):
    """forward() of a recurrent module, in the place of `original`."""
    def forward(self, input, hx=None):
        has_dropout = self.num_layers > 1 and self.dropout and self.training
        if not isinstance(input, Padded) and not ((self.proj_size or has_dropout) and isinstance(input, torch.Tensor) and input.dim() in (2, 3)):
            return original(self, input, hx)
        states = None if hx is None else list(hx) if self.mode == "LSTM" else [hx]
        if isinstance(input, Padded):
            x, last = _layers(self, input.padded, input.lengths, states)
            x = Padded(x, input.lengths, 0.0)
        elif input.dim() == 2:  # one sample
            x, last = _layers(self, input.unsqueeze(1), None, states and [state.unsqueeze(1) for state in states])
            x, last = x.squeeze(1), [state.squeeze(1) for state in last]
        else:
            x, last = _layers(self, input.transpose(0, 1) if self.batch_first else input, None, states)
            x = x.transpose(0, 1) if self.batch_first else x
        return x, tuple(last) if self.mode == "LSTM" else last[0]
    return forward


@contextlib.contextmanager
def packed_as_padded():
    """While this holds, pack_padded_sequence and pad_packed_sequence are ours. Modules have imported them by name, so that the functions stay,
    and call ours."""
    functions = rnn.pack_padded_sequence, rnn.pad_packed_sequence
    codes = [function.__code__ for function in functions]
    pad = rnn.pad_packed_sequence
    pad = types.FunctionType(pad.__code__, pad.__globals__, pad.__name__, pad.__defaults__)
    ours = {"_cleave_pack": _pack, "_cleave_pad": _pad(pad)}
    vars(rnn).update(ours)

    def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
        return _cleave_pack(input, lengths, batch_first, enforce_sorted)  # noqa: F821, a name of torch.nn.utils.rnn for the while

    def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
        return _cleave_pad(sequence, batch_first, padding_value, total_length)  # noqa: F821

    for function, other in zip(functions, (pack_padded_sequence, pad_packed_sequence)):
        assert list(inspect.signature(function).parameters) == list(inspect.signature(other).parameters)
        function.__code__ = other.__code__
    try:
        yield
    finally:
        for function, code in zip(functions, codes):
            function.__code__ = code
        for name in ours:
            delattr(rnn, name)
