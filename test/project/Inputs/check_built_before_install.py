"""What `cmake --install` copies is built by the targets that tools/quickstart.sh builds: check_built_before_install.py BUILD QUICKSTART.sh
[MINUS-TARGET ...]. So an installation after the quickstart needs no further build. The targets after the script are left out of it, to show that
the check finds that.

Reads BUILD/build.ninja and the scripts cmake_install.cmake, and builds nothing. A file of the build tree that no rule of Ninja makes was
written when CMake configured, or is written by a command of the installation."""
import pathlib
import re
import sys

BUILD, QUICKSTART, LEFT_OUT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), set(sys.argv[3:])


def rules():
    """Of build.ninja: each output -> the inputs of its rule, those for the order alone included. Paths are relative to BUILD if they are in it."""
    made_of = {}
    text = (BUILD / "build.ninja").read_text().replace("$\n", "").replace("${cmake_ninja_workdir}", f"{BUILD}/")
    for line in re.findall(r"^build (.*)$", text, re.M):
        outputs, inputs = re.split(r"(?<!\$): \S+", line, maxsplit=1)
        for output in names(outputs):
            made_of.setdefault(output, set()).update(names(inputs))
    return made_of


def names(text):
    parts = re.findall(r"(?:\$.|[^\s$])+", text)
    return [re.sub(r"\$(.)", r"\1", part).removeprefix(f"{BUILD}/") for part in parts if part not in ("|", "||", "|@")]


def closure(made_of, targets):
    found, open_ones = set(), list(targets)
    while open_ones:
        if (name := open_ones.pop()) not in found:
            found.add(name)
            open_ones += made_of.get(name, ())
    return found


def installed(made_of):
    """(a file of the build tree that the installation copies or runs, the command); and the files that its commands write."""
    needed, written = set(), set()
    for script in BUILD.rglob("cmake_install.cmake"):
        text = script.read_text()
        for kind, rest in re.findall(r"file\(INSTALL DESTINATION [^\n]*? TYPE (\w+)([^)]*)\)", text):
            pattern = re.search(r'FILES_MATCHING REGEX "(.*?)"', rest)
            for path in re.findall(rf'"{re.escape(str(BUILD))}/([^"]*)"', rest):
                if kind == "DIRECTORY":
                    chosen = re.compile(pattern[1].replace("\\\\", "\\") if pattern else "")
                    needed |= {output for output in made_of if output.startswith(path) and chosen.search(f"/{output}")}
                else:
                    needed.add(path)
        for command in re.findall(r"^ *execute_process\((.*)\)$", text, re.M):
            written |= set(re.findall(rf'(?:OUTPUT_FILE "|"-DPAGE=){re.escape(str(BUILD))}/([^"]*)"', command))
            needed |= set(re.findall(rf'(?:COMMAND "|"-DPROGRAM=){re.escape(str(BUILD))}/([^"]*)"', command))
    return needed, written


def main():
    made_of = rules()
    line = re.search(r"^cmake --build build --target (.*)$", QUICKSTART.read_text(), re.M)
    targets = [target for target in line[1].split() if target not in LEFT_OUT]
    built = closure(made_of, targets)
    needed, written = installed(made_of)
    by_ninja = needed & made_of.keys()
    wrong = [f"{name} is installed, and none of the targets {', '.join(targets)} builds it" for name in sorted(by_ninja - built)]
    wrong += [f"{name} is installed, and nothing writes it" for name in sorted(needed - by_ninja - written) if not (BUILD / name).exists()]
    for kind in ("bin/cleave", "lib/libcleave_rt.a", "dialects/Cleave/IR/CleaveOps.h.inc"):
        if kind not in by_ninja:
            wrong.append(f"{kind} is not found in the scripts of the installation")
    print("\n".join(wrong) or f"{len(by_ninja)} installed files are built by {', '.join(targets)}")
    sys.exit(bool(wrong))


main()
