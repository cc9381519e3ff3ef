"""Reads a plan's text: while a bucket is reduced, the backward pass goes on, and only the update waits for it.

  cleave inspect PROGRAM --text | check_overlap.py BUCKETS
  cleave inspect PROGRAM --text | check_overlap.py gathers COUNT
  cleave inspect PROGRAM --text | check_overlap.py copies SHARE
  cleave inspect PROGRAM --text | check_overlap.py in-flight COUNT

With `gathers`: at least COUNT units are gathered while others compute. With `copies`: so are at least that share of the bytes copied
from host memory. With `in-flight`, where all that comes goes back: exactly COUNT copies at most have come and not gone.
Every gradient all-reduce but the last must have compute launches between its issue and the compute stream's wait for it,
and none may be waited for before the last one is issued.
"""
import re
import sys


def train_step(text):
    """The instruction lines of program train_step."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(r"(entry )?program .*train_step", line))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith(" ")), len(lines))
    return [line.strip() for line in lines[start + 1:end]]


def launches_between(lines, start, end):
    return sum("stream compute" in line and line.startswith("launch") for line in lines[start:end])


def check_gathers(lines, expected):
    """Launches of the compute stream between a gather's issue and the compute stream's wait for it."""
    waits = {line.split()[-1]: i for i, line in enumerate(lines) if line.startswith("wait stream compute")}
    beside = []
    for i, line in enumerate(lines):
        if line.startswith("all_gather"):
            event = next(l for l in lines[i + 1:] if l.startswith("record stream gather")).split()[-1]
            beside.append(launches_between(lines, i, waits[event]))
    overlapped = sum(count > 0 for count in beside)
    print(f"{overlapped} of {len(beside)} gathers have compute beside them; launches: {beside}")
    if overlapped < expected:
        sys.exit(f"expected {expected}")


def check_copies(lines, expected):
    """As check_gathers, by bytes; the first step that uses what was copied waits for the copy stream."""
    waits = {line.split()[-1]: i for i, line in enumerate(lines) if line.startswith("wait stream") and not line.startswith("wait stream copy")}
    bytes_beside, bytes_all = 0, 0
    for i, line in enumerate(lines):
        copied = re.match(r"copy stream copy w (?!host)\S+ r host\S*:(\d+)\]", line)
        if not copied:
            continue
        ends = [waits[event] for event in (l.split()[-1] for l in lines[i + 1:] if l.startswith("record stream copy")) if event in waits]
        bytes_all += int(copied[1])
        bytes_beside += int(copied[1]) if ends and launches_between(lines, i, min(ends)) else 0
    print(f"{bytes_beside} of {bytes_all} bytes are copied in beside compute")
    if bytes_all == 0 or bytes_beside < expected * bytes_all:
        sys.exit(f"expected a share of {expected}")


def check_in_flight(lines, expected):
    """One stream runs all copies in the list's order."""
    there, most = 0, 0
    for line in lines:
        if re.match(r"copy stream copy w (?!host)", line):
            there += 1
        elif line.startswith("copy stream copy w host"):
            there -= 1
        most = max(most, there)
    print(f"at most {most} copies are in flight")
    if most != expected or there != 0:
        sys.exit(f"expected {expected}, and all of them to go back")


def main():
    lines = train_step(sys.stdin.read())
    if sys.argv[1] == "copies":
        return check_copies(lines, float(sys.argv[2]))
    if sys.argv[1] == "in-flight":
        return check_in_flight(lines, int(sys.argv[2]))
    if sys.argv[1] == "gathers":
        return check_gathers(lines, int(sys.argv[2]))
    issued = {}  # event recorded behind an all-reduce -> position of the all-reduce
    for i, line in enumerate(lines):
        if line.startswith("all_reduce") and int(line.partition(" //")[0].split()[-1]) > 1024:
            event = next(l for l in lines[i + 1:] if l.startswith("record stream reduce")).split()[-1]
            issued[event] = i
    waits = {line.split()[-1]: i for i, line in enumerate(lines) if line.startswith("wait stream compute")}
    if len(issued) < int(sys.argv[1]):
        sys.exit(f"{len(issued)} gradient all-reduces, expected at least {sys.argv[1]}")
    last = max(issued.values())
    for event, start in issued.items():
        end = waits.get(event)
        if end is None or end < last:
            sys.exit(f"the compute stream waits for the all-reduce of line {start} before the last one is issued")
        launches = launches_between(lines, start, end)
        if start != last and not launches:
            sys.exit(f"nothing is computed while the all-reduce of line {start} runs")
    print(f"{len(issued)} gradient all-reduces, each beside the rest of the backward pass")


if __name__ == "__main__":
    main()
