#!/usr/bin/env python3
"""attention.py MODULE... [--cases WORD,...] [--time]    Attention's kernels of 16 bits, launched by themselves over CUDA's driver.

Each module, PTX or a file NAME.cubin, has entries attention_TYPE_SIZE, attention_grad_TYPE_SIZE or both (what a program has for attention:
by mma.sync, and by wgmma for sm_90a). Results, largest scores and sums, and gradients, are compared with float64; two launches of a gradient with
other numbers of blocks have the same bits. A text for sm_90a is left out on other GPUs. --time prints what a launch takes at training sizes, and
its TFLOP/s: of a GPU alone. Needs no package; $CLEAVE_LIBCUDA names another driver."""
import argparse
import ctypes
import functools
import math
import operator
import os
import pathlib
import random
import re
import struct
import sys

BOUNDS = {"f16": 2e-3, "bf16": 1.6e-2}  # of results below 4 in magnitude: half a unit in the last place is 1e-3 and 8e-3
GRAD_BOUNDS = {"f16": 1e-3, "bf16": 8e-3}  # of gradients, relative to the largest one, or to 1 where that is more
NOT_FOUND = 500  # no such entry in the module
KINDS = {"none": 0, "added": 1, "kept": 2}


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("CLEAVE_LIBCUDA", "libcuda.so.1"))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.capability = f"{major.value}.{minor.value}"

    def __call__(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            words = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(words))
            raise RuntimeError(f"{name}: error {code}, {(words.value or b'').decode()}")

    def room(self, size):
        at = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(size, 1)))
        return at

    def upload(self, data):
        at = self.room(len(data))
        self("cuMemcpyHtoD_v2", at, data, ctypes.c_size_t(len(data)))
        return at

    def download(self, at, count, code):
        data = ctypes.create_string_buffer(count * struct.calcsize(code))
        self("cuMemcpyDtoH_v2", data, at, ctypes.c_size_t(len(data)))
        return struct.unpack(f"<{count}{code}", data.raw)

    def module(self, data):
        module = ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), data + b"\0")
        return module

    def has(self, module, entry):
        code = self.library.cuModuleGetFunction(ctypes.byref(ctypes.c_void_p()), module, entry.encode())
        if code not in (0, NOT_FOUND):
            raise RuntimeError(f"cuModuleGetFunction {entry}: error {code}")
        return code == 0

    def free(self, buffers):
        for each in buffers:
            self("cuMemFree_v2", each)


def bits(value, kind):
    """Of a number of 16 bits, rounded to nearest even."""
    if kind == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    word = struct.unpack("<I", struct.pack("<f", value))[0]
    return (word + 0x7fff + (word >> 16 & 1)) >> 16


def value_of(word, kind):
    return struct.unpack("<e", struct.pack("<H", word))[0] if kind == "f16" else struct.unpack("<f", struct.pack("<I", word << 16))[0]


