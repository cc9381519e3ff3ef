"""Runs the cells of check-cleave-full and keeps results.csv and results.md; can be stopped and goes on where it was.

  run.py --build BUILD [--list | --fresh] [--jobs N] [--minutes N] [PATTERN...]
  run.py --build BUILD --pairwise [--folder FOLDER] [PATTERN...]

Cells that passed by these sources (freshness.py) are not run again; with --here, those are that passed on another kind of processor. Patterns
(train/gpt-nano/*, sanitizer/*) choose cells; --minutes starts no cell once so much time has passed. --pairwise runs the gate's subset of the training cells and touches no file of the table.
--fresh counts the rows that hold. The exit code is 0 only when every chosen cell has passed.
"""
import argparse
import fnmatch
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import cells
import machine
import outcomes
import table
import unchanged


LONG = 100  # seconds


def arguments():
    parser = argparse.ArgumentParser(description="Runs the cells of check-cleave-full and keeps test/full/results.csv and .md.")
    parser.add_argument("patterns", nargs="*", default=["*"], help="cells to run (default: all)")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--list", action="store_true", help="print the chosen cells, what is known of them and how long the rest takes")
    parser.add_argument("--fresh", action="store_true", help="print how many rows of the table hold for these sources")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no cell after so long")
    parser.add_argument("--again", action="store_true", help="run the chosen cells also where they have passed")
    parser.add_argument("--here", action="store_true", help="run the chosen cells also where they have passed on another kind of processor")
    parser.add_argument("--pairwise", action="store_true", help="the gate's subset; the table stays as it is")
    parser.add_argument("--folder", type=pathlib.Path, help="where programs run (default: full, in the build folder)")
    parser.add_argument("--table", type=pathlib.Path, default=table.FOLDER, help="where results.csv and .md lie (default: test/full)")
    return parser.parse_args()


def require_current_build(build, programs):
    """A line of the table says what these sources do, not what some older build of them did."""
    for folder, targets in programs:
        if wrong := steps_left(build, build / folder, targets):
            sys.exit(f"{build / folder} is not what these sources build to: {wrong}\n"
                     f"run: ninja -C {build} cleave cleave-opt cleave-tests cleave-lit-programs")


def steps_left(build, folder, targets):
    """What ninja says that is left to do, or nothing where it says that nothing is."""
    asked = subprocess.run(["ninja", "-C", str(folder), "-n", *targets], capture_output=True, text=True, env=machine.environment())
    lines = [line for line in asked.stdout.splitlines() if not line.startswith("ninja: Entering directory")]
    # The fuzzer has a build of its own, which the step of cleave-tests always asks; it is one of the folders here.
    left = [line for line in lines if line != "ninja: no work to do." and f"--build {build / 'fuzz'}" not in line]
    return "" if lines and not left and not asked.returncode else f"{(left or ['ninja does not say so'])[-1]} {asked.stderr.strip()}"


def shorten(text, values):
    for value in values:
        text = text.replace(str(value), "")
    return text[:200]


