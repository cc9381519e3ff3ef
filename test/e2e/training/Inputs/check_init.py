"""Initial values of --init, against numpy: element i of a tensor depends on the seed, the tensor's name and i alone.

check_init.py FILE SEED RULE...       an exported ONNX file, bit by bit; rules are PATTERN=KIND,VALUE,SCALE, the first that matches
check_init.py moments                 mean, deviation and the Kolmogorov-Smirnov distance of what the reference draws
"""
import fnmatch
import math
import sys

import numpy as np
import onnx
import onnx.numpy_helper

MASK = 0xffffffff


def philox(key, counter):
    """Philox 4x32-10 of Random123 on arrays: key of 2 and counter of 4 words, as 64-bit integers below 2^32."""
    key, c = [np.uint64(k) for k in key], [np.asarray(w, np.uint64) for w in counter]
    mask, shift = np.uint64(MASK), np.uint64(32)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> shift) ^ c[1] ^ key[0], b & mask, (a >> shift) ^ c[3] ^ key[1], a & mask]
        key = [(key[0] + np.uint64(0x9E3779B9)) & mask, (key[1] + np.uint64(0xBB67AE85)) & mask]
    return c


def fnv1a(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return value


def drawn(name, seed, count, kind, value, scale):
    block, tensor = np.arange((count + 3) // 4, dtype=np.uint64), fnv1a(name)
    zero = np.zeros_like(block)
    words = philox((seed & MASK, seed >> 32), (block & np.uint64(MASK), block >> np.uint64(32), zero + np.uint64(tensor & MASK), zero + np.uint64(tensor >> 32)))
    if kind == "uniform":
        z = np.stack([(w >> np.uint64(8)).astype(np.float64) * 2.0**-24 for w in words], 1)
    else:
        pairs = []
        for a, b in (words[:2], words[2:]):
            radius = np.sqrt(-2 * np.log((a.astype(np.float64) + 0.5) * 2.0**-32))
            angle = 2 * np.pi * ((b.astype(np.float64) + 0.5) * 2.0**-32)
            pairs += [radius * np.cos(angle), radius * np.sin(angle)]
        z = np.stack(pairs, 1)
    return value + scale * z.reshape(-1)[:count]


def expected(name, shape, seed, rules):
    for rule in rules:
        pattern, how = rule.rsplit("=", 1)
        if fnmatch.fnmatchcase(name, pattern):
            kind, value, scale = how.split(",")
            count = math.prod(shape)
            values = np.full(count, float(value)) if kind == "constant" else drawn(name, seed, count, kind, float(value), float(scale))
            return values.astype(np.float32).reshape(shape)
    sys.exit(f"{name}: no rule")


def check_file(path, seed, rules):
    tensors = [t for t in onnx.load(path).graph.initializer]
    for tensor in tensors:
        actual = onnx.numpy_helper.to_array(tensor)
        wanted = expected(tensor.name, actual.shape, seed, rules)
        # Sine, cosine and logarithm of the C library are not the program's: the last bit of a double may differ, and a float with it, rarely.
        if np.abs(actual - wanted).max() > np.spacing(np.abs(wanted).max()) or np.mean(actual != wanted) > 1e-4:
            sys.exit(f"{path}: {tensor.name}: got {actual.ravel()[:4]}, expected {wanted.ravel()[:4]}")
    print(f"{len(tensors)} tensors are what numpy draws")


def check_moments():
    known = philox((0xa4093822, 0x299f31d0), (0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344))
    assert [int(w) for w in known] == [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
    n = 200000
    for kind, mean, deviation in (("normal", 0, 1), ("uniform", 0.5, math.sqrt(1 / 12))):
        values = np.sort(drawn("h.0.weight", 3, n, kind, 0, 1))
        assert abs(values.mean() - mean) < 4 * deviation / math.sqrt(n) and abs(values.std() - deviation) < 4 * deviation / math.sqrt(n), kind
        cdf = values if kind == "uniform" else np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in values])
        steps = np.arange(n + 1) / n
        distance = max(np.abs(cdf - steps[1:]).max(), np.abs(cdf - steps[:-1]).max())
        assert distance * math.sqrt(n) < 1.95, (kind, distance)  # p above 0.001
        pairs = np.corrcoef(*drawn("h.0.weight", 3, n, kind, 0, 1).reshape(-1, 2).T)[0, 1]
        assert abs(pairs) < 0.02, (kind, pairs)
    print("moments and distances are those of the distributions")


if __name__ == "__main__":
    if sys.argv[1] == "moments":
        check_moments()
    else:
        check_file(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
