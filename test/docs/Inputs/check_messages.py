"""check_messages.py SOURCE: every message that a heading of docs/troubleshooting.md quotes is one of Cleave's: its text is in a source file,
or in a test that expects it. Values in the heading (`...`, numbers, quoted names, KEY=, libraries) stand for anything. They cut the message
into parts, each of which must be somewhere: a message may be put together in several files. Headings that name another program
(`from onnxruntime`) quote its messages."""
import pathlib
import re
import sys

OTHERS = re.compile(r"\"[^\"]*\", (?:from onnxruntime|under `torchrun`)$")
ANYTHING = re.compile(r"\.\.\.")
VALUE = re.compile(r"\.\.\.|'[^' ]+'|--dim|\w+=|\w+\.so\b|\b\d+\b")
SUFFIXES = {".cpp", ".h", ".cu", ".td", ".def", ".py", ".test", ".mlir"}


def text_of(path):
    """The file, with the literals joined that stand one after the other: "a " "b" is a b. White space is one space."""
    text = re.sub(r"\"\s+[fr]?\"", "", path.read_text(errors="replace"))
    return re.sub(r"\s+", " ", text.replace('\\"', '"').replace("\\'", "'"))


def quoted(page):
    """(line, message) of each message in a heading."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("### ") and not OTHERS.search(line):
            for message in re.findall(r"\"([^\"]+)\"", line):
                yield number, message


def parts_of(message, value):
    parts = [part.strip(" ()[],;:=") for part in value.split(message)]
    return [part for part in parts if part]


def absent_parts(message, text):
    """[] if all parts are in the text. As a test expects it, a message has its values, too."""
    if all(part in text for part in parts_of(message, ANYTHING)):
        return []
    parts = parts_of(message, VALUE)
    return [part for part in parts if part not in text] or ([] if any(" " in part for part in parts) else parts)  # one word says nothing


def main():
    source = pathlib.Path(sys.argv[1])
    own = source / "test" / "docs"
    text = "\n".join(text_of(path) for folder in ("compiler", "runtime", "dialects", "kernels", "python", "tools", "test")
                     for path in sorted((source / folder).rglob("*")) if path.suffix in SUFFIXES and path.is_file() and own not in path.parents)
    messages = list(quoted(source / "docs" / "troubleshooting.md"))
    wrong = []
    for line, message in messages:
        if absent := absent_parts(message, text):
            wrong.append(f"troubleshooting.md:{line}: no message has the text {', '.join(map(repr, absent))}")
    print("\n".join(wrong) or f"{len(messages)} messages are those of the programs")
    sys.exit(bool(wrong))


main()
