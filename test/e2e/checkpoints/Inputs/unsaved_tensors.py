"""unsaved_tensors.py FOLDER    Tensors of a file that no state_dict has: non-persistent buffers, tensors that are no buffers, and tensors with names
of the exporter. --weights does not ask for them, checkpoints and `cleave export` do not have them, and the file's values count. A persistent
buffer is asked for. The model is y = x w * table + shift + made, in both forms of torch.export's signature."""
import json
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1]).resolve()
TENSORS = {name: numpy.arange(count, dtype="float32").reshape(shape) * 0.25 + 0.5
           for name, count, shape in (("w", 24, (6, 4)), ("table", 4, (4,)), ("shift", 4, (4,)), ("onnx::Add_7", 4, (4,)))}
LINES = """# inputs
p_w: PARAMETER target='w'
b_table: BUFFER target='table' persistent={persistent}
c_shift: CONSTANT_TENSOR target='shift'
x: USER_INPUT
# outputs
y: USER_OUTPUT
"""
SPECS = """ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_w'), target='w', persistent=None),
InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_table'), target='table', persistent={persistent}),
InputSpec(kind=<InputKind.CONSTANT_TENSOR: 4>, arg=TensorArgument(name='c_shift'), target='shift', persistent=None)])"""


def write_model(path, signature):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Mul", ["xw", "table"], ["scaled"]),
             helper.make_node("Add", ["scaled", "shift"], ["shifted"]), helper.make_node("Add", ["shifted", "onnx::Add_7"], ["y"])]
    value = lambda name, width: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
    graph = helper.make_graph(nodes, "g", [value("x", 6)], [value("y", 4)], [numpy_helper.from_array(array, name) for name, array in TENSORS.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    if signature:
        model.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature", value=signature)
    onnx.save(model, path)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def names_in(path):
    contents = path.read_bytes()
    return set(json.loads(contents[8:8 + int.from_bytes(contents[:8], "little")])) - {"__metadata__"}


def run(*command):
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    return done.returncode, done.stderr


def succeed(*command):
    code, said = run(*command)
    assert code == 0, f"{command}: {said}"


def output_with(weights):
    """Of `infer` with a file of weights, and as numpy computes it."""
    tensors = {**TENSORS, **weights}
    write_safetensors(FOLDER / "w.safetensors", weights)
    succeed("./model", "infer", "--input", "x=x.npy", "--weights", "w.safetensors", "--output", "y=y.npy")
    x = numpy.load(FOLDER / "x.npy").astype("float64")
    return numpy.load(FOLDER / "y.npy"), x @ tensors["w"] * tensors["table"] + tensors["shift"] + tensors["onnx::Add_7"]


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    rng, cases = numpy.random.default_rng(0), 0
    numpy.save(FOLDER / "x.npy", rng.standard_normal((8, 6)).astype("float32"))
    numpy.save(FOLDER / "labels.npy", rng.standard_normal((8, 4)).astype("float32"))
    other = {"w": TENSORS["w"][::-1] * 3}
    for form in (LINES, SPECS):
        write_model(FOLDER / "model.onnx", form.format(persistent=False))
        succeed("cleave", "compile", "model.onnx", "-o", "model", "--dim", "batch=4")
        for weights in (other, {**other, "shift": TENSORS["shift"] - 7}):  # a file that has such a tensor replaces it
            found, expected = output_with(weights)
            assert numpy.allclose(found, expected, rtol=1e-5, atol=1e-5), (found, expected)
            cases += 1
        succeed("cleave", "compile", "model.onnx", "-o", "train", "--train", "--loss", "mse", "--dim", "batch=4", "--mesh", "fsdp=2", "--optimizer", "sgd")
        succeed("rm", "-rf", "ckpt")
        write_safetensors(FOLDER / "w.safetensors", other)
        succeed("./train", "train", "--data", "x=x.npy", "--data", "labels=labels.npy", "--steps", "2", "--weights", "w.safetensors", "--save", "ckpt")
        succeed("cleave", "export", "ckpt", "--model", "model.onnx", "-o", "back.safetensors")
        assert names_in(FOLDER / "back.safetensors") == {"w"}, names_in(FOLDER / "back.safetensors")
        succeed("./train", "train", "--data", "x=x.npy", "--data", "labels=labels.npy", "--steps", "3", "--resume", "ckpt")
        succeed("cleave", "export", "ckpt", "--model", "model.onnx", "-o", "back.onnx")
        kept = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(FOLDER / "back.onnx").graph.initializer}
        assert all(numpy.array_equal(kept[name], TENSORS[name]) for name in TENSORS if name != "w") and not numpy.array_equal(kept["w"], TENSORS["w"])
        write_model(FOLDER / "model.onnx", form.format(persistent=True))
        succeed("cleave", "compile", "model.onnx", "-o", "model", "--dim", "batch=4")
        code, said = run("./model", "infer", "--input", "x=x.npy", "--weights", "w.safetensors", "--output", "y=y.npy")
        assert code != 0 and "missing (1): 'table'" in said, said
        cases += 3
    print(f"{cases} cases of tensors that no state_dict has")


if __name__ == "__main__":
    main()
