"""damage_plan.py PLAN: flips bytes of a plan, or cuts it off, and looks at it with `cleave inspect` and `cleave verify`. Every run
must end by itself with exit code 0 or 1 (some bytes, such as names, matter to nobody) and say something when it is 1."""
import pathlib
import random
import subprocess
import sys

plan = pathlib.Path(sys.argv[1]).read_bytes()
damaged = pathlib.Path(sys.argv[1] + ".damaged")
rng = random.Random(1)
CASES, refused = 60, 0
for case in range(CASES):
    data = bytearray(plan)
    for _ in range(rng.choice([1, 2, 8])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if case % 5 == 0:
        data = data[:rng.randrange(len(data))]
    damaged.write_bytes(data)
    for command in (["inspect", "--text"], ["inspect", "--json"], ["verify"]):
        done = subprocess.run(["cleave", command[0], str(damaged), *command[1:]], capture_output=True, timeout=60)
        if done.returncode not in (0, 1) or (done.returncode == 1 and not done.stderr):
            sys.exit(f"FAILED: case {case}, {command}: exit code {done.returncode}, {done.stderr[:500]}")
        refused += done.returncode
if not refused:
    sys.exit("FAILED: no damage was noticed")
print(f"{CASES} damaged plans: none crashes, {refused} looks at them end with a message")
