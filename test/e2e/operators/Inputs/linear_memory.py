"""Whether planned memory, besides what persists, grows no faster than the number of rows: linear_memory.py ROWS... -- PATTERN..."""
import json
import pathlib
import sys

at = sys.argv.index("--")
sizes, patterns = [int(rows) for rows in sys.argv[1:at]], sys.argv[at + 1:]
for pattern in patterns:
    bytes_of = []
    for rows in sizes:
        memory = json.loads(pathlib.Path(pattern.replace("ROWS", str(rows))).read_text())["memory"]
        bytes_of.append(memory["total"] - memory["by_kind"]["persistent"])
    for (rows, first), (more, second) in zip(zip(sizes, bytes_of), zip(sizes[1:], bytes_of[1:]), strict=False):
        if second > 1.05 * first * more / rows:
            sys.exit(f"{pattern}: {first} bytes at {rows} rows, {second} at {more}")
    print(f"{pattern}: {bytes_of}")
