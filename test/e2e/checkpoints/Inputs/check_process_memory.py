"""check_process_memory.py LOG: the memory that a process of MPI has taken is below what it expects, which counts its data and MPI."""
import pathlib
import re
import sys

UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20}
text = pathlib.Path(sys.argv[1]).read_text()


def size(pattern):
    found = re.search(pattern.replace("SIZE", r"([\d.]+) (bytes|KiB|MiB)"), text)
    assert found, (pattern, text)
    return float(found[1]) * UNITS[found[2]]


measured, expected, data, mpi = map(size, ("measured peak SIZE", "expected: at most SIZE", "and SIZE for data", "and SIZE for MPI's start"))
assert 2.5e6 < data < 2.8e6, data  # 65,536 samples of 8 f32, and as many labels of 8 bytes
assert 1e6 < mpi < 200e6 and measured <= expected, text
