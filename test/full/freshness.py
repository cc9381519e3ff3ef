"""Which rows of the table hold for the sources at hand: each has a key, a hash of what its cell depends on.

A cell depends on the product's sources that its PROGRAM is built of (sources.py: without what it does not include, and without their
comments), on the code that decides it and the scripts that it runs (reach.py), on the files that it names besides, on its own options, and on what the programs
were made with (machine.py).
The key is taken over the files as they lie in the working tree, committed or not, so that a row written before a commit holds after it, and
a commit that touches nothing of this (documents, other tests, benchmarks, other cells) outdates no row. A changed key says which rows to
run again:

    python run.py --build build             runs just these
    python run.py --build build --fresh     counts them
"""
import hashlib
import re
import stat
import subprocess
from dataclasses import dataclass

import reach
import sources
from sources import ROOT

PRODUCT = ("compiler/", "dialects/", "kernels/", "runtime/", "tools/cleave/", "tools/cleave-opt/")
BUILD = ("CMakeLists.txt", "CMakePresets.json", "cmake/")  # and each CMakeLists.txt of what the program runs
LEFT_OUT = ("test/full/results.csv", "test/full/results.md")  # what the cells write themselves
DOCUMENT = ".md"  # counts where a cell names it, or depends on the whole tree


@dataclass(frozen=True)
class Program:
    """What a cell runs: the folders of its own sources (all that they reach by #include counts), the CMake targets that it is made of
    (check_sources.py), which must be built before a cell runs, and what of those it does not run."""
    roots: tuple
    targets: tuple = ()
    cut: tuple = ()
    doors: tuple = ()


# The compiler, and what it links programs with. Passes of Training/Update have no header there: Training/Passes.td declares them.
COMPILED = ("tools/cleave/", "compiler/Training/Update/", "runtime/main/", "runtime/comm/mpi/")
TARGETS = ("cleave", "cleave_main", "cleave_comm_mpi")
PROGRAMS = {
    "host": Program(COMPILED, (*TARGETS, "PlanMutants", "ShardedMutants"), sources.CUDA, sources.DOORS),
    "gpu": Program(COMPILED, (*TARGETS, *(f"cleave_emulated_{name}" for name in ("cuda", "cublaslt", "cudnn", "nccl")))),
    "importer": Program(("compiler/Import/",), ("cleave-import",)),
    "runtime": Program(("runtime/main/", "runtime/comm/mpi/", "test/runtime/"), ("runtime-tests", "cleave_main", "cleave_comm_mpi")),
    "all": Program(PRODUCT),
}
EVERYTHING = (*TARGETS, "cleave-opt", "cleave-tests", "cleave-lit-programs")  # targets of a program that lists none
FUZZER = ("fuzz", "cleave-import-fuzz")
BUILT = re.compile(r"\{build\}/(?:bin/|test-bin/|(fuzz)/)([\w-]+)")  # programs that the lines of a cell name


def stamp(path):
    """What changes when a file is written; nothing where it is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns) if stat.S_ISREG(status.st_mode) else None


def stamps():
    """Of the files of the working tree, committed or not."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout.split("\0")
    found = {path: stamp(ROOT / path) for path in listed if path and not path.endswith(LEFT_OUT)}
    return {path: found[path] for path in sorted(found) if found[path]}


