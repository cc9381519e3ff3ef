"""A command to which the system gives no thread from the first, the second, ... on: it ends with one error that says so, or does without.

  check_no_thread.py LIBRARY COMMAND...     LIBRARY is no_thread.c
"""
import os
import subprocess
import sys

MOST = 40


def outcome(library, count, command):
    ended = subprocess.run(command, env=dict(os.environ, LD_PRELOAD=library, NO_THREAD=str(count)), capture_output=True, text=True, timeout=60)
    errors = [line for line in ended.stderr.splitlines() if "error: " in line]
    if ended.returncode == 0:
        return "done"
    if ended.returncode != 1 or len(errors) != 1 or not ("refuses this process another thread" in errors[0] or "1 of 2 compute threads" in errors[0]):
        sys.exit(f"without thread {count}: exit code {ended.returncode}, {ended.stderr}")
    return "refused"


if __name__ == "__main__":
    outcomes = []
    while len(outcomes) < MOST and outcomes[-3:] != 3 * ["done"]:
        outcomes.append(outcome(sys.argv[1], len(outcomes) + 1, sys.argv[2:]))
    if "refused" not in outcomes or outcomes[-1] != "done":
        sys.exit(f"nothing was shown: {outcomes}")
    print(f"{outcomes.count('refused')} times refused, {outcomes.count('done')} times done")
