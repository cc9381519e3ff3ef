"""check_sources.py BUILD: what freshness.py takes a program to be built of, against what the build links and compiles.

Every source in the link of a program's targets, and every header that the compiler read for it (ninja's record), must be among the
files of the program's key, or in what it is said not to run; and that may not be empty. A generated header stands for its folder."""
import functools
import os
import pathlib
import subprocess
import sys

import freshness
from sources import ROOT, SOURCES, folder_of, tokens

ALIKE = [("int a; // one\nint b;", "int a;  /* two */ int b;"), ("f( a ,\n  b )", "f(a, b)"), ("#define A(x) x + 1 // n", "#define  A(x)  x  +  1"),
         ("#define A \\\n  1", "#define A 1"), ("a\n#if B\nc\n#endif", "a // x\n\n  #  if B\n  c\n#endif // B"), ("1'000", "1'000 // '"),
         ('R"(a // b)" // c', 'R"(a // b)"')]
APART = [('"a // b"', '"a // c"'), ('"a  b"', '"a b"'), ('R"x(a\n)" b)x"', 'R"x(a )" b)x"'), ("a b", "ab"), ("a + +b", "a ++b"), ("'/' * 2", "'/'"),
         ("#define A(x) x", "#define A (x) x"), ("#if A\nB", "#if A B"), ("1'000 // x", "1'001"), ('"\\"//"', '"\\"/"'), ("a / *b", "a /*b*/"),
         ("u8'x'", "'x'"), ("return 1;", "return1;")]


def said(build, *arguments):
    return subprocess.run(["ninja", "-C", str(build), *arguments], capture_output=True, text=True, check=True).stdout


@functools.cache
def ours(build, path):
    """A path of ninja's as one of the tree's; a generated one as its folder's; nothing for others."""
    path = pathlib.Path(os.path.normpath(build / path))
    if path.is_relative_to(build):
        folder = folder_of(str(path.relative_to(build)))
        return folder if folder and path.suffix in (".h", ".inc") and (ROOT / folder).is_dir() else None
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def read_for(build):
    """What the compiler read for each object; the first is the source."""
    read, target = {}, None
    for line in said(build, "-t", "deps").splitlines():
        if line.startswith("    "):
            read[target].append(line.strip())
        elif line:
            target = line.partition(":")[0]
            read[target] = []
    return read


def check(name, program, keys, build, read):
    known = set(keys.files_of_program(name))
    known |= {folder_of(path) for path in known}
    used = set()
    for path in said(build, "-t", "inputs", *program.targets).splitlines():
        used |= {ours(build, file) for file in read.get(path.strip(), ())}
    used = {path for path in used if path and path.endswith((*SOURCES, "/"))}
    missing = sorted(path for path in used - known if not path.startswith((*program.cut, "test/")))
    for path in missing:
        print(f"{name}: {path} is built into {' or '.join(program.targets)}, and no part of the key")
    beside = sum(path.startswith(program.cut) for path in used)
    if not used or (program.cut and not beside):
        missing.append("")
        print(f"{name}: nothing is built into {' or '.join(program.targets)}, or nothing of what is cut off")
    return len(used), beside, missing


def check_tokens():
    """What changes no row, and what does."""
    wrong = [pair for pair in ALIKE if list(tokens(pair[0])) != list(tokens(pair[1]))]
    wrong += [pair for pair in APART if list(tokens(pair[0])) == list(tokens(pair[1]))]
    for pair in wrong:
        print(f"tokens of {pair[0]!r} and {pair[1]!r}: {[list(tokens(text)) for text in pair]}")
    return bool(wrong)


def main():
    build, keys = pathlib.Path(sys.argv[1]).resolve(), freshness.Keys()
    read, wrong = read_for(build), check_tokens()
    for name, program in freshness.PROGRAMS.items():
        if program.targets:
            used, beside, missing = check(name, program, keys, build, read)
            wrong |= bool(missing)
            print(f"{name}: {used} sources are built in, {len(missing)} of them unknown, {beside} said not to run")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
