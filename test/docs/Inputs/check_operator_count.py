"""Every number of operators on a page is that of the importer: check_operator_count.py SOURCE NAMES, with a name a line."""
import pathlib
import re
import sys

source, names = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text().split()
pages, wrong = ["README.md", "docs/models.md"], []
for page in pages:
    said = re.findall(r"(\d+)\s+operators", (source / page).read_text())
    if said != [str(len(names))]:
        wrong.append(f"{page}: {said or 'no number of'} operators; the importer reads {len(names)}")
print("\n".join(wrong) or f"{len(names)} operators")
sys.exit(bool(wrong))
