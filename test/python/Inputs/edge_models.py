"""edge_models.py FOLDER: a model without inputs runs, inputs of rank 0 of each type arrive, and a program that a model lacks is an error. An evaluation's
loss is divided as the model divides it, and a checkpoint that is refused changes nothing."""
import copy
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cleave


def refused(call):
    try:
        call()
    except (cleave.CleaveError, ValueError) as error:
        return str(error)
    sys.exit("nothing was refused")


def compile_graph(folder, name, nodes, inputs, outputs, initializers=(), options=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), folder / f"{name}.onnx")
    command = ["cleave", "compile", folder / f"{name}.onnx", "-o", folder / f"{name}.so", "--emit", "shared", *options]
    subprocess.run(command, check=True, capture_output=True)
    return cleave.Model(folder / f"{name}.so")


def check_rank_0(folder):
    kinds = {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "h": TensorProto.FLOAT16, "i": TensorProto.INT64, "u": TensorProto.UINT8, "b": TensorProto.BOOL,
             "t": TensorProto.BFLOAT16}
    inputs = [helper.make_tensor_value_info(name, kind, []) for name, kind in kinds.items()]
    outputs = [helper.make_tensor_value_info(f"{name}_out", kind, []) for name, kind in kinds.items()]
    nodes = [helper.make_node("Not" if name == "b" else "Add", [name] if name == "b" else [name, name], [f"{name}_out"]) for name in kinds]
    model = compile_graph(folder, "rank0", nodes, inputs, outputs)
    for three in (3, np.int64(3), np.array(3)):
        three_and_half = np.float64(three) + 0.5
        left = model.infer(i=three, u=three, b=True, **{name: three_and_half for name in "fdht"})
        assert all(value.shape == () for value in left.values()), left
        assert left["i_out"] == left["u_out"] == 6 and not left["b_out"] and all(left[f"{name}_out"] == 7 for name in "fdht"), left
    for name, value, kind in (("u", 256, "uint8"), ("b", 2, "bool"), ("f", 1e300, "float32"), ("h", 1e6, "float16")):
        assert f"does not fit into {kind}" in refused(lambda: model.infer(**{**dict.fromkeys(kinds), name: value}))
    assert np.isinf(model.infer(**{**dict.fromkeys(kinds), "f": np.inf})["f_out"])


def check_shown_names(folder):
    """Names of models come from files: in messages they are on one line, and a terminal obeys none of their characters."""
    name = "x\x1b[31m\n\u202ey"
    model = compile_graph(folder, "shown", [helper.make_node("Neg", [name], ["z"])], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])],
                          [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])])
    for inputs in ({}, {name: None}, {name: np.ones(3)}, {name: np.ones(2, int)}, {name: np.full(2, 1e300)}, {name: np.ones(2), "other\n": 1}):
        try:
            model.infer(inputs)
            sys.exit(f"{inputs} was not refused")
        except (KeyError, TypeError, ValueError) as error:
            assert error.args[0].isprintable(), error.args


