"""Checks that every pass stands in a RUN line, that every op stands in a CHECK line of a parse-print test, and that at least four different
errors are expected of every op in the invalid tests; prints what is missing."""
import collections
import pathlib
import re
import sys

LEAST_ERRORS = 4
ROOT = pathlib.Path(__file__).resolve().parents[2]


def definitions(pattern, glob):
    """All first groups of `pattern` in the .td files that match `glob`."""
    files = [file for file in ROOT.glob(glob) if not file.relative_to(ROOT).parts[0].startswith("build")]  # which may have an installation
    return {name for file in files for name in re.findall(pattern, file.read_text(), re.M)}


def text_of(glob):
    return "\n".join(file.read_text() for file in ROOT.glob(glob))


def missing_passes():
    passes = definitions(r':\s*Pass<"([a-z0-9-]+)"', "**/Passes.td")
    lines = "\n".join(re.findall(r"RUN:.*", text_of("test/**/*.mlir") + text_of("test/**/*.test")))
    return {f"pass {name}: no RUN line has it" for name in passes if not re.search(rf"(?<![a-z0-9])(?<![a-z0-9]-){name}(?![a-z0-9-])", lines)}


def expected_errors(lines):
    """(where it stands, the line at which it is expected, its text) for each expected error of a test, lines counted from 0.
    "failed to infer returned types" follows another error, and is left out."""
    for at, line in enumerate(lines):
        for place, text in re.findall(r"expected-error(?:-re)?\s*@?(\S*)\s*\{\{(.*?)\}\}\s*$", line):
            target = at
            if place == "below":
                target = next(i for i in range(at + 1, len(lines)) if not lines[i].lstrip().startswith("// expected-"))
            elif place == "above":
                target = next(i for i in range(at - 1, -1, -1) if not lines[i].lstrip().startswith("// expected-"))
            elif place:
                target = at + int(place)
            if "failed to infer" not in text:
                yield at, target, text


def errors_of_ops(folder):
    """op -> the errors that invalid tests expect on a line that has the op."""
    errors = collections.defaultdict(set)
    for file in ROOT.glob(f"test/dialects/{folder}/**/*invalid.mlir"):
        lines = file.read_text().splitlines()
        for _, target, text in expected_errors(lines):
            if op := re.search(r"\b(?:cleave|plan)\.[a-z_0-9]+", lines[target]):
                errors[op[0]].add(text)
    return errors


def missing_ops(dialect, folder):
    # "mnemonic" is the first string behind a class whose name ends in Op, Base or Symbol.
    ops = definitions(r'^def \w+Op\s*:\s*\w+<"([a-z_0-9]+)"', f"dialects/{folder}/IR/*.td")
    if not ops:
        return {f"dialect {dialect}: no ops found"}
    printed = "\n".join(re.findall(r"^\s*// CHECK(?:-(?:NEXT|SAME|DAG|LABEL))?:.*", text_of(f"test/dialects/{folder}/**/*parse-print.mlir"), re.M))
    result = {f"op {dialect}.{op}: no CHECK line of a parse-print test has it" for op in ops if not re.search(rf"{dialect}\.{op}(?![a-z_])", printed)}
    errors = errors_of_ops(folder)
    return result | {f"op {dialect}.{op}: {len(errors[f'{dialect}.{op}'])} errors in invalid tests; expected {LEAST_ERRORS} or more"
                     for op in ops if len(errors[f"{dialect}.{op}"]) < LEAST_ERRORS}


def main():
    missing = missing_passes() | missing_ops("cleave", "Cleave") | missing_ops("plan", "Plan")
    print("\n".join(sorted(missing)) or "every pass and every op is tested")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
