#!/usr/bin/env python3
"""Hostile and damaged models: hostile.py IMPORTER SCRATCH, hostile.py "cleave compile" SCRATCH. Each must end with exit code 1 (the compiler
has 2 for models that cannot be what was meant), one line that says what is wrong, and no file written."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

importer, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
CASES = []


def case(expected):
    def register(function):
        CASES.append((function.__name__, function, expected))
        return function
    return register


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs=None, outputs=None, initializers=(), functions=(), opset=17):
    inputs = [value("x", [2, 2])] if inputs is None else inputs
    outputs = [value("y", [2, 2])] if outputs is None else outputs
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    domains = [helper.make_opsetid("", opset)] + [helper.make_opsetid("local", 1)] * bool(functions)
    return helper.make_model(graph, opset_imports=domains, functions=list(functions))


def node(op="Relu", inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name="n_" + outputs[0], **attributes)


def weight(name="w", shape=(2, 2)):
    return onnx.numpy_helper.from_array(np.ones(shape, np.float32), name)


def external(location, offset=None, length=None, shape=(2, 2), **more):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, entry in (("location", location), ("offset", offset), ("length", length), *more.items()):
        if entry is not None:
            tensor.external_data.add(key=key, value=str(entry))
    return model([node("Add", ("x", "w"))], initializers=[tensor])


(scratch / "good.bin").write_bytes(b"\0" * 16)
(scratch / "linked.bin").write_bytes(b"\0" * 16)
os.link(scratch / "linked.bin", scratch / "second-name.bin")
os.symlink("good.bin", scratch / "soft.bin")
(scratch / "folder").mkdir()
os.symlink("folder", scratch / "soft-folder")
(scratch / "folder" / "w.bin").write_bytes(b"\0" * 16)
os.mkfifo(scratch / "pipe.bin")


@case("the file is empty")
def empty():
    return b""


@case("not a whole ONNX model")
def garbage():
    return bytes(range(256)) * 4


@case("not a whole ONNX model")
def truncated():
    return model([node()], initializers=[weight(shape=(16, 16))]).SerializeToString()[:-200]


@case("has no graph")
def no_graph():
    return onnx.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)])


@case("has no outputs")
def no_outputs():
    return model([node()], outputs=[])


@case("imports no operator set")
def no_opset():
    result = model([node()])
    del result.opset_import[:]
    return result


@case("13 or newer is needed")
def old_opset():
    return model([node()], opset=9)


@case("its attribute 'approximate' is 'fast'; expected none or tanh")
def unknown_approximation():
    return model([node("Gelu", approximate="fast")], opset=20)


@case("its attribute 'mode' is 'RCD'; expected DCR or CRD")
def unknown_depth_order():
    return model([node("DepthToSpace", mode="RCD", blocksize=1)], inputs=[value("x", [1, 1, 2, 2])])


@case("its attribute 'epsilon' must be a number of 0 or more")
def epsilon_that_is_none():
    return model([node("LayerNormalization", ("x", "w"), epsilon=float("nan"))], initializers=[weight(shape=(2,))])


@case("initializer 'w' and 39 more: external data file 'missing.bin' cannot be opened beside the model")
def missing_external_data():
    result = external("missing.bin")
    for i in range(39):
        result.graph.initializer.append(result.graph.initializer[0])
        result.graph.initializer[-1].name = f"w{i}"
    return result


@case("a cycle")
def cycle():
    return model([node("Add", ("x", "b"), ("a",)), node("Relu", ("a",), ("b",)), node("Relu", ("b",), ("y",))])


@case("reads 'nowhere', which nothing defines")
def undefined():
    return model([node("Add", ("x", "nowhere"))])


@case("defines 'y', which is defined already")
def duplicate_output():
    return model([node(), node()])


@case("initializer 'w' is defined twice")
def duplicate_initializer():
    return model([node("Add", ("x", "w"))], initializers=[weight(), weight()])


@case("input 'x' is declared twice")
def duplicate_input():
    return model([node()], inputs=[value("x", [2, 2]), value("x", [2, 2])])


def scan(**directions):
    body = helper.make_graph([helper.make_node("Identity", ["p"], ["q"])], "body", [value("p", [2])], [value("q", [2])])
    return model([node("Scan", ("x",), num_scan_inputs=1, body=body, **directions)])


@case("its attribute 'scan_input_directions' has 7; expected 0 or 1")
def scan_input_direction():
    return scan(scan_input_directions=[7])


@case("its attribute 'scan_output_directions' has -1; expected 0 or 1")
def scan_output_direction():
    return scan(scan_output_directions=[-1])


@case("output 'z' is defined by no node")
def missing_output():
    return model([node()], outputs=[value("z", [2, 2])])


@case("attribute 'alpha' refers to an attribute 'slope' of a function (ref_attr_name), and the node is in no function")
def reference_outside_a_function():
    elu = node("Elu")
    elu.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    return model([elu])


@case("calls itself")
def recursive_function():
    body = helper.make_function("local", "f", ["a"], ["b"], [helper.make_node("f", ["a"], ["b"], domain="local")],
                                [helper.make_opsetid("local", 1)])
    return model([helper.make_node("f", ["x"], ["y"], domain="local")], functions=[body])


@case("asks for 16777216 nodes; of the 100")
def exploding_functions():
    functions, domains = [], [helper.make_opsetid("local", 1), helper.make_opsetid("", 17)]
    for level in range(24):
        inner = ("Relu", "") if level == 0 else (f"f{level - 1}", "local")
        nodes = [helper.make_node(inner[0], ["a"], ["t"], domain=inner[1]), helper.make_node(inner[0], ["t"], ["b"], domain=inner[1])]
        functions.append(helper.make_function("local", f"f{level}", ["a"], ["b"], nodes, domains))
    return model([helper.make_node("f23", ["x"], ["y"], domain="local")], functions=functions)


@case("node 'call' (f) calls a function of the domain 'local', which the model does not import; add the domain to its opset_import")
def domain_not_imported():
    body = helper.make_function("local", "f", ["a"], ["b"], [node("Relu", ("a",), ("b",))], [helper.make_opsetid("", 17)])
    result = model([helper.make_node("f", ["x"], ["y"], name="call", domain="local")], functions=[body])
    kept = [opset for opset in result.opset_import if opset.domain == ""]
    del result.opset_import[:]
    result.opset_import.extend(kept)
    return result


@case("function 'f' has the output 'b', which none of its nodes defines")
def function_without_output():
    body = helper.make_function("local", "f", ["a"], ["b"], [node("Relu", ("a",), ("c",))], [helper.make_opsetid("", 17)])
    return model([helper.make_node("f", ["x"], ["y"], domain="local")], functions=[body])


@case("deeper than 32")
def deep_functions():
    functions, domains = [], [helper.make_opsetid("local", 1), helper.make_opsetid("", 17)]
    for level in range(64):
        inner = ("Relu", "") if level == 0 else (f"f{level - 1}", "local")
        functions.append(helper.make_function("local", f"f{level}", ["a"], ["b"],
                                              [helper.make_node(inner[0], ["a"], ["b"], domain=inner[1])], domains))
    return model([helper.make_node("f63", ["x"], ["y"], domain="local")], functions=functions)


@case("negative somewhere or has more than 2^46 elements")
def negative_dimension():
    return model([node("Add", ("x", "w"))], initializers=[TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-2, 2])])


@case("negative somewhere or has more than 2^46 elements")
def huge_dimensions():
    return model([node("Add", ("x", "w"))],
                 initializers=[TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**62, 2**62, 4])])


@case("negative somewhere or has more than 2^46 elements; give its dimensions names in the file and their sizes by --dim")
def huge_input():
    return model([node()], inputs=[value("x", [2**62, 16])])


@case("its shape and type take 16")
def short_raw_data():
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 2], raw_data=b"123")
    return model([node("Add", ("x", "w"))], initializers=[tensor])


@case("its shape and type take 4")
def short_float_data():
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 2], float_data=[1.0])
    return model([node("Add", ("x", "w"))], initializers=[tensor])


for kind, number, said in ((TensorProto.INT8, 128, "INT8 (3) has -128 to 127"), (TensorProto.UINT8, -1, "UINT8 (2) has 0 to 255"),
                           (TensorProto.BOOL, 256, "BOOL (9) has 0 to 1"), (TensorProto.FLOAT16, 65536, "FLOAT16 (10) has 0 to 65535")):
    CASES.append((f"narrow-{kind}", lambda kind=kind, number=number: model(
        [node("Cast", ("w",), to=TensorProto.FLOAT)], initializers=[TensorProto(name="w", data_type=kind, dims=[2, 2], int32_data=[0, 1, 0, number])]), said))


@case("element type STRING (8)")
def string_weight():
    return model([node("Add", ("x", "w"))], initializers=[TensorProto(name="w", data_type=TensorProto.STRING, dims=[1])])


@case("element type unknown (12345)")
def unknown_type():
    return model([node("Add", ("x", "w"))], initializers=[TensorProto(name="w", data_type=12345, dims=[1])])


@case("leads out of the model's directory")
def parent_location():
    return external("../good.bin")


@case("leads out of the model's directory")
def hidden_parent_location():
    return external("folder/../../good.bin")


@case('must be a relative path of a file beside the model; onnx.save(model, "m.onnx", save_as_external_data=True, location="passwd") writes it so')
def absolute_location():
    return external("/etc/passwd")


@case("must be a relative path")
def empty_location():
    return external("")


@case("symbolic link")
def symbolic_link():
    return external("soft.bin")


@case("symbolic link")
def symbolic_link_folder():
    return external("soft-folder/w.bin")


@case('several hard links; copy the file itself beside the model: onnx.save(model, "m.onnx", save_as_external_data=True, location="linked.bin")')
def hard_link():
    return external("linked.bin")


@case('is the model itself; the tensors must be in another file: onnx.save(model, "m.onnx", save_as_external_data=True, location="weights.bin")')
def the_model_itself():
    return external("the_model_itself.onnx")


@case("not a regular file")
def named_pipe():
    return external("pipe.bin")


@case("not a regular file")
def directory_location():
    return external("folder")


@case("cannot be opened")
def missing_file():
    return external("absent.bin")


@case("has 16 bytes")
def offset_beyond():
    return external("good.bin", offset=8, length=16)


@case("has 16 bytes")
def offset_overflow():
    return external("good.bin", offset=2**64 - 8, length=16)


@case("have length 9223372036854775807")
def length_huge():
    return external("good.bin", offset=0, length=2**63 - 1)


@case("the unknown key 'ofset'; expected location, offset")
def offset_misspelled():
    return external("good.bin", ofset=0)


@case("must be a non-negative integer")
def offset_negative():
    return external("good.bin", offset=-16)


@case("must be a non-negative integer")
def offset_text():
    return external("good.bin", offset="ten")


@case("is i64; expected f16, bf16, f32 or f64")
def wrong_type():
    return model([node("Exp")], inputs=[value("x", [2, 2], TensorProto.INT64)])


@case("do not broadcast")
def wrong_shapes():
    return model([node("Add", ("x", "w"))], initializers=[weight(shape=(3, 5))])


@case("at least 2 inputs")
def missing_input():
    return model([node("Add", ("x",))])


@case("at most 1 input; got 2")
def surplus_inputs():
    return model([node("Relu", ("x", "x"))])


# What the standard says in words alone.
@case("must be one number; got shape [2]")
def bounds_of_elements():
    return model([node("Clip", ("x", "low"))], initializers=[onnx.numpy_helper.from_array(np.zeros(2, np.float32), "low")])


@case("floating-point numbers need `fmod` = 1")
def remainder_of_floats():
    return model([node("Mod", ("x", "x"))])


@case("either `split` or `num_outputs`; got neither")
def split_of_unknown_sizes():
    return model([node("Split", outputs=("y", "z"))], opset=18)


@case("either `split` or `num_outputs`; got both")
def split_said_twice():
    sizes = onnx.numpy_helper.from_array(np.array([1, 1]), "s")
    return model([node("Split", ("x", "s"), ("y", "z"), num_outputs=2)], initializers=[sizes], opset=18)


@case("has no 2 equal parts")
def split_unevenly():
    return model([node("Split", outputs=("y", "z"))], inputs=[value("x", [3, 2])], opset=13)


@case("`output_padding` 2 of spatial dimension 0 must be below the stride 2")
def output_padding_of_a_step():
    return model([node("ConvTranspose", ("x", "w"), strides=[2], output_padding=[2])], inputs=[value("x", [1, 1, 4])],
                 initializers=[weight(shape=(1, 1, 3))])


@case("(Loop): its attribute 'body' is missing")
def control_flow():
    return model([node("Loop", ("x", "x", "x"))])


@case("operator 'com.example::Gadget' (2 nodes")
def foreign_domain():
    return model([helper.make_node("Gadget", ["x"], ["a"], domain="com.example"),
                  helper.make_node("Gadget", ["a"], ["y"], domain="com.example")])


@case("needs opset 20 or newer, the file says 17")
def newer_operator():
    return model([node("Gelu")])


@case("too large")
def huge_constant_of_shape():
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [2**40, 2**40])
    return model([node("Constant", (), ("s",), value=shape), node("ConstantOfShape", ("s",))])


@case("delta 0 or more than 2^40 elements")
def huge_range():
    numbers = [helper.make_tensor(n, TensorProto.INT64, [], [v]) for n, v in (("a", 0), ("b", 2**62), ("c", 1))]
    return model([node("Range", ("a", "b", "c"))], initializers=numbers)


@case("cannot expand")
def huge_expand():
    shape = helper.make_tensor("s", TensorProto.INT64, [4], [2**40, 2**30, 2, 2])
    return model([node("Expand", ("x", "s"))], initializers=[shape])


@case("must not be negative or huge")
def huge_tile():
    repeats = helper.make_tensor("s", TensorProto.INT64, [2], [2**62, 4])
    return model([node("Tile", ("x", "s"))], initializers=[repeats])


@case("do not fit shape")
def huge_pad():
    pads = helper.make_tensor("s", TensorProto.INT64, [4], [2**62, 2**62, 2**62, 2**62])
    return model([node("Pad", ("x", "s"))], initializers=[pads])


@case("must be at least 1")
def zero_stride():
    return model([node("MaxPool", kernel_shape=[2, 2], strides=[0, 1])], inputs=[value("x", [1, 1, 4, 4])])


@case("node 'n_y' (MaxPool): expects padding smaller than the window")
def padding_beyond_the_window():
    return model([node("MaxPool", kernel_shape=[2, 2], pads=[5, 5, 5, 5])], inputs=[value("x", [1, 1, 8, 8])])


@case("does not exist in a tensor of rank 2")
def wild_axis():
    return model([node("Softmax", axis=2**62)])


@case("cannot reshape")
def baked_batch():
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [1, 8])
    return model([node("Reshape", ("x", "s"))], initializers=[shape])


@case("is no permutation")
def wild_permutation():
    return model([node("Transpose", perm=[0, 7])])


@case("known at compile time; got a value computed")
def data_dependent_shape():
    cast = node("Cast", ("x",), ("s",), to=TensorProto.INT64)
    return model([cast, node("Reshape", ("x", "s"))])


@case("must divide the")
def wild_blocksize():
    return model([node("DepthToSpace", blocksize=2**40)], inputs=[value("x", [1, 4, 4, 4])])


@case("no size; give --dim")
def unbound():
    return model([node()], inputs=[value("x", ["batch", None])])


@case("is not supported: expected letters")
def wild_einsum():
    return model([node("Einsum", equation="ii...->\x7f")])


def ints(name, values):
    return onnx.numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, values):
    return onnx.numpy_helper.from_array(np.array(values, np.float32), name)


@case("has sparse initializers, which are not read")
def sparse_initializer():
    result = model([node("Add", ("x", "s"))])
    sparse = result.graph.sparse_initializer.add(dims=[2**40, 2**20])
    sparse.values.CopyFrom(floats("s", [1]))
    sparse.indices.CopyFrom(ints("", [2**59]))
    return result


@case("stored in segments, which are not read")
def segmented_weight():
    tensor = weight()
    tensor.segment.begin, tensor.segment.end = 0, 2**40
    return model([node("Add", ("x", "w"))], initializers=[tensor])


@case("it has 100000 dimensions; at most 64")
def many_dimensions():
    return model([node("Add", ("x", "w"))], initializers=[TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1] * 100000, float_data=[1])])


@case("it has 1000000 elements; its shape and type take 1")
def giant_repeated_field():
    return model([node("Add", ("x", "w"))], initializers=[TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], float_data=[1.0] * 1000000)])


@case("operator set '' is imported twice")
def opset_twice():
    result = model([node()])
    result.opset_import.append(helper.make_opsetid("", 13))
    return result


@case("function 'f' is defined twice")
def function_twice():
    body = helper.make_function("local", "f", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    return model([helper.make_node("f", ["x"], ["y"], domain="local")], functions=[body, body])


@case("calls function 'f' with 3 inputs and 2 outputs; it has 1 and 1")
def function_of_other_arity():
    body = helper.make_function("local", "f", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    return model([helper.make_node("f", ["x", "x", "x"], ["y", "z"], domain="local")], functions=[body])


def branch(nodes, output):
    return helper.make_graph(nodes, "b", [], [onnx.ValueInfoProto(name=output)])


@case("lies on a cycle: it depends on its own result")
def cycle_through_a_branch():
    inner = branch([helper.make_node("Add", ["x", "y"], ["z"])], "z")
    on = onnx.numpy_helper.from_array(np.array(True), "c")
    return model([node("If", ("c",), then_branch=inner, else_branch=inner)], initializers=[on])


@case("defines 'x', which is defined already")
def shadowed_by_a_branch():
    inner = branch([helper.make_node("Relu", ["x"], ["x"])], "x")
    on = onnx.numpy_helper.from_array(np.array(True), "c")
    return model([node("If", ("c",), then_branch=inner, else_branch=inner)], initializers=[on])


@case("and is f32[2, 2]; correct the declaration")
def output_of_another_type():
    return model([node()], outputs=[value("y", [2, 2], TensorProto.INT64)])


def turns(kind_in, kind_out):
    """Two turns of v' = relu(v), with the value declared as these types."""
    body = helper.make_graph([helper.make_node("Relu", ["v"], ["w"]), helper.make_node("Identity", ["on"], ["next"])], "turn",
                             [value("i", [], TensorProto.INT64), value("on", [], TensorProto.BOOL), value("v", [2, 2], kind_in)],
                             [value("next", [], TensorProto.BOOL), value("w", [2, 2], kind_out)])
    return model([node("Loop", ("n", "", "x"), body=body)], initializers=[onnx.numpy_helper.from_array(np.array(2), "n")])


