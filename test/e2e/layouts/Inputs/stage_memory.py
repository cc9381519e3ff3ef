"""Memory of pipeline stages, as `cleave inspect --json` gives it.

  stage_memory.py NONE ALWAYS LAST OFFLOADED   less is kept where blocks are computed again; in the last micro-batch alone not; in host memory not
  stage_memory.py limit PLAN                   prints a limit between the two stages' needs
"""
import json
import sys


def kinds(path):
    plan = json.load(open(path))
    return plan["kinds"] if "kinds" in plan else [plan]


def total(path):
    return [kind["memory"]["total"] for kind in kinds(path)]


def main():
    if sys.argv[1] == "limit":
        needs = sorted(total(sys.argv[2]))
        return print(int(0.15 * needs[0] + 0.85 * needs[-1]))
    none, always, last, offloaded = (total(path)[0] for path in sys.argv[1:])
    print(none, always, last, offloaded)
    sys.exit(not (always < last < none and offloaded < none))


main()
