"""What a cell depends on besides the programs: told by the code that decides it and by the scripts that it runs, and not by lists.

  Deciding code    the definitions of this folder that a cell's decide() reaches by name: functions, methods of Workshop and Worker, and
                   constants. Tables (dictionaries, lists) do not count: what a cell takes from them is in its `detail`.
  Scripts          files of the tree that this code or a command names, the modules that they import, and the files that these name.

Both are read from the sources (ast), so they may find more than what runs, and miss a file whose name is computed. A cell that opens a file
of the tree that its key lacks has failed (run.py, hook/sitecustomize.py): such files are named in Cell.files.
"""
import ast
import functools
import re
from collections import defaultdict

from sources import ROOT

FOLDER = "test/full/"
OBJECTS = {"workshop": "outcomes.Workshop", "worker": "outcomes.Worker"}  # what decide() is given
NAME = re.compile(r"[\w.-]*(?:/[\w.-]+)*\.(?:py|sh|c|cpp|h|json|md|txt|supp|onnx|npy|npz|yml|safetensors|test|mlir)\b")
COMMON = {"__init__.py", "CMakeLists.txt", "README.md", "Rationale.md"}  # too many have such names for a name alone to tell one


class Module:
    """A module of this folder: its top-level definitions, and those of classes as CLASS.METHOD."""

    def __init__(self, path):
        text = (ROOT / path).read_text()
        self.lines, self.known, self.imported = text.splitlines(), {}, {}
        for node in ast.parse(text).body:
            for name in defined(node):
                self.known[name] = node
            if isinstance(node, ast.ClassDef):
                self.known |= {f"{node.name}.{each.name}": each for each in node.body if isinstance(each, ast.FunctionDef)}
            if isinstance(node, ast.Import):
                self.imported |= {alias.name: (alias.name, None) for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                self.imported |= {alias.name: (node.module, alias.name) for alias in node.names}

    def text(self, node):
        """Without blank lines and comments that have a line for themselves."""
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        lines = map(str.strip, self.lines[first - 1:node.end_lineno])
        return "\n".join(line for line in lines if line and not line.startswith("#"))


def defined(node):
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign) and not isinstance(node.value, (ast.Dict, ast.List, ast.DictComp, ast.ListComp)):
        return [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return []


class Reach:
    def __init__(self, files):
        self.files, self.modules, self.names = set(files), {}, defaultdict(list)
        for path in self.files:
            self.names[path[path.rfind("/") + 1:]].append(path)
        self.of_scripts, self.closure = functools.cache(self.of_scripts), functools.cache(self.closure)
        self.of_code = functools.cache(self.of_code)

    # Deciding code

    def module(self, name):
        path = f"{FOLDER}{name}.py"
        if path in self.files and name not in self.modules:
            self.modules[name] = Module(path)
        return self.modules.get(name)

    def of_code(self, module, name):
        """The text of the definitions that one reaches, and the files that they name or import."""
        waiting, texts, paths = [f"{module}.{name}"], {}, set()
        while waiting:
            place = waiting.pop()
            if place in texts:
                continue
            owner, _, name = place.partition(".")
            found = self.module(owner)
            node = found and found.known.get(name)
            if not node:
                continue
            if isinstance(node, ast.ClassDef) and place in OBJECTS.values():
                waiting.append(f"{place}.__init__")
                continue
            texts[place] = found.text(node)
            paths |= self.named_in(node, FOLDER)
            here, beside = self.used(found, owner, name, node)
            waiting += here
            paths |= beside
        return "\n".join(f"{place}\n{texts[place]}" for place in sorted(texts)), frozenset(self.closures(paths))

    def used(self, module, owner, name, node):
        """Definitions of this folder by their places, and modules of others by their files."""
        here, beside = [], set()
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                if each.id in module.known:
                    here.append(f"{owner}.{each.id}")
                of, what = module.imported.get(each.id, (None, None))
                if of and self.module(of):
                    here += [f"{of}.{what}"] if what else []
                elif of:
                    beside |= self.modules_named(of, FOLDER)
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
                of = each.value.id
                if of in OBJECTS:
                    here.append(f"{OBJECTS[of]}.{each.attr}")
                elif of == "self":
                    here.append(f"{owner}.{name.split('.')[0]}.{each.attr}")
                elif of in module.imported:
                    here.append(f"{module.imported[of][0]}.{each.attr}")
        return here, beside

    # Scripts

    def of_scripts(self, text):
        """The files that the lines of a command cell name, and all that these reach."""
        return frozenset(self.closures({path for name in NAME.findall(text) if (path := name.lstrip("/")) in self.files}))

    def closures(self, paths):
        found, waiting = set(), list(paths)
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                waiting += self.closure(path)
        return found

    def closure(self, path):
        """What one file names or imports."""
        folder = path[:path.rfind("/") + 1]
        if path.startswith(FOLDER):
            return frozenset()
        if path.endswith((".sh", ".test")):
            return frozenset(self.places_of(NAME.findall((ROOT / path).read_text()), folder) - {path})
        if not path.endswith(".py"):
            return frozenset()
        tree, found = ast.parse((ROOT / path).read_text()), set()
        for node in ast.walk(tree):
            for name in imported(node):
                found |= self.modules_named(name, folder)
        return frozenset((found | self.named_in(tree, folder)) - {path})

    def named_in(self, tree, folder):
        """Files whose names are in strings, those of documentation aside."""
        told = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
                and node.body and isinstance(node.body[0], ast.Expr)}
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told]
        return self.places_of([name for text in texts for name in NAME.findall(text)], folder)

    def places_of(self, names, folder):
        """A path from the root or from the folder; else all files whose paths end so, where the name tells them."""
        found = set()
        for name in names:
            # %S/../Inputs/x.py, %S/Inputs/x.py, %source/test/x.py
            name = name.rpartition("../")[2].removeprefix("S/").removeprefix("source/").lstrip("/")
            base = name[name.rfind("/") + 1:]
            if name in self.files:
                found.add(name)
            elif folder + name in self.files:
                found.add(folder + name)
            elif base not in COMMON:
                found |= {path for path in self.names[base] if path.endswith(f"/{name}")}
        return {path for path in found if not path.startswith(FOLDER)}

    def modules_named(self, name, folder):
        """Files of a dotted name; the one beside the importing file comes first."""
        found = set()
        for part in name.split("."):
            for base in (f"{part}.py", f"{part}/__init__.py"):
                here = [folder + base] if folder + base in self.files else self.names[base] if "/" not in base else [
                    path for path in self.names["__init__.py"] if path.endswith(f"/{base}")]
                found |= {path for path in here if not path.startswith(FOLDER)}
        return found


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []
