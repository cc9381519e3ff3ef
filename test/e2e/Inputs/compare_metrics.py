"""The same numbers in two files of --metrics, to the last bit: compare_metrics.py FIRST.jsonl SECOND.jsonl KEY..."""
import json
import sys

first, second = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
keys = sys.argv[3:]
if missing := [key for key in keys if not any(key in line for line in first)]:
    sys.exit(f"no {missing} in {sys.argv[1]}")
for key in keys:
    series = [[line[key] for line in lines if key in line] for lines in (first, second)]
    if series[0] != series[1]:
        sys.exit(f"{key}: {series[0]} and {series[1]}")
print(f"{len(first)} lines, {', '.join(keys)} equal")
