"""Computes imported modules (cleave-import --generic --weights) with numpy: an independent reading of what each op means, so that the
importer can be compared with onnxruntime and with ONNX's own node tests without any later part of the compiler."""
import math
import re
import subprocess
import tempfile

import ml_dtypes  # comes with onnx
import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
          "bf16": ml_dtypes.bfloat16, "i8": np.int8, "ui8": np.uint8, "i1": np.bool_}
OPERATION = re.compile(r'\s*(?:(%\w+)(?::\d+)? = )?"([\w.]+)"\((.*?)\)(?: <\{(.*)\}>)?(?: \{.*\})? : \((.*?)\) -> (.*)$')
erf = np.vectorize(math.erf, otypes=[np.float64])


def parse_type(text):
    *sizes, element = re.match(r"tensor<(.*)>", text.strip()).group(1).split("x")
    return tuple(map(int, sizes)), DTYPES[element]


def parse_dense(text):
    body, kind = re.match(r"dense<(.*)> : (tensor<.*?>)", text).groups()
    shape, dtype = parse_type(kind)
    if body.startswith('"0x'):
        data = bytes.fromhex(body[3:-1])
        if dtype is np.bool_:  # packed bits
            return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:math.prod(shape)].astype(bool).reshape(shape)
        return np.frombuffer(data, dtype).reshape(shape)
    words = re.findall(r"[^\[\],\s]+", body)
    width = np.dtype(dtype).itemsize

    def number(word):
        if word in ("true", "false"):
            return word == "true"
        if word.startswith("0x"):
            return np.frombuffer(int(word, 16).to_bytes(width, "little"), dtype)[0]
        return dtype(word)
    if len(words) == 1:
        return np.full(shape, number(words[0]), dtype)
    return np.array([number(w) for w in words], dtype).reshape(shape)


def integers(attributes, key):
    found = re.search(rf"\b{key} = array<i64(?:: ([-\d, ]*))?>", attributes)
    return [int(n) for n in found.group(1).split(",")] if found and found.group(1) else []


def scalar(attributes, key):
    word = re.search(rf"\b{key} = ([-+.\w]+) : ", attributes).group(1)
    return float(np.uint64(int(word, 16)).view(np.float64)) if word.startswith("0x") else float(word)


def flag(attributes, key):
    return re.search(rf"\b{key}\b", attributes) is not None


def enum(attributes, key):
    return re.search(rf"{key} = #cleave<\w+ (\w+)>", attributes).group(1)


def windows(x, attributes, kernel, fill):
    low, high = integers(attributes, "pad_low"), integers(attributes, "pad_high")
    strides, dilations = integers(attributes, "strides"), integers(attributes, "dilations")
    x = np.pad(x, [(0, 0), (0, 0), *zip(low, high)], constant_values=fill)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    view = np.lib.stride_tricks.sliding_window_view(x, extents, axis=tuple(range(2, x.ndim)))
    view = view[(slice(None), slice(None), *(slice(None, None, s) for s in strides))]
    return view[(Ellipsis, *(slice(None, None, d) for d in dilations))]


def convolution(x, w, attributes):
    view, spatial, groups = windows(x, attributes, w.shape[2:], 0), w.ndim - 2, int(scalar(attributes, "groups"))
    step, outs = w.shape[1], w.shape[0] // groups
    axes = tuple(range(2 + spatial, 2 + 2 * spatial))
    parts = [np.tensordot(view[:, g * step:(g + 1) * step], w[g * outs:(g + 1) * outs],
                          ((1, *axes), tuple(range(1, w.ndim)))) for g in range(groups)]
    return np.moveaxis(np.concatenate(parts, -1), -1, 1)


def transposed_convolution(y, w, attributes, shape):
    """Every element of y adds its multiple of the window to what it came from."""
    low, groups = integers(attributes, "pad_low"), int(scalar(attributes, "groups"))
    strides, dilations = integers(attributes, "strides"), integers(attributes, "dilations")
    room = [max(size, 1) + p + (n - 1) * s + (k - 1) * d + 1 for size, p, n, s, k, d in
            zip(shape[2:], low, y.shape[2:], strides, w.shape[2:], dilations)]
    x = np.zeros((*shape[:2], *room), np.float64)
    ins, outs = shape[1] // groups, w.shape[0] // groups
    for at in np.ndindex(*w.shape[2:]):
        where = tuple(slice(k * d, k * d + (n - 1) * s + 1, s) for k, d, n, s in zip(at, dilations, y.shape[2:], strides))
        for g in range(groups):
            part = np.tensordot(y[:, g * outs:(g + 1) * outs], w[(slice(g * outs, (g + 1) * outs), slice(None), *at)], (1, 0))
            x[(slice(None), slice(g * ins, (g + 1) * ins), *where)] += np.moveaxis(part, -1, 1)
    return x[(slice(None), slice(None), *(slice(p, p + size) for p, size in zip(low, shape[2:])))]


