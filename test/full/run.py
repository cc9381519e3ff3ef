"""Runs the cells of check-cleave-full and keeps results.md; can be stopped and goes on where it was.

  run.py --build BUILD [--list] [--minutes N] [--since COMMIT] [PATTERN...]

Cells that passed at this commit are not run again; with --since, neither are those that passed at COMMIT or a later one. Patterns
(train/gpt-nano/*, sanitizer/*) choose cells; --minutes stops before the next cell once so much time has passed. The exit code is 0
only when every chosen cell has passed.
"""
import argparse
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import cells
import table


def fill(command, values):
    for key, value in values.items():
        command = [part.replace("{" + key + "}", value) for part in command]
    return command


def run_cell(cell, build, log):
    """Whether all its commands ended well, and the last line of the last one."""
    end = time.monotonic() + cell.seconds
    environment = {**os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    scratch = build / "full"
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        values = {"folder": folder, "build": str(build), "python": sys.executable}
        weights = [[sys.executable, str(cells.MODELS / "make_weights.py"), folder, str(cells.ROOT / path)] for path in cell.models]
        for command in [*weights, *(fill(command, values) for command in cell.commands)]:
            log.write("$ " + " ".join(command) + "\n")
            log.flush()
            try:
                done = subprocess.run(command, cwd=folder, env=environment, text=True, errors="replace", stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, timeout=max(1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False, f"took more than {cell.seconds} s"
            log.write(done.stdout)
            lines = [line.strip() for line in done.stdout.splitlines() if line.strip() and not line.startswith("memory: ")]
            if done.returncode:
                return False, (lines or [f"exit code {done.returncode}"])[-1]
    return True, (lines or [""])[-1]


def shorten(text, values):
    for value in values:
        text = text.replace(str(value), "")
    return text.replace("|", "/")[:160]


def main():
    parser = argparse.ArgumentParser(description="Runs the cells of check-cleave-full and keeps test/full/results.md.")
    parser.add_argument("patterns", nargs="*", default=["*"], help="cells to run (default: all)")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--list", action="store_true", help="print the chosen cells and what is known of them")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no cell after so long")
    parser.add_argument("--since", help="also take what passed at this commit or later")
    options = parser.parse_args()
    build = options.build.resolve()
    every = cells.all_cells()
    chosen = [cell for cell in every if any(fnmatch.fnmatch(cell.name, pattern) for pattern in options.patterns)]
    rows, commit = table.read(), table.current_commit()

    def is_current(row):
        return table.is_same(row.commit, commit) or bool(options.since) and table.is_since(row.commit, options.since)

    def state(cell):
        row = rows.get(cell.name)
        return "missing" if not row else row.result if is_current(row) else f"outdated ({row.result} at {row.commit})"

    if options.list:
        print("\n".join(f"{cell.name}: {state(cell)}" for cell in chosen))
        return
    begin = time.monotonic()
    log_path = build / "full.log"
    for cell in chosen:
        if state(cell) == "passed":
            continue
        if time.monotonic() - begin > 60 * options.minutes:
            print(f"stopping after {options.minutes:g} minutes")
            break
        start = time.monotonic()
        with open(log_path, "a") as log:
            log.write(f"== {cell.name} at {commit}\n")
            passed, says = run_cell(cell, build, log)
        row = table.Row(cell.name, "passed" if passed else "failed", commit, round(time.monotonic() - start),
                        shorten(says, [build, cells.ROOT, tempfile.gettempdir()]))
        rows[cell.name] = row
        print(f"{row.result} {row.cell} ({row.seconds} s) {row.says}", flush=True)
        table.write([each.name for each in every], rows, is_current)
    shutil.rmtree(build / "full", ignore_errors=True)
    left = [cell.name for cell in chosen if state(cell) != "passed" and
            not (cell.name in rows and rows[cell.name].commit == commit and rows[cell.name].result == "passed")]
    print(f"{len(chosen) - len(left)} of {len(chosen)} cells passed at {commit}; the rest: {', '.join(left[:10]) or 'none'}"
          f"{' ...' if len(left) > 10 else ''}; see {table.PATH.name} and {log_path}")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
