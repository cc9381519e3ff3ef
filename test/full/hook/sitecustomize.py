"""Python takes this at its start where a cell runs (outcomes.Worker). Each file of the tree that it opens, each folder that it lists, and each
path in a command that it starts becomes a line of the file CLEAVE_TABLE_OPENED, at once: a process may be killed, and multiprocessing's children
end without atexit. run.py compares the lines with the cell's key. `watched` says that this ran, and a line with ! that it has missed something."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))) + "/"
LOG = os.environ.get("CLEAVE_TABLE_OPENED")


def write(line):
    """One call for each line, so that lines of several processes are not mixed."""
    if line not in seen:
        seen.add(line)
        log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(log, f"{line}\n".encode())
        os.close(log)


def source_of(path):
    """Of a module that Python has compiled before."""
    folder, base = os.path.split(path)
    return os.path.join(os.path.dirname(folder), f"{base.partition('.')[0]}.py") if folder.endswith("/__pycache__") else path


def opened(path, *_):
    if isinstance(path, (str, bytes, os.PathLike)):
        path = os.path.abspath(os.fsdecode(path))
        if path.startswith(ROOT):
            write(source_of(path))


def listed(path, *_):
    """The folder, or the one that is above the first wildcard. Python's own search for modules and packages lists folders, too."""
    if isinstance(path, int) or "importlib" in sys._getframe(2).f_code.co_filename:
        return
    path = os.path.abspath(os.fsdecode(path or ".").partition("*")[0])
    if f"{path}/".startswith(ROOT):
        write(f"{path}/" if os.path.isdir(path) else f"{os.path.dirname(path)}/")


def named(part, folder=None):
    """The paths of the tree in a word of a command."""
    part = os.fsdecode(part)
    path = os.path.abspath(os.path.join(os.fsdecode(folder or "."), part))
    if path.startswith(ROOT) and os.path.isfile(path):
        return opened(path)
    if ROOT in part:
        import re
        for path in re.findall(re.escape(ROOT) + r"[^\s:,;'\"]+", part):
            opened(path)


def started(program, words, folder=None, *_):
    for word in [program, *words] if program else words:
        named(word, folder)


EVENTS = {"open": opened, "os.listdir": listed, "os.scandir": listed, "glob.glob": listed, "subprocess.Popen": started,
          "os.exec": lambda program, words, *_: started(program, words), "os.posix_spawn": lambda program, words, *_: started(program, words),
          "os.system": lambda command: started(None, os.fsdecode(command).split())}


def told(event, arguments):
    if event in EVENTS:
        try:
            EVENTS[event](*arguments)
        except Exception as error:  # noqa: BLE001  a program must not fail because it is watched
            write(f"! {event} {arguments!r:.200}: {error!r}".replace("\n", " "))


if LOG:
    seen = set()
    write("watched")
    sys.addaudithook(told)
