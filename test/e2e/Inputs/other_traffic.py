"""Adds 4 to the bytes that a plan says that a generated kernel moves: one whose number is found in the file once.

Usage: other_traffic.py CLEAVE PLAN
"""

import pathlib
import re
import struct
import subprocess
import sys

cleave, path = sys.argv[1], pathlib.Path(sys.argv[2])
text = subprocess.run([cleave, "inspect", "--text", str(path)], check=True, capture_output=True, text=True).stdout
data = path.read_bytes()
for number in re.findall(r"generated code \S+ extent \d+ flops \d+ bytes (\d+)", text):
    bytes_of = struct.pack("<Q", int(number))
    if data.count(bytes_of) == 1:
        path.write_bytes(data.replace(bytes_of, struct.pack("<Q", int(number) + 4)))
        sys.exit()
sys.exit("each number is in the plan several times")
