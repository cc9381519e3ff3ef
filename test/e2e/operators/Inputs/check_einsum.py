"""Einsum of given and of random equations: results are numpy's in float64, and so are gradients, exactly, since an einsum is linear in each operand.

  check_einsum.py FOLDER SEED COUNT

Equations have letters again in one operand (diagonals and traces), ellipses of different numbers of dimensions with sizes that are broadcast, implicit
outputs, and one to three operands.
"""
import pathlib
import random
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

SIZES = {"i": 3, "j": 2, "k": 4, "b": 5}
# Equation, and the shapes that its ellipses stand for.
GIVEN = [("ii->i", [()]), ("ii", [()]), ("ii->", [()]), ("bii->bi", [()]), ("iji->j", [()]), ("iii->i", [()]), ("iijj->ij", [()]), ("ii,ij->ij", [(), ()]),
         ("iji,jk->ik", [(), ()]), ("...ij,...jk->...ik", [(2, 3), (2, 3)]), ("...ij,...jk", [(2, 1), (3,)]), ("...ij,jk->...ik", [(2, 3), ()]),
         ("...ii->...i", [(2,)]), ("...,...->...", [(4, 1), (1, 3)]), ("b...i,...i->b...", [(2,), (1, 2)]), ("i...->...i", [(2, 3)]), ("...->...", [()]),
         ("...ij,...j,i->...", [(2,), (1,), ()]), ("bij,bjk->bik", [(), ()]), ("i,j->ij", [(), ()]), ("ij->ji", [()])]


def drawn(draw):
    """A random equation whose output letters are in some operand."""
    inputs, dims, rows = [], [], tuple(draw.choice([1, 2, 3]) for _ in range(draw.choice([0, 0, 1, 2])))
    for _ in range(draw.choice([1, 2, 2, 3])):
        letters = [draw.choice("ijkb") for _ in range(draw.choice([0, 1, 2, 2, 3]))]
        own = rows[draw.randrange(len(rows) + 1):] if rows else ()
        dims.append(tuple(size if draw.random() < 0.7 else 1 for size in own))
        if own:
            letters.insert(draw.randrange(len(letters) + 1), "...")
        inputs.append("".join(letters))
    used = sorted({c for term in inputs for c in term if c != "."})
    output = draw.sample(used, draw.randrange(len(used) + 1))
    if any(dims):
        output.insert(draw.randrange(len(output) + 1), "...")
    return ",".join(inputs) + "->" + "".join(output), dims


def shapes_of(equation, dims):
    for term, rows in zip(equation.split("->")[0].split(","), dims, strict=True):
        before, ellipsis, after = term.partition("...")
        yield (*(SIZES[c] for c in before), *(rows if ellipsis else ()), *(SIZES[c] for c in after))


def gradient(equation, operands, weights, which):
    """d sum(weights * einsum) / d operand: of each of its elements the sum with that element 1 and the others 0."""
    found, rest = np.zeros(operands[which].shape), list(operands)
    for index in np.ndindex(*found.shape):
        rest[which] = np.zeros(found.shape)
        rest[which][index] = 1
        found[index] = (weights * np.einsum(equation, *rest)).sum()
    return found


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def main():
    folder, draw = pathlib.Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    numbers = np.random.default_rng(int(sys.argv[2]))
    cases = GIVEN + [drawn(draw) for _ in range(int(sys.argv[3]))]
    nodes, constants, expected, total = [], {}, {}, None
    for number, (equation, dims) in enumerate(cases):
        operands = [numbers.integers(-4, 5, shape).astype("f4") / 2 for shape in shapes_of(equation, dims)]
        name, wide = f"e{number}", [np.float64(operand) for operand in operands]
        result = np.einsum(equation, *wide)
        weights = numbers.integers(1, 5, result.shape).astype("f4")
        constants.update({f"{name}.at{i}": operand for i, operand in enumerate(operands)}, **{f"{name}.weights": weights})
        # The parameter is 0 and added to a constant, so that after one step it is the gradient, unrounded.
        constants.update({f"{name}.w{i}": np.zeros_like(operand) for i, operand in enumerate(operands)})
        nodes += [helper.make_node("Add", [f"{name}.w{i}", f"{name}.at{i}"], [f"{name}.x{i}"]) for i in range(len(operands))]
        nodes += [helper.make_node("Einsum", [f"{name}.x{i}" for i in range(len(operands))], [name], equation=equation),
                  helper.make_node("Mul", [name, f"{name}.weights"], [f"{name}.m"]), helper.make_node("ReduceSum", [f"{name}.m"], [f"{name}.s"], keepdims=0)]
        total = nodes[-1].output[0] if total is None else total
        if number:
            nodes.append(helper.make_node("Add", [total, f"{name}.s"], [f"{name}.t"]))
            total = f"{name}.t"
        expected[name] = equation, result, [gradient(equation, wide, weights, i) for i in range(len(operands))]
    nodes += [helper.make_node("ReduceMean", ["x"], ["zero"], keepdims=0), helper.make_node("Add", [total, "zero"], ["loss"])]
    outputs = [*expected, "loss"]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "m.onnx")
    np.save(folder / "x.npy", np.zeros((1, 1), "f4"))
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "infer")
    run(folder / "infer", "infer", "--input", f"x={folder}/x.npy", *[part for name in expected for part in ("--output", f"{name}={folder}/{name}.npy")])
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "train", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--freeze", "*.at*,*.weights")
    run(folder / "train", "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--data", f"x={folder}/x.npy", "--save", folder / "saved")
    states, wrong = read_states(folder / "saved"), 0
    for name, (equation, result, gradients) in expected.items():
        pairs = [("result", np.load(folder / f"{name}.npy"), result)]
        pairs += [(f"gradient of operand {i}", -np.float64(states[f"{name}.w{i}"]), want) for i, want in enumerate(gradients)]
        for what, got, want in pairs:
            if got.shape != want.shape or not np.allclose(got, want, rtol=1e-5, atol=1e-5):
                wrong += 1
                print(f"{equation}, {what}: {got.tolist()}, expected {want.tolist()}")
    print(f"{len(cases)} equations, {wrong} wrong")
    sys.exit(wrong != 0)


main()
