"""What the rows of the table depend on among the product's sources, as told by the sources themselves.

A C++ file counts by its tokens: comments and white space change no row. `reached` follows #include lines from the folders of a
program's own sources. It takes a folder as a whole, because a header is implemented in its folder; a generated header belongs to the
folder whose path it has. Code that a program does not run can be cut off: CUDA is a set of folders that host programs enter by DOORS
alone, and `reached` refuses an #include into them from anywhere else. check_sources.py compares all this with what the build links.
"""
import hashlib
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CXX = (".cpp", ".h", ".c", ".cu", ".cuh", ".def")
SOURCES = (*CXX, ".td", ".fbs")

# What only --target cuda:... and programs for GPUs run; it is entered where a target or a device is chosen by its name, and
# where the time of a plan for GPUs is predicted.
CUDA = ("compiler/Codegen/CUDA/", "compiler/Target/Cuda.cpp", "runtime/device/cuda/", "kernels/attention/cuda/", "kernels/common/cuda/",
        "kernels/convolution/cuda/", "kernels/indexing/cuda/", "kernels/pooling/cuda/", "kernels/reduction/cuda/")
DOORS = ("compiler/Simulator/InstructionCosts.cpp", "compiler/Target/Cuda.cpp", "runtime/device/Device.cpp",
         "runtime/device/DeviceMeeting.cpp")

TOKEN = re.compile(r"""
    (?P<blank>    //(?:\\\n|[^\n])* | /\*.*?\*/ | \\\n | [^\S\n]+ )
  | (?P<newline>  \n )
  | (?P<text>     (?:u8|[uUL])?R"(?P<end>[^()\s\\]{0,16})\(.*?\)(?P=end)"
                | \.?\d(?:[eEpP][+-]|'\w|[\w.])*
                | (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*" | (?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'
                | \w+
                | \.\.\. | <<= | >>= | ->\* | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\| | [-+*/%&|^]= | :: | \#\#
                | . )""", re.VERBOSE | re.DOTALL)


def tokens(text):
    """Of C++; the end of a directive's line is one, and so is the blank that keeps a macro from having parameters."""
    directive, blank, count = False, True, 0  # count: tokens of the line
    for match in TOKEN.finditer(text):
        kind, token = match.lastgroup if match.lastgroup != "end" else "text", match.group()
        if kind == "newline":
            if directive:
                yield "\n"
            directive, count = False, 0
        elif kind == "text":
            directive = directive or (token == "#" and not count)
            if directive and blank and token == "(":
                yield " "
            yield token
            count += 1
        blank = kind != "text"


def digest(path):
    """Of what of a file can change a result."""
    contents = (ROOT / path).read_bytes()
    if path.endswith(CXX):
        contents = "\0".join(tokens(contents.decode(errors="replace"))).encode()
    return hashlib.sha256(contents).hexdigest()


class Escape(Exception):
    """Code outside of a cut's doors that includes into it."""


class Includes:
    """The graph of #include lines of the files of this tree."""

    def __init__(self, files):
        self.files = {path for path in files if path.endswith(SOURCES)}
        self.folders, self.known = {}, {}
        for path in self.files:
            self.folders.setdefault(folder_of(path), []).append(path)

    def of(self, path):
        """The folders that a file includes from, each with the file that says so."""
        if path not in self.known:
            names = re.findall(r'^\s*#?\s*include\s+"([^"]+)"', (ROOT / path).read_text(errors="replace"), re.MULTILINE)
            self.known[path] = {target for target in map(lambda name: self.resolve(path, name), names) if target}
        return self.known[path]

    def resolve(self, path, name):
        """A file; the folder of one that is generated; nothing for those of libraries."""
        for candidate in (name, f"runtime/include/{name}", str(pathlib.PurePath(path).parent / name)):
            if candidate in self.files:
                return candidate
        return folder_of(name) if folder_of(name) in self.folders else None

    def reached(self, roots, cut=(), doors=()):
        """The sources of the folders that the roots (folders with a / at their end) reach without the cut."""
        found, waiting = set(), [path for path in self.files if path.startswith(roots) and not path.startswith(cut)]
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            found.add(path)
            for target in self.of(path):
                if target.startswith(cut):
                    if path not in doors:
                        raise Escape(f"{path} includes {target}, which a host program is taken not to run: test/full/sources.py, CUDA and DOORS")
                    continue
                waiting += [other for other in self.folders[folder_of(target)] if not other.startswith(cut)]
        return found


def folder_of(path):
    """With a / at its end."""
    return path[:path.rfind("/") + 1]
