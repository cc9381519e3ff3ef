"""Pipelines with slow messages: how much longer a step takes than the schedule itself allows, without and with an injected delay of
each message.

gpt-nano on pp=2, one thread a rank. What crosses a boundary takes half (--share) of what a stage computes for a micro-batch.

The bound is of the schedule: each rank runs its passes in the order of its list, for as long as they took in that very step of the run
(--trace), a value leaves when its pass ends, and a link carries one message at a time each way, of activations and of gradients. It has
neither frames nor streams. So other work on the machine, which makes passes longer, makes the bound longer too. Printed is the median over
steps of measured / bound, which must be at most 1.10, and what the delay costs: the bound says what no plan of that schedule can hide. 1F1B
holds as many micro-batches as there are stages, and each is under way for the time of its messages, so they show in every round; eager-1f1b
hides them (compiler/Pipeline/OneForwardOneBackward.cpp). Plans of all schedules, on two and on four stages, are held to such a bound without
a clock by test/compiler/Planning/ScheduledPlansTest.cpp.

With --sleep each product sleeps before it computes, long enough that computing hardly counts. What is measured then is the plan and the
runtime, and not how the system shares cores among ranks: four ranks on two cores cannot compute at the same time, but sleep they can. Then a
round of the full pipe under eager-1f1b must take at most 1.10 times as long with slow messages as without.

  pipeline_overlap.py [--stages N] [--share X] [--micro-batches M] [--rounds N] [--sleep MICROSECONDS] [SCHEDULE...]
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict

import numpy as np

import common

BATCH, STEPS = 8, 8
BOUND = 1.10
# At most, of a round of the full pipe with slow messages over one without: for schedules that hold enough micro-batches to hide messages of half a stage.
FULL, HIDING = 1.10, ("eager-1f1b",)
SCHEDULES = ("gpipe", "1f1b", "eager-1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "dualpipe-v")
BODY = re.compile(r"c(\d+)\.(fwd|bwd_x|bwd_w|bwd)\b")
SEND = re.compile(r"send\.c(\d+):\d+(?:\.grad\.c(\d+))?\.to\.(\d+)")


class Step:
    """One step of a traced run: `passes` of each rank, [chunk, part, micro-batch, seconds] in order; `messages` of a micro-batch,
    {(chunk, is gradient): [(rank to, chunk that reads it)]}; when each pass ended; and the seconds from the first pass to the last."""

    def __init__(self, events, tracks):
        self.passes, self.messages, self.ends = defaultdict(list), defaultdict(set), {}
        begin, end = float("inf"), 0
        for event in sorted(events, key=lambda event: event["ts"]):
            rank, body = event["pid"], event.get("args", {}).get("body", "")
            if tracks[rank, event["tid"]] != "compute":
                if sent := SEND.fullmatch(body):
                    self.messages[int(sent[2] or sent[1]), bool(sent[2])].add((int(sent[3]), body, int(sent[1])))
                continue
            if not (found := BODY.match(body)) or event["name"] in ("wait", "record"):
                continue
            key = (int(found[1]), found[2], event["args"]["micro_batch"])
            if not self.passes[rank] or self.passes[rank][-1][:3] != [*key]:
                self.passes[rank].append([*key, 0.0])
            self.passes[rank][-1][3] += event["dur"] * 1e-6
            begin, end = min(begin, event["ts"]), max(end, event["ts"] + event["dur"])
            self.ends[key] = (event["ts"] + event["dur"]) * 1e-6
        self.seconds = (end - begin) * 1e-6
        rank_of = {one[0]: rank for rank, passes in self.passes.items() for one in passes}
        self.messages = {(chunk, gradient): [(to, producer if gradient else min(c for c, r in rank_of.items() if r == to and c > chunk))
                                             for to, _, producer in sorted(sent)] for (chunk, gradient), sent in self.messages.items()}

    def bound(self, delay):
        """Seconds from the first pass to the end of the last, with nothing but the order of the lists and what passes wait for."""
        awaited = defaultdict(int)  # (chunk, is gradient): messages of a micro-batch that it reads
        for (_, gradient), sent in self.messages.items():
            for _, reader in sent:
                awaited[reader, gradient] += 1
        next_pass, clock = dict.fromkeys(self.passes, 0), dict.fromkeys(self.passes, 0.0)
        links, arrived = defaultdict(float), defaultdict(list)
        moved = True
        while moved:
            moved = False
            for rank, passes in self.passes.items():
                while next_pass[rank] < len(passes):
                    chunk, part, micro_batch, seconds = passes[next_pass[rank]]
                    gradient = part != "fwd"
                    there = arrived[chunk, gradient, micro_batch]  # for a chunk's second half of a backward pass it has been
                    if len(there) < awaited[chunk, gradient]:
                        break
                    clock[rank] = max([clock[rank], *there]) + seconds
                    if part != "bwd_w":
                        for to, reader in self.messages.get((chunk, gradient), ()):
                            links[rank, to, gradient] = max(links[rank, to, gradient], clock[rank]) + delay
                            arrived[reader, gradient, micro_batch].append(links[rank, to, gradient])
                    next_pass[rank] += 1
                    moved = True
        assert all(next_pass[rank] == len(passes) for rank, passes in self.passes.items()), "the lists of the trace wait for each other"
        return max(clock.values())

    def computed(self):
        """Of the slowest rank, seconds for a micro-batch."""
        return max(sum(one[3] for one in passes) for passes in self.passes.values()) / (1 + max(one[2] for one in self.passes[0]))

    def most_messages(self):
        """Of a micro-batch over one link, one way."""
        return max(sum(to == rank for to, _ in sent) for sent in self.messages.values() for rank, _ in sent)

    def round_seconds(self):
        """The time between backward passes of the first chunk, once the pipe is full."""
        ends = sorted({key[2]: end for key, end in sorted(self.ends.items(), key=lambda one: one[1]) if key[0] == 0 and key[1] != "fwd"}.values())
        between = np.diff(ends)
        return statistics.median(between[len(between) // 3:-len(between) // 3])


def steps_of(path):
    trace = json.loads(path.read_text())
    assert trace["otherData"]["dropped"] == 0, "the trace is not whole"
    events = trace["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "X" and tracks[e["pid"], e["tid"]] != "steps"]
    steps = [e for e in events if e["ph"] == "X" and tracks[e["pid"], e["tid"]] == "steps"]
    return [Step([e for e in spans if step["ts"] <= e["ts"] < step["ts"] + step["dur"]], tracks) for step in steps[common.WARM_UP:]]


def sleeping_library(folder):
    library = folder / "sleeping.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", pathlib.Path(__file__).with_name("sleeping_library.c"), "-o", library, "-ldl"], check=True)
    return library


def run(program, delay, folder, options):
    """Steps of a run without the first ones."""
    command = [str(program), "train", "--steps", str(STEPS), "--lr", "1e-4", "--no-shuffle", "--threads", "1", "--trace", str(folder / "trace.json")]
    for name, array in common.make_arrays(common.INPUTS["gpt-nano"], BATCH * options.micro_batches * STEPS).items():
        np.save(folder / f"{name}.npy", array)
        command += ["--data", f"{name}={folder / name}.npy"]
    environment = {**os.environ, "CLEAVE_COMM_DELAY_US": str(round(delay * 1e6))}
    if options.sleep:
        environment |= {"LD_PRELOAD": str(sleeping_library(folder)), "CLEAVE_SLEEP_US": str(options.sleep)}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return steps_of(folder / "trace.json")


def measure(schedule, options, folder):
    """Whether the steps are as short as the schedule allows; prints what was found."""
    program = folder / schedule
    common.compile_model(common.model_with_weights("gpt-nano", folder), program, "--train", "--loss-output", "loss", "--dim", f"batch={BATCH}",
                         "--mesh", f"pp={options.stages}", "--schedule", schedule, "--micro-batches", str(options.micro_batches))
    first = run(program, 0, folder, options)
    delay = round(options.share * statistics.median(step.computed() for step in first) / first[0].most_messages(), 6)
    runs = {0: [], delay: []}
    for _ in range(options.rounds):
        for wait in runs:
            runs[wait] += run(program, wait, folder, options)
    excess = {wait: statistics.median(step.seconds / step.bound(wait) for step in steps) for wait, steps in runs.items()}
    without, slowed = (statistics.median(step.seconds for step in steps) for steps in runs.values())
    costs = statistics.median(step.bound(delay) / step.bound(0) for step in runs[0])
    rounds = [statistics.median(step.round_seconds() for step in steps) for steps in runs.values()]
    print(f"{schedule}: messages of {delay * 1e3:.2f} ms, {first[0].most_messages()} a micro-batch each way; passes of a step {without * 1e3:.1f} ms, "
          f"{excess[0]:.3f} of the bound; with slow messages {slowed * 1e3:.1f} ms, {excess[delay]:.3f} of the bound; "
          f"longer by {slowed / without - 1:.0%}, the bound by {costs - 1:.0%}; a round of the full pipe {rounds[1] / rounds[0] - 1:+.0%}", flush=True)
    hides = options.sleep == 0 or options.share > 0.5 or schedule not in HIDING or rounds[1] <= FULL * rounds[0]
    return excess[delay] <= BOUND and hides


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("schedules", nargs="*", default=SCHEDULES)
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--micro-batches", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sleep", type=int, default=0)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        late = [schedule for schedule in options.schedules if not measure(schedule, options, pathlib.Path(folder))]
    sys.exit(f"longer than {BOUND} times the bound of the schedule, or than {FULL} times a round without slow messages: {', '.join(late)}" if late else 0)


if __name__ == "__main__":
    main()