class Keys:
    """The keys of cells. A file is read when a key first needs it: who wants the keys of one moment asks for them at once (unchanged.py).
    `toolchain` is what the programs were made with (machine.py). Files that `before` has read are read again only where they were written."""

    def __init__(self, toolchain="", before=None):
        self.toolchain, self.stamps, self.known, self.of_cells = toolchain, stamps(), {}, {}
        self.files = list(self.stamps)
        self.digests = {path: digest for path, digest in before.digests.items() if self.stamps.get(path) == before.stamps[path]} if before else {}
        self.includes, self.reach = sources.Includes(self.files), reach.Reach(self.files)

    def digest(self, path):
        if path not in self.digests:
            self.digests[path] = sources.digest(path)
        return self.digests[path]

    def of_files(self, prefixes):
        return self.once(prefixes, lambda: self.files_of(prefixes))

    def files_of(self, prefixes):
        return [path for path in self.files if path.startswith(prefixes) and (not path.endswith(DOCUMENT) or path in prefixes or "" in prefixes)]

    def reached_by(self, cell):
        return self.reached(tuple(cell.files), cell.code(), cell.detail)

    def reached(self, files, code, detail):
        """The text of the code that decides a cell, and the files of that code and of the cell's scripts."""
        text, found = self.reach.of_code(*code)
        named = self.reach.closures(path for path in files if not path.endswith("/"))
        return text, tuple(sorted((found | named | self.reach.of_scripts(detail)) & set(self.files)))

    def of_outcomes(self, files):
        """Of what makes the outcomes of training configurations: a kept one holds while this is the same."""
        return self.of_program("host") + self.of_runs(files)

    def of_runs(self, files):
        """Of what the outcome of a configuration depends on besides its program: a kept run holds while this is the same."""
        text, reached = self.reach.of_code("outcomes", "Workshop.outcome")
        parts = [self.toolchain, self.of_files(files), self.once(tuple(sorted(reached)), lambda: sorted(reached)), text]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def of_program(self, name):
        return self.once(name, lambda: self.files_of_program(name))

    def files_of_program(self, name):
        """The files of the folders that it reaches, and how all is built."""
        program = PROGRAMS[name]
        folders = {sources.folder_of(path) for path in self.includes.reached(program.roots, program.cut, program.doors)}
        return [path for path in self.files if not path.startswith(program.cut) and not path.endswith(DOCUMENT)
                and (path.startswith(BUILD) or (path.startswith(PRODUCT) and path.endswith("CMakeLists.txt"))
                     or sources.folder_of(path) in folders)]

    def once(self, what, paths):
        if what not in self.known:
            text = "".join(f"{path} {self.digest(path)}\n" for path in paths())
            self.known[what] = hashlib.sha256(text.encode()).hexdigest()
        return self.known[what]

    def of(self, cell):
        """Kept for each cell: a run asks for all of them after every cell, to write the table."""
        known = (cell.name, cell.program, tuple(cell.files), cell.code(), cell.detail)
        if known not in self.of_cells:
            self.of_cells[known] = self.of_parts(*known[1:])
        return self.of_cells[known]

    def of_parts(self, program, files, code, detail):
        text, reached = self.reached(files, code, detail)
        parts = [self.toolchain, self.of_program(program), self.of_files(files), self.once(reached, lambda: reached), text, detail]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    @staticmethod
    def programs(cells):
        """What must be built before these cells run: folders of builds below the build folder, each with its targets."""
        wanted = {}
        for cell in cells:
            targets = PROGRAMS[cell.program].targets
            wanted.setdefault("", set()).update(targets or EVERYTHING)
            for folder, target in BUILT.findall(cell.detail) + [FUZZER] * (not targets):
                wanted.setdefault(folder, set()).add(target)
        return [(folder, sorted(targets)) for folder, targets in wanted.items()]

    def files_of_cell(self, cell):
        return {*self.files_of_program(cell.program), *self.files_of(tuple(cell.files)), *self.reached_by(cell)[1]}

    def lacks(self, cell, paths):
        """Those of the tree's files that are no part of the cell's key; and folders (with a / at their end) that were listed, where the key
        has not all that may come to lie in them."""
        folders = {path for path in paths if path.endswith("/") and not path.startswith(tuple(cell.files))}
        return sorted(set(paths) & set(self.files) - self.files_of_cell(cell) | {path for path in folders if self.holds(path)})

    def holds(self, folder):
        """Whether files of the tree lie in it."""
        return any(path.startswith(folder.removeprefix("./")) for path in self.files)
