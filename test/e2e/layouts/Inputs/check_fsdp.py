"""What `cleave inspect` says about sharded state, against the formulas of sharded training: traffic of each kind of collective, and what is held at a time.

  check_fsdp.py FOLDER PROGRAM...     reads FOLDER/PROGRAM.json, counts bytes in a run of FOLDER/PROGRAM
"""
import json
import pathlib
import subprocess
import sys

TEXT = "/usr/share/common-licenses/GPL-3"


def counted(program, steps=3):
    metrics = program.with_suffix(".jsonl")
    data = [f"{name}={TEXT}:u8,window=64,shift={shift}" for name, shift in (("tokens", 0), ("labels", 1))]
    command = [program, "train", "--steps", str(steps), "--lr", "0.001", "--metrics", metrics]
    subprocess.run([*command, *(part for spec in data for part in ("--data", spec))], check=True, stdout=subprocess.DEVNULL, timeout=300)
    return {row["comm_bytes"] for row in map(json.loads, metrics.read_text().splitlines()) if "comm_bytes" in row}


def check(name, condition, text):
    if not condition:
        sys.exit(f"{name}: {text}")


def check_traffic(name, plan, step):
    n = next(axis["size"] for axis in plan["axes"] if axis["name"] == "fsdp")
    micro, sent = plan["micro_batches"], step["sent_bytes_by_collective"]
    parameters = (n - 1) * plan["state_whole"]["parameter"] // n
    gradients = (n - 1) * plan["state_whole"]["gradient"] // n
    check(name, sent["reduce_scatter"] == micro * gradients, f"reduce-scatters {sent['reduce_scatter']} bytes, not {micro} x {gradients}")
    once = {"kept": micro, "zero2": 1}.get(name)
    if once:  # forward to backward, or once behind the update
        check(name, sent["all_gather"] == once * parameters, f"gathers {sent['all_gather']} bytes, not {once} x {parameters}")
    else:  # in forward, and what the backward pass needs again: all but what only gradients of parameters come from
        check(name, 1.5 * micro * parameters < sent["all_gather"] <= 2 * micro * parameters, f"gathers {sent['all_gather']} of {parameters}")
    check(name, sent.get("all_reduce", 0) < 4096, f"all-reduces {sent.get('all_reduce')} bytes: more than scalars")
    check(name, sum(sent.values()) == step["sent_bytes"], "the kinds of traffic do not add up")


def check_states(name, plan):
    n = plan["ranks"]
    split = {"parameter", "gradient", "optimizer"} - ({"parameter"} if name == "zero2" else set())
    for role in ("parameter", "gradient", "optimizer"):
        whole, held = plan["state_whole"][role], plan["state"][role]
        check(name, held * (n if role in split else 1) == whole, f"holds {held} of {whole} bytes of {role}")


# How many units are gathered at a time: the one in use and those ahead. shard-grad-op keeps all, zero-2 has none.
IN_FLIGHT = {"pre": 2, "none": 1, "post": 1, "three": 3, "micro": 2, "kept": 1000, "zero2": 0}


def check_peak(name, plan, step):
    """A rank holds its part of the state, the gathered units in flight, the gradients not yet reduced, activations and scratch."""
    regions, peak = plan["memory"]["by_kind"], step["peak_bytes"]
    check(name, plan["memory"]["total"] == sum(regions.values()), f"{regions} do not add up to {plan['memory']['total']}")
    check(name, set(regions) == {"persistent", "transient", "communication", "workspace", "input"}, f"regions {sorted(regions)}")
    check(name, set(peak) <= {"activation", "gathered", "unreduced"}, f"kinds of transient values: {sorted(peak)}")
    state, count = sum(plan["state"].values()), 40  # states, each aligned
    check(name, state <= regions["persistent"] <= state + 128 * count, f"{regions['persistent']} bytes for {state} of state")
    held = sum(peak.values())  # not all at the same time
    check(name, 0.8 * held < regions["transient"] <= held, f"{regions['transient']} bytes for {peak}")
    # The two smallest units, of the small parameters and of the embedding, which is tied to the head, are needed all the time.
    units = sorted(unit["bytes"] for unit in plan["units"]) or [0, 0]
    resident = sum(units[:2])
    gathered = min(sum(units), IN_FLIGHT[name] * max(units) + resident)
    check(name, peak.get("gathered", 0) <= gathered, f"{peak} bytes; {IN_FLIGHT[name]} in flight of units {units}")
    if name != "zero2":  # a unit's gradients are reduced while those of the next are made
        check(name, peak["unreduced"] <= 2 * max(units) + resident + 256, f"{peak['unreduced']} bytes unreduced of units {units}")


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    peaks = {}
    for name in names:
        plan = json.loads((folder / f"{name}.json").read_text())
        step = next(p for p in plan["programs"] if p["name"] == "train_step")
        check_traffic(name, plan, step)
        check_states(name, plan)
        check_peak(name, plan, step)
        peaks[name] = step["peak_bytes"]
        traffic = counted(folder / name)
        check(name, traffic == {step["sent_bytes"]}, f"counted {traffic} bytes, planned {step['sent_bytes']}")
        print(name, step["sent_bytes_by_collective"], step["peak_bytes"])
    whole = json.loads((folder / "pre.json").read_text())["state_whole"]["parameter"]
    gathered = {name: peak.get("gathered", 0) for name, peak in peaks.items()}
    # A kernel fused across two units needs both, with prefetch or without.
    check("gathered", 0 < gathered["none"] <= gathered["pre"] < gathered["three"] < gathered["kept"], str(gathered))
    check("gathered", gathered["pre"] < whole <= gathered["kept"] and gathered["zero2"] == 0, f"{gathered} of {whole}")
    unreduced = {name: peak["unreduced"] for name, peak in peaks.items()}
    check("unreduced", all(bytes < whole for bytes in unreduced.values()), f"{unreduced} of {whole}: all of them live at once")


if __name__ == "__main__":
    main()
