"""What a step gathers under full-shard and shard-grad-op on pipeline stages: stage_gathers.py FULL.json ONCE.json"""
import json
import sys


def gathers(path):
    counts = []
    for kind in json.load(open(path))["kinds"]:
        step = next(program for program in kind["programs"] if program["name"] == "train_step")
        counts.append(step["collectives"]["all_gather"])
    return counts


full, once = (gathers(path) for path in sys.argv[1:])
print(full, once)
# Two micro-batches, forward and back. A unit's reads in the update need no gather.
sys.exit(not all(4 * b <= a + 3 and b > 0 for a, b in zip(full, once, strict=True)))
