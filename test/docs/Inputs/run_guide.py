"""Types a guide as it stands: run_guide.py PAGE.md WORK SOURCE [PACKAGES]. What a page's blocks mean:

    ```python title="net.py"     the block is the file net.py (of any language). The text before it says `net.py`, because GitHub and a
                                 terminal do not show titles
    ```console                   lines that begin with `$ ` are typed, one after the other, in one folder; a line that ends in a backslash
                                 goes on in the next. Other lines are what the author saw, and are not compared.
    <!-- expect: TEXT -->        after a console block: its output has TEXT (`...` stands for anything)
    <!-- fails: TEXT -->         the same, and the last command of the block fails
    <!-- recorded: FILE... -->   before a console block: it needs torch. Without it, FILEs are taken from docs/recorded instead. If
                                 `, by COMMAND` follows, only this command of the block is left out.
    <!-- needs: PACKAGE... -->   before a block: it is left out if the Python of the tests has not all of these packages
    <!-- after: FILE -->         before a block: FILE, of the guide itself or of test/docs/Inputs/before, runs first. A python block without a
                                 title is a part of a script: it goes on where FILE ends
    <!-- not run: WHY -->        before a block: it is left out
    ```cpp                       an excerpt: it stands in a file of SOURCE/examples, but for white space
    ```text                      for people; every other block must be of a form above

SOURCE is the value of $CLEAVE_SOURCE: the source tree, or share/cleave of an installation. Commands that the page's reader has, and the
test does not, are not hidden: `python3` is the interpreter of the tests, with PACKAGES (SOURCE/python if not given) on its path."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

BEFORE = pathlib.Path(__file__).resolve().parent / "before"
FENCE = re.compile(r"^( *)```(\w*)(?: +title=\"([^\"]+)\")?\s*$")
MARK = re.compile(r"^\s*<!-- (expect|fails|recorded|needs|after|not run): (.*) -->\s*$")


class Block:
    def __init__(self, language, title, line):
        self.language, self.title, self.line = language, title, line
        self.text, self.expected, self.fails = [], [], False
        self.recorded, self.needs, self.after, self.skipped = None, "", None, None

    def commands(self):
        lines = iter(self.text)
        for line in lines:
            if line.startswith("$ "):
                command = line[2:]
                while command.endswith("\\"):
                    command += "\n" + next(lines)
                yield command

    def lacks(self):
        return [package for package in self.needs.split() if not importlib.util.find_spec(package)]

    def script(self, work):
        """What runs before the block, and after it a python block itself."""
        first = work / self.after if (work / self.after).exists() else BEFORE / self.after
        return "\n".join([first.read_text(), *(self.text if self.language == "python" else [])])


def read_blocks(page):
    blocks, open_block, pending, prose = [], None, {}, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence, mark = FENCE.match(line), MARK.match(line)
        if open_block is not None:
            if line.strip() == "```":
                blocks.append(open_block)
                open_block = None
            else:
                open_block.text.append(line[indent:])
        elif fence:
            indent = len(fence[1])
            open_block = Block(fence[2], fence[3], number)
            open_block.recorded, open_block.needs, open_block.after = pending.get("recorded"), pending.get("needs", ""), pending.get("after")
            open_block.skipped, pending = pending.get("not run"), {}
            if fence[3] and f"`{fence[3]}`" not in prose:
                sys.exit(f"{page}:{number}: the text does not say that this file is `{fence[3]}`")
        elif mark and mark[1] in ("expect", "fails"):
            if not blocks or blocks[-1].language != "console":
                sys.exit(f"{page}:{number}: nothing to expect of")
            blocks[-1].expected.append(mark[2])
            blocks[-1].fails |= mark[1] == "fails"
        elif mark:
            pending[mark[1]] = mark[2]
        else:
            prose += line + "\n"
    if open_block is not None or pending:
        sys.exit(f"{page}: a block is not closed, or a mark belongs to none")
    return blocks


def check_output(page, block, output):
    at = 0
    for text in block.expected:
        found = re.compile(r".*?".join(map(re.escape, text.split("...")))).search(output, at)
        if not found:
            sys.exit(f"{page.name}:{block.line}: expected {text!r}; got:\n{output}")
        at = found.end()


def run_block(page, block, work, environment, source):
    output, commands, left_out = "", list(block.commands()), ""
    names, _, needs_torch = (block.recorded or "").partition(", by ")
    if needs_torch and needs_torch not in commands:
        sys.exit(f"{page.name}:{block.line}: the block has no command {needs_torch!r}")
    if names and not importlib.util.find_spec("torch"):
        for name in names.split():
            shutil.copy(source / "docs" / "recorded" / name, work / name)
        if not needs_torch:
            return "recorded"
        commands.remove(needs_torch)
        left_out = ", one recorded"
    if block.after:
        (work / ".before.py").write_text(block.script(work))
        commands.insert(0, "python3 .before.py")
    for i, command in enumerate(commands):
        result = subprocess.run(["bash", "-c", command], cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace", timeout=280)
        output += result.stdout
        must_fail = block.fails and i + 1 == len(commands)
        if (result.returncode != 0) != must_fail:
            sys.exit(f"{page.name}:{block.line}: exit code {result.returncode} of: {command}\n{output}")
    check_output(page, block, output)
    return f"{len(commands)} commands{left_out}"


def check_excerpt(page, block, source):
    """Of a file of the examples, without white space; `...` stands for anything."""
    wanted = re.compile(".*?".join(map(re.escape, "".join("".join(block.text).split()).split("..."))))
    if not any(wanted.search("".join(path.read_text().split())) for path in (source / "examples").rglob("*") if path.suffix in (".cpp", ".h")):
        sys.exit(f"{page.name}:{block.line}: no file of examples/ has these lines; the page and the example differ")


def main():
    page, work, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    packages = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else source / "python"
    shutil.rmtree(work, ignore_errors=True)
    (work / ".bin").mkdir(parents=True)
    python = work / ".bin" / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environment = {**os.environ, "PATH": f"{work}/.bin{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(packages),
                   "CLEAVE_SOURCE": str(source)}
    count = 0
    for block in read_blocks(page):
        if block.skipped:
            print(f"{page.name}:{block.line}: not run: {block.skipped}")
        elif block.lacks():
            print(f"{page.name}:{block.line}: not run: there is no {' and no '.join(block.lacks())}")
        elif block.title:
            target = work / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(block.text) + "\n")
        elif block.language == "cpp":
            check_excerpt(page, block, source)
        elif block.language == "text":
            pass
        elif block.language == "console" or block.after:
            print(f"{page.name}:{block.line}: {run_block(page, block, work, environment, source)}", flush=True)
            count += 1
        else:
            sys.exit(f"{page.name}:{block.line}: nothing runs this block; mark it: <!-- not run: WHY -->, or make it ```text")
    if not count:
        sys.exit(f"{page.name}: no block to run")
    print(f"{page.name}: {count} blocks typed as they stand")


main()
