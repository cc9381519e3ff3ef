"""Python takes this at its start where a cell runs (outcomes.Worker): each file of the tree that it opens, or names in a command that it
starts, is a line of the file CLEAVE_TABLE_OPENED. run.py compares them with the cell's key."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
LOG = os.environ.get("CLEAVE_TABLE_OPENED")


def source_of(path):
    """Of a module that Python has compiled before."""
    return re.sub(r"__pycache__/([^/]+)\.cpython-[^/]*\.pyc(\.\d+)?$", r"\1.py", path)


def note(text):
    for part in re.findall(re.escape(ROOT) + r"/[^\s:,'\"]+", text):
        seen.add(source_of(part))


def told(event, arguments):
    try:
        if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
            note(os.path.abspath(os.fspath(arguments[0])))
        elif event == "subprocess.Popen":
            note("\n".join(os.path.abspath(os.path.join(arguments[2] or ".", part)) if os.path.exists(part) else part
                           for part in map(os.fspath, arguments[1]) if isinstance(part, str)))
    except Exception:  # noqa: BLE001  a program must not fail because it is watched
        pass


def write():
    """One call for each process, so that lines of several are not mixed."""
    with os.fdopen(os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "w") as file:
        file.write("".join(f"{path}\n" for path in sorted(seen)))


if LOG:
    import atexit
    seen = set()
    atexit.register(write)
    sys.addaudithook(told)
