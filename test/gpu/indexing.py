#!/usr/bin/env python3
"""indexing.py PTX [--cases WORD,...] [--types WORD,...] [--time [--count N]]    put_add and take, launched over CUDA's driver.

The text, or its machine code, is a module with the entries put_add_TYPE and take_BYTES_INDEX (kernels/common/cuda/Kernels.cu). Results are
compared bit for bit: updates of a row are added in ascending order, and each sum is rounded. --time takes the sizes of GPT-2's embeddings,
with indices of several kinds, checks some columns, and prints what a launch takes: of a GPU alone. Needs no package; $CLEAVE_LIBCUDA names
another driver."""
import argparse
import array
import ctypes
import itertools
import pathlib
import random
import statistics
import struct
import sys

from attention import Driver, bits, value_of

CODES = {"f32": "f", "f64": "d", "f16": "H", "bf16": "H", "i32": "i", "i64": "q"}
BLOCKS, SLICE, LEAST = 400, 64, 32  # shareAdditions in kernels/common/cuda/CudaKernel.cpp
THREADS = 256


def size_of(kind):
    return struct.calcsize(CODES[kind])


def single(value):
    return ctypes.c_float(value).value


# The sum of two numbers of a type, as it is stored. A sum of two f32 that is rounded to f64 and then to f32 is rounded once.
ADD = {"f64": float.__add__, "f32": lambda a, b: single(a + b),
       "f16": lambda a, b: bits(single(value_of(a, "f16") + value_of(b, "f16")), "f16"),
       "bf16": lambda a, b: bits(single(value_of(a, "bf16") + value_of(b, "bf16")), "bf16")}


