"""One PyTorch run of torch.distributed.pipelining over Gloo: prints {"step_s", "cpu_s", "peak_bytes", "loss"} as JSON. Started by pipeline.py.

  torch_pipeline.py WEIGHTS BATCH MICRO_BATCHES STEPS RANKS SCHEDULE

WEIGHTS is a state_dict of pipeline.py's model. BATCH is of a micro-batch; SCHEDULE is a class of torch.distributed.pipelining. Each rank
has one thread. `step_s` is the last rank's median, `cpu_s` the processor time of a rank and step, the mean of all ranks. `peak_bytes` is
the mean over the ranks of what their resident memory rose above what it was with PyTorch loaded and the ranks connected. `loss` is of
the first step.
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed import pipelining

import pipeline
from torch_baseline import WARM_UP, forget_peak, optimizer_of, resident


class Stage(nn.Module):
    """A run of the model's blocks, with the embeddings before the first and the projection after the last."""

    def __init__(self, model, first, last):
        super().__init__()
        layers = len(model.h)
        self.wte = model.wte if first == 0 else None
        self.wpe = model.wpe if first == 0 else None
        self.h = nn.ModuleList(model.h[first:last])
        self.ln_f = model.ln_f if last == layers else None
        self.lm_head = model.lm_head if last == layers else None

    def forward(self, x):
        if self.wte is not None:
            x = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        for block in self.h:
            x = block(x)
        return x if self.lm_head is None else self.lm_head(self.ln_f(x))


def loss_of(logits, labels):
    return nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), labels.reshape(-1))


def worker(rank, arguments, results):
    weights, batch, micro_batches, steps, ranks, schedule = arguments
    torch.set_num_threads(1)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29512")
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    before = forget_peak()
    model = pipeline.make_model()
    model.load_state_dict(torch.load(weights))
    layers = len(model.h)
    module = Stage(model, layers * rank // ranks, layers * (rank + 1) // ranks)
    del model
    module.train()
    stage = pipelining.PipelineStage(module, rank, ranks, torch.device("cpu"))
    runner = getattr(pipelining, schedule)(stage, micro_batches, loss_fn=loss_of)
    optimizer = optimizer_of(module)
    tokens, labels = (torch.from_numpy(array) for array in pipeline.arrays_of(batch * micro_batches).values())
    seconds, first = [], None
    for step in range(steps):
        if step == WARM_UP:
            used = time.process_time()
        start = time.perf_counter()
        optimizer.zero_grad()
        losses = []
        arguments = (tokens,) if rank == 0 else ()
        runner.step(*arguments, **({"target": labels, "losses": losses} if rank == ranks - 1 else {}))
        optimizer.step()
        if losses:
            loss = torch.stack(losses).mean().item()
            first = loss if first is None else first
        seconds.append(time.perf_counter() - start)
    used = (time.process_time() - used) / (steps - WARM_UP)
    results.put({"step_s": statistics.median(seconds[WARM_UP:]), "cpu_s": used, "peak_bytes": resident("VmHWM") - before, "loss": first})
    dist.barrier()
    dist.destroy_process_group()


def main():
    arguments = (sys.argv[1], *(int(text) for text in sys.argv[2:6]), sys.argv[6])
    context = mp.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=worker, args=(rank, arguments, results)) for rank in range(arguments[4])]
    for process in workers:
        process.start()
    ranks = [results.get(timeout=600) for _ in workers]
    for process in workers:
        process.join()
    last = next(rank for rank in ranks if rank["loss"] is not None)
    mean = {key: statistics.mean(rank[key] for rank in ranks) for key in ("cpu_s", "peak_bytes")}
    print(json.dumps({"step_s": last["step_s"], "loss": last["loss"], **mean}))


if __name__ == "__main__":
    main()
