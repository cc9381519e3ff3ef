"""Which rows of the table hold for the sources at hand: each has a key, a hash of what its cell depends on.

A cell depends on the product's sources that its PROGRAM is built of (sources.py: without what it does not include, and without their
comments), on the files that it names besides, and on its own options. The key is taken over the files as they lie in the working tree,
committed or not, so that a row written before a commit holds after it, and a commit that touches nothing of this (documents, other
tests, benchmarks, the table itself) outdates no row. A changed key says which rows to run again:

    python run.py --build build             runs just these
    python run.py --build build --fresh     counts them
"""
import hashlib
import subprocess
from dataclasses import dataclass

import sources
from sources import ROOT

PRODUCT = ("compiler/", "dialects/", "kernels/", "runtime/", "tools/cleave/", "tools/cleave-opt/")
BUILD = ("CMakeLists.txt", "CMakePresets.json", "cmake/")  # and each CMakeLists.txt of what the program runs
LEFT_OUT = (".md", "test/full/results.csv")  # documents, and what the cells write themselves


@dataclass(frozen=True)
class Program:
    """What a cell runs: the folders of its own sources (all that they reach by #include counts), the CMake targets that it is made of
    (check_sources.py), and what of those it does not run."""
    roots: tuple
    targets: tuple = ()
    cut: tuple = ()
    doors: tuple = ()


# The compiler, and what it links programs with. Passes of Training/Update have no header there: Training/Passes.td declares them.
COMPILED = ("tools/cleave/", "compiler/Training/Update/", "runtime/main/", "runtime/comm/mpi/")
TARGETS = ("cleave", "cleave_main", "cleave_comm_mpi")
PROGRAMS = {
    "host": Program(COMPILED, (*TARGETS, "PlanMutants", "ShardedMutants"), sources.CUDA, sources.DOORS),
    "gpu": Program(COMPILED, TARGETS),
    "importer": Program(("compiler/Import/",), ("cleave-import",)),
    "runtime": Program(("runtime/main/", "runtime/comm/mpi/", "test/runtime/"), ("runtime-tests", "cleave_main", "cleave_comm_mpi")),
    "all": Program(PRODUCT),
}


def files_at_hand():
    """Of the working tree, committed or not."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted({path for path in listed if path and (ROOT / path).is_file() and not path.endswith(LEFT_OUT)})


class Keys:
    """The keys of cells, for the working tree as it was when this was made."""

    def __init__(self):
        self.files, self.digests, self.known = files_at_hand(), {}, {}
        self.includes = sources.Includes(self.files)

    def digest(self, path):
        if path not in self.digests:
            self.digests[path] = sources.digest(path)
        return self.digests[path]

    def of_files(self, prefixes):
        return self.once(prefixes, lambda: [path for path in self.files if path.startswith(prefixes)])

    def of_program(self, name):
        return self.once(name, lambda: self.files_of_program(name))

    def files_of_program(self, name):
        """The files of the folders that it reaches, and how all is built."""
        program = PROGRAMS[name]
        folders = {sources.folder_of(path) for path in self.includes.reached(program.roots, program.cut, program.doors)}
        return [path for path in self.files if not path.startswith(program.cut)
                and (path.startswith(BUILD) or (path.startswith(PRODUCT) and path.endswith("CMakeLists.txt"))
                     or sources.folder_of(path) in folders)]

    def once(self, what, paths):
        if what not in self.known:
            text = "".join(f"{path} {self.digest(path)}\n" for path in paths())
            self.known[what] = hashlib.sha256(text.encode()).hexdigest()
        return self.known[what]

    def of(self, cell):
        text = "\n".join([self.of_program(cell.program), self.of_files(tuple(cell.files)), cell.detail])
        return hashlib.sha256(text.encode()).hexdigest()[:12]
