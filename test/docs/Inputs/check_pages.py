"""check_pages.py SITE DOCS: every link, picture, script and style of the pages that mkdocs built leads to a file of the site, and to an
anchor that is there; every page of DOCS has become one; the button that copies a block leaves out the prompts. Links to other sites are not
followed."""
import html.parser
import pathlib
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.anchors, self.links, self.prompts = path, set(), [], 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)
            elif name == "class" and value == "gp":
                self.prompts += 1


def wrong_copies(site, docs, pages):
    """pages.css hides the prompts of a block while the theme's script marks it. So the script sets this mark, and each prompt is one to CSS."""
    scripts = "".join(path.read_text() for path in site.rglob("bundle.*.js"))
    if "data-md-copying" not in scripts or not re.search(r"\[data-md-copying\] \.gp\b", (site / "stylesheets" / "pages.css").read_text()):
        yield "stylesheets/pages.css: copied blocks have their prompts"
    for page in pages.values():
        source = docs / f"{page.path.parent.relative_to(site)}.md"
        blocks = re.findall(r"^ *```console$(.*?)^ *```$", source.read_text(), re.M | re.S) if source.is_file() else []
        typed = sum(len(re.findall(r"^ *\$ ", block, re.M)) for block in blocks)
        if page.prompts != typed:
            yield f"{page.path.relative_to(site)}: {typed} commands, but {page.prompts} prompts"


def main():
    site, docs = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}  # whose links begin at the server's root
    wrong, count = [], 0
    for page in pages.values():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (page.path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page.path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or site not in target.parents:
                wrong.append(f"{page.path.relative_to(site)}: {link}: no such file")
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors | {"__skip"}:
                wrong.append(f"{page.path.relative_to(site)}: {link}: no such heading")
    for page in docs.rglob("*.md"):
        name = page.relative_to(docs).with_suffix("")
        if page.name == "Rationale.md":  # for people who write guides
            continue
        if not (site / ("index.html" if name == pathlib.Path("index") else name / "index.html")).is_file() and name.parts[0] != "recorded":
            wrong.append(f"{name}: has become no page")
    wrong += wrong_copies(site, docs, pages)
    print("\n".join(wrong) or f"{count} links of {len(pages)} pages lead somewhere")
    sys.exit(bool(wrong))


main()