def check_names(folder):
    """Names that the model chooses are not those of the API; a model owns its session, and has no copy."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 2]) for name in ("self", "lr")]
    model = compile_graph(folder, "names", [helper.make_node("Sub", ["self", "lr"], ["y"])], ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
                          options=["--dim", "batch=3"])
    ones = np.ones((3, 2), np.float32)
    assert (model.infer({"self": 3 * ones, "lr": ones})["y"] == 2).all() and (model.infer({"self": 3 * ones}, lr=2 * ones)["y"] == 1).all()
    try:
        model.infer({"self": ones, "lr": ones}, lr=ones)
        sys.exit("an input was given twice")
    except TypeError as error:
        assert "the input 'lr' is given twice" in str(error), error
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        try:
            copied(model)
            sys.exit("a model was copied")
        except TypeError as error:
            assert "cannot be copied or pickled" in str(error), error
    assert list(model.inputs()) == ["self", "lr"]


def masked_loss(folder, name="masked", options=()):
    """sum(m (x W - t)^2) / (sum(m) + 10), on four samples."""
    columns = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in {"x": 3, "t": 1, "m": 1}.items()}
    ten = numpy_helper.from_array(np.float32(10))
    nodes = [helper.make_node("Constant", [], ["ten"], value=ten), helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("Sub", ["h", "t"], ["d"]), helper.make_node("Mul", ["d", "d"], ["q"]),
             helper.make_node("Mul", ["q", "m"], ["counted"]), helper.make_node("ReduceSum", ["counted"], ["sum"], keepdims=0),
             helper.make_node("ReduceSum", ["m"], ["n"], keepdims=0), helper.make_node("Add", ["n", "ten"], ["divisor"]),
             helper.make_node("Div", ["sum", "divisor"], ["loss"])]
    weights = numpy_helper.from_array(np.array([[0.5], [-1], [2]], np.float32), "W")
    return compile_graph(folder, name, nodes, list(columns.values()), [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                         [weights], ["--train", "--loss-output", "loss", "--optimizer", "sgd", "--dim", "batch=4", *options])


def masked_batch(seed):
    random = np.random.default_rng(seed)
    return {"x": random.normal(size=(4, 3)).astype(np.float32), "t": random.normal(size=(4, 1)).astype(np.float32),
            "m": np.array([[1], [0], [1], [1]], np.float32)}


def check_divisor(model):
    batches, sums = [masked_batch(seed) for seed in (1, 2)], []
    for batch in batches:
        difference = batch["x"].astype(np.float64) @ [[0.5], [-1], [2]] - batch["t"]
        sums.append(((difference**2 * batch["m"]).sum(), batch["m"].sum()))
    first, second = (model.evaluate(**batch) for batch in batches)
    both = first + second
    for given, total, count in ((first, *sums[0]), (second, *sums[1]), (both, sums[0][0] + sums[1][0], sums[0][1] + sums[1][1])):
        assert abs(given.loss - total / (count + 10)) < 1e-5, (given.loss, total / (count + 10))


def check_shapes(folder):
    """A step takes all micro-batches, an evaluation takes none: each says how many samples are its own."""
    model, few = masked_loss(folder, "parts", ["--mesh", "dp=2", "--micro-batches", "3"]), {name: array[:1] for name, array in masked_batch(1).items()}
    said = refused(lambda: model.train_step(lr=0.1, **few))
    assert "expected shape [24, 3], that of the global batch (the batch of --dim x data ranks x micro-batches); got [1, 3]" in said, said
    said = refused(lambda: model.evaluate(**few))
    assert "expected shape [8, 3], that of one call of evaluate() (the batch of --dim x data ranks); got [1, 3]" in said, said


def check_refused_checkpoint(model, folder):
    model.train_step(lr=0.1, **masked_batch(1))
    model.save(folder / "damaged")
    for part in (folder / "damaged").rglob("*.safetensors"):
        data = bytearray(part.read_bytes())
        data[-1] ^= 1
        part.write_bytes(data)
    model.train_step(lr=0.1, **masked_batch(2))
    before, steps = model.evaluate(**masked_batch(1)).loss, model.steps
    assert "checksum" in refused(lambda: model.load(folder / "damaged"))
    assert model.evaluate(**masked_batch(1)).loss == before and model.steps == steps == 2


def main():
    folder = pathlib.Path(sys.argv[1])
    model = compile_graph(folder, "constant", [helper.make_node("Relu", ["c"], ["y"])], [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
                          [numpy_helper.from_array(np.array([1, -2, 3], np.float32), "c")])
    assert model.inputs() == {} and np.array_equal(model.infer()["y"], [1, 0, 3])
    for call in (model.inputs, model.outputs):
        assert "compiled for inference" in refused(lambda: call("train_step"))
        assert "has a NUL" in refused(lambda: call("infer\0x"))
    assert "has a NUL" in refused(lambda: model.output("y", "infer\0x"))
    check_rank_0(folder)
    check_names(folder)
    check_shown_names(folder)
    trained = masked_loss(folder)
    check_divisor(trained)
    check_shapes(folder)
    check_refused_checkpoint(trained, folder)


if __name__ == "__main__":
    main()
