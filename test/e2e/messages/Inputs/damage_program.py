"""damage_program.py PROGRAM: flips bits of the plan inside a program, and of the numbers that seal it. The program and `cleave verify` must
refuse each of them, and say that the plan is damaged. A program whose plan is sealed again is as good as its new plan."""
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "Inputs"))
from program_plan import seal, section

program = pathlib.Path(sys.argv[1])
damaged = program.with_name("damaged")
whole = program.read_bytes()
rng = random.Random(1)
CASES = {"the plan": 60, "the seals": 12}


def runs(contents):
    damaged.write_bytes(contents)
    damaged.chmod(0o755)
    commands = ([damaged, "infer", "--input", "x=missing.npy", "--output", "y=never.npy"], ["cleave", "verify", damaged])
    return [subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60) for command in commands]


own = bytearray(whole)
seal(own)
if own != whole:
    sys.exit("FAILED: the test computes another checksum than the compiler")
facts, bytes_of_facts = section(whole, "cleave_facts")
places = {"the plan": section(whole, "cleave_plan"), "the seals": (facts + bytes_of_facts - 16, 16)}
for name, (offset, size) in places.items():
    for case in range(CASES[name]):
        contents = bytearray(whole)
        at = rng.randrange(size)
        contents[offset + at] ^= 1 << rng.randrange(8)
        for done in runs(contents):
            if done.returncode not in (1, 2) or "the plan is damaged" not in done.stderr:
                sys.exit(f"FAILED: byte {at} of {name}: exit code {done.returncode}, {done.stderr[:500]}")
print(f"{sum(CASES.values())} damaged programs are refused")
