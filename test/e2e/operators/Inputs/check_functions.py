"""Model-local functions, and graphs inside of nodes, as the standard has them: default attributes, overloads, opsets of their own, metadata,
names that are used again around them, and tensors of theirs that lie in the model's data file.

  check_functions.py FOLDER
"""
import pathlib
import sys

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from small_models import Checks, command, graph, value  # noqa: E402

X = np.float32([[-1.0, 2.0, -3.0], [0.5, -0.25, 4.0]])
YES = {"yes": np.array(True)}
node = helper.make_node


def function(name, inputs, outputs, nodes, opset=21, defaults=None, overload="", domains=()):
    imports = [helper.make_opsetid("", opset), *[helper.make_opsetid(domain, 1) for domain in domains]]
    made = helper.make_function("my", name, inputs, outputs, nodes, imports, attributes=[],
                                attribute_protos=[helper.make_attribute(*one) for one in (defaults or {}).items()])
    made.overload = overload
    return made


def referring(one, attribute, kind, parameter="a"):
    """`one`, whose attribute is that of the call."""
    one.attribute.append(AttributeProto(name=attribute, ref_attr_name=parameter, type=kind))
    return one


def call(name, inputs, outputs, overload="", **attributes):
    made = node(name, inputs, outputs, domain="my", **attributes)
    made.overload = overload
    return made


def default_attributes(checks):
    def check(name, nodes, defaults, want, **attributes):
        checks.check(name, [call("F", ["x"], ["y"], **attributes)], {"x": X}, {"y": want}, domains=["my"],
                     functions=[function("F", ["x"], ["y"], nodes, defaults=defaults)])

    leaky = [referring(node("LeakyRelu", ["x"], ["y"]), "alpha", AttributeProto.FLOAT)]
    check("default_number", leaky, {"a": 0.5}, np.where(X < 0, X * np.float32(0.5), X))
    check("given_number", leaky, {"a": 0.5}, np.where(X < 0, X * np.float32(0.25), X), a=0.25)
    softmax = np.exp(X) / np.exp(X).sum(0)
    check("default_axis", [referring(node("Softmax", ["x"], ["y"]), "axis", AttributeProto.INT)], {"a": 0}, softmax)
    constant = referring(node("Constant", [], ["k"]), "value_float", AttributeProto.FLOAT)
    check("default_constant", [constant, node("Mul", ["x", "k"], ["y"])], {"a": 3.0}, X * 3)

    # What the outer function's default is goes on to the function that it calls, and into a branch.
    inner = function("In", ["x"], ["y"], leaky, defaults={"a": 0.125})
    outer = function("Out", ["x"], ["y"], [referring(call("In", ["x"], ["y"]), "a", AttributeProto.FLOAT, "b")], defaults={"b": 0.5}, domains=["my"])
    checks.check("default_nested", [call("Out", ["x"], ["y"])], {"x": X}, {"y": np.where(X < 0, X * np.float32(0.5), X)}, domains=["my"],
                 functions=[inner, outer])
    branches = [graph([referring(node("LeakyRelu", ["x"], [result]), "alpha", AttributeProto.FLOAT)], outputs=[value(result, X)], name=result)
                for result in ("p", "q")]
    chooses = function("F", ["x", "c"], ["y"], [node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])], defaults={"a": 0.5})
    checks.check("default_in_branch", [call("F", ["x", "yes"], ["y"])], {"x": X}, {"y": np.where(X < 0, X * np.float32(0.5), X)},
                 initializers=YES, domains=["my"], functions=[chooses])


def overloads(checks):
    plain, other = (function("F", ["x"], ["y"], [node(kind, ["x"], ["y"])], overload=word) for kind, word in (("Neg", ""), ("Exp", "b")))
    outer = function("G", ["x"], ["y"], [call("F", ["x"], ["y"], overload="b")], domains=["my"])
    # onnxruntime takes the overload "" inside of functions.
    for name, functions in (("overload_nested", [plain, other, outer]), ("overload_alone", [other, outer])):
        checks.check(name, [call("G", ["x"], ["y"])], {"x": X}, {"y": np.exp(X)}, functions=functions, domains=["my"], peer=False)


