"""What --grad-sync every and last cost, in the plan and as counted: check_grad_sync.py EVERY LAST, programs of the same model over fsdp=N.

Split gradients that are reduced in every micro-batch take 1 / N of the bytes, and are sent in each; those that wait for the last one are
held whole, and sent once.
"""
import json
import pathlib
import subprocess
import sys

import check_fsdp


def check(condition, text):
    if not condition:
        sys.exit(text)


gathers = set()
for name, program in zip(("every", "last"), sys.argv[1:], strict=True):
    plan = json.loads(subprocess.run(["cleave", "inspect", program, "--json"], check=True, capture_output=True).stdout)
    ranks, micro = plan["ranks"], plan["micro_batches"]
    step = next(p for p in plan["programs"] if p["name"] == "train_step")
    whole, held, sent = plan["state_whole"]["gradient"], plan["state"]["gradient"], step["sent_bytes_by_collective"]
    times, parts = (micro, ranks) if name == "every" else (1, 1)
    check(micro > 1 and held * parts == whole, f"{name}: holds {held} of {whole} bytes of gradients")
    check(sent["reduce_scatter"] == times * (ranks - 1) * whole // ranks, f"{name}: reduce-scatters {sent['reduce_scatter']} of {whole} bytes")
    counted = check_fsdp.counted(pathlib.Path(program))
    check(counted == {step["sent_bytes"]}, f"{name}: counted {counted}, planned {step['sent_bytes']}")
    gathers.add(sent["all_gather"])
    print(f"{name}: gradients {held} bytes, {sent['reduce_scatter']} sent")
check(len(gathers) == 1, f"gathers differ: {gathers}")