@case("in its graph, output 'w' is declared with elements of type INT64 (7), and is f32[2, 2]")
def output_of_a_turn_of_another_type():
    return turns(TensorProto.FLOAT, TensorProto.INT64)


@case("in its graph, input 'v' is declared with elements of type DOUBLE (11), and is f32[2, 2]")
def input_of_a_turn_of_another_type():
    return turns(TensorProto.DOUBLE, TensorProto.FLOAT)


@case("the file has version 99 of the ONNX format (ir_version); 14 is the newest that is known. Save it as that: model.ir_version = 14")
def format_of_the_future():
    proto = model([node()])
    proto.ir_version = 99
    return proto


@case("delta 0 or more than 2^40 elements")
def range_without_a_step():
    return model([node("Range", ("a", "b", "c"))], initializers=[ints("a", 0), ints("b", 5), ints("c", 0)])


@case("delta 0 or more than 2^40 elements")
def range_of_tiny_steps():
    return model([node("Range", ("a", "b", "c"))], initializers=[floats("a", 0), floats("b", 1e30), floats("c", 1e-30)])


@case("must be finite and greater than 0; got nan")
def resized_by_nothing():
    return model([node("Resize", ("x", "", "s"))], inputs=[value("x", [1, 1, 4, 4])], initializers=[floats("s", [1, 1, np.nan, -1])])