class Case:
    """indices: random, equal, half (of them equal), strided or ascending. share: another shift and number of groups than the host's."""

    def __init__(self, rows, inner, count, outer=1, indices="random", share=None, offset=0, negative=False, grid=None):
        self.rows, self.inner, self.count, self.outer, self.kind = rows, inner, count, outer, indices
        self.share, self.offset, self.negative, self.grid = share, offset, negative, grid

    def indices(self, pick):
        if self.kind == "equal":
            found = [self.rows // 2] * self.count
        elif self.kind == "strided":
            found = [8 * pick.randrange(self.rows // 8) for _ in range(self.count)]
        elif self.kind == "half":
            found = [1 if pick.random() < 0.5 else pick.randrange(self.rows) for _ in range(self.count)]
        elif self.kind == "ascending":
            found = [i % self.rows for i in range(self.count)]
        else:
            found = [pick.randrange(self.rows) for _ in range(self.count)]
        return [i - self.rows if self.negative and pick.random() < 0.5 else i for i in found]

    def shared(self, kind):
        """put_add's shift and groups."""
        if self.share:
            return self.share
        slices = self.outer * -(-self.inner * size_of(kind) // SLICE)
        groups, shift = -(-slices // -(-slices // BLOCKS)), 0
        while groups << shift + 1 <= BLOCKS and self.count >> shift + 1 >= LEAST:
            shift += 1
        return shift, groups


CASES = {
    "plain": Case(50, 32, 300),
    "equal": Case(37, 24, 2500, indices="equal"),
    "half": Case(3000, 16, 3000, indices="half"),
    "windows": Case(700, 4, 5000, share=(0, 1)),
    "many-rows": Case(70000, 4, 3000, share=(1, 1)),
    "few-blocks": Case(60, 40, 700, outer=3, share=(2, 5), grid=3),
    "outer": Case(9, 20, 130, outer=7, share=(1, 3)),
    "odd": Case(40, 37, 500, outer=2),
    "unaligned": Case(40, 32, 400, offset=1),
    "column": Case(300, 1, 2000),
    "strided": Case(4096, 8, 1500, indices="strided"),
    "negative": Case(100, 16, 260, negative=True),
    "one": Case(1, 1, 1),
    "one-row": Case(1, 9, 100),
    "far": Case(70000, 1, 70000, share=(6, 1), grid=2, indices="ascending"),
}


def numbers(kind, count, pick):
    """Not rounded alike: each sum depends on its order."""
    piece = [pick.gauss(0, 1) for _ in range(min(count, 65521))]
    piece = array.array(CODES[kind], piece if kind in ("f32", "f64") else [bits(v, kind) for v in piece])
    return (piece * (count // len(piece) + 1))[:count]


class Launcher:
    def __init__(self, driver, data):
        self.driver, self.module = driver, ctypes.c_void_p()
        driver("cuModuleLoadData", ctypes.byref(self.module), data + b"\0")

    def function(self, name):
        found = ctypes.c_void_p()
        self.driver("cuModuleGetFunction", ctypes.byref(found), self.module, name.encode())
        return found

    def error(self):
        return self.driver.upload(bytes(16))

    def __call__(self, function, blocks, addresses, params, error):
        call = struct.pack("<16Q32qQq", *addresses, *[0] * (16 - len(addresses)), *params, *[0] * (32 - len(params)), error.value, 7)
        held = ctypes.create_string_buffer(call, 400)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(held))
        self.driver("cuLaunchKernel", function, blocks, 1, 1, THREADS, 1, 1, 0, None, arguments, None)


def added(case, kind, table, update, indices, columns=None):
    """The table with all updates, as the host adds them; of some columns only."""
    add, table = ADD[kind], table[:]
    columns = range(case.inner) if columns is None else columns
    for o in range(case.outer):
        for i, row in enumerate(indices):
            to, source = (o * case.rows + row % case.rows) * case.inner, (o * case.count + i) * case.inner
            for column in columns:
                table[to + column] = add(table[to + column], update[source + column])
    return table


def check_put_add(launch, case, kind, index, seed):
    """How many elements are wrong."""
    pick, driver = random.Random(seed), launch.driver
    table = numbers(kind, case.outer * case.rows * case.inner, pick)
    update, indices = numbers(kind, case.outer * case.count * case.inner, pick), case.indices(pick)
    skip = bytes(case.offset * size_of(kind))
    buffers = [driver.upload(data) for data in (struct.pack(f"<{case.count}{CODES[index]}", *indices), skip + update.tobytes(),
                                                skip + table.tobytes())]
    error = launch.error()
    shift, groups = case.shared(kind)
    addresses = [buffers[2].value + len(skip), buffers[0].value, buffers[1].value + len(skip), buffers[2].value + len(skip)]
    launch(launch.function(f"put_add_{kind}"), case.grid or groups << shift, addresses,
           [1, case.outer, case.rows, case.inner, case.count, shift, groups, size_of(index)], error)
    driver("cuCtxSynchronize")
    found = array.array(CODES[kind], driver.download(buffers[2], len(table) + case.offset, CODES[kind]))[case.offset:]
    if driver.download(error, 2, "q") != (0, 0):
        return len(found)
    driver.free([*buffers, error])
    return sum(map(int.__ne__, *(memoryview(t.tobytes()).cast("B").cast(f"{'BHIQ'[size_of(kind).bit_length() - 1]}").tolist()
                                 for t in (found, added(case, kind, table, update, indices)))))


def check_take(launch, case, size, index, seed):
    pick, driver = random.Random(seed), launch.driver
    row, indices = case.inner * size, case.indices(pick)
    table = pick.randbytes(case.outer * case.rows * row)
    skip = bytes(case.offset * size)
    buffers = [driver.upload(data) for data in (skip + table, struct.pack(f"<{case.count}{CODES[index]}", *indices),
                                                bytes(len(skip) + case.outer * case.count * row))]
    error = launch.error()
    blocks = case.grid or -(-case.outer * case.count * (row // 16 if row % 16 == 0 else case.inner) // THREADS)
    addresses = [buffers[0].value + len(skip), buffers[1].value, buffers[2].value + len(skip)]
    launch(launch.function(f"take_{size}_{index}"), blocks, addresses, [1, case.outer, case.rows, case.inner, case.count], error)
    driver("cuCtxSynchronize")
    found = bytes(driver.download(buffers[2], len(skip) + case.outer * case.count * row, "B"))[len(skip):]
    driver.free([*buffers, error])
    expected = b"".join(table[(o * case.rows + i % case.rows) * row:][:row] for o in range(case.outer) for i in indices)
    return sum(map(int.__ne__, found, expected))


def check_reports(launch):
    """An index out of range is told, with the launch, and other rows have their updates."""
    driver, wrong = launch.driver, []
    for entry, count, bad in itertools.product(("put_add_f32", "take_4_i64"), (3, 600), (50, -51, 1 << 40)):
        case = Case(50, 4, count)
        indices, is_take = [*[3] * (count - 1), bad], entry[0] == "t"
        table = driver.upload(bytes(50 * 16))
        update = driver.upload(struct.pack(f"<{count * 4}f", *[1.0] * count * 4))
        index, error, shared = driver.upload(struct.pack(f"<{count}q", *indices)), launch.error(), case.shared("f32")
        addresses = [t.value for t in ((table, index, update) if is_take else (table, index, update, table))]
        launch(launch.function(entry), 8, addresses, [1, 1, 50, 4, count, *shared, 8], error)
        driver("cuCtxSynchronize")
        expected = [0.0] * count * 4 if is_take else [0.0] * 12 + [count - 1.0] * 4 + [0.0] * 184
        found = driver.download(update if is_take else table, len(expected), "f")
        if driver.download(error, 2, "q") != (7, bad) or list(found) != expected:
            wrong.append((entry, count, bad))
        driver.free([table, update, index, error])
    return wrong


def timed(launch, function, blocks, addresses, params, error, spoiled):
    """The least and the median time of a launch in microseconds; the cache is overwritten before each."""
    driver, took, all_took = launch.driver, ctypes.c_float(), []
    events = ctypes.c_void_p(), ctypes.c_void_p()
    for event in events:
        driver("cuEventCreate", ctypes.byref(event), 0)
    elapsed = "cuEventElapsedTime_v2" if hasattr(driver.library, "cuEventElapsedTime_v2") else "cuEventElapsedTime"
    for _ in range(20):
        driver("cuMemsetD32Async", spoiled, 1, ctypes.c_size_t(1 << 26), None)
        driver("cuEventRecord", events[0], None)
        launch(function, blocks, addresses, params, error)
        driver("cuEventRecord", events[1], None)
        driver("cuEventSynchronize", events[1])
        driver(elapsed, ctypes.byref(took), *events)
        all_took.append(took.value * 1000)
    for event in events:
        driver("cuEventDestroy_v2", event)
    return min(all_took), statistics.median(all_took)


def time_all(launch, count):
    """At the sizes of GPT-2: the tables of tokens and of positions. How many cases are wrong."""
    driver, wrong, inner = launch.driver, 0, 768
    spoiled, error = driver.upload(bytes(1 << 28)), launch.error()
    natural = [min(50256, int(random.Random(3 + i).paretovariate(0.6)) - 1) for i in range(count)]  # some of them often, as in a text
    half = [50256 if i % 1024 >= 512 else i * 7 % 50257 for i in range(count)]
    cases = {"random tokens": (50257, None), "tokens as in a text": (50257, natural), "positions": (1024, [i % 1024 for i in range(count)]),
             "equal tokens": (50257, [50256] * count), "half of them equal": (50257, half)}
    for name, (rows, indices) in cases.items():
        pick, case = random.Random(5), Case(rows, inner, count)
        indices = indices or case.indices(pick)
        table, update = numbers("f32", rows * inner, pick), numbers("f32", count * inner, pick)
        buffers = [driver.upload(t) for t in (table.tobytes(), struct.pack(f"<{count}q", *indices), update.tobytes())]
        shift, groups = case.shared("f32")
        params, blocks = [1, 1, rows, inner, count, shift, groups, 8], groups << shift
        addresses = [buffers[0].value, buffers[1].value, buffers[2].value, buffers[0].value]
        function = launch.function("put_add_f32")
        launch(function, blocks, addresses, params, error)
        driver("cuCtxSynchronize")
        data = ctypes.create_string_buffer(len(table) * 4)
        driver("cuMemcpyDtoH_v2", data, buffers[0], ctypes.c_size_t(len(data)))
        found, before, row_bytes = data.raw, table.tobytes(), inner * 4
        named, columns = set(indices), [*range(0, inner, 61), inner - 1]
        expected = added(case, "f32", table, update, indices, columns)
        good = all(struct.unpack_from("<f", found, (row * inner + column) * 4)[0] == expected[row * inner + column]
                   for row in named for column in columns)
        good &= all(found[row * row_bytes:(row + 1) * row_bytes] == before[row * row_bytes:(row + 1) * row_bytes]
                    for row in set(range(rows)) - named)
        wrong += not good
        moved = (count + 2 * len(named)) * inner * 4
        for each in ([shift] if shift < 3 else [shift - 1, shift, shift + 1]):
            params[5] = each
            least, median = timed(launch, function, groups << each, addresses, params, error, spoiled)
            print(f"{'ok' if good else 'WRONG':6}put_add_f32, {count} {name} of {rows} rows of {inner}, {groups << each} blocks: "
                  f"{least:.1f} us, median {median:.1f}; {moved / 1e6:.0f} MB, {moved / median / 1e6:.2f} TB/s", flush=True)
        least, median = timed(launch, launch.function("take_2_i64"), count * 96 // THREADS, addresses[:3], params[:5], error, spoiled)
        moved = (count + len(named)) * inner * 2
        print(f"{'':6}take_2_i64, {count} {name} of {rows} rows of {inner}: {least:.1f} us, median {median:.1f}; {moved / 1e6:.0f} MB",
              flush=True)
        driver.free(buffers)
    driver.free([spoiled, error])
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--types", default="f32,f64,f16,bf16")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--count", type=int, default=8192, help="indices of what is timed")
    options = parser.parse_args()
    launch, wrong = Launcher(Driver(), options.text.read_bytes()), 0

    def tell(what, count):
        nonlocal wrong
        wrong += count != 0
        print(f"{'WRONG' if count else 'ok':6}{what}" + (f": {count} differ" if count else ""), flush=True)

    for seed, name in enumerate(options.cases.split(",")):
        kinds = options.types.split(",")
        for kind in kinds if name != "far" else kinds[:1]:
            for index in ("i32", "i64")[seed % 2:][:1] if name != "plain" else ("i32", "i64"):
                tell(f"put_add_{kind}_{index} {name}", check_put_add(launch, CASES[name], kind, index, seed))
        if name in ("plain", "odd", "unaligned", "outer", "negative", "one", "few-blocks", "column"):
            for size, index in itertools.product((1, 2, 4, 8), ("i32", "i64")):
                tell(f"take_{size}_{index} {name}", check_take(launch, CASES[name], size, index, seed))
    reports = check_reports(launch)
    tell("indices out of range" + "".join(map(str, reports)), len(reports))
    if options.time:
        wrong += time_all(launch, options.count)
    launch.driver("cuModuleUnload", launch.module)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
