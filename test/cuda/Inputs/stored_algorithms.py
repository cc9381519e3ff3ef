"""stored_algorithms.py SOURCE BUILD FOLDER    Programs keep the algorithms that cuBLASLt has proposed: a run computes the same bits when
the library proposes others (CLEAVE_EMULATED_BLASLT_FIRST), and other bits without the file, or the test would show nothing."""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx

import emulated

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402

model = folder / "models/mlp" / pathlib.Path(training_cases.CASES["mlp"][0]).name
data = []
for key, array in training_cases.data("mlp").items():
    np.save(folder / f"{key}.npy", array)
    data += ["--data", f"{key}={folder / key}.npy"]


def compiled(name, *options):
    program = folder / name
    line = ["cleave", "compile", model, "-o", program, "--train", "--loss-output", "loss", "--optimizer", "adamw", "--global-batch", "16",
            "--target", "cuda:sm_90", *options]
    subprocess.run(list(map(str, line)), check=True, capture_output=True)
    return program


def started(program, first, **environment):
    line = [program, "train", *data, "--no-shuffle", "--steps", "3", "--lr", "1e-2", "--metrics", f"{program}.json"]
    return subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False, timeout=200,
                          env=emulated.environment(build, CLEAVE_EMULATED_BLASLT_FIRST=str(first), CLEAVE_EMULATED_DEVICES="2", **environment))


def losses(program, first, **environment):
    """The loss and the norm of the gradients of each step, and the notes."""
    result = started(program, first, **environment)
    assert result.returncode == 0, result.stderr
    return re.findall(r'"loss": ([^,}]+).*"grad_norm": ([^,}]+)', pathlib.Path(f"{program}.json").read_text()), result.stderr


def refused(program, *parts, **environment):
    result = started(program, 0, **environment)
    assert result.returncode != 0 and all(part in result.stderr for part in parts), result.stderr


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def resealed(text):
    body = text[:text.rindex("checksum ")]
    return f"{body}checksum {crc32c(body.encode()):08x}\n"


def kept(name, *options):
    """The file decides, and not what the library proposes."""
    program = compiled(name, *options)
    first, notes = losses(program, 0)
    assert "algorithms" not in notes, notes
    file = pathlib.Path(f"{program}.algorithms")
    stored = file.read_text()
    assert stored == resealed(stored) and "on cuBLASLt 130100, sm_90, " in stored, stored
    again, notes = losses(program, 1)
    assert again == first and "algorithms" not in notes and file.read_text() == stored, (again, first, notes)
    other, _ = losses(program, 1, CLEAVE_CUDA_ALGORITHMS="none")
    assert other != first and len(other) == len(first) == 3, "the algorithms add in the same order: the test shows nothing"
    assert not [path for path in folder.iterdir() if ".tmp-" in path.name]
    print(f"{name}: {stored.count('matmul')} products keep their algorithms")
    return program, file, stored, first, other


for name, options in (("fsdp2", ["--mesh", "fsdp=2"]), ("pp2", ["--mesh", "pp=2", "--micro-batches", "2"]), ("offload", ["--offload", "params"])):
    kept(name, *options)
program, file, stored, first, other = kept("one")

# Another version of the library has a part of its own, and takes nothing from the first.
newer, notes = losses(program, 1, CLEAVE_EMULATED_BLASLT_VERSION="130200")
assert newer == other and "has no algorithms for cuBLASLt 130200, sm_90" in notes, (newer, notes)
assert file.read_text().count("on cuBLASLt") == 2
assert losses(program, 0, CLEAVE_EMULATED_BLASLT_VERSION="130200")[0] == other and losses(program, 1)[0] == first

# A file elsewhere.
assert losses(program, 1, CLEAVE_CUDA_ALGORITHMS=str(folder / "elsewhere"))[0] == other and (folder / "elsewhere").exists()
lost, notes = losses(program, 1, CLEAVE_CUDA_ALGORITHMS=str(folder / "none/of/these"))
assert lost == other and "does not store which of cuBLASLt's algorithms were chosen (cannot write" in notes, notes