@case("sizes [1, 1, 4000000000, 4] are not supported")
def resized_beyond():
    return model([node("Resize", ("x", "", "s"))], inputs=[value("x", [1, 1, 4, 4])], initializers=[floats("s", [1, 1, 1e9, 1])])


@case("has more than 2^46 elements")
def outer_product_of_many():
    letters = "abcdefghijklmnopqrstuvwx"
    pairs = ",".join(letters[i:i + 2] for i in range(0, 24, 2))
    return model([node("Einsum", ["x"] * 12, equation=f"{pairs}->{letters}")], inputs=[value("x", [9, 9])])


@case("(Tile): the tiled shape [16777216, 16777216] is too large")
def tiles_of_tiles():
    return model([node("Tile", (f"a{i}" if i else "x", "s"), (f"a{i + 1}",)) for i in range(60)] + [node("Relu", ("a60",))], initializers=[ints("s", [2, 2])])


@case("its result's shape depends on the model's inputs")
def positions_of_nothing_known():
    return model([node("ConstantOfShape", ("s",), ("c",)), node("NonZero", ("c",), ("z",)), node("Cast", ("z",), to=TensorProto.FLOAT)],
                 initializers=[ints("s", [2**20, 2**20])])


@case("`k` must lie between 0 and 2")
def best_of_none():
    return model([node("TopK", ("x", "k"), ("y", "i"))], initializers=[ints("k", [-1])])


