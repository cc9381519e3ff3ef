"""The properties of plans: checks that runtime/plan/Properties.def says who writes and who reads each.

  list_properties.py [ROOT]    prints every finding, and fails if there is one

Sources name a property by its constant. The files that use a constant are those in the columns of its row, which also
may say `people`: then nothing reads the property but what prints them all. A key that has a dot, or a prefix with its
dot, is not written out as a literal.
"""
import pathlib
import re
import sys

LIST = "runtime/plan/Properties.def"
FOLDERS = ("compiler", "runtime", "tools")
ENTRY = re.compile(r'^CLEAVE_(PROPERTY|PROPERTIES)\((\w+), "([^"]+)", "([^"]*)", "([^"]*)", "(?:[^"\\]|\\.)*"\)$', re.M)


def entries(root):
    text = (root / LIST).read_text()
    found = ENTRY.findall(text)
    if len(found) != len(re.findall(r"^CLEAVE_\w+\(", text, re.M)):
        raise SystemExit(f"{LIST}: an entry has another form than constant, key, writer, readers, meaning")
    return found


def sources(root):
    """The code of each file but those that make the constants."""
    return {path.relative_to(root).as_posix(): re.sub(r"//[^\n]*", "", path.read_text())
            for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp") and path.stem != "Properties"}


def findings(root):
    texts = sources(root)
    for kind, constant, key, writer, readers in entries(root):
        told = {name for name in f"{writer}, {readers}".split(", ") if name != "people"}
        using = {file for file, text in texts.items() if re.search(rf"\b{constant}\b", text)}
        yield from (f"{LIST}: the row of {key} does not name {file}" for file in sorted(using) if file.split("/")[-1] not in told)
        yield from (f"{LIST}: the row of {key} names {name}, which does not use it"
                    for name in sorted(told - {file.split("/")[-1] for file in using}))
        literal = f'"{key}.' if kind == "PROPERTIES" else f'"{key}"' if "." in key else None
        yield from (f"{file} names the property {literal} itself; use {constant}" for file, text in texts.items() if literal and literal in text)


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = list(findings(root))
    print("\n".join(found) or f"{len(entries(root))} properties are declared and used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
