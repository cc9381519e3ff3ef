"""Records the losses of training_cases.py with PyTorch, once in float64 and several times in float32, into losses.json beside this script.

Needs torch 2.13; run it only to record more: record_losses.py [CASE[/OPTIMIZER]...]. Runs that are recorded already stay; to record them
again, delete them. Weights are those of the ONNX files, so test/models/make_weights.py must have run.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
import torch

import permuted_sums
import running_statistics
import training_cases

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "examples" / "export"), str(ROOT / "examples" / "gpt-nano")]

import export  # noqa: E402  (examples/export/export.py: the table of models)
import model as gpt_nano  # noqa: E402  (examples/gpt-nano/model.py)

MODELS = {**export.MODELS, "gpt-nano": lambda: (gpt_nano.GPTNano(), None, None)}

# Float32 runs of a case, with sums in different orders; see compare_losses.py. A branch that one run in four takes is missed by six
# runs with probability 0.18, by sixteen with 0.01: T5 under AdamW has one that 5 of these 16 take, and none of the first six.
ORDERS = 16
# ResNet-18 under AdamW needs more. In step 2 the input of the last ReLU of layer2 is 3.7e-6 at one unit in float64. In float32 these inputs
# have an error of 3.6e-6 (root mean square), so about one run in seven takes the other branch; then the loss of step 3 differs by 1.3e-5.
# Sixteen runs miss that branch with probability 0.08, and the first sixteen did; thirty-two miss it with 0.007.
MORE_ORDERS = {("resnet18", "adamw"): 32}


class Lion:
    """arXiv 2302.06675, Algorithm 2; PyTorch has it not."""

    def __init__(self, parameters, lr, weight_decay, beta1=0.9, beta2=0.99):
        self.parameters, self.lr, self.decay, self.betas = list(parameters), lr, weight_decay, (beta1, beta2)
        self.momenta = [torch.zeros_like(p) for p in self.parameters]

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self):
        beta1, beta2 = self.betas
        for p, m in zip(self.parameters, self.momenta):
            direction = torch.sign(beta1 * m + (1 - beta1) * p.grad) + self.decay * p
            m.copy_(beta2 * m + (1 - beta2) * p.grad)
            p.sub_(self.lr * direction)


class Lamb(Lion):
    """arXiv 1904.00962, Algorithm 2, with the identity for phi; PyTorch has it not."""

    def __init__(self, parameters, lr, weight_decay=0.01, beta1=0.9, beta2=0.999, eps=1e-6):
        super().__init__(parameters, lr, weight_decay, beta1, beta2)
        self.eps, self.count = eps, 0
        self.squares = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self):
        beta1, beta2 = self.betas
        self.count += 1
        for p, m, v in zip(self.parameters, self.momenta, self.squares):
            m.copy_(beta1 * m + (1 - beta1) * p.grad)
            v.copy_(beta2 * v + (1 - beta2) * p.grad ** 2)
            ratio = (m / (1 - beta1 ** self.count)) / (torch.sqrt(v / (1 - beta2 ** self.count)) + self.eps)
            direction = ratio + self.decay * p
            norms = torch.linalg.vector_norm(p), torch.linalg.vector_norm(direction)
            trust = norms[0] / norms[1] if norms[0] > 0 and norms[1] > 0 else 1.0  # a tensor of zeros is to learn, too
            p.sub_(self.lr * trust * direction)


OPTIMIZERS = {
    "sgd": lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9),
    "adamw": lambda parameters, rate: torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01),
    "rmsprop": lambda parameters, rate: torch.optim.RMSprop(parameters, lr=rate, momentum=0.9),
    "adagrad": lambda parameters, rate: torch.optim.Adagrad(parameters, lr=rate),
    "lion": lambda parameters, rate: Lion(parameters, rate, weight_decay=0.1),
    "lamb": lambda parameters, rate: Lamb(parameters, rate),
}


def load_weights(module, path):
    """The ONNX file's initializers by name; every parameter must be there."""
    graph = onnx.load(str(path)).graph
    tensors = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in graph.initializer}
    own = module.state_dict()
    missing = [name for name, _ in module.named_parameters() if name not in tensors]
    if missing:
        sys.exit(f"{path}: no initializers for {missing}")
    module.load_state_dict({name: tensors.get(name, value) for name, value in own.items()})


def arrays_of(case, order, variant=0):
    """The case's data; each batch's samples (DDP: each rank's) permuted by `order` as a seed, 0 leaves them."""
    _, batch, _ = training_cases.CASES[case]
    rng = np.random.default_rng(order)
    size = batch // training_cases.GROUPS.get(case, 1)
    picks = [start + (rng.permutation(size) if order else np.arange(size))
             for start in range(0, training_cases.STEPS * batch, size)]
    return [torch.from_numpy(array[np.concatenate(picks)]) for array in training_cases.data(case, variant).values()]