# A program without generated kernels, and a shared library: the file lies beside the library, not beside Python.
def product(name, depth, type_, numpy_type, x, **environment):
    """The first element of the product of x and eights, of 64 rows and columns, by a shared library."""
    shapes = {key: onnx.helper.make_tensor_value_info(key, type_, shape) for key, shape in (("x", [64, depth]), ("w", [depth, 64]), ("y", [64, 64]))}
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "product", [shapes["x"], shapes["w"]],
                                                            [shapes["y"]]), ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 20)]),
              folder / f"{name}.onnx")
    library = folder / f"lib{name}.so"
    subprocess.run(["cleave", "compile", folder / f"{name}.onnx", "-o", library, "--emit", "shared", "--target", "cuda:sm_90"],
                   check=True, capture_output=True)
    np.save(folder / "product_x.npy", x.astype(numpy_type))
    np.save(folder / "product_w.npy", np.full((depth, 64), 8, numpy_type))
    arrays = ", ".join(f"{key}=numpy.load('{folder}/product_{key}.npy')" for key in "xw")
    printed = subprocess.run([sys.executable, "-c", f"import cleave, numpy; print(cleave.Model('{library}').infer({arrays})['y'][0, 0])"],
                             check=True, env=emulated.environment(build, PYTHONPATH=str(source / "python"), **environment), capture_output=True, text=True).stdout
    stored = (folder / f"lib{name}.so.algorithms").read_text()
    assert stored.count("matmul") == stored.count(" parts=compute ") == 1, stored
    return printed.strip(), stored


assert product("product", 64, onnx.TensorProto.FLOAT, np.float32, np.ones((64, 64)))[0] == "512.0"
# The library may split a sum, but must add its parts in f32: here each half overflows in f16, and the sum is 8.
DEPTH = 4096
x = np.where(np.arange(DEPTH) < DEPTH // 2, 8, -8)
x[-1] = -7
printed, stored_product = product("halves", DEPTH, onnx.TensorProto.FLOAT16, np.float16, np.broadcast_to(x, (64, DEPTH)))
assert printed == "8.0", printed
assert stored_product.splitlines()[2][8:16] != "00000000", f"the sum is not split: the test shows nothing\n{stored_product}"

# Of two versions of the library, the driver's own is taken; the later one could be loaded, too, and here lacks all functions.
for driver, mine, later in (("12080", 12, 13), ("13000", 13, 12)):
    libraries = folder / f"driver{driver}"
    libraries.mkdir()
    (libraries / f"libcublasLt.so.{mine}").symlink_to(build / "test-lib/libcleave_emulated_cublaslt.so")
    (libraries / f"libcublasLt.so.{later}").symlink_to(build / "test-lib/libcleave_emulated_nccl.so")
    assert product(f"product{driver}", 64, onnx.TensorProto.FLOAT, np.float32, np.ones((64, 64)), CLEAVE_EMULATED_DRIVER=driver, CLEAVE_LIBCUBLASLT="",
                   LD_LIBRARY_PATH=str(libraries))[0] == "512.0"

# Files of other formats stay; damaged ones are refused, and stay too.
for text in ("cleave-algorithms 2\nwhatever\n",):
    file.write_text(text)
    newer, notes = losses(program, 1)
    assert newer == other and "has format 2 of another version of Cleave" in notes and file.read_text() == text, notes
digit = stored.index("\n", stored.index("on cuBLASLt")) + 5
flipped = stored[:digit] + ("0" if stored[digit] != "0" else "1") + stored[digit + 1:]
for text, what in ((stored[:len(stored) // 2], "checksum"), (stored[:-1], "checksum"), (flipped, "checksum"), ("\x7fELF\n", "not a file of algorithms"),
                   (resealed(stored.replace("on cuBLASLt", "at cuBLASLt")), "line 2 is neither"),
                   (resealed(re.sub(r"(?m)^[0-9a-f]{16}(?=[0-9a-f]{112} )", "0" * 16, stored)), "that cuBLASLt does not take (status 15)")):
    file.write_text(text)
    refused(program, str(file), what, "remove")
    assert file.read_text() == text
file.write_text(stored)
assert losses(program, 1)[0] == first
print("other versions and damaged files are told")
