"""What is known of the cells: results.csv, a line a cell, from which a stopped run goes on, and results.md, its summary for readers."""
import csv
import pathlib
from collections import Counter, defaultdict
from dataclasses import dataclass, fields

import machine

FOLDER = pathlib.Path(__file__).parent
HEAD = """# Results of check-cleave-full

Written by run.py from results.csv, which has every cell's result, key, processor, time and figure. The key is a hash of the sources that
the cell depends on (freshness.py) and of what the programs were made with (machine.py): a cell counts as passed only by a line whose key
is that of the sources at hand. A cell without such a line counts as failed. `python test/full/run.py --build build --fresh` says how many lines hold.
"""


@dataclass
class Row:
    cell: str
    result: str  # passed or failed
    key: str  # of the sources that it was decided by
    processor: str  # where it was run (machine.py)
    seconds: int
    figure: str  # or the reason


def read(folder):
    path = folder / "results.csv"
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {row["cell"]: Row(row["cell"], row["result"], row["key"], row.get("processor", ""), int(row["seconds"]), row["figure"])
                for row in csv.DictReader(file)}


def write(folder, cells, rows, keys):
    """All cells in their order; lines of cells that no longer exist are dropped."""
    with open(folder / "results.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        columns = [field.name for field in fields(Row)]
        writer.writerow(columns)
        writer.writerows([getattr(rows[cell.name], column) for column in columns] for cell in cells if cell.name in rows)
    (folder / "results.md").write_text(HEAD + "\n".join(summary(cells, rows, keys)) + "\n")


def state(cell, rows, keys, processor=None):
    """Of a row of these sources that passed: passed, or elsewhere where that was on another kind of processor than a given one."""
    row = rows.get(cell.name)
    if not row or row.key != keys.of(cell):
        return "outdated" if row else "missing"
    alike = not processor or machine.level(row.processor) == machine.level(processor)
    return row.result if alike or row.result != "passed" else "elsewhere"


def summary(cells, rows, keys):
    states = {cell.name: state(cell, rows, keys) for cell in cells}
    cells = list(states)
    passed = sum(value == "passed" for value in states.values())
    yield ""
    yield f"**{passed} of {len(cells)} cells passed**, {', '.join(f'{n} {what}' for what, n in sorted(others(states).items())) or 'none failed'}."
    processors = Counter(rows[cell].processor for cell, value in states.items() if value == "passed")
    if processors:
        yield f"They passed on: {', '.join(f'{name} ({n} cells)' for name, n in processors.most_common())}."
    outdated = [rows[cell].result for cell, value in states.items() if value == "outdated"]
    if outdated:
        yield f"With earlier sources, {outdated.count('passed')} of the {len(outdated)} outdated cells had passed; they have to be run again."
    precisions = list(dict.fromkeys(cell.split("/")[4] for cell in cells if cell.startswith("train/")))
    for precision in precisions:
        chosen = {cell: states[cell] for cell in cells if cell.startswith("train/") and cell.split("/")[4] == precision}
        yield from grid(f"Losses against PyTorch in float64, {precision} (passed of optimizers)", chosen, 1, 2)
    yield from grid("Bitwise equal to the plain program (passed of layouts and precisions)",
                    {cell: value for cell, value in states.items() if cell.startswith("same/")}, 1, 5)
    yield from grid("Pipelines: equal to the same chunks on one stage, and near PyTorch in float64 (passed of meshes and precisions)",
                    {cell: value for cell, value in states.items() if cell.startswith("schedules/")}, 1, 3)
    yield from grid("On 1, 2 and 4 ranks the same losses (passed)",
                    {cell: value for cell, value in states.items() if cell.startswith("mutual/")}, 1, 2)
    yield from grid("Inference against onnxruntime", {cell: value for cell, value in states.items() if cell.startswith("infer/")}, 1, 2)
    yield from grid("On the emulated CUDA device against the host (passed of precisions and ways)",
                    {cell: value for cell, value in states.items() if cell.startswith("cuda/")}, 1, 2)
    yield from commands(cells, rows, states)
    failed = [cell for cell in cells if states[cell] == "failed"]
    if failed:
        yield from ["", "## What failed", "", "| cell | reason |", "|---|---|"]
        yield from (f"| {cell} | {escaped(rows[cell].figure)} |" for cell in failed)


def others(states):
    return Counter(value for value in states.values() if value != "passed")


def grid(title, states, row, column):
    """Cells counted by two parts of their names."""
    counts = defaultdict(Counter)
    columns, lines = {}, {}
    for cell, value in states.items():
        parts = cell.split("/")
        key = parts[row], parts[column]
        lines[key[0]] = columns[key[1]] = True
        counts[key]["all"] += 1
        counts[key][value] += 1
    if not states:
        return
    yield from ["", f"## {title}", "", "| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for line in lines:
        found = [counts.get((line, name)) for name in columns]
        texts = ["" if not each else f"{each['passed']}/{each['all']}" + (f" ({each['failed']} failed)" if each["failed"] else "")
                 for each in found]
        yield f"| {line} | " + " | ".join(texts) + " |"


def commands(cells, rows, states):
    chosen = [cell for cell in cells if cell.split("/")[0] not in ("train", "same", "schedules", "mutual", "infer", "cuda")]
    yield from ["", "## Everything else", "", "| cell | result | |", "|---|---|---|"]
    for cell in chosen:
        yield f"| {cell} | {states[cell]} | {escaped(rows[cell].figure) if cell in rows else ''} |"


def escaped(text):
    return text.replace("|", "\\|")
