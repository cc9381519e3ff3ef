"""What is known of the cells: results.csv, a line a cell, from which a stopped run goes on, and results.md, its summary for readers."""
import csv
import pathlib
import subprocess
from collections import Counter, defaultdict
from dataclasses import astuple, dataclass, fields

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = pathlib.Path(__file__).with_name("results.csv")
SUMMARY = pathlib.Path(__file__).with_name("results.md")
OWN = [f":!{path.relative_to(ROOT)}" for path in (ROWS, SUMMARY)]
HEAD = """# Results of check-cleave-full

Written by run.py from results.csv, which has every cell's commit, time and figure. A cell counts as passed only by a line of the
commit that is checked, or of one that differs from it in these two files alone; a cell without such a line counts as failed.
"""


@dataclass
class Row:
    cell: str
    result: str  # passed or failed
    commit: str
    seconds: int
    figure: str  # or the reason


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)


def current_commit():
    """The commit that is checked, with a + where tracked files differ from it."""
    commit = git("rev-parse", "--short=10", "HEAD").stdout.strip()
    dirty = git("diff", "--quiet", "HEAD", "--", ".", *OWN).returncode
    return commit + ("+" if dirty else "")


def is_same(commit, current):
    """Whether nothing but the table changed between two commits; work in progress is never the same."""
    if "+" in commit + current:
        return False
    return commit == current or git("diff", "--quiet", commit, current, "--", ".", *OWN).returncode == 0


def is_since(commit, oldest):
    return "+" not in commit and git("merge-base", "--is-ancestor", oldest, commit).returncode == 0


class Currency:
    """Which rows hold for what is checked now: those of the same sources and, where `oldest` is given, of that commit and later."""

    def __init__(self, commit, oldest=None):
        self.commit, self.oldest, self.known = commit, oldest, {}

    def __call__(self, row):
        if row.commit not in self.known:
            self.known[row.commit] = is_same(row.commit, self.commit) or bool(self.oldest) and is_since(row.commit, self.oldest)
        return self.known[row.commit]


def read():
    if not ROWS.exists():
        return {}
    with open(ROWS, newline="") as file:
        return {row["cell"]: Row(row["cell"], row["result"], row["commit"], int(row["seconds"]), row["figure"])
                for row in csv.DictReader(file)}


def write(cells, rows, is_current):
    """All cells in their order; lines of cells that no longer exist are dropped."""
    with open(ROWS, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Row))
        writer.writerows(astuple(rows[cell]) for cell in cells if cell in rows)
    SUMMARY.write_text(HEAD + "\n".join(summary(cells, rows, is_current)) + "\n")


def state(cell, rows, is_current):
    row = rows.get(cell)
    return "missing" if not row else row.result if is_current(row) else "outdated"


def summary(cells, rows, is_current):
    states = {cell: state(cell, rows, is_current) for cell in cells}
    passed = sum(value == "passed" for value in states.values())
    commits = Counter(rows[cell].commit for cell in cells if cell in rows)
    yield ""
    yield f"**{passed} of {len(cells)} cells passed**, {', '.join(f'{n} {what}' for what, n in sorted(others(states).items())) or 'none failed'}."
    yield ""
    yield "Lines by commit: " + ", ".join(f"{commit} {n}" for commit, n in commits.most_common()) + "."
    precisions = list(dict.fromkeys(cell.split("/")[4] for cell in cells if cell.startswith("train/")))
    for precision in precisions:
        chosen = {cell: states[cell] for cell in cells if cell.startswith("train/") and cell.split("/")[4] == precision}
        yield from grid(f"Losses against PyTorch in float64, {precision} (passed of optimizers)", chosen, 1, 2)
    yield from grid("Bitwise equal to the plain program (passed of layouts and precisions)",
                    {cell: value for cell, value in states.items() if cell.startswith("same/")}, 1, 5)
    yield from grid("On 1, 2 and 4 ranks the same losses (passed)",
                    {cell: value for cell, value in states.items() if cell.startswith("mutual/")}, 1, 2)
    yield from grid("Inference against onnxruntime", {cell: value for cell, value in states.items() if cell.startswith("infer/")}, 1, 2)
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
    chosen = [cell for cell in cells if cell.split("/")[0] not in ("train", "same", "mutual", "infer")]
    yield from ["", "## Everything else", "", "| cell | result | |", "|---|---|---|"]
    for cell in chosen:
        yield f"| {cell} | {states[cell]} | {escaped(rows[cell].figure) if cell in rows else ''} |"


def escaped(text):
    return text.replace("|", "\\|")