class Run:
    def __init__(self, options, every, chosen):
        self.options, self.every, self.build = options, every, options.build.resolve()
        self.processor = machine.processor()
        self.start = unchanged.Beginning(chosen, self.build, machine.toolchain(self.build))
        self.keys, self.void = self.start.keys, set()  # void: cells that ran while their sources changed
        self.rows = {} if options.pairwise else table.read(options.table)
        self.chosen = chosen
        self.enough = ("passed",) if options.here else ("passed", "elsewhere")
        self.pending = [cell for cell in chosen if options.again or self.state(cell) not in self.enough]
        self.guard, self.changed, self.begin = threading.Lock(), threading.Condition(), time.monotonic()
        self.queue, self.places = sorted(self.pending, key=lambda cell: self.seconds(cell) < LONG), set()

    def state(self, cell):
        return table.state(cell, self.rows, self.keys, self.processor)

    def seconds(self, cell):
        """What it took last."""
        return self.rows[cell.name].seconds if cell.name in self.rows else cell.usual

    def estimate(self, pending):
        return sum(map(self.seconds, pending)) / self.options.jobs

    def work(self, workshop):
        """One of the jobs. Long cells come first, so that no job waits for the other at the end."""
        while cell := self.take():
            try:
                self.decide(workshop, cell)
            finally:
                with self.changed:
                    self.places.discard(cell.place)
                    self.changed.notify_all()

    def take(self):
        """The next cell whose place is free, or nothing at the end."""
        with self.changed:
            while self.queue:
                for cell in self.queue:
                    if not cell.place or cell.place not in self.places:
                        self.queue.remove(cell)
                        self.places.add(cell.place)
                        return cell
                self.changed.wait()
        return None

    def decide(self, workshop, cell):
        """Row and log of one cell; nothing where the time is over, or where the tree is no longer what this run is of."""
        if time.monotonic() - self.begin > 60 * self.options.minutes:
            return
        start, worker = time.monotonic(), outcomes.Worker(self.build, cell.seconds)
        try:
            since = self.start.check(cell)
            result, figure = self.judge(workshop, worker, cell)
            self.start.check(cell, since)
        except unchanged.Changed as change:
            with self.guard:
                self.void.add(cell.name)
                print(f"no row: {cell.name}: {change}", flush=True)
            return
        finally:
            worker.close()
        if workshop.keep:
            worker.keep()
        row = table.Row(cell.name, result, self.start.wanted[cell.name], self.processor, round(time.monotonic() - start),
                        shorten(figure, [f"{workshop.folder}/", self.build, cells.ROOT, tempfile.gettempdir()]))
        with self.guard:
            self.record(row, worker)

    def judge(self, workshop, worker, cell):
        """The result of a cell, and its figure or the reason."""
        try:
            figure = cell.decide(workshop, worker)
            if unknown := self.keys.lacks(cell, worker.opened()):
                raise outcomes.Failed(f"it took files that its key lacks; name them in Cell.files: {' '.join(unknown)}")
            return "passed", figure
        except outcomes.Failed as failure:
            return "failed", str(failure)

    def record(self, row, worker):
        self.rows[row.cell] = row
        self.done = getattr(self, "done", 0) + 1
        print(f"[{self.done}/{len(self.pending)}] {row.result} {row.cell} ({row.seconds} s, {worker.cpu:.0f} of CPU) {row.figure}", flush=True)
        if self.options.pairwise:
            if row.result == "failed":
                print("\n".join(worker.log), flush=True)
            return
        with open(self.build / "full.log", "a") as file:
            file.write(f"== {row.cell} by {row.key}: {row.result}\n" + "\n".join(worker.log) + "\n")
        table.write(self.options.table, self.every, self.rows, self.keys)

    def run(self):
        if not self.options.pairwise:
            require_current_build(self.build, self.keys.programs(self.pending))
        folder = (self.options.folder or self.build / "full").resolve()
        workshop = self.workshop(folder)
        print(f"{len(self.pending)} of {len(self.chosen)} cells to run, about {self.estimate(self.pending) / 60:.0f} minutes "
              "on an idle machine", flush=True)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            for future in [pool.submit(self.work, workshop) for _ in range(self.options.jobs)]:
                future.result()
        workshop.clear(everything=not workshop.keep)
        left = [cell.name for cell in self.chosen if self.state(cell) not in self.enough or cell.name in self.void]
        seconds = time.monotonic() - self.begin
        print(f"{len(self.chosen) - len(left)} of {len(self.chosen)} cells passed in {seconds / 60:.1f} minutes; "
              f"the rest: {', '.join(left[:10]) or 'none'}{' ...' if len(left) > 10 else ''}")
        return 1 if left else 0

    def workshop(self, folder):
        if self.options.pairwise:
            return outcomes.Workshop(folder, self.build, "")
        files, level = (*cells.TRAINING_FILES, "test/full/hook/"), machine.level(self.processor)
        return outcomes.Workshop(folder, self.build, f"{self.keys.of_outcomes(files)} {level}", f"{self.keys.of_runs(files)} {level}")

    def fresh(self):
        """How many rows hold, and which do not."""
        states = {cell.name: self.state(cell) for cell in self.chosen}
        counts = Counter(states.values())
        print(f"results.csv: {counts['passed'] + counts['elsewhere']} of {len(states)} cells passed by these sources, {counts['elsewhere']} of them on "
              f"another processor than {machine.level(self.processor)}; " + ", ".join(f"{counts[what]} {what}" for what in ("failed", "outdated", "missing")))
        return 0 if sum(counts[state] for state in self.enough) == len(states) else 1


def main():
    options = arguments()
    every = cells.gate_cells() if options.pairwise else cells.all_cells()
    chosen = [cell for cell in every if any(fnmatch.fnmatchcase(cell.name, pattern) for pattern in options.patterns)]
    if not chosen:
        sys.exit(f"no cell is called {' or '.join(options.patterns)}; run.py --list prints all")
    run = Run(options, every, chosen)
    if options.fresh:
        sys.exit(run.fresh())
    if options.list:
        print("\n".join(f"{cell.name}: {run.state(cell)}" for cell in chosen))
        print(f"{len(run.pending)} of {len(chosen)} cells to run, about {run.estimate(run.pending) / 60:.0f} minutes")
        return
    sys.exit(run.run())


if __name__ == "__main__":
    main()
