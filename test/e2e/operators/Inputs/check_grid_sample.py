"""GridSample in all its modes: results against onnxruntime, gradients of image and grid against central differences of a float64 reference.

  check_grid_sample.py FOLDER

The grid reaches far beyond the image, and has places at its middle and at its ends.
"""
import itertools
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

N, C, H, W, P, Q = 2, 3, 4, 5, 3, 6
CASES = list(itertools.product(("bilinear", "nearest"), ("zeros", "border", "reflection"), (0, 1)))


def reflected(at, low, high):
    if low == high:
        return np.zeros_like(at)
    span = high - low
    far = np.abs(at - low)
    rest, turns = np.fmod(far, span), np.floor(far / span)
    return np.where(turns % 2 == 0, rest, span - rest) + low


def places(grid, size, padding, align):
    at = (grid + 1) / 2 * (size - 1) if align else ((grid + 1) * size - 1) / 2
    if padding == "reflection":
        at = reflected(at, 0, size - 1) if align else reflected(at, -0.5, size - 0.5)
    return at if padding == "zeros" else np.clip(at, 0, size - 1)


def reference(image, grid, mode, padding, align):
    x, y = places(grid[..., 0], image.shape[3], padding, align), places(grid[..., 1], image.shape[2], padding, align)
    corners = [(np.rint(x), np.rint(y), np.ones_like(x))]
    if mode != "nearest":
        left, top = np.floor(x), np.floor(y)
        corners = [(left + i, top + j, (x - left if i else 1 - x + left) * (y - top if j else 1 - y + top)) for i in (0, 1) for j in (0, 1)]
    result = 0
    for column, row, weight in corners:
        here = (column >= 0) & (column < image.shape[3]) & (row >= 0) & (row < image.shape[2])
        i, j = np.where(here, column, 0).astype(int), np.where(here, row, 0).astype(int)
        values = np.stack([image[n][:, j[n], i[n]] for n in range(len(image))])
        result = result + values * (weight * here)[:, None]
    return result


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def save(path, nodes, outputs, constants):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1])],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=9)
    onnx.save(model, path)
    return model


def main():
    folder, random = pathlib.Path(sys.argv[1]), np.random.default_rng(4)
    image = random.standard_normal((N, C, H, W)).astype("f4")
    grid = random.uniform(-2.7, 2.7, (N, P, Q, 2)).astype("f4")
    grid[0, 0, :4, 0] = -1, 1, 0, 0.999
    weights = random.standard_normal((N, C, P, Q)).astype("f4")
    # Parameters are 0 and added to constants, so that after one step they are the gradients, unrounded.
    nodes, constants, names = [], {"image": image, "grid": grid, "weights": weights}, []
    for mode, padding, align in CASES:
        name = f"{mode}.{padding}.{align}"
        constants.update({f"{name}.wi": np.zeros_like(image), f"{name}.wg": np.zeros_like(grid)})
        nodes += [helper.make_node("Add", [f"{name}.wi", "image"], [f"{name}.i"]), helper.make_node("Add", [f"{name}.wg", "grid"], [f"{name}.g"]),
                  helper.make_node("GridSample", [f"{name}.i", f"{name}.g"], [name], mode=mode, padding_mode=padding, align_corners=align),
                  helper.make_node("Mul", [name, "weights"], [f"{name}.m"]), helper.make_node("ReduceSum", [f"{name}.m"], [f"{name}.s"], keepdims=0)]
        names.append(name)
    nodes += [helper.make_node("Sum", [f"{name}.s" for name in names], ["total"]), helper.make_node("ReduceMean", ["x"], ["zero"], keepdims=0),
              helper.make_node("Add", ["total", "zero"], ["loss"])]
    model = save(folder / "m.onnx", nodes, [*names, "loss"], constants)
    zeros = np.zeros((1, 1), "f4")
    np.save(folder / "x.npy", zeros)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(names, {"x": zeros})
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "infer")
    run(folder / "infer", "infer", "--input", f"x={folder}/x.npy", *[part for name in names for part in ("--output", f"{name}={folder}/{name}.npy")])
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "train", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--freeze", "image,grid,weights")
    run(folder / "train", "train", "--no-shuffle", "--steps", "1", "--lr", "1", "--data", f"x={folder}/x.npy", "--save", folder / "saved")
    states, wrong = read_states(folder / "saved"), 0
    image8, grid8, weights8 = (np.float64(array) for array in (image, grid, weights))
    for (mode, padding, align), name, want in zip(CASES, names, expected):
        pairs = [("onnxruntime", np.load(folder / f"{name}.npy"), want, 1e-5), ("float64", np.load(folder / f"{name}.npy"), reference(image8, grid8, mode, padding, align), 1e-5)]
        loss = lambda i, g: (weights8 * reference(i, g, mode, padding, align)).sum()  # noqa: E731
        for which, array in (("wi", image8), ("wg", grid8)):
            slope, smooth = np.zeros(array.shape), np.ones(array.shape, bool)
            for index in np.ndindex(*array.shape):
                ends, step = [], 1e-6
                for sign in (1, 0, -1):
                    moved = array.copy()
                    moved[index] += sign * step
                    ends.append(loss(moved, grid8) if which == "wi" else loss(image8, moved))
                slope[index] = (ends[0] - ends[2]) / (2 * step)
                smooth[index] = abs(ends[0] + ends[2] - 2 * ends[1]) / step < 1e-4  # elsewhere the place is a pixel, or the end
            has_slope = which == "wi" or mode != "nearest"  # without, the grid is no parameter
            got = -np.float64(states[f"{name}.{which}"]) if has_slope else np.zeros(array.shape)
            assert smooth.mean() > 0.8 and has_slope == bool(slope[smooth].any())
            pairs.append((f"gradient {which}", np.where(smooth, got, 0), np.where(smooth, slope, 0), 2e-4))
        for what, got, right, bound in pairs:
            if not np.allclose(got, right, rtol=bound, atol=bound):
                wrong += 1
                worst = np.unravel_index(np.argmax(abs(got - right)), got.shape)
                print(f"{name}, {what} at {worst}: {got[worst]}, expected {right[worst]}")
    print(f"{len(CASES)} cases, {wrong} wrong")
    sys.exit(wrong != 0)


main()
