"""Training of the MLP (test/models/mlp) against numpy in float64: losses, loss and accuracy of validation, and every parameter at the end.

  check_mlp.py MODEL.onnx PROGRAM OPTIMIZER[,k=v] [--freeze PATTERN]... [--param-group PATTERN:k=v,...]...

OPTIMIZER and options are those that PROGRAM was compiled with; one parameter is in one group at most. Frozen parameters must keep every
bit, all others must have changed.
"""
import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import compare_states  # noqa: E402
import training_cases  # noqa: E402

STEPS, EVERY, RATE, HELD_OUT = 12, 4, 1e-2, 37  # a number of samples that no batch divides


def options_of(text):
    return {key: float(value) for key, value in (part.split("=") for part in text.split(",") if part)}


def forward(weights, x, labels):
    """(loss, logits, layers' inputs, derivative of the loss by the logits)"""
    inputs = [x]
    for layer in ("fc1", "fc2", "fc3"):
        y = inputs[-1] @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"]
        inputs.append(np.maximum(y, 0) if layer != "fc3" else y)
    logits = inputs.pop()
    shifted = logits - logits.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    picked = np.arange(len(x)), labels
    slope = np.exp(logs)
    slope[picked] -= 1
    return -logs[picked].mean(), logits, inputs, slope / len(x)


def gradients(weights, inputs, slope):
    result = {}
    for layer, x in reversed(list(zip(("fc1", "fc2", "fc3"), inputs))):
        result[f"{layer}.weight"], result[f"{layer}.bias"] = slope.T @ x, slope.sum(0)
        slope = (slope @ weights[f"{layer}.weight"]) * (x > 0)
    return result


class Optimizer:
    """As torch.optim.SGD and AdamW are defined."""

    def __init__(self, text, groups):
        self.kind, _, rest = text.partition(",")
        self.options, self.state, self.step_number = options_of(rest), {}, 0
        self.groups = [(pattern, options_of(rest)) for pattern, _, rest in (group.partition(":") for group in groups)]

    def step(self, weights, slopes):
        self.step_number += 1
        for name, slope in slopes.items():
            own = next((options for pattern, options in self.groups if fnmatch.fnmatchcase(name, pattern)), {})
            options = {"momentum": 0, "weight_decay": 0.01 if self.kind == "adamw" else 0, **self.options, **own}
            update = self.sgd if self.kind == "sgd" else self.adamw
            weights[name] = update(name, weights[name], slope, RATE * options.get("lr_scale", 1), options)

    def sgd(self, name, weight, slope, rate, options):
        slope = slope + options["weight_decay"] * weight
        self.state[name] = slope = options["momentum"] * self.state.get(name, 0) + slope
        return weight - rate * slope

    def adamw(self, name, weight, slope, rate, options):
        mean, square = self.state.get(name, (0, 0))
        self.state[name] = mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        corrected = mean / (1 - 0.9**self.step_number), square / (1 - 0.999**self.step_number)
        return weight * (1 - rate * options["weight_decay"]) - rate * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)


def reference(weights, data, held_out, optimizer, is_frozen):
    """Rows of metrics, and the weights at the end."""
    rows, batch = [], training_cases.CASES["mlp"][1]
    for step in range(STEPS):
        x, labels = (data[name][step * batch:(step + 1) * batch] for name in ("x", "labels"))
        loss, _, inputs, slope = forward(weights, x.astype(np.float64), labels)
        slopes = gradients(weights, inputs, slope)
        optimizer.step(weights, {name: slope for name, slope in slopes.items() if not is_frozen(name)})
        rows.append({"loss": loss})
        if (step + 1) % EVERY == 0:
            loss, logits, _, _ = forward(weights, held_out["x"].astype(np.float64), held_out["labels"])
            rows[-1] |= {"val_loss": loss, "val_accuracy": (logits.argmax(1) == held_out["labels"]).mean()}
    return rows


def train(program, data, held_out, folder):
    command = [program, "train", "--no-shuffle", "--steps", str(STEPS), "--lr", str(RATE), "--eval-every", str(EVERY),
               "--metrics", str(folder / "m.jsonl"), "--save", str(folder / "ckpt")]
    for option, arrays in (("--data", data), ("--val-data", held_out)):
        for name, array in arrays.items():
            np.save(folder / f"{option}-{name}.npy", array)
            command += [option, f"{name}={folder}/{option}-{name}.npy"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    state = compare_states.tensors(folder / "ckpt" / f"step-{STEPS:08}")
    return [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()], state


def check(condition, text):
    if not condition:
        sys.exit(text)


def main():
    parser = argparse.ArgumentParser()
    for name in ("model", "program", "optimizer"):
        parser.add_argument(name)
    parser.add_argument("--freeze", action="append", default=[])
    parser.add_argument("--param-group", action="append", default=[])
    options = parser.parse_args()
    first = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(options.model).graph.initializer}
    weights = {name: array.astype(np.float64) for name, array in first.items()}
    data = training_cases.data("mlp")
    held_out = {name: array[:HELD_OUT] for name, array in data.items()}
    is_frozen = lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in options.freeze)
    expected = reference(weights, data, held_out, Optimizer(options.optimizer, options.param_group), is_frozen)
    with tempfile.TemporaryDirectory() as folder:
        rows, state = train(options.program, data, held_out, pathlib.Path(folder))
    check(len(rows) == STEPS, f"{len(rows)} lines of metrics")
    for number, (row, wanted) in enumerate(zip(rows, expected), 1):
        for key, value in wanted.items():
            check(key in row and abs(row[key] - value) <= 2e-6, f"step {number}: {key} is {row.get(key)}, expected {value}")
        check("val_loss" not in row or "val_loss" in wanted, f"step {number}: an evaluation that nobody asked for")
    worst = 0.0
    for name, array in first.items():
        last = np.frombuffer(state[name], np.float32).reshape(array.shape)
        check(is_frozen(name) == np.array_equal(last, array), f"{name}: {'changed' if is_frozen(name) else 'as it was'}")
        # Against how far it went: the largest error of a parameter as a part of the largest change.
        change = np.abs(weights[name] - array).max()
        error = np.abs(last - weights[name]).max() / (change or 1)
        worst = max(worst, error)
        check(error <= 1e-4, f"{name}: changed by {change} at most, {error} of it wrong")
    print(f"{STEPS} losses, accuracy {expected[-1]['val_accuracy']:.3f}, parameters within {worst:.1e} of their changes")


if __name__ == "__main__":
    main()
