"""ambiguous_files.py PROGRAM FOLDER: files that can be read in two ways, and files with bytes that belong to nothing. Each is refused by one line
that names the file; the file without the defect is taken. PROGRAM infers docs/recorded/mlp.onnx with a batch of 8."""
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
failures = count = 0
X = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)


def run(*command):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, errors="surrogateescape", timeout=60)


def infer(*options):
    return run(program, "infer", *options, "--output", f"logits={folder / 'y.npy'}")


def expect(done, file, said=None):
    """A refusal in one line without a control character, that names the file and says `said`; or, without `said`, success."""
    global failures, count
    count += 1
    lines = done.stderr.split("\n")[:-1]
    right = done.returncode == 0 if said is None else (
        done.returncode in (1, 2) and len(lines) == 1 and str(file) in lines[0] and said in lines[0] and lines[0].isprintable())
    if not right:
        failures += 1
        print(f"FAILED {file}, {said}: ended with {done.returncode}, {done.stderr[:400]!r}")


def npy(array):
    text = io.BytesIO()
    np.save(text, array)
    return text.getvalue()


def archive(members, method=zipfile.ZIP_STORED):
    text = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(text, "w", method) as file:
            for name, data, *other_method in members:
                file.writestr(name, data, *other_method)
    return text.getvalue()


def data(name, contents, said=None):
    file = folder / name
    file.write_bytes(contents)
    expect(infer("--input", f"input={file}"), file, said)


whole = archive([("input.npy", npy(X))])
data("whole.npz", whole)
data("deflated.npz", archive([("input.npy", npy(X))], zipfile.ZIP_DEFLATED))
data("bzip2.npz", archive([("input.npy", npy(X))], zipfile.ZIP_BZIP2), "packed by a method other than deflate")
data("unneeded-bzip2.npz", archive([("input.npy", npy(X)), ("other.npy", npy(X), zipfile.ZIP_BZIP2)]))
data("comment.npz", whole[:-2] + struct.pack("<H", 5) + b"hello")
data("twice.npz", archive([("input.npy", npy(X)), ("input.npy", npy(2 * X))]), "two arrays 'input'")
data("ending.npz", archive([("input", npy(X)), ("input.npy", npy(2 * X))]), "two arrays 'input'")
data("renamed.npz", whole.replace(b"input.npy", b"other.npy", 1), "another name than the archive's directory")
data("after.npz", whole + b"more", "followed by other bytes")
data("inside.npz", archive([("input.npy", npy(X) + npy(X))]), "belong to no array")
data("whole.npy", npy(X))
data("two.npy", npy(X) + npy(2 * X), "belong to no array")


def safetensors(tensors, after=b"", gap=0, extra="", dtypes={}):
    """Bytes of a file; `tensors` are (name, array). A gap stands before the last one. `dtypes` are names of types other than F32, by tensor."""
    entries, body = [], b""
    for i, (name, array) in enumerate(tensors):
        body += bytes(gap if i + 1 == len(tensors) else 0)
        entries.append(f'{json.dumps(name)}:{{"dtype":"{dtypes.get(name, "F32")}",{extra}"shape":{list(array.shape)},"data_offsets":[{len(body)},{len(body) + array.nbytes}]}}')
        body += array.tobytes()
    header = ("{" + ",".join(entries) + "}").encode()
    return struct.pack("<Q", len(header)) + header + body + after


model = onnx.load(sys.argv[3])
weights = [(tensor.name, numpy_helper.to_array(tensor)) for tensor in model.graph.initializer]
np.save(folder / "x.npy", X)
np.save(folder / "labels.npy", np.zeros(8, np.int64))


def replaced(name, contents, said=None):
    file = folder / name
    file.write_bytes(contents)
    expect(infer("--input", f"input={folder / 'x.npy'}", "--weights", file), file, said)