def metadata(checks):
    """torch.export's detach() in a function's body: the gradient ends there, as in the graph."""
    def ended():
        made = node("Identity", ["h"], ["d"], name="n")
        entry = made.metadata_props.add()
        entry.key = "pkg.torch.onnx.fx_node"
        entry.value = "%d : [num_users=1] = call_function[target=torch.ops.aten.detach.default](args = (%h,), kwargs = {})"
        return made

    ends = [node("MatMul", ["d", "w2"], ["o"]), node("Mul", ["o", "o"], ["s"]), node("ReduceMean", ["s"], ["loss"], keepdims=0)]
    weights = {"w1": np.ones((3, 3), "f4"), "w2": np.ones((3, 1), "f4")}
    for name, middle, functions in (("detach_graph", ended(), []),
                                    ("detach_function", call("D", ["h"], ["d"]), [function("D", ["h"], ["d"], [ended()])])):
        path = checks.model(name, [node("MatMul", ["x", "w1"], ["h"]), middle, *ends], {"x": X}, {"loss": np.float32(0)}, initializers=weights,
                            functions=functions, domains=["my"])
        done = command("cleave", "compile", path, "-o", path.with_suffix(".plan"), "--emit", "plan", "--train", "--loss-output", "loss",
                       "--optimizer", "sgd")
        told = done.stdout + done.stderr
        checks.note(name, "" if "not trained, because the gradient ends at a decision or a detach(): w1" in told else told)


