"""What `cleave inspect` says about host memory, against what was asked for.

  check_offload.py FOLDER PROGRAM=KIND[,KIND]...     reads FOLDER/none.json and FOLDER/PROGRAM.json

Exact: what leaves the device's persistent memory is what the host's has, role by role, and what a step copies. The device needs less by
that, and more by no more than the buffers on the way (`staging`, and for gradients those that a state held until then).
"""
import json
import pathlib
import sys

ROLES = {"params": "parameter", "grads": "gradient", "optimizer": "optimizer"}


def check(name, condition, text):
    if not condition:
        sys.exit(f"{name}: {text}")


def region(memory, kind):
    return memory["by_kind"].get(kind, 0)


def step_of(plan):
    return next(program for program in plan["programs"] if program["name"] == "train_step")


def check_states(name, base, plan, roles):
    check(name, set(plan["state_host"]) == roles, f"host memory has {plan['state_host']}, not {roles}")
    for role in roles:
        check(name, plan["state_host"][role] == plan["state"][role] == base["state"][role], f"{role}: {plan['state_host']} of {base['state']}")
    device, host = region(plan["memory"], "persistent"), region(plan["host_memory"], "persistent")
    check(name, device + host == region(base["memory"], "persistent"), f"{device} and {host} bytes of states are not {base['memory']}")
    return host


def check_traffic(name, plan, kinds):
    """Bytes that a step copies; its programs' own counts are per micro-batch and multiplied out."""
    step, state = step_of(plan), plan["state_host"]
    if kinds == {"optimizer"}:
        check(name, step["copied_in_bytes"] == step["copied_out_bytes"] == state["optimizer"], f"copies {step}")
    if kinds == {"params"}:
        check(name, step["copied_out_bytes"] == state["parameter"], f"copies {step['copied_out_bytes']} bytes of parameters out")
        check(name, step["copied_in_bytes"] > 2 * state["parameter"], "forward, backward and update do not all copy")
    if kinds == {"grads"} and plan["micro_batches"] == 1:  # in for the norm, and for the update
        check(name, step["copied_out_bytes"] == state["gradient"], f"copies {step['copied_out_bytes']} bytes of gradients out")
        check(name, state["gradient"] < step["copied_in_bytes"] <= 2 * state["gradient"], f"copies {step['copied_in_bytes']} bytes of gradients in")
    if kinds == {"activations"}:
        stored = region(plan["host_memory"], "residual")
        check(name, stored <= step["copied_out_bytes"] and 0 < stored, f"stores {stored} bytes, copies {step}")


def check_peaks(name, base, plan, kinds):
    """What the device has of gradients at a time: a few of many buckets; over fsdp, where they are not made in their state anyhow, as many as without."""
    peaks, gradients = step_of(plan)["peak_bytes"], plan["state"]["gradient"]
    if "grads" in kinds:
        limit = max(gradients // 4, step_of(base)["peak_bytes"].get("unreduced", 0))
        check(name, peaks.get("unreduced", 0) <= limit, f"{peaks} bytes; of {gradients} of gradients no more than {limit} are unreduced at a time")
    if kinds == {"activations"}:  # nor are sums of gradients made beside their state
        limit = gradients // 2
        check(name, peaks["activation"] <= limit, f"{peaks} bytes; of {gradients} of gradients no more than {limit} lie beside their state")


def main():
    folder = pathlib.Path(sys.argv[1])
    base = json.loads((folder / "none.json").read_text())
    check("none", base["host_memory"]["total"] == 0 and step_of(base)["copied_in_bytes"] == 0, str(base["host_memory"]))
    for argument in sys.argv[2:]:
        name, text = argument.split("=")
        kinds = set(text.split(","))
        plan = json.loads((folder / f"{name}.json").read_text())
        offloaded = check_states(name, base, plan, {ROLES[kind] for kind in kinds & ROLES.keys()})
        check_traffic(name, plan, kinds)
        check_peaks(name, base, plan, kinds)
        peaks = step_of(plan)["peak_bytes"]
        more = peaks.get("staging", 0)
        if "grads" in kinds:  # which were made in their state before
            more += peaks.get("unreduced", 0) + peaks["activation"] - step_of(base)["peak_bytes"]["activation"]
        total, before = plan["memory"]["total"], base["memory"]["total"]
        check(name, total <= before - offloaded + more, f"needs {total} bytes, not {before} - {offloaded} + {more}")
        check(name, total < before, f"needs {total} bytes of the device, and {before} without")
        check(name, plan["memory"]["total"] == sum(plan["memory"]["by_kind"].values()), "the kinds do not add up")
        print(f"{name}: device {before} -> {total}, host {plan['host_memory']['by_kind']}, peaks {peaks}, "
              f"in {step_of(plan)['copied_in_bytes']}, out {step_of(plan)['copied_out_bytes']}")


if __name__ == "__main__":
    main()
