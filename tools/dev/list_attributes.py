"""The attributes that passes leave for each other: writes dialects/Cleave/IR/Attributes.md, or checks it.

  list_attributes.py            checks, prints every finding, and fails if there is one
  list_attributes.py --write    writes the table anew

Sources name an attribute by its constant of dialects/Cleave/IR/Attributes.def. A literal "cleave.something" is an
attribute that nobody has declared, or a declared one under another name. (The key of a file's metadata is none: `kFormKey[] = "cleave.form"`.)
A constant that no source uses has no writer.

The columns of writers and readers are compared with the files that use the constant. Each item names

  a pass        `build-plan`: the file of this name, and the files that it includes from its own room (compiler/Planning)
  a room        `the importer`, `the driver`, `sharding`, `planning`, `training`: all files of the room; `the verify passes`: these four
  a file        `Triangle.h`, alone or in parentheses after a pass or a room; `.h` stands for the source of this name, too
  people        who look at dumps

A file that uses the constant must belong to an item, a file that sets it to a writer. Each item must have a file that
uses it, and a pass must include the file in its parentheses. Files of dialects/Cleave/IR belong to many passes, and so only to items that name them.
"""
import pathlib
import re
import sys

LIST = "dialects/Cleave/IR/Attributes.def"
TABLE = "dialects/Cleave/IR/Attributes.md"
FOLDERS = ("compiler", "dialects", "tools", "runtime", "examples")
ENTRY = re.compile(r'^CLEAVE_ATTRIBUTE\((\w+), "([^"]+)", (\w+), "([^"]*)", (\w+), "([^"]*)",\s*"([^"]*)",\s*"([^"]*)"\)', re.M)
WORDS = r"unit|bool|count|index|i64|f64|string|symbol|type|array<i64>|array<f64>|array<2xi64>|array<2xf64>|mesh|predicate|sharding"
ROOMS = {"the importer": "compiler/Import", "the driver": "compiler/Driver", "sharding": "compiler/Sharding", "planning": "compiler/Planning",
         "training": "compiler/Training"}
VERIFY_PASSES = ("verify-model", "verify-step", "verify-sharded", "verify-kernels")
# What stands before the constant of an attribute where it is read or removed, or set. Other uses may be both.
CALL = r"(?:<[\w:]+>)?\((?:[^();]|\([^()]*\))*$"
READS = re.compile(rf"\b(?:(?:get(?!NamedAttr)|has|remove|erase|contains)\w*|\w+(?:At|Of)){CALL}|(?:==|!=|<<) $")
SETS = re.compile(rf"\b(?:set\w*|note|addArgument|getNamedAttr){CALL}")
LITERAL = re.compile(r'(?<!Key\[\] = )"(cleave\.[a-z_0-9.]+)"')
CARRIERS = {"Module": "module", "Function": "function", "Argument": "argument", "Result": "result", "ArgumentOrResult": "argument, result",
            "State": "state", "StateOrOp": "state, op", "Op": "op"}
LEVELS = {"Always": "all", "FromModel": "all", "AtModel": "model", "FromStep": "step and below", "FromSharded": "sharded and below",
          "FromKernels": "kernels and below", "AtPrograms": "programs", "Between": "between two passes"}
HEAD = """# Attributes that passes leave for each other

`tools/dev/list_attributes.py --write` makes this table of [Attributes.def](Attributes.def), where each is declared. The verify pass of each level
(`verify-model`, `verify-step`, `verify-sharded`, `verify-kernels`, and `build-plan` for programs) refuses an attribute that is not declared, that stands on
something else, or that should be gone. The verifier of the dialect refuses one that has another form, wherever it stands. In a form, `[x]` is a list of `x`
(`[x+]`: not an empty one), `{key: x}` a dictionary with these keys and no others, `key?` a key that may be left out, and `*` any key.

| attribute | of | form | levels | written by | read by | meaning |
|---|---|---|---|---|---|---|
"""


def entries(root):
    text = (root / LIST).read_text()
    found = ENTRY.findall(text)
    if len(found) != len(re.findall(r"^CLEAVE_ATTRIBUTE\(", text, re.M)):
        raise SystemExit(f"{LIST}: an entry has another form than constant, name, carriers, form, levels, writer, readers, meaning")
    return found


def table(root):
    rows = [f"| `{name}` | {CARRIERS[carriers]} | `{form}` | {LEVELS[levels]} | {writer} | {readers} | {meaning} |\n"
            for _, name, carriers, form, levels, writer, readers, meaning in sorted(entries(root), key=lambda e: e[1])]
    return HEAD + "".join(rows)


def code(text):
    return re.sub(r"//[^\n]*", "", text)


def is_form(text):
    """Whether `text` is of the language that dialects/Cleave/IR/Attributes.cpp reads."""
    word, entry = rf"\b(?:{WORDS})(?![\w>?:])", r"(?:\w+\??|\*): #"
    while text != (text := re.sub(rf"{word}|\[#\+?\]|\{{{entry}(?:, {entry})*\}}|#(?: or #)+", "#", text)):
        pass
    return text == "#"