class Case:
    def __init__(self, rows, columns, depth, width, causal=False, mask="none", sizes=None, batch=1, heads=1, spread=1.0):
        self.rows, self.columns, self.depth, self.width, self.causal, self.mask = rows, columns, depth, width, causal, mask
        self.batch, self.heads, self.spread = batch, heads, spread
        self.sizes = sizes or (1, 1, 1, 1)
        self.scale, self.fill = 1 / math.sqrt(depth), -1e4

    def __str__(self):
        return f"{self.batch}x{self.heads} heads of {self.rows} x {self.columns}, {self.depth} and {self.width}" + (" causal" if self.causal else "") + \
            ("" if self.mask == "none" else f" {self.mask} mask {'x'.join(map(str, self.sizes))}")

    def size(self):
        return 64 if max(self.depth, self.width) <= 64 else 128

    def numbers(self, kind, seed):
        pick = random.Random(seed)
        items = self.batch * self.heads
        made = [[bits(pick.gauss(0, spread), kind) for _ in range(items * lines * size)] for lines, size, spread in
                ((self.rows, self.depth, self.spread), (self.columns, self.depth, self.spread), (self.columns, self.width, 1))]
        count = math.prod(self.sizes)
        mask = [pick.choice((0.0, -math.inf, 0.5)) for _ in range(count)] if self.mask == "added" else [pick.random() < 0.7 for _ in range(count)]
        if self.mask == "added":  # each row keeps a column
            mask[::self.sizes[3]] = [0.0] * len(mask[::self.sizes[3]])
        return made, mask

    def call(self, buffers):
        double = lambda value: struct.unpack("<q", struct.pack("<d", value))[0]
        params = [self.batch, self.heads, self.rows, self.columns, self.depth, self.width, int(self.causal), double(self.scale), double(self.fill),
                  KINDS[self.mask], *self.sizes, 0]
        return struct.pack("<16Q32qQq", *[b.value for b in buffers], *[0] * (16 - len(buffers)), *params, *[0] * (32 - len(params)), 0, 1)

    def lines(self, tensor, item, count, size):
        return [tensor[(item * count + i) * size:(item * count + i + 1) * size] for i in range(count)]

    def scores(self, tensors, mask, item):
        """Of each row: its scores, and which of them the mask has replaced."""
        queries, keys = self.lines(tensors[0], item, self.rows, self.depth), self.lines(tensors[1], item, self.columns, self.depth)
        sample, head = item // self.heads, item % self.heads
        b, h, r, c = self.sizes
        for row in range(self.rows):
            at = (((sample if b > 1 else 0) * h + (head if h > 1 else 0)) * r + (row if r > 1 else 0)) * c
            scores, replaced = [], []
            for column in range(min(row + 1, self.columns) if self.causal else self.columns):
                score, m = sum(map(operator.mul, queries[row], keys[column])) * self.scale, mask[at + (column if c > 1 else 0)]
                replaced.append(self.mask == "kept" and not m)
                scores.append(self.fill if replaced[-1] else score + m if self.mask == "added" else score)
            yield scores, replaced

    def expected(self, tensors, mask, item):
        """Of each row: its result, largest score, and sum of powers."""
        across = list(zip(*self.lines(tensors[2], item, self.columns, self.width)))
        for scores, _ in self.scores(tensors, mask, item):
            largest = max(scores)
            powers = [math.exp(score - largest) for score in scores]
            total = sum(powers)
            yield [sum(map(operator.mul, powers, line)) / total for line in across], largest, total

    def expected_grads(self, tensors, mask, item):
        """The rows' largest scores, sums of powers and deltas, and the gradients of queries, keys and values, each number after number."""
        queries, keys, values, dys = (self.lines(t, item, n, s) for t, n, s in zip(
            tensors, (self.rows, self.columns, self.columns, self.rows), (self.depth, self.depth, self.width, self.width)))
        statistics, probabilities, slopes = [[], [], []], [], []
        for (scores, replaced), dy in zip(self.scores(tensors, mask, item), dys):
            largest = max(scores)
            powers = [math.exp(score - largest) for score in scores]
            total = sum(powers)
            probabilities.append([power / total for power in powers] + [0.0] * (self.columns - len(scores)))
            products = [sum(map(operator.mul, dy, value)) for value in values]
            delta = sum(map(operator.mul, probabilities[-1], products))
            slopes.append([0.0 if no else p * (product - delta) * self.scale for p, product, no in
                           zip(probabilities[-1], products, replaced + [True] * self.columns)])
            for each, number in zip(statistics, (largest, total, delta)):
                each.append(number)
        times = lambda lines, others: [sum(map(operator.mul, line, other)) for line in lines for other in zip(*others)]
        return *statistics, times(slopes, keys), times(zip(*slopes), queries), times(zip(*probabilities), dys)


