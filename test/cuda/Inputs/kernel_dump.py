"""kernel_dump.py MODEL FOLDER    What `cleave compile --dump` writes, and what it refuses."""
import json
import os
import pathlib
import re
import subprocess
import sys

import ptxas

model, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
OF_PTXAS = {"registers", "shared_bytes", "stack_bytes", "spill_store_bytes", "spill_load_bytes"}


def cleave(name, *options, path=None):
    environment = dict(os.environ, **({"PATH": f"{path}:{os.environ['PATH']}"} if path else {}))
    command = ["cleave", "compile", model, "-o", folder / name, "--train", "--loss-output", "loss", "--dim", "batch=8", *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def dump(name, target, path=None):
    """The index and what the compiler said, after the checks that hold for every target."""
    place, program = folder / f"{name}.dump", folder / name
    done = cleave(name, "--target", target, "--dump", place, path=path)
    assert done.returncode == 0, done.stderr
    with_dump = program.read_bytes()
    assert cleave(name, "--target", target, path=path).returncode == 0 and program.read_bytes() == with_dump, "--dump changes the program"
    index = json.loads((place / "index.json").read_text())
    plan = subprocess.run(["cleave", "inspect", "--text", program], check=True, capture_output=True, text=True).stdout
    planned = set(re.findall(r"(?m)^kernel @(k\d+)\.\d+ generated ", plan))
    listed = [entry["kernel"] for entry in index["kernels"]]
    assert sorted(listed) == sorted(planned), (listed, planned)
    names = {entry[kind] for entry in index["kernels"] for kind in ("mlir", "code")}
    assert {p.name for p in place.iterdir()} == names | {"index.json"}, names
    for entry in index["kernels"]:
        read = subprocess.run(["cleave-opt", place / entry["mlir"]], capture_output=True, text=True)
        assert read.returncode == 0 and "cleave.kernel" in read.stdout, read.stderr
    assert re.match(f"{target}(:|$)", index["target"]), index["target"]
    return index, place, done.stdout + done.stderr


def host():
    index, place, _ = dump("host", "host")
    for entry in index["kernels"]:
        text = (place / entry["code"]).read_text()
        assert entry["code"].endswith(".ll") and "define void @kernel(" in text and entry["iterations"] >= 1, entry
        assert not OF_PTXAS & set(entry), entry
    print(f"host: {len(index['kernels'])} kernels")
    # With what the first compilation has left in the cache of kernels, the texts are the same.
    again, other, _ = dump("host_again", "host")
    assert again == index and all((place / e["code"]).read_text() == (other / e["code"]).read_text() for e in index["kernels"])


def cuda():
    index, place, said = dump("cuda", "cuda:sm_90")
    image = ptxas.image_of(folder / "cuda")
    for entry in index["kernels"]:
        text = (place / entry["code"]).read_text()
        body = text[text.index(".visible .entry "):].rstrip()
        assert text.count(".visible .entry ") == 1 and body in image, entry
        assert f".visible .entry cleave_cuda_{entry['kernel']}(" in text and ".target sm_90" in text, entry
        assert entry["threads"] == int(re.search(r"\.maxntid (\d+)", text)[1]) and entry["blocks"] >= 1, entry
    print(f"cuda:sm_90: {len(index['kernels'])} kernels")
    return index, place, said


def assembler(name, script):
    place = folder / name
    place.mkdir()
    (place / "ptxas").write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo \"stand-in $0\" && exit 0\n" + script)
    (place / "ptxas").chmod(0o755)
    return place


def stand_ins():
    """Programs in place of ptxas, whose words are known."""
    words = """while [ $# -gt 3 ]; do shift; done
printf '\\177ELF' > "$2"
sed -n 's/^\\.visible \\.entry \\([a-z0-9_]*\\)(.*/\\1/p' "$3" | while read name; do
  echo "ptxas info    : Compiling entry function '$name' for 'sm_90'"
  echo "ptxas info    : Function properties for $name"
  echo "    24 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads"
  echo "ptxas info    : Used 44 registers, used 1 barriers, 24 bytes cumulative stack size, 256 bytes smem"
done
"""
    index, _, said = dump("told", "cuda:sm_90", assembler("telling", words))
    expected = {"registers": 44, "shared_bytes": 256, "stack_bytes": 24, "spill_store_bytes": 16, "spill_load_bytes": 12}
    for entry in index["kernels"]:
        assert {k: entry[k] for k in OF_PTXAS} == expected, entry
    assert "note" not in index and "note: --dump" not in said, said
    print(f"an assembler's words: {len(index['kernels'])} kernels")
    failing = assembler("failing", "echo \"ptxas fatal   : Value 'sm_90' is not defined for option 'gpu-name'\" >&2; exit 1\n")
    index, _, said = dump("untold", "cuda:sm_90", failing)
    assert not any(OF_PTXAS & set(entry) for entry in index["kernels"])
    for text in (index["note"], said):
        assert "are not known" in text and "failing/ptxas" in text and "is not defined for option" in text, text
    print(f"an assembler that fails: {len(index['kernels'])} kernels")


def real(index, place, said):
    if not ptxas.tool("ptxas"):
        assert "no ptxas was found" in said and "no ptxas was found" in index["note"], said
        return print("ptxas: none is installed, and a note says so")
    kernels = {k.name: k for k in ptxas.compiled(ptxas.image_of(folder / "cuda"), "sm_90", folder)}
    for entry in index["kernels"]:
        k = kernels[f"cleave_cuda_{entry['kernel']}"]
        told = entry["registers"], entry["shared_bytes"], entry["stack_bytes"], entry["spill_store_bytes"]
        assert told == (k.registers, k.shared, k.stack, k.spilled), (entry, k)
        alone = ptxas.compiled((place / entry["code"]).read_text(), "sm_90", folder)  # each file is a module by itself
        assert [(a.name, a.registers) for a in alone] == [(k.name, k.registers)], entry
    print(f"ptxas: {len(index['kernels'])} kernels agree")


def refusals():
    def refused(code, words, *options):
        done = cleave("refused", *options)
        assert done.returncode == code and words in done.stderr, (options, done.returncode, done.stderr)
        assert not (folder / "refused").is_file(), "an output of a compilation that was refused"

    (folder / "file").write_text("")
    refused(2, "none is generated for a plan", "--emit", "plan", "--dump", folder / "d1")
    refused(2, "none is generated for a plan", "--emit", "mlir", "--dump", folder / "d2")
    refused(2, "none is generated for a plan", "--stop-after", "fuse", "--dump", folder / "d3")
    refused(2, "is a file; name a folder", "--dump", folder / "file")
    refused(1, "cannot make the directory of --dump", "--dump", folder / "file" / "below")
    refused(2, "is the name of the output", "--dump", folder / "x" / ".." / "refused")
    assert not any((folder / d).exists() for d in ("d1", "d2", "d3"))
    print("6 refusals")


host()
of_cuda = cuda()
stand_ins()
real(*of_cuda)
refusals()
