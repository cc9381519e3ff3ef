"""Checks that includes respect the layers of the tree; prints every violation and fails if there is one.

The rule of a folder is the list of prefixes that its files must not include.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNTIME_ABOVE_BASE = tuple(f"runtime/{room}/" for room in ("comm", "device", "main", "plan", "session", "state", "text", "train"))
COMPILER_ONLY = ("mlir/", "llvm/", "compiler/", "dialects/", "tools/")
FORBIDDEN = {
    "dialects": ("compiler/", "runtime/device", "runtime/comm", "runtime/state", "runtime/train", "runtime/main", "kernels/", "tools/"),
    "runtime": COMPILER_ONLY,
    "kernels": COMPILER_ONLY,
    "compiler/CostModel": ("mlir/", "compiler/Planning/Passes", "compiler/Training", "compiler/Sharding"),
    "compiler/Pipeline": ("mlir/", "llvm/", "dialects/", "tools/", "compiler/CostModel", "compiler/Codegen", "compiler/Driver",
                          "compiler/Import", "compiler/Planning", "compiler/Sharding", "compiler/Support", "compiler/Training",
                          *RUNTIME_ABOVE_BASE),
    "compiler/Import": ("compiler/Driver", "compiler/Planning", "compiler/Codegen", "compiler/Training", "compiler/Sharding"),
    "compiler/Inspect": ("mlir/", "dialects/", "compiler/Driver", "compiler/Training", "compiler/Import", "compiler/Codegen", "compiler/Sharding", "tools/"),
    "compiler/Training": ("compiler/Driver", "compiler/Planning", "compiler/Codegen", "compiler/Sharding", "compiler/Import"),
    "compiler/Sharding": ("compiler/Driver", "compiler/Planning", "compiler/Codegen", "compiler/Training", "compiler/Import"),
    "compiler/Planning": ("compiler/Driver", "compiler/Training", "compiler/Import", "compiler/Codegen/Host"),
    "compiler/Codegen": ("compiler/Driver", "compiler/Training", "compiler/Import", "compiler/Sharding", "compiler/Planning", "compiler/Target"),
    "compiler/Target": ("compiler/Driver", "compiler/Training", "compiler/Import", "compiler/Sharding", "compiler/Planning"),
}
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*[<"]([^">]+)[">]', re.M)


def violations():
    for folder, forbidden in FORBIDDEN.items():
        files = [f for f in sorted((ROOT / folder).rglob("*")) if f.suffix in {".h", ".cpp", ".td", ".c"}]
        if not files:
            yield f"{folder}: no sources; is the rule for a folder that has moved?"
        for file in files:
            for included in INCLUDE.findall(file.read_text()):
                if included.startswith(forbidden):
                    yield f"{file.relative_to(ROOT)} includes {included}, which {folder} must not know"


def main():
    found = list(violations())
    print("\n".join(found) or f"{len(FORBIDDEN)} rules hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