def launch(driver, module, entry, case, buffers, grid=None):
    function = ctypes.c_void_p()
    driver("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
    call = ctypes.create_string_buffer(case.call(buffers), 400)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(call))
    tiles = -(-case.rows // 128) + (-(-case.columns // 128) if "_grad_" in entry else 0)
    driver("cuLaunchKernel", function, grid or case.batch * case.heads * tiles, 1, 1, 256, 1, 1, 0, None, arguments, None)


def packed(numbers, code):
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def uploaded(driver, case, tensors, mask, more):
    """Buffers of queries, keys, values and the mask, and `more`: bytes, or sizes of results."""
    buffers = [driver.upload(packed(t, "H")) for t in tensors[:3]]
    if case.mask != "none":
        buffers.append(driver.upload(packed(mask, "f") if case.mask == "added" else bytes(mask)))
    return buffers + [driver.upload(bytes(each)) for each in more]


@functools.cache
def expectation(name, kind, seed):
    """Inputs of a case, as bits, and for each head what float64 has for its rows."""
    case = CASES[name]
    tensors, mask = case.numbers(kind, seed)
    numbers = [[value_of(word, kind) for word in t] for t in tensors]
    return tensors, mask, [line for item in range(case.batch * case.heads) for line in case.expected(numbers, mask, item)]


@functools.cache
def expectation_of_grads(name, kind, seed):
    """Inputs of a case, as bits, with the results' gradient, and largest scores, sums, deltas and gradients in float64."""
    case = CASES[name]
    tensors, mask = case.numbers(kind, seed)
    pick = random.Random(seed + 1000)
    tensors.append([bits(pick.gauss(0, 1), kind) for _ in range(case.batch * case.heads * case.rows * case.width)])
    numbers = [[value_of(word, kind) for word in t] for t in tensors]
    heads = [case.expected_grads(numbers, mask, item) for item in range(case.batch * case.heads)]
    return tensors, mask, [[number for head in heads for number in head[i]] for i in range(6)]


def check(driver, module, kind, name, seed):
    """The largest errors: of results, of largest scores, and of sums relative to the sum."""
    case = CASES[name]
    tensors, mask, expected = expectation(name, kind, seed)
    lines = case.batch * case.heads * case.rows
    buffers = uploaded(driver, case, tensors, mask, (lines * case.width * 2, lines * 4, lines * 4))
    launch(driver, module, f"attention_{kind}_{case.size()}", case, buffers, grid=2 if seed % 2 else None)
    driver("cuCtxSynchronize")
    result = [value_of(word, kind) for word in driver.download(buffers[-3], lines * case.width, "H")]
    largest, total = driver.download(buffers[-2], lines, "f"), driver.download(buffers[-1], lines, "f")
    driver.free(buffers)
    worst = [0.0, 0.0, 0.0]
    for line, (values, most, powers) in enumerate(expected):
        errors = [max(abs(a - b) for a, b in zip(values, result[line * case.width:])), abs(largest[line] - most), abs(total[line] - powers) / powers]
        if any(map(math.isnan, errors)):
            errors = [math.inf] * 3
        worst = list(map(max, worst, errors))
    return worst


def check_grads(driver, module, kind, name, seed):
    """The largest errors of the gradients of queries, keys and values, relative to the largest of them (or to 1, where that is more), and
    whether another number of blocks has the same bits."""
    case = CASES[name]
    tensors, mask, expected = expectation_of_grads(name, kind, seed)
    counts = [len(t) for t in tensors[:3]]
    # Whatever is not written is a NaN.
    more = [packed(tensors[3], "H"), *[packed(each, "f") for each in expected[:3]], *[b"\xff\xff" * count for count in counts]]
    found = []
    for grid in (None, 3):
        buffers = uploaded(driver, case, tensors, mask, more)
        launch(driver, module, f"attention_grad_{kind}_{case.size()}", case, buffers, grid)
        driver("cuCtxSynchronize")
        found.append([driver.download(at, count, "H") for at, count in zip(buffers[-3:], counts)])
        driver.free(buffers)
    errors = []
    for words, numbers in zip(found[0], expected[3:]):
        each = [abs(value_of(word, kind) - number) for word, number in zip(words, numbers)]
        errors.append(math.inf if any(map(math.isnan, each)) else max(each) / max(1, *map(abs, numbers)))
    return errors, found[0] == found[1]


CASES = {
    "plain": Case(130, 150, 64, 64),
    "large": Case(130, 150, 128, 128),
    "causal": Case(200, 200, 64, 64, causal=True, heads=2),
    "causal-large": Case(200, 200, 128, 128, causal=True),
    "longer": Case(70, 190, 128, 96, causal=True),
    "shorter": Case(150, 40, 48, 64, causal=True),
    "odd": Case(67, 45, 37, 51),
    "odd-large": Case(67, 101, 75, 127),
    "added": Case(66, 100, 64, 64, mask="added", sizes=(2, 1, 66, 100), batch=2, heads=2),
    "kept": Case(70, 97, 128, 128, mask="kept", sizes=(1, 2, 1, 97), heads=2),
    "kept-causal": Case(90, 90, 64, 56, causal=True, mask="kept", sizes=(1, 1, 90, 90)),
    "wide-scores": Case(64, 64, 64, 64, spread=4.0),
    "one": Case(1, 1, 64, 64),
}


@functools.cache
def piece(kind):
    pick = random.Random(1)
    return packed([bits(pick.gauss(0, 1), kind) for _ in range(65536)], "H")


TIMED = {"GPT-2": Case(1024, 1024, 64, 64, causal=True, batch=8, heads=12)} | {
    f"4 x 4096, heads of {size}{' causal' if causal else ''}": Case(4096, 4096, size, size, causal=causal, batch=4, heads=2048 // size)
    for size in (64, 128) for causal in (False, True)}


def timed(driver, module, entry, kind, case):
    """Milliseconds of a launch, and TFLOP/s of its two products, or the five of a gradient (of half of them where it is causal)."""
    lines, isGradient = case.batch * case.heads * case.rows, "_grad_" in entry
    size = lines * case.depth * 2
    buffers = [driver.upload(piece(kind) * (size // len(piece(kind)))) for _ in range(4 if isGradient else 3)]
    if isGradient:  # of a row: its largest score, sum of powers, and delta
        buffers += [driver.upload(struct.pack("<f", number) * lines) for number in (4.0, 100.0, 0.5)]
    buffers += [driver.room(n) for n in ((size, size, size) if isGradient else (size, lines * 4, lines * 4))]
    begin, end, took = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
    for event in (begin, end):
        driver("cuEventCreate", ctypes.byref(event), 0)
    best = math.inf
    for _ in range(10):
        driver("cuEventRecord", begin, None)
        launch(driver, module, entry, case, buffers)
        driver("cuEventRecord", end, None)
        driver("cuEventSynchronize", end)
        driver("cuEventElapsedTime_v2" if hasattr(driver.library, "cuEventElapsedTime_v2") else "cuEventElapsedTime", ctypes.byref(took), begin, end)
        best = min(best, took.value)
    driver.free(buffers)
    return best, (10 if isGradient else 4) * lines * case.columns * case.depth / (2 if case.causal else 1) / best / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("modules", nargs="+", type=pathlib.Path)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--types", default="f16,bf16")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    driver, wrong = Driver(), 0
    kinds, names = options.types.split(","), options.cases.split(",") if options.cases else []
    for path in options.modules:
        data = path.read_bytes()
        if re.search(rb"(?m)^\.target sm_90a", data) and driver.capability != "9.0":
            print(f"{'':6}{path.stem}: not for compute capability {driver.capability}")
            continue
        module, done = driver.module(data), 0
        for name, kind, seed in [(name, kind, seed) for seed, name in enumerate(names) for kind in kinds]:
            about = f"{path.stem:20} {kind:5} {name:14} {CASES[name]}"
            if driver.has(module, f"attention_{kind}_{CASES[name].size()}"):
                errors = check(driver, module, kind, name, seed)
                good = errors[0] <= BOUNDS[kind] and errors[1] <= 1e-4 and errors[2] <= 1e-4
                wrong, done = wrong + (not good), done + 1
                print(f"{'ok' if good else 'WRONG':6}{about}: result {errors[0]:.1e}, largest {errors[1]:.1e}, sum {errors[2]:.1e}", flush=True)
            if driver.has(module, f"attention_grad_{kind}_{CASES[name].size()}"):
                errors, same = check_grads(driver, module, kind, name, seed)
                good = max(errors) <= GRAD_BOUNDS[kind] and same
                wrong, done = wrong + (not good), done + 1
                print(f"{'ok' if good else 'WRONG':6}{about}: gradients {', '.join(f'{each:.1e}' for each in errors)}"
                      f"{'' if same else ', other bits of other blocks'}", flush=True)
        for kind, (name, case) in [(kind, each) for kind in kinds for each in TIMED.items()] if options.time else []:
            for entry in (f"attention_{kind}_{case.size()}", f"attention_grad_{kind}_{case.size()}"):
                if driver.has(module, entry):
                    took, speed = timed(driver, module, entry, kind, case)
                    done += 1
                    print(f"{'':6}{path.stem:20} {entry:24} {name}: {took:.3f} ms, {speed:.0f} TFLOP/s", flush=True)
        driver("cuModuleUnload", module)
        if not done:
            raise SystemExit(f"{path}: none of its entries was launched")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
