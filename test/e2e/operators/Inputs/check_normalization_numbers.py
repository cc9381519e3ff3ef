"""Normalizations of values whose mean is much larger than their deviation, and their gradients, in f32 against float64.

  check_normalization_numbers.py FOLDER

The mean is rounded to f32, so that all differences from it err by the same amount: with a mean of 1000 and a deviation of 0.03 by up to a
thousandth of the deviation. Neither results nor gradients must show it.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

N, C, S = 6, 8, 5
MEAN, DEVIATION, EPSILON = 1000, 0.03, 1e-5
# Of each operator: the axes that a group has after a reshape to the given shape, the node's other inputs, and its attributes
KINDS = {
    "LayerNormalization": ((N, C, S), (1, 2), ["one", "zero"], {"axis": 1, "epsilon": EPSILON}),
    "InstanceNormalization": ((N, C, S), (2,), ["ones", "zeros"], {"epsilon": EPSILON}),
    "GroupNormalization": ((N, 2, C // 2 * S), (2,), ["ones", "zeros"], {"epsilon": EPSILON, "num_groups": 2}),
    "BatchNormalization": ((N, C, S), (0, 2), ["ones", "zeros", "running.mean", "running.variance"], {"epsilon": EPSILON, "training_mode": 1}),
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def exactly(x, dy, shape, axes):
    """y and dx in float64."""
    x, dy = x.astype("f8").reshape(shape), dy.astype("f8").reshape(shape)
    centered = x - x.mean(axes, keepdims=True)
    scale = 1 / np.sqrt((centered ** 2).mean(axes, keepdims=True) + EPSILON)
    y = centered * scale
    dx = scale * (dy - dy.mean(axes, keepdims=True) - y * (dy * y).mean(axes, keepdims=True))
    return y, dx


def check(operator, folder, random):
    shape, axes, inputs, attributes = KINDS[operator]
    x = random.normal(MEAN, DEVIATION, (N, C, S)).astype("f4")
    dy = random.normal(1, 0.5, (N, C, S)).astype("f4")
    constants = {"x": x, "dy": dy, "one": np.ones((C, S), "f4"), "zero": np.zeros((C, S), "f4"), "ones": np.ones(C, "f4"), "zeros": np.zeros(C, "f4"),
                 "running.mean": np.zeros(C, "f4"), "running.variance": np.ones(C, "f4"), "w": np.zeros((N, C, S), "f4")}
    used = {"x", "dy", "w", *inputs}
    outputs = ["y", "m", "v"] if operator == "BatchNormalization" else ["y"]
    # The parameter is 0, so that after one step it is the gradient, unrounded. The input is there for the batch.
    nodes = [helper.make_node("Add", ["x", "w"], ["values"]), helper.make_node(operator, ["values", *inputs], outputs, **attributes),
             helper.make_node("Mul", ["y", "dy"], ["products"]), helper.make_node("ReduceSum", ["products"], ["sum"], keepdims=0),
             helper.make_node("ReduceMean", ["batch"], ["zero.loss"], keepdims=0), helper.make_node("Add", ["sum", "zero.loss"], ["loss"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("batch", TensorProto.FLOAT, [1, 1])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []), helper.make_tensor_value_info("y", TensorProto.FLOAT, [N, C, S])],
                              [numpy_helper.from_array(array, name) for name, array in constants.items() if name in used])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "m.onnx")
    np.save(folder / "batch.npy", np.zeros((1, 1), "f4"))
    run("cleave", "compile", folder / "m.onnx", "-o", folder / "train", "--train", "--loss-output", "loss", "--optimizer", "sgd", "--freeze", ",".join(used - {"w"} - {"running.mean", "running.variance"}))
    run(folder / "train", "train", "--no-shuffle", "--steps", 1, "--lr", 1, "--data", f"batch={folder}/batch.npy", "--save", folder / "saved")
    right, gradient = exactly(x, dy, shape, axes)
    got = -read_states(folder / "saved")["w"].astype("f8").reshape(shape)
    scale = np.abs(gradient).max()
    error, total = np.abs(got - gradient).max() / scale, np.abs(got.sum(axes) - gradient.sum(axes)).max() / scale
    line = f"{operator}: gradients err by {error:.1e}, their sums by {total:.1e}"
    if operator != "BatchNormalization":  # without training, it normalizes by the running statistics
        run("cleave", "compile", folder / "m.onnx", "-o", folder / "infer")
        run(folder / "infer", "infer", "--input", f"batch={folder}/batch.npy", "--output", f"y={folder}/y.npy")
        results = np.abs(np.load(folder / "y.npy").reshape(shape) - right).max() / np.abs(right).max()
        line += f", results by {results:.1e}"
        error = max(error, results)
    print(line)
    # Four roundings of the largest number. Each number of a group has the rounding of the gradients' mean.
    count = np.prod([shape[axis] for axis in axes])
    return error <= 4 * 2.0 ** -23 and total <= count * 2.0 ** -23


def check_infinite_variance(folder):
    """Differences whose squares are beyond f32: their variance is infinite, and results are 0, as onnxruntime's are."""
    x = np.float32([[1e30 + k * 1.7e29 for k in range(8)], [1.1e30] * 8])
    graph = helper.make_graph([helper.make_node("LayerNormalization", ["x", "scale"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])], [numpy_helper.from_array(np.ones(8, "f4"), "scale")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "large.onnx")
    np.save(folder / "large.npy", x)
    run("cleave", "compile", folder / "large.onnx", "-o", folder / "large")
    run(folder / "large", "infer", "--input", f"x={folder}/large.npy", "--output", f"y={folder}/large.out.npy")
    return (np.load(folder / "large.out.npy") == 0).all()


def main():
    folder, random = pathlib.Path(sys.argv[1]), np.random.default_rng(1)
    failed = [operator for operator in KINDS if not check(operator, folder, random)]
    failed += [] if check_infinite_variance(folder) else ["an infinite variance"]
    sys.exit(f"wrong: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
