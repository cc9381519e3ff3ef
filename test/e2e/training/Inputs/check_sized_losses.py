"""Losses that are computed from the number of samples, other than as the divisor of a mean: a note says so where the step computes them of parts of
its batch, and only there. check_sized_losses.py FOLDER"""
import pathlib
import subprocess
import sys

import onnx
import onnx.parser

NOTE = "is computed from the number of samples"
MIXES = "needs several samples together"
ALONE = "depends on that number: "  # with one sample, the note may have another reason: log(1) is no term
# From h [batch, 4], the bias b [4], and n, the number of samples.
SIZED = {
    "a scale of logits": "z = Div(h, n) l = LogSoftmax(z) loss = ReduceMean<keepdims=0>(l)",
    "a scale that is one for the whole batch": "q = Div(eight, n) z = Mul(h, q) l = LogSoftmax(z) loss = ReduceMean<keepdims=0>(l)",
    "inside of a square": "z = Div(h, n) d = Sub(z, one) s = Mul(d, d) loss = ReduceMean<keepdims=0>(s)",
    "a term without samples": "m = ReduceMean<keepdims=0>(h) l = Log(n) s = Squeeze(l) loss = Add(m, s)",
    "a penalty": "m = ReduceMean<keepdims=0>(h) q = Div(one, n) d = Sub(b, q) p = Mul(d, d) s = ReduceSum<keepdims=0>(p) loss = Add(m, s)",
    "a factor made of a parameter": "m = ReduceMean<keepdims=0>(h) k = ReduceMean<keepdims=0>(b) r = Squeeze(n) p = Mul(k, r) f = Sigmoid(p) loss = Mul(m, f)"}
OTHERS = {
    "a mean by hand": "s = ReduceSum<keepdims=0>(h) r = Squeeze(n) loss = Div(s, r)",
    "a mean of squares by hand": "q = Mul(h, h) s = ReduceSum<keepdims=0>(q) r = Squeeze(n) d = Mul(r, four) loss = Div(s, d)",
    "a mask of ones": "i = Identity(size) e = Concat<axis=0>(i, last) o = Expand(one, e) z = Mul(h, o) t = Tanh(z) loss = ReduceMean<keepdims=0>(t)",
    "rows by numbers": "r = Squeeze(size) a = Range(zero, r, step) g = Gather(h, a) t = Tanh(g) loss = ReduceMean<keepdims=0>(t)",
    "a normalization of the batch":
        "d = Concat<axis=0>(size, planes) v = Reshape(h, d) y, mean2, var2 = BatchNormalization<training_mode=1>(v, gamma, beta, mean, var) "
        "t = Tanh(y) loss = ReduceMean<keepdims=0>(t)",
    "a term of weight 0 that mixes": "s = Softmax<axis=0>(h) z = ReduceSum<keepdims=0>(s) n0 = Mul(z, nothing) m = ReduceMean<keepdims=0>(h) loss = Add(m, n0)",
    "a large constant of all samples":
        "k = Range(zero, many, step) f = Cast<to=1>(k) e = Concat<axis=0>(size, sizes) o = Expand(f, e) m = ReduceMean<axes=[1]>(h) z = Mul(m, o) t = Tanh(z) "
        "loss = ReduceMean<keepdims=0>(t)",
    "other shapes": "e = Concat<axis=0>(size, halves) v = Reshape(h, e) t = Tanh(v) loss = ReduceMean<keepdims=0>(t)"}
LAYOUTS = {"whole": ["--dim", "batch=8"], "single ranks": ["--dim", "batch=1", "--mesh", "dp=2", "--loss-average", "rank"], "halves": ["--dim", "batch=4", "--micro-batches", "2"], "single": ["--dim", "batch=1", "--micro-batches", "8"],
           "ranks": ["--dim", "batch=4", "--mesh", "dp=2"]}
PARTS = ("halves", "single")


def compiled(folder, text, options):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]> g (float[batch, 3] x) => (float loss)
        <float[3, 4] w = {{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2}}, float[4] b = {{0.1, 0.2, 0.3, 0.4}}, float[2] gamma = {{1, 1}}, float[2] beta = {{0, 0}},
         float[2] mean = {{0, 0}}, float[2] var = {{1, 1}}>
        {{ planes = Constant<value_ints=[2, 2]>() nothing = Constant<value_float=0.0>() one = Constant<value_float=1.0>() four = Constant<value_float=4.0>() eight = Constant<value_float=8.0>() last = Constant<value_ints=[4]>()
           halves = Constant<value_ints=[2, 2]>() many = Constant<value_int=1500>() sizes = Constant<value_ints=[1500]>() zero = Constant<value_int=0>() step = Constant<value_int=1>() product = MatMul(x, w) h = Add(product, b) size = Shape<start=0, end=1>(h) n = Cast<to=1>(size) {text} }}""")
    used = {name for node in model.graph.node for name in node.input}
    constants = [each for each in model.graph.initializer if each.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(constants)
    onnx.save(model, folder / "m.onnx")
    done = subprocess.run(["cleave", "compile", str(folder / "m.onnx"), "-o", str(folder / "m"), "--emit", "plan", "--train", "--loss-output", "loss", "--optimizer", "sgd",
                           *options], capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit(f"{text}: {done.stderr}")
    return done.stderr


def main():
    folder, failures = pathlib.Path(sys.argv[1]), []
    for name, text in {**SIZED, **OTHERS}.items():
        for layout, options in LAYOUTS.items():
            if name in SIZED and "rank" in options:
                continue  # refused
            notes, expected = compiled(folder, text, options), name in SIZED and layout in PARTS
            note = ALONE if layout == "single" and name in SIZED else NOTE
            if (note in notes) != expected and not (name in SIZED and layout not in PARTS):
                failures.append(f"{name}, {layout}: the note is {'missing' if expected else 'wrong'}:\n{notes}")
            if name in OTHERS and MIXES in notes:
                failures.append(f"{name}, {layout}: no samples meet:\n{notes}")
    print("\n".join(failures) or f"{len(SIZED)} sized losses, {len(OTHERS)} others: ok")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
