"""machine_code.py SOURCE BUILD MODEL FOLDER    The machine code (cubins) of programs for GPUs, and PTX where there is none.

Checks the program's image itself: its parts, their checksums and the ELF headers. The emulated device, which executes PTX, refuses machine
code as a driver does that has none for its GPU; so each run on it is a run of what follows."""
import os
import pathlib
import re
import struct
import subprocess
import sys

import numpy as np

import emulated
import ptxas

source, build, model, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import training_cases  # noqa: E402

GPT = source / "examples/gpt-nano/gpt-nano.onnx"
MAGIC, HEAD, PART = b"\x7fCleave\0", struct.Struct("<8sIIQII"), struct.Struct("<QQQII16s")


def compiled(name, *options, of=model, target="cuda:sm_90", **environment):
    command = ["cleave", "compile", of, "-o", folder / name, "--train", "--loss-output", "loss", "--target", target, "--dim", "batch=16", *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    return done, folder / name


def made(name, *options, **more):
    done, program = compiled(name, *options, **more)
    assert done.returncode == 0, done.stderr
    return program, done.stderr


def image(program):
    """Where it begins in the file, the PTX, and (chip, bytes) of each cubin."""
    data = program.read_bytes()
    begin = next(m.start() for m in re.finditer(re.escape(MAGIC), data) if HEAD.unpack_from(data, m.start())[1] == 2)
    parts = [PART.unpack_from(data, begin + HEAD.size + i * PART.size) for i in range(HEAD.unpack_from(data, begin)[2])]
    contents = [(p[5].rstrip(b"\0").decode(), data[begin + p[0]:begin + p[0] + p[1]]) for p in parts]
    assert contents[0][0] == "" and contents[0][1].endswith(b"\0") and contents[0][1].count(b"\0") == 1
    return begin, contents[0][1][:-1].decode(), contents[1:]


def chip_of(cubin):
    """Of the ELF header: CUDA 13 has it in other bits than earlier ones."""
    assert cubin[:7] == b"\x7fELF\x02\x01\x01", cubin[:16]
    machine, = struct.unpack_from("<H", cubin, 18)
    flags, = struct.unpack_from("<I", cubin, 48)
    assert machine == 190, machine
    return f"sm_{(flags >> 8 if cubin[8] >= 8 else flags) & 0xff}"


def entries(cubin):
    return {name[len(".text."):] for name in ptxas.sections(cubin) if name.startswith(".text.")}


def architectures():
    for target in ("sm_80", "sm_90", "sm_100"):
        program, said = made(target, target=f"cuda:{target}")
        assert "ptxas" not in said, said
        _, ptx, codes = image(program)
        assert [chip for chip, _ in codes] == [target] * len(codes) and codes, codes
        assert all(chip_of(code) == target for _, code in codes)
        assert entries(codes[0][1]) == set(re.findall(r"\.visible \.entry (\w+)", ptx)), "the model's own module"
        print(f"{target}: {len(entries(codes[0][1]))} kernels as machine code and as PTX")


def own():
    """Of Cleave's own kernels those that the plan calls, and no others."""
    program, _ = made("own", "--attention", "fused", "--precision", "bf16", of=GPT)
    _, ptx, codes = image(program)
    ours = [entries(code) for _, code in codes if not any("cleave_own" in e for e in entries(code))]
    called = subprocess.run(["cleave", "inspect", "--text", program], check=True, capture_output=True, text=True).stdout
    assert "attention_grad" in called
    assert {"attention_bf16_64", "attention_grad_bf16_64"} in ours and len(ours) == 2 and all(len(each) < 10 for each in ours), ours
    # Sums of columns, which a plan does not name, since the device calls them only where cuBLASLt has none.
    fused, _ = made("own-sums", "--bias-gradients", "fused", of=GPT)
    assert any("column_sums_f32" in entries(code) for _, code in image(fused)[2]), "column_sums_f32 has no machine code"
    print(f"own kernels: {sum(map(len, ours))} entries of two modules")


def wgmma():
    """For compute capability 9.0 alone: machine code, or text where there is no ptxas, in place of the text for all GPUs."""
    names = ["attention_bf16_64", "attention_grad_bf16_64"]
    options = ("--attention", "fused", "--precision", "bf16")
    program, _ = made("wgmma", *options, of=GPT, target="cuda:sm_90")  # it is the default
    assert [(chip, entries(code)) for chip, code in image(program)[2] if chip != "sm_90"] == [("sm_90a", set(names))]
    program, said = made("wgmma-text", *options, of=GPT, target="cuda:sm_90,wgmma=on", CLEAVE_PTXAS="off")
    (chip, text), = image(program)[2]
    wanted = ptxas.text_for_sm_90a((build / "kernels/AttentionImage.ptx").read_text(), names)
    assert chip == "sm_90a" and text.endswith(b"\0") and text[:-1].decode() == wanted and "note:" not in said, said
    program, _ = made("no-wgmma", *options, of=GPT, target="cuda:sm_90,wgmma=off")
    assert {chip for chip, _ in image(program)[2]} == {"sm_90"}
    for target in ("cuda:sm_80,wgmma=on", "cuda:sm_90,wgmma=maybe"):
        done, _ = compiled("refused-wgmma", target=target)
        assert done.returncode == 2 and f"--target {target}" in done.stderr and "wgmma=on or wgmma=off" in done.stderr, (done.returncode, done.stderr)
    print("wgmma: machine code, text and neither")


def deterministic():
    cache = {"CLEAVE_KERNEL_CACHE": str(folder / "cache")}
    first, _ = made("same", **cache)
    one = first.read_bytes()
    counting = assembler("counting", f'echo "$@" >> {folder}/calls\nexec {ptxas.tool("ptxas")} "$@"\n')
    (folder / "calls").write_text("")
    made("same", CLEAVE_PTXAS=str(counting), **cache)
    assert first.read_bytes() == one, "the cache's bytes differ"
    calls = (folder / "calls").read_text().splitlines()
    assert calls == ["--version"], calls
    made("same", CLEAVE_PTXAS=str(counting), CLEAVE_KERNEL_CACHE="off")
    assert first.read_bytes() == one, "two compilations differ"
    calls = (folder / "calls").read_text().splitlines()
    assert len(calls) == 2 + len(image(first)[2]) and calls[1] == "--version", calls
    # Of another version of ptxas nothing is taken.
    other = assembler("other", f'[ "$1" = --version ] && echo "another version" && exit 0\necho "$@" >> {folder}/later\nexec {ptxas.tool("ptxas")} "$@"\n')
    made("same", CLEAVE_PTXAS=str(other), **cache)
    assert len((folder / "later").read_text().splitlines()) == len(image(first)[2])
    print("the same bytes from the cache, without it and again")


def assembler(name, script):
    place = folder / name
    place.mkdir(exist_ok=True)
    (place / "ptxas").write_text("#!/bin/sh\n" + script)
    (place / "ptxas").chmod(0o755)
    return place / "ptxas"


VERSION = '[ "$1" = --version ] && echo "a stand-in" && exit 0\n'


def without():
    """Programs of PTX alone."""
    program, said = made("off", CLEAVE_PTXAS="off")
    assert image(program)[2] == [] and "note:" not in said, said
    old = assembler("old", VERSION + "echo \"ptxas fatal   : Value 'sm_90' is not defined for option 'gpu-name'\" >&2; exit 1\n")
    program, said = made("old-chip", CLEAVE_PTXAS=str(old))
    assert image(program)[2] == [] and said.count("note: the driver compiles the program's kernels at the first start") == 1, said
    assert "is not defined for option 'gpu-name'" in said and "CLEAVE_PTXAS" in said, said
    old = assembler("older", VERSION + 'echo "ptxas x.ptx, line 9; fatal   : Unsupported .version 8.0; current version is \'7.8\'" >&2; exit 1\n')
    program, said = made("old-version", CLEAVE_PTXAS=str(old))
    assert image(program)[2] == [] and said.count("note: the driver compiles") == 1 and "current version is '7.8'" in said, said
    # One that takes Cleave's own kernels, and not the program's: those of the first have machine code, and no text besides.
    partly = 'for last; do :; done\ngrep -q "entry cleave_" "$last" && echo "ptxas x.ptx, line 9; fatal   : Unsupported .version 8.0" >&2 && exit 1\n'
    partly = assembler("partly", VERSION + partly + f'exec {ptxas.tool("ptxas")} "$@"\n')
    program, said = made("partly-code", "--attention", "fused", "--precision", "bf16", of=GPT, CLEAVE_PTXAS=str(partly))
    codes = image(program)[2]
    assert [chip for chip, _ in codes].count("sm_90a") == 1 and all(code.startswith(b"\x7fELF") for _, code in codes), [chip for chip, _ in codes]
    assert said.count("note: the driver compiles") == 1, said
    print("PTX alone: off, and two that are too old")


def failures():
    """An error each, and no program."""
    def refused(name, script, *words):
        done, program = compiled(f"refused-{name}", CLEAVE_PTXAS=str(assembler(name, script)), CLEAVE_KERNEL_CACHE="off")
        assert done.returncode == 1 and not program.exists(), (done.returncode, done.stderr)
        for word in (*words, "CLEAVE_PTXAS"):
            assert word in done.stderr, (word, done.stderr)

    broken = 'for last; do :; done\nn=$(grep -n "^.visible .entry" "$last" | head -n 2 | tail -n 1 | cut -d: -f1)\n' \
             'echo "ptxas $last, line $((n + 3)); error   : Unknown symbol" >&2; exit 255\n'
    refused("broken", VERSION + broken, "kernel 'cleave_", "Unknown symbol", "of its PTX")
    refused("silent", VERSION + "exit 0\n", "it wrote no ELF file")
    refused("killed", VERSION + "kill -9 $$\n", "makes no machine code")
    refused("none", "exit 3\n", "--version fails")
    done, program = compiled("refused-missing", CLEAVE_PTXAS=str(folder / "nowhere"))
    assert done.returncode == 1 and not program.exists() and "--version fails" in done.stderr, done.stderr
    print("5 failures are errors")


def run(program, **environment):
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    command = [program, "train", "--data", f"{INPUTS[0]}={folder}/x.npy", "--data", f"{INPUTS[1]}={folder}/y.npy", "--steps", "3", "--metrics",
               folder / "metrics.jsonl"]
    (folder / "metrics.jsonl").unlink(missing_ok=True)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          env=emulated.environment(build, CLEAVE_LOG="debug", **environment))
    return done, (folder / "metrics.jsonl").read_text() if (folder / "metrics.jsonl").exists() else ""