def indexing(attributes):
    batch = int(scalar(attributes, "batch")) if flag(attributes, "batch") else 0
    return int(scalar(attributes, "dim")), batch


def pick(x, indices, attributes):
    dim, batch = indexing(attributes)
    rows = x.reshape(-1, *x.shape[batch:])
    places = indices.reshape(-1, *indices.shape[batch:])
    assert ((places >= -x.shape[dim]) & (places < x.shape[dim])).all()
    taken = np.stack([np.take(row, place, dim - batch) for row, place in zip(rows, places)])
    return taken.reshape(x.shape[:batch] + taken.shape[1:])


def put(x, indices, updates, kind, attributes):
    dim, batch = indexing(attributes)
    combine = {"set": lambda a, b: b, "sum": np.add, "product": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    result = np.array(x)
    for at in np.ndindex(*indices.shape):
        for outer in np.ndindex(*x.shape[batch:dim]):
            target = (*at[:batch], *outer, indices[at])
            result[target] = combine(result[target], updates[(*at[:batch], *outer, *at[batch:])])
    return result


def pool(x, attributes, maximum):
    kernel = integers(attributes, "window")
    axes = tuple(range(-len(kernel), 0))
    view = windows(x, attributes, kernel, -np.inf if maximum else 0)
    if maximum:
        return view.max(axes)
    counted = windows(np.ones_like(x), attributes, kernel, 1 if flag(attributes, "count_pad") else 0)
    return view.sum(axes) / counted.sum(axes)


def softmax(x, dim, logarithm):
    shifted = x - x.max(dim, keepdims=True)
    total = np.exp(shifted).sum(dim, keepdims=True)
    return shifted - np.log(total) if logarithm else np.exp(shifted) / total


def normalize(x, attributes):
    dims = tuple(integers(attributes, "dims"))
    mean, variance = x.mean(dims, keepdims=True), x.var(dims, keepdims=True)
    return (x - mean) / np.sqrt(variance + scalar(attributes, "epsilon")), mean.squeeze(dims), variance.squeeze(dims)


def divide(a, b):
    if a.dtype.kind == "f":
        return a / b
    return np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b))).astype(a.dtype)


def reduce(x, attributes, dtype):
    kind, dims = enum(attributes, "kind"), tuple(integers(attributes, "dims"))
    if kind in ("sum", "product"):
        return (np.sum if kind == "sum" else np.prod)(x, dims, dtype=dtype)
    neutral = {"initial": -np.inf if kind == "max" else np.inf} if dtype is not np.bool_ and np.dtype(dtype).kind == "f" else {}
    return (np.max if kind == "max" else np.min)(x, dims, **neutral)


def cast(x, dtype):
    return x != 0 if dtype is np.bool_ else x.astype(dtype)


UNARY = {"neg": np.negative, "abs": np.abs, "sign": np.sign, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
         "tanh": np.tanh, "erf": erf,
         "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sin": np.sin, "cos": np.cos,
         "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
         "floor": np.floor, "ceil": np.ceil, "round": np.rint, "relu": lambda x: np.maximum(x, 0), "not": np.logical_not}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide, "pow": np.power, "max": np.maximum, "min": np.minimum,
          "rem": np.fmod, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def compute(name, operands, attributes, shape, dtype):
    x = operands[0] if operands else None
    if name in UNARY:
        return UNARY[name](x)
    if name in BINARY:
        assert operands[0].shape == operands[1].shape
        return BINARY[name](*operands)
    if name == "compare":
        return COMPARE[enum(attributes, "predicate")](*operands)
    if name == "select":
        return np.where(*operands)
    if name == "cast":
        return cast(x, dtype)
    if name == "reshape":
        return x.reshape(shape)
    if name == "transpose":
        return x.transpose(integers(attributes, "permutation"))
    if name == "broadcast":
        expanded = np.ones(len(shape), int)
        expanded[integers(attributes, "dims")] = x.shape
        return np.broadcast_to(x.reshape(expanded), shape)
    if name == "slice":
        bounds = zip(*(integers(attributes, key) for key in ("starts", "sizes", "steps")))
        return x[tuple(slice(start, start + size * step, step) for start, size, step in bounds)]
    if name == "concat":
        return np.concatenate(operands, int(scalar(attributes, "dim")))
    if name == "pad":
        return np.pad(x, list(zip(integers(attributes, "low"), integers(attributes, "high"))),
                      constant_values=scalar(attributes, "value"))
    if name == "iota":
        dim = int(scalar(attributes, "dim"))
        line = np.arange(shape[dim], dtype=dtype).reshape([-1 if i == dim else 1 for i in range(len(shape))])
        return np.broadcast_to(line, shape)
    if name == "take":
        return np.take(x, operands[1], int(scalar(attributes, "dim")))
    if name == "pick":
        return pick(x, operands[1], attributes)
    if name in ("put", "put_add"):
        kind = "sum" if name == "put_add" else enum(attributes, "combine") if flag(attributes, "combine") else "set"
        return put(x, operands[1], operands[2], kind, attributes)
    if name == "check_index":
        return x
    if name == "top_k":
        keys = x if flag(attributes, "smallest") else -x.astype(np.float64 if x.dtype.kind == "f" else object)
        return np.argsort(keys, -1, kind="stable")[..., :shape[-1]]
    if name == "reduce":
        return reduce(x, attributes, dtype)
    if name == "argmax":
        return np.argmax(x, int(scalar(attributes, "dim")))
    if name in ("softmax", "log_softmax"):
        return softmax(x, int(scalar(attributes, "dim")), name == "log_softmax")
    if name == "normalize":
        return normalize(x, attributes)
    if name == "matmul":
        a, b = (np.swapaxes(v, -1, -2) if flag(attributes, f"transpose_{side}") else v
                for v, side in zip(operands, ("lhs", "rhs")))
        return a @ b + (operands[2] if len(operands) > 2 else 0)
    if name == "convolution":
        return convolution(x, operands[1], attributes)
    if name == "convolution_input_grad":
        return transposed_convolution(x, operands[1], attributes, shape)
    if name in ("max_pool", "avg_pool"):
        return pool(x, attributes, name == "max_pool")
    raise NotImplementedError(name)


