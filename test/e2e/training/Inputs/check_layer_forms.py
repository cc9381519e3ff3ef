"""A file may have layers in training form beside others in inference form, as a module with some layers in eval(): check_layer_forms.py FOLDER

The first loss, and the states after a step, are those of the file in float64."""
import itertools
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

node, folder = helper.make_node, pathlib.Path(sys.argv[1])
STATISTICS = {"mean": np.full(3, 0.7, "f4"), "var": np.full(3, 2, "f4")}
EPSILON = 1e-5


def norm(x, out, prefix, training):
    outputs = [out, f"{prefix}.mean.new", f"{prefix}.var.new"] if training else [out]
    return node("BatchNormalization", [x, "scale", "bias", f"{prefix}.mean", f"{prefix}.var"], outputs, training_mode=int(training), momentum=0.5,
                epsilon=EPSILON)


def compiled(name, nodes, weights, x, form=None):
    """The program, and what the compiler said."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                              [numpy_helper.from_array(np.asarray(value), key) for key, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if form:
        model.metadata_props.add(key="cleave.form", value=form)
    onnx.save(model, folder / f"{name}.onnx")
    program = folder / name
    result = subprocess.run(["cleave", "compile", folder / f"{name}.onnx", "-o", program, "--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim",
                             f"batch={len(x)}"], timeout=120, capture_output=True, text=True)
    return program if result.returncode == 0 else None, result.stderr


def train(name, nodes, weights, x, form=None, rate=0.0):
    program, notes = compiled(name, nodes, weights, x, form)
    if not program:
        sys.exit(f"FAILED: {name}: {notes}")
    np.save(folder / "x.npy", x)
    subprocess.run([program, "train", "--data", f"x={folder}/x.npy", "--lr", str(rate), "--steps", "1", "--save", folder / f"{name}.saved", "--metrics",
                    folder / f"{name}.jsonl"], check=True, timeout=120, capture_output=True)
    return json.loads((folder / f"{name}.jsonl").read_text().splitlines()[0])["loss"], read_states(folder / f"{name}.saved"), notes


def expect(what, found, expected):
    if not np.allclose(found, expected, rtol=1e-5, atol=1e-6):
        sys.exit(f"FAILED: {what}: expected {expected}, got {found}")


def normalized(x, training):
    mean, var = (x.mean(0), x.var(0)) if training else (STATISTICS["mean"], STATISTICS["var"])
    return (x - mean) / np.sqrt(var + EPSILON)


def check_norms(rng):
    x, w = rng.standard_normal((8, 3)).astype("f4"), rng.standard_normal((3, 3)).astype("f4")
    for first, second, form in itertools.product((True, False), (True, False), (None, "training")):
        weights = {"w": w, "scale": np.ones(3, "f4"), "bias": np.zeros(3, "f4"),
                   **{f"{layer}.{key}": value for layer in "ab" for key, value in STATISTICS.items()}}
        nodes = [norm("x", "h", "a", first), node("MatMul", ["h", "w"], ["z"]), node("Exp", ["z"], ["e"]), norm("e", "y", "b", second),
                 node("Mul", ["y", "y"], ["q"]), node("Mul", ["q", "y"], ["c"]), node("ReduceMean", ["c"], ["loss"], keepdims=0)]
        loss, states, notes = train(f"norms{first:d}{second:d}{form}", nodes, weights, x, form)
        is_stated = first or second or form  # all in inference form, without a statement: a file for inference
        trains = {"a": first, "b": second} if is_stated else {"a": True, "b": True}
        e = np.exp(normalized(x.astype("f8"), trains["a"]) @ w)
        expect(f"the loss, training {trains}", loss, (normalized(e, trains["b"]) ** 3).mean())
        for layer, values in (("a", x.astype("f8")), ("b", e)):
            mean = 0.5 * STATISTICS["mean"] + 0.5 * values.mean(0) if trains[layer] else STATISTICS["mean"]
            expect(f"{layer}.mean, training {trains}", states[f"{layer}.mean"], mean)
        said = ["keeps its running statistics, as in eval()" in notes, "the others update theirs" in notes, "in which Dropout would be gone" in notes]
        if said != [not all(trains.values()), first != second, not is_stated]:
            sys.exit(f"FAILED: notes of training {first}, {second}, form {form}:\n{notes}")


def check_kept_norm_is_trained(rng):
    """A layer that keeps its statistics: a step changes its scale and bias as the gradient in float64 says."""
    x = rng.standard_normal((8, 3)).astype("f4")
    begin = {"scale": rng.standard_normal(3).astype("f4"), "bias": rng.standard_normal(3).astype("f4")}
    nodes = [norm("x", "y", "a", False), node("Exp", ["y"], ["e"]), node("ReduceMean", ["e"], ["loss"], keepdims=0)]
    weights = {**begin, **{f"a.{key}": value for key, value in STATISTICS.items()}}
    _, states, _ = train("kept", nodes, weights, x, form="training", rate=0.5)
    h = normalized(x.astype("f8"), False)
    gradient = np.exp(h * begin["scale"].astype("f8") + begin["bias"]) / x.size
    expect("the scale of a layer in eval(), after a step", states["scale"], begin["scale"] - 0.5 * (gradient * h).sum(0))
    expect("the bias of a layer in eval(), after a step", states["bias"], begin["bias"] - 0.5 * gradient.sum(0))
    for key, value in STATISTICS.items():
        expect(f"{key} of a layer in eval()", states[f"a.{key}"], value)


def check_unknown_form():
    program, said = compiled("unknown", [node("Mul", ["x", "w"], ["y"]), node("ReduceMean", ["y"], ["loss"], keepdims=0)], {"w": np.ones(3, "f4")},
                             np.ones((8, 3)), form="frozen")
    if program or "the file's metadata has cleave.form = 'frozen'; expected 'training' or no such entry" not in said:
        sys.exit(f"FAILED: an unknown form is not refused:\n{said}")


def check_dropout(rng):
    x = rng.standard_normal((8, 3)).astype("f4")
    off = [node("MatMul", ["x", "w"], ["h"]), node("Dropout", ["h", "half", "no"], ["d"]), node("Dropout", ["d", "none", "yes"], ["y"]),
           node("Mul", ["y", "y"], ["q"]), node("ReduceMean", ["q"], ["loss"], keepdims=0)]
    weights = {"w": np.eye(3, dtype="f4"), "half": np.float32(0.5), "none": np.float32(0), "no": np.array(False), "yes": np.array(True)}
    expect("a dropout that is switched off", train("off", off, weights, x)[0], (x.astype("f8") ** 2).mean())
    on = [off[0], node("Dropout", ["h", "half", "yes"], ["y"]), *off[3:]]
    loss = train("on", on, {key: weights[key] for key in ("w", "half", "yes")}, x)[0]
    if abs(loss - (x.astype("f8") ** 2).mean()) < 1e-3:
        sys.exit("FAILED: a dropout that is on drops nothing")


check_norms(np.random.default_rng(0))
check_kept_norm_is_trained(np.random.default_rng(2))
check_unknown_form()
check_dropout(np.random.default_rng(1))
print("layers have the forms of the file")
