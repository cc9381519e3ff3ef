"""The reference pages are what the programs' own --help prints.

    reference.py write DOCS PROGRAM     writes DOCS/reference/*.md; PROGRAM is any model that `cleave compile` has linked
    reference.py check DOCS PROGRAM     fails where a page differs"""
import pathlib
import subprocess
import sys

INTRODUCTIONS = {
    "cleave": "# Options of `cleave`\n\nWhat `cleave --help`, `cleave compile --help` and so on print.\n",
    "program": "# Options of a compiled program\n\nWhat the `--help` of an executable prints that `cleave compile` has written, here under the name `model`.\n",
}
COMMANDS = {"cleave": ["", "compile", "inspect", "diff", "verify", "calibrate", "bundle", "export", "completion", "manual"],
            "program": ["", "train", "evaluate", "infer", "generate", "inspect"]}


def help_of(program, command):
    arguments = [program] + ([command] if command else []) + ["--help"]
    text = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def page(name, program):
    text = INTRODUCTIONS[name]
    shown = "cleave" if name == "cleave" else "./model"
    for command in COMMANDS[name]:
        text += f"\n## {' '.join([shown, command]).strip()}\n\n```text\n{help_of(program, command)}\n```\n"
    return text


def main():
    action, docs, program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    differs = False
    for name in INTRODUCTIONS:
        path, text = docs / "reference" / f"{name}.md", page(name, "cleave" if name == "cleave" else program)
        if action == "write":
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differs = True
            print(f"docs/reference/{name}.md is not what the program prints; write it anew: test/docs/Inputs/reference.py write docs MODEL, "
                  "where MODEL is a program called `model`")
    sys.exit(differs)


main()
