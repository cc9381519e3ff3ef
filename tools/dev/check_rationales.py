"""Checks that every folder of the first two levels says what it is for; prints what is missing: check_rationales.py [ROOT].

  - A folder of the first level has a Rationale.md, which links to each of its folders (its *rooms*) in a table.
  - A room has a Rationale.md (a dialect has it in its folder IR), or a README.md. Rooms of BY_ROW are described by their row alone.
  - A row that links to a folder that is not there is found, too: the room has moved."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if len(sys.argv) > 1 else ROOT.parents[2]
BY_ROW = {"docs", "examples"}  # whose rooms are pages, pictures and small projects
NO_ROOMS = {"build", "out", "site", "__pycache__"}
PAGES = ("Rationale.md", "README.md", "IR/Rationale.md")
ROW = re.compile(r"^\| \[`([\w-]+)`\]\(([^)]+)\)", re.M)


def folders(parent):
    """Folders of the source tree: not those of builds, of tools, or without any file."""
    return [d for d in sorted(parent.iterdir()) if d.is_dir() and d.name[0] != "." and d.name not in NO_ROOMS and not d.name.startswith("build-")
            and any(f.is_file() and f.suffix != ".pyc" for f in d.rglob("*"))]


def findings():
    for folder in folders(ROOT):
        page = folder / "Rationale.md"
        if not page.exists():
            yield f"{folder.name} has no Rationale.md"
            continue
        rows = {target.rstrip("/") for name, target in ROW.findall(page.read_text())}
        rooms = folders(folder)
        for room in rooms:
            path = f"{folder.name}/{room.name}"
            if room.name not in rows:
                yield f"{folder.name}/Rationale.md has no row for the room {room.name}"
            if folder.name not in BY_ROW and not any((room / each).exists() for each in PAGES):
                yield f"{path} has no Rationale.md"
        for gone in sorted(rows - {room.name for room in rooms}):
            if not (folder / gone).exists():
                yield f"{folder.name}/Rationale.md has a row for {gone}, which is not there"


def main():
    found = list(findings())
    print("\n".join(found) or "every folder of the first two levels says what it is for")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
