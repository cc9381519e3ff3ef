"""One PyTorch run over Gloo: prints {"step_s", "cpu_s", "peak_bytes"} as JSON. Started by training.py and fsdp.py.

  torch_baseline.py MODEL BATCH STEPS RANKS THREADS ddp|fsdp eager|compile

`step_s` is rank 0's median, `cpu_s` the processor time of a rank and step, `peak_bytes` the most that a rank's resident memory rose
above what it was with PyTorch loaded and the ranks connected.
"""
import json
import os
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import common  # noqa: F401  (puts examples/export and test/e2e/Inputs on the path)
from record_losses import MODELS

WARM_UP = 3


def resident(field):
    """VmRSS or VmHWM of this process, in bytes."""
    line = next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def forget_peak():
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def distribute(module, ranks, strategy):
    if ranks == 1:
        return module
    if strategy == "ddp":
        return torch.nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)
    mesh = init_device_mesh("cpu", (ranks,))
    for block in module.h:
        fully_shard(block, mesh=mesh)
    return fully_shard(module, mesh=mesh)


def optimizer_of(module):
    """Fused where PyTorch has it for these parameters, which is its fastest."""
    try:
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=True)
    except (RuntimeError, ValueError):
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, foreach=True)
    return optimizer


def worker(rank, arguments, results):
    name, batch, steps, ranks, threads, strategy, mode = arguments
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    if ranks > 1:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29511")
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
    before = forget_peak()
    module = MODELS[name]()[0]
    module.train()
    module = distribute(module, ranks, strategy)
    if mode == "compile":
        module = torch.compile(module)
    optimizer = optimizer_of(module)
    inputs = [torch.from_numpy(array) for array in common.make_arrays(common.INPUTS[name], batch).values()]
    seconds = []
    for step in range(steps):
        if step == WARM_UP:
            used = time.process_time()
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = module(*inputs)[-1]
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    used = (time.process_time() - used) / (steps - WARM_UP)
    if rank == 0:
        results.put({"step_s": statistics.median(seconds[WARM_UP:]), "cpu_s": used, "peak_bytes": resident("VmHWM") - before})
    if ranks > 1:
        dist.destroy_process_group()


def main():
    arguments = (sys.argv[1], *(int(text) for text in sys.argv[2:6]), *sys.argv[6:8])
    context = mp.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=worker, args=(rank, arguments, results)) for rank in range(arguments[3])]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
    if any(process.exitcode for process in workers):
        sys.exit("a worker failed")
    print(json.dumps(results.get()))


if __name__ == "__main__":
    main()
