"""A model in four chunks whose values cross with every kind of gradient, under every schedule: losses and states are those of the same chunks
on one stage, to the last bit, and near those of the uncut model.

  ended_gradients.py FOLDER

  value    made in  its gradient there   used in
  y        0        is read              1 (makes one), 2 (makes none: its sign)
  r        0        is not read: round   1, 2 (make one), 3 (makes none: a comparison)
  p        1        is read for r alone  3 (makes one)
  d        1        is not read: detach  2, 3 (make one)

So of the gradients only those of y and of what goes from layer to layer cross; not that of p either, which would go on to r.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import random_pipelines
from random_pipelines import SCHEDULES, SPLIT, STEPS

import fast_linker  # noqa: E402, from the folder that random_pipelines adds

WIDTH, MICRO_BATCHES = 8, 8
DETACH = "call_function[target=torch.ops.aten.detach.default](args = (%h1,), kwargs = {})"


def save_model(path):
    rng = np.random.default_rng(1)
    nodes, weights = [], []

    def node(name, op, *inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def layer(x, number):
        weights.append(numpy_helper.from_array(rng.normal(0, 0.5, (WIDTH, WIDTH)).astype(np.float32), f"w{number}"))
        return node(f"t{number}", "Tanh", node(f"m{number}", "MatMul", x, f"w{number}"))

    two = node("two", "Constant", value=numpy_helper.from_array(np.float32(2)))
    y = layer("x", 0)
    r = node("r", "Round", node("twice", "Mul", y, two))
    h1 = node("h1", "Add", layer(y, 1), r)
    p = node("p", "Mul", r, two)
    d = node("d", "Identity", h1)
    nodes[-1].metadata_props.add(key="pkg.torch.onnx.fx_node", value=DETACH)
    h2 = node("h2", "Mul", node("a2", "Add", layer(h1, 2), node("sign", "Sign", y)), node("b2", "Add", r, d))
    mask = node("mask", "Cast", node("less", "Less", r, two), to=TensorProto.FLOAT)
    out = node("out", "Mul", node("b3", "Add", layer(h2, 3), node("a3", "Mul", p, d)), mask)
    node("loss", "SoftmaxCrossEntropyLoss", out, "labels", reduction="mean")
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH]),
              helper.make_tensor_value_info("labels", TensorProto.INT64, ["batch"])]
    graph = helper.make_graph(nodes, "ended", inputs, [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(proto)
    onnx.save(proto, path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    fast_linker.use(folder)
    save_model(folder / "model.onnx")
    rng, samples = np.random.default_rng(2), STEPS * MICRO_BATCHES * 2
    data = {"x": rng.normal(size=(samples, WIDTH)).astype(np.float32), "labels": rng.integers(0, WIDTH, samples)}

    def run(name, *options):
        common = ["--optimizer", "adamw,weight_decay=0.1", "--micro-batches", str(MICRO_BATCHES)]
        return random_pipelines.outcome(folder, name, [*common, *options], [], data)

    cut = "at=m1|m2|less"
    whole = run("whole")
    one = {split: run(f"one-{split}", "--insert", f"import=request-stages{{stages=4 split={cut} split-backward={str(split).lower()}}}")
           for split in (False, True)}
    for schedule, chunks in SCHEDULES.items():
        ours = run(schedule, "--mesh", f"pp={4 // chunks}", "--schedule", schedule, "--stage-split", cut)
        if difference := ours.difference(one[schedule in SPLIT]):
            sys.exit(f"{schedule}: {difference}")
        if not np.allclose(ours.losses, whole.losses, rtol=1e-5):
            sys.exit(f"{schedule}: losses {ours.losses}, uncut: {whole.losses}")
    print(f"{len(SCHEDULES)} schedules train alike")


if __name__ == "__main__":
    main()