def untrained(checks):
    """Weights inside of a branch are constants: a note says so."""
    then = graph([node("MatMul", ["x", "inner"], ["p"])], outputs=[value("p", X)], initializers={"inner": np.ones((3, 3), "f4")}, name="t")
    other = graph([node("Abs", ["x"], ["q"])], outputs=[value("q", X)], name="e")
    nodes = [node("If", ["yes"], ["h"], then_branch=then, else_branch=other), node("Mul", ["h", "s"], ["y"]), node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    path = checks.model("untrained", nodes, {"x": X}, {"loss": np.float32(0)}, initializers=YES | {"s": np.ones(3, "f4")})
    done = command("cleave", "compile", path, "-o", path.with_suffix(".plan"), "--emit", "plan", "--train", "--loss-output", "loss", "--optimizer", "sgd")
    told = done.stdout + done.stderr
    checks.note("untrained", "" if "initializer 'inner' lies in a graph of the node and is not trained" in told else told)


def calls_everywhere(checks):
    """One function, called in the graph, in a branch, and in a branch of it: each call has values of its own."""
    body = function("F", ["a"], ["b"], [node("Relu", ["a"], ["t"]), node("Neg", ["t"], ["b"])])

    def branch(name, nodes, result):
        return graph(nodes, outputs=[value(result, X)], name=name)

    inner = node("If", ["yes"], ["i"], then_branch=branch("tt", [call("F", ["x"], ["p"])], "p"), else_branch=branch("te", [node("Abs", ["x"], ["q"])], "q"))
    then = branch("t", [inner, call("F", ["x"], ["k"]), node("Add", ["i", "k"], ["r"])], "r")
    nodes = [call("F", ["x"], ["y"]), node("If", ["yes"], ["w"], then_branch=then, else_branch=branch("e", [node("Abs", ["x"], ["s"])], "s"))]
    want = -np.maximum(X, 0)
    checks.check("calls_everywhere", nodes, {"x": X}, {"y": want, "w": 2 * want}, initializers=YES, functions=[body], domains=["my"])


def opsets(checks):
    """A branch inside of a function is read with the function's opset. onnxruntime reads it with the model's."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 1)).astype("f4")

    def check(name, branch, want):
        other = graph([node("Identity", ["a"], ["o"])], outputs=[helper.make_tensor_value_info("o", TensorProto.FLOAT, None)], name="e")
        body = function("G", ["a", "c"], ["b"], [node("If", ["c"], ["b"], then_branch=branch, else_branch=other)], opset=17)
        checks.check(name, [call("G", ["x", "yes"], ["y"])], {"x": x}, {"y": want}, initializers=YES, opset=20, functions=[body], domains=["my"],
                     peer=False)

    spectrum = np.fft.fft(x[..., 0], axis=1)
    free = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    check("opset_of_default", graph([node("DFT", ["a"], ["z"])], outputs=free), np.stack([spectrum.real, spectrum.imag], -1).astype("f4"))
    check("opset_of_attribute", graph([node("ReduceMean", ["a"], ["z"], axes=[1], keepdims=0)], outputs=free), x.mean(1))


def names(checks):
    """A name inside of a branch or a body, which the graph around it uses later."""
    def branch(nodes, result):
        return graph(nodes, outputs=[value(result, X)], name=result)

    def body(state, nodes, result):
        return graph([node("Identity", ["c"], ["d"]), *nodes], [value("i", np.int64(0)), value("c", np.array(True)), value(state, X)],
                     [value("d", np.array(True)), value(result, X)], name="body")

    later = [node("Abs", ["w"], ["t"]), node("Neg", ["t"], ["y"])]
    turns = {**YES, "n": np.int64(2)}

    def check(name, nodes, want):
        checks.check(name, nodes, {"x": X}, {"y": want}, initializers=turns)

    least = -np.maximum(X, 0)
    relu_neg = [node("Relu", ["x"], ["t"]), node("Neg", ["t"], ["q"])]
    check("value_of_branch", [node("If", ["yes"], ["w"], then_branch=branch(relu_neg, "q"), else_branch=branch([node("Abs", ["x"], ["r"])], "r")), *later],
          -abs(least))
    check("result_of_branch", [node("If", ["yes"], ["w"], then_branch=branch([node("Relu", ["x"], ["w"])], "w"),
                                    else_branch=branch([node("Abs", ["x"], ["w"])], "w")), node("Neg", ["w"], ["y"])], least)
    check("value_of_body", [node("Loop", ["n", "yes", "x"], ["w"], body=body("s", [node("Exp", ["s"], ["t"]), node("Neg", ["t"], ["q"])], "q")), *later],
          -np.exp(-np.exp(X)))
    check("result_of_body", [node("Loop", ["n", "yes", "x"], ["w"], body=body("s", [node("Sin", ["s"], ["w"])], "w")), node("Neg", ["w"], ["y"])],
          -np.sin(np.sin(X)))
    check("input_of_body", [node("Loop", ["n", "yes", "x"], ["w"], body=body("t", [node("Tanh", ["t"], ["q"])], "q")), *later], -abs(np.tanh(np.tanh(X))))


def external_data(checks):
    """Where a model's tensors lie in a file of their own, those of branches and of Constant nodes do, too."""
    x, w = (np.random.default_rng(seed).standard_normal((1, 1000)).astype("f4") for seed in (1, 2))

    def save(name):
        (checks.folder / f"{name}.data").unlink(missing_ok=True)  # onnx appends to it
        return {"save_as_external_data": True, "location": f"{name}.data"}

    then = graph([node("Add", ["x", "w"], ["q"])], outputs=[value("q", x)], initializers={"w": w}, name="t")
    other = graph([node("Abs", ["x"], ["r"])], outputs=[value("r", x)], name="e")
    checks.check("external_branch", [node("If", ["yes"], ["y"], then_branch=then, else_branch=other)], {"x": x}, {"y": x + w}, initializers=YES,
                 **save("external_branch"))
    constant = node("Constant", [], ["w"], value=numpy_helper.from_array(w))
    checks.check("external_constant", [constant, node("Add", ["x", "w"], ["y"])], {"x": x}, {"y": x + w}, convert_attribute=True,
                 **save("external_constant"))


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    for part in (default_attributes, overloads, metadata, untrained, calls_everywhere, opsets, names, external_data):
        part(all_checks)
    all_checks.end()
