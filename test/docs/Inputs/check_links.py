"""Every link of every Markdown page leads somewhere: check_links.py SOURCE. Files and headings are looked at; the network is not."""
import os
import pathlib
import re
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(text):
    """Of headings, as GitHub and mkdocs name them."""
    names = set()
    for heading in re.findall(r"^#+ +(.*)$", without_code(text), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")
        names.add(re.sub(r"-+", "-", name))
    return names


def without_code(text):
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)


def pages_of(source):
    """Of the sources alone: other tests make and remove folders in the build's while this one looks."""
    for folder, folders, files in os.walk(source):
        folders[:] = sorted(each for each in folders if each not in {"build", "out", ".venv", ".git", "site"} and not each.startswith("build-"))
        yield from (pathlib.Path(folder) / each for each in sorted(files) if each.endswith(".md"))


def main():
    source = pathlib.Path(sys.argv[1])
    wrong, count = [], 0
    pages = list(pages_of(source))
    for page in pages:
        for link in LINK.findall(without_code(page.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                wrong.append(f"{page.relative_to(source)}: {link}: no such file")
            elif anchor and target.suffix == ".md" and re.sub(r"-+", "-", anchor) not in anchors(target.read_text()):
                wrong.append(f"{page.relative_to(source)}: {link}: no such heading")
    listed = re.findall(r"^ +- .*?: ([\w/-]+\.md)$", (source / "mkdocs.yml").read_text(), re.M)
    for page in sorted((source / "docs").rglob("*.md")):
        if page.name != "Rationale.md" and str(page.relative_to(source / "docs")) not in listed:
            wrong.append(f"mkdocs.yml does not list {page.relative_to(source)}")
    wrong += [f"mkdocs.yml lists {name}, which is not there" for name in listed if not (source / "docs" / name).exists()]
    print("\n".join(wrong) or f"{count} links of {len(pages)} pages lead somewhere")
    sys.exit(bool(wrong))


main()
