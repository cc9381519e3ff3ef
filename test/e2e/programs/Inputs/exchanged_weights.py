"""exchanged_weights.py FOLDER: files of weights of two compilations, whose tensors have the same names and shapes, change places. An artefact takes
the bytes that were written with it and no others; weights that the user names are taken."""
import pathlib
import shutil
import subprocess
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
ROWS, COLUMNS = 4352, 4096
REFUSED = "this file was not written with the model, by the same compilation: expected the checksum "


def beside(artefact):
    return folder / f"{artefact}.weights" / "model.safetensors"


def run(*command):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=120)


def compile(model, artefact, *options):
    done = run("cleave", "compile", folder / model / "wide.onnx", "-o", folder / artefact, *options)
    assert done.returncode == 0, done.stderr
    return beside(artefact)


def infer(program, *options):
    output = folder / "y.npy"
    output.unlink(missing_ok=True)
    done = run(folder / program, "infer", "--input", f"x={folder / 'a' / 'x.npy'}", "--output", f"y={output}", *options)
    return done, np.load(output)[0] if output.exists() else None


def with_python(library):
    code = ("import cleave, sys\n"
            "try: cleave.Model(sys.argv[1])\n"
            "except cleave.CleaveError as error: sys.exit(str(error))")
    return run(sys.executable, "-c", code, folder / library)


def refused(done, name, found):
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 1 and len(lines) == 1 and REFUSED in lines[0] and name in lines[0] and f"found {found}" in lines[0], done


def checksum(file):
    text = file.read_bytes()[:64]
    return text[text.index(b'crc32c":"') + 9:][:8].decode()


once, twice = np.arange(COLUMNS, dtype=np.float32), 2 * np.arange(COLUMNS, dtype=np.float32)
shutil.copytree(folder / "a", folder / "b")
with open(folder / "b" / "w.bin", "r+b") as file:
    file.seek(-4 * COLUMNS, 2)
    file.write(twice.tobytes())

a, b = compile("a", "one"), compile("b", "two")
assert infer("one")[0].returncode == infer("two")[0].returncode == 0
assert np.array_equal(infer("one")[1], once) and np.array_equal(infer("two")[1], twice)
assert checksum(a) != checksum(b) and a.stat().st_size == b.stat().st_size

# Another compilation's file, by which the program would compute other numbers.
a.rename(folder / "kept")
shutil.copy(b, a)
done, output = infer("one")
refused(done, str(a), checksum(b))
assert output is None and f"expected the checksum {checksum(folder / 'kept')}" in done.stderr

# Weights that are named are taken, whatever lies beside the program.
for weights, expected in ((b, twice), (folder / "kept", once)):
    shutil.copy(weights, folder / "named.safetensors")
    done, output = infer("one", "--weights", folder / "named.safetensors")
    assert done.returncode == 0 and np.array_equal(output, expected), done.stderr

# The bytes count, not where they come from: the file of another compilation of the same weights, with other options.
shutil.copy(compile("a", "other-options", "--target", "host:avx2"), a)
assert np.array_equal(infer("one")[1], once)
# The same tensors by another program, which wrote no checksums: nobody knows what they are.
whole = (folder / "kept").read_bytes()
header = b'{"w":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]}}' % (ROWS, COLUMNS, 4 * ROWS * COLUMNS)
a.write_bytes(len(header).to_bytes(8, "little") + header + whole[-4 * ROWS * COLUMNS:])
refused(infer("one")[0], str(a), "none")

# The program is compiled again, of other weights, and the old file is put back; and the other way round.
new = compile("b", "one")
new.rename(folder / "new")
shutil.copy(folder / "kept", new)
refused(infer("one")[0], str(new), checksum(folder / "kept"))
shutil.copy(folder / "new", new)
assert np.array_equal(infer("one")[1], twice)

# Shared libraries, through the C API; objects, which `cleave bundle` takes.
for artefact, use in (("lib.so", lambda: with_python("lib.so")),
                      ("object.o", lambda: run("cleave", "bundle", folder / "object.o", "-o", folder / "bundle"))):
    file = compile("a", artefact, "--emit", "shared" if artefact == "lib.so" else "object")
    file.rename(folder / "right")
    shutil.copy(b, file)
    refused(use(), str(file), checksum(b))
    assert not (folder / "bundle").exists()
    shutil.copy(folder / "right", file)
    assert use().returncode == 0
print("exchanged weights are refused")