def loss_of(module, inputs, case):
    """The mean of the groups' losses. Buffers are as DDP has them: those of the first rank's groups."""
    groups, ranks = training_cases.GROUPS.get(case, 1), training_cases.RANKS.get(case, 1)
    total, kept = 0, None
    for group, part in enumerate(zip(*(a.chunk(groups) for a in inputs)), 1):
        total = total + module(*part)[-1] / groups
        if group == groups // ranks:
            kept = {name: value.clone() for name, value in module.named_buffers()}
    for name, value in module.named_buffers():
        value.data.copy_(kept[name])  # .data: autograd has saved the buffers, but does not read them
    return total


def module_of(case, kind):
    module, _, _ = MODELS[training_cases.model_of(case)]()
    load_weights(module, ROOT / training_cases.CASES[case][0])
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return module.to(kind).train()


def step_of(module, case, optimizer):
    return OPTIMIZERS[optimizer](module.parameters(), training_cases.rate(case, optimizer))


def batches_of(case, kind, order=0, variant=0):
    """The inputs of every step."""
    batch = training_cases.CASES[case][1]
    arrays = [a.to(kind) if a.is_floating_point() else a for a in arrays_of(case, order, variant)]
    return [[a[i * batch:(i + 1) * batch] for a in arrays] for i in range(training_cases.STEPS)]


def buffers_of(module):
    return {name: running_statistics.summary(value) for name, value in module.named_buffers() if "running" in name}


def run(case, optimizer, kind, order=0, variant=0):
    """The losses, and the running statistics at the end."""
    module = module_of(case, kind)
    step = step_of(module, case, optimizer)
    losses = []
    with permuted_sums.PermutedSums(order):
        for inputs in batches_of(case, kind, order, variant):
            loss = loss_of(module, inputs, case)
            step.zero_grad()
            loss.backward()
            step.step()
            losses.append(float(loss.detach()))
    return losses, buffers_of(module)


def run_rank(rank, ranks, case, optimizer, folder):
    """One process of DistributedDataParallel over Gloo."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks)
    module = module_of(case, torch.float64)
    parallel = torch.nn.parallel.DistributedDataParallel(module)
    step = step_of(module, case, optimizer)
    losses = []
    for inputs in batches_of(case, torch.float64):
        loss = parallel(*(a.chunk(ranks)[rank] for a in inputs))[-1]
        step.zero_grad()
        loss.backward()
        step.step()
        mean = loss.detach() / ranks
        torch.distributed.all_reduce(mean)
        losses.append(float(mean))
    if rank == 0:
        pathlib.Path(folder, "result.json").write_text(json.dumps([losses, buffers_of(module)]))
    torch.distributed.destroy_process_group()


def run_ddp(case, optimizer):
    """In float64 by real DDP; it must agree with groups in one process, as which the float32 runs are made."""
    ranks = training_cases.RANKS[case]
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(run_rank, (ranks, case, optimizer, folder), nprocs=ranks)
        losses, buffers = json.loads(pathlib.Path(folder, "result.json").read_text())
    worst = max(abs(a - b) for a, b in zip(losses, run(case, optimizer, torch.float64)[0], strict=True))
    print(f"{case} {optimizer}: DDP and groups in one process differ by {worst:.1e}")
    if not worst <= 1e-9:
        sys.exit("groups in one process are not what DDP does")
    return losses, buffers


def record_exact(case, optimizer):
    losses, buffers = run_ddp(case, optimizer) if case in training_cases.RANKS else run(case, optimizer, torch.float64)
    return {"float64": losses, "float32": [], "running_statistics": buffers}


def record_order(record, case, optimizer):
    """One more float32 run."""
    losses, buffers = run(case, optimizer, torch.float32, len(record["float32"]))
    record["float32"].append(losses)
    if buffers:
        error = running_statistics.largest_error(record["running_statistics"], buffers)
        record["running_statistics_error"] = max(error, record.get("running_statistics_error", 0))


def main():
    path = HERE / "losses.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    for case in sys.argv[1:] or training_cases.CASES:
        case, _, optimizer = case.partition("/")
        for one in [optimizer] if optimizer else training_cases.optimizers(case):
            cell = record.setdefault(case, {}).get(one) or record_exact(case, one)
            record[case][one] = cell
            while len(cell["float32"]) < MORE_ORDERS.get((case, one), ORDERS):
                record_order(cell, case, one)
                path.write_text(json.dumps(record, indent=1) + "\n")
            print(case, one, cell["float64"][-1], flush=True)


if __name__ == "__main__":
    main()