class Sources:
    """The files of the compiler and the dialects, and which of them belong together."""

    def __init__(self, root):
        self.text = {file.relative_to(root).as_posix(): code(file.read_text()) for folder in FOLDERS
                     for file in sorted((root / folder).rglob("*")) if file.suffix in {".h", ".cpp"}}
        self.closures = {}
        self.includes = {name: re.findall(r'^#include "((?:compiler|dialects)/[^"]+\.h)"', text, re.M) for name, text in self.text.items()}
        self.sources = {}  # of a header: the source of its name, and those that include it as the first one of their folder
        for name, headers in self.includes.items():
            if name.endswith(".cpp"):
                beside = [header for header in headers if pathlib.PurePath(header).parent == pathlib.PurePath(name).parent]
                for header in {name[:-4] + ".h", *beside[:1]}:
                    self.sources.setdefault(header, set()).add(name)

    @staticmethod
    def room(name):
        return "/".join(name.split("/")[:3 if name.startswith("dialects") else 2])

    def closure(self, start):
        """The file, and those that it includes from its room."""
        if start in self.closures:
            return self.closures[start]
        found, left = self.closures.setdefault(start, set()), [start]
        while left:
            name = left.pop()
            if name in found or name not in self.text or self.room(name) != self.room(start):
                continue
            found.add(name)
            left += [*self.includes[name], *self.sources.get(name, ())]
        return found

    def named(self, name):
        """The files that an item of a row means by a name; none where the name is unknown."""
        if name == "the verify passes":
            return set().union(*map(self.named, VERIFY_PASSES))
        if name in ROOMS:
            return {file for file in self.text if file.startswith(ROOMS[name] + "/")}
        if "." in name:
            stem = name.removesuffix(".h")
            return {file for file in self.text if file.split("/")[-1] in {name, stem + ".cpp"}}
        camel = "".join(word.capitalize() for word in name.split("-"))
        return set().union(*(self.closure(file) for file in self.text if file.endswith(f"/{camel}.cpp")))

    def includes_any(self, files, others):
        """Whether one of `files` is, or includes, one of `others`."""
        headers = {header for file in files for header in self.includes[file]}
        return bool(others & (files | headers))

    def uses(self, constant):
        """The files that read or remove the attribute, those that set it, and those that do what nobody can tell from the line."""
        reading, setting, unclear = set(), set(), set()
        for name, text in self.text.items():
            if name.endswith("IR/Attributes.h") or constant not in text:
                continue
            for use in re.finditer(rf"\b{constant}\b", text):
                before = text[max(0, use.start() - 160):use.start()]
                reads, sets = READS.search(before), SETS.search(before)
                (unclear if bool(reads) == bool(sets) else reading if reads else setting).add(name)
        return reading, setting, unclear


def items(column):
    """[names] of each item of a column: "the driver (StageFit.h), cut-model, which takes it off" has two."""
    for item in re.findall(r"(?:\([^)]*\)|[^,(])+", column):
        head = re.match(r"\s*(the verify passes|the \w+|[a-z-]+|\w+\.\w+)", item)[1]
        files = re.findall(r"\b\w+\.(?:h|cpp)\b", item)
        if head not in {"which", "where", "people"}:
            yield [head, *(file for file in files if file != head)]
        elif files:
            yield files


def untrue(sources, constant, writers, readers):
    """What a row says that the sources do not, and what they do that it does not say."""
    reading, setting, unclear = sources.uses(constant)
    told = {}
    for column, verb, text, files in (("writer", "sets", writers, setting | unclear), ("reader", "reads", readers, reading | unclear)):
        told[column] = set()
        for names in items(text):
            meant = [sources.named(name) for name in names]
            for name, own in zip(names, meant):
                if not own:
                    yield f"names the {column} {name}, which is no pass, room or file"
                elif not sources.includes_any(meant[0], own):
                    yield f"names the {column} {names[0]}, which does not include {name}"
            own = set().union(*meant)
            if own and not own & files:
                yield f"names the {column} {names[0]}, of which no file {verb} it"
            told[column] |= own
    for file in sorted(setting - told["writer"]):
        yield f"does not name the writer {file}"
    for file in sorted((reading | unclear) - told["writer"] - told["reader"]):
        yield f"does not name the reader {file}"


def findings(root):
    rows = entries(root)
    declared = {name: constant for constant, name, *_ in rows}
    sources = Sources(root)
    for file, text in sources.text.items():
        for name in LITERAL.findall(text):
            what = f"use {declared[name]}" if name in declared else f"declare it in {LIST}"
            yield f'{file} names the attribute "{name}" itself; {what}'
    for constant, name, _, form, _, writers, readers, _ in rows:
        if not is_form(form):
            yield f"{LIST} gives {name} a form that nothing reads: {form}"
        if not any(sources.uses(constant)):
            yield f"{LIST} declares {name}, which no source uses"
            continue
        for what in untrue(sources, constant, writers, readers):
            yield f"{LIST}: the row of {name} {what}"
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
