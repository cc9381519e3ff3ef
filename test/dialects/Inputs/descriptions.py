"""The descriptions of a dialect's ops and attributes, as its .td files have them."""
import json
import re
import subprocess

CONSTRAINTS = re.compile(r"^\s*(?:Constraints:|\*\*Constraints\*\*)(.*)", re.S | re.M)
KINDS = {"Op": ("opDialect", "opName", ""), "AttrDef": ("dialect", "mnemonic", "#")}


def read(source, tablegen, include, folder):
    """The records of dialects/FOLDER by name, such as `cleave.add` or `#cleave.sharding`."""
    found = {}
    for path in sorted((source / "dialects" / folder / "IR").glob("*.td")):
        done = subprocess.run([tablegen, "-dump-json", "-I", source, "-I", include, path], capture_output=True, text=True, check=True)
        records = json.loads(done.stdout)
        for kind, (dialect, name, mark) in KINDS.items():
            for record in map(records.get, records["!instanceof"].get(kind, [])):
                if record[dialect]["def"].startswith(folder) and record[name]:
                    found.setdefault(f"{mark}{records[record[dialect]['def']]['name']}.{record[name]}", record)
    return found


def constraints_of(description):
    """The items of the list of constraints, each in one line. The list ends with the description, or at an empty line."""
    items, heading = [], CONSTRAINTS.search(description)
    for line in heading[1].strip().splitlines() if heading else []:
        if not line.strip():
            break
        if line.lstrip().startswith("- "):
            items.append(line.strip()[2:])
        elif items:
            items[-1] += " " + line.strip()
    return items
