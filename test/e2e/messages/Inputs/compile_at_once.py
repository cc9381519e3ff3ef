"""Several compilations to one name at the same time: compile_at_once.py MODEL OUTPUT KIND. All of them succeed, one of them wins, and what
lies there is whole."""
import pathlib
import subprocess
import sys

model, output, kind = sys.argv[1:]
AT_ONCE = 4
runs = [subprocess.Popen(["cleave", "compile", model, "-o", output, "--emit", kind, "--dim", f"batch={batch}"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True) for batch in range(1, AT_ONCE + 1)]
for run in runs:
    errors = run.communicate(timeout=300)[1]
    if run.returncode != 0:
        sys.exit(f"a compilation ended with {run.returncode}: {errors}")
path = pathlib.Path(output)
left = sorted(each.name for each in path.parent.iterdir() if each.name.startswith(path.name) and each.name not in (path.name, path.name + ".h"))
if left:
    sys.exit(f"left behind: {left}")
subprocess.run(["cleave", "verify", output] if kind == "plan" else [str(path.resolve()), "inspect"], check=True, stdout=subprocess.DEVNULL)
print(f"{AT_ONCE} at once: whole")