@case("step 0 is not allowed")
def slice_without_a_step():
    return model([node("Slice", ("x", "a", "b", "c", "a"))], initializers=[ints("a", [0]), ints("b", [9]), ints("c", [0])])


@case("split sizes must not be negative; got [4611686018427387904")
def split_beyond():
    return model([node("Split", ("x", "s"), ("y", "z"))], initializers=[ints("s", [2**62, 2**62])])


@case("does not fit an input of 2 channels in 0 groups")
def convolution_of_no_groups():
    return model([node("Conv", ("x", "w"), group=0)], inputs=[value("x", [1, 2, 4, 4])], initializers=[weight(shape=(2, 2, 1, 1))])


@case("'\\x1b[31m")
def operator_in_red():
    """Terminal controls in a name are shown, not sent."""
    return model([helper.make_node("Gadget", ["x"], ["y"], name="\x1b[31mred")])


# Names: each place that holds one, with each defect that it must not have. Protobuf's Python classes refuse to make such texts, so a
# placeholder of the same length is replaced in the bytes.
PLACEHOLDER = b"qqqqqqqqqq"
NUL, LATIN, NEWLINE = b"qqqq\0qqqqq", b"qqqq\xffqqqqq", b"qqqq\nqqqqq"


def named(place):
    name = PLACEHOLDER.decode()
    if place == "input":
        return model([node("Relu", (name,))], inputs=[value(name, [2, 2])])
    if place == "output":
        return model([helper.make_node("Relu", ["x"], [name], name="a")], outputs=[value(name, [2, 2])])
    if place == "inner value":
        return model([helper.make_node("Relu", ["x"], [name], name="a"), node("Relu", (name,))])
    if place == "initializer":
        return model([node("Add", ("x", name))], initializers=[weight(name)])
    if place == "node":
        return model([helper.make_node("Relu", ["x"], ["y"], name=name)])
    if place == "operator":
        return model([helper.make_node(name, ["x"], ["y"], name="a")])
    if place == "domain":
        return model([helper.make_node("Relu", ["x"], ["y"], name="a", domain=name)])
    if place == "attribute":
        return model([helper.make_node("Relu", ["x"], ["y"], name="a", **{name: 1})])
    if place == "dimension":
        return model([node()], inputs=[value("x", [name, 2])])
    if place == "subgraph":
        inner = helper.make_graph([helper.make_node("Relu", ["x"], [name])], "inner", [], [value(name, [2, 2])])
        return model([node("If", ("x",), then_branch=inner, else_branch=inner)])
    body = helper.make_function("local", "f", [name], ["b"], [helper.make_node("Relu", [name], ["b"])], [helper.make_opsetid("", 17)])
    return model([helper.make_node("f", ["x"], ["y"], domain="local")], functions=[body])


