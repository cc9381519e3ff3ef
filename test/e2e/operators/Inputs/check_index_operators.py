"""Random nodes of the operators that pick, put, rank and resize, against onnxruntime: all nodes are one model.

  check_index_operators.py FOLDER SEED COUNT [RANKS [MAKER]]

With RANKS, every input has the batch as its first dimension and the ranks share it: nothing may be gathered for these nodes. MAKER is the method that
makes all nodes, such as resize.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OPSET = 20
BATCH = 4


class Case:
    """One node: inputs by position (None where absent), which of them are constants, and what it is made of."""

    def __init__(self, operator, inputs, constants=(), outputs=1, bound=0.0, **attributes):
        self.operator, self.inputs, self.constants = operator, inputs, set(constants)
        self.outputs, self.bound, self.attributes = outputs, bound, attributes

    def node(self, name):
        inputs = [f"{name}.{i}" if array is not None else "" for i, array in enumerate(self.inputs)]
        outputs = [f"{name}.out{i}" for i in range(self.outputs)]
        return helper.make_node(self.operator, inputs, outputs, name=name, **self.attributes)


class Generator:
    def __init__(self, seed, batched):
        self.random, self.batched = np.random.default_rng(seed), batched

    def sizes(self, low, high):
        sizes = list(self.random.integers(1, 6, self.random.integers(low, high + 1)))
        if self.batched:
            sizes[0] = BATCH
        return tuple(int(size) for size in sizes)

    def chance(self, probability=0.5):
        return bool(self.random.random() < probability)

    def numbers(self, shape):
        kinds = [np.float32] * 3 + [np.int64, np.int32]
        kind = kinds[self.random.integers(len(kinds))]
        return self.random.integers(-9, 9, shape).astype(kind)

    def indices(self, shape, size):
        return self.random.integers(-size, size, shape)

    def constant(self, i):
        return [i] if not self.batched and self.chance() else []

    def axis(self, rank):
        axis = int(self.random.integers(1 if self.batched else 0, rank))
        return axis - rank if self.chance() else axis

    def gather_nd(self):
        shape = self.sizes(2 if self.batched else 1, 4)
        batch = int(self.random.integers(1 if self.batched else 0, len(shape)))
        count = int(self.random.integers(1, len(shape) - batch + 1))
        space = shape[:batch] + self.sizes(1, 2)[1 if self.batched else 0:]
        parts = [self.indices(space, size) for size in shape[batch:batch + count]]
        return Case("GatherND", [self.numbers(shape), np.stack(parts, -1)], self.constant(1), batch_dims=batch)

    def gather_elements(self):
        shape = self.sizes(2 if self.batched else 1, 4)
        axis = self.axis(len(shape))
        space = [int(self.random.integers(1, size + 1)) if not (self.batched and d == 0) else size for d, size in enumerate(shape)]
        space[axis] = int(self.random.integers(1, 7))
        return Case("GatherElements", [self.numbers(shape), self.indices(space, shape[axis])], self.constant(1), axis=axis)

    def reduction(self):
        return ["none", "add", "mul", "max", "min"][self.random.integers(5)]

    def scatter_nd(self):
        shape = self.sizes(2 if self.batched else 1, 4)
        count = int(self.random.integers(2 if self.batched else 1, len(shape) + 1))
        reduction = self.reduction()
        space = (int(self.random.integers(1, 6)),)
        if self.batched:
            # Every sample writes into itself, at one place of each other dimension.
            place = [self.random.integers(-size, size, (BATCH, *space)) for size in shape[1:count]]
            if reduction == "none":
                place = [np.broadcast_to(np.arange(space[0])[None] % shape[1], (BATCH, *space)) if i == 0 else p[:, :1] + 0 * p for i, p in enumerate(place)]
                space = (min(space[0], shape[1]),)
                place = [p[:, :space[0]] for p in place]
            parts = [np.broadcast_to(np.arange(BATCH)[:, None], (BATCH, *space)), *place]
        else:
            total = int(np.prod(shape[:count]))
            flat = self.random.permutation(total)[:space[0]] if reduction == "none" else self.random.integers(0, total, space)
            parts = [p - size * self.chance() for p, size in zip(np.unravel_index(flat, shape[:count]), shape)]
        indices = np.stack(parts, -1).astype(np.int64)
        data = self.numbers(shape)
        updates = self.random.integers(-3, 4, indices.shape[:-1] + shape[count:]).astype(data.dtype)
        return Case("ScatterND", [data, indices, updates], [1] if self.batched else self.constant(1), reduction=reduction)

    def scatter_elements(self):
        shape = self.sizes(2 if self.batched else 1, 4)
        axis, reduction = self.axis(len(shape)), self.reduction()
        space = [int(self.random.integers(1, size + 1)) if not (self.batched and d == 0) else size for d, size in enumerate(shape)]
        if reduction == "none":
            order = np.argsort(self.random.random([*space[:axis], shape[axis], *space[axis:][1:]] if axis >= 0 else
                                                  [*space[:axis], shape[axis], *(space[axis + 1:] if axis != -1 else [])]), axis)
            indices = np.take(order, range(space[axis]), axis)
            indices = indices - shape[axis] * (self.random.random(indices.shape) < 0.5)
        else:
            space[axis] = int(self.random.integers(1, 7))
            indices = self.indices(space, shape[axis])
        data = self.numbers(shape)
        updates = self.random.integers(-3, 4, indices.shape).astype(data.dtype)
        return Case("ScatterElements", [data, indices, updates], self.constant(1), axis=axis, reduction=reduction)

    def top_k(self):
        shape = self.sizes(2 if self.batched else 1, 4)
        axis = self.axis(len(shape))
        count = int(self.random.integers(1, shape[axis] + 1))
        return Case("TopK", [self.numbers(shape), np.array([count])], [1], outputs=2, axis=axis, largest=int(self.chance()))

    def conv_transpose(self):
        dims, groups = int(self.random.integers(1, 4)), int(self.random.integers(1, 3))
        pick = lambda low, high: [int(n) for n in self.random.integers(low, high, dims)]
        strides, kernel, dilations, size = pick(1, 4), pick(1, 4), pick(1, 3), pick(1, 6)
        channels, outs = groups * int(self.random.integers(1, 4)), int(self.random.integers(1, 4))
        covered = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(size, strides, kernel, dilations)]
        attributes = dict(strides=strides, dilations=dilations, group=groups)
        how = self.random.integers(4)
        if how == 1:
            attributes["output_padding"] = [int(self.random.integers(0, max(s, d))) for s, d in zip(strides, dilations)]
        if how <= 1:
            pads = [int(self.random.integers(0, min(3, (c - 1) // 2 + 1))) for c in covered + covered]
            attributes["pads"] = pads
        elif how == 2:
            # Where windows do not cover size * stride, onnxruntime's result is smaller than the standard's.
            covers = all(c >= n * s for c, n, s in zip(covered, size, strides))
            attributes["auto_pad"] = ["SAME_UPPER", "SAME_LOWER", "VALID"][self.random.integers(3) if covers else 2]
        else:
            attributes["output_shape"] = [int(self.random.integers(max(1, c - 3), c + 1)) for c in covered]
        x = self.random.normal(size=(BATCH, channels, *size)).astype("f4")
        w = self.random.normal(size=(channels, outs, *kernel)).astype("f4")
        inputs, constants = [x, w], [1]
        if self.chance():
            inputs.append(self.random.normal(size=outs * groups).astype("f4"))
            constants.append(2)
        return Case("ConvTranspose", inputs, constants, bound=1e-5, **attributes)

    def resize(self):
        dims = int(self.random.integers(1, 3))
        mode = ["nearest", "linear", "cubic"][self.random.integers(3)]
        dims = 2 if mode == "cubic" else dims
        size = [int(n) for n in self.random.integers(1, 7, dims)]
        attributes = dict(mode=mode)
        coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric", "tf_crop_and_resize"]
        coordinates = coordinates[self.random.integers(6)]
        attributes["coordinate_transformation_mode"] = coordinates
        if mode == "nearest":
            attributes["nearest_mode"] = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"][self.random.integers(4)]
        if mode == "cubic":
            attributes["cubic_coeff_a"] = [-0.75, -0.5][self.random.integers(2)]
            attributes["exclude_outside"] = int(self.chance())
        x = self.random.normal(size=(BATCH, 2, *size)).astype("f4")
        new = [int(n) for n in self.random.integers(1, 14, dims)]
        if new == size:  # which onnxruntime copies, whatever the scales and the region
            new[-1] += 1
        region = None
        if coordinates == "tf_crop_and_resize":
            region = np.array([0, 0, *self.random.uniform(-0.2, 0.6, dims), 1, 1, *self.random.uniform(0.4, 1.2, dims)], "f4")
            attributes["extrapolation_value"] = -7.0
        if self.chance():
            return Case("Resize", [x, region, None, np.array([BATCH, 2, *new])], [1, 3], bound=1e-5, **attributes)
        # Of every second node the length that is asked for is no whole number.
        part = self.random.uniform(0.1, 0.9) if self.chance() else 0
        scales = np.array([1, 1, *((n + part) / s for n, s in zip(new, size))], "f4")
        return Case("Resize", [x, region, scales], [1, 2], bound=1e-5, **attributes)

    def case(self, maker=None):
        makers = [self.gather_nd, self.gather_elements, self.scatter_nd, self.scatter_elements, self.top_k, self.conv_transpose, self.resize]
        return getattr(self, maker)() if maker else makers[self.random.integers(len(makers))]()


def port(name, array, batched):
    shape = ["batch", *array.shape[1:]] if batched else array.shape
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def model_of(cases, kinds, batched, results=None):
    """The model of these cases, by name; the arrays of its inputs. With `results`, by name, the file says that their first dimension is the batch:
    indices that are constants hold the batch as a number, so that nothing else does."""
    nodes, inputs, constants, outputs = [], {}, {}, []
    for name, case in cases.items():
        nodes.append(case.node(name))
        for i, array in enumerate(case.inputs):
            if array is not None:
                (constants if i in case.constants else inputs)[f"{name}.{i}"] = array
        shapes = [["batch", *array.shape[1:]] for array in results[name]] if results else [None] * case.outputs
        outputs += [helper.make_tensor_value_info(f"{name}.out{i}", kind, shapes[i]) for i, kind in enumerate(kinds(case))]
    graph = helper.make_graph(nodes, "g", [port(*item, batched) for item in inputs.items()], outputs,
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    return model, inputs


def kinds_of(case):
    return [helper.np_dtype_to_tensor_dtype(case.inputs[0].dtype), onnx.TensorProto.INT64][:case.outputs]


def expected_of(case):
    """What onnxruntime computes; None where it does not have the case."""
    model, inputs = model_of({"c": case}, kinds_of, batched=False)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception:
        return None


def main():
    folder, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    ranks = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    maker = sys.argv[5] if len(sys.argv) > 5 else None
    generator, cases, wanted = Generator(seed, bool(ranks)), {}, {}
    while len(cases) < count:
        case, name = generator.case(maker), f"n{len(cases)}"
        expected = expected_of(case)
        if expected is not None:
            cases[name], wanted[name] = case, expected
    model, inputs = model_of(cases, kinds_of, bool(ranks), wanted if ranks else None)
    onnx.save(model, folder / "model.onnx")
    options = ["--mesh", f"dp={ranks}", "--dim", f"batch={BATCH // ranks}"] if ranks else []
    log = subprocess.run(["cleave", "compile", folder / "model.onnx", "-o", folder / "model", *options], capture_output=True, text=True, timeout=900)
    if log.returncode:
        sys.exit(f"seed {seed}: {log.stderr}")
    if "needs all samples" in log.stdout + log.stderr:
        sys.exit("\n".join(line for line in (log.stdout + log.stderr).splitlines() if "needs all samples" in line))
    arguments = ["--ranks", str(ranks)] if ranks else []
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    for name, case in cases.items():
        for i in range(case.outputs):
            arguments += ["--output", f"{name}.out{i}={folder}/{name}.out{i}.npy"]
    subprocess.run([folder / "model", "infer", *arguments], check=True, stdout=subprocess.DEVNULL, timeout=300)
    failures = 0
    for name, case in cases.items():
        for i, expected in enumerate(wanted[name]):
            got = np.load(folder / f"{name}.out{i}.npy")
            same = got.shape == expected.shape and got.dtype == expected.dtype
            if not same or not np.allclose(got, expected, rtol=case.bound, atol=case.bound * 10):
                failures += 1
                shapes = [None if a is None else a.shape for a in case.inputs]
                print(f"seed {seed} {name}: {case.operator} {case.attributes} of {shapes}, output {i}:\n{got}\nexpected\n{expected}")
    operators = sorted({case.operator for case in cases.values()})
    print(f"{len(cases)} nodes of {', '.join(operators)}: {failures} failures")
    sys.exit(failures > 0)


main()
