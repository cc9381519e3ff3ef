"""How many collectives a step has and how many bytes a rank sends, of a plan: one a bucket and phase, and the ring's formula.

  check_collectives.py INSPECT.json STRATEGY BUCKETS [RUNNING]

STRATEGY is ddp or a value of --fsdp-strategy; BUCKETS is how many buckets there are. RUNNING is the number of all-reduces of running
statistics in a micro-batch, all of which send the buffers' bytes together.
"""
import json
import pathlib
import sys

# strategy -> reduce-scatters of all gradients (0: each rank keeps its sum), gathers of all parameters in a micro-batch (forward and
# backward) and in the update
TABLE = {"ddp": (None, 0, 0), "zero-1": (0, 0, 1), "zero-2": (1, 0, 1), "shard-grad-op": (1, 1, 0), "full-shard": (1, 2, 0)}


def sizes(plan, name):
    return next((axis["size"] for axis in plan["axes"] if axis["name"] == name), 1)


def expected(plan, strategy, buckets, running):
    """{collective: (how many, bytes sent by a rank)}."""
    dp, fsdp, micro = sizes(plan, "dp"), sizes(plan, "fsdp"), plan["micro_batches"]
    scattered, gathered, updated = TABLE[strategy]
    gradient, parameter = plan["state_whole"]["gradient"], plan["state_whole"]["parameter"]
    ranks = dp * fsdp
    # The loss's sum and count, one element a rank each; of split gradients the squares, too, in float64.
    count, sent = 2, 2 * 2 * (ranks - 1) * 4
    if scattered is not None:
        count, sent = count + 1, sent + 2 * (fsdp - 1) * 8
    if dp > 1:
        count, sent = count + buckets, sent + 2 * (dp - 1) * (gradient // fsdp) // dp
    if running:
        count, sent = count + running * micro, sent + micro * 2 * (ranks - 1) * plan["state_whole"]["buffer"] // ranks
    result = {"all_reduce": (count, sent)}
    if scattered is not None:
        times = micro if scattered else 1
        result["reduce_scatter"] = (times * buckets, times * (fsdp - 1) * gradient // fsdp)
        times = gathered * micro + updated
        result["all_gather"] = (times * buckets, times * (fsdp - 1) * parameter // fsdp)
    return result


def main():
    plan, strategy, buckets = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2], int(sys.argv[3])
    running = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    step = next(p for p in plan["programs"] if p["name"] == "train_step")
    got = {kind: (step["collectives"][kind], step["sent_bytes_by_collective"][kind]) for kind in step["collectives"]}
    want = expected(plan, strategy, buckets, running)
    if got != want:
        sys.exit(f"{sys.argv[1]}: a step has {got}, expected {want} (how many, bytes sent)")
    print(f"{sys.argv[1]}: {got}")


if __name__ == "__main__":
    main()
