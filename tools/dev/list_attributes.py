"""The attributes that passes leave for each other: writes dialects/Cleave/IR/Attributes.md, or checks it.

  list_attributes.py            checks, prints every finding, and fails if there is one
  list_attributes.py --write    writes the table anew

Sources name an attribute by its constant of dialects/Cleave/IR/Attributes.def. A literal "cleave.something" is an
attribute that nobody has declared, or a declared one under another name. A constant that no source uses has no writer.
"""
import pathlib
import re
import sys

LIST = "dialects/Cleave/IR/Attributes.def"
TABLE = "dialects/Cleave/IR/Attributes.md"
FOLDERS = ("compiler", "dialects", "tools", "runtime", "examples")
ENTRY = re.compile(r'^CLEAVE_ATTRIBUTE\((\w+), "([^"]+)", (\w+), (\w+), (\w+), "([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)', re.M)
LITERAL = re.compile(r'"(cleave\.[a-z_0-9.]+)"')
CARRIERS = {"Module": "module", "Function": "function", "Argument": "argument", "Result": "result", "ArgumentOrResult": "argument, result",
            "State": "state", "StateOrOp": "state, op", "Op": "op"}
LEVELS = {"Always": "all", "FromModel": "all", "AtModel": "model", "FromStep": "step and below", "FromSharded": "sharded and below",
          "FromKernels": "kernels and below", "AtPrograms": "programs", "Between": "between two passes"}
HEAD = """# Attributes that passes leave for each other

`tools/dev/list_attributes.py --write` makes this table of [Attributes.def](Attributes.def), where each is declared. The verify pass of each level
(`verify-model`, `verify-step`, `verify-sharded`, `verify-kernels`, and `build-plan` for programs) refuses an attribute that is not declared, that stands on
something else, that has another type, or that should be gone.

| attribute | of | type | levels | written by | read by | meaning |
|---|---|---|---|---|---|---|
"""


def entries(root):
    text = (root / LIST).read_text()
    found = ENTRY.findall(text)
    if len(found) != len(re.findall(r"^CLEAVE_ATTRIBUTE\(", text, re.M)):
        raise SystemExit(f"{LIST}: an entry has another form than constant, name, carriers, type, levels, writer, readers, meaning")
    return found


def table(root):
    rows = [f"| `{name}` | {CARRIERS[carriers]} | {kind} | {LEVELS[levels]} | {writer} | {readers} | {meaning} |\n"
            for _, name, carriers, kind, levels, writer, readers, meaning in sorted(entries(root), key=lambda e: e[1])]
    return HEAD + "".join(rows)


def code(text):
    return re.sub(r"//[^\n]*", "", text)


def findings(root):
    declared = {name: constant for constant, name, *_ in entries(root)}
    used = set()
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in {".h", ".cpp"}:
                continue
            text = code(file.read_text())
            used |= set(re.findall(r"\bk\w+Attr\b", text))
            for name in LITERAL.findall(text):
                what = f"use {declared[name]}" if name in declared else f"declare it in {LIST}"
                yield f'{file.relative_to(root)} names the attribute "{name}" itself; {what}'
    for name, constant in declared.items():
        if constant not in used:
            yield f"{LIST} declares {name}, which no source uses"
    if not (root / TABLE).exists() or (root / TABLE).read_text() != table(root):
        yield f"{TABLE} is not what {LIST} says; run tools/dev/list_attributes.py --write"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    if "--write" in sys.argv:
        (root / TABLE).write_text(table(root))
        return 0
    found = list(findings(root))
    print("\n".join(found) or f"{len(entries(root))} attributes are declared and used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
