"""results.md: one line a cell, which is also how a stopped run knows where to go on."""
import pathlib
import re
import subprocess
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = pathlib.Path(__file__).with_name("results.md")
LINE = re.compile(r"^\| (\S+) \| (\S+) \| (\S+) \| (\d+) s \| (.*) \|$")
HEAD = """# Results of check-cleave-full

Written by run.py; a cell counts as passed only by a line at the commit that is checked, or at one that differs from it in this file
alone. A cell without such a line counts as failed.

"""


@dataclass
class Row:
    cell: str
    result: str  # passed or failed
    commit: str
    seconds: int
    says: str


def git(*arguments):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)


def current_commit():
    """The commit that is checked, with a + where tracked files differ from it."""
    commit = git("rev-parse", "--short=10", "HEAD").stdout.strip()
    dirty = git("diff", "--quiet", "HEAD", "--", ".", f":!{PATH.relative_to(ROOT)}").returncode
    return commit + ("+" if dirty else "")


def is_same(commit, current):
    """Whether nothing but this table changed between two commits; work in progress is never the same."""
    if "+" in commit + current:
        return False
    return commit == current or git("diff", "--quiet", commit, current, "--", ".", f":!{PATH.relative_to(ROOT)}").returncode == 0


def is_since(commit, oldest):
    return "+" not in commit and git("merge-base", "--is-ancestor", oldest, commit).returncode == 0


def read():
    rows = {}
    for line in PATH.read_text().splitlines() if PATH.exists() else []:
        if found := LINE.match(line):
            rows[found[1]] = Row(found[1], found[2], found[3], int(found[4]), found[5])
    return rows


def write(cells, rows, is_current):
    """All cells in their order; lines of cells that no longer exist are dropped."""
    passed = sum(cell in rows and rows[cell].result == "passed" and is_current(rows[cell]) for cell in cells)
    lines = [f"{passed} of {len(cells)} cells passed.", "", "| cell | result | commit | time | |", "|---|---|---|---|---|"]
    for cell in cells:
        row = rows.get(cell)
        lines.append(f"| {row.cell} | {row.result} | {row.commit} | {row.seconds} s | {row.says} |" if row else
                     f"| {cell} | missing | | | |")
    PATH.write_text(HEAD + "\n".join(lines) + "\n")