replaced("whole.safetensors", safetensors(weights))
replaced("after.safetensors", safetensors(weights, after=b"more"), "bytes after the last tensor")
replaced("gap.safetensors", safetensors(weights, gap=64), "that belong to none")
replaced("name.safetensors", safetensors(weights + weights[:1]), f"has '{weights[0][0]}' twice")
replaced("key.safetensors", safetensors(weights, extra='"dtype":"F64",'), "has 'dtype' twice")
scales = np.ones(4, np.uint8)
replaced("unneeded-f8.safetensors", safetensors([*weights, ("scales", scales)], dtypes={"scales": "F8_E4M3"}))
replaced("f8.safetensors", safetensors(weights, dtypes={weights[0][0]: "F8_E4M3"}), "got F8_E4M3, which is not read; save it as F32, BF16 or F16")
(folder / "input-f8.safetensors").write_bytes(safetensors([("input", scales)], dtypes={"input": "F8_E4M3"}))
expect(infer("--input", f"input={folder / 'input-f8.safetensors'}"), folder / "input-f8.safetensors", "unknown dtype F8_E4M3; save it as one of")

shards = folder / "shards"  # a directory of files: each tensor in one of them
shards.mkdir()
for name, tensors in (("1", weights[:2]), ("2", weights[2:])):
    (shards / f"{name}.safetensors").write_bytes(safetensors(tensors))
expect(infer("--input", f"input={folder / 'x.npy'}", "--weights", shards), shards)
(shards / "3.safetensors").write_bytes(safetensors(weights[2:]))
expect(infer("--input", f"input={folder / 'x.npy'}", "--weights", shards), shards, f"both hold tensor '{weights[2][0]}'")


def compiled(name, change, said=None, note=None, unsaid=None):
    changed = onnx.load(sys.argv[3])
    change(changed)
    file = folder / name
    file.write_bytes(changed.SerializeToString())
    done = run("cleave", "compile", file, "-o", folder / "out", "--dim", "batch=8")
    expect(done, weights[0][0] if said else file, said)
    if note and note not in done.stderr:
        expect(done, file, note)
    if unsaid and unsaid in done.stderr:
        expect(done, file, "nothing of " + unsaid)
    return changed


def outside(model, entries, keep_raw=False):
    tensor = model.graph.initializer[0]
    if not keep_raw:
        (folder / "w.bin").write_bytes(tensor.raw_data)
        (folder / "v.bin").write_bytes(bytes(len(tensor.raw_data)))
        tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries:
        tensor.external_data.add(key=key, value=value)


def both(model):
    tensor = model.graph.initializer[0]
    tensor.float_data.extend(numpy_helper.to_array(tensor).ravel())


assert model.graph.initializer[0].raw_data
compiled("external.onnx", lambda model: outside(model, [("location", "w.bin")]))
compiled("locations.onnx", lambda model: outside(model, [("location", "w.bin"), ("location", "v.bin")]), "two entries 'location'")
compiled("offsets.onnx", lambda model: outside(model, [("location", "w.bin"), ("offset", "0"), ("offset", "4")]), "two entries 'offset'")
compiled("raw.onnx", lambda model: outside(model, [("location", "w.bin")], keep_raw=True), "in a file of its own and in raw_data")
compiled("fields.onnx", both, "in raw_data and in float_data")


# A function of the model with the name of a standard operator: the operator is computed, as in onnxruntime, and it is said.
def shadow(model):
    model.functions.append(helper.make_function("", "Relu", ["X"], ["Y"], [helper.make_node("Neg", ["X"], ["Y"])], [helper.make_opsetid("", 18)]))


assert any(node.op_type == "Relu" for node in model.graph.node)
compiled("shadow.onnx", shadow, note="function 'Relu' has the name of a standard operator, which is computed in its place")


def unused(model):
    """Exporters leave functions that nothing calls."""
    shadow(model)
    for function in model.functions:
        function.name = "Celu"
    model.functions.append(helper.make_function("none", "Elsewhere", ["X"], ["Y"], [helper.make_node("Celu", ["X"], ["Y"])], [helper.make_opsetid("", 18)]))
    model.opset_import.append(helper.make_opsetid("none", 1))


