"""One PyTorch baseline run: DDP over Gloo, printing the median step time. Started by training.py, twice a rank count.

  torch_ddp.py MODEL BATCH STEPS RANKS THREADS eager|compile
"""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import common  # noqa: F401  (puts examples/export and test/e2e/Inputs on the path)
import training_cases
from record_losses import MODELS


def worker(rank, name, batch, steps, ranks, threads, mode, results):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    module, _, _ = MODELS[name]()
    module.train()
    if ranks > 1:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29511")
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        module = torch.nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)
    if mode == "compile":
        module = torch.compile(module)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=True)
    arrays = common.make_arrays(training_cases.CASES[name][2], batch)
    inputs = [torch.from_numpy(array) for array in arrays.values()]
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = module(*inputs)[-1]
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        results.put(statistics.median(seconds[3:]))
    if ranks > 1:
        dist.destroy_process_group()


def main():
    name, mode = sys.argv[1], sys.argv[6]
    batch, steps, ranks, threads = (int(text) for text in sys.argv[2:6])
    context = mp.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=worker, args=(rank, name, batch, steps, ranks, threads, mode, results))
               for rank in range(ranks)]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
    if any(process.exitcode for process in workers):
        sys.exit("a worker failed")
    print(results.get())


if __name__ == "__main__":
    main()
