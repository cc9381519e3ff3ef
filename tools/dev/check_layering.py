"""Checks that includes respect the layers of the tree; prints every violation and fails if there is one.

The rule of a folder is the list of prefixes that its files must not include. Rooms that stand in an order have the rule that
none includes a later one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rooms in which a file may include its own room and those before it.
ORDERED = {"runtime": ("base", "plan", "comm", "device", "state", "text", "session", "train", "api", "main"),
           "compiler/Planning/Verify": ("Facts", "Order", "Values", "Rules", "Model")}
RUNTIME_ABOVE_BASE = tuple(f"runtime/{room}/" for room in ORDERED["runtime"][1:])
ROOMS = sorted(d.name for d in (ROOT / "compiler").iterdir() if d.is_dir())


def except_rooms(*allowed):
    """All rooms of the compiler but these: so a new room is forbidden until a rule allows it."""
    return tuple(f"compiler/{room}/" for room in ROOMS if room not in allowed)


COMPILER_ONLY = ("mlir/", "llvm/", "compiler/", "dialects/", "tools/")
FORBIDDEN = {
    "dialects": ("compiler/", "runtime/device", "runtime/comm", "runtime/state", "runtime/session", "runtime/train", "runtime/api", "runtime/main",
                 "kernels/", "tools/"),
    "runtime": COMPILER_ONLY,
    "kernels": COMPILER_ONLY,
    "compiler/CostModel": ("mlir/", "compiler/Planning/Passes", "compiler/Training", "compiler/Sharding"),
    "compiler/Pipeline": ("mlir/", "llvm/", "dialects/", "tools/", "compiler/CostModel", "compiler/Codegen", "compiler/Driver",
                          "compiler/Import", "compiler/Planning", "compiler/Sharding", "compiler/Support", "compiler/Training",
                          *RUNTIME_ABOVE_BASE),
    "compiler/Import": ("compiler/Driver", "compiler/Planning", "compiler/Codegen", "compiler/Training", "compiler/Sharding"),
    "compiler/Inspect": ("mlir/", "dialects/", "compiler/Driver", "compiler/Training", "compiler/Import", "compiler/Codegen", "compiler/Sharding", "tools/"),
    "compiler/Training": ("compiler/Driver", "compiler/Planning", "compiler/Codegen", "compiler/Sharding", "compiler/Import"),
    "compiler/Sharding": except_rooms("Sharding", "Support"),
    # Planning asks the loops of a kernel whether it may work in place; it does not know how code is made of them.
    "compiler/Planning": (*except_rooms("Planning", "Pipeline", "Support", "Codegen"), "compiler/Codegen/CUDA", "compiler/Codegen/Fusion",
                          "compiler/Codegen/Host", "tools/"),
    "compiler/Planning/Verify": ("compiler/Planning/Draft", "compiler/Pipeline", "compiler/Codegen"),
    # The plan's side of the proof reads the file alone; the model's side is the room Model.
    **{f"compiler/Planning/Verify/{room}": ("mlir/", "dialects/", "compiler/Planning/Build", "compiler/Planning/Verify/Model")
       for room in ("Facts", "Order", "Values", "Rules")},
    "compiler/Planning/Draft": ("mlir/", "llvm/", "dialects/", "compiler/Planning/Build", "compiler/Planning/Verify"),
    "compiler/Codegen": ("compiler/Driver", "compiler/Training", "compiler/Import", "compiler/Sharding", "compiler/Planning", "compiler/Target"),
    "compiler/Support": (*except_rooms("Support"), "dialects/", "tools/"),
    "compiler/Simulator": (*except_rooms("Simulator", "CostModel", "Planning"), "mlir/", "dialects/", "compiler/Planning/Build",
                           "compiler/Planning/Draft", "compiler/Planning/Passes", "tools/"),
    "compiler/Calibration": (*except_rooms("Calibration", "CostModel"), "mlir/", "dialects/", "tools/"),
    "compiler/Target": ("compiler/Driver", "compiler/Training", "compiler/Import", "compiler/Sharding", "compiler/Planning"),
}
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*[<"]([^">]+)[">]', re.M)


def rules():
    yield from FORBIDDEN.items()
    for parent, rooms in ORDERED.items():
        for i, room in enumerate(rooms[:-1]):
            yield f"{parent}/{room}", tuple(f"{parent}/{above}/" for above in rooms[i + 1:])


def unordered():
    """Rooms that have no place in the order."""
    for parent, rooms in ORDERED.items():
        found = {d.name for d in (ROOT / parent).iterdir() if any(f.suffix == ".cpp" for f in d.glob("*"))}
        for room in sorted(found - set(rooms)):
            yield f"{parent}/{room}: a room without a place in ORDERED"


def violations():
    yield from unordered()
    for folder, forbidden in rules():
        files = [f for f in sorted((ROOT / folder).rglob("*")) if f.suffix in {".h", ".cpp", ".td", ".c"}]
        if not files:
            yield f"{folder}: no sources; is the rule for a folder that has moved?"
        for file in files:
            for included in INCLUDE.findall(file.read_text()):
                if included.startswith(forbidden):
                    yield f"{file.relative_to(ROOT)} includes {included}, which {folder} must not know"


def main():
    found = list(violations())
    print("\n".join(found) or f"{len(list(rules()))} rules hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
