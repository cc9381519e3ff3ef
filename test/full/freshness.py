"""Which rows of the table hold for the sources at hand: each has a key, a hash of what its cell depends on.

A cell depends on the product's sources (PRODUCT), on the files that it names besides, and on its own options. The key is taken over the
files as they lie in the working tree, committed or not, so that a row written before a commit holds after it, and a commit that touches
nothing of this (documents, other tests, benchmarks, the table itself) outdates no row. A changed key says which rows to run again:

    python run.py --build build             runs just these
    python run.py --build build --fresh     counts them
"""
import hashlib
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ("CMakeLists.txt", "CMakePresets.json", "cmake/", "compiler/", "dialects/", "kernels/", "runtime/", "tools/cleave/",
           "tools/cleave-opt/")
DOCUMENTS = (".md",)


def git(*arguments, text=None):
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, input=text, check=True).stdout


def blobs():
    """The hash of each file's contents by its path, deleted files aside."""
    known = {}
    for line in git("ls-files", "-s", "-z").split("\0"):
        if line:
            entry, path = line.split("\t", 1)
            known[path] = entry.split()[1]
    changed = [path for path in git("diff", "--name-only", "-z", "HEAD").split("\0") + git(
        "ls-files", "--others", "--exclude-standard", "-z").split("\0") if path]
    present = [path for path in changed if (ROOT / path).is_file()]
    for path in set(changed) - set(present):
        known.pop(path, None)
    hashes = git("hash-object", "--stdin-paths", text="\n".join(present)).split() if present else []
    return known | dict(zip(present, hashes, strict=True))


class Keys:
    """The keys of cells, for the working tree as it was when this was made."""

    def __init__(self):
        self.blobs, self.known = blobs(), {}

    def of_files(self, prefixes):
        if prefixes not in self.known:
            digest = hashlib.sha256()
            for path, blob in sorted(self.blobs.items()):
                if path.startswith(prefixes) and not path.endswith(DOCUMENTS):
                    digest.update(f"{path} {blob}\n".encode())
            self.known[prefixes] = digest.hexdigest()
        return self.known[prefixes]

    def of(self, cell):
        text = "\n".join([self.of_files(PRODUCT), self.of_files(tuple(cell.files)), cell.detail])
        return hashlib.sha256(text.encode()).hexdigest()[:12]