PLACES = ["input", "output", "inner value", "initializer", "node", "operator", "domain", "attribute", "dimension", "subgraph", "function"]
for where in PLACES:
    for defect, said in ((NUL, r"'qqqq\x00qqqqq', which holds a NUL byte"), (LATIN, r"'qqqq\xffqqqqq', which is not valid UTF-8")):
        CASES.append((f"name-{where.replace(' ', '-')}-{defect[4]:02x}",
                      lambda where=where, defect=defect: named(where).SerializeToString().replace(PLACEHOLDER, defect), said))
for where in ("operator", "domain", "attribute", "dimension"):
    CASES.append((f"name-{where}-newline", lambda where=where: named(where).SerializeToString().replace(PLACEHOLDER, NEWLINE),
                  r"'qqqq\x0aqqqqq', which holds a control character"))


@case("the graph has the output 'y' twice")
def output_declared_twice():
    return model([node()], outputs=[value("y", [2, 2]), value("y", [2, 2])])


@case("function 'f' has the input 'a' twice")
def function_input_twice():
    body = helper.make_function("local", "f", ["a", "a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    return model([helper.make_node("f", ["x", "x"], ["y"], domain="local")], functions=[body])


@case("has the attribute 'axis' twice")
def attribute_twice():
    twice = node("Softmax", axis=0)
    twice.attribute.append(helper.make_attribute("axis", 1))
    return model([twice])


def changed_attribute(one, change):
    change(one.attribute[0])
    return model([one])


# A field holds the value, and the type says which; IR version 1 has no types. A file could hold a value that nobody reads.
def without(*fields):
    def change(attribute):
        for field in fields:
            attribute.ClearField(field)
    return change


def with_field(attribute, field, given):
    without("f", "ints")(attribute)
    setattr(attribute, field, given)


for op, attributes, change, expected in [
        ("LeakyRelu", {"alpha": 0.5}, without("type", "f"), "its attribute 'alpha' has neither a type nor a value; expected FLOAT"),
        ("ReduceMax", {"axes": [1]}, without("type", "ints"), "its attribute 'axes' has neither a type nor a value; expected INTS"),
        ("ReduceMax", {"axes": [1]}, lambda a: with_field(a, "i", 1), "its attribute 'axes' has the type INTS and a value of type INT; expected one value"),
        ("LeakyRelu", {"alpha": 0.5}, lambda a: with_field(a, "i", 1), "its attribute 'alpha' has the type FLOAT and a value of type INT"),
        ("LeakyRelu", {"alpha": 0.5}, lambda a: a.floats.append(0.5), "its attribute 'alpha' has the type FLOAT and a value of type FLOATS")]:
    CASES.append((f"value-of-{op}-{len(CASES)}",
                  lambda op=op, attributes=attributes, change=change: changed_attribute(node(op, **attributes), change), expected))


# Lists of axes: each operator that takes one, and the same axis twice, once counted from the end.
def with_axes(op, axes, opset):
    def numbers(name, values):
        return onnx.numpy_helper.from_array(np.array(values, np.int64), name)
    count = len(axes)
    if op == "Pad":
        return model([node(op, ("x", "p", "", "a"))], initializers=[numbers("p", [0] * 2 * count), numbers("a", axes)], opset=18)
    if op == "Slice":
        return model([node(op, ("x", "s", "e", "a"))], initializers=[numbers("s", [0] * count), numbers("e", [1] * count), numbers("a", axes)])
    if op == "MeanVarianceNormalization":
        return model([node(op, axes=axes)])
    if opset < 18 and op.startswith("Reduce") and op != "ReduceSum":
        return model([node(op, axes=axes)], opset=opset)
    return model([node(op, ("x", "a"))], inputs=[value("x", [1, 1])], initializers=[numbers("a", axes)], opset=opset)


REDUCTIONS = ["Sum", "Max", "Min", "Prod", "Mean", "SumSquare", "L1", "L2", "LogSum", "LogSumExp"]
for operator in ["Pad", "Slice", "Squeeze", "Unsqueeze", "MeanVarianceNormalization", *("Reduce" + kind for kind in REDUCTIONS)]:
    for version in (17, 18):
        rank = 4 if operator == "Unsqueeze" else 2
        for repeated in ([0, 0], [1, 1 - rank]):
            CASES.append((f"axes-{operator}-{version}-{repeated[1]}",
                          lambda operator=operator, repeated=repeated, version=version: with_axes(operator, repeated, version),
                          f"({operator}): axis {repeated[0]} is given twice"))


# Attributes of another type than the standard's would be taken for missing ones; flags are 0 or 1. One operator for each name of an
# attribute, of those that the importer knows (others are refused as such).
FLAGS = {"allowzero", "antialias", "ceil_mode", "count_include_pad", "detect_negative", "detect_positive", "exclude_outside", "exclusive", "fmod",
         "is_causal", "keepdims", "largest", "new_axis", "noop_with_empty_axes", "reverse", "select_last_index", "sorted", "training_mode",
         "transA", "transB", "upper"}
SEVERAL_TYPES = {"p", "seed", "to", "value"}  # in one version of the standard or another
WRONG = {"INT": (1.5, "FLOAT"), "FLOAT": (1, "INT"), "INTS": (1, "INT"), "STRING": (1, "INT")}


SOURCES = (pathlib.Path(__file__).resolve().parents[4] / "compiler" / "Import" / "ONNX" / "Operators").glob("*Operators.cpp")
KNOWN = {name for path in SOURCES if path.name != "KnownOperators.cpp" for name in re.findall(r'"([A-Z]\w+)"', path.read_text())}


def with_attribute(schema, name, given):
    inputs = [f"x{i}" for i in range(schema.min_input)]
    outputs = ["y", *(f"y{i}" for i in range(1, schema.min_output))]
    return model([node(schema.name, inputs, outputs, **{name: given})], inputs=[value(i, [2, 2]) for i in inputs or ["x"]],
                 opset=max(23, schema.since_version))


def attribute_cases():
    chosen = {}
    for schema in sorted(onnx.defs.get_all_schemas(), key=lambda schema: schema.name):
        if schema.domain == "" and schema.name in KNOWN:
            for name, attribute in schema.attributes.items():
                chosen.setdefault(name, (schema, attribute.type.name))
    for name, (schema, kind) in chosen.items():
        if kind in WRONG and name not in SEVERAL_TYPES:
            given, wrong = WRONG[kind]
            yield f"type-of-{name}", lambda s=schema, n=name, g=given: with_attribute(s, n, g), f"its attribute '{name}' has the type {wrong}; expected {kind}"
        if name in FLAGS:
            yield f"flag-{name}", lambda s=schema, n=name: with_attribute(s, n, 2), f"its attribute '{name}' is 2; expected 0 or 1"


def run(name, make, expected):
    data = make()
    path = scratch / (name + ".onnx")
    path.write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
    before = set(scratch.iterdir())
    result = subprocess.run([*importer.split(), str(path)], capture_output=True, text=True, errors="replace", timeout=60)
    lines = result.stderr.strip().splitlines()
    codes, prefix = ((1, 2), "cleave: error: ") if importer.startswith("cleave ") else ((1,), "error: ")
    ok = result.returncode in codes and len(lines) == 1 and lines[0].startswith(prefix) and expected in lines[0]
    ok = ok and not result.stdout and set(scratch.iterdir()) == before
    if not ok:
        print(f"FAILED {name}: exit {result.returncode}, expected {expected!r}, got:\n  " + "\n  ".join(lines[:5] or ["nothing"]))
    return ok


CASES += attribute_cases()
failures = [name for name, make, expected in CASES if not run(name, make, expected)]
print(f"{len(CASES) - len(failures)} of {len(CASES)} hostile models refused")
sys.exit(bool(failures))
