"""The reference pages are what the programs' own --help prints. So is runtime/main/Options.def, by which each of the two programs
knows the options of the other one.

    reference.py write DOCS PROGRAM     writes DOCS/reference/*.md and the table; PROGRAM is any model that `cleave compile` has linked
    reference.py check DOCS PROGRAM     fails where a page or the table differs"""
import pathlib
import re
import subprocess
import sys

INTRODUCTIONS = {
    "cleave": "# Options of `cleave`\n\nThe output of `cleave --help`, `cleave compile --help` and so on.\n",
    "program": "# Options of a compiled program\n\nThe output of `--help` of an executable that `cleave compile` has written, here under the name `model`.\n",
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


OPTION = re.compile(r"^\s+(?:-\w, *)?(--[\w-]+(?:, *--[\w-]+)*)", re.M)


def table(programs):
    text = ("// CLEAVE_OPTION(program, command, option): the commands and options of `cleave` and of compiled programs, by which one of them\n"
            "// tells where an option of the other belongs (UnknownOption.h). A command has a line without an option, too.\n"
            "// Made by test/docs/Inputs/reference.py of what --help prints.\n")
    for name, program in programs.items():
        for command in filter(None, COMMANDS[name]):
            found = [one for names in OPTION.findall(help_of(program, command)) for one in re.split(", *", names)]
            for option in ["", *sorted(set(found) - {"--help"})]:
                text += f'CLEAVE_OPTION("{name}", "{command}", "{option}")\n'
    return text


def main():
    action, docs = sys.argv[1], pathlib.Path(sys.argv[2])
    programs = {"cleave": "cleave", "program": sys.argv[3]}
    expected = {docs / "reference" / f"{name}.md": page(name, program) for name, program in programs.items()}
    expected[docs.parent / "runtime/main/Options.def"] = table(programs)
    differs = False
    for path, text in expected.items():
        if action == "write":
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differs = True
            print(f"{path.relative_to(docs.parent)} is not what the program prints; write it anew: test/docs/Inputs/reference.py write docs "
                  "MODEL, where MODEL is a program called `model`")
    sys.exit(differs)


main()
