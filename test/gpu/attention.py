#!/usr/bin/env python3
"""attention.py PTX... [--cases WORD,...] [--time]    Attention's forward kernels of 16 bits, launched by themselves over CUDA's driver.

Each text is a module with the entries attention_TYPE_SIZE (what a program has for attention: by mma.sync, and by wgmma for sm_90a). Its
results, largest scores and sums are compared with float64. A text for sm_90a is left out on other GPUs. --time prints what a launch takes at training sizes, and its TFLOP/s: of a
GPU alone. Needs no package; $CLEAVE_LIBCUDA names another driver."""
import argparse
import ctypes
import math
import operator
import os
import pathlib
import random
import re
import struct
import sys

BOUNDS = {"f16": 2e-3, "bf16": 1.6e-2}  # of results below 4 in magnitude: half a unit in the last place is 1e-3 and 8e-3
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

    def upload(self, data):
        at = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(len(data), 1)))
        self("cuMemcpyHtoD_v2", at, data, ctypes.c_size_t(len(data)))
        return at

    def download(self, at, count, code):
        data = ctypes.create_string_buffer(count * struct.calcsize(code))
        self("cuMemcpyDtoH_v2", data, at, ctypes.c_size_t(len(data)))
        return struct.unpack(f"<{count}{code}", data.raw)

    def module(self, text):
        module = ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), text.encode() + b"\0")
        return module

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

    def expected(self, tensors, mask, item):
        """Of each row: its result, largest score, and sum of powers."""
        queries, keys, values = ([t[(item * n + i) * s:(item * n + i + 1) * s] for i in range(n)] for t, n, s in
                                 zip(tensors, (self.rows, self.columns, self.columns), (self.depth, self.depth, self.width)))
        across = list(zip(*values))
        sample, head = item // self.heads, item % self.heads
        b, h, r, c = self.sizes
        for row in range(self.rows):
            at = (((sample if b > 1 else 0) * h + (head if h > 1 else 0)) * r + (row if r > 1 else 0)) * c
            scores = []
            for column in range(min(row + 1, self.columns) if self.causal else self.columns):
                score, m = sum(map(operator.mul, queries[row], keys[column])) * self.scale, mask[at + (column if c > 1 else 0)]
                scores.append(score + m if self.mask == "added" else score if self.mask == "none" or m else self.fill)
            largest = max(scores)
            powers = [math.exp(score - largest) for score in scores]
            total = sum(powers)
            yield [sum(map(operator.mul, powers, line)) / total for line in across], largest, total


def launch(driver, module, entry, case, buffers, grid=None):
    function = ctypes.c_void_p()
    driver("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
    call = ctypes.create_string_buffer(case.call(buffers), 400)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(call))
    blocks = grid or case.batch * case.heads * -(-case.rows // 128)
    driver("cuLaunchKernel", function, blocks, 1, 1, 256, 1, 1, 0, None, arguments, None)


def uploaded(driver, case, kind, seed):
    tensors, mask = case.numbers(kind, seed)
    lines = case.batch * case.heads * case.rows
    buffers = [driver.upload(struct.pack(f"<{len(t)}H", *t)) for t in tensors]
    if case.mask != "none":
        buffers.append(driver.upload(struct.pack(f"<{len(mask)}f", *mask) if case.mask == "added" else bytes(mask)))
    buffers += [driver.upload(bytes(n)) for n in (lines * case.width * 2, lines * 4, lines * 4)]
    return tensors, mask, buffers


def check(driver, module, kind, case, seed):
    """The largest errors: of results, of largest scores, and of sums relative to the sum."""
    tensors, mask, buffers = uploaded(driver, case, kind, seed)
    launch(driver, module, f"attention_{kind}_{case.size()}", case, buffers, grid=2 if seed % 2 else None)
    driver("cuCtxSynchronize")
    lines = case.batch * case.heads * case.rows
    result = [value_of(word, kind) for word in driver.download(buffers[-3], lines * case.width, "H")]
    largest, total = driver.download(buffers[-2], lines, "f"), driver.download(buffers[-1], lines, "f")
    driver.free(buffers)
    numbers = [[value_of(word, kind) for word in t] for t in tensors]
    worst, line = [0.0, 0.0, 0.0], 0
    for item in range(case.batch * case.heads):
        for values, most, powers in case.expected(numbers, mask, item):
            errors = [max(abs(a - b) for a, b in zip(values, result[line * case.width:])), abs(largest[line] - most), abs(total[line] - powers) / powers]
            if any(map(math.isnan, errors)):
                errors = [math.inf] * 3
            worst = list(map(max, worst, errors))
            line += 1
    return worst


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


def timed(driver, module, kind, size, causal):
    """Milliseconds of a launch, and TFLOP/s of its two products (of half of them where it is causal)."""
    case = Case(4096, 4096, size, size, causal=causal, batch=4, heads=2048 // size)
    lines = case.batch * case.heads * case.rows
    pick = random.Random(1)
    piece = struct.pack("<65536H", *[bits(pick.gauss(0, 1), kind) for _ in range(65536)])
    buffers = [driver.upload(piece * (lines * size // 65536)) for _ in range(3)] + [driver.upload(bytes(n)) for n in (lines * size * 2, lines * 4, lines * 4)]
    begin, end, took = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
    for event in (begin, end):
        driver("cuEventCreate", ctypes.byref(event), 0)
    best = math.inf
    for _ in range(10):
        driver("cuEventRecord", begin, None)
        launch(driver, module, f"attention_{kind}_{size}", case, buffers)
        driver("cuEventRecord", end, None)
        driver("cuEventSynchronize", end)
        driver("cuEventElapsedTime_v2" if hasattr(driver.library, "cuEventElapsedTime_v2") else "cuEventElapsedTime", ctypes.byref(took), begin, end)
        best = min(best, took.value)
    driver.free(buffers)
    return best, 4 * lines * case.columns * size / (2 if causal else 1) / best / 1e9


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="+", type=pathlib.Path)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--types", default="f16,bf16")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    driver, wrong = Driver(), 0
    for path in options.texts:
        text = path.read_text()
        if re.search(r"(?m)^\.target sm_90a", text) and driver.capability != "9.0":
            print(f"{'':6}{path.stem}: not for compute capability {driver.capability}")
            continue
        module = driver.module(text)
        for seed, name in enumerate(options.cases.split(",")):
            for kind in options.types.split(","):
                case = CASES[name]
                errors = check(driver, module, kind, case, seed)
                good = errors[0] <= BOUNDS[kind] and errors[1] <= 1e-4 and errors[2] <= 1e-4
                wrong += not good
                print(f"{'ok' if good else 'WRONG':6}{path.stem:20} {kind:5} {name:14} {case}: result {errors[0]:.1e}, largest {errors[1]:.1e}, "
                      f"sum {errors[2]:.1e}", flush=True)
        for kind, size, causal in [(k, s, c) for k in options.types.split(",") for s in (64, 128) for c in (False, True)] if options.time else []:
            took, speed = timed(driver, module, kind, size, causal)
            print(f"{'':6}{path.stem:20} {kind:5} 4 x 4096, heads of {size}{' causal' if causal else ''}: {took:.3f} ms, {speed:.0f} TFLOP/s", flush=True)
        driver("cuModuleUnload", module)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