compiled("unused.onnx", unused, unsaid="function 'Celu'")
import onnxruntime  # noqa: E402
expected = onnxruntime.InferenceSession(folder / "shadow.onnx").run(None, {"input": X})[0]
assert run(folder / "out", "infer", "--input", f"input={folder / 'x.npy'}", "--output", f"logits={folder / 'y.npy'}").returncode == 0
np.testing.assert_allclose(np.load(folder / "y.npy"), expected, rtol=1e-5, atol=1e-6)


# Functions of one name that differ in their overload: a call means the one with its own overload.
def one(overload, operator):
    return helper.make_function("own", "f", ["X"], ["Y"], [helper.make_node(operator, ["X"], ["Y"])], [helper.make_opsetid("", 18)], overload=overload)


def overloaded(*functions):
    file = folder / "overloads.onnx"
    calls = [helper.make_node("f", ["input"], ["h"], domain="own"), helper.make_node("f", ["h"], ["logits"], domain="own", overload="e")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 8]) for name in ("input", "logits")]
    onnx.save(helper.make_model(helper.make_graph(calls, "g", ports[:1], ports[1:]), functions=functions, ir_version=10,
                                opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]), file)
    return file, run("cleave", "compile", file, "-o", folder / "out", "--dim", "batch=8")


file, done = overloaded(one("", "Neg"), one("e", "Sigmoid"))
expect(done, file)
expected = onnxruntime.InferenceSession(file).run(None, {"input": X})[0]
assert run(folder / "out", "infer", "--input", f"input={folder / 'x.npy'}", "--output", f"logits={folder / 'y.npy'}").returncode == 0
np.testing.assert_allclose(np.load(folder / "y.npy"), expected, rtol=1e-5, atol=1e-6)
file, done = overloaded(one("", "Neg"), one("e", "Sigmoid"), one("e", "Neg"))
expect(done, file, "function 'f' is defined twice")


def options(name, text, said):
    file = folder / name
    file.write_text(text)
    expect(run("cleave", "compile", sys.argv[3], "--config", file, "-o", folder / "none"), file, said)
    assert not (folder / "none").exists()


options("nul.json", '{"optimizer": "sgd\\u0000", "dim": "batch=8"}', "'optimizer' has a NUL in its value")
options("twice.json", '{"dim": "batch=8", "dim": "batch=4"}', "'dim' is there twice")
options("control.json", '{"optim\\u001b[2Jizer": "sgd"}', "\\x1b[2J")

# What a terminal would obey, in a schedule, a path and a name of an array.
schedule = folder / "schedule"
schedule.write_bytes(b"0F0 \x1b[2Jx\r\xe2\x80\xae\xff\n")
expect(run("cleave", "compile", sys.argv[3], "--train", "--loss", "cross-entropy", "--mesh", "pp=2", "--micro-batches", "2", "--dim", "batch=8",
           "--schedule", f"file={schedule}", "-o", folder / "none"), "schedule", "\\x1b[2J")
expect(infer("--input", f"input={folder}/\x1b[2J.npy"), "", "\\x1b[2J.npy")
data("name.npz", archive([("\x1b]0;title\x07.npy", npy(X))]), "\\x1b]0;title\\x07")

# Two options that ask for different files in one place.
for phase, kind, made in (("fuse", "plan", "the phase's MLIR"), ("plan", "executable", "the phase's MLIR"), ("emit", "shared", "an object")):
    expect(run("cleave", "compile", sys.argv[3], "--stop-after", phase, "--emit", kind, "-o", folder / "none"), f"--emit says {kind}",
           f"--stop-after: after '{phase}' {made}")
    assert not (folder / "none").exists()
print(f"{count} files and commands, {failures} failures")
sys.exit(failures != 0)