def run_module(text, weights, inputs, function="model"):
    """Results of the function in order. `inputs` are given by name, `weights` by original name."""
    body = re.search(rf'"func.func"\(\) <\{{(?:(?!sym_name).)*sym_name = "{re.escape(function)}"\}}> \(\{{\n(.*?)\n  \}}\)', text, re.S)
    head = re.search(rf'"func.func"\(\) <\{{(.*sym_name = "{re.escape(function)}".*)\}}>', text).group(1)
    arguments = re.search(r"arg_attrs = \[(.*?)\], function_type", head)
    names = re.findall(r'cleave.name = "(.*?)"', arguments.group(1)) if arguments else []
    lines = body.group(1).split("\n")
    values, states = {}, {}
    if lines[0].strip().startswith("^bb0"):
        values = dict(zip(re.findall(r"(%\w+):", lines.pop(0)), (inputs[name] for name in names)))
    for line in text.split("\n"):
        if '"cleave.state"' in line:
            source = re.search(r'source = "(.*?)"', line)
            states[re.search(r'sym_name = "(.*?)"', line).group(1)] = source and source.group(1)
    for line in lines:
        if '"func.return"' in line:
            return [values[name] for name in re.findall(r"%\w+(?:#\d+)?", line.split(":")[0])]
        result, name, operands, attributes, _, kinds = OPERATION.match(line).groups()
        name, attributes = name.removeprefix("cleave."), attributes or ""
        if name == "write":
            continue
        if name == "read":
            values[result] = weights[states[re.search(r"state = @([\w.]+)", attributes).group(1)]]
            continue
        if name == "constant":
            values[result] = parse_dense(attributes.removeprefix("value = "))
            continue
        kinds = re.findall(r"tensor<.*?>", kinds)
        shape, dtype = parse_type(kinds[0])
        computed = compute(name, [values[o.strip()] for o in operands.split(",") if o.strip()], attributes, shape, dtype)
        for i, value in enumerate(computed if len(kinds) > 1 else [computed]):
            shape, dtype = parse_type(kinds[i])
            value = np.asarray(value).astype(dtype)
            assert value.shape == shape, (line, value.shape)
            values[f"{result}#{i}" if len(kinds) > 1 else result] = value


class ImportFailed(Exception):
    pass


def run_model(importer, path, inputs, *options, function="model"):
    """Imports the model and computes it."""
    with tempfile.NamedTemporaryFile() as file:
        result = subprocess.run([importer, path, "--generic", "--weights", f"--weights-file={file.name}", *options],
                                capture_output=True, text=True, timeout=120)
        if result.returncode != 0:
            raise ImportFailed(result.stderr.strip())
        data, at, weights = open(file.name, "rb").read(), 0, {}
        for name, kind, size in re.findall(r"^weight (.*) (tensor<.*>) (\d+) bytes$", result.stdout, re.M):
            shape, dtype = parse_type(kind)
            weights[name] = np.frombuffer(data[at:at + int(size)], dtype).reshape(shape)
            at += int(size)
    with np.errstate(all="ignore"):
        return run_module(result.stdout, weights, inputs, function)
