"""check_sliced_parameters.py FOLDER: parameters of which the model takes rows, columns and every second column, and which it uses whole, too.

Their gradients are sums of padded terms and of whole ones. Each layout has the collectives of check_collectives.py, no more, and trains to
the losses of NumPy in float64. With the state in host memory it trains to the same bits.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper

sys.path.append(str(pathlib.Path(__file__).parents[2] / "Inputs"))
import check_collectives  # noqa: E402
from small_models import Checks, command, graph  # noqa: E402

POSITIONS, WIDTH, HIDDEN, CLASSES, ROWS = 6, 8, 16, 4, 16
COLUMNS = {"next": slice(1, 6), "even": slice(0, 8, 2)}
BATCH, STEPS, RATE, MOMENTUM = 8, 6, 0.05, 0.9

# name -> options, and of check_collectives.py the strategy and number of buckets; none: owners of states have another table
LAYOUTS = {
    "dp": (["--mesh=dp=2", "--micro-batches=2"], "ddp", 1),
    "zero-1": (["--mesh=dp=2,fsdp=2", "--micro-batches=2", "--fsdp-strategy=zero-1"], "zero-1", 1),
    "zero-2": (["--mesh=fsdp=2", "--micro-batches=2", "--fsdp-strategy=zero-2", "--bucket-size=25MiB"], "zero-2", 1),
    "zero-3": (["--mesh=fsdp=2", "--fsdp-units=size=1KiB"], "full-shard", 2),
    "server": (["--mesh=dp=2", "--dp-sync=parameter-server"], None, 1),
}


def parameters():
    random = np.random.default_rng(4)
    features = POSITIONS * (ROWS + HIDDEN + 5 + 4)
    shapes = {"table": (ROWS, WIDTH), "w1": (WIDTH, HIDDEN), "b1": (HIDDEN,), "w2": (features, CLASSES), "b2": (CLASSES,)}
    return {name: (0.2 * random.normal(size=shape)).astype("f") for name, shape in shapes.items()}


def nodes():
    yield helper.make_node("Slice", ["table", "0", "rows", "0"], ["positions"])
    yield helper.make_node("Add", ["x", "positions"], ["h"])
    yield helper.make_node("Transpose", ["table"], ["turned"], perm=[1, 0])
    yield helper.make_node("MatMul", ["h", "turned"], ["scores"])
    yield helper.make_node("MatMul", ["h", "w1"], ["product"])
    yield helper.make_node("Add", ["product", "b1"], ["biased"])
    yield helper.make_node("Tanh", ["biased"], ["hidden"])
    for name in COLUMNS:
        yield helper.make_node("Slice", ["w1", f"{name}.start", f"{name}.stop", "1", f"{name}.step"], [f"{name}.w"])
        yield helper.make_node("MatMul", ["h", f"{name}.w"], [name])
    yield helper.make_node("Concat", ["scores", "hidden", *COLUMNS], ["joined"], axis=2)
    yield helper.make_node("Flatten", ["joined"], ["features"])
    yield helper.make_node("MatMul", ["features", "w2"], ["linear"])
    yield helper.make_node("Add", ["linear", "b2"], ["logits"])


def numbers():
    known = {"0": 0, "1": 1, "rows": POSITIONS}
    for name, columns in COLUMNS.items():
        known.update({f"{name}.start": columns.start, f"{name}.stop": columns.stop, f"{name}.step": columns.step or 1})
    return {name: np.array([number]) for name, number in known.items()}


def losses_of_numpy(x, labels):
    w = {name: array.astype("d") for name, array in parameters().items()}
    moments = dict.fromkeys(w, 0.0)
    for step in range(STEPS):
        now = np.arange(BATCH) + step * BATCH
        h = x[now] + w["table"][:POSITIONS]
        hidden = np.tanh(h @ w["w1"] + w["b1"])
        parts = [h @ w["table"].T, hidden, *(h @ w["w1"][:, columns] for columns in COLUMNS.values())]
        joined = np.concatenate(parts, 2)
        features = joined.reshape(BATCH, -1)
        logits = features @ w["w2"] + w["b2"]
        chance = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        yield -np.log(chance[np.arange(BATCH), labels[now]]).mean()
        chance[np.arange(BATCH), labels[now]] -= 1
        chance /= BATCH
        ends = np.cumsum([part.shape[2] for part in parts])[:-1]
        scores, hidden_gradient, *columns_gradients = np.split((chance @ w["w2"].T).reshape(joined.shape), ends, 2)
        inner = hidden_gradient * (1 - hidden**2)
        products = [(inner, slice(None)), *zip(columns_gradients, COLUMNS.values())]
        dh = scores @ w["table"] + sum(gradient @ w["w1"][:, columns].T for gradient, columns in products)
        dtable, dw1 = np.einsum("btr,btw->rw", scores, h), np.zeros_like(w["w1"])
        dtable[:POSITIONS] += dh.sum(0)
        for gradient, columns in products:
            dw1[:, columns] += np.einsum("btw,btc->wc", h, gradient)
        gradients = {"table": dtable, "w1": dw1, "b1": inner.sum((0, 1)), "w2": features.T @ chance, "b2": chance.sum(0)}
        for name, gradient in gradients.items():
            moments[name] = MOMENTUM * moments[name] + gradient
            w[name] -= RATE * moments[name]


def train(checks, model, name, options):
    """The step of the plan's page, the losses, and the files of the checkpoint."""
    program, saved = checks.folder / name, checks.folder / f"{name}.saved"
    compiled = command("cleave", "compile", model, "-o", program, "--train", "--loss", "cross-entropy", "--optimizer",
                       f"sgd,momentum={MOMENTUM}", f"--global-batch={BATCH}", *options)
    if compiled.returncode:
        sys.exit(f"{name}: {compiled.stderr}")
    data = [f"--data={key}={checks.folder / key}.npy" for key in ("x", "labels")]
    done = command(program, "train", *data, "--no-shuffle", f"--lr={RATE}", f"--steps={STEPS}", "--threads=1", "--clip-grad-norm=1000",
                   f"--save={saved}", f"--metrics={saved}.jsonl")
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    losses = [json.loads(line)["loss"] for line in pathlib.Path(f"{saved}.jsonl").read_text().splitlines() if '"loss"' in line]
    plan = json.loads(command("cleave", "inspect", program, "--json").stdout)
    return plan, losses, [path.read_bytes() for path in sorted(saved.rglob("*.safetensors"))]


