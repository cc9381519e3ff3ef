"""A cell, and one that is decided by commands."""
import re
import sys
from dataclasses import dataclass
from typing import Callable

from axes import ROOT
from outcomes import Failed, said


TREE = ("",)  # the files of a cell that depends on everything, documents too: commands in them are tests


@dataclass
class Cell:
    """decide(workshop, worker) gives the figure for the table, or raises Failed with the reason. What takes longer than `seconds` has
    failed; `usual` is what a cell takes of which nothing is known yet. What it depends on (freshness.py): the sources of its `program`,
    its code and its scripts (reach.py), `files` that these do not name (paths, or folders with a / at their end, or TREE), and `detail`
    (options, recorded numbers)."""
    name: str
    decide: Callable
    seconds: int = 600
    usual: float = 5
    files: tuple = ()
    detail: str = ""
    program: str = "host"  # of freshness.PROGRAMS
    place: str = ""  # what only one cell at a time may use: a build folder, the folders of lit's tests

    def code(self):
        """The module and the name of the definition that decides it."""
        return self.decide.__module__, self.decide.__qualname__.partition(".")[0]


def command_cell(name, lines, seconds, usual, files, program="host", place="", *, counts):
    """A cell that is decided by commands, and by what they count (`commands`)."""
    detail = f"{[[relative(part) for part in line] for line in lines]} {counts}"
    return Cell(name, commands(*lines, counts=counts), seconds, usual, tuple(files), detail, program, place)


def relative(part):
    return str(part).replace(str(ROOT), "").replace(sys.executable, "python")


def commands(*lines, counts):
    """Decided by commands, which must all end with 0. The last line that the last one prints is the figure: `counts` is found in it, and its group is
    what was tried, a number that is not 0 or a word that only a complete run prints. {build}, {python}, {folder} and {model:PATH}, a model of
    test/models with its weights, are filled in."""

    def fill(part, workshop, worker, folder):
        part = str(part)
        if part.startswith("{model:"):
            return str(workshop.weights(part[7:-1], worker))
        values = {"{build}": workshop.build, "{python}": sys.executable, "{folder}": folder}
        for key, value in values.items():
            part = part.replace(key, str(value))
        return part

    def decide(workshop, worker):
        with workshop.scratch() as folder:
            for line in lines:
                output = worker.run([fill(part, workshop, worker, folder) for part in line], folder)
        figure = said(output)
        if not tried(counts, figure):
            raise Failed(f"it does not say what was tried ({counts}): {figure}")
        return figure

    return decide


def tried(counts, figure):
    found = re.search(counts, figure)
    return bool(found) and not re.fullmatch(r"[0.]*", found[1])