def losses(metrics):
    return re.findall(r'"loss": ?([-\d.e]+)', metrics)


def runs():
    """The device takes no machine code: PTX computes the same as that of a program which has no other."""
    with_code, without_code = folder / "sm_90", folder / "off"
    done, metrics = run(with_code)
    assert done.returncode == 0 and "debug: the model's kernels are compiled by the driver, from PTX: it does not take their machine code (error 209: " \
        "the image is machine code for sm_90; the emulated device executes PTX)" in done.stderr, done.stderr
    done, other = run(without_code)
    assert done.returncode == 0 and "from PTX: the program has no machine code of them for sm_90" in done.stderr, done.stderr
    assert losses(metrics) == losses(other) and len(losses(metrics)) == 3, (metrics, other)
    done, _ = run(folder / "sm_80")  # a later GPU of another generation: machine code is not tried
    assert done.returncode == 0 and "from PTX: the program has no machine code of them for sm_90" in done.stderr, done.stderr
    done, _ = run(folder / "sm_80", CLEAVE_EMULATED_CAPABILITY="8.6")
    assert done.returncode == 0 and "error 209: the image is machine code for sm_80;" in done.stderr, done.stderr
    done, newer = run(with_code, CLEAVE_EMULATED_CAPABILITY="12.0")  # of a generation that this version does not know
    assert done.returncode == 0 and "from PTX: the program has no machine code of them for sm_120" in done.stderr, done.stderr
    assert losses(newer) == losses(metrics), (newer, metrics)
    print("runs on PTX where machine code is refused, is not there, or is of another GPU")


def damaged():
    data = bytearray((folder / "sm_90").read_bytes())
    begin, _, codes = image(folder / "sm_90")
    program = folder / "damaged"
    places = {"its PTX": data.index(b".visible .entry", begin), "machine code for sm_90": data.index(codes[0][1], begin) + len(codes[0][1]) // 2,
              "its table": begin + HEAD.size + 3, "does not begin as": begin + 9}
    for word, at in places.items():
        wrong = bytearray(data)
        wrong[at] ^= 4
        program.write_bytes(wrong)
        program.chmod(0o755)
        done, metrics = run(program)
        assert done.returncode == 1 and "code for the GPU is damaged" in done.stderr and word in done.stderr and not metrics, (word, done.stderr)
    print(f"damaged: {len(places)} places")


arrays = training_cases.data("mlp")
INPUTS, (X, Y) = list(arrays), arrays.values()
for check in (architectures, own, wgmma, deterministic, without, failures, runs, damaged):
    check()
