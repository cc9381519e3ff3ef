"""Small graphs that do to the batch what no model of test/models does, inferred on ranks that share the batch: onnxruntime's outputs.

  split_graphs.py FOLDER RANKS [NAME...]

Each row is a name, the shape of x with the batch first, and the body of the graph, which makes `out`.
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx.parser
import onnxruntime

AXIS0 = "a = Constant<value_ints = [0]>() "
GRAPHS = [
    # reductions and scans over the batch
    ("max", (8, 6), "out = ReduceMax<axes = [0], keepdims = 0>(x)"),
    ("product", (8, 6), "out = ReduceProd<axes = [0], keepdims = 0>(x)"),
    ("log-sum-exp", (8, 6), "out = ReduceLogSumExp<axes = [0], keepdims = 0>(x)"),
    ("softmax", (8, 6), "out = Softmax<axis = 0>(x)"),
    ("cumsum", (8, 6), "a = Constant<value_int = 0>() out = CumSum(x, a)"),
    ("argmax", (8, 6), "i = ArgMax<axis = 0, keepdims = 0>(x) out = Cast<to = 1>(i)"),
    ("standardized", (8, 6), "m = ReduceMean<axes = [0]>(x) c = Sub(x, m) q = Mul(c, c) v = ReduceMean<axes = [0]>(q) s = Sqrt(v) out = Div(c, s)"),
    ("max-and-sum", (8, 6), AXIS0 + "m = ReduceMax<axes = [0]>(x) s = ReduceSum(x, a) t = Add(m, s) out = Mul(x, t)"),
    ("int8-max", (8, 6), "h = Constant<value_float = 100.0>() y = Mul(x, h) j = Cast<to = 3>(y) m = ReduceMax<axes = [0], keepdims = 0>(j) out = Cast<to = 1>(m)"),
    # shapes whose cuts do not divide one another, or cut the batch
    ("reshape-15-10", (8, 15), "s = Constant<value_ints = [-1, 10]>() out = Reshape(x, s)"),
    ("reshape-12-4", (8, 6), "s = Constant<value_ints = [12, 4]>() r = Reshape(x, s) out = Sigmoid(r)"),
    ("reshape-2-24", (8, 6), "s = Constant<value_ints = [2, 24]>() out = Reshape(x, s)"),
    ("reshape-rows", (8, 6), "s = Constant<value_ints = [-1, 3]>() a = Constant<value_ints = [1]>() r = Reshape(x, s) out = ReduceSum<keepdims = 0>(r, a)"),
    ("transposed-rows", (8, 3, 4), "t = Transpose<perm = [1, 0, 2]>(x) s = Constant<value_ints = [24, 4]>() r = Reshape(t, s) out = Softmax<axis = 0>(r)"),
    ("cut-batch", (8, 3, 4), "s = Constant<value_ints = [4, 2, 12]>() r = Reshape(x, s) t = Transpose<perm = [1, 0, 2]>(r) s3 = Constant<value_ints = [8, 12]>() out = Reshape(t, s3)"),
    # the batch as a minor factor of a dimension, split in blocks
    ("sequence-first", (8, 3, 4), "t = Transpose<perm = [1, 0, 2]>(x) s = Constant<value_ints = [-1, 4]>() r = Reshape(t, s) w = Transpose<perm = [1, 0]>(r) "
     "g = MatMul(w, r) m = MatMul(r, g) b = Softmax<axis = 1>(m) s3 = Constant<value_ints = [3, -1, 4]>() u = Reshape(b, s3) out = Transpose<perm = [1, 0, 2]>(u)"),
    ("cut-between-blocks", (8, 6, 4), "t = Transpose<perm = [1, 0, 2]>(x) s = Constant<value_ints = [-1, 4]>() r = Reshape(t, s) "
     "s2 = Constant<value_ints = [2, -1, 4]>() u = Reshape(r, s2) out = Softmax<axis = 2>(u)"),
    ("cut-inside-blocks", (8, 6, 4), "t = Transpose<perm = [1, 0, 2]>(x) s = Constant<value_ints = [-1, 4]>() r = Reshape(t, s) "
     "s2 = Constant<value_ints = [24, -1, 4]>() u = Reshape(r, s2) out = Softmax<axis = 1>(u)"),
    ("unlike-blocks", (8, 6, 4), "t = Transpose<perm = [1, 0, 2]>(x) s = Constant<value_ints = [-1, 4]>() a = Reshape(t, s) b = Reshape(x, s) "
     "u = Transpose<perm = [2, 0, 1]>(x) c = Reshape(u, s) d = Sub(a, b) out = Mul(d, c)"),
    ("blocks-and-columns", (8, 6, 4), "t = Transpose<perm = [1, 0, 2]>(x) s = Constant<value_ints = [-1, 4]>() a = Reshape(t, s) l, r = Split<axis = 1>(a) out = Mul(l, r)"),
    # parts of the batch
    ("slice", (8, 6), "a = Constant<value_ints = [1]>() b = Constant<value_ints = [7]>() c = Constant<value_ints = [0]>() d = Constant<value_ints = [2]>() out = Slice(x, a, b, c, d)"),
    ("pad", (8, 6), "p = Constant<value_ints = [1, 0, 2, 0]>() out = Pad(x, p)"),
    ("twice", (8, 6), "out = Concat<axis = 0>(x, x)"),
    ("halves", (8, 6), "a, b = Split<axis = 0>(x) out = Mul(a, b)"),
    ("rows", (8, 6), "i = Constant<value_ints = [3, 0, -1]>() out = Gather<axis = 0>(x, i)"),
    ("lower", (8, 6), "out = Trilu<upper = 0>(x)"),
    # every sample with every other
    ("attention", (8, 6), "y = Transpose<perm = [1, 0]>(x) s = MatMul(x, y) p = Softmax<axis = 0>(s) out = MatMul(p, x)"),
    ("gram", (8, 6), "y = Transpose<perm = [1, 0]>(x) out = MatMul(y, x)"),
    ("distances", (8, 6), AXIS0 + "b = Constant<value_ints = [1]>() c = Constant<value_ints = [2]>() p = Unsqueeze(x, b) q = Unsqueeze(x, a) "
     "d = Sub(p, q) e = Mul(d, d) f = ReduceSum<keepdims = 0>(e, c) out = ReduceMin<axes = [0], keepdims = 0>(f)"),
    ("einsum", (8, 6), "out = Einsum<equation = \"bi,bj->ij\">(x, x)"),
]


def model_of(shape, body):
    dims = ", ".join(["batch", *map(str, shape[1:])])
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[{dims}] x) => (float out) {{ {body} }}'
    model = onnx.parser.parse_model(text)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def difference(folder, ranks, name, shape, body):
    path, program, arrays = folder / f"{name}.onnx", folder / name, folder / f"{name}.npy"
    model = model_of(shape, body)
    path.write_bytes(model.SerializeToString())
    x = np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)
    np.save(arrays, x)
    wanted, = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    subprocess.run(["cleave", "compile", path, "-o", program, "--dim", f"batch={shape[0] // ranks}", "--mesh", f"dp={ranks}"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
    subprocess.run([program, "infer", "--input", f"x={arrays}", "--output", f"out={folder / 'out.npy'}", "--threads", "1"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
    ours = np.load(folder / "out.npy")
    if ours.shape != wanted.shape:
        return f"shape {ours.shape}, expected {wanted.shape}"
    error = float(np.max(np.abs(ours - wanted), initial=0))
    return "" if error <= 1e-5 else f"off by {error}"


def main():
    folder, ranks, *names = sys.argv[1:]
    wrong = []
    for name, shape, body in GRAPHS:
        if names and name not in names:
            continue
        try:
            said = difference(pathlib.Path(folder), int(ranks), name, shape, body)
        except subprocess.CalledProcessError as error:
            said = error.stderr.strip().splitlines()[-1]
        if said:
            wrong.append(name)
            print(f"{name}: {said}")
    print(f"{len(GRAPHS) - len(wrong)} of {len(GRAPHS)} graphs are right on {ranks} ranks")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
