"""Trains a small network with every optimizer and compares losses, parameters and optimizer states with numpy in float64.

  check_optimizers.py SCRATCH OPTIMIZER[,k=v...] [LAYOUT...]

The reference is written from PyTorch's documentation (sgd, adam, adamw, adadelta, rmsprop, adagrad) and from the papers' algorithms (Lion:
arXiv 2302.06675, Algorithm 2; LAMB: arXiv 1904.00962, Algorithm 2 with the identity for phi), and knows nothing of buckets: it works on
the model's tensors, whose sizes are no multiples of anything. Of each layout the plan is verified, the state that `cleave inspect` counts
is what the optimizer's states take, and ten steps, a checkpoint and ten more give the same bits as twenty.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import compare_states

STEPS, BATCH, FEATURES, HIDDEN, TARGETS = 20, 8, 5, 37, 3
LAYOUTS = {
    "one": [], "dp2": ["--mesh", "dp=2"], "dp4": ["--mesh", "dp=4"], "server": ["--mesh", "dp=2", "--dp-sync", "parameter-server"],
    "server-pp2": ["--mesh", "dp=2,pp=2", "--micro-batches", "2", "--dp-sync", "parameter-server"],
    "fsdp2": ["--mesh", "fsdp=2"], "fsdp4": ["--mesh", "fsdp=4"], "zero-1": ["--mesh", "fsdp=2", "--fsdp-strategy", "zero-1"],
    "zero-2": ["--mesh", "fsdp=2", "--fsdp-strategy", "zero-2"], "dp2-fsdp2": ["--mesh", "dp=2,fsdp=2"],
    "pp2": ["--mesh", "pp=2", "--micro-batches", "2"], "fsdp2-pp2": ["--mesh", "fsdp=2,pp=2", "--micro-batches", "2"],
    "micro2": ["--micro-batches", "2"], "offload": ["--offload", "params,grads,optimizer"],
    "fsdp2-offload": ["--mesh", "fsdp=2", "--offload", "optimizer"], "groups": ["--param-group", "*.bias:weight_decay=0.3,lr_scale=0.5"],
    "groups-fsdp2": ["--param-group", "*.bias:weight_decay=0.3,lr_scale=0.5", "--mesh", "fsdp=2"],
    "bf16": ["--precision", "bf16"], "bf16-fsdp2": ["--precision", "bf16", "--mesh", "fsdp=2"],
}
RATES = {"sgd": 0.05, "adam": 0.01, "adamw": 0.01, "adadelta": 1.0, "rmsprop": 0.002, "adagrad": 0.05, "lion": 0.003, "lamb": 0.02}


# Rules: each takes the settings, the state of one tensor (a dictionary that lives from step to step), the parameter, its gradient, the rate,
# the weight decay and the number of the step, and gives the next parameter.

def sgd(o, s, p, g, lr, decay, t):
    g = g + decay * p
    if not o.get("momentum"):
        return p - lr * g
    first = "momentum_buffer" not in s
    s["momentum_buffer"] = g if first else o["momentum"] * s["momentum_buffer"] + (1 - o.get("dampening", 0)) * g
    return p - lr * (g + o["momentum"] * s["momentum_buffer"] if o.get("nesterov") else s["momentum_buffer"])


def moments(o, s, g, t):
    beta1, beta2 = o.get("beta1", 0.9), o.get("beta2", 0.999)
    s["exp_avg"] = beta1 * s.get("exp_avg", 0) + (1 - beta1) * g
    s["exp_avg_sq"] = beta2 * s.get("exp_avg_sq", 0) + (1 - beta2) * g * g
    return s["exp_avg"] / (1 - beta1 ** t), s["exp_avg_sq"] / (1 - beta2 ** t)


def adam(o, s, p, g, lr, decay, t):
    mean, square = moments(o, s, g + decay * p, t)
    return p - lr * mean / (np.sqrt(square) + o.get("eps", 1e-8))


def adamw(o, s, p, g, lr, decay, t):
    return adam(o, s, p * (1 - lr * decay), g, lr, 0, t)


def adadelta(o, s, p, g, lr, decay, t):
    rho, eps = o.get("rho", 0.9), o.get("eps", 1e-6)
    g = g + decay * p
    s["square_avg"] = rho * s.get("square_avg", 0) + (1 - rho) * g * g
    delta = np.sqrt(s.get("acc_delta", 0) + eps) / np.sqrt(s["square_avg"] + eps) * g
    s["acc_delta"] = rho * s.get("acc_delta", 0) + (1 - rho) * delta * delta
    return p - lr * delta


def rmsprop(o, s, p, g, lr, decay, t):
    alpha = o.get("alpha", 0.99)
    g = g + decay * p
    s["square_avg"] = alpha * s.get("square_avg", 0) + (1 - alpha) * g * g
    average = s["square_avg"]
    if o.get("centered"):
        s["grad_avg"] = alpha * s.get("grad_avg", 0) + (1 - alpha) * g
        average = average - s["grad_avg"] ** 2
    direction = g / (np.sqrt(average) + o.get("eps", 1e-8))
    if o.get("momentum"):
        s["momentum_buffer"] = direction = o["momentum"] * s.get("momentum_buffer", 0) + direction
    return p - lr * direction


def adagrad(o, s, p, g, lr, decay, t):
    g = g + decay * p
    s["sum"] = s.get("sum", o.get("initial_accumulator_value", 0)) + g * g
    return p - lr / (1 + (t - 1) * o.get("lr_decay", 0)) * g / (np.sqrt(s["sum"]) + o.get("eps", 1e-10))


def lion(o, s, p, g, lr, decay, t):
    beta1, beta2 = o.get("beta1", 0.9), o.get("beta2", 0.99)
    direction = np.sign(beta1 * s.get("exp_avg", 0) + (1 - beta1) * g) + decay * p
    s["exp_avg"] = beta2 * s.get("exp_avg", 0) + (1 - beta2) * g
    return p - lr * direction


def lamb(o, s, p, g, lr, decay, t):
    mean, square = moments(o, s, g, t)
    direction = mean / (np.sqrt(square) + o.get("eps", 1e-6)) + decay * p
    norms = np.linalg.norm(p), np.linalg.norm(direction)
    return p - lr * (norms[0] / norms[1] if norms[0] > 0 and norms[1] > 0 else 1) * direction


RULES = {rule.__name__: rule for rule in (sgd, adam, adamw, adadelta, rmsprop, adagrad, lion, lamb)}
DECAYS = {"adamw": 0.01, "lamb": 0.01}


def weights():
    rng = np.random.default_rng(1)
    made = {f"fc{i}.weight": rng.standard_normal(shape) / np.sqrt(shape[0])
            for i, shape in enumerate([(FEATURES, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, TARGETS)])}
    # One tensor of zeros, whose norm is 0.
    made |= {"fc0.bias": np.zeros(HIDDEN), "fc1.bias": rng.standard_normal(HIDDEN), "fc2.bias": rng.standard_normal(TARGETS)}
    return {name: array.astype(np.float32) for name, array in made.items()}


def write_model(path):
    nodes, value = [], "x"
    for i in range(3):
        nodes.append(helper.make_node("Gemm", [value, f"fc{i}.weight", f"fc{i}.bias"], ["y" if i == 2 else f"h{i}"]))
        if i < 2:
            nodes.append(helper.make_node("Tanh", [f"h{i}"], [f"a{i}"]))
        value = f"a{i}"
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", FEATURES])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", TARGETS])],
                              [numpy_helper.from_array(array, name) for name, array in weights().items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def data():
    rng = np.random.default_rng(2)
    return (rng.standard_normal((STEPS * BATCH, FEATURES)).astype(np.float32),
            rng.standard_normal((STEPS * BATCH, TARGETS)).astype(np.float32))


def gradients(p, x, labels):
    a0 = np.tanh(x @ p["fc0.weight"] + p["fc0.bias"])
    a1 = np.tanh(a0 @ p["fc1.weight"] + p["fc1.bias"])
    error = a1 @ p["fc2.weight"] + p["fc2.bias"] - labels
    d2 = 2 * error / error.size
    d1 = (d2 @ p["fc2.weight"].T) * (1 - a1 ** 2)
    d0 = (d1 @ p["fc1.weight"].T) * (1 - a0 ** 2)
    return np.mean(error ** 2), {"fc0.weight": x.T @ d0, "fc0.bias": d0.sum(0), "fc1.weight": a0.T @ d1, "fc1.bias": d1.sum(0),
                                 "fc2.weight": a1.T @ d2, "fc2.bias": d2.sum(0)}


def reference(kind, settings, grouped):
    p = {name: array.astype(np.float64) for name, array in weights().items()}
    states, losses = {name: {} for name in p}, []
    x, labels = (array.astype(np.float64) for array in data())
    for t in range(1, STEPS + 1):
        rows = slice((t - 1) * BATCH, t * BATCH)
        loss, grads = gradients(p, x[rows], labels[rows])
        losses.append(loss)
        for name, g in grads.items():
            inGroup = grouped and name.endswith(".bias")
            decay = 0.3 if inGroup else settings.get("weight_decay", DECAYS.get(kind, 0))
            p[name] = RULES[kind](settings, states[name], p[name], g, RATES[kind] * (0.5 if inGroup else 1), decay, t)
    return losses, p, states


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stdout}{result.stderr}")
    return result.stdout


def train(program, folder, name, steps, kind, *more):
    metrics = folder / f"{name}.jsonl"
    run(program, "train", "--data", f"x={folder.parent / 'x.npy'}", "--data", f"labels={folder.parent / 'labels.npy'}", "--no-shuffle",
        "--steps", steps, "--lr", RATES[kind], "--save", folder / name, "--metrics", metrics, *more)
    newest = max(path.parent for path in (folder / name).glob("**/checkpoint.json"))
    return [json.loads(line)["loss"] for line in metrics.read_text().splitlines() if "\"loss\"" in line], compare_states.tensors(newest)


def check(scratch, text, layout):
    kind, *pairs = text.split(",")
    settings = {key: {"true": 1, "false": 0}.get(value) if value in ("true", "false") else float(value)
                for key, value in (pair.split("=") for pair in pairs)}
    folder = scratch / f"{text}-{layout}".replace(",", "-").replace("=", "-")
    folder.mkdir()
    options, bf16 = LAYOUTS[layout], "bf16" in layout
    program = folder / "program"
    run("cleave", "compile", scratch / "net.onnx", "-o", program, "--train", "--loss", "mse", "--optimizer", text, "--global-batch", BATCH, *options)
    run("cleave", "verify", program)
    losses, tensors = train(program, folder, "whole", STEPS, kind)
    exact, parameters, states = reference(kind, settings, "groups" in layout)
    bound = 3e-2 if bf16 else 2e-5
    error = np.abs(np.array(losses) - exact).max()
    assert len(losses) == STEPS and error < bound, f"losses differ by {error:.1e}"
    if not bf16:
        compare(tensors, parameters, states, 1e-4)
    slots = {name.partition("#")[2] for name in tensors if "#" in name} - {"master"}
    assert slots == {slot for state in states.values() for slot in state}, slots
    check_memory(program, layout, len(slots) + bf16, sum(array.size for array in parameters.values()))
    train(program, folder, "resumed", STEPS // 2, kind)
    _, resumed = train(program, folder, "resumed", STEPS, kind, "--resume", "auto")
    assert resumed == tensors, [name for name in tensors if resumed.get(name) != tensors[name]]
    print(f"{text} {layout}: {STEPS} losses, largest error {error:.1e}; states {sorted(slots)}")


def compare(tensors, parameters, states, bound):
    for name, array in parameters.items():
        for slot, expected in {"": array, **{f"#{slot}": value for slot, value in states[name].items()}}.items():
            ours = np.frombuffer(tensors[name + slot], np.float32).reshape(array.shape)
            error = np.abs(ours - expected).max() / max(np.abs(expected).max(), 1e-3)
            assert error < bound, f"{name}{slot}: error {error:.1e}"


def check_memory(program, layout, states, parameters):
    """At least what the states take without padding, and less than twice that."""
    text = run("cleave", "inspect", "--details", program)
    counted = [int(whole or part) for part, whole in re.findall(r"^ +optimizer +(?:[\d.]+ \wiB \()?(\d+) bytes\)?(?: of (?:[\d.]+ \wiB \()?(\d+) bytes\)?)?", text, re.M)]
    stages = 2 if "pp2" in layout else 1
    expected = 4 * states * parameters
    assert bool(counted) == (states > 0), text
    if counted and "server" not in layout:
        assert len(counted) == stages and expected <= sum(counted) < 2 * expected, (counted, expected)


def main():
    scratch = pathlib.Path(sys.argv[1])
    scratch.mkdir(parents=True, exist_ok=True)
    write_model(scratch / "net.onnx")
    x, labels = data()
    np.save(scratch / "x.npy", x)
    np.save(scratch / "labels.npy", labels)
    for layout in sys.argv[3:] or LAYOUTS:
        check(scratch, sys.argv[2], layout)


if __name__ == "__main__":
    main()
