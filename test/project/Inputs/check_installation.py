"""An installation has everything that its guides name: check_installation.py PREFIX. These are

  - the files of commands ($CLEAVE_SOURCE/..., where CLEAVE_SOURCE is PREFIX/share/cleave);
  - headers and other files of the source (`dialects/...`, `compiler/...`, `include/...` in the guides about plug-ins and linking), below
    PREFIX/include;
  - the pages and pictures to which links lead."""
import pathlib
import re
import sys

prefix = pathlib.Path(sys.argv[1])
source, pages, headers = prefix / "share" / "cleave", prefix / "share" / "doc" / "cleave", prefix / "include"


def named(page):
    """(the name in the page, the file that it stands for)"""
    text = page.read_text()
    for name in re.findall(r"\$CLEAVE_SOURCE/([\w./-]*\w)", text):
        yield f"$CLEAVE_SOURCE/{name}", source / name
    if page.name != "glossary.md":  # names folders of the source tree, for its readers
        for name in re.findall(r"`((?:dialects|compiler|include)/[\w./-]*\w)`", text):
            yield name, headers / name.removeprefix("include/")
    for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)):
        if not re.match(r"[a-z]+:", link):
            yield link, page.parent / link


def main():
    found = [(page, name, target) for page in sorted(pages.rglob("*.md")) for name, target in named(page)]
    wrong = [f"{page.relative_to(pages)} names {name}; the installation has no {target.relative_to(prefix)}"
             for page, name, target in found if not target.exists()]
    for kind in ("$CLEAVE_SOURCE", "dialects/", "images/"):
        if not any(name.startswith(kind) for _, name, _ in found):
            wrong.append(f"no page names {kind}")
    print("\n".join(wrong) or f"{len(found)} files that the guides name are there")
    sys.exit(bool(wrong))


main()
