"""A random graph as a training job: its gradient against differences in f64.

The loss is the sum over outputs of mean(sin(output)). One step of plain SGD with a rate of 1 moves every parameter by its gradient. Along
random directions, that is compared with central differences of the graph evaluated in f64, at two widths: where these disagree (a kink, or
a step, lies between), nothing is compared.
"""
import numpy as np
import onnx

from building import evaluate_node, is_float

import check_operator_numbers


def add_loss(graph):
    graph.choose_outputs(3)
    total = None
    for name in [name for name in graph.outputs if is_float(graph.arrays[name].dtype)]:
        wave = graph.emit("Sin", [name])
        mean = graph.emit("ReduceMean", wave, attributes={"keepdims": 0})[0]
        total = graph.emit("Add", [total, mean])[0] if total else mean
    if not total:
        return False
    graph.outputs = graph.emit("Identity", [total])
    graph._drop_unused()
    return True


class Jump(Exception):
    """A change of parameters changes a shape (Compress, NonZero): there is no derivative."""


class Loss:
    """The loss in f64, as a function of parameters."""

    def __init__(self, graph):
        self.graph = graph
        self.fixed = {name: self.widen(graph.arrays[name]) for name in graph.inputs + graph.constants}

    @staticmethod
    def widen(array):
        return array.astype("f8") if is_float(array.dtype) else array

    def __call__(self, changes):
        arrays = dict(self.fixed)
        for name, change in changes.items():
            arrays[name] = arrays[name] + change
        for node in self.graph.nodes:
            for name, value in zip(node.output, evaluate_node(node, arrays)):
                if name in self.graph.arrays and value.shape != self.graph.arrays[name].shape:
                    raise Jump
                arrays[name] = self.widen(value)
        return float(arrays[self.graph.outputs[0]])

    def slope(self, direction):
        """The derivative along `direction`, or None where there is none: differences of three widths must agree. Two alone would both
        take the mean of the slopes on the two sides of a kink that lies nearer than both (a Min of two numbers that are almost equal). At a
        kink itself (the maximum of equal numbers), the slopes ahead and back differ."""
        def difference(width):
            ahead = self({name: width * step for name, step in direction.items()})
            back = self({name: -width * step for name, step in direction.items()})
            return (ahead - back) / (2 * width)
        try:
            wide, near, nearest = difference(2e-4), difference(1e-4), difference(1e-6)
            ahead, here = self({name: 1e-6 * step for name, step in direction.items()}), self({})
        except Jump:
            return None
        others = wide, nearest, (ahead - here) / 1e-6
        return near if max(abs(other - near) for other in others) <= 2e-3 * abs(near) + 1e-5 else None


def gradients(graph, folder, compile_model, run, wrong):
    model, program = folder / "graph.onnx", folder / "program"
    onnx.save(graph.model(), model)
    compile_model(model, program, "--train", "--loss-output", graph.outputs[0], "--optimizer", "sgd")
    data = []
    for name in graph.inputs:
        np.save(folder / f"{name}.npy", graph.arrays[name])
        data += ["--data", f"{name}={folder}/{name}.npy"]
    code, said = run([program, "train", "--no-shuffle", "--steps", "1", "--lr", "1", *data, "--save", folder / "saved"])
    if code:
        raise wrong(f"does not train (status {code}): {said.strip().splitlines()[-1:]}")
    states = check_operator_numbers.read_states(folder / "saved")
    return {name: np.float64(graph.arrays[name]) - np.float64(states[name]) for name in graph.constants if name in states}


def check(graph, folder, compile_model, run, wrong):
    used = add_loss(graph)
    parameters = [name for name in graph.constants if is_float(graph.arrays[name].dtype)]
    if not used or not parameters or not graph.inputs:
        return 0, 0
    loss, rng, compared = Loss(graph), np.random.default_rng(1), 0
    try:
        found = gradients(graph, folder, compile_model, run, wrong)
    except wrong as error:
        if not any(text in str(error) for text in ("no parameter has a gradient", "the model has no parameters")):
            raise
        literals = {name for node in graph.nodes if node.op_type == "Pad" for name in node.input[2:]}
        found = {name: np.zeros(graph.arrays[name].shape) for name in parameters if name not in literals}
        if not found:
            return 0, 0
    names = sorted(found)
    groups = [names, names] + [[name] for name in rng.choice(names, min(len(names), 4), replace=False)]
    for group in groups:
        direction = {name: rng.standard_normal(found[name].shape) for name in group}
        expected = loss.slope(direction)
        if expected is None:
            continue
        compared += 1
        ours = sum(float((found[name] * direction[name]).sum()) for name in group)
        size = sum(float(np.abs(found[name] * direction[name]).sum()) for name in group)
        rounding = sum(float((np.abs(graph.arrays[name]) * np.abs(direction[name])).sum()) for name in group) * 2.0**-23
        if not abs(ours - expected) <= 5e-3 * abs(expected) + 1e-4 * size + rounding + 2e-5:
            raise wrong(f"gradient along {group} is {ours:.6g}, expected {expected:.6g}")
    return compared, len(groups)
