"""seeded_bundle.py BUILD BUNDLE COMPILER FLAGS    Puts the objects of a build into a bundle, where its script would have compiled the
sources, but for some of each kind; so the script compiles those, and does all else. Compiling the whole runtime takes minutes: that is
the cell bundle/gpt-nano of the full run.

First it looks at what is copied: each file that a source includes by a path must lie in the bundle."""
import json
import pathlib
import re
import shutil
import sys

build, bundle = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
LEFT_OUT = ("base/Philox.cpp", "device/cuda/CudaMatmul.cpp", "main/Team.cpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
OTHERS = ("nlohmann/", "flatbuffers/", "CLI/", "zlib.h", "zconf.h", "cleave/")


def check_includes():
    sources, missing = bundle / "sources", []
    for file in [f for top in ("runtime", "kernels") for f in (sources / top).rglob("*") if f.suffix in (".h", ".cpp", ".def")]:
        for kind, name in INCLUDE.findall(file.read_text()):
            folders = [sources, sources / "runtime/include", sources / "others"]
            if (kind == '"' or name.startswith(OTHERS)) and not any((folder / name).exists() for folder in folders):
                missing.append(f"{file.relative_to(sources)} includes {name}")
    # Kernels of the host are left out, their headers are not.
    missing = [line for line in missing if "oneapi/" not in line]
    assert not missing, missing


def seed():
    compiled = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        output = command.get("output") or re.search(r" -o (\S+)", command["command"])[1]
        compiled[command["file"]] = build / output
    (bundle / "build").mkdir()
    (bundle / "build/flags").write_text(f"{sys.argv[3]} {sys.argv[4]}\n")
    seeded = left = 0
    for line in (bundle / "sources/list.txt").read_text().splitlines():
        part, path = line.split("\t")[:2]
        if part == "mpi":
            continue
        if path.endswith(LEFT_OUT):
            left += 1
            continue
        name = path.removeprefix("sources/")
        object_ = next(o for f, o in compiled.items() if f.endswith(f"/{name}") and "Mpi_" not in o.name)
        shutil.copy(object_, bundle / "build" / (path.replace("/", "-") + ".o"))
        seeded += 1
    assert left == len(LEFT_OUT), left
    print(f"{seeded} objects of the build, {left} sources to compile")


check_includes()
seed()
