"""same_instructions.py ARTEFACT ARTEFACT: their programs have the same instructions on the same streams, whatever the kernels' numbers, the
offsets and the sizes."""
import re
import subprocess
import sys


def instructions(artefact):
    text = subprocess.run(["cleave", "inspect", "--text", artefact], check=True, capture_output=True, text=True).stdout
    programs = text[text.index("\nprogram "):]
    # What differs: kernels' numbers, addresses, and bytes of scratch.
    return [re.sub(r"@([a-z_]+)[.\d]*|0x[0-9a-f]+|\d+", r"\1", line.split("workspace[")[0]) for line in programs.splitlines()]


first, second = map(instructions, sys.argv[1:])
assert len(first) > 50, first
for a, b in zip(first, second):
    assert a == b, f"{a}\n{b}"
assert len(first) == len(second)
print(len(first), "lines")
