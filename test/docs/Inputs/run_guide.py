"""Types a guide as it stands: run_guide.py PAGE.md WORK SOURCE [PACKAGES]. What a page's blocks mean:

    ```python title="net.py"     the block is the file net.py (of any language)
    ```console                   lines that begin with `$ ` are typed, one after the other, in one folder; a line that ends in a backslash
                                 goes on in the next. Other lines are what the author saw, and are not compared.
    <!-- expect: TEXT -->        after a console block: its output has TEXT (`...` stands for anything)
    <!-- fails: TEXT -->         the same, and the last command of the block fails
    <!-- recorded: FILE... -->   before a console block: it needs torch. Without it, FILEs are taken from docs/recorded instead.
    <!-- not run: WHY -->        before a block: it is left out

SOURCE is the value of $CLEAVE_SOURCE: the source tree, or share/cleave of an installation. Commands that the page's reader has, and the
test does not, are not hidden: `python3` is the interpreter of the tests, with PACKAGES (SOURCE/python if not given) on its path."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

FENCE = re.compile(r"^( *)```(\w*)(?: +title=\"([^\"]+)\")?\s*$")
MARK = re.compile(r"^\s*<!-- (expect|fails|recorded|not run): (.*) -->\s*$")


class Block:
    def __init__(self, language, title, line):
        self.language, self.title, self.line = language, title, line
        self.text, self.recorded, self.skipped, self.expected, self.fails = [], None, None, [], False

    def commands(self):
        lines = iter(self.text)
        for line in lines:
            if line.startswith("$ "):
                command = line[2:]
                while command.endswith("\\"):
                    command += "\n" + next(lines)
                yield command


def read_blocks(page):
    blocks, open_block, pending = [], None, {}
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
            open_block.recorded, open_block.skipped, pending = pending.get("recorded"), pending.get("not run"), {}
        elif mark and mark[1] in ("expect", "fails"):
            if not blocks or blocks[-1].language != "console":
                sys.exit(f"{page}:{number}: nothing to expect of")
            blocks[-1].expected.append(mark[2])
            blocks[-1].fails |= mark[1] == "fails"
        elif mark:
            pending[mark[1]] = mark[2]
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
    if block.recorded and not importlib.util.find_spec("torch"):
        for name in block.recorded.split():
            shutil.copy(source / "docs" / "recorded" / name, work / name)
        return "recorded"
    output, commands = "", list(block.commands())
    for i, command in enumerate(commands):
        result = subprocess.run(["bash", "-c", command], cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, timeout=280)
        output += result.stdout
        must_fail = block.fails and i + 1 == len(commands)
        if (result.returncode != 0) != must_fail:
            sys.exit(f"{page.name}:{block.line}: exit code {result.returncode} of: {command}\n{output}")
    check_output(page, block, output)
    return f"{len(commands)} commands"


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
        elif block.title:
            target = work / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(block.text) + "\n")
        elif block.language == "console":
            print(f"{page.name}:{block.line}: {run_block(page, block, work, environment, source)}", flush=True)
            count += 1
    if not count:
        sys.exit(f"{page.name}: no block to run")
    print(f"{page.name}: {count} blocks typed as they stand")


main()