def main():
    checks = Checks(sys.argv[1])
    random = np.random.default_rng(5)
    x, labels = random.normal(size=(BATCH * STEPS, POSITIONS, WIDTH)).astype("f"), random.integers(0, CLASSES, size=BATCH * STEPS)
    np.save(checks.folder / "x.npy", x)
    np.save(checks.folder / "labels.npy", labels)
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", *dims])
             for name, dims in {"x": (POSITIONS, WIDTH), "logits": (CLASSES,)}.items()]
    model = checks.folder / "sliced.onnx"
    onnx.save(helper.make_model(graph(list(nodes()), ports[:1], ports[1:], {**parameters(), **numbers()}), ir_version=10,
                                opset_imports=[helper.make_opsetid("", 21)]), model)
    expected = list(losses_of_numpy(x.astype("d"), labels))
    for name, (options, strategy, buckets) in LAYOUTS.items():
        plan, losses, files = train(checks, model, name, options)
        checks.same(f"{name}, losses", losses, expected, 1e-5)
        step = next(program for program in plan["programs"] if program["name"] == "train_step")
        got = {kind: (count, step["sent_bytes_by_collective"][kind]) for kind, count in step["collectives"].items()}
        if strategy:
            want = check_collectives.expected(plan, strategy, buckets, 0)
            checks.note(f"{name}, collectives", "" if got == want else f"{got}, expected {want}")
        else:
            checks.note(f"{name}, reductions", "" if got["reduce"][0] == buckets else f"{got}, expected {buckets} reduce")
        for precision in ("f32", "fp16"):
            typed = [*options, f"--precision={precision}"]
            of_plain = (losses, files) if precision == "f32" else train(checks, model, f"{name}.{precision}", typed)[1:]
            of_stored = train(checks, model, f"{name}.{precision}.stored", [*typed, "--offload=params,grads,optimizer"])[1:]
            checks.note(f"{name}, {precision}, state in host memory", "" if of_plain == of_stored else "other losses or states")
    checks.end()


if __name__ == "__main__":
    main()
