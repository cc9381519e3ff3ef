"""Checks that every pass stands in a RUN line, and every op in a parse-print and in an invalid test; prints what is missing."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def definitions(pattern, glob):
    """All first groups of `pattern` in the .td files that match `glob`."""
    return {name for file in ROOT.glob(glob) for name in re.findall(pattern, file.read_text(), re.M)}


def text_of(glob):
    return "\n".join(file.read_text() for file in ROOT.glob(glob))


def missing_passes():
    passes = definitions(r':\s*Pass<"([a-z0-9-]+)"', "**/Passes.td")
    lines = "\n".join(re.findall(r"RUN:.*", text_of("test/**/*.mlir") + text_of("test/**/*.test")))
    return {f"pass {name}: no RUN line has it" for name in passes if not re.search(rf"(?<![a-z0-9])(?<![a-z0-9]-){name}(?![a-z0-9-])", lines)}


def missing_ops(dialect, folder):
    # "mnemonic" is the first string behind a class whose name ends in Op, Base or Symbol.
    ops = definitions(r'^def \w+Op\s*:\s*\w+<"([a-z_0-9]+)"', f"dialects/{folder}/IR/*.td")
    if not ops:
        return {f"dialect {dialect}: no ops found"}
    result = set()
    for kind, glob in (("parse-print", "*parse-print.mlir"), ("invalid", "*invalid.mlir")):
        text = text_of(f"test/dialects/{folder}/**/{glob}")
        result |= {f"op {dialect}.{op}: not in a {kind} test" for op in ops
                   if not re.search(rf"{dialect}\.{op}(?![a-z_])", text)}
    return result


def main():
    missing = missing_passes() | missing_ops("cleave", "Cleave") | missing_ops("plan", "Plan")
    print("\n".join(sorted(missing)) or "every pass and every op is tested")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
