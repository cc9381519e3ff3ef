"""`infer` of outputs whose samples are made of other samples, too: they are computed from exactly one global batch, and refused for other numbers of
samples, which would be cut into batches or filled up with copies. So are outputs that depend on the number of samples. What each sample has
alone is computed for any number. A first dimension of the batch's size may have it by coincidence.

  check_mixed_samples.py FOLDER
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from program_plan import seal  # noqa: E402
from small_models import Checks, command, graph  # noqa: E402

WIDTH, BATCH = 4, 4
node = helper.make_node
MIXED = {
    "minus_mean": lambda: [node("ReduceMean", ["x", "first"], ["mean"], keepdims=1), node("Sub", ["x", "mean"], ["minus_mean"])],
    "shares": lambda: [node("Softmax", ["x"], ["shares"], axis=0)],
    "running_sum": lambda: [node("CumSum", ["x", "zero"], ["running_sum"])],
    "minus_largest": lambda: [node("ReduceMax", ["x", "first"], ["most"], keepdims=1), node("Sub", ["x", "most"], ["minus_largest"])],
    "minus_first": lambda: [node("Gather", ["x", "first"], ["one"], axis=0), node("Sub", ["x", "one"], ["minus_first"])],
    "products": lambda: [node("Transpose", ["x"], ["t"]), node("MatMul", ["x", "t"], ["g"]), node("MatMul", ["g", "x"], ["products"])],
    "far": lambda: [node("MatMul", ["shares", "w"], ["s"]), node("Tanh", ["s"], ["far"])],
}
OWN = {
    "layer": lambda: [node("MatMul", ["x", "w"], ["layer"])],
    "own_shares": lambda: [node("Softmax", ["x"], ["own_shares"], axis=1)],
    "own_sum": lambda: [node("CumSum", ["x", "one_axis"], ["own_sum"])],
    "own_mean": lambda: [node("ReduceMean", ["x", "second"], ["m1"], keepdims=1), node("Sub", ["x", "m1"], ["own_mean"])],
    "own_norm": lambda: [node("LayerNormalization", ["x", "ones"], ["own_norm"])],
    "own_products": lambda: [node("Unsqueeze", ["x", "second"], ["row"]), node("Unsqueeze", ["x", "third"], ["column"]),
                             node("MatMul", ["column", "row"], ["square"]),
                             node("MatMul", ["row", "square"], ["long"]), node("Squeeze", ["long", "second"], ["own_products"])],
}


def build(path):
    nodes = [one for make in [*MIXED.values(), *OWN.values()] for one in make()]
    constants = {"first": np.int64([0]), "second": np.int64([1]), "third": np.int64([2]), "zero": np.int64(0), "one_axis": np.int64(1),
                 "ones": np.ones(WIDTH, "f4"), "w": np.random.default_rng(1).standard_normal((WIDTH, WIDTH)).astype("f4")}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", WIDTH]) for name in [*MIXED, *OWN]]
    model = helper.make_model(graph(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH])], outputs, constants),
                              opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def infer(checks, samples, names):
    folder = checks.folder
    np.save(folder / "x.npy", samples)
    done = command(folder / "program", "infer", f"--input=x={folder}/x.npy", *[f"--output={name}={folder}/{name}.npy" for name in names])
    return done.stderr if done.returncode else {name: np.load(folder / f"{name}.npy") for name in names}


def check(checks, session, layout, batch):
    done = command("cleave", "compile", checks.folder / "m.onnx", "-o", checks.folder / "program", "--dim", f"batch={BATCH}", *layout)
    if done.returncode:
        sys.exit(done.stderr)
    draw = np.random.default_rng(2)
    for samples in (batch, batch + 2, 2 * batch, 3):
        x = draw.standard_normal((samples, WIDTH)).astype("f4")
        together = [*OWN, *(MIXED if samples == batch else [])]
        got = infer(checks, x, together)
        if isinstance(got, str):
            sys.exit(got)
        for name, want in zip(together, session.run(together, {"x": x})):
            checks.same(f"{name} of {samples} samples, {layout}", got[name], want, 1e-5)
        for name in MIXED if samples != batch else []:
            refused = infer(checks, x, [name])
            text = (f"output '{name}' may be made of all samples of a batch together: it is computed from exactly one global batch, {batch} samples, "
                    f"and --input holds {samples}")
            checks.note(f"{name} of {samples} samples, {layout}", "" if isinstance(refused, str) and text in refused else f"not refused: {refused}")


# Outputs whose first dimension has the size of the batch, 4: rows of samples, rows that others have or may have a part in (guidance without a
# classifier is refused, too: two batches are laid end to end and cut apart), and a 4 that no batch makes.
CONSTANTS = {"axis0": np.int64([0]), "axis1": np.int64([1]), "axis2": np.int64([2]), "zero": np.int64(0), "one": np.int64(1), "last": np.int64([-1]),
             "beyond": np.int64([-1000]), "four": np.int64([4]), "above": np.int64([1, 0, 0, 0]), "zeros2": np.int64([0, 0]),
             "top_row": np.arange(WIDTH, dtype="f4")[None] + 1}
ROWS = {
    "looked_up": lambda: [node("ArgMax", ["x"], ["best"], axis=1, keepdims=0), node("Gather", ["w", "best"], ["looked_up"])],
    "picked": lambda: [node("Shape", ["x"], ["sizes"]), node("Gather", ["sizes", "zero"], ["count"]), node("Range", ["zero", "count", "one"], ["places"]),
                       node("ArgMax", ["x"], ["most"], axis=1, keepdims=0), node("Unsqueeze", ["places", "axis1"], ["p"]),
                       node("Unsqueeze", ["most", "axis1"], ["m"]), node("Concat", ["p", "m"], ["pairs"], axis=1), node("GatherND", ["x", "pairs"], ["picked"])],
}
TOGETHER = {
    "guided": lambda: [node("Concat", ["x", "x"], ["both"], axis=0), node("Split", ["both"], ["upper", "lower"], axis=0, num_outputs=2),
                       node("MatMul", ["lower", "w"], ["moved"]), node("Sub", ["upper", "moved"], ["guided"])],
    "reversed": lambda: [node("Slice", ["x", "last", "beyond", "axis0", "last"], ["reversed"])],
    "shifted": lambda: [node("Pad", ["x", "above"], ["padded"]), node("Slice", ["padded", "axis0", "last", "axis0"], ["shifted"])],
    "winner": lambda: [node("Hardmax", ["x"], ["winner"], axis=0)],
    "pooled": lambda: [node("Transpose", ["x"], ["t1"]), node("Unsqueeze", ["t1", "axis1"], ["t2"]),
                       node("MaxPool", ["t2"], ["t3"], kernel_shape=[3], pads=[1, 1]), node("Squeeze", ["t3", "axis1"], ["t4"]),
                       node("Transpose", ["t4"], ["pooled"])],
    "numbers": lambda: [node("Shape", ["x"], ["s2"]), node("Gather", ["s2", "zero"], ["n2"]), node("Range", ["zero", "n2", "one"], ["i2"]),
                        node("Cast", ["i2"], ["numbers"], to=TensorProto.FLOAT)],
    "parameter": lambda: [node("Neg", ["w"], ["parameter"])],
    "gram": lambda: [node("Transpose", ["x"], ["t5"]), node("MatMul", ["t5", "x"], ["gram"])],
    "features": lambda: [node("Transpose", ["x"], ["features"])],
    "largest": lambda: [node("TopK", ["x", "four"], ["largest", "at"], axis=0)],
    "above_rest": lambda: [node("Shape", ["x"], ["s3"]), node("Gather", ["s3", "zero"], ["n3"]), node("Sub", ["n3", "one"], ["rest"]),
                           node("Unsqueeze", ["rest", "axis0"], ["rest1"]), node("Concat", ["zeros2", "rest1", "axis0"], ["pads"], axis=0),
                           node("Pad", ["top_row", "pads"], ["padded_row"]), node("Add", ["x", "padded_row"], ["above_rest"])],
    "begin": lambda: [node("Slice", ["x", "axis0", "four", "axis0"], ["begin"])],
    "sums": lambda: [node("ReduceSum", ["x", "axis0"], ["sums"], keepdims=0)],
    "stacked": lambda: [node("Concat", ["x", "x"], ["stacked"], axis=0)],
}


def coincidences(first):
    """The outputs' first dimension is declared as `first`: nothing, a number, the batch, or a name that no input has."""
    groups = {**ROWS, **TOGETHER}
    constants = {**CONSTANTS, "w": np.random.default_rng(1).standard_normal((WIDTH, WIDTH)).astype("f4")}
    ranks = {"picked": 1, "numbers": 1, "sums": 1}
    shapes = {name: [first, WIDTH][:ranks.get(name, 2)] if first else None for name in groups}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    nodes = [one for make in groups.values() for one in make()]
    return helper.make_model(graph(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH])], outputs, constants),
                             opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def check_coincidences(checks):
    """What an output is does not depend on what its file says of its size."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4  # of shapes that are not as declared
    for first in (None, BATCH, "batch", "Addy_dim_0"):
        model = coincidences(first)
        onnx.save(model, checks.folder / "m.onnx")
        done = command("cleave", "compile", checks.folder / "m.onnx", "-o", checks.folder / "program", "--dim", f"batch={BATCH}")
        if done.returncode:
            sys.exit(done.stderr)
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        for samples in (BATCH, BATCH + 2):
            x = np.random.default_rng(3).standard_normal((samples, WIDTH)).astype("f4")
            for name in [*ROWS, *TOGETHER]:
                if name == "begin" and first == "batch":
                    continue  # the first four of four samples are all: nothing contradicts the file
                got = infer(checks, x, [name])
                what = f"{name} of {samples} samples, declared {first}"
                if name in TOGETHER and samples != BATCH:
                    checks.note(what, "" if isinstance(got, str) and "exactly one global batch, 4 samples" in got else f"not refused: {got}")
                else:
                    checks.same(what, got if isinstance(got, str) else got[name], session.run([name], {"x": x})[0], 1e-5)


def batch_size(name):
    """Nodes that make `name`, a number: how many samples there are."""
    return [node("Shape", ["x"], [f"{name}_shape"]), node("Gather", [f"{name}_shape", "zero"], [f"{name}_int"]),
            node("Cast", [f"{name}_int"], [name], to=TensorProto.FLOAT)]


def repeated(name, value, where):
    """Nodes that make `name`: as many of `value` as there are samples, before or behind the four features."""
    sizes = [f"{name}_1", "four"] if where == 0 else ["four", f"{name}_1"]
    return [*batch_size(f"{name}_n"), node("Unsqueeze", [f"{name}_n_int", "axis0"], [f"{name}_1"]),
            node("Concat", sizes, [f"{name}_sizes"], axis=0), node("Expand", [value, f"{name}_sizes"], [name])]


def size_list(name):
    """Nodes that make `name`, a list of one number: how many samples there are."""
    return [*batch_size(f"{name}_n"), node("Unsqueeze", [f"{name}_n_int", "axis0"], [name])]


def begun_rows(name):
    """Nodes that make `name`: as many rows of a matrix as there are samples."""
    return [*size_list(f"{name}_b"), node("Slice", ["matrix", "axis0", f"{name}_b", "axis0"], [name])]


# Outputs that are made of how many samples there are, and of one sample each besides.
SIZED = {
    "times": lambda: [*batch_size("n1"), node("Mul", ["x", "n1"], ["times"])],
    "share": lambda: [node("Size", ["x"], ["size"]), node("Cast", ["size"], ["n2"], to=TensorProto.FLOAT), node("Div", ["x", "n2"], ["share"])],
    "places": lambda: [*batch_size("n3"), node("Div", ["steps", "n3"], ["parts"]), node("Add", ["x", "parts"], ["places"])],
    "quarters": lambda: [*batch_size("n4"), node("Mul", ["n4", "quarter"], ["q4"]), node("Mul", ["x", "q4"], ["quarters"])],  # 1 with four samples
    "logarithm": lambda: [*batch_size("n5"), node("Log", ["n5"], ["log"]), node("Mul", ["x", "log"], ["scaled"]), node("Tanh", ["scaled"], ["logarithm"])],
    "entry": lambda: [*batch_size("n6"), node("Gather", ["table", "n6_int"], ["found"]), node("Add", ["x", "found"], ["entry"])],
    "entries": lambda: [*batch_size("n7"), node("Unsqueeze", ["n7_int", "axis0"], ["end"]), node("Slice", ["table", "axis0", "end", "axis0"], ["begun"]),
                        node("ReduceSum", ["begun", "axis0"], ["begun_sum"], keepdims=0), node("Add", ["x", "begun_sum"], ["entries"])],
    "framed": lambda: [*batch_size("n8"), node("Pad", ["x", "frame", "n8"], ["wide"]), node("MatMul", ["wide", "w6"], ["framed"])],
    "last_row": lambda: [*begun_rows("r1"), node("Tanh", ["r1"], ["r1_t"]), node("Slice", ["r1_t", "last", "far", "axis0"], ["r1_l"]),
                         node("Add", ["x", "r1_l"], ["last_row"])],
    "best_row": lambda: [*begun_rows("r2"), node("TopK", ["r2", "axis1"], ["r2_top", "r2_i"], axis=0), node("Add", ["x", "r2_top"], ["best_row"])],
    "last_column": lambda: [*size_list("r3"), node("Concat", ["x", "x"], ["r3_w"], axis=1), node("Slice", ["r3_w", "axis0", "r3", "axis1"], ["r3_s"]), node("Tanh", ["r3_s"], ["r3_t"]),
                            node("Slice", ["r3_t", "last", "far", "axis1"], ["last_column"])],
    "end_column": lambda: [*size_list("r4"), node("Neg", ["r4"], ["r4_neg"]), node("Concat", ["x", "x"], ["r4_w"], axis=1),
                           node("Slice", ["r4_w", "r4_neg", "far", "axis1"], ["r4_s"]),
                           node("Slice", ["r4_s", "axis0", "axis1", "axis1"], ["end_column"])],
    "padded_end": lambda: [*size_list("r5"), node("Concat", ["axis0", "axis0", "axis0", "r5"], ["r5_p"], axis=0), node("Pad", ["x", "r5_p"], ["r5_x"]),
                           node("Slice", ["r5_x", "minus_four", "far", "axis1"], ["padded_end"])],
    "tiled_best": lambda: [*size_list("r6"), node("Concat", ["axis1", "r6"], ["r6_t"], axis=0), node("Tile", ["x", "r6_t"], ["r6_x"]),
                           node("TopK", ["r6_x", "four"], ["tiled_best", "r6_i"])],
    "capped": lambda: [*batch_size("n9"), node("Mul", ["x", "n_eight"], ["large"]), node("Clip", ["large", "", "n9"], ["capped"])],
}
# Those that change only where there are many samples, or a certain number: batches of 4 and of 8 are computed alike.
DECIDED = {
    "factorial": lambda: [*batch_size("d40"), node("Add", ["d40_int", "one"], ["d40_end"]), node("Range", ["one", "d40_end", "one"], ["d40_i"]),
                          node("ReduceProd", ["d40_i", ""], ["d40_p"], keepdims=0), node("Cast", ["d40_p"], ["d40_real"], to=TensorProto.FLOAT),
                          node("Mul", ["x", "d40_real"], ["factorial"])],
    "fours": lambda: [*size_list("d41"), node("Concat", ["axis1", "d41"], ["d41_s"], axis=0), node("Cast", ["d41_s"], ["d41_r"], to=TensorProto.FLOAT),
                      node("Mul", ["d41_r", "quarter"], ["d41_q"]), node("Floor", ["d41_q"], ["d41_f"]), node("Gather", ["d41_f", "one"], ["d41_chosen"]),
                      node("Add", ["x", "d41_chosen"], ["fours"])],
    "many": lambda: [*batch_size("d1"), node("Greater", ["d1_int", "hundred"], ["d1_is"]), node("Neg", ["x"], ["d1_neg"]),
                      node("Where", ["d1_is", "d1_neg", "x"], ["many"])],
    "exactly": lambda: [*batch_size("d2"), node("Equal", ["d2_int", "hundred"], ["d2_is"]), node("Cast", ["d2_is"], ["d2_real"], to=TensorProto.FLOAT),
                        node("Add", ["x", "d2_real"], ["exactly"])],
    "branch": lambda: [*batch_size("d3"), node("LessOrEqual", ["d3_int", "hundred"], ["d3_is"]),
                       node("If", ["d3_is"], ["branch"], then_branch=branch("Tanh", "d3_t"), else_branch=branch("Neg", "d3_e"))],
    "hundreds": lambda: [*batch_size("d4"), node("Div", ["d4_int", "hundred"], ["d4_q"]), node("Cast", ["d4_q"], ["d4_real"], to=TensorProto.FLOAT),
                         node("Add", ["x", "d4_real"], ["hundreds"])],
    "odd": lambda: [*batch_size("d5"), node("Mod", ["d5_int", "four_int"], ["d5_r"]), node("Cast", ["d5_r"], ["d5_real"], to=TensorProto.FLOAT),
                    node("Add", ["x", "d5_real"], ["odd"])],
    "at_least": lambda: [*batch_size("d6"), node("Max", ["d6", "d_hundred"], ["d6_m"]), node("Mul", ["x", "d6_m"], ["at_least"])],
    "between": lambda: [*batch_size("d7"), node("Clip", ["d7", "d_hundred"], ["d7_c"]), node("Mul", ["x", "d7_c"], ["between"])],
    "over": lambda: [*batch_size("d8"), node("Sub", ["d8", "d_hundred"], ["d8_s"]), node("Relu", ["d8_s"], ["d8_r"]), node("Add", ["x", "d8_r"], ["over"])],
    "floored": lambda: [*batch_size("d9"), node("Div", ["d9", "d_hundred"], ["d9_q"]), node("Floor", ["d9_q"], ["d9_f"]), node("Add", ["x", "d9_f"], ["floored"])],
    "longest": lambda: [node("Shape", ["x"], ["d10_s"]), node("Concat", ["d10_s", "d_hundreds"], ["d10_l"], axis=0),
                        node("ReduceMax", ["d10_l"], ["d10_m"], keepdims=0), node("Cast", ["d10_m"], ["d10_real"], to=TensorProto.FLOAT),
                        node("Mul", ["x", "d10_real"], ["longest"])],
    "first_rows": lambda: [node("Slice", ["x", "axis0", "d_hundreds", "axis0"], ["first_rows"])],
    "last_rows": lambda: [node("Slice", ["x", "d_minus_hundreds", "far", "axis0"], ["last_rows"])],
    "early": lambda: [*batch_size("d11"), node("Range", ["zero", "d11_int", "one"], ["d11_i"]), node("Less", ["d11_i", "hundred"], ["d11_is"]),
                      node("Unsqueeze", ["d11_is", "axis1"], ["d11_c"]), node("Neg", ["x"], ["d11_n"]), node("Where", ["d11_c", "d11_n", "x"], ["early"])],
}
# Those that the import computes in a form that depends on the number: x ** 1 is x, x ** 2 is a product, and a loop is its turns one by one.
FORMS = {
    "power": lambda: [*batch_size("n12"), node("Abs", ["x"], ["size_of_x"]), node("Pow", ["size_of_x", "n12"], ["power"])],
    "turns": lambda: [*batch_size("n13"), node("Loop", ["n13_int", "", "x"], ["turns"], body=halving())],
}


def branch(operator, name):
    return helper.make_graph([node(operator, ["x"], [name])], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])


def halving():
    ports = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in
             (("turn", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), ("v", TensorProto.FLOAT, None))]
    results = [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), helper.make_tensor_value_info("half_v", TensorProto.FLOAT, None)]
    return helper.make_graph([node("Identity", ["go"], ["go_on"]), node("Mul", ["v", "half"], ["half_v"])], "body", ports, results)


# Outputs with constants of the batch's size that each sample has a part of, and with indices that are counted by it.
UNSIZED = {
    "filled": lambda: [*repeated("fill", "quarter", 0), node("Add", ["x", "fill"], ["filled"])],
    "positions": lambda: [*repeated("position", "columns", 0), node("Gather", ["table", "position"], ["embedded"]), node("Add", ["x", "embedded"], ["positions"])],
    "turned": lambda: [*repeated("row", "steps_down", 1), node("Transpose", ["x"], ["xt"]), node("Add", ["xt", "row"], ["moved_t"]),
                       node("Transpose", ["moved_t"], ["turned"])],
    "flat": lambda: [*repeated("step", "steps_down", 1), node("Transpose", ["x"], ["xt2"]), node("Reshape", ["xt2", "last"], ["flat_x"]),
                     node("Reshape", ["step", "last"], ["flat_step"]), node("Add", ["flat_x", "flat_step"], ["flat_sum"]),
                     node("Reshape", ["flat_sum", "step_sizes"], ["square"]), node("Transpose", ["square"], ["flat"])],
    "tiled": lambda: [*repeated("pattern", "steps_across", 0), node("Reshape", ["x", "last"], ["flat_x2"]),
                      node("Reshape", ["pattern", "last"], ["flat_pattern"]), node("Add", ["flat_x2", "flat_pattern"], ["tiled_sum"]),
                      node("Reshape", ["tiled_sum", "pattern_sizes"], ["tiled"])],
    "chosen": lambda: [node("ArgMax", ["x"], ["top"], axis=1, keepdims=0), *batch_size("n11"), node("Range", ["zero", "n11_int", "one"], ["all"]),
                       node("Unsqueeze", ["all", "axis1"], ["a"]), node("Unsqueeze", ["top", "axis1"], ["t"]), node("Concat", ["a", "t"], ["both_at"], axis=1),
                       node("GatherND", ["x", "both_at"], ["chosen"])],
    # Comparisons and quotients that have one result for every number of samples.
    "expanded": lambda: [*size_list("u1"), node("Concat", ["u1", "last"], ["u1_s"], axis=0), node("Equal", ["u1_s", "last"], ["u1_is"]),
                         node("Where", ["u1_is", "one", "u1_s"], ["u1_w"]), node("Expand", ["quarter", "u1_w"], ["u1_x"]), node("Add", ["x", "u1_x"], ["expanded"])],
    "some": lambda: [*batch_size("u2"), node("Greater", ["u2_int", "zero"], ["u2_is"]), node("Neg", ["x"], ["u2_neg"]),
                     node("Where", ["u2_is", "u2_neg", "x"], ["some"])],
    "divided": lambda: [node("Size", ["x"], ["u3_s"]), node("Div", ["u3_s", "four_int"], ["u3_n"]), node("Mod", ["u3_s", "four_int"], ["u3_r"]),
                        node("Cast", ["u3_r"], ["u3_real"], to=TensorProto.FLOAT), node("Unsqueeze", ["u3_n", "axis0"], ["u3_1"]),
                        node("Concat", ["u3_1", "four"], ["u3_sizes"], axis=0), node("Reshape", ["x", "u3_sizes"], ["u3_x"]),
                        node("Add", ["u3_x", "u3_real"], ["divided"])],
    "from_end": lambda: [*batch_size("u4"), node("Range", ["zero", "u4_int", "one"], ["u4_i"]), node("Less", ["u4_i", "zero"], ["u4_is"]),
                         node("Add", ["u4_i", "u4_int"], ["u4_up"]), node("Where", ["u4_is", "u4_up", "u4_i"], ["u4_w"]), node("Unsqueeze", ["u4_w", "axis1"], ["u4_u"]),
                         node("GatherND", ["x", "u4_u"], ["from_end"])],
    "every_row": lambda: [node("Slice", ["x", "axis0", "far", "axis0"], ["every_row"])],
}


# The places of samples in a list of all, counted by the model itself: an index below zero would be another sample's.
COUNTED = {
    "taken": lambda: [*batch_size("n10"), node("Range", ["zero", "n10_int", "one"], ["samples"]), node("Mul", ["samples", "width"], ["starts"]),
                      node("ArgMax", ["x"], ["highest"], axis=1, keepdims=0), node("Add", ["starts", "highest"], ["at_flat"]),
                      node("Reshape", ["x", "last"], ["long_x"]), node("Gather", ["long_x", "at_flat"], ["taken"])],
}


def sized():
    draw = np.random.default_rng(4)
    constants = {**CONSTANTS, "quarter": np.float32(0.25), "n_eight": np.float32(8), "steps": np.arange(WIDTH, dtype="f4"), "width": np.int64(WIDTH),
                 "half": np.float32(0.5), "steps_down": np.arange(WIDTH, dtype="f4")[:, None], "columns": np.arange(WIDTH)[None], "frame": np.int64([0, 1, 0, 1]),
                 "steps_across": np.arange(WIDTH, dtype="f4")[None], "table": draw.standard_normal(40).astype("f4"), "w6": draw.standard_normal((WIDTH + 2, WIDTH)).astype("f4")}
    constants |= {"matrix": draw.standard_normal((16, WIDTH)).astype("f4"), "far": np.int64([1 << 60]), "minus_four": np.int64([-4])}
    constants |= {"hundred": np.int64(100), "d_hundred": np.float32(100), "d_hundreds": np.int64([100]), "d_minus_hundreds": np.int64([-100]), "four_int": np.int64(4)}
    groups = {**SIZED, **DECIDED, **FORMS, **UNSIZED, **COUNTED}
    shapes = {"taken": ["batch"], "chosen": ["batch"], **dict.fromkeys(("last_column", "end_column"), ["batch", 1])}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes.get(name, ["batch", WIDTH])) for name in groups]
    return helper.make_model(graph([one for make in groups.values() for one in make()],
                                   [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH])], outputs, constants),
                             opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def check_sized(checks):
    """What depends on the number of samples is not made of a batch that has another."""
    model = sized()
    onnx.save(model, checks.folder / "m.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    depends = {**SIZED, **DECIDED, **FORMS, **COUNTED}
    for batch in (BATCH, 2, 1):  # a factor of 1 leaves no trace in the compiled model, and a power of 2 another one than those of 4 and 6
        done = command("cleave", "compile", checks.folder / "m.onnx", "-o", checks.folder / "program", "--dim", f"batch={batch}")
        if done.returncode:
            sys.exit(done.stderr)
        for samples in (batch, 3):
            x = np.random.default_rng(5).standard_normal((samples, WIDTH)).astype("f4")
            together = [*(UNSIZED if batch > 1 else []), *(depends if samples == batch else [])]
            got = infer(checks, x, together) if together else {}
            for name, want in zip(together, session.run(together, {"x": x})):
                checks.same(f"{name} of {samples} samples, batch {batch}", got if isinstance(got, str) else got[name], want, 1e-5)
            for name in depends if samples != batch else []:
                refused = infer(checks, x, [name])
                text = f"exactly one global batch, {batch} sample"
                checks.note(f"{name} of {samples} samples, batch {batch}", "" if isinstance(refused, str) and text in refused else f"not refused: {refused}")


def check_long_places(checks):
    """Places in the batch that the program counts, since the importer keeps no constant of so many."""
    width = 20000
    nodes = [*batch_size("n14"), node("Mul", ["n14_int", "width"], ["end"]), node("Range", ["zero", "end", "one"], ["counted"]),
             node("Reshape", ["counted", "rows"], ["numbered"]), node("Cast", ["numbered"], ["reals"], to=TensorProto.FLOAT), node("Add", ["x", "reals"], ["y"])]
    constants = {"zero": np.int64(0), "one": np.int64(1), "width": np.int64(width), "rows": np.int64([-1, width])}
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]) for name in "xy")
    onnx.save(helper.make_model(graph(nodes, [x], [y], constants), opset_imports=[helper.make_opsetid("", 18)], ir_version=9), checks.folder / "m.onnx")
    done = command("cleave", "compile", checks.folder / "m.onnx", "-o", checks.folder / "program", "--dim", f"batch={BATCH}")
    if done.returncode:
        sys.exit(done.stderr)
    got = infer(checks, np.zeros((BATCH, width), "f4"), ["y"])
    checks.same("long places", got if isinstance(got, str) else got["y"], np.arange(BATCH * width, dtype="f4").reshape(BATCH, width))
    refused = infer(checks, np.zeros((2 * BATCH, width), "f4"), ["y"])
    checks.note("long places of two batches", "" if isinstance(refused, str) and "exactly one global batch, 4 samples" in refused else f"not refused: {refused}")


def check_single_import(checks):
    """A model that cannot be imported with twice the batch: nothing tells what its numbers are made of."""
    nodes = [*batch_size("n"), node("Unsqueeze", ["n_int", "axis0"], ["end"]), node("Slice", ["table", "axis0", "end", "axis0"], ["begun"]),
             node("Add", ["x", "begun"], ["moved"]), node("Div", ["x", "n"], ["share"]),
             node("TopK", ["x", "end"], ["largest", "at"]), node("Slice", ["largest", "last", "far", "axis1"], ["nth"])]
    constants = {"zero": np.int64(0), "axis0": np.int64([0]), "axis1": np.int64([1]), "last": np.int64([-1]), "far": np.int64([1 << 60]), "table": np.random.default_rng(6).standard_normal((6, WIDTH)).astype("f4")}
    x, *outputs = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", WIDTH]) for name in ("x", "moved", "share"))
    outputs.append(helper.make_tensor_value_info("nth", TensorProto.FLOAT, ["batch", 1]))
    onnx.save(helper.make_model(graph(nodes, [x], outputs, constants), opset_imports=[helper.make_opsetid("", 18)], ir_version=9), checks.folder / "m.onnx")
    done = command("cleave", "compile", checks.folder / "m.onnx", "-o", checks.folder / "program", "--dim", f"batch={BATCH}")
    if done.returncode:
        sys.exit(done.stderr)
    for name in ("moved", "share", "nth"):
        refused = infer(checks, np.ones((3, WIDTH), "f4"), [name])
        checks.note(f"{name}, imported once", "" if isinstance(refused, str) and "exactly one global batch, 4 samples" in refused else f"not refused: {refused}")


# A reshape after which nothing says which rows are whose: those of a turned matrix, pairs across the copies of a batch, and parts of a list.
LOST = {
    "minus_last": lambda: [node("Reshape", ["x", "all"], ["flat1"]), node("Slice", ["flat1", "minus", "far"], ["part1"]), node("Sub", ["x", "part1"], ["minus_last"])],
    "minus_begin": lambda: [node("Reshape", ["x", "all"], ["flat2"]), node("Slice", ["flat2", "none", "plus"], ["part2"]), node("Sub", ["x", "part2"], ["minus_begin"])],
    "minus_most": lambda: [node("Reshape", ["x", "all"], ["flat3"]), node("TopK", ["flat3", "plus"], ["part3", "at3"]), node("Sub", ["x", "part3"], ["minus_most"])],
    "minus_some": lambda: [node("Reshape", ["x", "all"], ["flat4"]), node("Gather", ["flat4", "some"], ["part4"]), node("Sub", ["x", "part4"], ["minus_some"])],
    "turned": lambda: [node("Transpose", ["x"], ["t"]), node("Reshape", ["t", "rows"], ["turned"])],
    "pairs": lambda: [node("Concat", ["x", "x"], ["both"], axis=0), node("Reshape", ["both", "twos"], ["two"]),
                      node("ReduceSum", ["two", "second"], ["pairs"], keepdims=0)],
    "tiled_pairs": lambda: [node("Tile", ["x", "twice"], ["tiles"]), node("Reshape", ["tiles", "twos"], ["tile_pairs"]),
                            node("ReduceSum", ["tile_pairs", "second"], ["tiled_pairs"], keepdims=0)],
}


def check_lost_places(checks):
    for batch, width in ((4, 3), (3, 2), (2, 3), (1, 3)):
        constants = {"rows": np.int64([-1, width]), "twos": np.int64([-1, 2, width]), "twice": np.int64([2, 1]), "second": np.int64([1]),
                     "all": np.int64([-1]), "minus": np.int64([-width]), "plus": np.int64([width]), "none": np.int64([0]), "far": np.int64([1 << 60]),
                     "some": np.arange(width)[::-1].copy()}
        x, *outputs = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]) for name in ["x", *LOST])
        model = helper.make_model(graph([one for make in LOST.values() for one in make()], [x], outputs, constants),
                                  opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, checks.folder / "m.onnx")
        done = command("cleave", "compile", checks.folder / "m.onnx", "-o", checks.folder / "program", "--dim", f"batch={batch}")
        if done.returncode:
            sys.exit(done.stderr)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        for samples in (batch, 2 * batch, 5):
            x = np.random.default_rng(5).standard_normal((samples, width)).astype("f4")
            for name, want in zip(LOST, session.run(list(LOST), {"x": x})):
                got, what = infer(checks, x, [name]), f"{name} of {samples} samples, batch {batch} x {width}"
                if samples == batch:
                    checks.same(what, got if isinstance(got, str) else got[name], want, 1e-5)
                else:
                    checks.note(what, "" if isinstance(got, str) and f"exactly one global batch, {batch} sample" in got else f"not refused: {got}")


def check_single(checks):
    """An input without a batch dimension takes one array, and not one for each sample."""
    inputs = {"x": ["batch", WIDTH], "c": [WIDTH]}
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    model = helper.make_model(graph([node("Sub", ["x", "c"], ["y"])], ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", WIDTH])]),
                              opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    folder = checks.folder
    onnx.save(model, folder / "single.onnx")
    done = command("cleave", "compile", folder / "single.onnx", "-o", folder / "single", "--dim", f"batch={BATCH}")
    np.save(folder / "x.npy", np.ones((BATCH, WIDTH), "f4"))
    np.save(folder / "c.npy", np.full(WIDTH, 3, "f4"))
    c = folder / "c.npy"
    words = ["infer", f"--input=x={folder}/x.npy", f"--output=y={folder}/y.npy"]
    one, two = (command(folder / "single", *words, f"--input=c={files}") for files in (c, f"{c},{c}"))
    checks.note("one array", done.stderr + one.stderr if done.returncode or one.returncode else "")
    checks.note("two arrays", "" if two.returncode and "input 'c' has no batch dimension and takes one" in two.stderr else f"not refused: {two.stderr}")


def check_unsaid(checks):
    """What a program does not say of an output may be anything: after a change of the property's text, only a whole batch is taken."""
    folder = checks.folder
    done = command("cleave", "compile", folder / "single.onnx", "-o", folder / "said", "--dim", f"batch={BATCH}")
    program = (folder / "said").read_bytes()
    at = program.index(b"mixes.y")  # its text stands beside it
    around = slice(at - 64, at + 64)
    changed = program[around].replace(b"nothing", b"nothinq")
    checks.note("the property's text", "" if changed != program[around] else f"not found in {program[around]}")
    unsaid = bytearray(program[:at - 64] + changed + program[at + 64:])
    seal(unsaid)
    (folder / "unsaid").write_bytes(unsaid)
    (folder / "unsaid").chmod(0o755)
    for count in (BATCH, BATCH + 1):
        np.save(folder / "x.npy", np.ones((count, WIDTH), "f4"))
        words = ["infer", f"--input=x={folder}/x.npy", f"--input=c={folder}/c.npy", f"--output=y={folder}/y.npy"]
        said, unsaid = (command(folder / name, *words) for name in ("said", "unsaid"))
        checks.note(f"said of {count}", done.stderr + said.stderr if done.returncode or said.returncode else "")
        is_refused = bool(unsaid.returncode) and "exactly one global batch" in unsaid.stderr
        checks.note(f"unsaid of {count}", "" if is_refused == (count != BATCH) else f"got {unsaid.returncode}: {unsaid.stderr}")


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    build(all_checks.folder / "m.onnx")
    onnx_session = onnxruntime.InferenceSession(str(all_checks.folder / "m.onnx"), providers=["CPUExecutionProvider"])
    check(all_checks, onnx_session, [], BATCH)
    check(all_checks, onnx_session, ["--mesh", "dp=2"], 2 * BATCH)
    check_coincidences(all_checks)
    check_sized(all_checks)
    check_long_places(all_checks)
    check_lost_places(all_checks)
    check_single_import(all_checks)
    check_single(all_checks)
    check_unsaid(all_checks)
    all_checks.end()
