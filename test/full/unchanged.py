"""Whether what runs is still what the keys of a run are of: the files of the tree, and the programs of the build."""
import sys
import threading

import freshness

FOLDERS = ("bin", "lib", "test-bin", "test-lib", "fuzz")  # of the build, where the programs lie that cells run


class Changed(Exception):
    """Why a result would be of no single state of the sources."""


class Beginning:
    """The sources and the programs at the beginning of a run. All is read before the first cell: the code of the cells is of then, too."""

    def __init__(self, cells, build, toolchain=""):
        self.build, self.keys = build, freshness.Keys(toolchain)
        self.now, self.guard = self.keys, threading.Lock()
        self.wanted = {cell.name: self.keys.of(cell) for cell in cells}
        if freshness.stamps() != self.keys.stamps:
            sys.exit("files of the tree were written while they were read; start again")
        self.programs = programs(build)

    def keys_now(self):
        """Made again only where a file of the tree was written, came or went."""
        with self.guard:
            if freshness.stamps() != self.now.stamps:
                self.now = freshness.Keys(self.keys.toolchain, self.now)
            return self.now

    def check(self, cell, since=None):
        """Raises Changed where the cell's files or the programs are others than at the beginning, or where one of the files was written after
        `since`, the stamps of an earlier check. Gives the stamps."""
        now = self.keys_now()
        if now.of(cell) != self.wanted[cell.name]:
            raise Changed("its sources are others than when the run began")
        written = sorted(path for path in now.files_of_cell(cell) if since and now.stamps[path] != since.get(path))
        if written:
            raise Changed(f"{written[0]} was written while it ran")
        gone = [path for path, stamp in self.programs.items() if freshness.stamp(path) != stamp]
        if gone:
            raise Changed(f"{gone[0].name} was built again")
        return now.stamps


def programs(build):
    found = {path: freshness.stamp(path) for folder in FOLDERS if (build / folder).is_dir() for path in (build / folder).iterdir()}
    return {path: stamp for path, stamp in found.items() if stamp}
