"""Checks the list of attributes that passes leave for each other (dialects/Cleave/IR/Attributes.md) against the sources.

  check_attributes.py ROOT     prints every finding, and fails if there is one

An attribute that a source names and the list lacks is a finding, and so is one in the list that no source names, or that lacks an entry.
"""
import pathlib
import re
import sys

LIST = "dialects/Cleave/IR/Attributes.md"
FOLDERS = ("compiler", "dialects", "tools", "runtime", "examples")
LITERAL = re.compile(r'"(cleave\.[a-z_0-9.]+)"')


def listed(root):
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in (root / LIST).read_text().splitlines() if line.startswith("| `cleave.")]
    return {row[0].strip().strip("`"): [entry.strip() for entry in row[1:]] for row in rows}


def named(root):
    """Attribute -> the files that name it; comments do not count."""
    found = {}
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in {".h", ".cpp"}:
                for name in LITERAL.findall(re.sub(r"//[^\n]*", "", file.read_text())):
                    found.setdefault(name, []).append(str(file.relative_to(root)))
    return found


def findings(root):
    known, used = listed(root), named(root)
    for name in sorted(used.keys() - known.keys()):
        yield f"{used[name][0]} names the attribute {name}, which {LIST} does not list"
    for name in sorted(known.keys() - used.keys()):
        yield f"{LIST} lists {name}, which no source names"
    for name, entries in known.items():
        if len(entries) != 6 or not all(entries):
            yield f"{LIST}: {name} lacks one of: of, type, levels, written by, read by, meaning"


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(findings(root))
    print("\n".join(found) or f"{len(listed(root))} attributes are listed and named")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
