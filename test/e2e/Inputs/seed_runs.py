"""The command line and the loop of generators that check one thing for each seed: FOLDER [--first N] [--count N] [--seconds N]."""
import argparse
import pathlib
import sys
import time

import fast_linker


def parser():
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--count", type=int, default=5)
    options.add_argument("--seconds", type=float, default=1e9, help="begin no seed after so long")
    return options


def run(arguments, check, failures, what):
    """check(seed) returns what it did, or raises one of `failures`, which says so itself. Does not return: the exit code is 1 where a seed
    failed, or none was run."""
    failed, begin, done = 0, time.monotonic(), 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        if time.monotonic() - begin > arguments.seconds:
            break
        try:
            print(check(seed), flush=True)
        except failures as failure:
            failed += 1
            print(f"FAILED seed {seed}: {failure}", flush=True)
        done += 1
    print(f"{done} {what}, {failed} failed")
    sys.exit(failed > 0 or done == 0)


def prepare(arguments):
    """Programs of these runs are linked by the fastest linker there is."""
    arguments.folder.mkdir(parents=True, exist_ok=True)
    fast_linker.use(arguments.folder)
