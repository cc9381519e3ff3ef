"""check_bound.py LOG INSPECT: the memory that a run expects is the bound of `cleave inspect` for all ranks in one process, and its data."""
import pathlib
import re
import sys

UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size(pattern, text):
    found = re.search(pattern.replace("SIZE", r"([\d.]+) (bytes|KiB|MiB|GiB)"), text)
    assert found, (pattern, text)
    return float(found[1]) * UNITS[found[2]]


log, shown = (pathlib.Path(path).read_text() for path in sys.argv[1:])
run, data, bound = size(r"expected: at most SIZE", log), size(r"and SIZE for data", log), size(r"in one process *at most SIZE", shown)
assert data > 0 and abs(run - data - bound) < 0.11 * UNITS["MiB"], (run, data, bound)
