"""check_reference.py PAGE: the page of the Python package names everything public, and nothing that does not exist."""
import ast
import pathlib
import re
import sys

import cleave
import cleave.library


def public(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


def attributes(source, kind):
    """Those that its methods set on `self`."""
    found = set()
    for node in ast.walk(next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef) and n.name == kind)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and getattr(node.value, "id", "") == "self":
            found.add(node.attr)
    return {name for name in found if not name.startswith("_")}


def arguments(source, function):
    found = next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and n.name == function).args
    return {argument.arg for argument in found.args + found.kwonlyargs} - {"self"}


def main():
    sections = dict(re.findall(r"^## cleave\.(\w+)\n(.*?)(?=^## |\Z)", pathlib.Path(sys.argv[1]).read_text(), re.S | re.M))
    folder = pathlib.Path(cleave.__file__).parent
    library, export, report = ((folder / f"{file}.py").read_text() for file in ("library", "export", "report"))
    wanted = {name: public(getattr(cleave, name)) | attributes(library, name) for name in ("Model", "Tensor", "Evaluation", "CleaveError")}
    wanted["Model"] |= {"weights", "threads", "seed"}
    wanted["export_torch"] = arguments(export, "export_torch") | attributes(report, "Report")
    assert sections.keys() == wanted.keys(), (sorted(sections), sorted(wanted))
    for name, members in wanted.items():
        rows = [row.split("|")[1] for row in sections[name].splitlines() if row.startswith("| `")]
        told = {re.match(r"\w+", text)[0] for row in rows for text in re.findall(r"`([^`]*)`", row)}
        if name == "CleaveError":
            told = set(re.findall(r"`(code)`", sections[name]))
        assert told == members, (name, "not in the page", sorted(members - told), "only in the page", sorted(told - members))
        for row in rows:
            for method, given in re.findall(r"`(\w+)\(([^)]*)\)`", row):
                real = arguments(library, method)
                said = {re.match(r"\**(\w*)", part.strip())[1] for part in given.split(",")} - {"", "inputs"}
                assert said == real, (name, method, said, real)


if __name__ == "__main__":
    main()
